"""Loops over rows of numbers of which none is missing: densities, sums and moments.

Where columns are independent, states are done side by side: the last axis of tables is theirs, and
holds whole vectors. Where they are not, rows are done side by side, one state after the other;
matrices are lower triangles, row after row without gaps.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    add,
    div,
    fma,
    load,
    load_part,
    maximum,
    mul,
    padded,
    splat,
    store,
    store_part,
    sub,
    total,
)
from sklearn_struct.hidden_markov.gaussian_kernels import LEAST

__all__ = [
    "MANY",
    "add_column_moments",
    "add_column_sums",
    "add_outer",
    "column_densities",
    "factored_densities",
    "whole_vectors",
]

SIDE = 4 * LANES  # rows whose densities are computed side by side
TINY = float(np.finfo(np.float64).tiny)
FEW = 8 * LANES  # rows whose products are summed in one vector
MANY = 512  # rows whose products are summed in one number


def whole_vectors(table: np.ndarray) -> np.ndarray:
    """The table (..., K) with zeros behind its last axis."""
    K = table.shape[-1]
    wide = np.zeros((*table.shape[:-1], padded(K)))
    wide[..., :K] = table
    return wide


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
    """Write to `out` (n, K) the log-densities of independent columns.

    ``scale`` (d, P) are reciprocal standard deviations, ``constant`` (P,) the logarithms of the
    densities at the means (d, P), of K states and as many more as fill whole vectors.
    """
    K = out.shape[1]
    d, P = mean.shape
    for i in range(0, len(x), 4):
        # of the last rows, fewer than four, some are done again for nothing
        i1 = min(i + 1, len(x) - 1)
        i2 = min(i + 2, len(x) - 1)
        i3 = min(i + 3, len(x) - 1)
        for k in range(0, K, LANES):
            s0 = splat(0.0)
            s1 = splat(0.0)
            s2 = splat(0.0)
            s3 = splat(0.0)
            for c in range(d):
                centre = load(mean, c * P + k)
                width = load(scale, c * P + k)
                a = mul(sub(splat(x[i, c]), centre), width)
                s0 = fma(a, a, s0)
                a = mul(sub(splat(x[i1, c]), centre), width)
                s1 = fma(a, a, s1)
                a = mul(sub(splat(x[i2, c]), centre), width)
                s2 = fma(a, a, s2)
                a = mul(sub(splat(x[i3, c]), centre), width)
                s3 = fma(a, a, s3)
            top = load(constant, k)
            _store_density(out, i * K + k, s0, top, K - k)
            _store_density(out, i1 * K + k, s1, top, K - k)
            _store_density(out, i2 * K + k, s2, top, K - k)
            _store_density(out, i3 * K + k, s3, top, K - k)


@inlined
def _store_density(out: np.ndarray, o: int, square: Vector, top: Vector, n: int) -> None:
    store_part(out, o, maximum(fma(square, splat(-0.5), top), splat(LEAST)), n)


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
    """Add to `mass` (P,) the weights (n, K), and to `sums` (d, P) numbers times weights."""
    for first in range(0, len(x), MANY):
        _add_sums(x, weight, first, min(first + MANY, len(x)), mass, sums)


@kernel
def add_column_moments(
    x: np.ndarray, weight: np.ndarray, mass: np.ndarray, mean: np.ndarray, squares: np.ndarray
) -> None:
    """Add weighted rows to the `mass` (P,) of all rows, their `mean` (d, P) and the sums of their
    weighted `squares` of distances from it.

    Of a few rows at a time the mean comes first, then distances from it, whose sum is what the mean
    lacks: in one pass over memory, and without differences of large numbers. Moments of such parts
    are merged (Chan, Golub & LeVeque, "Algorithms for computing the sample variance", 1983, eqs.
    1.7 and 2.1).
    """
    d, P = mean.shape
    of_part = np.empty(P)
    centre = np.empty((d, P))
    rest = np.empty((d, P))
    for first in range(0, len(x), MANY):
        last = min(first + MANY, len(x))
        of_part[:] = 0.0
        centre[:] = 0.0
        rest[:] = 0.0
        _add_sums(x, weight, first, last, of_part, centre)
        for k in range(0, P, LANES):
            m = load(of_part, k)
            divisor = maximum(m, splat(TINY))
            for c in range(d):
                store(centre, c * P + k, div(load(centre, c * P + k), divisor))
        _add_squares(x, weight, first, last, centre, rest, squares)
        _merge(of_part, centre, rest, mass, mean, squares)


@inlined
def _merge(
    of_part: np.ndarray,
    centre: np.ndarray,
    rest: np.ndarray,
    mass: np.ndarray,
    mean: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Merge the mass and the mean of a part, whose squares are added already."""
    d, P = mean.shape
    for k in range(P):
        m = of_part[k]
        before = mass[k]
        mass[k] = before + m
        if m == 0.0:
            continue
        divisor = max(m, TINY)
        total_mass = max(mass[k], TINY)
        for c in range(d):
            lacks = rest[c, k] / divisor
            away = centre[c, k] - mean[c, k] + lacks
            # from the heavier mean on, of which the other one changes the last digits
            if m > before:
                mean[c, k] = centre[c, k] + (lacks - before / total_mass * away)
            else:
                mean[c, k] += m / total_mass * away
            squares[c, k] -= rest[c, k] * lacks
            # not the square first, which may be infinite where nothing is before
            squares[c, k] += before * (m / total_mass) * away * away


