"""The attributes of tokens as the rows of a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from sklearn.utils import murmurhash3_32

from sklearn_struct.compiled.kernel import uncounted
from sklearn_struct.encoding.features.attribute_reader import Attributes

__all__ = ["csr", "drop_rare", "frequent", "hashed", "rows", "with_columns"]

LONGEST = 64  # values of a row that are sorted by counting
_LAST = np.int64(2**62)  # behind all columns
FEW_ROWS = 200  # tokens of a sentence, or of a few


def hashed(names: Iterable[str], n_features: int) -> np.ndarray:
    """The column of each name."""
    codes = (
        # the same in each process, which Python's own hash is not
        murmurhash3_32(name.encode("utf-8", "surrogatepass"), positive=True) % n_features
        for name in names
    )
    return np.fromiter(codes, np.int32)


def frequent(lengths: dict[str, int], attributes: Attributes, min_frequency: int) -> dict[str, int]:
    """The embeddings that enough tokens have."""
    counts = dict.fromkeys(lengths, 0)
    for name, tokens, _ in attributes.embeddings:
        counts[name] += len(tokens)
    return {name: n for name, n in lengths.items() if counts[name] >= min_frequency}


def rows(attributes: Attributes, n_columns: int, keep_zeros: bool) -> sp.csr_array:
    """The tokens as canonical CSR rows."""
    columns, values, counts = attributes[:3]
    if counts.max(initial=0) <= LONGEST and len(columns) <= np.iinfo(np.int32).max:
        return _short_rows(columns, values, counts, n_columns, keep_zeros)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    stored = columns >= 0
    if not stored.all():
        columns = columns[stored]
        values = values[stored]
        indptr = np.concatenate([[0], np.cumsum(stored)])[indptr]
    values = values if values.flags.writeable else np.array(values)
    tokens = csr(values, columns, indptr, n_columns)
    # observed pairs and maps rely on the order
    tokens.sort_indices()
    if not tokens.has_canonical_format:
        tokens.sum_duplicates()
        if not keep_zeros:
            tokens.eliminate_zeros()
    return tokens


def _short_rows(
    columns: np.ndarray, values: np.ndarray, counts: np.ndarray, n_columns: int, keep_zeros: bool
) -> sp.csr_array:
    """The same, sorted in the memory of the columns and values."""
    are_ones = not values.flags.writeable  # a single number in memory, see `attribute_reader`
    indptr = np.zeros(len(counts) + 1, np.int32)
    moved = np.empty(0, values.dtype) if are_ones else values
    keys = np.empty(LONGEST, np.int64)
    n, has_twins = sort_rows(columns, moved, counts, indptr, keys, np.empty(LONGEST, moved.dtype))
    if n < len(columns):
        columns[n:] = -1  # who counts those without a column finds as many as before
        columns = columns[:n].copy()
    values = np.ones(n, values.dtype) if are_ones else values[:n]
    tokens = _csr_as_it_is(values, columns, indptr, n_columns)
    tokens.has_sorted_indices = True
    tokens.has_canonical_format = not has_twins
    if has_twins:
        tokens.sum_duplicates()
        if not keep_zeros:
            tokens.eliminate_zeros()
    return tokens


@uncounted
def sort_rows(
    columns: np.ndarray,
    values: np.ndarray,
    counts: np.ndarray,
    indptr: np.ndarray,
    keys: np.ndarray,
    held: np.ndarray,
) -> tuple[int, bool]:
    """Sort each row by its columns, without those below 0, and write where rows end; return how
    many values are left, and whether a row has a column twice. Values move along if there are any.

    `keys` and `held` are room for LONGEST numbers: the columns of a row and its values.
    """
    with_values = len(values) > 0
    start = 0
    stop = 0
    has_twins = False
    for t in range(len(counts)):
        first = stop
        end = start + counts[t]
        n = 0
        for p in range(start, end):
            if columns[p] >= 0:
                # no two are equal: the same column twice stays in its order
                keys[n] = np.int64(columns[p]) * LONGEST + n
                if with_values:
                    held[n] = values[p]
                n += 1
        # to whole vectors, which the loop below is made of
        full = (n + 7) // 8 * 8
        for k in range(n, full):
            keys[k] = _LAST
        for i in range(n):
            # its place is the number of keys before it: without branches, for some twenty values
            # quicker than any sort
            place = first
            for k in range(full):
                place += keys[k] < keys[i]
            columns[place] = keys[i] // LONGEST
            if with_values:
                values[place] = held[i]
        stop = first + n
        for p in range(first + 1, stop):
            has_twins |= columns[p] == columns[p - 1]
        start = end
        indptr[t + 1] = stop
    return stop, has_twins


def csr(
    values: np.ndarray, columns: np.ndarray, indptr: np.ndarray, n_columns: int
) -> sp.csr_array:
    """A CSR array with int32 indices, wherever the number of values allows it."""
    # scipy keeps both index arrays in one type, and would copy the columns to int64
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
        return _csr_as_it_is(values, columns, indptr, n_columns)
    return sp.csr_array((values, columns, indptr), shape=(len(indptr) - 1, n_columns))


def _csr_as_it_is(
    values: np.ndarray, columns: np.ndarray, indptr: np.ndarray, n_columns: int
) -> sp.csr_array:
    """A CSR array of int32 indices that are right.

    Of a few rows scipy's checks take longer than all else that is done to encode them.
    """
    n_rows = len(indptr) - 1
    if n_rows > FEW_ROWS or columns.dtype != np.int32:
        return sp.csr_array((values, columns, indptr), shape=(n_rows, n_columns))
    tokens = copy(_without_values(n_rows, n_columns))
    tokens.data = values
    tokens.indices = columns
    tokens.indptr = indptr
    return tokens


@lru_cache(maxsize=FEW_ROWS)
def _without_values(n_rows: int, n_columns: int) -> sp.csr_array:
    return sp.csr_array((n_rows, n_columns))


def drop_rare(tokens: sp.csr_array, min_frequency: int) -> tuple[sp.csr_array, np.ndarray]:
    """The columns stored at least `min_frequency` times, and a mask of them."""
    kept = np.bincount(tokens.indices, minlength=tokens.shape[1]) >= min_frequency
    if kept.all():
        return tokens, kept
    new = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    stays = kept[tokens.indices]
    indptr = np.concatenate([[0], np.cumsum(stays)])[tokens.indptr]
    columns = new[tokens.indices[stays]]
    return csr(tokens.data[stays], columns, indptr, int(kept.sum())), kept


def with_columns(tokens: sp.csr_array, numbers: np.ndarray, columns: np.ndarray) -> sp.csr_array:
    """Rows to which a dense matrix is added, each of whose columns goes to one of theirs."""
    width = len(columns)
    to_columns = np.ones(width, numbers.dtype), columns, np.arange(width + 1)
    moved = sp.csr_array(numbers) @ sp.csr_array(to_columns, shape=(width, tokens.shape[1]))
    both = sp.csr_array(tokens + moved)
    both.sum_duplicates()
    return both
