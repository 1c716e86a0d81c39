"""Loops over rows of numbers, all states side by side: densities, sums and moments.

The last axis of each table is that of the states, so that the innermost loops run over memory that
is contiguous. NaN is a number that is missing: it adds nothing.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = [
    "add_masses",
    "add_outer",
    "add_squares",
    "add_sums",
    "diagonal_densities",
    "factored_densities",
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
def factored_densities(
    x: np.ndarray, mean: np.ndarray, factor: np.ndarray, constant: np.ndarray, out: np.ndarray
) -> None:
    """Add to `out` (n, K) the log-densities of rows without NaN.

    ``factor`` (d, d, K) are lower triangles, the inverses of the Cholesky factors of covariances,
    and ``constant`` (K,) the logarithms of the densities at the means (d, K).
    """
    d, K = mean.shape
    away = np.empty((d, K))
    distance = np.empty(K)
    for i in range(len(x)):
        for c in range(d):
            for k in range(K):
                away[c, k] = x[i, c] - mean[c, k]
        for k in range(K):
            out[i, k] += constant[k]
        for a in range(d):
            distance[:] = 0.0
            for b in range(a + 1):
                for k in range(K):
                    distance[k] += factor[a, b, k] * away[b, k]
            for k in range(K):
                out[i, k] -= 0.5 * (distance[k] * distance[k])
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
def add_squares(x: np.ndarray, weight: np.ndarray, mean: np.ndarray, squares: np.ndarray) -> None:
    """Add to `squares` (d, K) weights times squared distances from the means (d, K)."""
    K = weight.shape[1]
    for i in range(len(x)):
        for c in range(x.shape[1]):
            value = x[i, c]
            if value != value:
                continue
            for k in range(K):
                away = value - mean[c, k]
                squares[c, k] += weight[i, k] * (away * away)


@kernel
def add_outer(x: np.ndarray, weight: np.ndarray, mean: np.ndarray, outer: np.ndarray) -> None:
    """Add to the lower triangles `outer` (d, d, K) weights times products of distances from the
    means (d, K), of rows without NaN.
    """
    d, K = mean.shape
    away = np.empty((d, K))
    weighted = np.empty(K)
    for i in range(len(x)):
        for c in range(d):
            for k in range(K):
                away[c, k] = x[i, c] - mean[c, k]
        for a in range(d):
            for k in range(K):
                weighted[k] = weight[i, k] * away[a, k]
            for b in range(a + 1):
                for k in range(K):
                    outer[a, b, k] += weighted[k] * away[b, k]
