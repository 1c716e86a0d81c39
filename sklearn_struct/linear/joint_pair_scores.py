"""From weights of pairs (feature, label) to scores of the labels that an input's features touch."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.csr import CSR, csr

__all__ = ["JointMap"]

# offsets, labels and scores (or their derivatives) of the labels that inputs touch
Touched: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

BLOCK = 100_000  # touched pairs of a block: its scores stay in the cache, and calls are short
# what a background costs, in touched pairs: as such, and for each label
GROUP = 40_000
LABEL = 10
MOST = 300  # features that are looked at as parts of backgrounds


class JointMap:
    """A linear map of sparse inputs, with a parameter for each of some pairs (feature, label).

    Only the labels that an input touches are visited: those with which one of its features has a
    parameter. Frequent features with many labels would be most of this work in text, so they are
    parts of backgrounds. Inputs that agree in them form a group, and the scores of all labels by
    these features are computed once for the group.

    Parameters
    ----------
    X : csr_array of shape (n, m)
        The features of the inputs.
    pairs : CSR
        m rows: the labels for which a feature has a parameter; its data are not used.
    n_labels : int

    Attributes
    ----------
    order : ndarray of shape (n,)
        The inputs in the order in which `blocks` count them, group by group.
    blocks, groups : list of slice, list of int
        Inputs that are worked on together, and the group that they are of.
    """

    def __init__(self, X: sp.csr_array, pairs: CSR, n_labels: int) -> None:
        self.pairs = pairs
        self.n_labels = n_labels
        self.size = len(pairs.indices)
        n_pairs = np.diff(pairs.indptr)
        shared, group = _shared(X, n_pairs, n_labels)
        self.order = np.argsort(group, kind="stable")
        X = X[self.order]
        group = group[self.order]
        is_shared = np.zeros(X.shape[1], dtype=bool)
        is_shared[shared] = True
        # features without any pair would be visited for nothing
        kept = sp.csr_array(X @ sp.diags_array((~is_shared & (n_pairs > 0)).astype(float)))
        kept.eliminate_zeros()
        self.X = csr(kept, np.dtype(float))
        owner = np.repeat(np.arange(X.shape[0]), np.diff(self.X.indptr))
        # no more than all labels, however many features touch them
        bound = np.minimum(
            np.bincount(owner, n_pairs[self.X.indices], X.shape[0]), n_labels
        ).astype(np.int64)
        self._room = np.concatenate([[0], np.cumsum(bound)])
        cuts = np.flatnonzero((np.diff(group) != 0) | (np.diff(self._room[:-1] // BLOCK) != 0)) + 1
        self.blocks = [slice(*ends) for ends in pairwise([0, *cuts.tolist(), X.shape[0]])]
        self.groups = [int(group[block.start]) for block in self.blocks]
        first = np.searchsorted(group, np.arange(group[-1] + 1))
        self._members = sp.csr_array(X[first][:, shared])  # of which shared features each group has
        self._positions = np.concatenate(
            [np.arange(*pairs.indptr[f : f + 2]) for f in [*shared, -1][:-1]] or [shared]
        )
        self._ends = np.concatenate([[0], np.cumsum(n_pairs[shared])])

    def background(self, w: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Scores (group, label) where no other feature touches a label."""
        shape = (len(self._ends) - 1, self.n_labels)
        labels = self.pairs.indices[self._positions]
        weights = sp.csr_array((w[self._positions], labels, self._ends), shape)
        scores: np.ndarray = (self._members @ weights).toarray() + intercept
        return scores

    def add_background(self, gradient: np.ndarray, out: np.ndarray) -> None:
        """The transpose of `background`, added to the derivative in w."""
        feature = np.repeat(np.arange(len(self._ends) - 1), np.diff(self._ends))
        out[self._positions] += (self._members.T @ gradient)[
            feature, self.pairs.indices[self._positions]
        ]

    def forward(
        self, w: np.ndarray, background: np.ndarray, rows: slice
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(offsets, labels, scores) of the labels that each input of `rows` touches."""
        # an upper bound: a label that several features touch is written once
        room = int(self._room[rows.stop] - self._room[rows.start])
        offsets = np.zeros(rows.stop - rows.start + 1, np.int64)
        labels = np.empty(room, np.int32)
        scores = np.empty(room)
        _forward(self.X, self.pairs, w, background, rows.start, (offsets, labels, scores))
        n = int(offsets[-1])
        return offsets, labels[:n], scores[:n]

    def scatter(
        self,
        offsets: np.ndarray,
        labels: np.ndarray,
        gradient: np.ndarray,
        rows: slice,
        out: np.ndarray,
    ) -> None:
        """Add the derivative in w to `out`, from that in the scores."""
        _scatter(
            self.X,
            self.pairs,
            (offsets, labels, gradient),
            rows.start,
            np.empty(self.n_labels),
            out,
        )


def _shared(X: sp.csr_array, n_pairs: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Features of backgrounds, and the group of each input.

    Greedily, from the feature that costs most: it is shared if the new groups that it makes cost
    less.
    """
    counts = np.bincount(X.indices, minlength=X.shape[1])
    # only features that are always 1: inputs with other values would not agree
    whole = np.bincount(X.indices[X.data == 1], minlength=X.shape[1]) == counts
    visits = counts * n_pairs * whole
    frequent = np.argsort(-visits, kind="stable")[:MOST]
    columns = sp.csc_array(X[:, frequent])
    shared = []
    group = np.zeros(X.shape[0], dtype=np.int64)
    sizes = np.array([X.shape[0]])
    for place, f in enumerate(frequent.tolist()):
        rows = columns.indices[columns.indptr[place] : columns.indptr[place + 1]]
        have = np.bincount(group[rows], minlength=len(sizes))
        split = (have > 0) & (have < sizes)
        n_new = int(np.sum(split))
        # a new group costs exponentials of all labels, whatever it saves
        if visits[f] == 0 or n_new * (GROUP + LABEL * n_labels) > visits[f]:
            continue
        new = np.where(split, len(sizes) + np.cumsum(split) - 1, np.arange(len(sizes)))
        group[rows] = new[group[rows]]
        sizes = np.concatenate([sizes - have * split, have[split]])
        shared.append(f)
    return np.array(shared, dtype=np.int64), group


@kernel
def _forward(
    X: CSR, pairs: CSR, w: np.ndarray, background: np.ndarray, start: int, out: Touched
) -> None:
    indptr = X.indptr
    indices = X.indices
    data = X.data
    pair_indptr = pairs.indptr
    pair_labels = pairs.indices
    offsets, labels, scores = out
    place = np.full(len(background), -1, np.int32)
    n = 0
    for i in range(len(offsets) - 1):
        first = n
        for p in range(indptr[start + i], indptr[start + i + 1]):
            f = indices[p]
            x = data[p]
            for q in range(pair_indptr[f], pair_indptr[f + 1]):
                k = pair_labels[q]
                if place[k] < first:  # of an earlier input
                    place[k] = n
                    labels[n] = k
                    scores[n] = background[k]
                    n += 1
                scores[place[k]] += x * w[q]
        offsets[i + 1] = n


@kernel
def _scatter(
    X: CSR, pairs: CSR, touched: Touched, start: int, row: np.ndarray, out: np.ndarray
) -> None:
    indptr = X.indptr
    indices = X.indices
    data = X.data
    pair_indptr = pairs.indptr
    pair_labels = pairs.indices
    offsets, labels, gradient = touched
    for i in range(len(offsets) - 1):
        for r in range(offsets[i], offsets[i + 1]):
            # never cleared: an input's features read the labels that it touches, and these are
            # written here
            row[labels[r]] = gradient[r]
        for p in range(indptr[start + i], indptr[start + i + 1]):
            f = indices[p]
            x = data[p]
            for q in range(pair_indptr[f], pair_indptr[f + 1]):
                out[q] += x * row[pair_labels[q]]
