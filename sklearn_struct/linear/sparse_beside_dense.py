"""The map of sparse columns beside dense ones to potentials: the sum of a map of each."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.csr import CSR
from sklearn_struct.linear.dense import DenseMap
from sklearn_struct.linear.lookup_for_prediction import LookupMap
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["SumMap", "first_rows"]


def first_rows(pairs: CSR, n: int) -> CSR:
    """The pairs of the first n features."""
    return CSR(pairs.indptr[: n + 1], pairs.indices[: pairs.indptr[n]], pairs.data)


class SumMap:
    """Scores of the sparse columns plus those of the dense ones; parameters stand in this order.

    Parameters
    ----------
    sparse : RowsMap or LookupMap
    dense : DenseMap
    """

    def __init__(self, sparse: RowsMap | LookupMap, dense: DenseMap) -> None:
        self.sparse = sparse
        self.dense = dense
        self.dtype = sparse.dtype
        self.size = sparse.size + dense.size
        self.expanded_size = sparse.expanded_size + dense.expanded_size

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        """Write the compact `w` into W; entries of pairs that have no weight are left alone."""
        self.sparse.expand(w[: self.sparse.size], W[: self.sparse.expanded_size])
        self.dense.expand(w[self.sparse.size :], W[self.sparse.expanded_size :])

    def compress(self, W: np.ndarray) -> np.ndarray:
        left = self._trained.compress(W[: self.sparse.expanded_size])
        return np.concatenate([left, self.dense.compress(W[self.sparse.expanded_size :])])

    @property
    def grains(self) -> Grains:
        return [*self.sparse.grains, *self.dense.grains]

    @property
    def _trained(self) -> RowsMap:
        """The map of sparse columns, which must have a way back."""
        assert isinstance(self.sparse, RowsMap)
        return self.sparse

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """``out[:] = X[rows] @ sum_c scales[c] * W_c``."""
        n = len(scales) * self.sparse.expanded_size
        self.sparse.forward(W[:n], rows, out, scales)
        of_dense = np.empty_like(out)
        self.dense.forward(W[n:], rows, of_dense, scales)
        out += of_dense

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """``W_c += scales[c] * X[rows].T @ R``, for pairs that have a weight."""
        n = len(scales) * self.sparse.expanded_size
        self._trained.scatter(R, rows, scales, W[:n])
        self.dense.scatter(R, rows, scales, W[n:])

    def transpose(self, dtype: np.dtype, windows: list[slice]) -> _Transpose:
        return _Transpose(self, dtype, windows)


class _Transpose:
    """X' R, window by window."""

    def __init__(self, of: SumMap, dtype: np.dtype, windows: list[slice]) -> None:
        self.n = of.sparse.size
        self.sparse = of._trained.transpose(dtype, windows)
        self.dense = of.dense.transpose(dtype, windows)

    def begin(self) -> None:
        """Make room for a product."""
        self.sparse.begin()

    def rest(self) -> None:
        """Give the room of the sparse columns away until the next product."""
        self.sparse.rest()

    def put(self, R: np.ndarray, rows: slice, first: int) -> None:
        self.sparse.put(R, rows, first)
        self.dense.put(R, rows, first)

    def add(self, pool: Pool, w: int, out: np.ndarray) -> None:
        """Add ``X[rows].T @ R``, compact, of the rows of window w."""
        self.sparse.add(pool, w, out[: self.n])
        self.dense.add(pool, w, out[self.n :])
