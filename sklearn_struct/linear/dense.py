"""The map of dense X to potentials: matrix products by BLAS."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.threads import Pool, parts
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["DenseMap"]


class DenseMap:
    """X a dense (n, m) array; parameters are W (m, width), row by row."""

    def __init__(self, X: np.ndarray, width: int) -> None:
        self.X = X
        self.width = width
        self.dtype = X.dtype
        self.size = self.expanded_size = X.shape[1] * width

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        W[:] = w

    def compress(self, W: np.ndarray) -> np.ndarray:
        return W

    @property
    def grains(self) -> Grains:
        return [(self.size, self.size)]  # all of it is read anyway

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """``out[:] = X[rows] @ sum_c scales[c] * W_c``."""
        # the scaled sum first: one product with X instead of one for each vector
        W = W if scales is ONE else scales.astype(W.dtype) @ W.reshape(len(scales), -1)
        np.matmul(self.X[rows], W.reshape(-1, self.width), out=out)

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """``W_c += scales[c] * X[rows].T @ R``."""
        product = (self.X[rows].T @ R).ravel()
        for scale, vector in zip(scales, W.reshape(len(scales), -1), strict=True):
            # the product with X is made once for all vectors
            vector += scale * product

    def transpose(self, dtype: np.dtype) -> _DenseTranspose:
        return _DenseTranspose(self.X, self.width, dtype)


class _DenseTranspose:
    """X' R, once all rows of R are put."""

    def __init__(self, X: np.ndarray, width: int, dtype: np.dtype) -> None:
        self.X = X
        self.R = np.empty((len(X), width), dtype=dtype)

    def put(self, R: np.ndarray, rows: slice) -> None:
        self.R[rows] = R

    def product(self, pool: Pool, out: np.ndarray) -> None:
        """Write ``X.T @ R``, compact."""
        rows = parts(len(self.X))

        # in parts that do not depend on the number of threads: their sum has the same bits for any
        def of_part(c: int) -> np.ndarray:
            with np.errstate(over="ignore", invalid="ignore"):
                product: np.ndarray = self.R[rows[c]].T @ self.X[rows[c]]
                return product

        products = pool.map(of_part, len(rows))
        out.reshape(-1, self.R.shape[1])[:] = np.sum(products, axis=0).T
