"""Objectives in which several weights are one."""

from __future__ import annotations

from typing import Self

import numpy as np

from sklearn_struct.solvers.objective_protocols import BatchObjective, DifferenceObjective

__all__ = ["SharedWeights"]


class SharedWeights:
    """An objective as a function of fewer weights, each of which stands in several places of w.

    Parameters
    ----------
    objective : BatchObjective
    place : ndarray of int
        For each entry of w the one of the fewer weights that stands there, all of which occur. Free
        entries come last in both.
    """

    def __init__(self, objective: BatchObjective, place: np.ndarray) -> None:
        self.objective = objective
        self.place = place
        self.size = int(place.max(initial=-1)) + 1
        self.n_free = len(np.unique(place[objective.size - objective.n_free :]))

    def spread(self, shared: np.ndarray) -> np.ndarray:
        """All weights, of those that are shared."""
        w: np.ndarray = shared[self.place]
        return w

    def gather(self, w: np.ndarray) -> np.ndarray:
        """For each shared weight the mean over its places."""
        counts = np.bincount(self.place, minlength=self.size)
        return self._sums(w) / counts

    def value_and_grad(self, shared: np.ndarray) -> tuple[float, np.ndarray]:
        """The value, and its gradient: sums over places."""
        value, grad = self.objective.value_and_grad(self.spread(shared))
        return value, self._sums(grad)

    def hess_vec(self, shared: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative times v."""
        return self._sums(self.objective.hess_vec(self.spread(shared), self.spread(v)))

    def parts(self) -> tuple[Self, Self]:
        """Those of the objective, with the same weights shared."""
        objective: DifferenceObjective = self.objective  # type: ignore[assignment]
        first, second = objective.parts()
        return type(self)(first, self.place), type(self)(second, self.place)

    def _sums(self, of_places: np.ndarray) -> np.ndarray:
        return np.bincount(self.place, weights=of_places, minlength=self.size)
