"""HiddenStateClassifier against an enumeration of all paths of states, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from naive_states import StatesOfClasses, objective
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_struct import HiddenStateClassifier, LinearChainCRF, SequenceArray
from sklearn_struct.containers.structures import chain
from sklearn_struct.exceptions import (
    EmptyDataError,
    ForbiddenLabelError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import bind

LENGTHS = [3, 1, 2, 4, 1, 3, 2, 3]
Y = np.array(["b", "a", "c", "a", "b", "c", "a", "b"])


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 2)) for n in LENGTHS]


def classifier(n_states=2, **options):
    return HiddenStateClassifier(n_states, **{"tol": 1e-7, "random_state": 0} | options)


def twins(model, X, **options):
    tables = model.coef_, model.transition_, model.intercept_
    return [StatesOfClasses(model.states_.tolist(), rows, *tables, **options) for rows in X]


def phases(seed, n=30):
    """Sequences whose classes have the same values in another order."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = []
    for label in y:
        n_tokens = 2 * rng.integers(2, 5)
        wave = np.where(np.arange(n_tokens) < n_tokens / 2, 1.0, -1.0) * (1 if label else -1)
        X.append(np.stack([wave, rng.normal(size=n_tokens)], axis=1))
    return X, y


# ------------------------------------------------------------------- what it computes, enumerated


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_states": 3, "C": 10.0},
        {"n_states": 1},
        {"l1_ratio": 0.5},
        {"fit_intercept": False},
        {"solver": "cg", "tol": 1e-2},
        {"solver": "em", "tol": 1e-3},
    ],
    ids=str,
)
def test_objective_and_predictions_are_those_of_all_paths(X, options):
    weight = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 1.0, 3.0, 1.0])
    model = classifier(**options).fit(X, Y, weight)
    assert model.loss_curve_[-1] == pytest.approx(objective(model, X, Y, weight), rel=1e-10)
    enumerated = twins(model, X)
    log_p = np.array([twin.log_p for twin in enumerated])
    np.testing.assert_allclose(model.predict_log_proba(X), log_p, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(log_p), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.classes_[log_p.argmax(axis=1)])
    log_Z = np.array([twin.log_Z for twin in enumerated], float)
    np.testing.assert_allclose(model.decision_function(X), log_Z, atol=1e-10)
    codes = np.searchsorted(model.classes_, Y)
    np.testing.assert_allclose(model.log_proba(X, Y), log_p[np.arange(len(Y)), codes], atol=1e-10)


@pytest.mark.parametrize("given", [True, False])
def test_states(X, given):
    model = classifier(C=10.0).fit(X, Y)
    labels = Y if given else model.predict(X)
    paths = model.predict_states(X, Y if given else None)
    marginals = model.predict_state_proba(X, Y if given else None)
    numbers = np.array([number for _, number in model.states_])
    for twin, path, table, label in zip(twins(model, X), paths, marginals, labels, strict=True):
        np.testing.assert_array_equal(path, numbers[list(twin.best_path(label))])
        np.testing.assert_allclose(table, twin.marginals(label if given else None), atol=1e-10)


def test_gradient_of_the_objective_is_enumerated(X):
    """At the end of a fit it is the opposite of the penalty's; with C = inf it is 0."""
    model = classifier(C=2.0, tol=1e-9).fit(X, Y)
    slopes = [twin.gradient(label) for twin, label in zip(twins(model, X), Y, strict=True)]
    coef, transition, intercept = (sum(parts) for parts in zip(*slopes, strict=True))
    np.testing.assert_allclose(coef, -model.coef_ / 2.0, atol=1e-7)
    np.testing.assert_allclose(transition, -model.transition_ / 2.0, atol=1e-7)
    np.testing.assert_allclose(intercept, 0.0, atol=1e-7)
    assert np.abs(coef).max() > 0.01


