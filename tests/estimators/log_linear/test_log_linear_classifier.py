"""LogLinearClassifier: its forms agree with each other, with enumeration and with logistic
regression.
"""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_struct import LogLinearClassifier, ProductFeatures
from sklearn_struct.exceptions import (
    EmptyDataError,
    ForbiddenLabelError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
)

WORDS = ["a", "b", "c", "d", "e"]


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = [tuple(rng.choice(WORDS, 2).tolist()) for _ in range(n)]
    return X, [x[1] if rng.random() < 0.6 else str(rng.choice(WORDS)) for x in X]


def context(x):
    return {"any": 1, "last=" + x[1]: 1.0, "first": x[0], "later": 0.5 * (x[0] > "b")}


def parts(y):
    return [y, "vowel" if y in "ae" else "consonant"]


PRODUCTS = ProductFeatures(context, parts)


def function(x, y):
    return PRODUCTS(x, y)


def penalty_of(model):
    """Over C."""
    l1 = model.l1_ratio * np.abs(model.coef_).sum()
    return float(l1 + (1 - model.l1_ratio) * np.sum(model.coef_**2) / 2) / model.C


def objective(model, X, y, weight):
    """The weighted losses, with all candidates enumerated from what the model shows, and the
    penalty.
    """
    weights = dict(zip(model.joint_feature_names_.tolist(), model.coef_.tolist()))
    total = penalty_of(model)
    for x, label, w in zip(X, y, weight):
        found = model.classes_ if model.candidates is None else model.candidates(x)
        scores = {
            k: model.intercept_[list(model.classes_).index(k)]
            + sum(weights.get(name, 0.0) * value for name, value in function(x, k).items())
            for k in found
        }
        total += w * (np.log(sum(np.exp(list(scores.values())))) - scores[label])
    return total


CANDIDATES = [None, lambda x: {*x, "e", "a", "b", "c", "d"} - {"a" if x[0] == "a" else ""} | {x[1]}]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": 10.0},
        {"fit_intercept": False},
        {"min_frequency": 4},
        {"l1_ratio": 1.0},
        {"l1_ratio": 0.3, "C": 2.0},
    ],
)
@pytest.mark.parametrize("features", [PRODUCTS, function], ids=["products", "function"])
def test_the_objective_by_enumeration(features, options):
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    model = LogLinearClassifier(features, **options).fit(X, y, weight)
    assert model.loss_curve_[-1] == pytest.approx(objective(model, X, y, weight), rel=1e-10)
    log_p = model.log_proba(X, y)
    assert penalty_of(model) - weight @ log_p == pytest.approx(model.loss_curve_[-1], rel=1e-10)


@pytest.mark.parametrize(
    "options", [{}, {"fit_intercept": False}, {"min_frequency": 3}, {"l1_ratio": 0.5}]
)
def test_products_are_a_function(options):
    X, y = data()
    one = LogLinearClassifier(PRODUCTS, tol=1e-9, **options).fit(X, y)
    other = LogLinearClassifier(function, tol=1e-9, **options).fit(X, y)
    unseen = [("z", "a"), ("a", "z")]
    np.testing.assert_allclose(
        one.predict_proba(X + unseen), other.predict_proba(X + unseen), atol=1e-6
    )
    assert sorted(one.joint_feature_names_) == sorted(other.joint_feature_names_)
    assert one.loss_curve_[-1] == pytest.approx(other.loss_curve_[-1], rel=1e-10)


