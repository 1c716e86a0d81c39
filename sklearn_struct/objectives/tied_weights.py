"""Objectives in which weights share their values."""

from __future__ import annotations

import numpy as np

from sklearn_struct.solvers.objective_protocols import BatchObjective

__all__ = ["TiedObjective"]


class TiedObjective:
    """Another objective as a function of v, where its parameters are ``v[place]``.

    Parameters
    ----------
    objective : BatchObjective
    place : ndarray of shape (objective.size,)
        Which entry of v each parameter is. Unpenalised ones stay single, and last.
    """

    def __init__(self, objective: BatchObjective, place: np.ndarray) -> None:
        self.objective = objective
        self.place = place
        self.size = int(place.max(initial=-1)) + 1
        self.n_free = objective.n_free

    def value_and_grad(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and its gradient in v."""
        value, grad = self.objective.value_and_grad(v[self.place])
        return value, self._sum(grad)

    def hess_vec(self, v: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The second derivative at v, times a direction."""
        return self._sum(self.objective.hess_vec(v[self.place], direction[self.place]))

    def tie(self, w: np.ndarray) -> np.ndarray:
        """A v for parameters w: means of those that share an entry."""
        means: np.ndarray = self._sum(w) / np.bincount(self.place, minlength=self.size)
        return means

    def _sum(self, w: np.ndarray) -> np.ndarray:
        return np.bincount(self.place, w, self.size)