@pytest.mark.parametrize("n_states", [1, 2])
def test_gradients_at_any_weights_are_enumerated(X, n_states):
    """And their finite differences are second derivatives times a direction."""
    rng = np.random.default_rng(1)
    model = classifier(n_states).fit(X, Y)
    pattern = model._pattern
    packed = SequenceArray.from_sequences(X)
    potentials = bind(pattern, packed, chain(packed.offsets), np.dtype(float))
    known = model._states.of_labels[np.repeat(np.searchsorted(model.classes_, Y), LENGTHS)]
    data = TrainingData(chain(packed.offsets), Evidence(allowed=known), np.ones(len(X)))
    mean = LinearObjective(potentials, model._loss(), model._inference(), data)
    model._w = rng.normal(size=pattern.size)
    value, grad = mean.value_and_grad(model._w)
    enumerated = twins(model, X)
    losses = [twin.loss(label) for twin, label in zip(enumerated, Y, strict=True)]
    assert value == pytest.approx(np.mean(losses), rel=1e-10)
    slopes = [twin.gradient(label) for twin, label in zip(enumerated, Y, strict=True)]
    coef, transition, intercept = (np.mean(parts, axis=0) for parts in zip(*slopes, strict=True))
    moves = transition.ravel()[pattern.families[0].columns]
    expected = np.concatenate([coef.T.ravel(), moves, intercept])
    np.testing.assert_allclose(grad, expected, atol=1e-10)
    direction = rng.normal(size=pattern.size)
    step = 1e-5 * direction
    above, below = (mean.value_and_grad(w) for w in (model._w + step, model._w - step))
    assert (above[0] - below[0]) / 2e-5 == pytest.approx(grad @ direction, abs=1e-7)
    curved = (above[1] - below[1]) / 2e-5
    np.testing.assert_allclose(mean.hess_vec(model._w, direction), curved, atol=1e-7)


# ------------------------------------------------------------------------------ what it is alike


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_one_state_and_constant_sequences_are_logistic_regression_on_sums(C):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(90, 3))
    y = (rows @ rng.normal(size=(3, 3)) + rng.gumbel(size=(90, 3))).argmax(axis=1)
    X = [np.repeat(row[None], 4, axis=0) for row in rows]
    expected = LogisticRegression(C=C, tol=1e-12, max_iter=20_000).fit(4 * rows, y)
    model = classifier(1, C=C, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(4 * rows), atol=1e-6)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    # the intercept of a token stands for a fourth; as that is free, transitions cost too much
    centred = 4 * (model.intercept_ - model.intercept_.mean())
    np.testing.assert_allclose(centred, expected.intercept_ - expected.intercept_.mean(), atol=1e-5)
    np.testing.assert_allclose(model.transition_, 0.0, atol=1e-5)


def test_rows_are_sequences_of_one_token():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40, 3))
    y = rng.integers(3, size=40)
    flat = classifier().fit(rows, y)
    same = classifier().fit([row[None] for row in rows], y)
    np.testing.assert_array_equal(flat._w, same._w)
    np.testing.assert_array_equal(flat.predict(rows), same.predict([row[None] for row in rows]))
    np.testing.assert_array_equal(
        flat.predict_states(rows),
        np.concatenate(list(same.predict_states([row[None] for row in rows]))),
    )
    assert flat.predict_state_proba(rows).shape == (40, 6)


def test_forms_of_sequences_are_alike(X):
    expected = classifier(C=5.0).fit(X, Y).predict_proba(X)
    for form in (
        SequenceArray.from_sequences(X),
        [sp.csr_array(rows) for rows in X],
        [[{"a": row[0], "b": row[1]} for row in rows] for rows in X],
    ):
        model = classifier(C=5.0).fit(form, Y.tolist())
        np.testing.assert_allclose(model.predict_proba(form), expected, atol=1e-6)


def test_hidden_states_tell_orders_apart():
    """Sums of features are the same in both classes."""
    X, y = phases(0)
    X_new, y_new = phases(1, 100)
    assert classifier(2, C=10.0, n_init=3).fit(X, y).score(X_new, y_new) > 0.95
    assert classifier(1, C=10.0).fit(X, y).score(X_new, y_new) < 0.75


# ---------------------------------------------------------------------------------- its parameters


@pytest.mark.parametrize("solver", ["lbfgs", "cg", "em"])
def test_tied_weights_are_the_same_in_all_classes(solver):
    X, y = phases(0, 12)
    model = classifier(2, tied=True, C=10.0, solver=solver, tol=1e-3).fit(X, y)
    coef = model.coef_.reshape(2, 2, -1)
    np.testing.assert_array_equal(coef[0], coef[1])
    moves = model.transition_[:2, :2], model.transition_[2:, 2:]
    assert np.abs(moves[0] - moves[1]).max() > 1e-2
    losses = [twin.loss(label) for twin, label in zip(twins(model, X), y, strict=True)]
    squares = np.sum(coef[0] ** 2) + sum(np.sum(move**2) for move in moves)
    assert model.loss_curve_[-1] == pytest.approx(sum(losses) + squares / 20.0, rel=1e-10)


