"""Which weights a model of nodes and cliques has, and the segments of their vector.

w = [node | features of each family | columns of each family | intercept], compact: weights of pairs
(feature, label) of nodes; of pairs (feature, column) of cliques, for those of X that condition
them; of columns, whatever X is; and of labels. The intercept comes last because solvers leave the
last ``n_free`` entries unpenalised.

A clique of r nodes has a column for each of its labellings: j * K + k for the pair (j, k).

Where the nodes of an example share its row of features, weights are of pairs (feature, node), and
so are intercepts: they score the last of two labels, and the first one has 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.containers.sparse_and_dense import number_of_dense
from sklearn_struct.containers.structures import clique_sizes, n_columns
from sklearn_struct.linear.observed_feature_labels import BITS, observed
from sklearn_struct.objectives.tied_columns import Ties, equal_labels, ties

__all__ = [
    "COUNTED",
    "CliquePattern",
    "Pattern",
    "Segments",
    "all_pairs",
    "each_pair",
    "every_clique_pair",
    "every_node_pair",
    "masked_pairs",
    "node_pairs",
    "observed_pairs",
    "of_order",
    "segments",
    "split",
]

# a least frequency: all pairs that are seen, and as their data by what weight
COUNTED = 0

# from sparse rows, codes or masks, weights, how many columns there are, and the least frequency
PairsOf: TypeAlias = Callable[[sp.csr_array, np.ndarray, np.ndarray, int, int], CSR]


class CliquePattern(NamedTuple):
    """Which weights cliques of `size` nodes have, which `n_features` features condition.

    ``features`` are the pairs (clique feature, column) with a weight, None for all of them;
    ``columns`` the columns with a weight that is the same whatever X is. If the nodes are
    `symmetric`, the labellings that differ by their order alone are one column. With `potts` there
    is one column with weights, of the labellings in which all nodes have the same label.
    """

    size: int
    n_features: int
    features: CSR | None
    columns: np.ndarray
    symmetric: bool = False
    potts: bool = False

    def ties(self, n_labels: int) -> Ties | None:
        """Which labellings share a column; None if none do."""
        if self.potts:
            return equal_labels(n_labels, self.size)
        return ties(n_labels, self.size) if self.symmetric else None

    def n_weighted(self, n_labels: int) -> int:
        """How many columns may have weights; they are the first ones."""
        if self.potts:
            return 1
        tied = self.ties(n_labels)
        return n_columns(n_labels, self.size) if tied is None else tied.n


class Pattern(NamedTuple):
    """Which weights exist.

    ``node`` are the pairs (feature, label) with a weight; None stands for all of them.
    ``edge_columns`` are the features of X that condition cliques, the same in all families; empty
    where cliques have features of their own, or none. With `n_scales` features are scores, one for
    each label, that are multiplied by one weight, or by one for each label. `n_sharing` is how many
    nodes of two labels share a row of features, each with weights of its own; 0 where each node has
    a row.
    """

    n_features: int
    n_labels: int
    node: CSR | None
    families: tuple[CliquePattern, ...]
    edge_columns: np.ndarray
    fit_intercept: bool
    n_scales: int = 0
    n_sharing: int = 0

    @property
    def order(self) -> int:
        """The order of a Markov chain with these families."""
        return self.families[-1].size - 1

    @property
    def n_scores(self) -> int:
        """How many scores a row of features gives: one for each label, or one for each node."""
        return self.n_sharing or self.n_labels

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of labellings of a clique of each family."""
        return tuple(n_columns(self.n_labels, family.size) for family in self.families)

    @property
    def tied_widths(self) -> tuple[int, ...]:
        """The number of columns of each family."""
        tied = (family.ties(self.n_labels) for family in self.families)
        return tuple(
            width if which is None else which.n
            for which, width in zip(tied, self.widths, strict=True)
        )

    @property
    def sizes(self) -> list[int]:
        """The lengths of the segments of w; of Python's integers, which do not overflow."""
        of_nodes = self.n_features * self.n_scores if self.node is None else len(self.node.indices)
        if self.n_scales:
            of_nodes = self.n_scales
        of_features = [
            f.n_features * width if f.features is None else len(f.features.indices)
            for f, width in zip(self.families, self.tied_widths, strict=True)
        ]
        of_columns = [len(family.columns) for family in self.families]
        return [of_nodes, *of_features, *of_columns, self.n_scores * self.fit_intercept]

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(self.sizes)


class Segments(NamedTuple):
    """Views of the parts of a parameter vector."""

    node: np.ndarray
    features: tuple[np.ndarray, ...]
    columns: tuple[np.ndarray, ...]
    intercept: np.ndarray


def segments(w: np.ndarray, lengths: list[int], n: int = 1) -> Segments:
    """The parts of a vector, n times as long as `lengths`."""
    views = []
    start = 0
    # np.split would take as long as all other steps of a short block
    for length in lengths:
        stop = start + n * length
        views.append(w[start:stop])
        start = stop
    # all families' features come first, then all families' columns
    node, *cliques, intercept = views
    n = len(cliques) // 2
    return Segments(node, tuple(cliques[:n]), tuple(cliques[n:]), intercept)


def split(w: np.ndarray, pattern: Pattern) -> Segments:
    """The segments of a compact parameter vector."""
    return segments(w, pattern.sizes)