@pytest.mark.parametrize(
    "features", [PRODUCTS, function, None], ids=["products", "function", "table"]
)
def test_solvers_agree(features):
    X, y = data() if features else load_iris(return_X_y=True)
    X = X if features else (X - X.mean(axis=0)) / X.std(axis=0)
    found = {
        solver: LogLinearClassifier(features, solver=solver, max_iter=20_000, tol=1e-7).fit(X, y)
        for solver in ("lbfgs", "newton-cg", "gradient")
    }
    for model in found.values():
        np.testing.assert_allclose(
            model.predict_proba(X), found["lbfgs"].predict_proba(X), atol=1e-4
        )
        assert model.loss_curve_[-1] == pytest.approx(found["lbfgs"].loss_curve_[-1], rel=1e-8)
        assert model.loss_curve_ == sorted(model.loss_curve_, reverse=True)
    assert found["newton-cg"].n_iter_ < found["lbfgs"].n_iter_ < found["gradient"].n_iter_


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_table_gives_logistic_regression(kind, fit_intercept):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0, 2, size=len(y))
    ours = LogLinearClassifier(C=0.5, fit_intercept=fit_intercept, tol=1e-9).fit(kind(X), y, weight)
    theirs = LogisticRegression(C=0.5, fit_intercept=fit_intercept, tol=1e-12, max_iter=10_000).fit(
        X, y, weight
    )
    np.testing.assert_allclose(ours.predict_proba(kind(X)), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.intercept_.shape == (3,)
    with pytest.raises(AttributeError, match="have no names"):
        _ = ours.joint_feature_names_


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_sparse_weights_are_those_of_logistic_regression(kind, l1_ratio):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weight = np.random.default_rng(0).uniform(0, 2, size=len(y))
    ours = LogLinearClassifier(C=0.2, l1_ratio=l1_ratio, tol=1e-8).fit(kind(X), y, weight)
    theirs = LogisticRegression(
        C=0.2, solver="saga", l1_ratio=l1_ratio, tol=1e-9, max_iter=20_000, random_state=0
    ).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(kind(X)), theirs.predict_proba(X), atol=1e-5)
    assert 0 < np.count_nonzero(ours.coef_) < ours.coef_.size
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(theirs.coef_) < 1e-6)
    # the smallest objective: weights that are 0 rise it either way
    for place in zip(*np.nonzero(ours.coef_ == 0)):
        for step in (-1e-3, 1e-3):
            moved = ours.coef_.copy()
            moved[place] = step
            scores = X @ moved.T + ours.intercept_
            losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]
            l1 = l1_ratio * np.abs(moved).sum() + (1 - l1_ratio) * np.sum(moved**2) / 2
            assert weight @ losses + l1 / 0.2 > ours.loss_curve_[-1]


@pytest.mark.parametrize("features", [PRODUCTS, function], ids=["products", "function"])
def test_an_l1_penalty_chooses_joint_features(features):
    X, y = data(300)
    some, none = (LogLinearClassifier(features, C=C, l1_ratio=1.0).fit(X, y) for C in (0.3, 1e-3))
    assert 0 < np.count_nonzero(some.coef_) < 0.5 * len(some.coef_)
    assert not none.coef_.any()
    # the label follows from the second word, and the first says nothing
    chosen = {n for n, w in zip(some.joint_feature_names_, some.coef_) if abs(w) > 0.5}
    assert chosen
    assert all("last=" in name for name in chosen)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "gradient"])
