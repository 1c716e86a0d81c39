"""Scorers in scikit-learn's model selection."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, cross_validate

from sklearn_struct import metrics
from sklearn_struct.containers.ragged import object_array

Y_TRUE = [["B-X", "I-X", "O"], ["B-Y"], [], ["B-X", "B-Y"]]
Y_PRED = [["B-X", "O", "O"], ["B-Y"], [], ["B-X", "B-Z"]]


class Constant(BaseEstimator):
    """Predicts the labels that X holds, or one label."""

    def __init__(self, label=None):
        self.label = label

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return object_array([[self.label or token for token in sequence] for sequence in X])


SCORERS = {
    "f1": (metrics.span_f1_scorer, 0.5),
    "precision": (metrics.span_precision_scorer, 0.5),
    "recall": (metrics.span_recall_scorer, 0.5),
    "tokens": (metrics.token_accuracy_scorer, 4 / 6),
    "sequences": (metrics.sequence_accuracy_scorer, 0.5),
}


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_score_ragged_lists_also_after_pickling(name):
    scorer, expected = SCORERS[name]
    for copy in (scorer, pickle.loads(pickle.dumps(scorer))):
        assert copy(Constant().fit(Y_PRED, Y_TRUE), Y_PRED, Y_TRUE) == pytest.approx(expected)


class Copy(Constant):
    """Predicts X."""

    def predict(self, X):
        return X


def test_scorer_of_trees():
    true = ["(S (A a))", "(S (NP (A a)))"]
    pred = ["(S (A a))", "(NP (S (NP (A a))))"]
    assert metrics.bracket_f1_scorer(Copy().fit(pred, true), pred, true) == pytest.approx(6 / 7)


def test_scorers_select_models():
    X = Y_TRUE * 3
    y = Y_TRUE * 3
    search = GridSearchCV(
        Constant(), {"label": ["O", None, "B-X"]}, scoring=metrics.span_f1_scorer, cv=3
    ).fit(X, y)
    assert search.best_params_ == {"label": None}
    assert search.best_score_ == 1.0
    scores = cross_validate(
        Constant("O"), X, y, scoring={name: scorer for name, (scorer, _) in SCORERS.items()}, cv=3
    )
    assert scores["test_tokens"].tolist() == [pytest.approx(1 / 6)] * 3
    assert scores["test_f1"].tolist() == [0.0] * 3


def test_scorers_alone_import_the_metrics_of_scikit_learn():
    program = (
        "import sys, sklearn_struct\n"
        "print('sklearn.metrics' in sys.modules)\n"
        "from sklearn_struct.metrics import span_f1_scorer\n"
        "print('sklearn.metrics' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_other_names_are_not_made_up():
    with pytest.raises(AttributeError, match="no attribute 'span_f2_scorer'"):
        _ = metrics.span_f2_scorer
