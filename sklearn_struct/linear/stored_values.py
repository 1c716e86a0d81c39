"""The stored values of a sparse X, in the order in which a map reads them again and again.

Values of features with a dense row of weights and of those with a single weight are separated, and
both can be transposed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.csr import CSR

__all__ = ["AHEAD", "SINGLE", "Entries", "columns_of", "entries", "split"]

# numbers are int32: this leaves as many for rows, below it, as for singles
SINGLE = 1 << 30  # first number of the features with a single label, before they are shared out
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


def entries(X: CSR) -> Entries:
    """The stored values of X."""
    # in text all values are 1: then not even a vector of ones is read
    if np.all(X.data == 1):
        return Entries(X.indptr, X.indices, np.ones(1, X.data.dtype), 0)
    return Entries(X.indptr, X.indices, X.data, 1)


def split(X: Entries, kind: np.ndarray, number: np.ndarray, n_hot: int) -> tuple[Entries, Entries]:
    """Share the values of each token out to rows (kind 2) and singles (kind 1).

    Hot rows, those numbered below `n_hot`, come first in each token.
    """
    rows = _unset(X, len(X.indices))
    singles = _unset(X, len(X.indices))
    later = np.empty(np.max(np.diff(X.indptr), initial=0), dtype=np.int64)
    n_rows, n_singles = _share_out(X, kind, number, n_hot, later, rows, singles)
    return _trim(rows, n_rows), _trim(singles, n_singles)


def _unset(X: Entries, n: int) -> Entries:
    """Room for n values of the kind of X."""
    # one number in any case: the 1 that all values share where `step` is 0
    data = np.ones(n * X.step + 1, dtype=X.data.dtype)
    return Entries(np.zeros_like(X.indptr), np.empty(n + AHEAD, dtype=np.int32), data, X.step)


def _trim(X: Entries, n: int) -> Entries:
    """Without the memory behind the first n values, which was never touched."""
    X.indices[n : n + AHEAD] = 0
    return X._replace(indices=X.indices[: n + AHEAD], data=X.data[: n * X.step + 1])


@kernel
def _share_out(
    X: Entries,
    kind: np.ndarray,
    number: np.ndarray,
    n_hot: int,
    later: np.ndarray,
    rows: Entries,
    singles: Entries,
) -> tuple[int, int]:
    """Fill rows and singles; return their numbers of values.

    Hot rows have their numbers; the other features get theirs as they occur, singles from SINGLE
    on. `later` is room for the values of a token.
    """
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    row_indices = rows.indices
    row_data = rows.data
    single_indices = singles.indices
    single_data = singles.data
    known_rows = n_hot
    known_singles = 0
    r = 0
    s = 0
    for t in range(len(indptr) - 1):
        n_later = 0
        for p in range(indptr[t], indptr[t + 1]):
            f = indices[p]
            if number[f] < 0 and kind[f] == 2:
                number[f] = known_rows
                known_rows += 1
            elif number[f] < 0 and kind[f] == 1:
                number[f] = SINGLE + known_singles
                known_singles += 1
            if number[f] >= SINGLE:
                single_indices[s] = number[f] - SINGLE
                single_data[s * step] = data[p * step]
                s += 1
            elif number[f] >= n_hot:
                later[n_later] = p
                n_later += 1
            elif number[f] >= 0:
                row_indices[r] = number[f]
                row_data[r * step] = data[p * step]
                r += 1
        for q in range(n_later):
            row_indices[r] = number[indices[later[q]]]
            row_data[r * step] = data[later[q] * step]
            r += 1
        rows.indptr[t + 1] = r
        singles.indptr[t + 1] = s
    return r, s


def columns_of(X: Entries, first: int, n: int) -> tuple[Entries, np.ndarray]:
    """The values of features first ... first + n - 1, feature by feature, and each value's place.

    As indices do, places go on for AHEAD more.
    """
    indices = X.indices[: X.indptr[-1]]
    counts = np.bincount(indices, minlength=first + n)[first:]
    columns = _unset(X, int(np.sum(counts)))
    columns.indices[len(columns.indices) - AHEAD :] = 0
    columns = columns._replace(indptr=np.concatenate([[0], np.cumsum(counts)]))
    places = np.zeros(len(indices) + AHEAD, dtype=np.int32)
    _transpose(X, first, columns, columns.indptr[:-1].copy(), places)
    return columns, places


@kernel
def _transpose(
    X: Entries, first: int, columns: Entries, place: np.ndarray, places: np.ndarray
) -> None:
    """Fill the columns and places; `place` is where the next value of each feature goes."""
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    tokens = columns.indices
    for t in range(len(indptr) - 1):
        for p in range(indptr[t], indptr[t + 1]):
            f = indices[p] - first
            if f >= 0:
                places[p] = place[f]
                tokens[place[f]] = t
                columns.data[place[f] * step] = data[p * step]
                place[f] += 1
