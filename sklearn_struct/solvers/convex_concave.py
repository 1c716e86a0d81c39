"""The convex-concave procedure for losses of margins with hidden labels (A. Yuille and
A. Rangarajan, Neural Computation 2003; C.-N. Yu and T. Joachims, ICML 2009, algorithm 1).
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.solvers.frank_wolfe import frank_wolfe
from sklearn_struct.solvers.objective_protocols import HiddenTerms
from sklearn_struct.solvers.result import Callback, Result

__all__ = ["convex_concave"]


def convex_concave(
    objective: HiddenTerms,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    callback: Callback | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2``, where the objective is f - g, and each of both is
    the largest one of planes.

    A round completes what is hidden at w and minimises the objective of that completion by
    `frank_wolfe`, to a relative gap of `tol`. That one is convex, never below the objective, and
    equal to it at w, so values fall. Stops when a round lowers the value by less than `tol` of it,
    or completes nothing in another way. The result is no global minimum, so it has no gap.
    """
    best = Result(w0.copy(), _value(objective, w0, l2), 0, False)
    completion = np.empty(0, np.int32)
    while best.n_iter < max_iter and not best.converged:
        now = objective.completion(best.w)
        if np.array_equal(now, completion):
            return best._replace(converged=True)
        completion = now
        convex = objective.with_completion(completion)
        start = np.zeros_like(w0)
        step = frank_wolfe(convex, start, l1=l1, l2=l2, max_iter=max_iter, tol=tol, rng=rng)
        value = _value(objective, step.w, l2)
        gain = best.value - value
        best = best._replace(n_iter=best.n_iter + 1, converged=gain <= tol * abs(value))
        if gain > 0:
            best = best._replace(w=step.w, value=value)
        if callback is not None and callback(best.n_iter, best.w.copy(), best.value):
            break
    return best


def _value(objective: HiddenTerms, w: np.ndarray, l2: float) -> float:
    return objective.value(w) + l2 / 2 * float(np.dot(w, w))
