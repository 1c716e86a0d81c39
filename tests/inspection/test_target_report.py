"""The report of labelled features, counted by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_struct import GECRF, LinearChainCRF, SequenceVectorizer
from sklearn_struct.exceptions import (
    InputTypeError,
    UnknownLabelError,
)
from sklearn_struct.inspection import TargetDisplay, target_report
from sklearn_struct.model_selection import KeepUnlabeled

X = [
    [{"w": "$", "up": 1.0}, {"w": "9"}, {"w": "month"}],
    [{"w": "room"}],
    [{"w": "$"}, {"w": "room", "up": 1.0}],
    [],
]
GIVEN = {
    "w:$": "RENT",
    "up": {"RENT": 0.25, "SIZE": 0.75},
    "w:room": ("RENT", "SIZE"),
    "w:month": {"RENT": 3, "SIZE": 1},
}
CLASSES = ["RENT", "SIZE"]


@pytest.fixture(scope="module")
def crf():
    return GECRF(GIVEN, classes=CLASSES, tol=1e-3).fit(X, [None] * 4)


def test_counts_before_a_fit():
    frame = target_report(GECRF(GIVEN, classes=CLASSES, smoothing=0.0), X)
    assert frame["feature"].tolist() == list(GIVEN)
    assert frame["label"].tolist() == ["RENT", "SIZE", ("RENT", "SIZE"), "RENT"]
    assert frame["tokens"].tolist() == [2, 2, 1, 1]  # a pair ends at one of the two rooms
    assert frame["sequences"].tolist() == [2, 2, 1, 1]
    np.testing.assert_allclose(frame["share"], [2 / 6, 2 / 6, 1 / 6, 1 / 6])
    # the first token: RENT by its word, SIZE by "up"
    assert frame["conflicts"].tolist() == [1, 1, 0, 0]
    np.testing.assert_allclose(frame["target"], [0.99, 0.75, 0.99, 0.75])
    assert frame["expected"].isna().all()
    assert frame["divergence"].isna().all()


def test_what_a_model_expects(crf):
    frame = target_report(crf, X)
    proba = crf.predict_proba(X)
    pairs = crf.predict_edge_proba(X)
    up = (proba[0][0] + proba[2][1]) / 2
    expected = [(proba[0][0, 0] + proba[2][0, 0]) / 2, up[1], pairs[2][0, 0, 1], proba[0][2, 0]]
    np.testing.assert_allclose(frame["expected"], expected, rtol=1e-12)
    target = np.array([0.25, 0.75])
    assert frame["divergence"][1] == pytest.approx(
        float(np.sum(target * np.log(target / up))), rel=1e-9
    )


def test_a_model_to_compare_with(crf):
    other = LinearChainCRF().fit(X[:2], [["RENT", "O", "RENT"], ["O"]])
    frame = target_report(crf, X, before=other)
    proba = other.predict_proba(X)
    # O is no label of the report's model
    kept = (proba[0][0] + proba[2][0])[1] / (proba[0][0] + proba[2][0])[1]
    assert frame["before"][0] == pytest.approx(kept)
    assert frame["before"][1] == 0  # it does not know SIZE
    assert list(frame.columns[-3:]) == ["expected", "before", "divergence"]


def test_in_pipelines_and_searches():
    y = [["RENT", "SIZE", "RENT"], ["SIZE"], None, None]
    estimator = GECRF({"w:$": "RENT", "up": "SIZE"}, classes=CLASSES, tol=1e-2)
    pipeline = make_pipeline(SequenceVectorizer(), estimator).fit(X, y)
    search = GridSearchCV(estimator, {"C": [1.0, 10.0]}, cv=KeepUnlabeled(2)).fit(X, y)
    for model in (pipeline, search):
        frame = target_report(model, X)
        assert frame["tokens"].tolist() == [2, 2]
        assert frame["expected"].between(0, 1).all()
        assert len(TargetDisplay.from_estimator(model, X).im_) == 2


def test_a_feature_that_fires_nowhere_here(crf):
    frame = target_report(crf, X[1:2])
    assert frame["tokens"].tolist() == [0, 0, 0, 0]
    assert frame["expected"].isna().all()


def test_a_target_for_all_tokens_contradicts_none():
    given = {None: {"RENT": 0.6, "SIZE": 0.4}, "w:room": "SIZE"}
    frame = target_report(GECRF(given), X)
    assert frame["feature"].tolist() == [None, "w:room"]
    assert frame["tokens"].tolist() == [6, 2]
    assert frame["conflicts"].tolist() == [0, 0]


def test_a_fitted_model_reports_what_it_learned_with(crf):
    changed = clone(crf).fit(X, [None] * 4).set_params(labeled_features={"w:$": "Q"})
    assert target_report(changed, X)["feature"].tolist() == list(GIVEN)


def test_targets_without_a_majority_contradict_none():
    given = {"w:$": {"RENT": 0.5, "SIZE": 0.5}, "up": "SIZE"}
    assert target_report(GECRF(given), X)["conflicts"].tolist() == [0, 0]


def test_a_model_to_compare_with_is_fitted(crf):
    with pytest.raises(NotFittedError):
        target_report(crf, X, before=LinearChainCRF())


def test_no_labelled_features():
    empty = GECRF(classes=CLASSES).fit(X, [["RENT", "RENT", "SIZE"], None, None, None])
    assert len(target_report(empty, X)) == 0


def test_mistakes(crf):
    with pytest.raises(InputTypeError, match=r"must be a GECRF.*got LinearChainCRF"):
        target_report(LinearChainCRF(), X)
    with pytest.raises(ValueError, match="has no feature 'w:\\$'"):
        target_report(GECRF(GIVEN, classes=CLASSES), [["a"]])
    with pytest.raises(UnknownLabelError, match=r"labeled_features\['w:\$'\]"):
        target_report(GECRF(GIVEN, classes=["SIZE", "X"]), X)


def test_report_without_pandas(monkeypatch, crf):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="target_report needs pandas"):
        target_report(crf, X)
