"""The potentials that weights give to features: linear in the weights, with a table for each family
of cliques.

    node[t] = X[t] W + intercept        cliques[c] = columns + Z[c] V

The features Z of cliques are their own, or, by default, those of their last nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from sklearn_struct.compiled.simd import aligned
from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.sparse_and_dense import number_of_dense
from sklearn_struct.containers.structures import Block, Family, Potentials, Structure
from sklearn_struct.linear.added_intercepts import add_to_rows
from sklearn_struct.linear.dense import DenseMap
from sklearn_struct.linear.lookup_for_prediction import Lookup
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.pairs import PairsMap
from sklearn_struct.linear.scaled_scores import ScaleMap
from sklearn_struct.linear.shared_rows import SharedRows
from sklearn_struct.linear.tables_in_turn import TablesInTurn
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains, compress_of, expand_of
from sklearn_struct.objectives.node_maps import NodeMap, node_map_of
from sklearn_struct.objectives.tied_columns import TiedMap
from sklearn_struct.objectives.weight_patterns import (
    Pattern,
    Segments,
    every_clique_pair,
    segments,
    split,
)

__all__ = [
    "InTurn",
    "Inputs",
    "Kinds",
    "LinearPotentials",
    "bind",
    "clique_features",
]

CliqueMap: TypeAlias = DenseMap | PairsMap | RowsMap | TablesInTurn | TiedMap | None


class Kinds(NamedTuple):
    """Nodes of several kinds, each with labels of its own.

    Node i is of kind ``kind[i]``, and has the labels for which ``allowed`` (n_kinds, n_labels) has
    0; for the others it has -inf.
    """

    kind: np.ndarray
    allowed: np.ndarray


class InTurn(NamedTuple):
    """Features of a family whose examples have the same ``n`` cliques each, in the same order: the
    number of the clique is the only feature, so each of the n has a table of its own.
    """

    n: int


class Inputs(NamedTuple):
    """What features of nodes do not tell.

    ``cliques`` are for each family the features of its cliques (n_cliques, n_features), None where
    there are none.
    """

    cliques: Sequence[np.ndarray | sp.csr_array | InTurn | None]
    kinds: Kinds | None = None


def bind(
    pattern: Pattern,
    X: SequenceArray,
    structure: Structure,
    dtype: np.dtype,
    table: Lookup | None = None,
    inputs: Inputs | None = None,
    once: bool = False,
) -> LinearPotentials:
    """The potentials that parameters of this pattern give to X; with `table` for a single pass over
    X, forward. `inputs` says what X does not; by default cliques have features of their last nodes.

    `once` is for a single pass, too: expanded parameters then serve any X of this kind, while the
    order of those for many passes is that of the rows of X.
    """
    node_map = node_map_of(pattern, X, dtype, table)
    if inputs is None:
        columns = pattern.edge_columns
        families = structure.families
        none = [None] * len(families)
        inputs = Inputs(clique_features(X, families, columns) if len(columns) else none)
    clique_maps = [
        _clique_map(pattern, f, rows, dtype, not once) for f, rows in enumerate(inputs.cliques)
    ]
    of_nodes: NodeMap | SharedRows = node_map
    if pattern.n_sharing and not isinstance(node_map, ScaleMap):
        of_nodes = SharedRows(node_map, pattern.n_sharing)
    return LinearPotentials(pattern, of_nodes, clique_maps, inputs.kinds)


def _clique_map(
    pattern: Pattern,
    f: int,
    features: np.ndarray | sp.csr_array | InTurn | None,
    dtype: np.dtype,
    many: bool,
) -> CliqueMap:
    """The map of family f, maybe for `many` passes; None where features condition no cliques."""
    family = pattern.families[f]
    if features is None or not family.n_features:
        return None
    if isinstance(features, InTurn):
        return TablesInTurn(features.n, pattern.tied_widths[f])
    to_columns: DenseMap | PairsMap
    if many and sp.issparse(features) and family.size == 1:
        # as few columns as nodes have
        return RowsMap(csr(features, dtype), every_clique_pair(pattern, f), pattern.n_labels)
    if not sp.issparse(features) and family.features is None:
        to_columns = DenseMap(np.ascontiguousarray(features, dtype=dtype), pattern.tied_widths[f])
    else:
        to_columns = PairsMap(csr(features, dtype), every_clique_pair(pattern, f))
    tied = family.ties(pattern.n_labels)
    return to_columns if tied is None else TiedMap(to_columns, tied)


def clique_features(
    X: SequenceArray, families: Sequence[Family], columns: np.ndarray
) -> list[np.ndarray | sp.csr_array]:
    """For each family the chosen features of the last node of each clique."""
    # columns first, as they are the same for all families, and take longer to choose
    of_both = number_of_dense(X.stored)
    chosen = X.stored.columns(columns) if of_both else X.stored[:, columns]
    # the features of the last token, the one into which the clique leads
    return [chosen[family.nodes[:, -1]] for family in families]


class LinearPotentials:
    """Potentials of nodes and cliques as a linear function of parameters.

    Parameters
    ----------
    pattern : Pattern
        Which weights exist.
    node_map : DenseMap, RowsMap, LookupMap, SumMap, ScaleMap or SharedRows
        From features of nodes to labels.
    clique_maps : sequence of DenseMap, PairsMap, RowsMap, TablesInTurn, TiedMap or None
        For each family from features of cliques to their columns; None without features: one table
        for all its cliques.
    kinds : Kinds, default=None
        Which labels nodes have, where not all of them.
    """

    def __init__(
        self,
        pattern: Pattern,
        node_map: NodeMap | SharedRows,
        clique_maps: Sequence[CliqueMap],
        kinds: Kinds | None = None,
    ) -> None:
        self.pattern = pattern
        self.kinds = kinds
        self.node_map: Any = node_map  # a LookupMap has no way back
        self.clique_maps = tuple(clique_maps)
        self.n_labels = pattern.n_labels
        self.widths = pattern.widths
        self.ties = tuple(family.ties(self.n_labels) for family in pattern.families)
        self.n_free = pattern.n_scores if pattern.fit_intercept else 0
        self.dtype = node_map.dtype
        self.size = pattern.size
        expanded = [m.expanded_size if m else 0 for m in self.clique_maps]
        self._tied_widths = pattern.tied_widths
        self._lengths = [node_map.expanded_size, *expanded, *self._tied_widths, self.n_free]
        self.expanded_size = sum(self._lengths)
        # expanded tables have all columns, of which these are the weights
        self._has_column = []
        for family, width in zip(pattern.families, self._tied_widths, strict=True):
            self._has_column.append(np.zeros(width))
            self._has_column[-1][family.columns] = 1.0

    def over(self, node_map: NodeMap | None) -> LinearPotentials:
        """The same over another X, of which only nodes have features, by a map of the same layout;
        of None, without any X.
        """
        other = object.__new__(LinearPotentials)
        other.__dict__.update(self.__dict__)
        other.node_map = node_map
        return other

    @property
    def layout(self) -> tuple[object, ...]:
        """What expanded vectors of other potentials of this pattern must have in common with these,
        to serve both, if these are for a single pass.
        """
        maps = (self.node_map, *self.clique_maps)
        return tuple((type(m), m.expanded_size if m else 0) for m in maps)

    @property
    def has_clique_features(self) -> bool:
        """Whether features condition cliques."""
        return any(m is not None for m in self.clique_maps)

    def n_rows(self, block: Block, f: int) -> int:
        """How many rows the table of family f has in a block."""
        if self.clique_maps[f] is None:
            return 1
        cliques = block.cliques[f]
        n_cliques: int = cliques.stop - cliques.start
        return n_cliques

    def of_columns(self, f: int, table: np.ndarray) -> np.ndarray:
        """Sums of what a table (width,) of family f has for each column."""
        tied = self.ties[f]
        return table if tied is None else tied.gather(table)

    def n_numbers(self, block: Block) -> int:
        """How many numbers the potentials of a block have."""
        size: int = (block.tokens.stop - block.tokens.start) * self.n_labels
        for f, width in enumerate(self.widths):
            size += width * self.n_rows(block, f)
        return size

    @property
    def grains(self) -> Grains:
        """The layout of an expanded vector: what stays together if several stand side by side."""
        of_features = [grain for m in self.clique_maps if m for grain in m.grains]
        tables = [(width, width) for width in (*self._tied_widths, self.n_free)]
        return [*self.node_map.grains, *of_features, *tables]

    def split_expanded(self, W: np.ndarray, n: int = 1) -> Segments:
        """The segments of n expanded vectors, side by side; their columns are whole tables."""
        return segments(W, self._lengths, n)

    def expand(self, w: np.ndarray, W: np.ndarray | None = None) -> np.ndarray:
        """The layout in which potentials are computed, in their float type; written into an earlier
        one if given.
        """
        if W is None:
            W = aligned(self.expanded_size, self.dtype)
        parts = split(w, self.pattern)
        expanded = self.split_expanded(W)
        self.node_map.expand(parts.node, expanded.node)
        for f, family in enumerate(self.pattern.families):
            clique_map = self.clique_maps[f]
            if clique_map:
                clique_map.expand(parts.features[f], expanded.features[f])
            expanded.columns[f][family.columns] = parts.columns[f]
        expanded.intercept[:] = parts.intercept
        return W

    def expand_one(self, w: np.ndarray, W: np.ndarray, n: int, c: int) -> None:
        """Write w, expanded, as the c-th of n vectors side by side in W; what is no weight is left
        alone.
        """
        parts = split(w, self.pattern)
        expanded = self.split_expanded(W, n)
        expand_of(self.node_map, parts.node, expanded.node, n, c)
        for f, family in enumerate(self.pattern.families):
            clique_map = self.clique_maps[f]
            if clique_map:
                expand_of(clique_map, parts.features[f], expanded.features[f], n, c)
            expanded.columns[f].reshape(n, -1)[c, family.columns] = parts.columns[f]
        expanded.intercept.reshape(n, -1)[c] = parts.intercept

    def compress(self, W: np.ndarray, n: int = 1, c: int = 0) -> np.ndarray:
        """The inverse of `expand`; of n vectors side by side, for the c-th."""
        parts = self.split_expanded(W, n)
        # solvers work in float64, whatever type potentials are computed in
        w = np.zeros(self.size)
        compact = split(w, self.pattern)
        compress_of(self.node_map, parts.node, n, c, compact.node)
        for f, family in enumerate(self.pattern.families):
            clique_map = self.clique_maps[f]
            if clique_map:
                compress_of(clique_map, parts.features[f], n, c, compact.features[f])
            compact.columns[f][:] = parts.columns[f].reshape(n, -1)[c, family.columns]
        compact.intercept[:] = parts.intercept.reshape(n, -1)[c]
        return w

    def forward(
        self, W: np.ndarray, block: Block, scales: np.ndarray = ONE, out: np.ndarray | None = None
    ) -> Potentials:
        """Potentials of a block at the sum of ``scales[c]`` times the vectors side by side in W.

        Unpenalised parameters are those of the first vector, unscaled: scales are for lazily shrunk
        ones. The node potentials are written into the first rows of `out` if it is given.
        """
        node, cliques, tables, intercept = self._products(W, block, scales, out)
        either = []
        for clique, table in zip(cliques, tables, strict=True):
            if clique is not None:
                clique += table
            # the tables of single cliques where there are some, else those that families share
            either.append(table if clique is None else clique)
        if self.n_free:
            scored = self._scored(node)
            scored += intercept
        self._forbid(node, block)
        return Potentials(node, tuple(either))

    def forward_and_squares(self, W: np.ndarray, block: Block) -> tuple[Potentials, float]:
        """Potentials of a block, and the sum of their squares: it tells if they are finite."""
        node, cliques, tables, intercept = self._products(W, block, ONE, None)
        if self.n_free and self.pattern.n_sharing:
            scored = self._scored(node)
            scored += intercept
        if not self.n_free or self.pattern.n_sharing:
            # nothing to add, but the squares are wanted all the same
            intercept = np.zeros(self.n_labels, W.dtype)
        # with the last addition, while numbers are in registers anyway: whether all are finite
        squares = add_to_rows(intercept, node)
        either = []
        for clique, table in zip(cliques, tables, strict=True):
            if clique is None:
                # nothing is added to so few numbers: to call the kernel would take longer than
                # this
                numbers = table.ravel()
                squares += float(numbers @ numbers)
            else:
                squares += add_to_rows(table[0], clique)
            either.append(table if clique is None else clique)
        self._forbid(node, block)
        return Potentials(node, tuple(either)), squares

    def _scored(self, node: np.ndarray) -> np.ndarray:
        """The entries of node potentials that intercepts are added to, a row for each row of X."""
        n = self.pattern.n_sharing
        return node[:, 1].reshape(-1, n) if n else node

    def of_intercept(self, node: np.ndarray) -> np.ndarray:
        """The derivative in the intercept, of that in node potentials."""
        # as `sum(axis=0)`, which takes four times as long for short rows
        total: np.ndarray = np.einsum("ij->j", self._scored(node), dtype=np.float64)
        return total

    def _forbid(self, node: np.ndarray, block: Block) -> None:
        """Take away the labels that nodes do not have."""
        if self.kinds is not None:
            node += self.kinds.allowed[self.kinds.kind[block.tokens]]

    def _products(
        self, W: np.ndarray, block: Block, scales: np.ndarray, out: np.ndarray | None
    ) -> tuple[np.ndarray, list[np.ndarray | None], list[np.ndarray], np.ndarray]:
        """What features give to nodes and, if they condition cliques, to these; the tables that
        families share; and the intercept.
        """
        parts = self.split_expanded(W, len(scales))
        n = block.tokens.stop - block.tokens.start
        node = np.empty((n, self.n_labels), dtype=W.dtype) if out is None else out[:n]
        self.node_map.forward(parts.node, block.tokens, node, scales)
        cliques: list[np.ndarray | None] = []
        tables = []
        typed = scales.astype(W.dtype)
        for f, clique_map in enumerate(self.clique_maps):
            table = None
            if clique_map:
                n_cliques = block.cliques[f].stop - block.cliques[f].start
                table = np.empty((n_cliques, self.widths[f]), dtype=W.dtype)
                clique_map.forward(parts.features[f], block.cliques[f], table, scales)
            cliques.append(table)
            columns = parts.columns[f].reshape(len(scales), -1)
            # one vector is taken as it is
            of_columns = columns.copy() if scales is ONE else np.dot(typed, columns)[None]
            tied = self.ties[f]
            tables.append(of_columns if tied is None else tied.spread(of_columns))
        return node, cliques, tables, parts.intercept[: self.n_free]

    def scatter(
        self, gradient: Potentials, block: Block, scales: np.ndarray, W: np.ndarray
    ) -> None:
        """Add ``scales[c]`` times the pullback of a block's `gradient` to the vectors in W; sparse
        where X is.
        """
        parts = self.split_expanded(W, len(scales))
        self.node_map.scatter(gradient.node, block.tokens, scales, parts.node)
        for f, clique_map in enumerate(self.clique_maps):
            table = gradient.cliques[f]
            if clique_map:
                clique_map.scatter(table, block.cliques[f], scales, parts.features[f])
            of_all = self.of_columns(f, np.sum(table, axis=0) if clique_map else table[0])
            columns = parts.columns[f].reshape(len(scales), -1)
            # pairs without a weight must stay 0 in the expanded layout
            columns += scales[:, None] * (of_all * self._has_column[f])
        if self.n_free:
            intercepts = parts.intercept.reshape(len(scales), -1)
            intercepts += np.outer(scales, self._scored(gradient.node).sum(axis=0))
