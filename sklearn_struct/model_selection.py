"""Cross-validation for sequences, where scikit-learn's own does not take ragged predictions.

Everything else of ``sklearn.model_selection`` works on sequences as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn import model_selection
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.typing import SequenceInput, Sequences, Splitter
from sklearn_struct.encoding.sequences import as_list, form, is_list

__all__ = ["KeepUnlabeled", "cross_val_predict"]

Split: TypeAlias = tuple[np.ndarray, np.ndarray]  # indices of training and test part
CrossValidation: TypeAlias = int | Splitter | Iterable[Split] | None

# the value for labels that the training data of a fold do not have
FILL = {"predict_proba": 0.0, "predict_log_proba": -np.inf}


def cross_val_predict(
    estimator: BaseEstimator,
    X: SequenceInput,
    y: SequenceInput,
    *,
    groups: ArrayLike | None = None,
    cv: CrossValidation = None,
    n_jobs: int | None = None,
    method: str = "predict_proba",
    params: dict[str, Any] | None = None,
) -> np.ndarray:
    """Predict each sequence by a model that was fitted without it.

    `sklearn.model_selection.cross_val_predict` works for labels of sequences of different lengths,
    but not for their probabilities. This function works for both.

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    estimator : estimator
        It has ``fit`` and `method`, and is cloned. It may be a pipeline or a search.
    X, y : list of sequences, object array or SequenceArray
        As the estimator's ``fit`` takes them. A generator is read once.
    groups : array-like of shape (n_sequences,), default=None
        For splitters by groups.
    cv : int, splitter or iterable of (train, test), default=None
        Each sequence must be in one test set. None: five folds.
    n_jobs : int, default=None
        Processes over the folds, in joblib's meaning.
    method : {"predict", "predict_proba", "predict_log_proba"}, default="predict_proba"
        The method that predicts.
    params : dict, default=None
        More arguments of ``fit``. Arrays with an entry for each sequence, such as
        ``sample_weight``, are split.

    Returns
    -------
    ndarray of shape (n_sequences,)
        dtype object: lists of labels, or arrays (n_tokens, n_labels) whose columns are all labels
        of y, sorted. A label that was not in the training data of a fold gets probability 0
        (logarithm -inf). For a two-dimensional X it is what scikit-learn's function returns.

    Raises
    ------
    ValueError
        If `method` is unknown, or a sequence is in no test set or in several.

    See Also
    --------
    KeepUnlabeled : Splits where some sequences have no labels.
    sklearn.model_selection.cross_val_predict : For labels, or data that are no sequences.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> from sklearn_struct.model_selection import cross_val_predict
    >>> X = [["the", "cat"], ["the", "dog", "barks"], ["a", "dog"], ["a", "cat", "barks"]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN", "VERB"]] * 2
    >>> proba = cross_val_predict(LinearChainCRF(), X, y, cv=2)
    >>> [p.shape for p in proba]
    [(2, 3), (3, 3), (2, 3), (3, 3)]
    """
    X = as_list(X)
    y = as_list(y)
    if form(X) == "flat":
        of_rows: np.ndarray = model_selection.cross_val_predict(
            estimator, X, y, groups=groups, cv=cv, n_jobs=n_jobs, method=method, params=params
        )
        return of_rows
    if method not in ("predict", *FILL):
        raise ValueError(
            f"method must be 'predict', 'predict_proba' or 'predict_log_proba', got {method!r}"
        )
    splits = list(model_selection.check_cv(cv).split(X, y, groups))
    n = len(X)
    tested = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tested), np.arange(n)):
        raise ValueError(
            "cross_val_predict needs each sequence in exactly one test set; this splitter has "
            "others"
        )
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_predict)(clone(estimator), X, y, split, method, params or {})
        for split in splits
    )
    predictions: list[Any] = [None] * n
    classes = sorted({label for _, seen in parts for label in seen})
    for (_, test), (of_test, seen) in zip(splits, parts, strict=True):
        for i, prediction in zip(test, of_test, strict=True):
            if method != "predict":
                prediction = _spread(prediction, seen, classes, FILL[method])
            predictions[i] = prediction
    return object_array(predictions)


class KeepUnlabeled(BaseCrossValidator):
    """Split the fully labelled sequences; all others are in the training part of every split.

    Use it for searches and cross-validation of models that also learn from unlabelled sequences
    (None in the place of a sequence's labels) or from partly labelled ones. Test parts are scored,
    so they hold fully labelled sequences alone.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=None
        How to split the fully labelled sequences. It sees them alone, numbered from 0. None: five
        folds.

    See Also
    --------
    cross_val_predict : Predictions of held-out sequences.
    sklearn.model_selection.KFold : Splits all sequences.
    sklearn_struct.GECRF : Learns from unlabelled sequences, too.

    Examples
    --------
    >>> from sklearn_struct.model_selection import KeepUnlabeled
    >>> y = [["A"], None, ["B", "A"], None]
    >>> for train, test in KeepUnlabeled(2).split(y, y):
    ...     print(train, test)
    [1 2 3] [0]
    [0 1 3] [2]
    """

    def __init__(self, cv: CrossValidation = None) -> None:
        self.cv = cv

    def split(
        self, X: Sequences, y: Sequences | None = None, groups: ArrayLike | None = None
    ) -> Iterator[Split]:
        """Indices of the sequences of training and test parts.

        Parameters
        ----------
        X : list of sequences, object array or SequenceArray
        y : list of label sequences, with None where there are none
        groups : array-like of shape (n_sequences,), default=None
            For splitters by groups.

        Yields
        ------
        train, test : ndarray of int, sorted

        Raises
        ------
        ValueError
            If no sequence of y is fully labelled, or y does not have the length of X.
        """
        labelled = self._labelled(X, y)
        free = np.setdiff1d(np.arange(len(X)), labelled)
        for train, test in model_selection.check_cv(self.cv).split(
            *self._parts(labelled, X, y, groups)
        ):
            yield np.sort(np.concatenate([labelled[train], free])), labelled[test]

    def get_n_splits(
        self,
        X: Sequences | None = None,
        y: Sequences | None = None,
        groups: ArrayLike | None = None,
    ) -> int:
        """Count the splits.

        Parameters
        ----------
        X, y, groups
            As in `split`.

        Returns
        -------
        int
        """
        parts = [None, None, None] if X is None else self._parts(self._labelled(X, y), X, y, groups)
        return int(model_selection.check_cv(self.cv).get_n_splits(*parts))

    @staticmethod
    def _parts(labelled: np.ndarray, *data: Sequences | ArrayLike | None) -> list[Any]:
        """X, y and groups of the labelled sequences."""
        return [None if part is None else _safe_indexing(part, labelled) for part in data]

    @staticmethod
    def _labelled(X: Sequences, y: Sequences | None) -> np.ndarray:
        if y is None or len(y) != len(X):
            raise ValueError(f"KeepUnlabeled needs y, with an entry for each of {len(X)} sequences")
        labelled = np.flatnonzero([_is_known(labels) for labels in y])
        if len(labelled) == 0:
            raise ValueError("no sequence has all of its labels; there is nothing to split")
        return labelled


def _is_known(labels: object) -> bool:
    """Whether all labels of a sequence, or the one label of a row, are known."""
    entries = list(labels) if is_list(labels) else [labels]
    return not any(entry is None or isinstance(entry, set | frozenset) for entry in entries)


def _fit_and_predict(
    estimator: BaseEstimator,
    X: Sequences,
    y: Sequences,
    split: Split,
    method: str,
    params: dict[str, Any],
) -> tuple[Any, list[Any]]:
    """Predictions for the test part, and the labels that the training part has."""
    train, test = split
    split_params = {
        name: _safe_indexing(value, train)
        if hasattr(value, "__len__") and len(value) == len(X)
        else value
        for name, value in params.items()
    }
    estimator.fit(_safe_indexing(X, train), _safe_indexing(y, train), **split_params)
    return getattr(estimator, method)(_safe_indexing(X, test)), estimator.classes_.tolist()


def _spread(table: np.ndarray, seen: list[Any], classes: list[Any], fill: float) -> np.ndarray:
    """The columns of a table for `seen` labels among those for all."""
    where = {label: k for k, label in enumerate(classes)}
    spread = np.full((len(table), len(classes)), fill)
    spread[:, [where[label] for label in seen]] = table
    return spread
