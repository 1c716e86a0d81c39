"""Adaptive regularisation of weight vectors (AROW): each weight has a variance, and moves as far as
that allows.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.solvers.objective_protocols import SumOfTerms
from sklearn_struct.solvers.result import Callback, Result

__all__ = ["adaptive"]


def adaptive(
    objective: SumOfTerms,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    rng: np.random.RandomState,
) -> Result:
    """Step against a term's gradient g, times variances v, by f_i / (g' v g + l2 * n_terms)
    (Crammer et al. 2009).

    Variances are 1 at first; that of a weight then becomes 1 / (1 / v + g**2 / (l2 * n_terms)), so
    that what is seen often moves less and less. Other variances at first are another scale: v and r
    come to the same as 1 and r / v.

    An iteration is a pass over the terms in random order, its value the mean of the losses that its
    steps met. Converged when this mean is at most `tol`. There is no mean of iterates.
    """
    if l1:
        raise ValueError("adaptive regularisation has no L1 penalty; use owlqn")
    stay = l2 * objective.n_terms
    before = np.array(objective.expand(w0), dtype=np.float64)
    W = before.copy()
    variance = np.ones_like(before)
    g = np.zeros_like(before)
    w = w0
    value = 0.0
    converged = False
    n_iter = 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        total = 0.0
        for i in rng.permutation(objective.n_terms):
            loss, gradient = objective.term(objective.forward(W, i, 1.0), i)
            if not np.any(gradient):
                continue
            objective.add(gradient, i, g, 1.0)
            # g is as long as all weights, but a term touches few of them: only these are cleared
            # again, so a step costs what its term costs
            touched = np.flatnonzero(g)
            slope = g[touched]
            g[touched] = 0.0
            spread = variance[touched] * slope
            length = float(np.dot(spread, slope)) + stay
            if length > 0:
                # the length at which the term's loss would vanish, were it linear and the penalty 0
                W[touched] -= loss / length * spread
                # without a penalty a weight that was seen once never moves again
                variance[touched] /= 1.0 + spread * slope / stay if stay else np.inf
            total += loss
        # the expanded layout may lack weights that no term touches: only what changed is added
        w = w0 + objective.compress(W - before)
        value = total / objective.n_terms
        converged = value <= tol
        if callback is not None and callback(n_iter, w, value):
            break
    return Result(w, value, n_iter, converged)
