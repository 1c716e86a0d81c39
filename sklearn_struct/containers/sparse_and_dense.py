"""Rows of numbers, most of whose columns are sparse and the last ones dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from sklearn_struct.containers.typing import Matrix

__all__ = ["SparseAndDense", "number_of_dense", "side_by_side", "stacked"]

# share of numbers other than 0 from which on an array is quicker than sparse rows
FULL = 0.25


class SparseAndDense:
    """The rows of a sparse matrix, each with a row of a dense one behind it.

    Both stay as they are: the dense numbers take the memory of an array, and are multiplied as one.

    Parameters
    ----------
    sparse : csr_array of shape (n, m)
    dense : ndarray of shape (n, d)
        Of the same float type.
    """

    ndim = 2

    def __init__(self, sparse: sp.csr_array, dense: np.ndarray) -> None:
        if sparse.shape[0] != dense.shape[0]:
            raise ValueError(f"{sparse.shape[0]} sparse rows beside {dense.shape[0]} dense ones")
        self.sparse = sparse
        self.dense = dense

    @property
    def shape(self) -> tuple[int, int]:
        return self.sparse.shape[0], self.sparse.shape[1] + self.dense.shape[1]

    @property
    def dtype(self) -> np.dtype:
        return self.dense.dtype

    def astype(self, dtype: DTypeLike) -> SparseAndDense:
        return SparseAndDense(self.sparse.astype(dtype), self.dense.astype(dtype, copy=False))

    def __getitem__(self, rows: slice | np.ndarray) -> SparseAndDense:
        """Some of the rows; a slice of the dense ones is a view."""
        return SparseAndDense(self.sparse[rows], self.dense[rows])

    def columns(self, columns: np.ndarray) -> sp.csr_array:
        """Some of the columns as one sparse matrix."""
        m = self.sparse.shape[1]
        is_dense = columns >= m
        left = self.sparse[:, columns[~is_dense]]
        chosen = SparseAndDense(left, self.dense[:, columns[is_dense] - m]).tocsr()
        # the sparse ones come first in `chosen`, whatever was asked for
        order = np.argsort(np.concatenate([np.flatnonzero(~is_dense), np.flatnonzero(is_dense)]))
        in_order = np.array_equal(order, np.arange(len(order)))
        return chosen if in_order else sp.csr_array(chosen[:, order])

    def tocsr(self) -> sp.csr_array:
        """All of it as one sparse matrix, without the zeros of the dense columns."""
        left = self.sparse
        stored = self.dense != 0
        n_dense = np.count_nonzero(stored, axis=1)
        n_left = np.diff(left.indptr)
        indptr = np.concatenate([[0], np.cumsum(n_left + n_dense)])
        # for each value whether it is one of the dense columns, which end each row
        kinds = np.tile([False, True], len(n_dense))
        is_dense = np.repeat(kinds, np.stack([n_left, n_dense], axis=1).ravel())
        indices = np.empty(len(is_dense), np.int32)
        data = np.empty(len(is_dense), self.dtype)
        indices[is_dense] = np.nonzero(stored)[1] + left.shape[1]
        data[is_dense] = self.dense[stored]
        indices[~is_dense] = left.indices
        data[~is_dense] = left.data
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        return sp.csr_array((data, indices, indptr), shape=self.shape)


def number_of_dense(tokens: Any) -> int:
    """How many dense columns there are behind sparse ones."""
    return tokens.dense.shape[1] if isinstance(tokens, SparseAndDense) else 0


def stacked(parts: list[Any]) -> Matrix | SparseAndDense:
    """Rows one below the other: as they are if all are of one kind, else sparse ones."""
    dense = {number_of_dense(part) for part in parts}
    if len(dense) == 1 and dense != {0}:
        return SparseAndDense(
            sp.csr_array(sp.vstack([part.sparse for part in parts], format="csr")),
            np.concatenate([part.dense for part in parts]),
        )
    rows = [part.tocsr() if isinstance(part, SparseAndDense) else part for part in parts]
    if any(map(sp.issparse, rows)):
        return sp.csr_array(sp.vstack([sp.csr_array(part) for part in rows], format="csr"))
    joined: np.ndarray = np.concatenate(rows)
    return joined


def side_by_side(blocks: list[Matrix]) -> Matrix | SparseAndDense:
    """Columns next to each other: dense ones are kept so if all are, or if those behind all sparse
    ones are not mostly zeros.
    """
    are_sparse = [sp.issparse(block) for block in blocks]
    if not any(are_sparse):
        joined: np.ndarray = np.hstack(blocks)
        return joined
    last = len(blocks) - are_sparse[::-1].index(True)
    behind = blocks[last:]
    size = sum(block.size for block in behind)
    filled = sum(np.count_nonzero(block) for block in behind) >= FULL * size > 0
    real = all(block.dtype.kind == "f" for block in behind)
    if not (filled and real):
        return sp.csr_array(sp.hstack(blocks, format="csr"))
    sparse = sp.csr_array(sp.hstack(blocks[:last], format="csr"))
    dtype = np.result_type(sparse, *behind)
    dense = np.hstack(behind).astype(dtype, copy=False)
    return SparseAndDense(sparse.astype(dtype, copy=False), dense)
