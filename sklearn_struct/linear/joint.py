"""The linear map from pairs (feature of the input, label) to scores of the labels that an input's features touch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct.batch import CSR, csr
from sklearn_struct.kernel import kernel

__all__ = ["JointMap"]

BLOCK = 100_000  # touched pairs of a block: its scores stay in the cache, and calls are short


class JointMap:
    """Sparse inputs, and a parameter for each of some pairs (feature, label); what is not touched is not visited.

    Features with the value 1 in all inputs are added to the background instead, which all inputs share.

    Parameters
    ----------
    X : csr_array of shape (n, m)
        The features of the inputs.
    pairs : CSR
        m rows: the labels for which a feature has a parameter; its data are not used.
    n_labels : int
    """

    def __init__(self, X: sp.csr_array, pairs: CSR, n_labels: int) -> None:
        self.pairs, self.n_labels, self.size = pairs, n_labels, len(pairs.indices)
        constant = _constant(X)
        self._shared = np.flatnonzero(np.repeat(constant, np.diff(pairs.indptr)))  # parameters of the background
        touches = sp.diags_array((~constant & (np.diff(pairs.indptr) > 0)).astype(float))
        kept = sp.csr_array(X @ touches)
        kept.eliminate_zeros()
        self.X = csr(kept, np.dtype(float))
        touched = np.diff(pairs.indptr)[self.X.indices]
        bound = np.minimum(np.bincount(_owners(self.X.indptr), touched, X.shape[0]), n_labels).astype(np.int64)
        self._room = np.concatenate([[0], np.cumsum(bound)])
        ends = np.unique(np.searchsorted(self._room, np.arange(BLOCK, self._room[-1] + BLOCK, BLOCK)))
        self.blocks = [slice(*ends) for ends in pairwise([0, *ends[ends < X.shape[0]].tolist(), X.shape[0]])]

    def background(self, w: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Scores of all labels where no other feature touches them."""
        return intercept + np.bincount(self.pairs.indices[self._shared], w[self._shared], self.n_labels)

    def add_background(self, gradient: np.ndarray, out: np.ndarray) -> None:
        """The transpose of `background`, added to the derivative in w."""
        out[self._shared] += gradient[self.pairs.indices[self._shared]]

    def forward(self, w: np.ndarray, background: np.ndarray, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(offsets, labels, scores) of the labels that each input of `rows` touches."""
        room = int(self._room[rows.stop] - self._room[rows.start])
        offsets, labels = np.zeros(rows.stop - rows.start + 1, np.int64), np.empty(room, np.int32)
        scores = np.empty(room)
        _forward(self.X, self.pairs, w, background, rows.start, (offsets, labels, scores))
        n = int(offsets[-1])
        return offsets, labels[:n], scores[:n]

    def scatter(self, offsets: np.ndarray, labels: np.ndarray, gradient: np.ndarray, rows: slice, out: Any) -> None:
        """Add the derivative in w to `out`, from that in the scores."""
        _scatter(self.X, self.pairs, (offsets, labels, gradient), rows.start, np.empty(self.n_labels), out)


def _constant(X: sp.csr_array) -> np.ndarray:
    """Whether a feature has the value 1 everywhere."""
    ones = np.bincount(X.indices[X.data == 1], minlength=X.shape[1])
    return ones == X.shape[0]


def _owners(indptr: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


@kernel
def _forward(X, pairs, w, background, start, out):
    indptr, indices, data = X.indptr, X.indices, X.data
    pair_indptr, pair_labels = pairs.indptr, pairs.indices
    offsets, labels, scores = out
    place = np.full(len(background), -1, np.int64)
    n = 0
    for i in range(len(offsets) - 1):
        first = n
        for p in range(indptr[start + i], indptr[start + i + 1]):
            f, x = indices[p], data[p]
            for q in range(pair_indptr[f], pair_indptr[f + 1]):
                k = pair_labels[q]
                if place[k] < first:
                    place[k] = n
                    labels[n] = k
                    scores[n] = background[k]
                    n += 1
                scores[place[k]] += x * w[q]
        offsets[i + 1] = n


@kernel
def _scatter(X, pairs, touched, start, row, out):
    indptr, indices, data = X.indptr, X.indices, X.data
    pair_indptr, pair_labels = pairs.indptr, pairs.indices
    offsets, labels, gradient = touched
    for i in range(len(offsets) - 1):
        for r in range(offsets[i], offsets[i + 1]):
            row[labels[r]] = gradient[r]
        for p in range(indptr[start + i], indptr[start + i + 1]):
            f, x = indices[p], data[p]
            for q in range(pair_indptr[f], pair_indptr[f + 1]):
                out[q] += x * row[pair_labels[q]]
