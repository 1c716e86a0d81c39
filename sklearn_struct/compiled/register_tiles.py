"""Pieces of matrix products whose sums stay in the processor's registers.

Four rows times three registers make twelve sums, which hide the latency of the multiply-add and use
each loaded number several times. How many numbers of a row are one vector is that of `zero`, a
vector of zeros; the sums are the same for any.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined
from sklearn_struct.compiled.simd import Vector, at, fma, load_as, splat_as, store_as

__all__ = ["outer", "tile_1", "tile_4"]


@inlined
def tile_4(
    zero: Vector,
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
    # four names, not an array: each sum stays in registers
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
        row = load_as(matrix, j * width + k, zero)
        w = fma(splat_as(at(A, a + j), zero), row, w)
        x = fma(splat_as(at(A, b + j), zero), row, x)
        y = fma(splat_as(at(A, c + j), zero), row, y)
        z = fma(splat_as(at(A, d + j), zero), row, z)
    store_as(out, o, w)
    store_as(out, o + second, x)
    store_as(out, o + third, y)
    store_as(out, o + fourth, z)


@inlined
def tile_1(
    zero: Vector,
    A: np.ndarray,
    a: int,
    matrix: np.ndarray,
    k: int,
    n: int,
    width: int,
    out: np.ndarray,
    o: int,
) -> None:
    """The same of one row."""
    w = zero
    for j in range(n):
        w = fma(splat_as(at(A, a + j), zero), load_as(matrix, j * width + k, zero), w)
    store_as(out, o, w)


@inlined
def outer(
    zero: Vector,
    A: np.ndarray,
    a: int,
    V: np.ndarray,
    v: int,
    n_rows: int,
    width: int,
    out: np.ndarray,
    o: int,
) -> None:
    """Add products of four numbers of a row with a vector of another one, over all rows."""
    p = o + width
    q = o + 2 * width
    r = o + 3 * width
    w = load_as(out, o, zero)
    x = load_as(out, p, zero)
    y = load_as(out, q, zero)
    z = load_as(out, r, zero)
    for t in range(n_rows):
        i = a + t * width
        row = load_as(V, v + t * width, zero)
        w = fma(splat_as(at(A, i), zero), row, w)
        x = fma(splat_as(at(A, i + 1), zero), row, x)
        y = fma(splat_as(at(A, i + 2), zero), row, y)
        z = fma(splat_as(at(A, i + 3), zero), row, z)
    store_as(out, o, w)
    store_as(out, p, x)
    store_as(out, q, y)
    store_as(out, r, z)
