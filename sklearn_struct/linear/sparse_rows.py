"""The linear map parameters -> scores of rows, one score a row: F w, and its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.batch import csr
from sklearn_struct.kernel import kernel
from sklearn_struct.threads import Pool, even_parts

__all__ = ["SparseRows"]


class SparseRows:
    """F sparse, kept by rows and by columns, so that both products have the same bits on any number of threads.

    Parameters
    ----------
    F : sparse matrix of shape (n_rows, size)
    """

    def __init__(self, F: Any) -> None:
        self.n_rows, self.size = F.shape
        self._by_row = csr(F, np.dtype(float))
        self._by_column = csr(F.T, np.dtype(float))
        self._parts = [even_parts(matrix.indptr) for matrix in (self._by_row, self._by_column)]

    def forward(self, pool: Pool, w: np.ndarray) -> np.ndarray:
        """``F @ w``."""
        return self._product(pool, 0, w, np.empty(self.n_rows))

    def transpose(self, pool: Pool, r: np.ndarray) -> np.ndarray:
        """``F.T @ r``."""
        return self._product(pool, 1, r, np.empty(self.size))

    def _product(self, pool: Pool, turn: int, vector: np.ndarray, out: np.ndarray) -> np.ndarray:
        indptr, indices, data = (self._by_row, self._by_column)[turn]
        bounds = self._parts[turn]
        pool.map(lambda c: _product(indptr, indices, data, vector, bounds[c], out), len(bounds))
        return out


@kernel
def _product(indptr, indices, data, vector, bounds, out):
    for r in range(bounds[0], bounds[1]):
        total = 0.0
        for p in range(indptr[r], indptr[r + 1]):
            total += data[p] * vector[indices[p]]
        out[r] = total
