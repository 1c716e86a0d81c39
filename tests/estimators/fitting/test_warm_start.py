"""Starting a fit from another one's weights: `init`, `warm_start`, and which weight goes where."""

from __future__ import annotations

import re
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from sklearn_struct import LinearChainCRF, SequenceArray
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

OLD_X = [[{"a": 1, "b": 1}, {"c": 1}, {"a": 1, "d": 2.0}], [{"d": 1}, {"b": 1, "c": 1}]]
OLD_Y = [["x", "y", "z"], ["z", "x"]]
# features c, a, new (b and d are missing) and labels w, x, z (y is missing)
NEW_X = [[{"c": 1}, {"a": 1, "new": 1}, {"a": 1, "c": 1}], [{"new": 2.0}, {"a": 1}]]
NEW_Y = [["w", "x", "z"], ["z", "w"]]


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def weights(model):
    """All weights by name: (label, feature), (label, label), (label, label, feature), label."""
    names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_)).tolist()
    labels = model.classes_.tolist()
    columns = model.edge_features_.tolist()
    pairs = [(j, k) for j in labels for k in labels]
    found = {
        ("node", label, f): w
        for label, row in zip(labels, dense(model.coef_))
        for f, w in zip(names, row)
    }
    found |= {("transition", *pair): w for pair, w in zip(pairs, model.transition_.ravel())}
    if model.order == 2:
        triples = [(i, *pair) for i in labels for pair in pairs]
        found |= {
            ("transition", *triple): w for triple, w in zip(triples, model.transition2_.ravel())
        }
        pairs += triples
    for pair, row in zip(pairs, dense(model.edge_coef_)):
        found |= {("edge", *pair, names[column]): w for column, w in zip(columns, row)}
    return found | {("intercept", label): w for label, w in zip(labels, model.intercept_)}


def pairs_with_a_weight(model):
    """The names of the weights that a model has: those that all ones fill."""
    filled = deepcopy(model)
    filled._w = np.ones(len(model._w))
    return {name for name, w in weights(filled).items() if w}


def transferred(source, target):
    """`target` with the weights that it would start from."""
    started = deepcopy(target)
    started._w = target._transferred(source)
    return started


OPTIONS = [
    {},
    {"feature_pairs": "all"},
    {"edge_features": "all"},
    {"edge_features": ["a", "c"], "feature_pairs": "all", "transition_features": "observed"},
    {"fit_intercept": False},
    {"order": 2, "edge_features": ["a", "c"]},
    {"order": 2, "feature_pairs": "all", "transition_features": "observed"},
]


@pytest.mark.parametrize("source_options", OPTIONS)
@pytest.mark.parametrize("target_options", OPTIONS)
def test_weights_go_where_their_names_are(source_options, target_options):
    source = LinearChainCRF(C=10, **source_options).fit(OLD_X, OLD_Y)
    target = LinearChainCRF(C=10, **target_options).fit(NEW_X, NEW_Y)
    old = weights(source)
    exists = pairs_with_a_weight(target)
    expected = {name: old.get(name, 0.0) if name in exists else 0.0 for name in weights(target)}
    assert weights(transferred(source, target)) == expected
    assert sum(w != 0 for w in expected.values()) >= 4


@pytest.mark.parametrize("source_form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("target_form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("edge_features", [None, [0, 2]])
def test_features_without_names_are_matched_by_position(source_form, target_form, edge_features):
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(4, 3)), rng.normal(size=(3, 3))]
    y = [[5, 3, 5, 4], [4, 5, 3]]
    options = {"feature_pairs": "all", "edge_features": edge_features}
    source = LinearChainCRF(**options).fit([source_form(s) for s in X], y)
    target = LinearChainCRF(**options).fit(
        [target_form(s) for s in X[::-1]], [[5, 4, 5], [2, 5, 4, 2]]
    )
    old = weights(source)
    assert weights(transferred(source, target)) == {
        name: old.get(name, 0.0) for name in weights(target)
    }


