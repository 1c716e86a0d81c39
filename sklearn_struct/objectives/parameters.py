"""The parameters of a linear chain: which weights exist, their vector's segments, the potentials
they give.

w = [node weights | edge weights | transition weights | intercept], compact; the intercept comes
last because solvers leave the last ``n_free`` entries unpenalised.

    node[t] = X[t] W + intercept        edge[t, t+1] = transition + X_edge[t+1] V

An edge has a column for each label pair, j * K + k, and in a chain of second order, behind these,
one for each triple that ends with it, K * K + (i * K + j) * K + k.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.compiled.simd import aligned
from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Block, Potentials, chain
from sklearn_struct.linear.dense import DenseMap
from sklearn_struct.linear.interleaved import ONE, Grains
from sklearn_struct.linear.lookup import Lookup, LookupMap
from sklearn_struct.linear.observed_pairs import BITS, observed
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.pairs import PairsMap
from sklearn_struct.linear.sum_of_squares import add_to_rows

__all__ = [
    "LinearPotentials",
    "Pattern",
    "Segments",
    "all_pairs",
    "bind",
    "by_matrix",
    "edge_features",
    "every_edge_pair",
    "every_node_pair",
    "lookup",
    "masked_pairs",
    "observed_pairs",
    "of_order",
    "split",
    "without_zeros",
]


class Pattern(NamedTuple):
    """Which weights exist.

    ``node`` are the pairs (feature, label) and ``edge`` the pairs (edge feature, column of an edge)
    with a weight; None stands for all of them. ``edge_columns`` are the features of X that
    condition transitions, and ``transitions`` the columns of edges, label pairs and at ``order`` 2
    triples, with a transition weight.
    """

    n_features: int
    n_labels: int
    node: CSR | None
    edge: CSR | None
    edge_columns: np.ndarray
    transitions: np.ndarray
    fit_intercept: bool
    order: int = 1

    @property
    def edge_width(self) -> int:
        """The number of columns of an edge."""
        K = self.n_labels
        return K**2 if self.order == 1 else K**2 + K**3

    @property
    def n_pairs(self) -> tuple[int, int]:
        """Numbers of weights of features and of edge features; of Python's integers, which do not
        overflow.
        """
        n_node = self.n_features * self.n_labels if self.node is None else len(self.node.indices)
        return n_node, len(self.edge_columns) * self.edge_width if self.edge is None else len(
            self.edge.indices
        )

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(self.n_pairs) + len(self.transitions) + self.n_labels * self.fit_intercept


# share of other values than 0 below which loops over them are faster than matrix products
SPARSE = 0.25


def observed_pairs(
    X: sp.csr_array, codes: np.ndarray, weight: np.ndarray, width: int, min_frequency: int
) -> CSR:
    """The pairs (feature, code) stored together in rows of a total weight of at least
    `min_frequency`.
    """
    few = X.shape[1] * width <= BITS * X.nnz  # else the bits would take more memory than X
    if few and min_frequency <= 1 and np.all(weight > 0):
        return observed(csr(X, canonical=False), codes, X.shape[1], width)
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
    return _pairs_of(counts >= (min_frequency if min_frequency > 1 else 0), width)


def _pairs_of(kept: np.ndarray, width: int) -> CSR:
    indptr = np.concatenate([[0], np.cumsum(kept * width)]).astype(np.int64)
    indices = np.tile(np.arange(width, dtype=np.int32), int(np.sum(kept)))
    return CSR(indptr, indices, np.empty(0, dtype=np.int32))


def _every_pair(pairs: CSR | None, n_features: int, width: int) -> CSR:
    """The pairs themselves, also where None stands for all of them."""
    return _pairs_of(np.ones(n_features, dtype=bool), width) if pairs is None else pairs


def every_node_pair(pattern: Pattern) -> CSR:
    return _every_pair(pattern.node, pattern.n_features, pattern.n_labels)


def every_edge_pair(pattern: Pattern) -> CSR:
    return _every_pair(pattern.edge, len(pattern.edge_columns), pattern.edge_width)


def of_order(pattern: Pattern, order: int) -> Pattern:
    """A pattern of first order as one of second order, if that is asked for, without weights of
    triples.
    """
    if order == pattern.order:
        return pattern
    K = pattern.n_labels
    edge = pattern.edge
    if edge is None and len(pattern.edge_columns):
        edge = _pairs_of(np.ones(len(pattern.edge_columns), dtype=bool), K * K)
    return pattern._replace(edge=edge, order=order)


def split(w: np.ndarray, pattern: Pattern) -> Segments:
    """The segments of a compact parameter vector."""
    return Segments(*np.split(w, np.cumsum([*pattern.n_pairs, len(pattern.transitions)])))


def by_matrix(pattern: Pattern, X: SequenceArray) -> bool:
    """Whether tokens and weights are multiplied as dense matrices."""
    return pattern.node is None and not sp.issparse(X.tokens)


def without_zeros(X: SequenceArray) -> SequenceArray:
    """X itself, or, if it is a matrix of mostly zeros, the same as a sparse one."""
    if sp.issparse(X.tokens) or np.count_nonzero(X.tokens) >= SPARSE * X.tokens.size:
        return X
    return SequenceArray(sp.csr_array(X.tokens), X.offsets)


def lookup(pattern: Pattern) -> Lookup:
    """What `bind` takes to predict, for any X that is not multiplied as a matrix."""
    return Lookup(every_node_pair(pattern), pattern.n_labels)


def bind(
    pattern: Pattern, X: SequenceArray, dtype: np.dtype, table: Lookup | None = None
) -> LinearPotentials:
    """The potentials that parameters of this pattern give to X; with `table` for a single pass over
    X, forward.
    """
    K = pattern.n_labels
    node_map: DenseMap | RowsMap | LookupMap
    edge_map: DenseMap | PairsMap | None = None
    dense = not sp.issparse(X.tokens)
    if by_matrix(pattern, X):
        node_map = DenseMap(np.ascontiguousarray(X.tokens, dtype=dtype), K)
    elif table is None:
        node_map = RowsMap(csr(X.tokens, dtype), every_node_pair(pattern), K)
    else:
        node_map = LookupMap(csr(X.tokens, dtype, canonical=False), table)
    if len(pattern.edge_columns):
        edge_X = edge_features(X, pattern.edge_columns)
        if dense and pattern.edge is None:
            edge_map = DenseMap(np.ascontiguousarray(edge_X, dtype=dtype), pattern.edge_width)
        else:
            edge_map = PairsMap(csr(edge_X, dtype), every_edge_pair(pattern))
    return LinearPotentials(pattern, node_map, edge_map)


def edge_features(X: SequenceArray, columns: np.ndarray) -> np.ndarray | sp.csr_array:
    """The chosen features of the second token of each edge."""
    return X.tokens[chain(X.offsets).edges[:, 1]][:, columns]


class Segments(NamedTuple):
    """Views of the four parts of a parameter vector."""

    node: np.ndarray
    edge: np.ndarray
    transition: np.ndarray
    intercept: np.ndarray


class LinearPotentials:
    """Potentials of a linear chain as a linear function of its parameters.

    Parameters
    ----------
    pattern : Pattern
        Which weights exist.
    node_map : DenseMap, RowsMap or LookupMap
        From features of tokens to labels.
    edge_map : DenseMap, PairsMap or None
        From features of edges to their columns; None without edge features: one table for all
        edges.
    """

    def __init__(
        self,
        pattern: Pattern,
        node_map: DenseMap | RowsMap | LookupMap,
        edge_map: DenseMap | PairsMap | None = None,
    ) -> None:
        self.pattern = pattern
        self.edge_map = edge_map
        self.node_map: Any = node_map  # a LookupMap has no way back
        self.n_labels = pattern.n_labels
        self.edge_width = pattern.edge_width
        self.transitions = pattern.transitions
        self.n_free = pattern.n_labels if pattern.fit_intercept else 0
        self.dtype = node_map.dtype
        n_edge = (edge_map.size, edge_map.expanded_size) if edge_map else (0, 0)
        self.size = node_map.size + n_edge[0] + len(pattern.transitions) + self.n_free
        self._has_transition = np.zeros(self.edge_width)
        self._has_transition[pattern.transitions] = 1.0
        self._bounds = np.cumsum([node_map.expanded_size, n_edge[1], self.edge_width]).tolist()
        self.expanded_size = self._bounds[-1] + self.n_free

    @property
    def grains(self) -> Grains:
        """The layout of an expanded vector: what stays together where several stand side by side."""
        tables = [(self.edge_width, self.edge_width), (self.n_free, self.n_free)]
        return [*self.node_map.grains, *(self.edge_map.grains if self.edge_map else []), *tables]

    def split_expanded(self, W: np.ndarray, n: int = 1) -> Segments:
        """The segments of n expanded vectors, side by side; their transitions are whole tables."""
        a, b, c = self._bounds
        return Segments(W[: n * a], W[n * a : n * b], W[n * b : n * c], W[n * c :])

    def expand(self, w: np.ndarray, W: np.ndarray | None = None) -> np.ndarray:
        """The layout in which potentials are computed, in their float type; written into an earlier
        one if given.
        """
        if W is None:
            W = aligned(self.expanded_size, self.dtype)
        parts = split(w, self.pattern)
        expanded = self.split_expanded(W)
        self.node_map.expand(parts.node, expanded.node)
        if self.edge_map:
            self.edge_map.expand(parts.edge, expanded.edge)
        expanded.transition[self.transitions] = parts.transition
        expanded.intercept[:] = parts.intercept
        return W

    def compress(self, W: np.ndarray) -> np.ndarray:
        """The inverse of `expand`."""
        parts = self.split_expanded(W)
        edge = self.edge_map.compress(parts.edge) if self.edge_map else parts.edge
        table = parts.transition[self.transitions]
        return np.concatenate(
            [self.node_map.compress(parts.node), edge, table, parts.intercept], dtype=np.float64
        )

    def forward(
        self, W: np.ndarray, block: Block, scales: np.ndarray = ONE, out: np.ndarray | None = None
    ) -> Potentials:
        """Potentials of a block at the sum of ``scales[c]`` times the vectors side by side in W.

        Unpenalised parameters are those of the first vector, unscaled: scales are for lazily shrunk
        ones. The node potentials are written into the first rows of `out` if it is given.
        """
        node, edge, table = self._products(W, block, scales, out)
        if edge is not None:
            edge += table
        if self.n_free:
            node += self._intercept(W, len(scales))
        return Potentials(node, table if edge is None else edge)

    def forward_and_squares(self, W: np.ndarray, block: Block) -> tuple[Potentials, float]:
        """Potentials of a block, and the sum of their squares, which tells whether they are finite."""
        node, edge, table = self._products(W, block, ONE, None)
        squares = add_to_rows(
            self._intercept(W, 1) if self.n_free else np.zeros(self.n_labels, W.dtype), node
        )
        if edge is None:
            edge = table
            table = np.zeros_like(table)
        return Potentials(node, edge), squares + add_to_rows(table[0], edge)

    def _intercept(self, W: np.ndarray, n: int) -> np.ndarray:
        return self.split_expanded(W, n).intercept[: self.n_free]

    def _products(
        self, W: np.ndarray, block: Block, scales: np.ndarray, out: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """What features give to nodes and, if there are edge features, to edges; and the table that
        all edges share.
        """
        parts = self.split_expanded(W, len(scales))
        n = block.tokens.stop - block.tokens.start
        node = np.empty((n, self.n_labels), dtype=W.dtype) if out is None else out[:n]
        self.node_map.forward(parts.node, block.tokens, node, scales)
        edge = None
        if self.edge_map:
            edge = np.empty((block.edges.stop - block.edges.start, self.edge_width), dtype=W.dtype)
            self.edge_map.forward(parts.edge, block.edges, edge, scales)
        return (
            node,
            edge,
            scales.astype(W.dtype)[None, :] @ parts.transition.reshape(len(scales), -1),
        )

    def scatter(
        self, gradient: Potentials, block: Block, scales: np.ndarray, W: np.ndarray
    ) -> None:
        """Add ``scales[c]`` times the pullback of a block's `gradient` to the vectors in W; sparse
        where X is.
        """
        parts = self.split_expanded(W, len(scales))
        self.node_map.scatter(gradient.node, block.tokens, scales, parts.node)
        if self.edge_map:
            self.edge_map.scatter(gradient.edge, block.edges, scales, parts.edge)
        table = np.sum(gradient.edge, axis=0) if self.edge_map else gradient.edge[0]
        parts.transition.reshape(len(scales), -1)[:] += scales[:, None] * (
            table * self._has_transition
        )
        if self.n_free:
            parts.intercept.reshape(len(scales), -1)[:] += np.outer(
                scales, gradient.node.sum(axis=0)
            )
