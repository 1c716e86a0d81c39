"""How inference went that goes on until nothing changes any more."""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import numpy as np

__all__ = ["Counts", "Report"]


class Counts(NamedTuple):
    """Over all calls: how often an example was inferred, sweeps of all and of the longest call, how
    many calls stopped before nothing changed, and the largest change in the last sweep of any.
    """

    n_calls: int = 0
    n_sweeps: int = 0
    most_sweeps: int = 0
    n_unconverged: int = 0
    largest_change: float = 0.0

    @property
    def unconverged(self) -> float:
        """The share of calls that stopped before nothing changed."""
        return self.n_unconverged / max(self.n_calls, 1)

    def since(self, before: Counts) -> Counts:
        """What was counted after earlier counts; extremes are those of all."""
        return self._replace(
            n_calls=self.n_calls - before.n_calls,
            n_sweeps=self.n_sweeps - before.n_sweeps,
            n_unconverged=self.n_unconverged - before.n_unconverged,
        )

    def as_dict(self) -> dict[str, float]:
        """Means and shares instead of sums."""
        return {
            "n_calls": self.n_calls,
            "mean_sweeps": self.n_sweeps / max(self.n_calls, 1),
            "most_sweeps": self.most_sweeps,
            "unconverged": self.unconverged,
            "largest_change": self.largest_change,
        }


class Report:
    """Counts what an inference does on any number of threads.

    Attributes
    ----------
    counts : Counts
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.counts = Counts()

    def __reduce__(self) -> tuple[type[Report], tuple[()]]:
        # what was counted belongs to the process
        return Report, ()

    def clear(self) -> None:
        """Count from 0."""
        self.counts = Counts()

    def add(self, sweeps: np.ndarray, change: np.ndarray, tol: float) -> None:
        """Count examples with their sweeps and last changes."""
        if not len(sweeps):
            return
        with self._lock:
            before = self.counts
            self.counts = Counts(
                before.n_calls + len(sweeps),
                before.n_sweeps + int(sweeps.sum()),
                max(before.most_sweeps, int(sweeps.max())),
                before.n_unconverged + int(np.sum(~(change <= tol))),
                max(before.largest_change, float(change.max())),
            )
