"""The attributes of tokens as the rows of a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
from sklearn.utils import murmurhash3_32

from sklearn_struct.encoding.features.attribute_reader import Attributes

__all__ = ["csr", "drop_rare", "frequent", "hashed", "rows", "with_columns"]


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
    indptr = np.concatenate([[0], np.cumsum(counts)])
    stored = columns >= 0
    if not stored.all():
        columns = columns[stored]
        values = values[stored]
        indptr = np.concatenate([[0], np.cumsum(stored)])[indptr]
    tokens = csr(values, columns, indptr, n_columns)
    # observed pairs and maps rely on the order
    tokens.sort_indices()
    if not tokens.has_canonical_format:
        tokens.sum_duplicates()
        if not keep_zeros:
            tokens.eliminate_zeros()
    return tokens


def csr(
    values: np.ndarray, columns: np.ndarray, indptr: np.ndarray, n_columns: int
) -> sp.csr_array:
    """A CSR array with int32 indices, wherever the number of values allows it."""
    # scipy keeps both index arrays in one type, and would copy the columns to int64
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return sp.csr_array((values, columns, indptr), shape=(len(indptr) - 1, n_columns))


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
