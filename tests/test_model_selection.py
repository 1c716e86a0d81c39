"""Probabilities across folds, and scikit-learn's own model selection on ragged data."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn import model_selection
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - makes the halving searches importable
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import Pipeline

from sklearn_struct import GECRF, LinearChainCRF, SequenceArray, SequenceVectorizer, metrics
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.model_selection import KeepUnlabeled, cross_val_predict

CRF = LinearChainCRF(tol=1e-2)


def ads(form, n=24):
    """Short advertisements, as lists or packed; y likewise."""
    X, y = make_rental_ads(n, random_state=0)
    X = [[{"w": word.lower(), "digit": word[0].isdigit()} for word in words[:30]] for words in X]
    y = [labels[:30] for labels in y]
    return (
        (X, y)
        if form == "lists"
        else (SequenceVectorizer().fit_transform(X), SequenceArray.from_sequences(y))
    )


forms = pytest.mark.parametrize("form", ["lists", "packed"])

# ---------------------------------------------------------------- cross_val_predict


@forms
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_val_predict_is_a_loop_over_the_folds(form, method, n_jobs):
    X, y = ads(form)
    found = cross_val_predict(CRF, X, y, cv=3, method=method, n_jobs=n_jobs)
    labels = sorted({label for sequence in y for label in sequence})
    assert found.shape == (24,)
    for train, test in KFold(3).split(X):
        taken = (
            [X[train], y[train]]
            if form == "packed"
            else [[part[i] for i in train] for part in (X, y)]
        )
        model = LinearChainCRF(tol=1e-2).fit(*taken)
        columns = [labels.index(label) for label in model.classes_]
        expected = getattr(model, method)(X[test] if form == "packed" else [X[i] for i in test])
        for i, prediction in zip(test, expected, strict=True):
            if method == "predict":
                assert found[i] == prediction
                continue
            np.testing.assert_array_equal(found[i][:, columns], prediction)
            missing = np.delete(found[i], columns, axis=1)
            assert np.all(missing == (0.0 if method == "predict_proba" else -np.inf))


def test_cross_val_predict_has_columns_for_labels_that_a_fold_lacks():
    X = [["a", "b"], ["a"], ["c", "a"], ["b"]]
    y = [["A", "B"], ["A"], ["C", "A"], ["B"]]
    found = cross_val_predict(CRF, X, y, cv=2)
    assert [table.shape for table in found] == [(2, 3), (1, 3), (2, 3), (1, 3)]
    assert np.all(found[2][:, 2] == 0.0)  # without the second half nobody knows of C
    assert np.all(found[0] > 0.0)
    for table in found:
        np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_cross_val_predict_of_a_search_with_weights_and_groups():
    X, y = ads("lists")
    weight = np.arange(24) % 3 + 0.5
    groups = np.arange(24) % 5
    search = GridSearchCV(CRF, {"C": [0.5]}, cv=2)
    params = {"sample_weight": weight}
    found = cross_val_predict(search, X, y, groups=groups, cv=GroupKFold(3), params=params)
    train, test = next(GroupKFold(3).split(X, y, groups))
    model = LinearChainCRF(C=0.5, tol=1e-2).fit(
        [X[i] for i in train], [y[i] for i in train], weight[train]
    )
    expected = model.predict([X[i] for i in test])
    labels = np.array(sorted({label for sequence in y for label in sequence}))
    tables = [found[i] for i in test]
    assert [len(table) for table in tables] == [len(labels_) for labels_ in expected]
    for table, proba in zip(tables, model.predict_proba([X[i] for i in test]), strict=True):
        np.testing.assert_array_equal(table[:, np.isin(labels, model.classes_)], proba)


def test_cross_val_predict_of_rows_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = rng.integers(3, size=30)
    found = cross_val_predict(CRF, X, y, cv=3)
    np.testing.assert_array_equal(
        found, model_selection.cross_val_predict(CRF, X, y, cv=3, method="predict_proba")
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "decision_function"}, "method must be .* got 'decision_function'"),
        ({"cv": ShuffleSplit(2, random_state=0)}, "exactly one test set"),
        ({"cv": RepeatedKFold(n_splits=2, n_repeats=2)}, "exactly one test set"),
        ({"cv": 1}, "n_splits=1"),
    ],
)
def test_cross_val_predict_refuses(options, match):
    with pytest.raises(ValueError, match=match):
        cross_val_predict(CRF, *ads("lists", 6), **options)


# ---------------------------------------------------------------- scikit-learn's tools


@forms
def test_halving_search(form):
    grid = {"C": [1e-6, 0.5, 1.0, 2.0]}
    search = HalvingGridSearchCV(
        CRF, grid, cv=2, factor=2, min_resources=12, random_state=0, error_score="raise"
    )
    search.fit(*ads(form))
    assert search.n_resources_ == [12, 24]
    assert search.best_params_["C"] > 0.1


@forms
def test_cross_validate_returns_everything(form):
    X, y = ads(form)
    found = cross_validate(
        CRF,
        X,
        y,
        cv=3,
        return_train_score=True,
        return_estimator=True,
        return_indices=True,
        error_score="raise",
    )
    assert np.all(found["train_score"] > found["test_score"])
    test = found["indices"]["test"][0]
    taken = (X[test], y[test]) if form == "packed" else ([X[i] for i in test], [y[i] for i in test])
    assert found["estimator"][0].score(*taken) == found["test_score"][0]


@forms
def test_curves(form):
    X, y = ads(form)
    sizes, train, test = learning_curve(
        CRF, X, y, cv=3, train_sizes=[0.2, 1.0], error_score="raise"
    )
    assert sizes.tolist() == [3, 16]
    # also where three sequences lack labels of the test data
    assert np.mean(test[1]) > np.mean(test[0])
    assert np.all(train > test)
    train, test = validation_curve(
        CRF, X, y, param_name="C", param_range=[1e-4, 1.0], cv=3, error_score="raise"
    )
    assert np.all(np.mean(train, axis=1)[1] > np.mean(train, axis=1)[0])
    assert test.shape == (2, 3)


@forms
def test_train_test_split(form):
    X, y = ads(form)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    assert type(X_train) is type(X)
    assert (len(X_train), len(X_test), len(y_train), len(y_test)) == (18, 6, 18, 6)
    model = LinearChainCRF(tol=1e-2).fit(X_train, y_train)
    assert (
        metrics.token_accuracy_score(y_test, model.predict(X_test))
        == model.score(X_test, y_test)
        > 0.3
    )


@forms
def test_routing_of_weights_and_groups(form):
    """Through a grid search, to the fit and the score."""
    X, y = ads(form)
    weight = np.where(np.arange(24) < 12, 0.0, 1.0)
    groups = np.arange(24) % 5
    with sklearn.config_context(enable_metadata_routing=True):
        crf = (
            LinearChainCRF(tol=1e-2)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        search = GridSearchCV(crf, {"C": [1.0]}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, sample_weight=weight, groups=groups)
    expected = LinearChainCRF(tol=1e-2).fit(X, y, weight)
    assert search.predict(X).tolist() == expected.predict(X).tolist()
    scores = []
    for train, test in GroupKFold(3).split(X, y, groups):
        taken = [part[train] if form == "packed" else [part[i] for i in train] for part in (X, y)]
        held = [part[test] if form == "packed" else [part[i] for i in test] for part in (X, y)]
        scores.append(
            LinearChainCRF(tol=1e-2).fit(*taken, weight[train]).score(*held, weight[test])
        )
    assert search.best_score_ == pytest.approx(np.mean(scores), abs=1e-12)


class Counting(SequenceVectorizer):
    """Notes each time that it learns."""

    fits = 0

    def fit_transform(self, X, y=None):
        Counting.fits += 1
        return super().fit_transform(X, y)


def test_memory_of_a_pipeline_encodes_each_fold_once(tmp_path, monkeypatch):
    monkeypatch.setattr(Counting, "fits", 0)
    pipeline = Pipeline([("vectorizer", Counting()), ("crf", CRF)], memory=str(tmp_path))
    search = GridSearchCV(pipeline, {"crf__C": [0.1, 1.0, 10.0]}, cv=2, error_score="raise").fit(
        *ads("lists")
    )
    assert Counting.fits == 3  # two folds, and all data in the end
    assert search.best_params_["crf__C"] > 0.1


def test_threads_inside_processes_give_the_same(monkeypatch):
    X, y = ads("packed")
    outer = GridSearchCV(LinearChainCRF(tol=1e-2, n_jobs=2), {"C": [0.1, 1.0]}, cv=2, n_jobs=2).fit(
        X, y
    )
    alone = GridSearchCV(CRF, {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    np.testing.assert_array_equal(
        outer.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


@forms
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_what_has_no_meaning_ends_with_an_error(form):
    X, y = ads(form)
    with pytest.raises((ValueError, TypeError)):
        cross_val_score(CRF, X, y, cv=3, scoring="accuracy", error_score="raise")
    with pytest.raises((ValueError, TypeError)):
        cross_val_score(CRF, X, y, cv=model_selection.StratifiedKFold(3), error_score="raise")


def test_cross_val_predict_of_rows_in_lists():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(12, 2))
    y = [0, 1] * 6
    found = cross_val_predict(LinearChainCRF(), X.tolist(), y, cv=3)
    np.testing.assert_array_equal(found, cross_val_predict(LinearChainCRF(), X, y, cv=3))
    assert found.shape == (12, 2)


def test_cross_val_predict_of_generators():
    X = [["a", "b"], ["b"], ["a"], ["b", "a"]]
    y = [["x", "y"], ["y"], ["x"], ["y", "x"]]
    found = cross_val_predict(LinearChainCRF(), iter(X), iter(y), cv=2, method="predict")
    assert (
        found.tolist() == cross_val_predict(LinearChainCRF(), X, y, cv=2, method="predict").tolist()
    )


# ---------------------------------------------------------------- unlabelled sequences


def some_unlabelled(y):
    """Every third sequence without labels: None, or None for each token."""
    labels = [list(sequence) for sequence in y]
    return [
        None if i % 6 == 0 else [None] * len(s) if i % 6 == 3 else s for i, s in enumerate(labels)
    ]


@pytest.mark.parametrize(
    "cv", [None, 3, KFold(4, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0)]
)
def test_unlabelled_sequences_are_in_every_training_part(cv):
    X, y = ads("lists")
    y = some_unlabelled(y)
    free = np.arange(0, 24, 3)
    labelled = np.setdiff1d(np.arange(24), np.arange(0, 24, 3))
    splitter = KeepUnlabeled(cv)
    splits = list(splitter.split(X, y))
    assert len(splits) == splitter.get_n_splits(X, y)
    expected = model_selection.check_cv(cv).split(labelled)
    for (train, test), (among, tested) in zip(splits, expected, strict=True):
        np.testing.assert_array_equal(test, labelled[tested])
        np.testing.assert_array_equal(train, np.sort([*labelled[among], *free]))


def test_groups_of_labelled_sequences_stay_together():
    X, y = ads("lists")
    groups = np.arange(24) % 4
    for train, test in KeepUnlabeled(GroupKFold(2)).split(X, some_unlabelled(y), groups):
        labelled = train[train % 3 != 0]
        assert not set(groups[labelled]) & set(groups[test])


@forms
def test_search_with_unlabelled_sequences(form):
    X, y = ads(form)
    words = {"w:$": "I-RENT"} if form == "lists" else {}
    classes = sorted({label for sequence in y for label in sequence})
    search = GridSearchCV(
        GECRF(words, classes=classes, tol=1e-2), {"C": [0.1, 10.0]}, cv=KeepUnlabeled(2)
    )
    search.fit(X, some_unlabelled(y))
    means = search.cv_results_["mean_test_score"]
    assert np.all((means > 0.1) & (means < 1))
    scores = cross_val_score(search.best_estimator_, X, some_unlabelled(y), cv=KeepUnlabeled(2))
    assert scores.mean() == pytest.approx(means.max(), abs=1e-12)


def test_numbers_of_splits_are_those_of_labelled_sequences():
    y = [["a"], None, ["b"], [None], ["a", None], ["b", {"a", "b"}], ["b"]]
    for cv, groups in ((LeaveOneOut(), None), (LeaveOneGroupOut(), [0, 1, 0, 2, 3, 4, 5])):
        splitter = KeepUnlabeled(cv)
        splits = list(splitter.split(y, y, groups))
        assert splitter.get_n_splits(y, y, groups) == len(splits)
        # all labels are known
        assert sorted(np.concatenate([test for _, test in splits]).tolist()) == [0, 2, 6]
        assert all({1, 3, 4, 5} <= set(train.tolist()) for train, _ in splits)


def test_rows_without_labels():
    X = np.eye(6)
    y = ["a", None, "b", "a", None, "b"]
    assert [test.tolist() for _, test in KeepUnlabeled(2).split(X, y)] == [[0, 2], [3, 5]]


@pytest.mark.parametrize("y", [None, [["A"]], [None, None]])
def test_splits_of_nothing_are_refused(y):
    with pytest.raises(ValueError, match=r"needs y|no sequence has all of its labels"):
        list(KeepUnlabeled(2).split([["a"], ["b"]], y))
