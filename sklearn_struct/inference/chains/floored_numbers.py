"""Scaled numbers of chains that do not vanish, and when they can be trusted.

A label may be all but impossible at a token and win later, where pairs are forbidden or far apart.
In scaled numbers it underflows before that. So whatever is possible is kept above a floor here:
exponentials of scores above `LEAST`, alphas above `FLOOR`. What is impossible stays 0.

So alphas are bounds of the true ones from above, and what they have too much can be bounded, too.
At a token, alpha is raised by `FLOOR` at most, which costs each sum FLOOR * beta; a raised
exponential costs LEAST * beta. If alpha * beta sums to 1 and all betas are below `MOST`, that is
nothing. Betas are raised likewise, and no alpha is above 1.

Where a beta is above `MOST`, what comes before a token contradicts what comes after it. Such
sequences are left to others.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import Vector, exp, if_larger, maximum, splat

__all__ = ["FLOOR", "LEAST", "MOST", "SPREAD", "floored", "raise_table", "raised_exp"]

FLOOR = 1e-150
LEAST = 1e-150  # times FLOOR it is a number still
MOST = 1e110
SPREAD = 60.0  # of scores of pairs, below which no beta is that large if none is forbidden
_LOG_LEAST = float(np.log(LEAST))


@inlined
def raised_exp(x: Vector) -> Vector:
    """exp(x) of x <= 0, and at least `LEAST`, but 0 of -inf."""
    return if_larger(x, splat(-np.inf), exp(maximum(x, splat(_LOG_LEAST))))


@inlined
def floored(x: Vector, u: Vector, product: Vector) -> Vector:
    """A product of x and u, raised to `FLOOR`, but 0 where one of them is 0."""
    # steps wait for x: what needs only u comes first
    floor = if_larger(u, splat(0.0), splat(FLOOR))
    return if_larger(x, splat(0.0), maximum(product, floor))


@kernel
def raise_table(scores: np.ndarray, top: float, out: np.ndarray) -> None:
    """Write exp of the scores of pairs (1, m) less `top`, which is the largest one: at least
    `LEAST`, but 0 of -inf.
    """
    for m in range(scores.shape[1]):
        x = scores[0, m]
        out[m] = max(np.exp(x - top), LEAST) if x > -np.inf else 0.0
