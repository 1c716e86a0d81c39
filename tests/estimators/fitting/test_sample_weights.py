"""Weights of tokens and labels: what they mean, where they mean nothing, and mistakes in them."""

from __future__ import annotations

import naive
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from sklearn_struct import LinearChainCRF, SequenceArray, SequenceVectorizer
from sklearn_struct.containers.ragged import cut
from sklearn_struct.estimators.fitting import solving
from sklearn_struct.estimators.fitting.sample_weights import (
    by_sequence,
    class_weights,
    flatten,
    is_per_token,
)
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)


def rows(n=150, n_labels=3, n_features=4):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, n_features))
    y = (
        X @ rng.normal(size=(n_features, n_labels)) + rng.gumbel(size=(n, n_labels)) + [2, 0, -1]
    ).argmax(axis=1)
    return X, np.array(["a", "b", "c"])[y], rng.uniform(0, 2, n) * (rng.uniform(size=n) > 0.1)


@pytest.fixture(scope="module")
def data():
    """Sequences of numbers, labels that depend on them and on the label before, and weights of
    tokens.
    """
    rng = np.random.RandomState(0)
    X = []
    y = []
    weight = []
    for n in rng.randint(1, 5, size=40):
        tokens = rng.normal(size=(n, 2))
        labels = []
        for row in tokens:
            scores = np.array([row[0], row[1], -1.0]) + 2.0 * np.array(
                [labels[-1:] == [k] for k in "xyz"]
            )
            labels.append("xyz"[int(np.argmax(scores + rng.gumbel(size=3)))])
        X = [*X, tokens]
        y = [*y, labels]
        weight.append(rng.choice([0.0, 0.5, 1.0, 3.0], size=n))
    return X, y, weight


def objective(crf, X, y, weight):
    """Objective / C by enumeration."""
    total = 0.0
    for tokens, labels, omega in zip(X, y, weight):
        twin = naive.Chain(tokens @ crf.coef_.T + crf.intercept_, crf.transition_.reshape(1, -1))
        codes = np.searchsorted(crf.classes_, labels)
        total -= omega @ np.log(twin.node[np.arange(len(codes)), codes].astype(float))
    return total + (np.sum(crf.coef_**2) + np.sum(crf.transition_**2)) / (2 * crf.C)


# ---------------------------------------------------------------- what they mean


@pytest.mark.parametrize("class_weight", [None, {"x": 0.2, "z": 4.0}])
def test_the_optimum_of_weighted_tokens(data, class_weight):
    """The value by enumeration, which no step from there improves; a penalty this strong leaves one
    optimum.
    """
    X, y, weight = data
    crf = LinearChainCRF(C=0.5, loss="pointwise", class_weight=class_weight, tol=1e-8).fit(
        X, y, weight
    )
    if class_weight:
        weight = [
            omega * [class_weight.get(k, 1.0) for k in labels] for omega, labels in zip(weight, y)
        ]
    lowest = objective(crf, X, y, weight)
    assert crf.loss_curve_[-1] == pytest.approx(lowest, rel=1e-12)
    rng = np.random.RandomState(0)
    w = crf._w.copy()
    for _ in range(20):
        crf._w = w + 1e-3 * rng.normal(size=len(w))
        assert objective(crf, X, y, weight) > lowest


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("owlqn", {}),
        ("cg", {}),
        ("gradient", {}),
        ("sag", {"random_state": 0}),
        ("sgd", {"random_state": 0, "tol": 1e-7}),
    ],
)
def test_solvers_find_the_same_optimum(data, solver, options):
    X, y, weight = data
    options = {"loss": "pointwise", "C": 0.5, "tol": 1e-7, "max_iter": 2000} | options
    best = LinearChainCRF(solver="lbfgs", **(options | {"random_state": None})).fit(X, y, weight)
    other = LinearChainCRF(solver=solver, **options).fit(X, y, weight)
    np.testing.assert_allclose(other._w, best._w, atol=0.02 if solver == "sgd" else 1e-5)


def test_l1(data):
    X, y, weight = data
    crf = LinearChainCRF(C=0.5, l1_ratio=1.0, loss="pointwise", tol=1e-6).fit(X, y, weight)
    assert 0 < np.count_nonzero(crf.transition_) < 9
    assert crf.n_iter_ < 1000


