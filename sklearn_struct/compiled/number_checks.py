"""Checks of many numbers in one pass, without arrays of truth values."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["n_beyond"]


@kernel
def n_beyond(numbers: np.ndarray, limit: float) -> int:
    """How many of some numbers (n,) are NaN, larger than a limit, or smaller than minus it."""
    # to count is quicker than to ask whether there is one: lanes of vectors need not agree
    n = 0
    for i in range(len(numbers)):
        n += not abs(numbers[i]) <= limit
    return n
