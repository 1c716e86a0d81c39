"""Random weights to begin with: states that begin alike stay alike."""

from __future__ import annotations

import numpy as np

__all__ = ["NOISE", "with_noise"]

# standard deviation of the weights that a fit begins with
NOISE = 0.1


def with_noise(w: np.ndarray, chosen: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """A copy of w, to whose `chosen` weights, a mask, random numbers are added.

    Where hidden states are alike, the loss has no slope that would tell them apart.
    """
    w = w.copy()
    w[chosen] += NOISE * rng.standard_normal(int(np.count_nonzero(chosen)))
    return w
