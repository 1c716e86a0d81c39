"""The fitted model in a pipeline, a search or itself, and names of its features and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._whole_fits import as_published
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Label, SequenceInput
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.graphs.base_graph import BaseGraph
from sklearn_struct.estimators.hidden_markov.base_streams import BaseStreams
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.estimators.trees.base_parser import BaseParser
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, UnknownLabelError

__all__ = [
    "Linear",
    "as_read",
    "best",
    "chain_of",
    "edge_feature_names",
    "feature_names",
    "graph_model_of",
    "hidden_markov_of",
    "is_hidden_markov",
    "is_of_graphs",
    "label_codes",
    "last_step",
    "linear_model_of",
    "names_of_rows",
    "parser_of",
    "sequence_model_of",
    "texts",
]


Model = TypeVar("Model", bound=BaseEstimator)
# models with a row of weights for each label, or each hidden state of one
Linear: TypeAlias = BaseChain | BaseGraph | BaseClassPredictions


def _another(model: BaseEstimator, wanted: str) -> InputTypeError:
    """The error for a model that is not what is wanted."""
    return InputTypeError(f"estimator must be {wanted}, got {type(model).__name__}")


def _as_now(model: Model) -> Model:
    """What a model has learned, all of one fit."""
    check_is_fitted(model)
    return as_published(model)


def chain_of(estimator: BaseEstimator) -> BaseChain:
    """The fitted chain as it is now, also out of a pipeline or a search."""
    model = last_step(estimator)
    if not isinstance(model, BaseChain):
        raise _another(model, "a chain such as LinearChainCRF")
    return _as_now(model)


def sequence_model_of(estimator: BaseEstimator) -> BaseChain | BaseClassPredictions:
    """The fitted chain, or classifier by hidden states, as it is now, also out of a pipeline or a
    search.
    """
    model = last_step(estimator)
    if not isinstance(model, BaseClassPredictions):
        return chain_of(estimator)
    return _as_now(model)


def is_of_graphs(estimator: BaseEstimator) -> bool:
    """Whether a model, a pipeline or a search labels graphs."""
    return isinstance(last_step(estimator), BaseGraph)


def graph_model_of(estimator: BaseEstimator) -> BaseGraph:
    """The fitted model of graphs as it is now, also out of a pipeline or a search."""
    model = last_step(estimator)
    if not isinstance(model, BaseGraph):
        raise _another(model, "a model of graphs such as GraphCRF")
    return _as_now(model)


def linear_model_of(estimator: BaseEstimator) -> Linear:
    """The fitted chain, model of graphs or classifier by hidden states as it is now, also out of a
    pipeline or a search.
    """
    return graph_model_of(estimator) if is_of_graphs(estimator) else sequence_model_of(estimator)


def is_hidden_markov(estimator: BaseEstimator) -> bool:
    """Whether a model, a pipeline or a search ends in a hidden Markov model of streams."""
    return isinstance(last_step(estimator), BaseStreams)


def hidden_markov_of(estimator: BaseEstimator) -> BaseStreams:
    """The fitted hidden Markov model as it is now, also out of a pipeline or a search."""
    model = last_step(estimator)
    if not isinstance(model, BaseStreams):
        raise _another(model, "a hidden Markov model such as HMM")
    return _as_now(model)


def parser_of(estimator: BaseEstimator) -> BaseParser:
    """The fitted tree parser as it is now, also out of a pipeline or a search."""
    model = last_step(estimator)
    if not isinstance(model, BaseParser):
        raise _another(model, "a tree parser such as PCFG")
    return _as_now(model)


def best(estimator: BaseEstimator) -> BaseEstimator:
    """The estimator itself, the choice of a search, or the model behind `compat.CRF`."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    # of the drop-in, whose pipeline it is
    return getattr(estimator, "crf_", estimator)


def last_step(estimator: BaseEstimator) -> BaseEstimator:
    """The model, fitted or not, out of a pipeline or a search."""
    model = best(estimator)
    return model.steps[-1][1] if hasattr(model, "steps") else model


def as_read(estimator: BaseEstimator, X: SequenceInput) -> SequenceInput:
    """X as the model gets it from the steps before it in a fitted pipeline."""
    for _, step in getattr(best(estimator), "steps", [])[:-1]:
        X = X if step in (None, "passthrough") else step.transform(X)
    return X


def names_of_rows(model: Linear) -> np.ndarray:
    """What each row of weights belongs to: a label, or a hidden state of one."""
    names: np.ndarray = getattr(model, "states_", model.classes_)
    return names


def label_codes(model: Linear, labels: Sequence[Label] | None) -> list[int]:
    """Codes of chosen labels; of all of them for None. A label with hidden states means all of
    these.
    """
    known = names_of_rows(model).tolist()
    if labels is None:
        return list(range(len(known)))
    if len(labels) == 0:
        raise EmptyDataError("labels is empty")
    of_labels: dict[Label, list[int]] = {name: [k] for k, name in enumerate(known)}
    if hasattr(model, "states_"):
        for k, (label, _) in enumerate(known):
            of_labels.setdefault(label, []).append(k)
    for label in labels:
        if label not in of_labels:
            raise UnknownLabelError(
                f"labels: {label!r} was not seen in fit (known: {', '.join(map(repr, known))})"
            )
    return [k for label in labels for k in of_labels[label]]


def feature_names(model: Linear) -> np.ndarray:
    """Names of the features; ``x0``, ``x1`` and so on where they have none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return np.array([f"x{f}" for f in range(model.n_features_in_)], dtype=object)
    return np.asarray(names, dtype=object)


def edge_feature_names(model: Linear) -> np.ndarray:
    """Names of the features that condition pairs of labels, in the order of ``edge_coef_``; of
    graphs ``z0``, ``z1`` and so on where they have none.
    """
    if isinstance(model, BaseChain):
        names: np.ndarray = feature_names(model)[model.edge_features_]
        return names
    if isinstance(model, BaseClassPredictions):
        return np.empty(0, dtype=object)
    vectorizer = getattr(model, "edge_vectorizer_", None)
    if vectorizer is None:
        return np.array([f"z{f}" for f in range(model.n_edge_features_in_)], dtype=object)
    return np.asarray(vectorizer.get_feature_names_out(), dtype=object)


def _is_table(x: object) -> TypeGuard[SequenceArray]:
    """Whether tokens are rows of anything, as from a data frame."""
    return isinstance(x, SequenceArray) and x.tokens.dtype == object


def texts(x: SequenceInput, n: int) -> list[str]:
    """Names of the tokens of x: strings, first cells of tuples (rows of a table), or numbers."""
    tokens = list(map(tuple, x.tokens)) if _is_table(x) else as_list(x)
    if isinstance(tokens, list | tuple) and len(tokens) == n:
        if all(isinstance(token, str) for token in tokens):
            return list(tokens)
        if all(
            isinstance(token, tuple) and token and isinstance(token[0], str) for token in tokens
        ):
            return [token[0] for token in tokens]
    return [str(t) for t in range(n)]