@inlined
def _add_sums(
    x: np.ndarray, weight: np.ndarray, first: int, last: int, mass: np.ndarray, sums: np.ndarray
) -> None:
    K = weight.shape[1]
    d, P = sums.shape
    for k in range(0, K, LANES):
        total_mass = splat(0.0)
        for i in range(first, last):
            total_mass = add(total_mass, load_part(weight, i * K + k, K - k, 0.0))
        store(mass, k, add(load(mass, k), total_mass))
        for c in range(0, d, 4):
            # of the last columns, fewer than four, some are summed again for nothing
            c1 = min(c + 1, d - 1)
            c2 = min(c + 2, d - 1)
            c3 = min(c + 3, d - 1)
            s0 = splat(0.0)
            s1 = splat(0.0)
            s2 = splat(0.0)
            s3 = splat(0.0)
            for i in range(first, last):
                w = load_part(weight, i * K + k, K - k, 0.0)
                s0 = fma(w, splat(x[i, c]), s0)
                s1 = fma(w, splat(x[i, c1]), s1)
                s2 = fma(w, splat(x[i, c2]), s2)
                s3 = fma(w, splat(x[i, c3]), s3)
            _add_four(sums, c * P + k, P, d - c, s0, s1, s2, s3)


@inlined
def _add_squares(
    x: np.ndarray,
    weight: np.ndarray,
    first: int,
    last: int,
    mean: np.ndarray,
    rest: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Add weights (n, K) times distances of some rows from the means (d, P), and times their
    squares.
    """
    K = weight.shape[1]
    d, P = mean.shape
    for k in range(0, K, LANES):
        for c in range(0, d, 4):
            c1 = min(c + 1, d - 1)
            c2 = min(c + 2, d - 1)
            c3 = min(c + 3, d - 1)
            m0 = load(mean, c * P + k)
            m1 = load(mean, c1 * P + k)
            m2 = load(mean, c2 * P + k)
            m3 = load(mean, c3 * P + k)
            s0 = splat(0.0)
            s1 = splat(0.0)
            s2 = splat(0.0)
            s3 = splat(0.0)
            r0 = splat(0.0)
            r1 = splat(0.0)
            r2 = splat(0.0)
            r3 = splat(0.0)
            for i in range(first, last):
                w = load_part(weight, i * K + k, K - k, 0.0)
                a = sub(splat(x[i, c]), m0)
                r0 = fma(w, a, r0)
                s0 = fma(mul(w, a), a, s0)
                a = sub(splat(x[i, c1]), m1)
                r1 = fma(w, a, r1)
                s1 = fma(mul(w, a), a, s1)
                a = sub(splat(x[i, c2]), m2)
                r2 = fma(w, a, r2)
                s2 = fma(mul(w, a), a, s2)
                a = sub(splat(x[i, c3]), m3)
                r3 = fma(w, a, r3)
                s3 = fma(mul(w, a), a, s3)
            _add_four(rest, c * P + k, P, d - c, r0, r1, r2, r3)
            _add_four(squares, c * P + k, P, d - c, s0, s1, s2, s3)


@inlined
def _add_four(
    table: np.ndarray, o: int, P: int, n: int, s0: Vector, s1: Vector, s2: Vector, s3: Vector
) -> None:
    """Add vectors to as many rows of a table, or to n if these are fewer."""
    store(table, o, add(load(table, o), s0))
    if n > 1:
        store(table, o + P, add(load(table, o + P), s1))
    if n > 2:
        store(table, o + 2 * P, add(load(table, o + 2 * P), s2))
    if n > 3:
        store(table, o + 3 * P, add(load(table, o + 3 * P), s3))


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
