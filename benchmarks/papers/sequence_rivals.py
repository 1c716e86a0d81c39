"""Rivals of hidden-state classifiers: hidden Markov models of classes, nearest neighbours by
dynamic time warping, and moments of sequences.
"""

from __future__ import annotations

import logging
from typing import Any, Self

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["HiddenMarkovClasses", "NearestByWarping", "moments"]

LEAST_VARIANCE = 1e-2
STAY = 0.9  # the probability of staying in a state where EM starts, from left to right


class HiddenMarkovClasses(ClassifierMixin, BaseEstimator):
    """hmmlearn's hidden Markov model with diagonal normal densities for each class; the likeliest
    one wins.

    Parameters
    ----------
    n_states : int
    form : {"ergodic", "left-to-right"}
        The latter starts from sequences that are cut into parts of equal length.
    random_state : int
    """

    def __init__(
        self, n_states: int = 3, form: str = "ergodic", random_state: int | None = None
    ) -> None:
        self.n_states = n_states
        self.form = form
        self.random_state = random_state

    def fit(self, X: list[Any], y: Any) -> Self:
        """Fit a model to the sequences of each class."""
        logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)  # of likelihoods that fall
        self.classes_ = np.unique(y)
        self.models_ = [
            self._model([rows for rows, label in zip(X, y, strict=True) if label == c])
            for c in self.classes_
        ]
        return self

    def _model(self, X: list[Any]) -> Any:
        from hmmlearn.hmm import GaussianHMM

        H = self.n_states
        options = {"covariance_type": "diag", "n_iter": 100, "random_state": self.random_state}
        if self.form == "ergodic":
            model = GaussianHMM(H, **options)
        else:
            # probabilities of 0 stay 0
            model = GaussianHMM(H, init_params="", params="tmc", **options)
            model.startprob_ = np.eye(H)[0]
            model.transmat_ = STAY * np.eye(H) + (1 - STAY) * np.eye(H, k=1)
            model.transmat_[-1, -1] = 1.0
            parts = [np.array_split(rows, H) for rows in X]
            tokens = [np.concatenate([part[h] for part in parts]) for h in range(H)]
            model.means_ = np.array([rows.mean(axis=0) for rows in tokens])
            model.covars_ = np.array([rows.var(axis=0) + LEAST_VARIANCE for rows in tokens])
        return model.fit(np.concatenate(X), [len(rows) for rows in X])

    def predict(self, X: list[Any]) -> Any:
        """The class whose model gives a sequence the highest likelihood."""
        likelihood = np.array([[model.score(rows) for model in self.models_] for rows in X])
        return self.classes_[np.argmax(np.nan_to_num(likelihood, nan=-np.inf), axis=1)]


class NearestByWarping(ClassifierMixin, BaseEstimator):
    """The class of the sequence at the least distance by dynamic time warping, without a window.

    Parameters
    ----------
    n_neighbors : {1}
    """

    def __init__(self, n_neighbors: int = 1) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: list[Any], y: Any) -> Self:
        """Keep the sequences."""
        self.X_ = [np.ascontiguousarray(rows) for rows in X]
        self.y_ = np.asarray(y)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: list[Any]) -> Any:
        """The class of the nearest sequence of each."""
        rows = [np.ascontiguousarray(sequence) for sequence in X]
        return self.y_[[np.argmin([distance(b, a) for a in self.X_]) for b in rows]]


@njit
def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Sum of squared distances along the best alignment of the rows of two sequences."""
    n = len(a)
    m = len(b)
    total = np.full((n + 1, m + 1), np.inf)
    total[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            cost = 0.0
            for f in range(a.shape[1]):
                cost += (a[i, f] - b[j, f]) ** 2
            before = min(total[i, j], total[i, j + 1], total[i + 1, j])
            total[i + 1, j + 1] = cost + before
    return total[n, m]


def moments(X: list[Any], n_parts: int = 1) -> Any:
    """Means and deviations of each sequence, and the means of so many parts of equal length."""
    table = []
    for rows in X:
        parts = np.array_split(rows, n_parts) if n_parts > 1 else []
        means = [part.mean(axis=0) for part in parts]
        table.append(np.concatenate([rows.mean(axis=0), rows.std(axis=0), *means]))
    return np.array(table)
