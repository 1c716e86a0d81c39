"""The product of one row and a small dense matrix, for steps that wait for each other.

Sums have two parts, of even and of odd rows of the matrix: their additions do not wait for each
other. So last digits are others than those of `small_products`.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined
from sklearn_struct.compiled.simd import LANES, add, at, fma, load, splat, store

__all__ = ["single_row_times_matrix"]


@inlined
def single_row_times_matrix(
    A: np.ndarray, a: int, matrix: np.ndarray, n: int, width: int, out: np.ndarray, o: int
) -> None:
    """``out[o : o + width] = A[a : a + n] @ matrix``, which is (n, width).

    If n is odd, one more row of the matrix is read, which must be 0, and one more number of A.
    """
    wide = width - width % (4 * LANES)
    for k in range(0, wide, 4 * LANES):
        _halves_1x4(A, a, matrix, k, n, width, out, o + k)
    rest = width - wide
    if rest == 3 * LANES:
        _halves_1x3(A, a, matrix, wide, n, width, out, o + wide)
    elif rest == 2 * LANES:
        _halves_1x2(A, a, matrix, wide, n, width, out, o + wide)
    elif rest == LANES:
        _halves_1x1(A, a, matrix, wide, n, width, out, o + wide)


@inlined
def _halves_1x4(
    A: np.ndarray, a: int, matrix: np.ndarray, k: int, n: int, width: int, out: np.ndarray, o: int
) -> None:
    zero = splat(A.dtype.type(0))
    a0 = zero
    a1 = zero
    a2 = zero
    a3 = zero
    b0 = zero
    b1 = zero
    b2 = zero
    b3 = zero
    for j in range(0, n, 2):
        m = j * width + k
        s = splat(at(A, a + j))
        a0 = fma(s, load(matrix, m), a0)
        a1 = fma(s, load(matrix, m + LANES), a1)
        a2 = fma(s, load(matrix, m + 2 * LANES), a2)
        a3 = fma(s, load(matrix, m + 3 * LANES), a3)
        m += width
        s = splat(at(A, a + j + 1))
        b0 = fma(s, load(matrix, m), b0)
        b1 = fma(s, load(matrix, m + LANES), b1)
        b2 = fma(s, load(matrix, m + 2 * LANES), b2)
        b3 = fma(s, load(matrix, m + 3 * LANES), b3)
    store(out, o, add(a0, b0))
    store(out, o + LANES, add(a1, b1))
    store(out, o + 2 * LANES, add(a2, b2))
    store(out, o + 3 * LANES, add(a3, b3))


@inlined
def _halves_1x3(
    A: np.ndarray, a: int, matrix: np.ndarray, k: int, n: int, width: int, out: np.ndarray, o: int
) -> None:
    zero = splat(A.dtype.type(0))
    a0 = zero
    a1 = zero
    a2 = zero
    b0 = zero
    b1 = zero
    b2 = zero
    for j in range(0, n, 2):
        m = j * width + k
        s = splat(at(A, a + j))
        a0 = fma(s, load(matrix, m), a0)
        a1 = fma(s, load(matrix, m + LANES), a1)
        a2 = fma(s, load(matrix, m + 2 * LANES), a2)
        m += width
        s = splat(at(A, a + j + 1))
        b0 = fma(s, load(matrix, m), b0)
        b1 = fma(s, load(matrix, m + LANES), b1)
        b2 = fma(s, load(matrix, m + 2 * LANES), b2)
    store(out, o, add(a0, b0))
    store(out, o + LANES, add(a1, b1))
    store(out, o + 2 * LANES, add(a2, b2))


@inlined
def _halves_1x2(
    A: np.ndarray, a: int, matrix: np.ndarray, k: int, n: int, width: int, out: np.ndarray, o: int
) -> None:
    zero = splat(A.dtype.type(0))
    w = zero
    x = zero
    y = zero
    z = zero
    for j in range(0, n, 2):
        m = j * width + k
        s = splat(at(A, a + j))
        w = fma(s, load(matrix, m), w)
        x = fma(s, load(matrix, m + LANES), x)
        m += width
        s = splat(at(A, a + j + 1))
        y = fma(s, load(matrix, m), y)
        z = fma(s, load(matrix, m + LANES), z)
    store(out, o, add(w, y))
    store(out, o + LANES, add(x, z))


@inlined
def _halves_1x1(
    A: np.ndarray, a: int, matrix: np.ndarray, k: int, n: int, width: int, out: np.ndarray, o: int
) -> None:
    w = splat(A.dtype.type(0))
    x = splat(A.dtype.type(0))
    for j in range(0, n, 2):
        m = j * width + k
        w = fma(splat(at(A, a + j)), load(matrix, m), w)
        x = fma(splat(at(A, a + j + 1)), load(matrix, m + width), x)
    store(out, o, add(w, x))
