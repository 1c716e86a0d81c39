"""Softmax of a row of scores: the smallest of all inferences, of one variable alone."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    exp,
    largest,
    load,
    maximum,
    mul,
    splat,
    store,
    sub,
    total,
)

__all__ = ["softmax"]


@kernel
def softmax(row: np.ndarray) -> tuple[float, float]:
    """Make probabilities of the scores in a row of whole vectors, -inf behind the last.

    Return the largest score, and the sum of exp(score - largest), whose logarithm may wait for
    those of other rows. Without a score above -inf the sum and all probabilities are 0.
    """
    # the largest score is taken off first, so that exp neither overflows nor makes only zeros
    best = splat(-np.inf)
    mass = splat(0.0)
    for k in range(0, len(row), LANES):
        best = maximum(load(row, k), best)
    top = largest(best)
    # -inf - -inf would be nan
    shift = splat(top if top > -np.inf else 0.0)
    for k in range(0, len(row), LANES):
        x = exp(sub(load(row, k), shift))
        store(row, k, x)
        mass = add(mass, x)
    norm = total(mass)
    scale = splat(1.0 / norm if norm > 0.0 else 0.0)
    for k in range(0, len(row), LANES):
        store(row, k, mul(load(row, k), scale))
    return top, norm
