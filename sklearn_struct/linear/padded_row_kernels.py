"""The kernels of `padded_rows`: products with a table of padded rows, and with single numbers."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    at,
    cast,
    fma,
    keep,
    load,
    load_part,
    mul,
    padded,
    prefetch,
    splat,
    store,
    store_part,
)
from sklearn_struct.linear.label_lists import LabelLists
from sklearn_struct.linear.stored_values import AHEAD, Entries

__all__ = [
    "compress",
    "expand",
    "mark",
    "rows_forward",
    "rows_scatter",
    "singles_forward",
    "singles_scatter",
]


@kernel
def mark(rows: LabelLists, width: int, masks: np.ndarray) -> None:
    """Set the bits of the numbers of a table that are weights; a row has `width`, padded."""
    P = padded(width)
    for r in range(len(rows.starts)):
        for q in range(rows.bounds[r], rows.bounds[r + 1]):
            place = r * P + rows.labels[q]
            masks[place // LANES] |= 1 << (place % LANES)


@kernel
def expand(
    w: np.ndarray, rows: LabelLists, P: int, single_pairs: np.ndarray, W: np.ndarray
) -> None:
    """Write compact weights into a table, P numbers a row, and into single numbers behind it."""
    for r in range(len(rows.starts)):
        shift = rows.starts[r] - rows.bounds[r]
        for q in range(rows.bounds[r], rows.bounds[r + 1]):
            W[r * P + rows.labels[q]] = w[shift + q]
    n_table = len(rows.starts) * P
    for f in range(len(single_pairs)):
        W[n_table + f] = w[single_pairs[f]]


@kernel
def compress(table: np.ndarray, P: int, rows: LabelLists, n_rows: int, numbers: np.ndarray) -> None:
    """Copy those of the first rows of a table that are weights, P numbers a row."""
    for r in range(n_rows):
        for q in range(rows.bounds[r], rows.bounds[r + 1]):
            numbers[q] = table[r * P + rows.labels[q]]


@kernel
def rows_forward(
    X: Entries, table: np.ndarray, first: int, scales: np.ndarray, out: np.ndarray
) -> None:
    """out[t] = sum of data[p] * table[indices[p]] over the stored values p of row first + t.

    Of several tables side by side, with `scales[c]` each, row i of table c has the number
    i * len(scales) + c.
    """
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    n, K = out.shape
    P = padded(K)
    zero = splat(table.dtype.type(0))
    one = splat(table.dtype.type(1))
    stride = P * len(scales)
    for t in range(n):
        k = 0
        o = t * K
        while k < P:
            # three vectors at a time: their sums do not wait for each other
            wide = k + 3 * LANES <= P
            A = zero
            B = zero
            C = zero
            for copy in range(len(scales)):
                a = zero
                b = zero
                c = zero
                i = copy * P + k
                for p in range(indptr[first + t], indptr[first + t + 1]):
                    # int64: indices are int32, and a table may have more than 2**31 numbers
                    m = np.int64(at(indices, p)) * stride + i
                    later = np.int64(at(indices, p + AHEAD)) * stride + i
                    # in text all values are 1, and none are stored
                    x = one if step == 0 else splat(table.dtype.type(at(data, p * step)))
                    prefetch(table, later)
                    a = fma(x, load(table, m), a)
                    if wide:
                        prefetch(table, later + LANES)
                        prefetch(table, later + 2 * LANES)
                        b = fma(x, load(table, m + LANES), b)
                        c = fma(x, load(table, m + 2 * LANES), c)
                scale = splat(table.dtype.type(scales[copy]))
                A = fma(scale, a, A)
                B = fma(scale, b, B)
                C = fma(scale, c, C)
            store_part(out, o + k, A, K - k)
            if wide:
                store_part(out, o + k + LANES, B, K - k - LANES)
                store_part(out, o + k + 2 * LANES, C, K - k - 2 * LANES)
            k += 3 * LANES if wide else LANES


@kernel
def rows_scatter(
    X: Entries,
    R: np.ndarray,
    R_stride: int,
    first: int,
    masks: np.ndarray,
    K: int,
    scales: np.ndarray,
    table: np.ndarray,
) -> None:
    """table[indices[p]] += scales * data[p] * R[t], for the rows that the table has.

    `masks`, if there are any, say which numbers of the table are weights; others are left alone.
    """
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    P = padded(K)
    zero = R.dtype.type(0)
    masked = len(masks) > 0
    stride = P * len(scales)
    n_rows = len(table) // stride
    for t in range(len(R) // R_stride):
        k = P if masked and not _any(R, t * R_stride, K) else 0
        while k < P:
            wide = k + 3 * LANES <= P
            i = t * R_stride + k
            a = cast(load_part(R, i, K - k, zero), table)
            b = cast(load_part(R, i + LANES, K - k - LANES, zero), table)
            c = cast(load_part(R, i + 2 * LANES, K - k - 2 * LANES, zero), table)
            for copy in range(len(scales)):
                i = copy * P + k
                scale = splat(table.dtype.type(scales[copy]))
                for p in range(indptr[first + t], indptr[first + t + 1]):
                    if at(indices, p) >= n_rows:
                        break  # values of hot rows come first
                    if masked:  # a table of all rows, larger than a cache
                        later = np.int64(at(indices, p + AHEAD)) * stride + i
                        prefetch(table, later)
                        if wide:
                            prefetch(table, later + LANES)
                            prefetch(table, later + 2 * LANES)
                    m = np.int64(at(indices, p)) * stride + i
                    v = (np.int64(at(indices, p)) * P + k) // LANES
                    x = scale
                    if step > 0:
                        x = mul(scale, splat(table.dtype.type(at(data, p * step))))
                    y = keep(a, at(masks, v)) if masked else a
                    store(table, m, fma(x, y, load(table, m)))
                    if wide:
                        m += LANES
                        y = keep(b, at(masks, v + 1)) if masked else b
                        store(table, m, fma(x, y, load(table, m)))
                        m += LANES
                        y = keep(c, at(masks, v + 2)) if masked else c
                        store(table, m, fma(x, y, load(table, m)))
            k += 3 * LANES if wide else LANES


@inlined
def _any(R: np.ndarray, i: int, n: int) -> bool:
    """Whether a row is not zero; of perceptrons most are."""
    nonzero = False
    for k in range(i, i + n):
        nonzero |= R[k] != 0.0  # without a branch, so that LLVM makes vectors of it
    return nonzero


@kernel
def singles_forward(
    X: Entries,
    places: np.ndarray,
    weights: np.ndarray,
    first: int,
    scales: np.ndarray,
    out: np.ndarray,
    K: int,
) -> None:
    """Add the values of single-label features, which stand at flat `places` of the potentials.

    It is one loop over all of them, not one for each token.
    """
    indices = X.indices
    data = X.data
    step = X.step
    o = first * K
    for p in range(X.indptr[first], X.indptr[first + len(out) // K]):
        i = np.int64(at(indices, p)) * len(scales)
        later = np.int64(at(indices, p + AHEAD)) * len(scales)
        prefetch(weights, later)
        for copy in range(len(scales)):
            x = out.dtype.type(scales[copy] * at(data, p * step))
            # `at` reads without numba's care for negative indices, which costs more than the
            # addition
            out[at(places, p) - o] += x * at(weights, i + copy)


@kernel
def singles_scatter(
    X: Entries,
    places: np.ndarray,
    R: np.ndarray,
    first: int,
    scales: np.ndarray,
    weights: np.ndarray,
) -> None:
    indices = X.indices
    data = X.data
    step = X.step
    flat = R.reshape(-1)
    o = first * R.shape[1]
    for p in range(X.indptr[first], X.indptr[first + len(R)]):
        i = np.int64(at(indices, p)) * len(scales)
        later = np.int64(at(indices, p + AHEAD)) * len(scales)
        prefetch(weights, later)
        r = at(flat, at(places, p) - o)
        for copy in range(len(scales)):
            weights[i + copy] += scales[copy] * at(data, p * step) * r