def test_tied_transitions():
    X, y = phases(0, 12)
    model = classifier(2, tied_transitions=True, C=10.0, tol=1e-3).fit(X, y)
    moves = model.transition_[:2, :2], model.transition_[2:, 2:]
    np.testing.assert_array_equal(moves[0], moves[1])
    assert np.abs(moves[0]).max() > 1e-2
    assert np.abs(model.coef_[:2] - model.coef_[2:]).max() > 1e-2
    squares = np.sum(model.coef_**2) + np.sum(moves[0] ** 2)
    losses = [twin.loss(label) for twin, label in zip(twins(model, X), y, strict=True)]
    assert model.loss_curve_[-1] == pytest.approx(sum(losses) + squares / 20.0, rel=1e-10)
    assert not model.transition_[:2, 2:].any()


def left_to_right(path):
    numbers = [number for _, number in path]
    steps = np.diff([0, *numbers])
    return numbers[0] == 0 and set(steps.tolist()) <= {0, 1}


def test_states_from_left_to_right(X):
    model = classifier(3, state_transitions="left-to-right", C=10.0).fit(X, Y)
    assert model.loss_curve_[-1] == pytest.approx(objective(model, X, Y, None, left_to_right))
    log_p = [twin.log_p for twin in twins(model, X, allowed=left_to_right)]
    np.testing.assert_allclose(model.predict_log_proba(X), log_p, atol=1e-10)
    for path in model.predict_states(X):
        assert left_to_right([(0, number) for number in path])
    assert model.transition_[1, 0] == model.transition_[0, 2] == 0.0
    for table in model.predict_state_proba(X):
        np.testing.assert_allclose(table[0].reshape(3, 3)[:, 1:], 0.0)


def test_moves_of_one_class(X):
    """Without a move that is allowed, longer sequences are of another class."""
    none = np.zeros((2, 2), bool)
    y = np.where(np.array(LENGTHS) == 1, "short", "long")
    model = classifier(2, state_transitions={"short": none}).fit(X, y)
    assert model.predict_proba([X[0]])[0].tolist() == [1.0, 0.0]
    with pytest.raises(ForbiddenLabelError, match=r"X\[0\], token 1: state_transitions allows no"):
        classifier(2, state_transitions={"long": none}).fit(X, y)
    both = classifier(2, state_transitions={"short": none, "long": none}).fit(
        [X[1], X[4]], ["long", "short"]
    )
    with pytest.raises(ForbiddenLabelError, match=r"X\[1\], token 1: state_transitions allows no"):
        both.predict([X[1], X[0]])


def test_more_starts_are_not_worse(X):
    model = classifier(3, C=100.0, tol=1e-3)
    ends = [model.set_params(n_init=n).fit(X, Y).loss_curve_[-1] for n in (1, 4, 8)]
    assert ends[0] >= ends[1] >= ends[2]
    model.set_params(n_init=1)
    others = [model.set_params(random_state=r).fit(X, Y).loss_curve_[-1] for r in range(8)]
    assert max(others) > min(others) + 0.01


@pytest.mark.parametrize("solver", ["lbfgs", "em"])
def test_objectives_never_rise(solver):
    X, y = phases(0)
    curve = classifier(solver=solver, tol=1e-3, C=5.0).fit(X, y).loss_curve_
    assert len(curve) > 3
    assert np.all(np.diff(curve) <= 1e-9 * np.abs(curve[:-1]))


def test_stochastic_gradients_come_near(X):
    exact = classifier(1, tol=1e-9).fit(X, Y)
    model = classifier(1, solver="sgd", max_iter=300, tol=1e-6).fit(X, Y)
    assert model.loss_curve_[-1] == pytest.approx(exact.loss_curve_[-1], rel=1e-2)


def test_weights_of_classes_are_weights_of_sequences(X):
    of_class = {"a": 2.0, "b": 0.5, "c": 1.0}
    weight = np.array([of_class[label] for label in Y])
    expected = classifier(C=3.0).fit(X, Y, weight)
    model = classifier(C=3.0, class_weight=of_class).fit(X, Y)
    np.testing.assert_allclose(model._w, expected._w, atol=1e-8)
    balanced = classifier(C=3.0, class_weight="balanced").fit(X, Y)
    same = classifier(C=3.0).fit(X, Y, np.array([8 / (3 * np.sum(label == Y)) for label in Y]))
    np.testing.assert_allclose(balanced._w, same._w, atol=1e-8)


def test_weight_zero_is_absence_and_weight_two_is_twice(X):
    weight = np.array([1, 2, 1, 0, 1, 1, 0, 1])
    order = np.repeat(np.arange(8), weight)
    model = classifier(tol=1e-9).fit(X, Y, weight)
    same = classifier(tol=1e-9).fit([X[i] for i in order], Y[order])
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"tied": True}, {"solver": "em", "max_iter": 20}])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_bits_for_any_number_of_threads(options):
    rng = np.random.default_rng(5)
    X = [rng.normal(size=(60, 2)) for _ in range(80)]
    y = rng.integers(3, size=80)
    one, four = (classifier(n_jobs=n, **({"max_iter": 10} | options)).fit(X, y) for n in (1, 4))
    np.testing.assert_array_equal(one._w, four._w)
    np.testing.assert_array_equal(one.predict_proba(X), four.predict_proba(X))