def test_names_on_one_side_only_are_no_names():
    tokens = np.random.RandomState(0).normal(size=(4, 2))
    offsets = [0, 2, 4]
    y = [["A", "B"], ["B", "B"]]
    named = LinearChainCRF().fit(SequenceArray(tokens, offsets, ["q", "p"]), y)
    plain = LinearChainCRF().fit(SequenceArray(tokens, offsets), y)
    for source, target in ((named, plain), (plain, named)):
        np.testing.assert_array_equal(transferred(source, target).coef_, source.coef_)
    swapped = LinearChainCRF().fit(SequenceArray(tokens[:, ::-1], offsets, ["p", "q"]), y)
    np.testing.assert_array_equal(transferred(named, swapped).coef_, named.coef_[:, ::-1])


# ---------------------------------------------------------------- fits


def problem(n=30, seed=0):
    rng = np.random.RandomState(seed)
    X = []
    y = []
    for _ in range(n):
        words = rng.randint(6, size=5)
        X.append([{"w": str(w), "first": t == 0} for t, w in enumerate(words)])
        y.append([("x", "y", "z")[k] for k in (words + (rng.uniform(size=5) < 0.3)) % 3])
    return X, y


@pytest.mark.parametrize(
    "options", [{}, {"l1_ratio": 1.0}, {"solver": "owlqn"}, {"edge_features": re.compile("w:.*")}]
)
def test_from_a_solution_there_is_little_to_do(options):
    X, y = problem()
    model = LinearChainCRF(tol=1e-6, **options)
    cold = clone(model).fit(X, y)
    for warm in (
        clone(model).fit(X, y, init=cold),
        clone(model).set_params(warm_start=True).fit(X, y).fit(X, y),
        deepcopy(cold).fit(X, y, init=cold),
    ):
        assert warm.n_iter_ <= 1 < 5 < cold.n_iter_
        np.testing.assert_allclose(dense(warm.coef_), dense(cold.coef_), atol=1e-4)
        np.testing.assert_allclose(warm.transition_, cold.transition_, atol=1e-4)
        np.testing.assert_allclose(warm.intercept_, cold.intercept_, atol=1e-4)


def test_permuted_features_and_renamed_labels():
    """A solution is one for the same features in another order, with labels added that do not
    occur.
    """
    X, y = problem()
    model = LinearChainCRF(tol=1e-6)
    cold = clone(model).fit(X, y)
    order = np.random.RandomState(1).permutation(len(X))
    again = clone(model).fit([X[i] for i in order], [y[i] for i in order], init=cold)
    assert again.feature_names_in_.tolist() != cold.feature_names_in_.tolist()
    assert again.n_iter_ <= 1
    more_X = [*X, [{"odd": True}]]
    more_y = [*y, ["new"]]
    assert (
        clone(model).fit(more_X, more_y, init=cold).n_iter_
        < clone(model).fit(more_X, more_y).n_iter_
    )
    fewer = [clone(model).fit(X[:20], y[:20], init=init).loss_curve_[0] for init in (cold, None)]
    assert fewer[0] < fewer[1]