def test_solvers_without_an_l1_penalty(solver):
    X, y = data()
    model = LogLinearClassifier(PRODUCTS, solver=solver, l1_ratio=0.5)
    with pytest.raises(ValueError, match=f"solver='{solver}' has no L1 penalty; use 'owlqn'"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_features_are_kept_only_if_seen_with_the_label_of_the_data():
    X, y = data()
    model = LogLinearClassifier(PRODUCTS).fit(X, y)
    seen = Counter(name for x, label in zip(X, y) for name in function(x, label))
    assert set(model.joint_feature_names_) == {name for name, n in seen.items() if n}
    kept = LogLinearClassifier(function, min_frequency=5).fit(X, y).joint_feature_names_
    assert set(kept) == {name for name, n in seen.items() if n >= 5}


def test_templates_do_not_collide():
    features = ProductFeatures(lambda x: [f"1={x}", f"2={x}"])
    model = LogLinearClassifier(features).fit(["a", "b"], ["u", "v"])
    assert len(set(model.joint_feature_names_)) == len(model.coef_) == 4


def test_hashing():
    X, y = data()
    named = LogLinearClassifier(function, tol=1e-9).fit(X, y)
    wide = LogLinearClassifier(PRODUCTS, n_features=2**22, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(wide.predict_proba(X), named.predict_proba(X), atol=1e-6)
    narrow = LogLinearClassifier(function, n_features=8).fit(X, y)
    assert narrow.coef_.shape == (8,)
    with pytest.raises(AttributeError, match="have no names"):
        _ = narrow.joint_feature_names_


@pytest.mark.parametrize("features", [PRODUCTS, function])
def test_candidates(features):
    X, y = data()
    model = LogLinearClassifier(features, CANDIDATES[1]).fit(X, y := [x[1] for x in X])
    p = model.predict_proba(X)
    for x, row in zip(X, p):
        assert {str(k) for k in model.classes_[row > 0]} == set(CANDIDATES[1](x))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    assert model.intercept_.tolist() == [0] * 5
    assert model.loss_curve_[-1] == pytest.approx(
        objective(model, X, y, np.ones(len(y))), rel=1e-10
    )
    a = [x for x in X if x[0] == "a" and x[1] != "a"]
    assert np.isneginf(model.log_proba(a, ["a"] * len(a))).all()


def test_candidates_that_are_no_label_of_the_data():
    model = LogLinearClassifier(lambda x, y: [y[0], y], lambda x: [x, x + "!"]).fit(
        ["a", "b"], ["a", "b"]
    )
    assert model.classes_.tolist() == ["a", "a!", "b", "b!"]
    assert model.predict(["a", "b"]).tolist() == ["a", "b"]


@pytest.mark.parametrize("features", [PRODUCTS, function])
def test_log_proba_and_predictions_agree(features, monkeypatch):
    X, y = data()
    model = LogLinearClassifier(features).fit(X, y)
    p = model.predict_proba(X)
    assert model.predict(X).tolist() == model.classes_[p.argmax(axis=1)].tolist()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)
    codes = np.searchsorted(model.classes_, y)
    np.testing.assert_allclose(
        np.exp(model.log_proba(X, y)), p[np.arange(len(y)), codes], rtol=1e-12
    )
    assert model.score(X, y) == pytest.approx(np.mean(model.predict(X) == y))
    monkeypatch.setattr("sklearn_struct.estimators.log_linear.input_forms.CELLS", 300)
    np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-12)
    with pytest.raises(UnknownLabelError, match=r"^y\[1\]: label 'z' was not seen"):
        model.log_proba(X[:2], ["a", "z"])


@pytest.mark.parametrize(
    "features", [PRODUCTS, function, None], ids=["products", "function", "table"]
)
def test_threads_do_not_show(features):
    X, y = data(400) if features else load_iris(return_X_y=True)
    one, three = (LogLinearClassifier(features, n_jobs=n).fit(X, y) for n in (1, 3))
    assert one.coef_.tobytes() == three.coef_.tobytes()
    assert one.loss_curve_ == three.loss_curve_


