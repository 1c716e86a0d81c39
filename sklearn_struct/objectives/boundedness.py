"""Whether a mean of exponentials plus a linear function has a minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.linalg import lsmr

__all__ = ["has_minimum"]

# within which HiGHS, too, takes constraints for met
TOLERANCE = 1e-7


def has_minimum(F: Any, linear: np.ndarray) -> bool:
    """Whether ``sum_i exp(-(F w)_i) + linear . w`` has a minimum.

    It has none if along some direction d nothing rises: ``F d >= 0`` and ``linear . d <= 0``, not
    all of them zero. That is the case unless `linear` is a sum of the rows of F, each taken with a
    positive factor. Where it is no linear combination of them at all, what is left of it after
    projection is such a direction; else a linear program looks for one.
    """
    F = sp.csr_array(F)
    size = float(np.max(np.abs(linear), initial=0.0))
    if size == 0.0:
        return int(F.nnz) == 0
    # the answer does not depend on its length, but TOLERANCE is absolute
    linear = linear / size
    # the part of `linear` that no row of F answers: along it the objective falls without end
    left = linear - F.T @ lsmr(F.T, linear, atol=1e-14, btol=1e-14, maxiter=1000)[0]
    length = float(left @ left)
    if length > TOLERANCE and np.max(np.abs(F @ left), initial=0.0) <= TOLERANCE * length:
        return False
    n, m = F.shape
    solution = linprog(
        np.concatenate([linear, -np.ones(n)]),
        A_ub=sp.vstack(
            [sp.hstack([-F, sp.eye_array(n)]), sp.csr_array(np.append(linear, np.zeros(n))[None])]
        ),
        b_ub=np.zeros(n + 1),
        # a direction has any length, so it is kept in a box; then the optimum is 0, or clearly not
        bounds=[(-1, 1)] * m + [(0, 1)] * n,
        method="highs",
    )
    # where the program comes to no end nothing says that there is a minimum
    return bool(solution.status == 0 and -solution.fun <= TOLERANCE)
