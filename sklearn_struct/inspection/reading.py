"""One fitted model and one sequence, out of whatever an inspection is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.encoding.sentences import as_sentences
from sklearn_struct.encoding.sequences import as_list, is_list
from sklearn_struct.estimators.base import Sequences
from sklearn_struct.estimators.chain import BaseChain
from sklearn_struct.estimators.trees import BaseParser
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.sequence_array import SequenceArray

__all__ = [
    "as_read",
    "chain_of",
    "feature_names",
    "label_codes",
    "last_step",
    "parser_of",
    "read_labels",
    "read_one",
    "read_sentence",
    "texts",
]


def chain_of(estimator: Any) -> BaseChain:
    """The fitted chain itself, also out of a pipeline or a search."""
    model = last_step(estimator)
    if not isinstance(model, BaseChain):
        raise InputTypeError(f"estimator must be a chain such as LinearChainCRF, got {type(model).__name__}")
    check_is_fitted(model)
    return model


def parser_of(estimator: Any) -> BaseParser:
    """The fitted tree parser itself, also out of a pipeline or a search."""
    model = last_step(estimator)
    if not isinstance(model, BaseParser):
        raise InputTypeError(f"estimator must be a tree parser such as PCFG, got {type(model).__name__}")
    check_is_fitted(model)
    return model


def _best(estimator: Any) -> Any:
    return getattr(estimator, "best_estimator_", estimator)


def last_step(estimator: Any) -> Any:
    """The model, fitted or not, out of a pipeline or a search."""
    model = _best(estimator)
    return model.steps[-1][1] if hasattr(model, "steps") else model


def as_read(estimator: Any, X: Any) -> Any:
    """X as the model gets it from the steps before it in a fitted pipeline."""
    for _, step in getattr(_best(estimator), "steps", [])[:-1]:
        X = X if step in (None, "passthrough") else step.transform(X)
    return X


def read_one(estimator: Any, x: Any) -> tuple[BaseChain, Sequences]:
    """The chain, and the single sequence x as its `predict` reads it."""
    model = chain_of(estimator)
    if not isinstance(x, SequenceArray):
        x = as_list(x)
        if not (is_list(x) or sp.issparse(x)):
            raise InputTypeError(f"x must be one sequence, got {type(x).__name__}")
    batch = as_read(estimator, x if isinstance(x, SequenceArray) else [x])
    sequences = model._read_X(batch, reset=False)
    if len(sequences.X) != 1:
        raise LengthMismatchError(f"x must be one sequence, got {len(sequences.X)}")
    return model, sequences


def read_sentence(estimator: Any, sentence: Any) -> tuple[BaseParser, list[str]]:
    """The parser, and the words of one sentence as its `predict` reads them."""
    parser = parser_of(estimator)
    [read] = as_sentences(as_read(estimator, [sentence]))
    return parser, read


def read_labels(model: BaseChain, y: Any, sequences: Sequences) -> np.ndarray:
    """Codes of the labels of one sequence; of a row of a two-dimensional X, y may be its label alone."""
    if sequences.flat:
        return model._read_y([y] if np.ndim(y) == 0 else y, sequences, reset=False)
    return model._read_y([as_list(y)], sequences, reset=False)


def label_codes(model: BaseChain, labels: Any) -> list[int]:
    """Codes of chosen labels; of all of them for None."""
    known = model.classes_.tolist()
    if labels is None:
        return list(range(len(known)))
    if len(labels) == 0:
        raise EmptyDataError("labels is empty")
    for label in labels:
        if label not in known:
            raise UnknownLabelError(f"labels: {label!r} was not seen in fit (known: {', '.join(map(repr, known))})")
    return [known.index(label) for label in labels]


def feature_names(model: BaseChain) -> np.ndarray:
    """Names of the features; ``x0``, ``x1`` and so on where they have none."""
    names = getattr(model, "feature_names_in_", None)
    return np.array([f"x{f}" for f in range(model.n_features_in_)], dtype=object) if names is None else names


def _is_table(x: Any) -> bool:
    """Whether tokens are rows of anything, as from a data frame."""
    return isinstance(x, SequenceArray) and x.tokens.dtype == object


def texts(x: Any, n: int) -> list[str]:
    """What to call the tokens of x: strings by themselves, tuples (rows of a table) by the first cell, else numbers."""
    tokens = list(map(tuple, x.tokens)) if _is_table(x) else as_list(x)
    if isinstance(tokens, list | tuple) and len(tokens) == n:
        if all(isinstance(token, str) for token in tokens):
            return list(tokens)
        if all(isinstance(token, tuple) and token and isinstance(token[0], str) for token in tokens):
            return [token[0] for token in tokens]
    return [str(t) for t in range(n)]
