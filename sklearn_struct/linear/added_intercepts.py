"""Adds a row to the scores of all tokens, and sums the squares of the results on the way.

The sum tells whether all scores are finite and none is very large: it is NaN or infinite as soon as
one of them is, or its square. To read the scores once more for that would take 1 % of a prediction.
"""

from __future__ import annotations

import math

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES, add, fma, load_part, splat, store_part, total

__all__ = ["add_to_rows"]


def add_to_rows(row: np.ndarray, scores: np.ndarray) -> float:
    """``scores += row`` for each row of a contiguous array; return the sum of squares after it."""
    repeats = LANES // math.gcd(len(row), LANES)  # rows end to end fill whole vectors
    return float(_add(np.concatenate([row] * repeats), scores))


@kernel
def _add(tile: np.ndarray, scores: np.ndarray) -> float:
    m = len(tile)
    n = scores.size
    zero = scores.dtype.type(0)
    squares = splat(zero)
    for first in range(0, n, m):
        # the last tile may go on beyond the scores
        for k in range(0, min(m, n - first), LANES):
            i = first + k
            x = add(load_part(scores, i, n - i, zero), load_part(tile, k, n - i, zero))
            store_part(scores, i, x, n - i)
            squares = fma(x, x, squares)
    return total(squares)
