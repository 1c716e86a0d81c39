"""Tokens that an autoregression needs of the pieces of a sequence that came before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.hidden_markov.observed import Observed

__all__ = ["Carried", "carried", "last_rows"]


class Carried(NamedTuple):
    """Log-densities (m, K) of the tokens at ``places`` (m,), rising, given earlier pieces.

    Without these pieces, the density of such a token is 1.
    """

    places: np.ndarray
    log_p: np.ndarray

    def add(self, log_p: np.ndarray, rows: slice) -> None:
        """Add them to the log-probabilities (n, K) of what some tokens emit."""
        low, high = np.searchsorted(self.places, [rows.start, rows.stop])
        log_p[self.places[low:high] - rows.start] += self.log_p[low:high]


def carried(gaussians: Any, observed: Observed, before: list[np.ndarray]) -> Carried:
    """What the numbers `before` each sequence, at most as many as there are lags, say of its first
    tokens.
    """
    p = gaussians.named["autoregression"].shape[1]
    parts = [np.empty((0, observed.numbers.shape[1]))]
    places = [np.empty(0, dtype=np.int64)]
    inner = [np.empty(0, dtype=np.int64)]
    offsets = [0]
    for i, rows in enumerate(before):
        begin = int(observed.offsets[i])
        first = np.arange(begin, min(begin + p, int(observed.offsets[i + 1])))
        places.append(first)
        inner.append(offsets[-1] + len(rows) + np.arange(len(first)))
        parts += [rows, observed.numbers[first]]
        offsets.append(offsets[-1] + len(rows) + len(first))
    log_p = gaussians.densities()(np.vstack(parts), np.array(offsets), slice(None))
    return Carried(np.concatenate(places), log_p[np.concatenate(inner)])


def last_rows(observed: Observed, before: list[np.ndarray] | None, p: int) -> list[np.ndarray]:
    """The last p rows of numbers of each sequence, or all where there are fewer."""
    rows = []
    for i, n in enumerate(observed.lengths.tolist()):
        stop = int(observed.offsets[i + 1])
        here = observed.numbers[stop - min(n, p) : stop]
        if before is not None and n < p:
            here = np.vstack([before[i], here])[-p:]
        rows.append(here.copy())
    return rows
