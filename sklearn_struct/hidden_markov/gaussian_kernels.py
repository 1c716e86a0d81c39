"""Loops over rows of numbers whose columns are independent: densities, sums and squares.

The last axis of each table is that of the states, which are done side by side, so that the
innermost loops run over memory that is contiguous. NaN is a number that is missing: it adds
nothing.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = [
    "add_masses",
    "add_squares",
    "add_sums",
    "diagonal_densities",
]

# finite, as only what the model rules out may be -inf
LEAST = -1e300


@kernel
def diagonal_densities(
    x: np.ndarray, mean: np.ndarray, scale: np.ndarray, constant: np.ndarray, out: np.ndarray
) -> None:
    """Add to `out` (n, K) the log-densities of independent columns; tables are (d, K).

    ``scale`` are reciprocal standard deviations, ``constant`` the logarithms of the densities at
    the means.
    """
    K = out.shape[1]
    for i in range(len(x)):
        for c in range(x.shape[1]):
            value = x[i, c]
            if value != value:
                continue
            for k in range(K):
                distance = (value - mean[c, k]) * scale[c, k]
                out[i, k] += constant[c, k] - 0.5 * (distance * distance)
        for k in range(K):
            out[i, k] = max(out[i, k], LEAST)


@kernel
def add_masses(x: np.ndarray, weight: np.ndarray, mass: np.ndarray) -> None:
    """Add to `mass` (d, K) the weights (n, K) of the numbers that are there."""
    K = weight.shape[1]
    for i in range(len(x)):
        for c in range(x.shape[1]):
            if x[i, c] != x[i, c]:
                continue
            for k in range(K):
                mass[c, k] += weight[i, k]


@kernel
def add_sums(x: np.ndarray, weight: np.ndarray, sums: np.ndarray) -> None:
    """Add to `sums` (d, K) numbers times weights (n, K)."""
    K = weight.shape[1]
    for i in range(len(x)):
        for c in range(x.shape[1]):
            value = x[i, c]
            if value != value:
                continue
            for k in range(K):
                sums[c, k] += weight[i, k] * value


@kernel
def add_squares(
    x: np.ndarray, weight: np.ndarray, mean: np.ndarray, rest: np.ndarray, squares: np.ndarray
) -> None:
    """Add weights times distances from the means (d, K) to `rest`, and times their squares to
    `squares`.
    """
    K = weight.shape[1]
    for i in range(len(x)):
        for c in range(x.shape[1]):
            value = x[i, c]
            if value != value:
                continue
            for k in range(K):
                away = value - mean[c, k]
                rest[c, k] += weight[i, k] * away
                squares[c, k] += weight[i, k] * (away * away)
