"""Pieces of matrix products whose sums stay in the processor's registers.

Four rows times three vectors make twelve sums, which hide the latency of the multiply-add and use
each loaded number several times. `wide` vectors fill a register of AVX-512, also of float32.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    at,
    fma,
    load,
    load_wide,
    splat,
    splat_wide,
    store,
    store_wide,
    wide_lanes,
)

__all__ = [
    "outer_4x1",
    "outer_4x3",
    "outer_4x3_wide",
    "tile_1x1",
    "tile_1x3",
    "tile_4x1",
    "tile_4x3",
    "tile_4x3_wide",
]


@inlined
def tile_4x3_wide(
    A: np.ndarray,
    a: int,
    last: int,
    matrix: np.ndarray,
    k: int,
    n: int,
    width: int,
    out: np.ndarray,
    o: int,
) -> None:
    """The same with wide vectors."""
    W = wide_lanes(A)
    zero = splat_wide(A.dtype.type(0))
    a0 = zero
    a1 = zero
    a2 = zero
    b0 = zero
    b1 = zero
    b2 = zero
    c0 = zero
    c1 = zero
    c2 = zero
    d0 = zero
    d1 = zero
    d2 = zero
    second = min(last, 1) * width
    third = min(last, 2) * width
    fourth = last * width
    b = a + second
    c = a + third
    d = a + fourth
    for j in range(n):
        m = j * width + k
        x = load_wide(matrix, m)
        y = load_wide(matrix, m + W)
        z = load_wide(matrix, m + 2 * W)
        s = splat_wide(at(A, a + j))
        a0 = fma(s, x, a0)
        a1 = fma(s, y, a1)
        a2 = fma(s, z, a2)
        s = splat_wide(at(A, b + j))
        b0 = fma(s, x, b0)
        b1 = fma(s, y, b1)
        b2 = fma(s, z, b2)
        s = splat_wide(at(A, c + j))
        c0 = fma(s, x, c0)
        c1 = fma(s, y, c1)
        c2 = fma(s, z, c2)
        s = splat_wide(at(A, d + j))
        d0 = fma(s, x, d0)
        d1 = fma(s, y, d1)
        d2 = fma(s, z, d2)
    _store3_wide(out, o, a0, a1, a2)
    _store3_wide(out, o + second, b0, b1, b2)
    _store3_wide(out, o + third, c0, c1, c2)
    _store3_wide(out, o + fourth, d0, d1, d2)


@kernel
def _store3_wide(out: np.ndarray, o: int, x: Vector, y: Vector, z: Vector) -> None:
    W = wide_lanes(out)
    store_wide(out, o, x)
    store_wide(out, o + W, y)
    store_wide(out, o + 2 * W, z)


@inlined
def tile_4x3(
    A: np.ndarray,
    a: int,
    last: int,
    matrix: np.ndarray,
    k: int,
    n: int,
    width: int,
    out: np.ndarray,
    o: int,
) -> None:
    """Rows 0, ..., last, which is at most 3; those behind it are the last one again."""
    # twelve names, not an array: each sum stays in a register
    zero = splat(A.dtype.type(0))
    a0 = zero
    a1 = zero
    a2 = zero
    b0 = zero
    b1 = zero
    b2 = zero
    c0 = zero
    c1 = zero
    c2 = zero
    d0 = zero
    d1 = zero
    d2 = zero
    second = min(last, 1) * width
    third = min(last, 2) * width
    fourth = last * width
    b = a + second
    c = a + third
    d = a + fourth
    for j in range(n):
        m = j * width + k
        x = load(matrix, m)
        y = load(matrix, m + LANES)
        z = load(matrix, m + 2 * LANES)
        s = splat(at(A, a + j))
        a0 = fma(s, x, a0)
        a1 = fma(s, y, a1)
        a2 = fma(s, z, a2)
        s = splat(at(A, b + j))
        b0 = fma(s, x, b0)
        b1 = fma(s, y, b1)
        b2 = fma(s, z, b2)
        s = splat(at(A, c + j))
        c0 = fma(s, x, c0)
        c1 = fma(s, y, c1)
        c2 = fma(s, z, c2)
        s = splat(at(A, d + j))
        d0 = fma(s, x, d0)
        d1 = fma(s, y, d1)
        d2 = fma(s, z, d2)
    _store3(out, o, a0, a1, a2)
    _store3(out, o + second, b0, b1, b2)
    _store3(out, o + third, c0, c1, c2)
    _store3(out, o + fourth, d0, d1, d2)


@kernel
def _store3(out: np.ndarray, o: int, x: Vector, y: Vector, z: Vector) -> None:
    store(out, o, x)
    store(out, o + LANES, y)
    store(out, o + 2 * LANES, z)


@inlined
def tile_4x1(
    A: np.ndarray,
    a: int,
    last: int,
    matrix: np.ndarray,
    k: int,
    n: int,
    width: int,
    out: np.ndarray,
    o: int,
) -> None:
    zero = splat(A.dtype.type(0))
    w = zero
    x = zero
    y = zero
    z = zero
    second = min(last, 1) * width
    third = min(last, 2) * width
    fourth = last * width
    b = a + second
    c = a + third
    d = a + fourth
    for j in range(n):
        row = load(matrix, j * width + k)
        w = fma(splat(at(A, a + j)), row, w)
        x = fma(splat(at(A, b + j)), row, x)
        y = fma(splat(at(A, c + j)), row, y)
        z = fma(splat(at(A, d + j)), row, z)
    store(out, o, w)
    store(out, o + second, x)
    store(out, o + third, y)
    store(out, o + fourth, z)


@inlined
def tile_1x3(
    A: np.ndarray, a: int, matrix: np.ndarray, k: int, n: int, width: int, out: np.ndarray, o: int
) -> None:
    zero = splat(A.dtype.type(0))
    x = zero
    y = zero
    z = zero
    for j in range(n):
        m = j * width + k
        s = splat(at(A, a + j))
        x = fma(s, load(matrix, m), x)
        y = fma(s, load(matrix, m + LANES), y)
        z = fma(s, load(matrix, m + 2 * LANES), z)
    _store3(out, o, x, y, z)


@inlined
def tile_1x1(
    A: np.ndarray, a: int, matrix: np.ndarray, k: int, n: int, width: int, out: np.ndarray, o: int
) -> None:
    w = splat(A.dtype.type(0))
    for j in range(n):
        w = fma(splat(at(A, a + j)), load(matrix, j * width + k), w)
    store(out, o, w)


@inlined
def outer_4x3_wide(
    A: np.ndarray, a: int, V: np.ndarray, v: int, n_rows: int, width: int, out: np.ndarray, o: int
) -> None:
    W = wide_lanes(A)
    p = o + width
    q = o + 2 * width
    r = o + 3 * width
    a0 = load_wide(out, o)
    a1 = load_wide(out, o + W)
    a2 = load_wide(out, o + 2 * W)
    b0 = load_wide(out, p)
    b1 = load_wide(out, p + W)
    b2 = load_wide(out, p + 2 * W)
    c0 = load_wide(out, q)
    c1 = load_wide(out, q + W)
    c2 = load_wide(out, q + 2 * W)
    d0 = load_wide(out, r)
    d1 = load_wide(out, r + W)
    d2 = load_wide(out, r + 2 * W)
    for t in range(n_rows):
        m = v + t * width
        i = a + t * width
        x = load_wide(V, m)
        y = load_wide(V, m + W)
        z = load_wide(V, m + 2 * W)
        s = splat_wide(at(A, i))
        a0 = fma(s, x, a0)
        a1 = fma(s, y, a1)
        a2 = fma(s, z, a2)
        s = splat_wide(at(A, i + 1))
        b0 = fma(s, x, b0)
        b1 = fma(s, y, b1)
        b2 = fma(s, z, b2)
        s = splat_wide(at(A, i + 2))
        c0 = fma(s, x, c0)
        c1 = fma(s, y, c1)
        c2 = fma(s, z, c2)
        s = splat_wide(at(A, i + 3))
        d0 = fma(s, x, d0)
        d1 = fma(s, y, d1)
        d2 = fma(s, z, d2)
    _store3_wide(out, o, a0, a1, a2)
    _store3_wide(out, p, b0, b1, b2)
    _store3_wide(out, q, c0, c1, c2)
    _store3_wide(out, r, d0, d1, d2)


@inlined
def outer_4x3(
    A: np.ndarray, a: int, V: np.ndarray, v: int, n_rows: int, width: int, out: np.ndarray, o: int
) -> None:
    p = o + width
    q = o + 2 * width
    r = o + 3 * width
    # sums are kept in registers, over all rows of the block
    a0 = load(out, o)
    a1 = load(out, o + LANES)
    a2 = load(out, o + 2 * LANES)
    b0 = load(out, p)
    b1 = load(out, p + LANES)
    b2 = load(out, p + 2 * LANES)
    c0 = load(out, q)
    c1 = load(out, q + LANES)
    c2 = load(out, q + 2 * LANES)
    d0 = load(out, r)
    d1 = load(out, r + LANES)
    d2 = load(out, r + 2 * LANES)
    for t in range(n_rows):
        m = v + t * width
        i = a + t * width
        x = load(V, m)
        y = load(V, m + LANES)
        z = load(V, m + 2 * LANES)
        s = splat(at(A, i))
        a0 = fma(s, x, a0)
        a1 = fma(s, y, a1)
        a2 = fma(s, z, a2)
        s = splat(at(A, i + 1))
        b0 = fma(s, x, b0)
        b1 = fma(s, y, b1)
        b2 = fma(s, z, b2)
        s = splat(at(A, i + 2))
        c0 = fma(s, x, c0)
        c1 = fma(s, y, c1)
        c2 = fma(s, z, c2)
        s = splat(at(A, i + 3))
        d0 = fma(s, x, d0)
        d1 = fma(s, y, d1)
        d2 = fma(s, z, d2)
    _store3(out, o, a0, a1, a2)
    _store3(out, p, b0, b1, b2)
    _store3(out, q, c0, c1, c2)
    _store3(out, r, d0, d1, d2)


@inlined
def outer_4x1(
    A: np.ndarray, a: int, V: np.ndarray, v: int, n_rows: int, width: int, out: np.ndarray, o: int
) -> None:
    p = o + width
    q = o + 2 * width
    r = o + 3 * width
    w = load(out, o)
    x = load(out, p)
    y = load(out, q)
    z = load(out, r)
    for t in range(n_rows):
        i = a + t * width
        row = load(V, v + t * width)
        w = fma(splat(at(A, i)), row, w)
        x = fma(splat(at(A, i + 1)), row, x)
        y = fma(splat(at(A, i + 2)), row, y)
        z = fma(splat(at(A, i + 3)), row, z)
    store(out, o, w)
    store(out, p, x)
    store(out, q, y)
    store(out, r, z)
