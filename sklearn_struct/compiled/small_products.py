"""Products of small dense matrices, inside kernels, and their max-plus twin for Viterbi.

Matrices are flat and row-major; their width is a multiple of `LANES`. Products are made of
`register_tiles`. Each entry is summed in the same order, in whichever tile it falls: a row's result
does not depend on its neighbours.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel, uncounted
from sklearn_struct.compiled.register_tiles import outer, tile_1, tile_4
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    at,
    fma,
    lanes_of,
    load,
    maximum,
    splat,
    store,
    three,
    three_wide,
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
    # loaded often. Of two or three rows that are left the last one is worked on again: that is
    # quicker than one after the other, and one alone is quicker than four
    tiled = n_rows - (1 if n_rows % 4 == 1 else 0)
    widest = three_wide(A)
    several = three(A)
    zero = splat(A.dtype.type(0))
    done = 0
    if lanes_of(widest) > lanes_of(several):
        done = width - width % lanes_of(widest)
        for k in range(0, done, lanes_of(widest)):
            for r in range(0, tiled, 4):
                last = min(tiled - r - 1, 3)
                q = o + r * width + k
                tile_4(widest, A, a + r * width, last, matrix, k, n, width, out, q)
    rest = width - (width - done) % lanes_of(several)
    for k in range(done, rest, lanes_of(several)):
        for r in range(0, tiled, 4):
            last = min(tiled - r - 1, 3)
            tile_4(several, A, a + r * width, last, matrix, k, n, width, out, o + r * width + k)
    for k in range(rest, width, LANES):
        for r in range(0, tiled, 4):
            last = min(tiled - r - 1, 3)
            tile_4(zero, A, a + r * width, last, matrix, k, n, width, out, o + r * width + k)
    if tiled < n_rows:
        row_times_matrix(A, a + tiled * width, matrix, n, width, out, o + tiled * width)


@uncounted
def row_times_matrix(
    A: np.ndarray, a: int, matrix: np.ndarray, n: int, width: int, out: np.ndarray, o: int
) -> None:
    """The same of one row."""
    several = three(A)
    zero = splat(A.dtype.type(0))
    rest = width - width % lanes_of(several)
    for k in range(0, rest, lanes_of(several)):
        tile_1(several, A, a, matrix, k, n, width, out, o + k)
    for k in range(rest, width, LANES):
        tile_1(zero, A, a, matrix, k, n, width, out, o + k)


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
    widest = three_wide(A)
    several = three(A)
    zero = splat(A.dtype.type(0))
    done = 0
    if lanes_of(widest) > lanes_of(several):
        done = width - width % lanes_of(widest)
    rest = width - (width - done) % lanes_of(several)
    for j in range(0, n, 4):
        for k in range(0, done, lanes_of(widest)):
            outer(widest, A, a + j, V, v + k, n_rows, width, out, j * width + k)
        for k in range(done, rest, lanes_of(several)):
            outer(several, A, a + j, V, v + k, n_rows, width, out, j * width + k)
        for k in range(rest, width, LANES):
            outer(zero, A, a + j, V, v + k, n_rows, width, out, j * width + k)
