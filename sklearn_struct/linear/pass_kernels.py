"""The kernels of `padded_rows` for passes over all tokens: scores, residuals and gradients.

Rows are worked on in vectors of 24 numbers, what is left of them in vectors of eight.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    at,
    cast,
    fma,
    lanes_of,
    load,
    load_as,
    load_part,
    padded,
    prefetch,
    prefetch_as,
    set_at,
    splat,
    splat_as,
    store,
    store_as,
    store_part_as,
    three,
)
from sklearn_struct.linear.label_lists import LabelLists
from sklearn_struct.linear.stored_values import AHEAD, Columns, Entries

__all__ = ["add_cold", "add_hot", "add_singles", "put", "scores"]


@kernel
def scores(
    X: Entries,
    table: np.ndarray,
    singles: Entries,
    places: np.ndarray,
    weights: np.ndarray,
    first: int,
    out: np.ndarray,
) -> None:
    """out[t] = sum of data[p] * table[indices[p]] over the stored values p of row first + t, and of
    data[q] * weights[indices[q]] at the `places` of the values q of single-label features.
    """
    n, K = out.shape
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    P = padded(K)
    several = three(table)
    zero = splat(table.dtype.type(0))
    rest = P - P % lanes_of(several)
    for t in range(n):
        start = indptr[first + t]
        stop = indptr[first + t + 1]
        for k in range(0, rest, lanes_of(several)):
            row = _row(several, indices, data, step, start, stop, table, P, k)
            store_part_as(out, t * K + k, row, K - k)
        for k in range(rest, P, LANES):
            part = _row(zero, indices, data, step, start, stop, table, P, k)
            store_part_as(out, t * K + k, part, K - k)
    indices = singles.indices
    data = singles.data
    step = singles.step
    o = first * K
    # one loop over all of them, not one for each token
    stop = singles.indptr[first + n] if len(weights) else singles.indptr[first]
    for p in range(singles.indptr[first], stop):
        prefetch(weights, np.int64(at(indices, p + AHEAD)))
        x = at(data, p * step) * at(weights, np.int64(at(indices, p)))
        # `at` reads without numba's care for negative indices, which costs more than the addition
        place = at(places, p) - o
        set_at(out, place, at(out, place) + x)


@inlined
def _row(
    zero: Vector,
    indices: np.ndarray,
    data: np.ndarray,
    step: int,
    start: int,
    stop: int,
    table: np.ndarray,
    P: int,
    k: int,
) -> Vector:
    """The sum of data[p] * table[indices[p]], P numbers a row, from number k on."""
    total = zero
    one = splat_as(table.dtype.type(1), zero)
    for p in range(start, stop):
        # int64: indices are int32, and a table may have more than 2**31 numbers
        m = np.int64(at(indices, p)) * P + k
        prefetch_as(table, np.int64(at(indices, p + AHEAD)) * P + k, zero)
        x = one if step == 0 else splat_as(at(data, p * step), zero)
        total = fma(x, load_as(table, m, zero), total)
    return total


@kernel
def put(R: np.ndarray, kept: np.ndarray, o: int) -> None:
    """Keep residuals: padded, from number o of `kept` on."""
    n, K = R.shape
    P = padded(K)
    for t in range(n):
        for k in range(0, K, LANES):
            x = cast(load_part(R, t * K + k, K - k, R.dtype.type(0)), kept)
            store(kept, o + t * P + k, x)


@kernel
def add_hot(
    X: Entries, R: np.ndarray, stride: int, first: int, n_rows: int, table: np.ndarray
) -> None:
    """table[indices[p]] += data[p] * R[t], for the first `n_rows` rows; `R` is (n, stride)."""
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    several = three(table)
    rest = stride - stride % lanes_of(several)
    for t in range(len(R) // stride):
        start = indptr[first + t]
        stop = indptr[first + t + 1]
        i = t * stride
        for k in range(0, rest, lanes_of(several)):
            row = load_as(R, i + k, several)
            _add_row(row, indices, data, step, start, stop, n_rows, table, stride, k)
        for k in range(rest, stride, LANES):
            part = load(R, i + k)
            _add_row(part, indices, data, step, start, stop, n_rows, table, stride, k)


@inlined
def _add_row(
    row: Vector,
    indices: np.ndarray,
    data: np.ndarray,
    step: int,
    start: int,
    stop: int,
    n_rows: int,
    table: np.ndarray,
    P: int,
    k: int,
) -> None:
    """Add data[p] times the `row` to the rows of a table from number k on."""
    one = splat_as(table.dtype.type(1), row)
    for p in range(start, stop):
        r = np.int64(at(indices, p))
        if r >= n_rows:
            break  # values of hot rows come first
        m = r * P + k
        # in text all values are 1, and none are stored
        x = one if step == 0 else splat_as(at(data, p * step), row)
        store_as(table, m, fma(x, row, load_as(table, m, row)))


@kernel
def add_cold(
    columns: Columns,
    R: np.ndarray,
    stride: int,
    part: np.ndarray,
    rows: LabelLists,
    first: int,
    room: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add the products of some columns with `R` to the sums of their weights; column i is that of
    row ``first + columns.features[i]``.
    """
    indptr = columns.values.indptr
    indices = columns.values.indices
    data = columns.values.data
    step = columns.values.step
    features = columns.features
    bounds = rows.bounds
    labels = rows.labels
    several = three(R)
    zero = splat(R.dtype.type(0))
    rest = stride - stride % lanes_of(several)
    for i in range(part[0], part[1]):
        start = indptr[i]
        stop = indptr[i + 1]
        for k in range(0, rest, lanes_of(several)):
            store_as(room, k, _row(several, indices, data, step, start, stop, R, stride, k))
        for k in range(rest, stride, LANES):
            store_as(room, k, _row(zero, indices, data, step, start, stop, R, stride, k))
        r = first + features[i]
        for q in range(bounds[r], bounds[r + 1]):
            sums[q] += at(room, at(labels, q))


@kernel
def add_singles(
    X: Entries,
    places: np.ndarray,
    width: int,
    R: np.ndarray,
    stride: int,
    first: int,
    part: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add the products of some of the features with a single weight, from part[0] to before
    part[1], and `R`, the padded residuals of rows first, first + 1, ...
    """
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    low = part[0]
    high = part[1]
    for t in range(len(R) // stride):
        row = t * stride - (first + t) * width
        for p in range(indptr[first + t], indptr[first + t + 1]):
            f = np.int64(at(indices, p))
            if f >= low and f < high:
                prefetch(sums, np.int64(at(indices, p + AHEAD)))
                # in float64 and in the order of the tokens, whatever the float type and the threads
                set_at(sums, f, at(sums, f) + at(data, p * step) * at(R, row + at(places, p)))
