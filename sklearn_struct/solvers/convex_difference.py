"""Expectation maximisation for log-linear models with hidden variables (P1 5.19): the difference of
two convex functions.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.solvers.objective_protocols import BatchObjective, DifferenceObjective
from sklearn_struct.solvers.owlqn import owlqn
from sklearn_struct.solvers.result import Callback, Result

__all__ = ["expectation_maximisation"]

NOISE = 1e-12  # of a difference, relative to its parts, which is rounding on any CPU
M_STEPS = 5  # iterations of an M-step: to solve it to the end would cost more than it gains


def expectation_maximisation(
    objective: DifferenceObjective,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2 + l1 * ||w||_1``, where the objective is f - g, both
    convex, and its ``n_free`` last entries are unpenalised.

    In a model with hidden variables f is log Z, and g is log Z where the labels are given. The
    E-step is the gradient of g, the expected features given the labels. The M-step, a few
    quasi-Newton iterations, lowers f less the tangent of g. As g lies above its tangent, the
    objective falls at least as much: its values never rise. An M-step evaluates f alone, so it
    costs half of what direct gradients cost.

    Stops when no entry of the gradient exceeds `tol`, or when an M-step finds nothing lower.
    """
    of_all, of_known = objective.parts()
    w = w0.copy()
    known, expected = of_known.value_and_grad(w)
    value = np.inf
    for n_iter in range(1, max_iter + 1):
        bound = _Bound(of_all, w, known, expected)
        step = owlqn(bound, w, l1=l1, l2=l2, max_iter=M_STEPS, tol=tol)
        if step.n_iter == 0:
            # bound and objective have the same gradient here
            lowest = step.value if n_iter == 1 else value
            return Result(w, lowest, n_iter - 1, step.converged)
        w = step.w
        tangent = bound.tangent(w)
        known, expected = of_known.value_and_grad(w)
        before = value
        of_step = step.value + tangent
        value = of_step - known
        if before < value <= before + NOISE * (abs(of_step) + abs(known)):
            value = before
        if callback is not None and callback(n_iter, w, value):
            break
    return Result(w, value, n_iter, False)


class _Bound:
    """f less the tangent of g at a point: an upper bound of f - g, and equal to it there."""

    def __init__(
        self, of_all: BatchObjective, at: np.ndarray, known: float, expected: np.ndarray
    ) -> None:
        self.of_all = of_all
        self.size = of_all.size
        self.n_free = of_all.n_free
        self.expected = expected
        self.known = known
        self.at = at

    def tangent(self, w: np.ndarray) -> float:
        return self.known + float(np.dot(self.expected, w - self.at))

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = self.of_all.value_and_grad(w)
        grad -= self.expected
        return value - self.tangent(w), grad

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.of_all.hess_vec(w, v)
