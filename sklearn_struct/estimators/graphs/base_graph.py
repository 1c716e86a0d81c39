"""What estimators of graphs share: how they read them, and which weights they have."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct._warning import warn
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Structure, columns_of, n_columns
from sklearn_struct.containers.typing import Matrix
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.encoding.graphs import as_graphs, edges_of, structure_of
from sklearn_struct.encoding.sequences import (
    as_dtype,
    as_list,
    check_numbers,
    form,
    pack_arrays,
)
from sklearn_struct.estimators.fitting.partly_labelled import BasePartlyLabelled
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.objectives.linear_potentials import CliqueRows
from sklearn_struct.objectives.weight_patterns import (
    CliquePattern,
    Pattern,
    all_pairs,
    masked_pairs,
    observed_pairs,
)

__all__ = ["BaseGraph", "Graphs"]


class Graphs(NamedTuple):
    """X as read: packed nodes, whether it came as two-dimensional, who depends on whom, and what
    edges look like.
    """

    X: SequenceArray
    flat: bool
    structure: Structure
    edge_features: Matrix | None


class BaseGraph(BasePartlyLabelled):
    """A linear model of nodes and edges; a subclass says how it learns.

    It has the parameters `dtype`, `feature_pairs`, `fit_intercept` and `symmetric`.
    """

    n_edge_features_in_: int

    def _read_X(self, X: Any, reset: bool) -> Any:
        X = as_list(X)
        given = as_graphs(X)
        if given is not None:
            nodes = super()._read_X(given.nodes, reset)
            edges = edges_of(given.edges, nodes.X.lengths)
            features = self._read_edge_features(given.features, edges, reset)
            if given.undirected and not self.symmetric and reset:
                warn(
                    "edges of some graphs have no direction; each is taken as it comes, and "
                    "(j, k) and (k, j) have weights of their own: use symmetric=True for one"
                )
        elif form(X) == "flat":
            nodes = super()._read_X(X, reset)  # each row a graph of one node
            edges = [np.zeros((0, 2), np.int64)] * len(nodes.X)
            features = self._read_edge_features(None, edges, reset)
        else:
            raise InputTypeError(
                "X must be a list of graphs, tuples (nodes, edges) or (nodes, edges, "
                "edge_features) or graphs of networkx, a GraphArray, or a two-dimensional array of "
                "single nodes"
            )
        return Graphs(nodes.X, nodes.flat, structure_of(nodes.X.offsets, edges), features)

    def _read_edge_features(
        self, given: Any, edges: list[np.ndarray], reset: bool
    ) -> Matrix | None:
        """The features of all edges, one graph after the other; None if there are none."""
        n_edges = sum(map(len, edges))
        if reset:
            self.__dict__.pop("edge_vectorizer_", None)
        packed = None if given is None or not n_edges else self._packed_edges(given, reset)
        if packed is not None:
            for i, (length, table) in enumerate(zip(packed.lengths, edges, strict=True)):
                if length != len(table):
                    raise LengthMismatchError(
                        f"X[{i}]: features of {length} edges, but there are {len(table)}"
                    )
        width = 0 if packed is None else packed.tokens.shape[1]
        if reset:
            self.n_edge_features_in_ = width
        elif n_edges and width != self.n_edge_features_in_:
            raise LengthMismatchError(
                f"edges have {width} features, but {self.n_edge_features_in_} in fit"
            )
        return None if packed is None or not width else packed.tokens

    def _packed_edges(self, given: Any, reset: bool) -> SequenceArray:
        try:
            if form(given) == "attributes":
                if reset:
                    dtype = np.dtype(self.dtype).type
                    self.edge_vectorizer_ = SequenceVectorizer(dtype=dtype).fit(given)
                elif not hasattr(self, "edge_vectorizer_"):
                    raise InputTypeError("dicts or strings, but numbers in fit")
                packed: SequenceArray = self.edge_vectorizer_.transform(given)
                return packed
            if not reset and hasattr(self, "edge_vectorizer_"):
                raise InputTypeError("numbers, but dicts or strings in fit")
            packed = given if isinstance(given, SequenceArray) else pack_arrays(given, self.dtype)
            if packed.tokens.ndim != 2 or packed.tokens.dtype.kind not in "fiub":
                raise InputTypeError(
                    f"they must be rows of real numbers, got dtype {packed.tokens.dtype}"
                )
            packed = as_dtype(packed, self.dtype)
            check_numbers(packed)
        except (ValueError, TypeError) as error:
            # readers speak of tokens in sequences
            raise type(error)(f"features of edges: {error}") from None
        return packed

    def _structure(self, sequences: Any, learned: bool) -> Structure:
        structure: Structure = sequences.structure
        return structure

    def _clique_rows(self, sequences: Any) -> CliqueRows:
        return [sequences.edge_features]

    def _observe(self, sequences: Any, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        K = len(self.classes_)
        X = sequences.X.tokens
        pairs = self._pairs_of(codes)
        node = pairs(X, codes, weight, K, 1) if sp.issparse(X) else None
        edges = self._edges_pattern(sequences, codes, weight, K)
        none = np.arange(0)
        return Pattern(X.shape[1], K, node, (edges,), none, self.fit_intercept)

    def _pairs_of(self, codes: np.ndarray) -> Any:
        """What gives pairs (feature, label) their weights, for codes or masks."""
        if self.feature_pairs == "all":
            return all_pairs
        return observed_pairs if codes.ndim == 1 else masked_pairs

    def _edges_pattern(
        self, graphs: Graphs, codes: np.ndarray, weight: np.ndarray, K: int
    ) -> CliquePattern:
        family = graphs.structure.families[0]
        size = family.nodes.shape[1]
        pattern = CliquePattern(
            size, self.n_edge_features_in_, None, np.arange(n_columns(K, size)), self.symmetric
        )
        tied = pattern.ties(K)
        width = n_columns(K, size) if tied is None else tied.n
        pattern = pattern._replace(columns=np.arange(width))
        rows = graphs.edge_features
        if rows is None or not sp.issparse(rows):
            return pattern
        of_edges = weight[family.nodes].min(axis=1)
        if codes.ndim == 2:
            # what is open shows no pair; all of them get a weight
            shown = np.zeros(len(family.nodes), np.int64)
            return pattern._replace(features=all_pairs(rows, shown, of_edges, width, 1))
        shown = columns_of(codes, family, K)
        if tied is not None:
            shown = tied.column[shown]
        return pattern._replace(features=self._pairs_of(codes)(rows, shown, of_edges, width, 1))
