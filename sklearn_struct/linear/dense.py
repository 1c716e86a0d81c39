"""The map of dense X to potentials: matrix products by BLAS."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sklearn_struct.compiled.threads import N_PARTS, Pool, longest, parts
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["DenseMap", "WholeWeights"]

# multiplications, up to which OpenBLAS does without copies of both matrices: of narrow ones these
# take as long as the product
SMALL = 1_000_000
FEWEST_ROWS = 64


class WholeWeights:
    """Weights that have the same layout in solvers and in products: all of them are read anyway."""

    size: int

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        """Copy `w` into W."""
        W[:] = w

    def compress(self, W: np.ndarray) -> np.ndarray:
        """W itself."""
        return W

    @property
    def grains(self) -> Grains:
        """One, of all weights."""
        return [(self.size, self.size)]


class DenseMap(WholeWeights):
    """X a dense (n, m) array; parameters are W (m, width), row by row."""

    def __init__(self, X: np.ndarray, width: int) -> None:
        self.X = X
        self.width = width
        self.dtype = X.dtype
        self.size = self.expanded_size = X.shape[1] * width

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """``out[:] = X[rows] @ sum_c scales[c] * W_c``."""
        # the scaled sum first: one product with X instead of one for each vector
        W = W if scales is ONE else scales.astype(W.dtype) @ W.reshape(len(scales), -1)
        W = W.reshape(-1, self.width)
        X = self.X[rows]
        n = SMALL // max(W.size, 1)
        # products of a few rows take longer to call than they save
        n = n if n >= FEWEST_ROWS else max(len(X), 1)
        for first in range(0, len(X), n):
            np.matmul(X[first : first + n], W, out=out[first : first + n])

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """``W_c += scales[c] * X[rows].T @ R``."""
        product = (self.X[rows].T @ R).ravel()
        for scale, vector in zip(scales, W.reshape(len(scales), -1), strict=True):
            # the product with X is made once for all vectors
            vector += scale * product

    def transpose(self, dtype: np.dtype, windows: list[slice]) -> _DenseTranspose:
        return _DenseTranspose(self.X, self.width, dtype, windows)


class _DenseTranspose:
    """X' R, window by window."""

    # written anew for each product
    buffers: ClassVar[tuple[str, ...]] = ("R",)

    def __init__(self, X: np.ndarray, width: int, dtype: np.dtype, windows: list[slice]) -> None:
        self.X = X
        self.windows = windows
        self.R = np.empty((longest(windows), width), dtype=dtype)

    def begin(self) -> None:
        """Do nothing: room for a product is kept from one to the next."""

    def rest(self) -> None:
        """Do nothing."""

    def put(self, R: np.ndarray, rows: slice, first: int) -> None:
        """Keep the residuals of some rows of the window that begins with row `first`."""
        self.R[rows.start - first : rows.stop - first] = R

    def add(self, pool: Pool, w: int, out: np.ndarray) -> None:
        """Add ``X[rows].T @ R``, compact, of the rows of window w."""
        X = self.X[self.windows[w]]
        n_parts = min(N_PARTS, 1 + X.size * self.R.shape[1] // SMALL)
        rows = parts(len(X), n_parts)

        # in parts that do not depend on the number of threads: their sum has the same bits for any
        def of_part(c: int) -> np.ndarray:
            with np.errstate(over="ignore", invalid="ignore"):
                product: np.ndarray = self.R[rows[c]].T @ X[rows[c]]
                return product

        products = pool.map(of_part, len(rows))
        table = out.reshape(-1, self.R.shape[1])
        table += np.sum(products, axis=0).T
