"""The score of a labelling, split into what each feature contributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.containers.structures import Block, Potentials, Structure, chain, columns_of
from sklearn_struct.containers.typing import Label, SequenceInput
from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.estimators.m_estimation.chain_over_base import BaseBasedChain, BasedSequences
from sklearn_struct.inspection.explain_graph import explain_graph
from sklearn_struct.inspection.explanation import KINDS, Explanation, Terms
from sklearn_struct.inspection.fitted_model import (
    feature_names,
    is_of_graphs,
    names_of_rows,
    texts,
)
from sklearn_struct.inspection.graph_explanation import GraphExplanation
from sklearn_struct.inspection.single_sequence import class_of, codes_of, read_one_of_any
from sklearn_struct.inspection.stored_entries import ahead, entries, stored
from sklearn_struct.objectives.linear_potentials import clique_features

__all__ = ["explain"]

Model: TypeAlias = BaseChain | BaseClassPredictions

# kinds of terms: those of cliques, family by family, and the others
MOVES = ("transition", "second transition")
OTHERS = ("feature", "intercept", "edge feature", "base", "base transition")


def explain(
    estimator: BaseEstimator,
    x: SequenceInput,
    y: Iterable[Label] | None = None,
    *,
    rival: Iterable[Label] | None = None,
) -> Explanation | GraphExplanation:
    """Say why a labelling of one sequence or graph has the score that it has.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    estimator : fitted chain estimator, GraphCRF or HiddenStateClassifier
        Also a pipeline or a search that ends in one.
    x : sequence, or graph
        One sequence, in any form that `predict` takes for an item of X; or a list with one
        sequence. A list of lists of strings is read as the tokens in `fit` were: its inner lists
        are tokens or sequences. For a `GraphCRF` it is one graph, in any form.
    y : list of labels, default=None
        The labelling to explain. None: the predicted one. For a `HiddenStateClassifier` it is a
        class.
    rival : list of labels, default=None
        Another labelling. If given, the difference between the scores of y and `rival` is
        explained, which is the logarithm of p(y | x) / p(rival | x). Two kinds of models differ.
        An `MEMM` also has a normaliser at each step; it belongs to no feature and is left out. If
        labels or classes have hidden states, the best states of both labellings are explained;
        probabilities are sums over all states, so their difference is another one.

    Returns
    -------
    Explanation, or GraphExplanation of a graph
        All contributions; ``to_frame()`` gives them as a data frame. They are computed in float64.

    Raises
    ------
    LengthMismatchError, UnknownLabelError, InputTypeError
        If `x` is not one sequence or graph, or a labelling does not fit it.

    See Also
    --------
    Explanation : What it returns for a sequence.
    GraphExplanation : What it returns for a graph.
    feature_weights : The largest weights of a model.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.inspection import explain
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> crf = LinearChainCRF(C=10).fit(X, [["DET", "NOUN", "VERB"]] * 3)
    >>> explain(crf, ["a", "cat", "barks"])
    Explanation(score 6.153, 3 tokens)
      a      DET     +1.032  a +0.69, intercept +0.34
      cat    NOUN    +2.009  DET -> NOUN +2.08, intercept -0.68, cat +0.61
      barks  VERB    +3.112  NOUN -> VERB +2.08, barks +0.69, intercept +0.34
    >>> rival = ["DET", "NOUN", "NOUN"]
    >>> explain(crf, ["a", "cat", "barks"], rival=rival).token_scores.round(2)
    array([0.  , 0.  , 4.35])

    For a class of a whole sequence, the best states are explained:

    >>> from sklearn_struct import HiddenStateClassifier
    >>> X = [["up", "down"], ["down", "up"]] * 10
    >>> model = HiddenStateClassifier(C=10, random_state=0).fit(X, ["fall", "rise"] * 10)
    >>> explanation = explain(model, ["up", "down"], "fall")
    >>> {label for label, _ in explanation.labels}
    {'fall'}
    >>> explain(model, X[0], rival="rise").score > 1
    True
    """
    if is_of_graphs(estimator):
        return explain_graph(estimator, x, y, rival)
    model, sequences, x = read_one_of_any(estimator, x)
    codes = _path(model, sequences, y)
    names = names_of_rows(model)
    rows = _Rows(model, sequences)
    weight = rows.weights(codes)
    rival_labels = None
    if rival is not None:
        rival_codes = _path(model, sequences, rival)
        weight = ahead(weight, rows.weights(rival_codes))
        rival_labels = names[rival_codes].tolist()
    terms = rows.terms(weight)
    return Explanation(texts(x, len(codes)), names[codes].tolist(), rival_labels, terms)


def _path(model: Model, sequences: Sequences, y: Iterable[Label] | None) -> np.ndarray:
    """What is explained: labels, or the best states of labels or of a class."""
    if isinstance(model, BaseClassPredictions):
        return model._path(sequences, class_of(model, y, sequences))
    return model._path(sequences, codes_of(model, y, sequences))


def _base_scores(
    model: Model, sequences: Sequences | BasedSequences, structure: Structure
) -> Potentials | None:
    """log q0 of each label at each token and of each step, or None for a model without a base."""
    if not isinstance(model, BaseBasedChain) or not isinstance(sequences, BasedSequences):
        return None
    n = sequences.X.stored.shape[0]
    cliques = tuple(slice(0, len(family.nodes)) for family in structure.families)
    block = Block(slice(0, 1), slice(0, n), cliques, structure)
    return model._base_potentials(sequences)(block)


class _Rows:
    """The terms of the score of any labelling of a sequence, one a row.

    There are terms of features, edge features, intercepts, transitions and the base.
    """

    def __init__(self, model: Model, sequences: Sequences) -> None:
        X = sequences.X
        self.model = model
        self.pattern = model._pattern
        n = X.stored.shape[0]
        self.structure = chain(X.offsets, self.pattern.order)
        self.base = _base_scores(model, sequences, self.structure)
        self.based = np.arange(n if self.base else 0)
        self.edge_columns = self.pattern.edge_columns
        self.node_at = stored(X.tokens)
        self.edge_at = stored(clique_features(X, self.structure.families[:1], self.edge_columns)[0])
        self.intercepts = np.arange(n if self.pattern.fit_intercept else 0)
        # a clique belongs to its last token
        self.moves = [family.nodes[:, -1] for family in self.structure.families]

    def weights(self, codes: np.ndarray) -> np.ndarray:
        """The weight of each term under a labelling."""
        model = self.model
        K = self.pattern.n_labels
        columns = [columns_of(codes, family, K) for family in self.structure.families]
        token, column, _ = self.node_at
        return np.concatenate(
            [
                entries(model.coef_, codes[token], column),
                model.intercept_[codes[self.intercepts]],
                self._of_edges(columns),
                *self._of_base(codes),
                *(
                    model._moves(family.size).ravel()[here]
                    for family, here in zip(self.pattern.families, columns, strict=True)
                ),
            ]
        )

    def _of_edges(self, columns: list[np.ndarray]) -> np.ndarray:
        """The weights of edge features: of each family the clique that ends where the edge does."""
        edge, edge_column, _ = self.edge_at
        weights = np.full(len(edge), -0.0)  # to which any number adds as it is, also -0.0
        first = 0
        for here, width in zip(columns, self.pattern.widths, strict=True):
            # the first edges have no clique of a wider family
            place = edge - (len(self.moves[0]) - len(here))
            inside = place >= 0
            rows = first + here[place[inside]]
            weights[inside] += entries(self.model.edge_coef_, rows, edge_column[inside])
            first += width  # rows of wider families stand behind
        return weights

    def _of_base(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the base gives to tokens, and to steps from one to the next."""
        if self.base is None:
            return np.zeros(0), np.zeros(0)
        node, cliques = self.base
        of_steps = np.zeros(len(self.moves[0]))
        for table, family in zip(cliques, self.structure.families, strict=True):
            columns = columns_of(codes, family, node.shape[1])
            rows = np.arange(len(columns)) if len(table) == len(columns) else 0
            # a clique belongs to the step that leads into its last token
            of_steps[family.nodes[:, -1] - 1] += table[rows, columns]
        return node[self.based, codes], of_steps

    def terms(self, weight: np.ndarray) -> Terms:
        """All terms by token, then kind."""
        at, column, value = self.node_at
        edge, edge_column, edge_value = self.edge_at
        names = feature_names(self.model)
        parts = [at, self.intercepts, edge + 1, self.based, self.based[1:], *self.moves]
        kinds = [*OTHERS, *(name for name, _ in zip(MOVES, self.moves))]
        kind = np.repeat([KINDS.index(name) for name in kinds], [len(part) for part in parts])
        token = np.concatenate(parts)
        feature = np.full(len(token), None, dtype=object)
        edge_feature = KINDS.index("edge feature")
        feature[kind == 0] = names[column]
        feature[kind == edge_feature] = names[self.edge_columns[edge_column]]
        values = np.ones(len(token))
        values[kind == 0] = value
        values[kind == edge_feature] = edge_value
        # by token, as people read a sentence
        order = np.lexsort((kind, token))
        columns = token, kind, feature, values, weight
        return Terms(*(column[order] for column in columns))
