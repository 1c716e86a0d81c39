"""Sparse X with very wide theta: loops over the pairs that have a weight."""

from __future__ import annotations

import numpy as np

from sklearn_struct.batch import CSR
from sklearn_struct.kernel import kernel

__all__ = ["PairsMap"]


class PairsMap:
    """X sparse; a weight for each stored pair (feature, column of theta), in loops over the pairs alone.

    Parameters
    ----------
    X : CSR
        n rows, m features.
    pairs : CSR
        m rows: the columns of theta for which each feature has a weight; its data are not used.
    """

    def __init__(self, X: CSR, pairs: CSR) -> None:
        self.X, self.pairs = X, pairs
        self.size = self.expanded_size = len(pairs.indices)

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        W[:] = w

    def compress(self, W: np.ndarray) -> np.ndarray:
        return W

    def forward(self, W: np.ndarray, rows: slice, out: np.ndarray) -> None:
        """``out[:] = X[rows] @ W``."""
        out[:] = 0
        _pairs_forward(self.X, self.pairs, W, rows.start, out)

    def scatter(self, R: np.ndarray, rows: slice, scale: float, W: np.ndarray) -> None:
        """``W += scale * X[rows].T @ R``."""
        _pairs_scatter(self.X, self.pairs, R, rows.start, scale, W)


@kernel
def _pairs_forward(X, pairs, w, first, out):
    indptr, indices, data = X.indptr, X.indices, X.data
    pair_indptr, pair_labels = pairs.indptr, pairs.indices
    for t in range(len(out)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            f = indices[p]
            for q in range(pair_indptr[f], pair_indptr[f + 1]):
                out[t, pair_labels[q]] += data[p] * w[q]


@kernel
def _pairs_scatter(X, pairs, R, first, scale, w):
    indptr, indices, data = X.indptr, X.indices, X.data
    pair_indptr, pair_labels = pairs.indptr, pairs.indices
    for t in range(len(R)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            f = indices[p]
            for q in range(pair_indptr[f], pair_indptr[f + 1]):
                w[q] += scale * data[p] * R[t, pair_labels[q]]
