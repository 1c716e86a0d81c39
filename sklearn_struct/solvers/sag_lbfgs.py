"""Stochastic average gradient to come near the optimum, L-BFGS to get there.

On large data some forty passes of `sag` lead to the optimum, where L-BFGS needs hundreds of
iterations, each half as dear as a pass. Where a few terms say most of what there is to learn, or
features have very different scales, or the penalty is weak, `sag` is as quick at first and then
slow. There `lbfgs` takes over, and needs fewer iterations than from zero.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.objective_protocols import SumOfTerms
from sklearn_struct.solvers.result import Callback, Result
from sklearn_struct.solvers.sag import Remembered, evaluate, sag

__all__ = ["sag_lbfgs"]

# passes after which the gradient must have been so many times `tol` at most; the first one that is
# looked at may be as many times that: it wavers from pass to pass, and the least of several counts
FEW = 20
NEAR = 20.0
WAVERS = 5.0
MOST = 100  # passes
FINER = (1.0, 0.3, 0.1)  # times `tol`, which says less of the gap than of the gradient


def sag_lbfgs(
    objective: SumOfTerms,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    rng: np.random.RandomState,
    memory: Remembered | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2``; the ``n_free`` last entries are unpenalised.

    An iteration is a pass of `sag` or, later, one of `lbfgs`. Stops where `sag` does. `memory` is
    that of `sag`.
    """
    if l1:
        raise ValueError("sag_lbfgs is for smooth objectives; use sag or owlqn with an L1 penalty")

    done = 0
    stopped = False
    lowest = np.inf

    def counted(n_iter: int, w: np.ndarray, value: float) -> bool:
        nonlocal stopped, lowest
        # near the optimum values rise by their rounding errors
        lowest = min(value, lowest)
        stopped = callback is not None and callback(done + n_iter, w, lowest)
        return stopped

    best = sag(
        objective,
        w0,
        l1=0.0,
        l2=l2,
        max_iter=max_iter,
        tol=tol,
        callback=counted,
        rng=rng,
        memory=memory,
        hopeless=_Doubts(tol),
        sampled=True,
    )
    for share in FINER:
        done = best.n_iter
        if best.converged or stopped or done >= max_iter:
            break
        objective.wake()
        # with its usual tolerance first, as a start may already pass for an end
        further = lbfgs(
            objective,
            best.w,
            l1=0.0,
            l2=l2,
            max_iter=max_iter - done,
            tol=share * tol,
            callback=counted,
        )
        here = evaluate(objective, further.w, 0.0, l2, tol)
        best = here._replace(value=min(here.value, lowest), n_iter=done + further.n_iter)
        if not further.converged:
            break
    return best._replace(converged=best.steepest <= tol)


class _Doubts:
    """Whether to give up, each time when a gradient has been looked at."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.wavers = WAVERS

    def __call__(self, n_iter: int, flattest: float) -> bool:
        near = self.wavers * NEAR * self.tol
        self.wavers = 1.0
        return n_iter >= MOST or (n_iter >= FEW and not flattest <= near)
