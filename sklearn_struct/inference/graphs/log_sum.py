"""Logarithms of sums of exponentials, real or complex."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["log_sum"]

# logarithms of shares that no sum has digits for
NOTHING = -60.0


@kernel
def log_sum(scores: np.ndarray) -> Any:
    """log sum exp of a row."""
    top = scores[0].real
    for k in range(1, len(scores)):
        top = max(top, scores[k].real)
    total: complex = scores[0]
    # else a difference of infinities would be NaN
    if top > -np.inf:
        mass = scores.dtype.type(0.0)
        for k in range(len(scores)):
            share = scores[k] - top
            # an exponential takes much longer than to see that there is no need of it
            if share.real > NOTHING:
                mass += np.exp(share)
        total = top + np.log(mass)
    return total
