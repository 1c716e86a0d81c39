"""What a paper claims, and whether the figures confirm it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Claim(NamedTuple):
    """A claim about one corpus: the figure that it is about, above `limit` if it is true; None
    where it could not be measured.
    """

    claim: str
    corpus: str
    figure: str
    value: float | None
    limit: float = 0.0

    def verdict(self) -> str:
        if self.value is None:
            return "NO FIGURE"
        return "confirmed" if self.value > self.limit else "refuted"


def no_claims(medians: object) -> list[Claim]:
    """Of benchmarks that are about none."""
    return []


def print_claims(claims: Iterable[Claim]) -> None:
    """One line a claim and corpus, with its figure."""
    rows = [
        (
            claim.claim,
            claim.corpus,
            claim.figure,
            "-" if claim.value is None else f"{claim.value:.4g}",
            claim.verdict(),
        )
        for claim in claims
    ]
    if not rows:
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())