def test_warm_start_goes_on_after_max_iter():
    X, y = problem()
    model = LinearChainCRF(tol=1e-6, max_iter=3, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        first = model.fit(X, y).loss_curve_
    with pytest.warns(ConvergenceWarning):
        second = model.fit(X, y).loss_curve_
    assert len(first) == len(second) == 3
    assert max(second) < min(first)
    assert model.set_params(max_iter=1000).fit(X, y).loss_curve_[-1] < min(second)


def test_warm_start_on_other_data():
    X, y = problem(seed=0)
    other_X, other_y = problem(n=20, seed=1)
    other_X = [*other_X, [{"odd": True}]]
    other_y = [*other_y, ["a"]]
    model = LinearChainCRF(tol=1e-6, warm_start=True).fit(X, y)
    old = deepcopy(model)
    model.fit(other_X, other_y)
    assert model.classes_.tolist() == ["a", "x", "y", "z"]
    by_init = LinearChainCRF(tol=1e-6).fit(other_X, other_y, init=old)
    assert model.coef_.data.tobytes() == by_init.coef_.data.tobytes()
    cold = LinearChainCRF(tol=1e-6).fit(other_X, other_y)
    np.testing.assert_allclose(dense(model.coef_), dense(cold.coef_), atol=1e-4)


def test_init_comes_before_warm_start():
    X, y = problem()
    model = LinearChainCRF(tol=1e-6, warm_start=True, C=1e-3).fit(X, y).set_params(C=1.0)
    assert model.fit(X, y, init=LinearChainCRF(tol=1e-6).fit(X, y)).n_iter_ <= 1


def test_without_warm_start_a_fit_starts_anew():
    X, y = problem()
    model = LinearChainCRF()
    first = model.fit(X, y).coef_.data.tobytes()
    model.fit(*problem(seed=3))
    assert model.fit(X, y).coef_.data.tobytes() == first
    assert LinearChainCRF(warm_start=True).fit(X, y).coef_.data.tobytes() == first


def test_init_from_itself_on_other_data():
    """The estimator is its own `init`: its old weights count, not what the new fit makes of it."""
    X, y = problem(n=20, seed=1)
    X = [[{"odd": True}], *X]
    y = [["a"], *y]
    model = LinearChainCRF(tol=1e-6).fit(*problem())
    expected = LinearChainCRF(tol=1e-6).fit(X, y, init=deepcopy(model))
    model.fit(X, y, init=model)
    assert model.coef_.data.tobytes() == expected.coef_.data.tobytes()


def test_sgd_starts_from_init():
    X, y = problem()
    best = LinearChainCRF(C=0.1).fit(X, y)
    model = LinearChainCRF(C=0.1, solver="sgd", random_state=0, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        assert model.fit(X, y, init=best).loss_curve_[-1] == pytest.approx(
            best.loss_curve_[-1], rel=1e-3
        )


def test_fit_leaves_init_alone():
    X, y = problem()
    source = LinearChainCRF().fit(OLD_X, OLD_Y)
    names = set(vars(source))
    w = source._w.tobytes()
    LinearChainCRF().fit(X, y, init=source)
    assert (set(vars(source)), source._w.tobytes()) == (names, w)


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("init", "match"),
    [
        (
            LinearChainCRF(),
            "init must be a fitted chain estimator or GraphCRF; this LinearChainCRF has no coef_",
        ),
        (LogisticRegression().fit(np.eye(2), [0, 1]), "this LogisticRegression has no transition_"),
        (LinearChainCRF, "init must be a fitted chain estimator"),
        (5, "init must be a fitted chain estimator or GraphCRF; this int has no"),
        ("model", "this str has no"),
        (np.ones(3), "this ndarray has no"),
    ],
)
def test_init_must_be_a_fitted_chain(init, match):
    model = LinearChainCRF().fit(OLD_X, OLD_Y)
    before = dict(vars(model))
    w = model._w.copy()
    with pytest.raises(InputTypeError, match=match):
        model.fit(NEW_X, NEW_Y, init=init)
    assert vars(model) == before
    np.testing.assert_array_equal(model._w, w)
    fresh = LinearChainCRF()
    with pytest.raises(InputTypeError, match=match):
        fresh.fit(NEW_X, NEW_Y, init=init)
    assert vars(fresh) == fresh.get_params()


def test_other_numbers_of_features_need_names():
    three = [np.eye(3)]
    two = [np.eye(2)]
    model = LinearChainCRF(warm_start=True).fit(three, [["A", "B", "A"]])
    before = dict(vars(model))
    # the last is a warm start
    for init in (deepcopy(model), LinearChainCRF().fit(OLD_X[:1], OLD_Y[:1]), None):
        with pytest.raises(
            LengthMismatchError,
            match=r"init has [34] features but X has 2, and not both have names",
        ):
            model.fit(two, [["A", "B"]], init=init)
        assert vars(model) == before
    assert model.predict(three).tolist() == [["A", "B", "A"]]


def test_an_unfitted_estimator_cannot_be_its_own_init():
    model = LinearChainCRF()
    with pytest.raises(InputTypeError, match="init must be a fitted chain estimator"):
        model.fit(OLD_X, OLD_Y, init=model)