@pytest.mark.parametrize("form", ["lists", "packed", "object array"])
def test_forms_of_token_weights(data, form):
    X, y, weight = data
    expected = LinearChainCRF(loss="pointwise").fit(X, y, weight)
    given = np.empty(len(weight), dtype=object)
    given[:] = weight
    given = {
        "lists": [w.tolist() for w in weight],
        "packed": SequenceArray.from_sequences(weight),
        "object array": given,
    }[form]
    assert LinearChainCRF(loss="pointwise").fit(X, y, given)._w.tobytes() == expected._w.tobytes()
    assert expected.score(X, y, given) == expected.score(X, y, weight)


def test_equal_weights_of_tokens_are_the_weight_of_their_sequence(data):
    X, y, _ = data
    weight = np.random.RandomState(1).uniform(0, 2, size=len(X))
    tokens = [np.full(len(labels), w) for w, labels in zip(weight, y)]
    a, b = (LinearChainCRF(loss="pointwise", tol=1e-8).fit(X, y, w) for w in (weight, tokens))
    np.testing.assert_allclose(a._w, b._w, atol=1e-6)
    assert a.score(X, y, weight) == pytest.approx(a.score(X, y, tokens), rel=1e-12)


def test_score_of_weighted_tokens(data):
    X, y, weight = data
    crf = LinearChainCRF().fit(X, y)
    right = np.concatenate([np.array(a) == np.array(b) for a, b in zip(crf.predict(X), y)])
    assert crf.score(X, y, weight) == pytest.approx(
        np.average(right, weights=np.concatenate(weight)), rel=1e-12
    )


def test_labels_of_weight_zero_are_not_read():
    """Neither for the loss nor for which pairs exist; so unknown labels may be written as any."""
    X = [["a", "b", "c"], ["b", "a"], ["c"]] * 3
    y, other = ([["A", "B", k], ["B", "A"], ["B"]] * 3 for k in "BA")
    weight = [[1, 1, 0], [1, 2], [1]] * 3
    options = {"loss": "pointwise", "transition_features": "observed"}
    a, b = (LinearChainCRF(**options).fit(X, labels, weight) for labels in (y, other))
    assert a._w.tobytes() == b._w.tobytes()
    assert a.coef_.nnz == 3
    assert np.count_nonzero(a.transition_) == 2


def test_frequencies_count_weights_of_tokens():
    X = [["a", "b", "c"], ["a", "b"]]
    y = [["A", "B", "B"], ["A", "B"]]
    weight = [[1.5, 0.5, 5.0], [0.5, 0.5]]
    crf = LinearChainCRF(loss="pointwise", min_frequency=2, class_weight={"A": 0.1, "B": 9.0}).fit(
        X, y, weight
    )
    assert {(crf.classes_[k], crf.feature_names_in_[f]) for k, f in zip(*crf.coef_.nonzero())} == {
        ("A", "a"),
        ("B", "c"),
    }


@pytest.mark.parametrize("sparse", [False, True])
def test_pointwise_of_rows_is_the_likelihood(sparse):
    X, y, weight = rows()
    X = sp.csr_array(X) if sparse else X
    a, b = (
        LinearChainCRF(loss=loss, tol=1e-9).fit(X, y, weight)
        for loss in ("log_likelihood", "pointwise")
    )
    np.testing.assert_allclose(a._w, b._w, atol=1e-7)
    assert a.loss_curve_[-1] == pytest.approx(b.loss_curve_[-1], rel=1e-12)


