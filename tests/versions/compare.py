"""How far apart the outcomes of two versions are, and which differences are argued for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from versions.outcomes import Outcome

__all__ = ["ARGUED", "Argued", "Difference", "compared", "distance", "equal_share", "read_argued"]

ARGUED = Path(__file__).with_name("DIFFERENCES.md")
ENTRY = re.compile(r"^- `(?P<case>.+?)`: `(?P<key>.+?)`(?: within (?P<limit>\S+))?$")
FIT = "the fit"
Outcomes = dict[str, Outcome]


class Argued(NamedTuple):
    """Differences that may be, and why."""

    case: str
    key: str
    limit: float
    reason: str

    def allows(self, case: str, difference: Difference) -> bool:
        matches = re.search(self.case, case) and re.search(self.key, difference.key)
        return bool(matches) and difference.size <= self.limit


class Difference(NamedTuple):
    """One outcome that is not the same.

    Attributes
    ----------
    key : str
        The attribute, or the method with brackets.
    size : float
        Largest difference of numbers, relative to the largest number; infinite if there are other
        numbers of them, or if words differ.
    equal : float
        Share of equal words, or of equal numbers where there are no words.
    what : str
        An error, or what else there is to say.
    """

    key: str
    size: float
    equal: float
    what: str = ""

    @property
    def is_answer(self) -> bool:
        return self.key.endswith("()")


def read_argued(text: str) -> list[Argued]:
    """Entries of the file, each a line and its reason, which may be several lines."""
    lines = text.splitlines()
    entries = []
    for i, line in enumerate(lines):
        if not line.startswith("- "):
            continue
        entry = ENTRY.match(line)
        below = takewhile(lambda line: line.startswith("  "), lines[i + 1 :])
        reason = " ".join(line.strip() for line in below)
        if not entry or not reason:
            raise ValueError(f"line {i + 1} is no entry with a reason: {line}")
        limit = float(entry["limit"]) if entry["limit"] else math.inf
        entries.append(Argued(entry["case"], entry["key"], limit, reason))
    return entries


def compared(
    before: Outcomes, after: Outcomes | None, ignored: Iterable[str] = ()
) -> list[Difference]:
    """All differences. What only the later version knows is none."""
    if after is None:
        return [Difference(FIT, math.inf, 0.0, "no answer from the later version")]
    if FIT in after:
        return [Difference(FIT, math.inf, 0.0, after[FIT].failure)]
    differences = []
    for key, old in before.items():
        if key in ignored:
            continue
        new = after.get(key)
        if new is None:
            differences.append(Difference(key, math.inf, 0.0, "is gone"))
        elif new.digest != old.digest:
            differences.append(_difference(key, old, new))
    unexpected = [key for key in after if key not in before and after[key].failure]
    return differences + [Difference(key, math.inf, 0.0, after[key].failure) for key in unexpected]


def _difference(key: str, old: Outcome, new: Outcome) -> Difference:
    if old.failure or new.failure:
        return Difference(
            key, math.inf, 0.0, f"{old.failure or 'worked'} -> {new.failure or 'works'}"
        )
    if old.words != new.words:
        return Difference(key, math.inf, equal_share(old.words, new.words))
    size = distance(old.numbers, new.numbers)
    what = "" if size else "other types or shapes"
    return Difference(key, size, equal_share(old.numbers.tolist(), new.numbers.tolist()), what)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference, relative to the largest number. Equal infinities and nans are equal."""
    if a.shape != b.shape:
        return math.inf
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    if not (np.isfinite(a[~same]).all() and np.isfinite(b[~same]).all()):
        return math.inf
    largest = max(np.abs(part[np.isfinite(part)]).max(initial=0.0) for part in (a, b))
    return float(np.abs(a[~same] - b[~same]).max() / largest)


def equal_share(a: list, b: list) -> float:
    """Share of equal items at the same places."""
    if not a and not b:
        return 1.0
    return sum(x == y for x, y in zip(a, b)) / max(len(a), len(b))
