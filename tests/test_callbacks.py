"""The callback that ends fits. What callbacks are told is tested with the estimators."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from sklearn.model_selection import GridSearchCV

from sklearn_struct import LinearChainCRF
from sklearn_struct.callbacks import EarlyStopping
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.metrics import span_f1_scorer

HAS_CALLBACKS = hasattr(LinearChainCRF, "set_callbacks")


def stops_after(scores, **options):
    """Number of iterations with these scores until the callback asks to stop."""
    left = iter(scores)
    stopping = EarlyStopping(
        "X", "y", scoring=lambda model, X, y: (next(left), X == "X", y == "y")[0], **options
    )
    stopping.setup(None, None)
    for n in range(1, len(scores) + 1):
        if stopping.on_fit_task_end(
            None, SimpleNamespace(task_name="iteration"), fitted_estimator="model"
        ):
            assert stopping.scores_ == scores[:n]
            return n
    return None


@pytest.mark.parametrize(
    ("scores", "options", "expected"),
    [
        ([0.1, 0.2, 0.2, 0.2, 0.2], {"patience": 2}, 4),
        ([0.1, 0.2, 0.3, 0.4, 0.5], {"patience": 1}, None),
        ([0.5, 0.4, 0.6, 0.5, 0.5], {"patience": 2}, 5),
        ([0.5, 0.4], {"patience": 1}, 2),
        ([0.1, 0.15, 0.2, 0.25], {"patience": 1, "min_delta": 0.1}, 2),
        ([0.1, 0.1, 0.1], {"patience": 3}, None),
    ],
)
def test_patience(scores, options, expected):
    assert stops_after(scores, **options) == expected


def test_tasks_that_are_no_iterations_are_not_scored():
    stopping = EarlyStopping([], [], scoring=None)
    assert not stopping.on_fit_task_end(
        None, SimpleNamespace(task_name="fit"), fitted_estimator="model"
    )
    assert not stopping.on_fit_task_end(None, SimpleNamespace(task_name="iteration"))
    assert stopping.scores_ == []
    with pytest.raises(ValueError, match="patience must be at least 1, got 0"):
        EarlyStopping([], [], patience=0)


class TestFits:
    __test__ = HAS_CALLBACKS

    @pytest.mark.parametrize("scoring", [None, span_f1_scorer])
    def test_ends_a_fit(self, scoring):
        X, y = make_rental_ads(60, random_state=0)
        stopping = EarlyStopping(X[40:], y[40:], scoring=scoring, patience=2)
        crf = LinearChainCRF(C=100, tol=0.0).set_callbacks(stopping).fit(X[:40], y[:40])
        assert crf.n_iter_ == len(stopping.scores_) < 100
        last = (scoring or (lambda model, X, y: model.score(X, y)))(crf, X[40:], y[40:])
        assert stopping.scores_[-1] == pytest.approx(last)
        assert max(stopping.scores_[-2:]) <= max(stopping.scores_[:-2])

    def test_in_a_search(self):
        X, y = make_rental_ads(30, random_state=0)
        crf = LinearChainCRF(tol=0.0, max_iter=50).set_callbacks(
            EarlyStopping(X[20:], y[20:], patience=1)
        )
        search = GridSearchCV(crf, {"C": [1.0, 10.0]}, cv=2).fit(X[:20], y[:20])
        assert search.best_estimator_.n_iter_ < 50
