"""Features that occur with few of many labels: their weights stand one after the other.

A padded row for each of them would be mostly zeros. With 342 labels, parts of speech with relations
of 12,500 sentences, 75,000 features have 2 to 32 labels each: rows take 200 MB, these numbers 3.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import at, padded, prefetch
from sklearn_struct.linear.label_lists import LabelLists
from sklearn_struct.linear.stored_values import AHEAD, Columns, Entries

__all__ = ["few_forward", "few_scatter", "few_sums", "has_few"]

# numbers of a row for each weight, from which on single weights take less time than the row
SPARSE = 16
# numbers of a row, below which it takes less time than to look for single weights
SHORT = 48


def has_few(n_pairs: np.ndarray, width: int) -> np.ndarray:
    """Which features have so few labels that their weights need no row."""
    few: np.ndarray = (n_pairs > 1) & (n_pairs * SPARSE <= padded(width)) & (padded(width) >= SHORT)
    return few


@kernel
def few_forward(
    X: Entries,
    few: LabelLists,
    weights: np.ndarray,
    first: int,
    scales: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the weights of the values of rows first, first + 1, ... to `out`."""
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    bounds = few.bounds
    labels = few.labels
    flat = out.reshape(-1)
    n = len(scales)
    for t in range(len(out)):
        o = t * out.shape[1]
        for p in range(indptr[first + t], indptr[first + t + 1]):
            later = at(bounds, at(indices, p + AHEAD))
            prefetch(labels, later)
            prefetch(weights, later * n)
            f = np.int64(at(indices, p))
            for q in range(at(bounds, f), at(bounds, f + 1)):
                for copy in range(n):
                    x = out.dtype.type(scales[copy] * at(data, p * step))
                    flat[o + at(labels, q)] += x * at(weights, q * n + copy)


@kernel
def few_scatter(
    X: Entries,
    few: LabelLists,
    R: np.ndarray,
    first: int,
    scales: np.ndarray,
    weights: np.ndarray,
) -> None:
    """Add `scales` times the rows of R, the first one row `first`, to weights of their values."""
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    bounds = few.bounds
    labels = few.labels
    flat = R.reshape(-1)
    n = len(scales)
    for t in range(len(R)):
        o = t * R.shape[1]
        for p in range(indptr[first + t], indptr[first + t + 1]):
            later = at(bounds, at(indices, p + AHEAD))
            prefetch(labels, later)
            prefetch(weights, later * n)
            f = np.int64(at(indices, p))
            for q in range(at(bounds, f), at(bounds, f + 1)):
                r = at(data, p * step) * at(flat, o + at(labels, q))
                for copy in range(n):
                    weights[q * n + copy] += scales[copy] * r


@kernel
def few_sums(
    columns: Columns,
    few: LabelLists,
    R: np.ndarray,
    stride: int,
    part: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add what some columns have in the rows of R, `stride` numbers each, to those of weights."""
    indptr = columns.values.indptr
    rows = columns.values.indices
    data = columns.values.data
    step = columns.values.step
    bounds = few.bounds
    labels = few.labels
    for i in range(part[0], part[1]):
        f = columns.features[i]
        for p in range(indptr[i], indptr[i + 1]):
            prefetch(R, np.int64(at(rows, p + AHEAD)) * stride)
            o = np.int64(at(rows, p)) * stride
            x = at(data, p * step)
            for q in range(bounds[f], bounds[f + 1]):
                sums[q] += x * at(R, o + at(labels, q))
