"""Dense X: matrix products by BLAS."""

from __future__ import annotations

import numpy as np

from sklearn_struct.linear.side_by_side import ONE
from sklearn_struct.threads import Pool, parts

__all__ = ["DenseMap"]


class DenseMap:
    """X a dense (n, m) array; parameters are W (m, width), row by row."""

    def __init__(self, X: np.ndarray, width: int) -> None:
        self.X, self.width, self.dtype = X, width, X.dtype
        self.size = self.expanded_size = X.shape[1] * width

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        W[:] = w

    def compress(self, W: np.ndarray) -> np.ndarray:
        return W

    @property
    def grains(self) -> list[tuple[int, int]]:
        return [(self.size, self.width)]

    def forward(self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE) -> None:
        """``out[:] = X[rows] @ sum_c scales[c] * W_c``."""
        np.matmul(self.X[rows], scales.astype(W.dtype) @ W.reshape(-1, len(scales), self.width), out=out)

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """``W_c += scales[c] * X[rows].T @ R``."""
        each = W.reshape(-1, len(scales), self.width)
        each += scales[:, None] * (self.X[rows].T @ R)[:, None]

    def transpose(self, dtype: np.dtype) -> _DenseTranspose:
        return _DenseTranspose(self.X, self.width, dtype)


class _DenseTranspose:
    """X' R, once all rows of R are put."""

    def __init__(self, X: np.ndarray, width: int, dtype: np.dtype) -> None:
        self.X, self.R = X, np.empty((len(X), width), dtype=dtype)

    def put(self, R: np.ndarray, rows: slice) -> None:
        self.R[rows] = R

    def product(self, pool: Pool, out: np.ndarray) -> None:
        """Write ``X.T @ R``, compact."""
        rows = parts(len(self.X))
        products = pool.map(lambda c: self.X[rows[c]].T @ self.R[rows[c]], len(rows))
        np.sum(products, axis=0, out=out.reshape(-1, self.R.shape[1]))
