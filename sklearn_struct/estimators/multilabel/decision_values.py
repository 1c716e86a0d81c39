"""What a classifier says of each label, as features: in training of rows that it has not seen."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv, cross_val_predict
from sklearn.utils.validation import has_fit_parameter

from sklearn_struct.exceptions import InputTypeError

__all__ = ["Labels", "fitted_for", "values_of", "values_of_unseen"]


class Labels(NamedTuple):
    """Codes (n_rows, n_labels), and weights of rows if there are some."""

    codes: np.ndarray
    weight: np.ndarray | None


METHODS = ("decision_function", "predict_proba")
# probabilities of 0 and 1 have no finite log-odds
LEAST = 1e-3


def values_of_unseen(classifier: Any, X: Any, labels: Labels, cv: Any, seed: int) -> np.ndarray:
    """Decision values (n_rows, n_labels), each of a clone that was fitted on other rows."""
    codes, weight = labels
    params = _params(classifier, weight)
    method = _method(classifier)
    values = np.zeros(codes.shape)
    if isinstance(cv, Iterable):
        cv = list(cv)  # the same splits for each label
    for j, column in enumerate(codes.T):
        if not _has_both(column):
            continue
        if isinstance(cv, Integral):
            # rows are often in an order, and folds must be alike
            fewest = int(np.bincount(column).min())
            splits = StratifiedKFold(min(int(cv), fewest), shuffle=True, random_state=seed)
        else:
            splits = check_cv(cv, column, classifier=True)
        made = cross_val_predict(classifier, X, column, cv=splits, method=method, params=params)
        values[:, j] = _as_value(made, method)
    return values


def fitted_for(classifier: Any, X: Any, labels: Labels) -> list[Any]:
    """A clone for each label, fitted on all rows; None for a label that all rows have but one, or
    none has but one.
    """
    codes, weight = labels
    params = _params(classifier, weight)
    return [
        clone(classifier).fit(X, column, **params) if _has_both(column) else None
        for column in codes.T
    ]


def _params(classifier: Any, weight: np.ndarray | None) -> dict[str, Any]:
    """What fits get: weights of rows, if there are some and they take any."""
    takes = weight is not None and has_fit_parameter(classifier, "sample_weight")
    return {"sample_weight": weight} if takes else {}


def values_of(estimators: list[Any], X: Any, n_rows: int) -> np.ndarray:
    """Decision values (n_rows, n_labels); 0 where there is no estimator."""
    values = np.zeros((n_rows, len(estimators)))
    for j, fitted in enumerate(estimators):
        if fitted is not None:
            method = _method(fitted)
            values[:, j] = _as_value(getattr(fitted, method)(X), method)
    return values


def _has_both(labels: np.ndarray) -> bool:
    """Whether at least two rows have a label, and two have not, so that folds can have both."""
    return int(np.bincount(labels, minlength=2).min()) >= 2


def _method(classifier: Any) -> str:
    for method in METHODS:
        if hasattr(classifier, method):
            return method
    raise InputTypeError(
        f"estimator must have decision_function or predict_proba; this {type(classifier).__name__} "
        "has neither"
    )


def _as_value(made: np.ndarray, method: str) -> np.ndarray:
    """One number a row; log-odds of probabilities."""
    if method == "decision_function":
        return made
    odds = np.clip(made[:, 1], LEAST, 1 - LEAST)
    value: np.ndarray = np.log(odds / (1 - odds))
    return value
