"""One sequence, graph or sentence with its labels or tree, given by itself or, as `predict` takes
it, in a batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sklearn_struct.containers import typing as types
from sklearn_struct.containers.data_frames import is_frame
from sklearn_struct.containers.networks import is_network
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Label, SequenceInput
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.encoding.labels.label_codes import is_hashable
from sklearn_struct.encoding.sequences import as_list, is_list
from sklearn_struct.encoding.trees.sentence_checks import as_sentences
from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.graphs.base_graph import BaseGraph
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.estimators.m_estimation.chain_over_base import BaseBasedChain
from sklearn_struct.estimators.trees.base_parser import BaseParser
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.inspection.fitted_model import (
    as_read,
    best,
    chain_of,
    graph_model_of,
    is_hidden_markov,
    last_step,
    parser_of,
    sequence_model_of,
)

__all__ = [
    "class_of",
    "codes_of",
    "one_sequence",
    "only",
    "only_tree",
    "read_graph",
    "read_labels",
    "read_one",
    "read_one_of_any",
    "read_sentence",
]


Model = TypeVar("Model", BaseChain, BaseClassPredictions, BaseChain | BaseClassPredictions)


def read_one(
    estimator: BaseEstimator, x: SequenceInput
) -> tuple[BaseChain, Sequences, SequenceInput]:
    """The chain, and the single sequence x, as its `predict` reads it and as it was given."""
    return _read_one(chain_of(estimator), estimator, x)


def read_one_of_any(
    estimator: BaseEstimator, x: SequenceInput
) -> tuple[BaseChain | BaseClassPredictions, Sequences, SequenceInput]:
    """The same of a chain, or of a classifier by hidden states."""
    return _read_one(sequence_model_of(estimator), estimator, x)


def one_sequence(estimator: BaseEstimator, x: SequenceInput) -> tuple[Any, Any]:
    """A batch of one sequence, as predictions take it, and this sequence."""
    if isinstance(x, SequenceArray):
        if len(x) != 1:
            raise LengthMismatchError(f"x must be one sequence, got {len(x)}")
        return x, x[0]
    x = as_list(x)
    if not (is_list(x) or _is_table(x)):
        raise InputTypeError(f"x must be one sequence, got {type(x).__name__}")
    x = _single(x, _has_lists(_reader(estimator)))
    return [x], x


def _read_one(
    model: Model, estimator: BaseEstimator, x: SequenceInput
) -> tuple[Model, Sequences, SequenceInput]:
    batch, one = one_sequence(estimator, x)
    sequences = model._read_X(as_read(estimator, batch), reset=False)
    if len(sequences.X) != 1:
        raise LengthMismatchError(f"x must be one sequence, got {len(sequences.X)}")
    return model, sequences, x if isinstance(x, SequenceArray) else one


def read_sentence(estimator: BaseEstimator, x: SequenceInput) -> tuple[BaseParser, list[str]]:
    """The parser, and the words of one sentence as its `predict` reads them."""
    parser = parser_of(estimator)
    x = as_list(x)
    if is_list(x):
        # a pipeline may make words of something else, such as lists
        words_are_strings = last_step(estimator) is best(estimator)
        x = _single(x, False if words_are_strings else None)
    [sentence] = as_sentences(as_read(estimator, [x]))
    return parser, sentence


def read_graph(estimator: BaseEstimator, x: SequenceInput) -> tuple[BaseGraph, Any, Any]:
    """The model, and the single graph x, as its `predict` reads it and as it was given."""
    model = graph_model_of(estimator)
    batch: Any = [x] if isinstance(x, tuple) or is_network(x) else x
    graphs = model._read_X(as_read(estimator, batch), reset=False)
    if len(graphs.X) != 1:
        raise LengthMismatchError(f"x must be one graph, got {len(graphs.X)}")
    return model, graphs, batch[0] if hasattr(batch, "__getitem__") else None


def read_labels(model: BaseChain | BaseGraph, y: Iterable[Label], sequences: Any) -> np.ndarray:
    """Codes of the labels of one sequence or graph; for one row of a two-dimensional X, y may be a
    label.
    """
    labels = only(as_list(y), set(model.classes_.tolist()))
    rows = sequences.flat and np.ndim(labels) > 0
    return model._read_y(labels if rows else [labels], sequences, reset=False)


def codes_of(model: BaseChain | BaseGraph, y: Iterable[Label] | None, sequences: Any) -> np.ndarray:
    """Codes of a labelling of one sequence or graph; None: of the one that is predicted."""
    return model._predict_codes(sequences) if y is None else read_labels(model, y, sequences)


def class_of(model: BaseClassPredictions, y: Any, sequences: Sequences) -> np.ndarray:
    """The code of the class of one sequence, as `fit` takes it or by itself; None: of the one that
    is predicted.
    """
    if y is None:
        return model._class_codes(sequences)
    y = as_list(y)
    alone = isinstance(y, tuple) or not is_list(y)
    return model._read_labels([y] if alone else y, sequences, reset=False)


def only(y: object, known: set[Any] | None = None) -> Any:
    """The only list in a list; a tuple that is `known` is no list. Anything else passes through."""
    if (
        not is_list(y)
        or len(y) != 1
        or not is_list(y[0])
        or (known and is_hashable(y[0]) and y[0] in known)
    ):
        return y
    return y[0]


def only_tree(y: object) -> Any:
    """A tree, or the only one in a list; trees of nltk are lists, too, but of their own type."""
    if type(y) not in (list, tuple, np.ndarray) or not is_list(y):
        return y
    if len(y) != 1:
        raise LengthMismatchError(f"y must be one tree, got {len(y)}")
    return y[0]


def _single(x: types.Sequences, has_lists: bool | None) -> Any:
    """The sequence x, or the only one in it."""
    if not _is_batch(x, has_lists):
        return x
    if len(x) != 1:
        raise LengthMismatchError(f"x must be one sequence, got {len(x)}")
    return x[0]


def _is_batch(x: types.Sequences, has_lists: bool | None) -> bool:
    """Whether the items of x are sequences, not tokens.

    `has_lists` says whether tokens are lists, if that is known.
    """
    if _is_table(x):
        return False
    n_dimensions: int = getattr(x, "ndim", 1)
    if n_dimensions != 1:
        # a batch of tables; with two dimensions x is one table, whose rows are tokens
        return n_dimensions == 3
    # an empty list may be a sequence or a token: the first that is not empty tells
    item = next((i for i in x if _is_table(i) or not is_list(i) or len(i)), None)
    if item is None:
        return has_lists is False and len(x) > 0
    if _is_table(item):
        return True
    if not is_list(item):
        return False
    if getattr(item, "ndim", 1) != 1:
        return True
    return has_lists is False or is_list(item[0]) or isinstance(item[0], dict | set | frozenset)


def _is_table(x: object) -> bool:
    """Whether it is a sparse matrix or a data frame, whose rows are tokens though it is no list."""
    return sp.issparse(x) or is_frame(x)


def _reader(estimator: BaseEstimator) -> BaseEstimator:
    """What reads X first: the first step of a pipeline, a part of a union, or the model."""
    steps = [
        step
        for _, step in getattr(best(estimator), "steps", [])
        if step not in (None, "passthrough")
    ]
    reader = steps[0] if steps else best(estimator)
    parts = [
        part
        for _, part in getattr(reader, "transformer_list", [])
        if part not in ("drop", "passthrough")
    ]
    return next((part for part in parts if _has_lists(part) is not None), reader)


def _has_lists(reader: BaseEstimator) -> bool | None:
    """Whether the tokens that `fit` saw were lists of strings, or rows; None if nobody knows."""
    if isinstance(reader, BaseBasedChain) or is_hidden_markov(reader):
        of_streams = getattr(reader, "base_", reader)
        return bool(getattr(of_streams, "_kind", "rows") != "values")
    if isinstance(reader, FeatureTemplates) or (
        isinstance(reader, BaseChain | BaseClassPredictions) and not hasattr(reader, "vectorizer_")
    ):
        return True
    kind = getattr(getattr(reader, "vectorizer_", reader), "_tokens_in", None)
    return {"lists": True, "strings": False}.get(str(kind))