def test_starts_from_another_fit(X):
    first = classifier(C=10.0).fit(X, Y)
    again = classifier(C=10.0, tol=1e-3).fit(X, Y, init=first)
    assert again.n_iter_ <= 1
    np.testing.assert_allclose(again.coef_, first.coef_, atol=1e-3)
    warm = classifier(C=10.0, warm_start=True).fit(X, Y)
    assert warm.set_params(tol=1e-3).fit(X, Y).n_iter_ <= 1
    # a class that is new gets states that differ
    more = classifier(C=10.0).fit([*X, X[0] + 3], [*Y, "d"], init=first)
    assert np.abs(more.coef_[6] - more.coef_[7]).max() > 1e-3
    with pytest.raises(InputTypeError, match="init must be a fitted HiddenStateClassifier"):
        classifier().fit(X, Y, init=LinearChainCRF().fit(X, [["a"] * n for n in LENGTHS]))


# ---------------------------------------------------------------------------- inputs and searches


def test_searches_split_by_class():
    X, y = phases(0)
    search = GridSearchCV(classifier(tol=1e-3), {"n_states": [1, 2], "C": [0.1, 10.0]}, cv=3)
    assert search.fit(X, y).best_params_ == {"n_states": 2, "C": 10.0}
    assert cross_val_score(classifier(C=10.0, tol=1e-3), X, y).mean() > 0.9


def test_empty_sequences_may_be_of_any_class(X):
    model = classifier().fit([*X, np.empty((0, 2))], [*Y, "a"])
    without = classifier().fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), without.predict_proba(X), atol=0.05)
    np.testing.assert_allclose(model.predict_proba([np.empty((0, 2))]), np.full((1, 3), 1 / 3))
    assert [len(path) for path in model.predict_states([np.empty((0, 2)), X[0]])] == [0, 3]


def test_one_class(X):
    model = classifier().fit(X, ["only"] * len(X))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    assert model.score(X, ["only"] * len(X)) == 1.0


def test_two_classes_have_one_decision(X):
    y = np.where(Y == "a", "a", "other")
    model = classifier().fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (len(X),)
    np.testing.assert_array_equal(decision > 0, model.predict(X) == "other")


@pytest.mark.parametrize(
    ("y", "error", "place"),
    [
        (Y[:-1], LengthMismatchError, "X has 8 sequences but y has 7 labels"),
        (None, ValueError, "requires y to be passed"),
        ([*Y[:-1], None], UnknownLabelError, r"y\[7\]: the label is missing"),
        ([*Y[:-1], float("nan")], UnknownLabelError, r"y\[7\]: the label is not a number"),
        (
            [["a"] * n for n in LENGTHS],
            InputTypeError,
            r"y\[0\] is a list, which cannot be a label",
        ),
        ([*Y[:-1], {"a": 1}], InputTypeError, r"y\[7\]"),
    ],
)
def test_labels_that_are_none(X, y, error, place):
    with pytest.raises(error, match=place):
        classifier().fit(X, y)


def test_other_mistakes(X):
    with pytest.raises(InputTypeError, match=r"class_weight\['a'\]: a weight must be a real"):
        classifier(class_weight={"a": "1"}).fit(X, Y)
    with pytest.raises(EmptyDataError, match="no sequence has a positive weight"):
        classifier(class_weight={"a": 0.0, "b": 0.0, "c": 0.0}).fit(X, Y)
    with pytest.raises(ValueError, match="solver='sgd' cannot tie weights"):
        classifier(tied=True, solver="sgd").fit(X, Y)
    with pytest.raises(ValueError, match="no L1 penalty"):
        classifier(l1_ratio=0.5, solver="cg").fit(X, Y)
    with pytest.raises(LengthMismatchError, match=r"state_transitions\['a'\] has shape"):
        classifier(state_transitions={"a": np.eye(3) > 0}).fit(X, Y)
    model = classifier().fit(X, Y)
    with pytest.raises(UnknownLabelError, match=r"y\[0\]: label 'd' was not seen"):
        model.log_proba(X, ["d", *Y[1:]])
    assert model.score(X, ["d", *Y[1:]]) == pytest.approx(
        (model.score(X, Y) * 8 - (model.predict(X)[0] == Y[0])) / 8
    )