@pytest.mark.parametrize("loss", ["log_likelihood", "pointwise"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_weight", ["balanced", {"a": 3.0, "c": 0.5}])
def test_class_weights_of_rows_are_those_of_logistic_regression(class_weight, weighted, loss):
    X, y, weight = rows()
    expected = class_weight
    # whose weights of labels older versions count without those of rows
    if class_weight == "balanced":
        seen = np.array([weight[y == k].sum() if weighted else np.sum(y == k) for k in "abc"])
        expected = dict(zip("abc", seen.sum() / (3 * seen)))
    weight = weight if weighted else None
    expected = LogisticRegression(class_weight=expected, tol=1e-12, max_iter=20_000).fit(
        X, y, weight
    )
    crf = LinearChainCRF(loss=loss, class_weight=class_weight, tol=1e-9).fit(X, y, weight)
    np.testing.assert_allclose(crf.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(crf.coef_, expected.coef_, atol=1e-5)


def test_partial_fit_of_weighted_tokens(data):
    """Tokens of weight 0 teach nothing; a batch is weighed as it is, not relatively to itself."""
    X, y, weight = data
    crf = LinearChainCRF(
        loss="pointwise", solver="sgd", feature_pairs="all", random_state=0, class_weight={"z": 2.0}
    )
    crf.partial_fit(X, y, ["x", "y", "z"], weight)
    one_more = crf.partial_fit(X[:1], y[:1], sample_weight=[[1.0] * len(y[0])])._w.copy()
    assert crf.t_ == sum(bool(np.any(omega)) for omega in weight) + 1
    assert np.all(np.isfinite(one_more))
    with pytest.raises(EmptyDataError, match="no token"):
        crf.partial_fit(X[:1], y[:1], sample_weight=[[0.0] * len(y[0])])


def test_grid_search_over_losses_and_class_weights(data):
    X, y, weight = data
    grid = {"loss": ["pointwise"], "class_weight": [None, "balanced"]}
    search = GridSearchCV(LinearChainCRF(), grid, cv=3, error_score="raise").fit(
        X, y, sample_weight=weight
    )
    assert np.all(search.cv_results_["mean_test_score"] > 0.4)


def test_auto_takes_no_sag(monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 1)
    monkeypatch.setattr(solving, "LARGE_SCORES", 0)
    monkeypatch.setattr(solving, "FEWEST_EXAMPLES", 1)
    monkeypatch.setitem(solving.SOLVERS, "sag", lambda *args, **options: pytest.fail("sag"))
    X = SequenceVectorizer().fit_transform([[f"w{i}", f"w{i + 1}"] for i in range(20)])
    assert LinearChainCRF(loss="pointwise").fit(X, [["A", "B"]] * 20).n_iter_ > 0


# ---------------------------------------------------------------- where they mean nothing


@pytest.mark.parametrize("solver", ["lbfgs", "sgd", "ap", "pa"])
def test_weights_of_tokens_need_the_pointwise_loss(data, solver):
    X, y, weight = data
    crf = LinearChainCRF(solver=solver)
    with pytest.raises(
        ValueError,
        match=r"a sample_weight for each token needs .*loss='pointwise'.*no weight",
    ):
        crf.fit(X, y, weight)
    for class_weight in ("balanced", {"x": 2.0}):
        with pytest.raises(
            ValueError,
            match=r"class_weight needs .*loss='pointwise'.*no weight",
        ):
            crf.set_params(class_weight=class_weight).fit(X, y)
    assert not hasattr(crf, "classes_")


@pytest.mark.parametrize("solver", ["newton-cg", "trust-ncg", "ap", "pa"])
def test_solvers_that_do_not_serve_the_pointwise_loss(data, solver):
    X, y, weight = data
    with pytest.raises(
        ValueError, match=f"solver='{solver}' (needs second derivatives|has a loss of its own)"
    ):
        LinearChainCRF(solver=solver, loss="pointwise").fit(X, y, weight)


def test_balanced_needs_all_labels():
    crf = LinearChainCRF(loss="pointwise", solver="sgd", class_weight="balanced")
    with pytest.raises(ValueError, match="'balanced' needs all labels at once"):
        crf.partial_fit(np.eye(2), ["a", "b"], ["a", "b"])


# ---------------------------------------------------------------- mistakes


MISTAKES = [
    (
        [[1.0, 2.0], [1.0, np.nan, 1.0]],
        NonFiniteError,
        r"sample_weight\[1\], token 1: not finite \(nan\)",
    ),
    ([[1.0, np.inf], [1.0] * 3], NonFiniteError, r"sample_weight\[0\], token 1: not finite"),
    ([[1.0, 2.0], [1.0, 1.0, -2.0]], ValueError, r"sample_weight\[1\], token 2: negative \(-2.0\)"),
    (
        [[1.0, 2.0], [1.0]],
        LengthMismatchError,
        r"X\[1\] has 3 tokens but sample_weight\[1\] has 1 weights",
    ),
    ([[1.0, 2.0]], LengthMismatchError, "X has 2 sequences but sample_weight has 1"),
    ([[1.0, 2.0], 1.0], LengthMismatchError, r"sample_weight\[1\] has the shape \(\)"),
    (
        [[1.0, 2.0], ["a", "b", "c"]],
        InputTypeError,
        r"sample_weight\[1\]: weights must be real numbers",
    ),
    ([[1.0, 2.0], [None, [1], 1]], InputTypeError, r"sample_weight\[1\]"),
    ([[0.0, 0.0], [0.0] * 3], EmptyDataError, "no token has a positive weight"),
    (np.ones((2, 2)), LengthMismatchError, r"X\[1\] has 3 tokens but sample_weight\[1\] has 2"),
]


@pytest.mark.parametrize(("weight", "exception", "match"), MISTAKES)
def test_mistakes_in_token_weights(weight, exception, match):
    X = [["a", "b"], ["c", "d", "e"]]
    y = [["A", "B"], ["A", "B", "A"]]
    crf = LinearChainCRF(loss="pointwise")
    with pytest.raises(exception, match=match):
        crf.fit(X, y, weight)
    assert not hasattr(crf, "classes_")


@pytest.mark.parametrize(
    ("class_weight", "match"),
    [
        ({"A": -1.0}, r"class_weight\['A'\]: .*got -1.0"),
        ({"B": np.nan}, r"class_weight\['B'\]"),
        ({"A": 2.0, "C": 1.0}, r"class_weight: 'C' is no label of y, which has \['A', 'B'\]"),
        ({"A": 0, "B": 0}, "no token has a positive weight"),
    ],
)
def test_mistakes_in_class_weights(class_weight, match):
    for X, y in (([["a", "b"]], [["A", "B"]]), (np.eye(2), ["A", "B"])):
        with pytest.raises(ValueError, match=match):
            LinearChainCRF(loss="pointwise", class_weight=class_weight).fit(X, y)


# ---------------------------------------------------------------- pieces


def test_is_per_token():
    assert not any(
        map(is_per_token, [None, [], [1, 2], np.ones(2), np.array([1, 2], object), ["a"], 3])
    )
    assert all(
        map(
            is_per_token,
            [[[1]], [[], [2]], SequenceArray([1.0], [0, 1]), np.ones((2, 1)), [np.ones(2)]],
        )
    )


def test_flatten():
    assert flatten([[1], [], [2, 3]], np.array([0, 1, 1, 3])).tolist() == [1.0, 2.0, 3.0]
    assert flatten([], np.array([0])).tolist() == []


def test_class_weights():
    classes = np.array(["A", "B", "C"])
    codes = np.array([0, 0, 1, 0])
    weight = np.array([1.0, 2.0, 1.0, 0.0])
    assert class_weights("balanced", classes, codes, weight).tolist() == [2 / 3, 2.0, 0.0]
    assert class_weights({"B": 3}, classes, codes, weight).tolist() == [1.0, 3.0, 1.0]
    assert class_weights({"A": 1, "B": 2, "C": 3, "D": 4}, classes, codes, weight).tolist() == [
        1.0,
        2.0,
        3.0,
    ]


def test_by_sequence():
    weight = np.array([1.0, 3.0, 0.0, 0.0, 5.0])
    offsets = np.array([0, 2, 2, 4, 5])
    mean, share = by_sequence(weight, offsets)
    assert mean.tolist() == [2.0, 0.0, 0.0, 5.0]
    assert [part.tolist() for part in cut(share, offsets)] == [[0.5, 1.5], [], [0.0, 0.0], [1.0]]


@pytest.mark.parametrize("value", ["x", [1], 1j, None, pd.NA], ids=str)
def test_class_weights_that_are_no_numbers(value):
    with pytest.raises(
        InputTypeError, match=r"class_weight\['A'\]: a weight must be a real number"
    ):
        LinearChainCRF(loss="pointwise", class_weight={"A": value}).fit([["u", "v"]], [["A", "B"]])


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([1j, 1], "sample_weight"),
        ([pd.NA, 1], "sample_weight"),
        ({"a": 1}, "weight"),
        ([1e308, 1e308], "not finite"),
    ],
    ids=str,
)
def test_sample_weights_that_are_no_weights(weight, match):
    with pytest.raises((TypeError, ValueError), match=match):
        LinearChainCRF().fit([["u"], ["v"]], [["A"], ["B"]], weight)
