"""Stochastic dual coordinate ascent (Shalev-Shwartz & Zhang, Journal of Machine Learning Research
14, 2013).

With a penalty the optimal w is a combination of the examples' rows. Each step takes one example and
finds its factor exactly, while the others keep theirs; there is no step length. A pass costs as
much as an evaluation. Where there are more parameters than examples, it needs far fewer passes than
L-BFGS needs iterations: on the noun phrases of CoNLL-2000, `MEstimatedCRF` with C=1 needs 22 and
80.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.solvers.objective_protocols import DualObjective, State
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.result import Callback, Result

__all__ = ["sdca"]


def sdca(
    objective: DualObjective[State],
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    callback: Callback | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2`` over the penalised entries and a last one that may
    be free.

    Stops when no entry of the gradient exceeds `tol`. Early passes may raise the value, as it is
    the dual problem's that grows; what is returned is the best point seen.
    """
    if l1 or not l2 > 0:
        raise ValueError(
            "sdca needs an L2 penalty, and no other; use 'lbfgs' without one, 'owlqn' with L1"
        )
    smooth = Penalised(objective, l2)
    n_iter = 0
    value, grad = smooth.value_and_grad(w0)
    best = w0.copy()
    lowest = value
    w, dual, scales = objective.dual_start(w0, l2)
    while True:
        converged = _steepest(grad) <= tol
        if converged or n_iter == max_iter:
            return Result(best, lowest, n_iter, converged)
        objective.dual_pass(w, dual, scales, rng.permutation(objective.n_terms))
        n_iter += 1
        value, grad = smooth.value_and_grad(w)
        # dual ascent raises the dual in each step, but the primal value may rise meanwhile
        if value <= lowest or _steepest(grad) <= tol:
            best = w.copy()
            lowest = value
        # a copy: the next pass writes into w, and a callback may keep what it gets
        if callback is not None and callback(n_iter, w.copy(), value):
            return Result(best, lowest, n_iter, _steepest(grad) <= tol)


def _steepest(grad: np.ndarray) -> float:
    return float(np.max(np.abs(grad), initial=0.0))
