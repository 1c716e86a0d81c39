"""Products of small dense matrices, inside kernels, and their max-plus twin for Viterbi.

Matrices are flat and row-major; their width is a multiple of `LANES`. Four rows times three vectors
make twelve independent sums, which hide the latency of the multiply-add and use each loaded number
several times. Every entry of a product is summed in the same order, in whichever tile it falls: a
row's result does not depend on its neighbours.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    add,
    at,
    fma,
    load,
    maximum,
    splat,
    store,
    total,
)

__all__ = [
    "add_outer",
    "matrix_times_row",
    "row_times_matrix",
    "rows_max_plus",
    "rows_times_matrix",
]


@kernel
def rows_times_matrix(
    A: np.ndarray,
    a: int,
    n_rows: int,
    matrix: np.ndarray,
    n: int,
    width: int,
    out: np.ndarray,
    o: int,
) -> None:
    """``out[o + r * width :][:width] = A[a + r * width :][:n] @ matrix`` for each of `n_rows` rows.

    The matrix is (n, width).
    """
    # four rows and three vectors at a time use most of the registers, and each number that is
    # loaded often
    tiled = n_rows - n_rows % 4
    wide = width - width % (3 * LANES)
    for k in range(0, wide, 3 * LANES):
        for r in range(0, tiled, 4):
            _tile_4x3(A, a + r * width, matrix, k, n, width, out, o + r * width + k)
    for k in range(wide, width, LANES):
        for r in range(0, tiled, 4):
            _tile_4x1(A, a + r * width, matrix, k, n, width, out, o + r * width + k)
    for r in range(tiled, n_rows):
        row_times_matrix(A, a + r * width, matrix, n, width, out, o + r * width)


@inlined
def row_times_matrix(
    A: np.ndarray, a: int, matrix: np.ndarray, n: int, width: int, out: np.ndarray, o: int
) -> None:
    """The same of one row, without a call, which takes longer than a short row."""
    for k in range(0, width, LANES):
        _tile_1x1(A, a, matrix, k, n, width, out, o + k)


@inlined
def _tile_4x3(
    A: np.ndarray, a: int, matrix: np.ndarray, k: int, n: int, width: int, out: np.ndarray, o: int
) -> None:
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
    b = a + width
    c = a + 2 * width
    d = a + 3 * width
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
    _store3(out, o + width, b0, b1, b2)
    _store3(out, o + 2 * width, c0, c1, c2)
    _store3(out, o + 3 * width, d0, d1, d2)


@kernel
def _store3(out: np.ndarray, o: int, x: Vector, y: Vector, z: Vector) -> None:
    store(out, o, x)
    store(out, o + LANES, y)
    store(out, o + 2 * LANES, z)


@inlined
def _tile_4x1(
    A: np.ndarray, a: int, matrix: np.ndarray, k: int, n: int, width: int, out: np.ndarray, o: int
) -> None:
    zero = splat(A.dtype.type(0))
    w = zero
    x = zero
    y = zero
    z = zero
    b = a + width
    c = a + 2 * width
    d = a + 3 * width
    for j in range(n):
        row = load(matrix, j * width + k)
        w = fma(splat(at(A, a + j)), row, w)
        x = fma(splat(at(A, b + j)), row, x)
        y = fma(splat(at(A, c + j)), row, y)
        z = fma(splat(at(A, d + j)), row, z)
    store(out, o, w)
    store(out, o + width, x)
    store(out, o + 2 * width, y)
    store(out, o + 3 * width, z)


@inlined
def _tile_1x1(
    A: np.ndarray, a: int, matrix: np.ndarray, k: int, n: int, width: int, out: np.ndarray, o: int
) -> None:
    w = splat(A.dtype.type(0))
    for j in range(n):
        w = fma(splat(at(A, a + j)), load(matrix, j * width + k), w)
    store(out, o, w)


@kernel
def matrix_times_row(
    matrix: np.ndarray, n: int, width: int, row: np.ndarray, i: int, out: np.ndarray, o: int
) -> None:
    """``out[o : o + n] = matrix @ row[i : i + width]`` for a (n, width) matrix."""
    for j in range(n):
        mass = splat(row.dtype.type(0))
        for k in range(0, width, LANES):
            mass = fma(load(matrix, j * width + k), load(row, i + k), mass)
        out[o + j] = total(mass)


@kernel
def rows_max_plus(
    A: np.ndarray,
    a: int,
    n_rows: int,
    matrix: np.ndarray,
    n: int,
    width: int,
    out: np.ndarray,
    o: int,
) -> None:
    """`rows_times_matrix` with max for the sum and + for the product.

    ``out[o + r * width + k] = max_j A[a + r * width + j] + matrix[j, k]``.
    """
    for k in range(0, width, LANES):
        r = 0
        first = load(matrix, k)
        while r < n_rows:
            tile = r + 4 <= n_rows
            # the last rows, fewer than four, are worked on one by one, as four times the same row,
            # lest another loop be compiled for them
            stride = width if tile else 0
            b = a + r * width
            q = o + r * width + k
            c = b + stride
            d = b + 2 * stride
            e = b + 3 * stride
            w = add(splat(at(A, b)), first)
            x = add(splat(at(A, c)), first)
            y = add(splat(at(A, d)), first)
            z = add(splat(at(A, e)), first)
            for j in range(1, n):
                row = load(matrix, j * width + k)
                w = maximum(add(splat(at(A, b + j)), row), w)
                x = maximum(add(splat(at(A, c + j)), row), x)
                y = maximum(add(splat(at(A, d + j)), row), y)
                z = maximum(add(splat(at(A, e + j)), row), z)
            store(out, q, w)
            store(out, q + stride, x)
            store(out, q + 2 * stride, y)
            store(out, q + 3 * stride, z)
            r += 4 if tile else 1


@inlined
def add_outer(
    A: np.ndarray, a: int, V: np.ndarray, v: int, n_rows: int, n: int, width: int, out: np.ndarray
) -> None:
    """``out += A[a:].T @ V[v:]`` for two matrices (n_rows, width).

    `out` is (n, width), and n a multiple of 4.
    """
    wide = width - width % (3 * LANES)
    for j in range(0, n, 4):
        for k in range(0, wide, 3 * LANES):
            _outer_4x3(A, a + j, V, v + k, n_rows, width, out, j * width + k)
        for k in range(wide, width, LANES):
            _outer_4x1(A, a + j, V, v + k, n_rows, width, out, j * width + k)


@inlined
def _outer_4x3(
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
def _outer_4x1(
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
