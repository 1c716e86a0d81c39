"""What a fitted log-linear model of single labels has: weights, predictions and probabilities."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logsumexp, softmax

from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.typing import SequenceInput
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.estimators.fitting.finite_scores import check_rows
from sklearn_struct.estimators.fitting.sample_weights import of_examples
from sklearn_struct.estimators.log_linear.input_forms import FunctionForm, PairForm, ProductForm

__all__ = ["BaseLabelPredictions"]


class BaseLabelPredictions(Published, metaclass=ABCMeta):
    """Properties and predictions that read ``_form`` (the features) and ``_w`` (weights)."""

    classes_: np.ndarray
    _form: PairForm | ProductForm | FunctionForm
    _w: np.ndarray

    @abstractmethod
    def _read_X(self, X: Any, reset: bool) -> Any:
        """X as the model's form takes it."""

    @abstractmethod
    def _read_y(self, y: Any, X: Any, reset: bool, unseen: int | None = None) -> np.ndarray:
        """Codes of the labels, `unseen` for other labels if it is given."""

    @property
    def coef_(self) -> np.ndarray:
        """Weights of joint features; for tables (n_labels, n_features)."""
        coef: np.ndarray = self._fitted()._form.coef(self._w)
        return coef

    @property
    def intercept_(self) -> np.ndarray:
        """Unpenalised weight of each label; zeros where there are none."""
        intercept: np.ndarray = self._fitted()._form.intercept(self._w)
        return intercept

    @property
    def joint_feature_names_(self) -> np.ndarray:
        """Names of the joint features, in the order of ``coef_``."""
        names = self._fitted()._form.names()
        if names is None:
            raise AttributeError(f"the joint features of this {type(self).__name__} have no names")
        feature_names: np.ndarray = names
        return feature_names

    def _fitted(self) -> Any:
        if "_w" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self

    def _scores(self, X: SequenceInput) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of all labels, a block of rows at a time; -inf for what is no candidate."""
        return self._scores_of(self._read_X(X, reset=False))

    def _scores_of(self, X: SequenceInput) -> Iterator[tuple[slice, np.ndarray]]:
        """The same for X as it was read."""
        blocks = self._form.scores(X, self._w)
        forbids = getattr(self._form, "candidates", None) is not None
        # block by block, as an error state that is set around a `yield` would be that of the
        # caller, too
        while True:
            with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
                block = next(blocks, None)
            if block is None:
                return
            check_rows(block[1], block[0].start, forbids)
            yield block

    def predict(self, X: Any) -> np.ndarray:
        """Most probable label of each input.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n,)
        """
        codes = np.concatenate([scores.argmax(axis=1) for _, scores in self._scores(X)])
        labels: np.ndarray = self.classes_[codes]
        return labels

    def predict_proba(self, X: SequenceInput) -> np.ndarray:
        """p(y | x) for each label; 0 for what is no candidate.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n, n_labels)
            Columns in the order of ``classes_``.
        """
        return np.concatenate([softmax(scores, axis=1) for _, scores in self._scores(X)])

    def predict_log_proba(self, X: SequenceInput) -> np.ndarray:
        """log p(y | x) for each label; -inf for what is no candidate.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n, n_labels)
        """
        return np.concatenate([log_softmax(scores, axis=1) for _, scores in self._scores(X)])

    def log_proba(self, X: SequenceInput, y: Sequence[Any] | np.ndarray) -> np.ndarray:
        """log p(y | x) of given labels, without a table of all others.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n,)
            -inf for a label that is no candidate.

        Raises
        ------
        UnknownLabelError
            If y holds a label that was not seen in `fit`.
        """
        X = self._read_X(X, reset=False)
        codes = self._read_y(y, X, reset=False)
        log_p = np.empty(len(y))
        for rows, scores in self._scores_of(X):
            log_p[rows] = scores[np.arange(len(scores)), codes[rows]] - logsumexp(scores, axis=1)
        return log_p

    def score(
        self,
        X: SequenceInput,
        y: Sequence[Any] | np.ndarray,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Accuracy of `predict`, as of scikit-learn's classifiers.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        X = self._read_X(X, reset=False)
        codes = self._read_y(y, X, reset=False, unseen=-1)
        weight = of_examples(sample_weight, len(codes), "example")
        predicted = label_codes.encode(
            self.predict(X).tolist(), self.classes_, np.arange(len(codes) + 1)
        )
        return float(np.average(predicted == codes, weights=weight))
