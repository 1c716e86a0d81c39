"""The stored values of a sparse X, in the order in which a map reads them again and again.

Values of features with a dense row of weights, of those with a single weight, and of those with a
few are separated, and all can be transposed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.csr import CSR

__all__ = [
    "AHEAD",
    "FEW",
    "ROW",
    "SINGLE",
    "Columns",
    "Entries",
    "columns_of",
    "counts_of",
    "entries",
    "has_single",
    "split",
]

# kinds of features: what weights they have
SINGLE = 1
ROW = 2
FEW = 3
# stored values of which a copy is made sooner than a kernel
FEW_VALUES = 1 << 16
# stored values from now whose rows are fetched into the caches: about two tokens of text
AHEAD = 40


class Entries(NamedTuple):
    """Stored values, token by token or feature by feature.

    Value p is ``data[p * step]``: where all are 1, `data` holds a single 1 and `step` is 0. What
    `split` makes has AHEAD more `indices`, which are read in advance.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    step: int


def has_single(X: CSR) -> bool:
    """Whether X has a single 1 for all its values."""
    return len(X.data) < len(X.indices)


def entries(X: CSR) -> Entries:
    """The stored values of X."""
    # in text all values are 1: then not even a vector of ones is read
    if has_single(X) or np.all(X.data == 1):
        return Entries(X.indptr, X.indices, np.ones(1, X.data.dtype), 0)
    return Entries(X.indptr, X.indices, X.data, 1)


def split(X: Entries, kind: np.ndarray, number: np.ndarray, n_hot: int) -> list[Entries]:
    """Share the values of each token out to features with a ROW, a SINGLE weight, or a FEW.

    Features of each kind are numbered as they occur; those that have a `number`, the hot rows, come
    first in each token. Of a feature of another kind nothing is kept.
    """
    counts = counts_of(X.indices, len(kind))
    rows, singles, few = [_unset(X, int(np.sum(counts[kind == k]))) for k in (ROW, SINGLE, FEW)]
    later = np.empty(np.max(np.diff(X.indptr), initial=0), dtype=np.int64)
    _share_out(X, kind, number, n_hot, later, rows, singles, few)
    return [rows, singles, few]


def counts_of(indices: np.ndarray, n: int) -> np.ndarray:
    """How often each of the numbers 0 ... n - 1 occurs among `indices`."""
    if len(indices) < FEW_VALUES:
        return np.bincount(indices, minlength=n)
    # bincount would make a copy of them, as int64
    counts = np.zeros(n, dtype=np.int64)
    _count(indices, counts)
    return counts


@kernel
def _count(indices: np.ndarray, counts: np.ndarray) -> None:
    for p in range(len(indices)):
        counts[indices[p]] += 1


def _unset(X: Entries, n: int) -> Entries:
    """Room for n values of the kind of X."""
    # one number in any case: the 1 that all values share where `step` is 0
    data = np.ones(n * X.step + 1, dtype=X.data.dtype)
    return Entries(np.zeros_like(X.indptr), np.zeros(n + AHEAD, dtype=np.int32), data, X.step)


@kernel
def _share_out(
    X: Entries,
    kind: np.ndarray,
    number: np.ndarray,
    n_hot: int,
    later: np.ndarray,
    rows: Entries,
    singles: Entries,
    few: Entries,
) -> None:
    """Fill rows, singles and few; `later` is room for the values of a token."""
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    row_indices = rows.indices
    row_data = rows.data
    single_indices = singles.indices
    single_data = singles.data
    few_indices = few.indices
    few_data = few.data
    known_rows = n_hot
    known_singles = 0
    known_few = 0
    r = 0
    s = 0
    u = 0
    for t in range(len(indptr) - 1):
        n_later = 0
        for p in range(indptr[t], indptr[t + 1]):
            f = indices[p]
            if kind[f] == ROW:
                if number[f] < 0:
                    number[f] = known_rows
                    known_rows += 1
                if number[f] >= n_hot:
                    later[n_later] = p
                    n_later += 1
                else:
                    row_indices[r] = number[f]
                    row_data[r * step] = data[p * step]
                    r += 1
            elif kind[f] == SINGLE:
                if number[f] < 0:
                    number[f] = known_singles
                    known_singles += 1
                single_indices[s] = number[f]
                single_data[s * step] = data[p * step]
                s += 1
            elif kind[f] == FEW:
                if number[f] < 0:
                    number[f] = known_few
                    known_few += 1
                few_indices[u] = number[f]
                few_data[u * step] = data[p * step]
                u += 1
        for q in range(n_later):
            row_indices[r] = number[indices[later[q]]]
            row_data[r * step] = data[later[q] * step]
            r += 1
        rows.indptr[t + 1] = r
        singles.indptr[t + 1] = s
        few.indptr[t + 1] = u


class Columns(NamedTuple):
    """Stored values of a range of rows, feature by feature, of the features that occur there.

    Column i is that of feature ``features[i]``; indices are rows, counted from the first.
    """

    values: Entries
    features: np.ndarray


def columns_of(X: Entries, rows: slice, first: int, n_weights: np.ndarray) -> Columns:
    """The values of features first, first + 1, ... in some rows. They have so many weights each.

    Features that are alike stand together: processors guess when a loop ends that is as long as
    the one before.
    """
    bounds = X.indptr[rows.start : rows.stop + 1]
    start = int(bounds[0])
    stop = int(bounds[-1])
    counts = counts_of(X.indices[start:stop], first + len(n_weights))[first:]
    features = np.flatnonzero(counts)
    alike = 256 * np.minimum(counts[features], 255) + np.minimum(n_weights[features], 255)
    # numbers of 16 bits are sorted without comparisons
    features = features[np.argsort(alike.astype(np.uint16), kind="stable")]
    indptr = np.append(0, np.cumsum(counts[features]))
    n_values = int(indptr[-1])
    # where the column of each feature begins
    place = np.zeros_like(counts)
    place[features] = indptr[:-1]
    data = np.ones(n_values * X.step + 1, dtype=X.data.dtype)
    indices = np.zeros(n_values + AHEAD, dtype=np.int32)
    columns = Entries(indptr, indices, data, X.step)
    _transpose(X, rows.start, rows.stop, first, columns, place)
    return Columns(columns, features.astype(np.int32))


@kernel
def _transpose(
    X: Entries,
    first_row: int,
    last_row: int,
    first: int,
    columns: Entries,
    place: np.ndarray,
) -> None:
    """Fill the columns; `place` is where the next value of each feature goes."""
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    rows = columns.indices
    for t in range(first_row, last_row):
        for p in range(indptr[t], indptr[t + 1]):
            f = indices[p] - first
            if f >= 0:
                rows[place[f]] = t - first_row
                columns.data[place[f] * step] = data[p * step]
                place[f] += 1
