"""The map of scores of labels to potentials: each is multiplied by a weight."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sklearn_struct.compiled.threads import N_PARTS, Pool, longest, parts
from sklearn_struct.linear.dense import WholeWeights
from sklearn_struct.linear.vectors_side_by_side import ONE

__all__ = ["ScaleMap"]

# numbers for fewer of which a second part does not pay
SMALL = 100_000


class ScaleMap(WholeWeights):
    """X a dense (n, width) array, a score for each label; parameters are one scale, or `n_scales` =
    width of them, one for each label.
    """

    def __init__(self, X: np.ndarray, n_scales: int) -> None:
        self.X = X
        self.dtype = X.dtype
        self.size = self.expanded_size = n_scales

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """``out[:] = X[rows] * sum_c scales[c] * W_c``."""
        W = W if scales is ONE else scales.astype(W.dtype) @ W.reshape(len(scales), -1)
        np.multiply(self.X[rows], W, out=out)

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """``W_c += scales[c] * sum_t X[rows][t] * R[t]``."""
        sums = self.sums(R, rows)
        for scale, vector in zip(scales, W.reshape(len(scales), -1), strict=True):
            vector += scale * sums

    def sums(self, R: np.ndarray, rows: slice) -> np.ndarray:
        """The derivative in the scales, of those in the potentials of some rows."""
        of_labels: np.ndarray = np.einsum("tk,tk->k", self.X[rows], R)
        return of_labels if self.size > 1 else of_labels.sum(keepdims=True)

    def transpose(self, dtype: np.dtype, windows: list[slice]) -> _ScaleTranspose:
        return _ScaleTranspose(self, dtype, windows)


class _ScaleTranspose:
    """The derivative in the scales, window by window."""

    # written anew for each product
    buffers: ClassVar[tuple[str, ...]] = ("R",)

    def __init__(self, scale_map: ScaleMap, dtype: np.dtype, windows: list[slice]) -> None:
        self.map = scale_map
        self.windows = windows
        self.R = np.empty((longest(windows), scale_map.X.shape[1]), dtype=dtype)

    def begin(self) -> None:
        """Do nothing: room for a product is kept from one to the next."""

    def rest(self) -> None:
        """Do nothing."""

    def put(self, R: np.ndarray, rows: slice, first: int) -> None:
        """Keep the residuals of some rows of the window that begins with row `first`."""
        self.R[rows.start - first : rows.stop - first] = R

    def add(self, pool: Pool, w: int, out: np.ndarray) -> None:
        """Add the sums over the rows of window w."""
        window = self.windows[w]
        n_rows = window.stop - window.start
        n_parts = min(N_PARTS, 1 + n_rows * self.R.shape[1] // SMALL)
        rows = parts(n_rows, n_parts)

        # in parts that do not depend on the number of threads: their sum has the same bits for any
        def of_part(c: int) -> np.ndarray:
            here = slice(window.start + rows[c].start, window.start + rows[c].stop)
            with np.errstate(over="ignore", invalid="ignore"):
                return self.map.sums(self.R[rows[c]], here)

        out += np.sum(pool.map(of_part, len(rows)), axis=0)