def test_an_example_of_weight_two_is_two():
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, size=len(y))
    for features in (PRODUCTS, function):
        once = LogLinearClassifier(features, min_frequency=3, tol=1e-9).fit(X, y, weight)
        again = [i for i, w in enumerate(weight) for _ in range(w)]
        twice = LogLinearClassifier(features, min_frequency=3, tol=1e-9).fit(
            [X[i] for i in again], [y[i] for i in again]
        )
        assert set(once.joint_feature_names_) == set(twice.joint_feature_names_)
        np.testing.assert_allclose(once.predict_proba(X), twice.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("features", "candidates", "X", "y", "error", "message"),
    [
        (
            function,
            None,
            ["ab"],
            ["a", "b"],
            LengthMismatchError,
            "X has 1 inputs but y has 2 labels",
        ),
        (function, None, [], [], EmptyDataError, "no inputs"),
        (function, None, "ab", ["a", "b"], InputTypeError, "X must be a list of inputs, got str"),
        (function, None, ["ab"], None, ValueError, "requires y"),
        (
            function,
            None,
            ["ab", "cd"],
            ["a", None],
            UnknownLabelError,
            r"^y\[1\]: the label is missing",
        ),
        (
            lambda x, y: 5,
            None,
            ["ab"],
            ["a"],
            InputTypeError,
            r"features of X\[0\] and label 'a': ",
        ),
        (
            lambda x, y: {"f": np.inf},
            None,
            ["a"],
            ["a"],
            NonFiniteError,
            r"X\[0\] and label 'a': feature 'f': not",
        ),
        (
            ProductFeatures(lambda x: [x], lambda y: 5),
            None,
            ["a"],
            ["u"],
            InputTypeError,
            r"features of label 'u': ",
        ),
        (ProductFeatures(lambda x: 5), None, ["a"], ["u"], InputTypeError, r"features of X\[0\]: "),
        (
            function,
            lambda x: ["b"],
            ["ab", "cd"],
            ["b", "a"],
            ForbiddenLabelError,
            r"y\[1\]: label 'a' is not among",
        ),
        (lambda x, y: [], lambda x: ["a", "b"], ["a"], ["a"], EmptyDataError, "no joint feature"),
        (None, lambda x: ["a"], [[1.0], [2.0]], ["a", "b"], ValueError, "need a function"),
        (3, None, ["a"], ["a"], ValueError, "'features' parameter"),
    ],
)
def test_bad_input_is_a_clear_error_that_changes_nothing(
    features, candidates, X, y, error, message
):
    good, labels = data(10)
    model = LogLinearClassifier(PRODUCTS).fit(good, labels)
    before = vars(model).copy()
    with pytest.raises(error, match=message):
        model.set_params(features=features, candidates=candidates).fit(X, y)
    model.set_params(features=PRODUCTS, candidates=None)
    assert vars(model) == before
    model.predict(good)


def test_errors_in_predictions_name_the_input(monkeypatch):
    monkeypatch.setattr("sklearn_struct.estimators.log_linear.input_forms.CELLS", 1)
    model = LogLinearClassifier(lambda x, y: [x + y] if x != "bad" else 5).fit(
        ["a", "b"], ["u", "v"]
    )
    with pytest.raises(InputTypeError, match=r"features of X\[2\] and label 'u'"):
        model.predict(["a", "b", "bad"])


def test_weights_of_zero():
    with pytest.raises(ValueError, match=r"no example has a positive weight|at least one non-zero"):
        LogLinearClassifier(function).fit(*data(3), sample_weight=np.zeros(3))


def test_model_selection_and_pickles():
    X, y = data()
    assert cross_val_score(LogLinearClassifier(PRODUCTS), X, y, cv=2).shape == (2,)
    search = GridSearchCV(
        LogLinearClassifier(PRODUCTS), {"C": [0.1, 1.0], "features__label": [None, parts]}, cv=2
    )
    search.fit(X, y)
    assert search.best_params_.keys() == {"C", "features__label"}
    model = LogLinearClassifier(PRODUCTS).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


def test_verbose_and_warnings(capsys):
    X, y = data()
    with pytest.warns(UserWarning, match="'gradient' stopped after 2 iterations"):
        LogLinearClassifier(PRODUCTS, solver="gradient", max_iter=2, verbose=1).fit(X, y)
    assert capsys.readouterr().out.startswith("[LogLinearClassifier] iteration 1, objective ")


def test_numeric_labels_and_one_label():
    features = ProductFeatures(lambda x: [str(x)])
    assert LogLinearClassifier(features).fit([1, 2, 3], [7, 8, 9]).predict([2, 3]).tolist() == [
        8,
        9,
    ]
    only = LogLinearClassifier(features).fit([1, 2], ["a", "a"])
    assert only.predict_proba([5]).tolist() == [[1.0]]