def observed_pairs(
    X: sp.csr_array, codes: np.ndarray, weight: np.ndarray, width: int, min_frequency: int
) -> CSR:
    """The pairs (feature, code) stored together in rows of a total weight of at least
    `min_frequency`.
    """
    few = X.shape[1] * width <= BITS * X.nnz  # else the bits would take more memory than X
    if few and min_frequency == 1 and np.all(weight > 0):
        # a bit may be set in any order, and twice: no copy with sorted indices is needed
        return observed(csr(X, canonical=False, single=True), codes, X.shape[1], width)
    # ones, as it matters that a value is stored, not which
    stored = sp.csr_array((np.ones(X.nnz, dtype=np.int32), X.indices, X.indptr), shape=X.shape)
    seen = np.flatnonzero(weight > 0)
    labels = sp.csr_array((weight[seen], (seen, codes[seen])), shape=(len(codes), width))
    counts = sp.csr_array(stored.T @ labels)
    if min_frequency > 1:
        counts.data[counts.data < min_frequency] = 0
        counts.eliminate_zeros()
    return csr(counts)


def masked_pairs(
    X: sp.csr_array, masks: np.ndarray, weight: np.ndarray, width: int, min_frequency: int
) -> CSR:
    """As `observed_pairs`, where a row has each code of its mask (n_rows, width)."""
    stored = sp.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)
    counts = stored.T @ (masks * weight[:, None])
    return csr(
        sp.csr_array(counts * (counts >= min_frequency if min_frequency > 1 else counts > 0))
    )


def all_pairs(
    X: sp.csr_array, codes: np.ndarray, weight: np.ndarray, width: int, min_frequency: int
) -> CSR:
    """All pairs of the features stored in rows of a total weight of at least `min_frequency`."""
    counts = np.bincount(
        X.indices, weights=np.repeat(weight, np.diff(X.indptr)), minlength=X.shape[1]
    )
    # 0, so that features which X never has get their weights, too: "all" means all
    kept = counts >= (min_frequency if min_frequency > 1 else 0)
    pairs = _pairs_of(kept, width)
    if min_frequency == COUNTED:
        pairs = pairs._replace(data=np.repeat(counts[kept], width))
    return pairs


def node_pairs(
    tokens: Any,
    of_sparse: PairsOf,
    codes: np.ndarray,
    weight: np.ndarray,
    width: int,
    min_frequency: int = 1,
) -> CSR | None:
    """The pairs of the features of nodes: those that `of_sparse` gives to sparse columns, every one
    of dense columns; None for a dense matrix.
    """
    if sp.issparse(tokens):
        return of_sparse(tokens, codes, weight, width, min_frequency)
    n_dense = number_of_dense(tokens)
    if n_dense == 0:
        return None
    left = of_sparse(tokens.sparse, codes, weight, width, min_frequency)
    right = each_pair(n_dense, width)
    indptr = np.concatenate([left.indptr, left.indptr[-1] + right.indptr[1:]])
    indices = np.concatenate([left.indices, right.indices])
    data = right.data
    if min_frequency == COUNTED:
        # each number of a dense column is there, so no frequency is too high
        data = np.concatenate([left.data, np.full(len(right.indices), np.inf)])
    return CSR(indptr, indices, data)


def _pairs_of(kept: np.ndarray, width: int) -> CSR:
    indptr = np.concatenate([[0], np.cumsum(kept * width)]).astype(np.int64)
    # int32: columns are few, and halve what is read
    indices = np.tile(np.arange(width, dtype=np.int32), int(np.sum(kept)))
    return CSR(indptr, indices, np.empty(0, dtype=np.int32))


def each_pair(n_features: int, width: int) -> CSR:
    """Every pair of a feature and one of the first `width` columns."""
    return _pairs_of(np.ones(n_features, dtype=bool), width)


def _every_pair(pairs: CSR | None, n_features: int, width: int) -> CSR:
    """The pairs themselves, also where None stands for all of them."""
    return each_pair(n_features, width) if pairs is None else pairs


def every_node_pair(pattern: Pattern) -> CSR:
    """The pairs (feature, label), also where None stands for all of them; scores have their own
    labels alone.
    """
    if pattern.n_scales:
        every = np.arange(pattern.n_labels + 1)
        return CSR(every, every[:-1].astype(np.int32), np.empty(0, np.int32))
    return _every_pair(pattern.node, pattern.n_features, pattern.n_scores)


def every_clique_pair(pattern: Pattern, f: int) -> CSR:
    """The pairs (feature, column) of family f, also where None stands for all of them."""
    family = pattern.families[f]
    return _every_pair(family.features, family.n_features, pattern.tied_widths[f])


def of_order(pattern: Pattern, order: int) -> Pattern:
    """The pattern of a chain as one of a higher order, whose wider cliques have no weights.

    Then the pairs of all families are listed, if features condition them.
    """
    sizes = clique_sizes(order)[len(pattern.families) :]
    if not sizes:
        return pattern
    families = list(pattern.families)
    none = None
    n_features = families[0].n_features
    if n_features:
        none = _pairs_of(np.zeros(n_features, dtype=bool), 0)
        families = [
            family._replace(features=every_clique_pair(pattern, f))
            for f, family in enumerate(families)
        ]
    wider = [CliquePattern(size, n_features, none, np.arange(0)) for size in sizes]
    return pattern._replace(families=(*families, *wider))
