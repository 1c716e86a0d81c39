"""Loops over rows of numbers of which none is missing: densities, sums and moments.

Rows are done side by side, as many as fill some vectors, one state after the other. Matrices are
lower triangles, row after row without gaps.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import LANES, add, fma, load, mul, splat, store, sub, total
from sklearn_struct.hidden_markov.gaussian_kernels import LEAST

__all__ = [
    "add_column_squares",
    "add_column_sums",
    "add_outer",
    "column_densities",
    "factored_densities",
]

SIDE = 4 * LANES  # rows whose densities are computed side by side
FEW = 8 * LANES  # rows whose products are summed in one vector


@inlined
def _turn(x: np.ndarray, first: int, side: int, turned: np.ndarray) -> None:
    """Columns of some rows, each of them contiguous; zeros behind the last row."""
    m = min(side, len(x) - first)
    for c in range(x.shape[1]):
        for r in range(m):
            turned[c * side + r] = x[first + r, c]
        for r in range(m, side):
            turned[c * side + r] = 0.0


@kernel
def column_densities(
    x: np.ndarray, mean: np.ndarray, scale: np.ndarray, constant: np.ndarray, out: np.ndarray
) -> None:
    """Add to `out` (n, K) the log-densities of independent columns.

    ``scale`` (K, d) are reciprocal standard deviations, ``constant`` (K,) the logarithms of the
    densities at the means (K, d).
    """
    K, d = mean.shape
    columns = np.empty(d * SIDE)
    distance = np.empty(SIDE)
    for first in range(0, len(x), SIDE):
        _turn(x, first, SIDE, columns)
        for k in range(K):
            for v in range(0, SIDE, LANES):
                square = splat(0.0)
                for c in range(d):
                    away = sub(load(columns, c * SIDE + v), splat(mean[k, c]))
                    away = mul(away, splat(scale[k, c]))
                    square = fma(away, away, square)
                store(distance, v, square)
            for r in range(min(SIDE, len(x) - first)):
                value = out[first + r, k] + constant[k] - 0.5 * distance[r]
                out[first + r, k] = max(value, LEAST)


@kernel
def factored_densities(
    x: np.ndarray, mean: np.ndarray, factor: np.ndarray, constant: np.ndarray, out: np.ndarray
) -> None:
    """Add to `out` (n, K) the log-densities of rows without NaN.

    ``factor`` (K, d (d + 1) / 2) are the inverses of the Cholesky factors of covariances, and
    ``constant`` (K,) the logarithms of the densities at the means (K, d).
    """
    K, d = mean.shape
    columns = np.empty(d * SIDE)
    away = np.empty(d * SIDE)
    distance = np.empty(SIDE)
    for first in range(0, len(x), SIDE):
        _turn(x, first, SIDE, columns)
        for k in range(K):
            for c in range(d):
                centre = splat(mean[k, c])
                for v in range(c * SIDE, (c + 1) * SIDE, LANES):
                    store(away, v, sub(load(columns, v), centre))
            _distances(away, factor[k], d, distance)
            for r in range(min(SIDE, len(x) - first)):
                value = out[first + r, k] + constant[k] - 0.5 * distance[r]
                out[first + r, k] = max(value, LEAST)


@inlined
def _distances(away: np.ndarray, factor: np.ndarray, d: int, distance: np.ndarray) -> None:
    """Squared lengths of the products of a triangle with the columns of `away`."""
    # four sums at a time, as each waits for its own last product
    q0 = splat(0.0)
    q1 = splat(0.0)
    q2 = splat(0.0)
    q3 = splat(0.0)
    p = 0
    for a in range(d):
        s0 = splat(0.0)
        s1 = splat(0.0)
        s2 = splat(0.0)
        s3 = splat(0.0)
        for b in range(a + 1):
            f = splat(factor[p])
            p += 1
            s0 = fma(f, load(away, b * SIDE), s0)
            s1 = fma(f, load(away, b * SIDE + LANES), s1)
            s2 = fma(f, load(away, b * SIDE + 2 * LANES), s2)
            s3 = fma(f, load(away, b * SIDE + 3 * LANES), s3)
        q0 = fma(s0, s0, q0)
        q1 = fma(s1, s1, q1)
        q2 = fma(s2, s2, q2)
        q3 = fma(s3, s3, q3)
    store(distance, 0, q0)
    store(distance, LANES, q1)
    store(distance, 2 * LANES, q2)
    store(distance, 3 * LANES, q3)


@kernel
def add_column_sums(x: np.ndarray, weight: np.ndarray, mass: np.ndarray, sums: np.ndarray) -> None:
    """Add to `mass` (K,) the weights (n, K), and to `sums` (K, d) numbers times weights."""
    K, d = sums.shape
    columns = np.empty(d * FEW)
    weights = np.empty(K * FEW)
    for first in range(0, len(x), FEW):
        _turn(x, first, FEW, columns)
        _turn(weight, first, FEW, weights)
        for k in range(K):
            all_rows = splat(0.0)
            for v in range(0, FEW, LANES):
                all_rows = add(all_rows, load(weights, k * FEW + v))
            mass[k] += total(all_rows)
            for c in range(d):
                product = splat(0.0)
                for v in range(0, FEW, LANES):
                    of_rows = load(weights, k * FEW + v)
                    product = fma(of_rows, load(columns, c * FEW + v), product)
                sums[k, c] += total(product)


@kernel
def add_column_squares(
    x: np.ndarray, weight: np.ndarray, mean: np.ndarray, squares: np.ndarray
) -> None:
    """Add to `squares` (K, d) weights times squared distances from the means (K, d)."""
    K, d = mean.shape
    columns = np.empty(d * FEW)
    weights = np.empty(K * FEW)
    for first in range(0, len(x), FEW):
        _turn(x, first, FEW, columns)
        _turn(weight, first, FEW, weights)
        for k in range(K):
            for c in range(d):
                centre = splat(mean[k, c])
                product = splat(0.0)
                for v in range(0, FEW, LANES):
                    away = sub(load(columns, c * FEW + v), centre)
                    weighted = mul(load(weights, k * FEW + v), away)
                    product = fma(weighted, away, product)
                squares[k, c] += total(product)


@kernel
def add_outer(x: np.ndarray, weight: np.ndarray, mean: np.ndarray, outer: np.ndarray) -> None:
    """Add to the triangles `outer` (K, d (d + 1) / 2) weights times products of distances from the
    means (K, d), of rows without NaN.
    """
    K, d = mean.shape
    columns = np.empty(d * FEW)
    weights = np.empty(K * FEW)
    away = np.empty(d * FEW)
    weighted = np.empty(d * FEW)
    for first in range(0, len(x), FEW):
        _turn(x, first, FEW, columns)
        _turn(weight, first, FEW, weights)
        for k in range(K):
            for c in range(d):
                centre = splat(mean[k, c])
                for v in range(0, FEW, LANES):
                    distance = sub(load(columns, c * FEW + v), centre)
                    store(away, c * FEW + v, distance)
                    store(weighted, c * FEW + v, mul(load(weights, k * FEW + v), distance))
            p = 0
            for a in range(d):
                for b in range(a + 1):
                    product = splat(0.0)
                    for v in range(0, FEW, LANES):
                        left = load(weighted, a * FEW + v)
                        product = fma(left, load(away, b * FEW + v), product)
                    outer[k, p] += total(product)
                    p += 1
