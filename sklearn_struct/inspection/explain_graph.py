"""The score of a labelling of a graph, split into what each feature contributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.containers.networks import is_network
from sklearn_struct.containers.structures import columns_of
from sklearn_struct.containers.typed_nodes import TypedNodes
from sklearn_struct.containers.typing import Label, SequenceInput
from sklearn_struct.encoding.graphs import EDGES
from sklearn_struct.estimators.graphs.base_graph import BaseGraph, Graphs
from sklearn_struct.estimators.graphs.base_grid import BaseGrid
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.inspection.fitted_model import (
    edge_feature_names,
    feature_names,
    last_step,
    names_of_rows,
    texts,
)
from sklearn_struct.inspection.graph_explanation import GRAPH_KINDS, GraphExplanation, GraphTerms
from sklearn_struct.inspection.single_sequence import codes_of, read_graph, read_labels
from sklearn_struct.inspection.stored_entries import ahead, entries, stored

__all__ = ["explain_graph"]


def explain_graph(
    estimator: BaseEstimator,
    x: SequenceInput,
    y: Iterable[Label] | None = None,
    rival: Iterable[Label] | None = None,
) -> GraphExplanation:
    """Say why a labelling of one graph has the score that it has; see `explain`."""
    if isinstance(last_step(estimator), BaseGrid):
        raise InputTypeError(
            "explain knows sequences and graphs, but no images; the weights of a GridCRF are coef_ "
            "or scale_, and smoothness_, contrast_ or clique_transition_"
        )
    model, graphs, given = read_graph(estimator, x)
    if list(model.templates_) != [EDGES]:
        raise InputTypeError(
            f"explain knows edges of one kind, and this model has the cliques "
            f"{sorted(model.templates_)}; their weights are clique_transition_ and clique_coef_"
        )
    codes = model._path(graphs, codes_of(model, y, graphs))
    names = names_of_rows(model)
    rows = _GraphRows(model, graphs)
    weight = rows.weights(codes)
    rival_labels = None
    if rival is not None:
        rival_codes = model._path(graphs, read_labels(model, rival, graphs))
        weight = ahead(weight, rows.weights(rival_codes))
        rival_labels = names[rival_codes].tolist()
    edges = graphs.structure.families[0].nodes
    labels = names[codes].tolist()
    return GraphExplanation(_texts(given, codes), edges, labels, rival_labels, rows.terms(weight))


def _texts(given: Any, codes: np.ndarray) -> list[str]:
    """What the nodes of a graph are called."""
    if is_network(given):
        return list(map(str, given.nodes))
    nodes = given[0] if isinstance(given, tuple) else ()
    return texts(nodes.features if isinstance(nodes, TypedNodes) else nodes, len(codes))


class _GraphRows:
    """The terms of the score of any labelling of a graph, one a row: features and intercepts of
    nodes, transitions and features of edges.
    """

    def __init__(self, model: BaseGraph, graphs: Graphs) -> None:
        self.model = model
        self.family = graphs.structure.families[0]
        self.node_at = stored(graphs.X.tokens)
        self.intercepts = np.arange(graphs.X.tokens.shape[0] if model._pattern.fit_intercept else 0)
        (features,) = graphs.clique_rows
        self.edge_at = stored(np.zeros((0, 0)) if features is None else features)

    def weights(self, codes: np.ndarray) -> np.ndarray:
        """The weight of each term under a labelling."""
        model = self.model
        pairs = columns_of(codes, self.family, model._pattern.n_labels)
        node, column, _ = self.node_at
        edge, edge_column, _ = self.edge_at
        return np.concatenate(
            [
                entries(model.coef_, codes[node], column),
                model.intercept_[codes[self.intercepts]],
                model.transition_.ravel()[pairs],
                entries(model.edge_coef_, pairs[edge], edge_column),
            ]
        )

    def terms(self, weight: np.ndarray) -> GraphTerms:
        """All terms: nodes, then edges, each by kind."""
        node, column, value = self.node_at
        edge, edge_column, edge_value = self.edge_at
        parts = [node, self.intercepts, np.arange(len(self.family.nodes)), edge]
        kind = np.repeat(np.arange(len(GRAPH_KINDS)), [len(part) for part in parts])
        place = np.concatenate(parts)
        feature = np.full(len(place), None, dtype=object)
        feature[kind == 0] = feature_names(self.model)[column]
        feature[kind == 3] = edge_feature_names(self.model)[edge_column]
        values = np.ones(len(place))
        values[kind == 0] = value
        values[kind == 3] = edge_value
        order = np.lexsort((kind, place, kind >= 2))
        columns = place, kind, feature, values, weight
        return GraphTerms(*(column[order] for column in columns))
