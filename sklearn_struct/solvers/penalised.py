"""A smooth objective with its L2 penalty, as the batch solvers minimise it."""

from __future__ import annotations

import numpy as np

from sklearn_struct.solvers.objective_protocols import BatchObjective

__all__ = ["Penalised"]


class Penalised:
    """``objective + l2 / 2 * ||w||**2`` over all but the ``n_free`` last entries of w, which are
    not penalised.
    """

    def __init__(self, objective: BatchObjective, l2: float) -> None:
        self.objective = objective
        self.l2 = l2
        # the free entries, intercepts, are the last ones
        self.entries = slice(0, objective.size - objective.n_free)

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = self.objective.value_and_grad(w)
        grad[self.entries] += self.l2 * w[self.entries]
        return value + self.l2 / 2 * float(np.dot(w[self.entries], w[self.entries])), grad

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        product = self.objective.hess_vec(w, v)
        product[self.entries] += self.l2 * v[self.entries]
        return product
