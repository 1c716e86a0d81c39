"""The fitted model in a pipeline, a search or itself, and names of its features and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._whole_fits import as_published
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Label, SequenceInput
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.trees.base_parser import BaseParser
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, UnknownLabelError

__all__ = [
    "as_read",
    "best",
    "chain_of",
    "feature_names",
    "label_codes",
    "last_step",
    "parser_of",
    "texts",
]


def chain_of(estimator: BaseEstimator) -> BaseChain:
    """The fitted chain as it is now, also out of a pipeline or a search."""
    model = last_step(estimator)
    if not isinstance(model, BaseChain):
        raise InputTypeError(
            f"estimator must be a chain such as LinearChainCRF, got {type(model).__name__}"
        )
    check_is_fitted(model)
    return as_published(model)


def parser_of(estimator: BaseEstimator) -> BaseParser:
    """The fitted tree parser as it is now, also out of a pipeline or a search."""
    model = last_step(estimator)
    if not isinstance(model, BaseParser):
        raise InputTypeError(
            f"estimator must be a tree parser such as PCFG, got {type(model).__name__}"
        )
    check_is_fitted(model)
    return as_published(model)


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


def label_codes(model: BaseChain, labels: Sequence[Label] | None) -> list[int]:
    """Codes of chosen labels; of all of them for None."""
    known = model.classes_.tolist()
    if labels is None:
        return list(range(len(known)))
    if len(labels) == 0:
        raise EmptyDataError("labels is empty")
    for label in labels:
        if label not in known:
            raise UnknownLabelError(
                f"labels: {label!r} was not seen in fit (known: {', '.join(map(repr, known))})"
            )
    return [known.index(label) for label in labels]


def feature_names(model: BaseChain) -> np.ndarray:
    """Names of the features; ``x0``, ``x1`` and so on where they have none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return np.array([f"x{f}" for f in range(model.n_features_in_)], dtype=object)
    return np.asarray(names, dtype=object)


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
