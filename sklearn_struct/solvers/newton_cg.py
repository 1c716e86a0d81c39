"""Newton's method by scipy (Nocedal & Wright, chapter 7).

`newton_cg` and `trust_ncg` solve for Newton's step, with a line search or within a trust region, by
conjugate gradients that see the Hessian in products with vectors alone.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from sklearn_struct.solvers.objective_protocols import BatchObjective
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.result import Callback, Result

__all__ = ["newton_cg", "trust_ncg"]

EPSILON = float(np.finfo(float).eps)


def newton_cg(
    objective: BatchObjective,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    method: str = "Newton-CG",
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2`` over the penalised and the ``n_free`` last,
    unpenalised entries.

    Stops when no entry of the gradient exceeds `tol`, whatever the rule of scipy's `method`.
    """
    if l1:
        raise ValueError(f"{method} is for smooth objectives; use owlqn with an L1 penalty")
    penalised = Penalised(objective, l2)
    # scipy's Newton-CG takes curvatures below 3 eps for zero, as a number of its own: `tol` must
    # not meet them
    scale = 1.0 / np.sqrt(max(tol, EPSILON)) if method == "Newton-CG" else 1.0
    # what was tried may be refused by scipy; what was reached is what callers get
    tried = reached = _Point(w0, *penalised.value_and_grad(w0))
    n_iter = 0

    def value_and_grad(w: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal tried
        # scipy asks for value, gradient and products at the same point one by one
        if not np.array_equal(w, tried.w):
            tried = _Point(w.copy(), *penalised.value_and_grad(w))
        return scale * tried.value, scale * tried.grad

    def hess_vec(w: np.ndarray, v: np.ndarray) -> np.ndarray:
        return scale * penalised.hess_vec(w, v)

    def after(intermediate_result: OptimizeResult) -> None:
        nonlocal n_iter, reached
        n_iter += 1
        w = intermediate_result.x
        if not np.array_equal(w, reached.w):  # a trust region may have refused the step
            value_and_grad(w)
            reached = tried
        stop = callback is not None and callback(n_iter, reached.w, reached.value)
        if stop or reached.steepest <= tol:
            # scipy's own rules are other norms; `tol` bounds the largest entry for all solvers
            raise StopIteration

    if reached.steepest > tol:
        rule = "xtol" if method == "Newton-CG" else "gtol"
        # with 0 scipy 1.12 would not start
        options = {"maxiter": max_iter, rule: np.finfo(float).tiny}
        # its result is not read: `after` keeps the last point that was accepted
        minimize(
            value_and_grad,
            w0,
            jac=True,
            hessp=hess_vec,
            method=method,
            callback=after,
            options=options,
        )
    steepest = reached.steepest
    return Result(reached.w, reached.value, n_iter, steepest <= tol, steepest=steepest)


class _Point(NamedTuple):
    w: np.ndarray
    value: float
    grad: np.ndarray

    @property
    def steepest(self) -> float:
        return float(np.max(np.abs(self.grad), initial=0.0))


trust_ncg = partial(newton_cg, method="trust-ncg")
