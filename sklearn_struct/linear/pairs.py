"""The map of sparse X to very wide potentials: loops over the pairs that have a weight."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.csr import CSR
from sklearn_struct.linear.stored_values import Entries, entries
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["PairsMap"]


class PairsMap:
    """X sparse, and a weight for each stored pair (feature, column of theta).

    Padded rows would be mostly zeros here, so the pairs alone are visited.

    Parameters
    ----------
    X : CSR
        n rows, m features.
    pairs : CSR
        m rows: the columns of theta for which each feature has a weight; its data are not used.
    """

    def __init__(self, X: CSR, pairs: CSR) -> None:
        self.entries = entries(X)
        self.pairs = pairs
        self.size = self.expanded_size = len(pairs.indices)

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        W[:] = w

    def compress(self, W: np.ndarray) -> np.ndarray:
        return W

    @property
    def grains(self) -> Grains:
        return [(self.size, 1)]

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """``out[:] = X[rows] @ sum_c scales[c] * W_c``."""
        out[:] = 0
        _pairs_forward(
            self.entries, self.pairs, W.reshape(-1, len(scales)), rows.start, scales, out
        )

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """``W_c += scales[c] * X[rows].T @ R``."""
        _pairs_scatter(self.entries, self.pairs, R, rows.start, scales, W.reshape(-1, len(scales)))


@kernel
def _pairs_forward(
    X: Entries, pairs: CSR, w: np.ndarray, first: int, scales: np.ndarray, out: np.ndarray
) -> None:
    indptr = X.indptr
    # unsigned: numba would ask of each index that has a sign whether it counts from the end
    indices = X.indices.view(np.uint32)
    bounds = pairs.indptr.view(np.uint64)
    columns = pairs.indices.view(np.uint32)
    for t in range(len(out)):
        row = out[t]
        for p in range(indptr[first + t], indptr[first + t + 1]):
            f = indices[p]
            for copy in range(len(scales)):
                value = out.dtype.type(scales[copy]) * X.data[p * X.step]
                # loops over existing pairs, as K**2 columns are too wide for dense rows
                for q in range(bounds[f], bounds[f + np.uint32(1)]):
                    row[columns[q]] += value * w[q, np.uint64(copy)]


@kernel
def _pairs_scatter(
    X: Entries, pairs: CSR, R: np.ndarray, first: int, scales: np.ndarray, w: np.ndarray
) -> None:
    indptr = X.indptr
    indices = X.indices.view(np.uint32)
    bounds = pairs.indptr.view(np.uint64)
    columns = pairs.indices.view(np.uint32)
    for t in range(len(R)):
        row = R[t]
        for p in range(indptr[first + t], indptr[first + t + 1]):
            f = indices[p]
            for copy in range(len(scales)):
                value = scales[copy] * X.data[p * X.step]
                for q in range(bounds[f], bounds[f + np.uint32(1)]):
                    w[q, np.uint64(copy)] += value * row[columns[q]]
