"""Forbidden transitions, priors and several starts."""

from __future__ import annotations

from itertools import pairwise

import naive
import numpy as np
import pytest

from sklearn_struct import HMM
from sklearn_struct.estimators.hidden_states.restarts import seeds
from sklearn_struct.exceptions import (
    ForbiddenLabelError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ORDERS = pytest.mark.parametrize("order", [1, 2])
COVARIANCES = pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])


def phases(seed=0, n=12):
    """Sequences that go through three phases, each of two numbers a token."""
    rng = np.random.RandomState(seed)
    y = [np.repeat(np.arange(3), rng.randint(2, 6, size=3)) for _ in range(n)]
    return [rng.normal(4.0 * states[:, None], 1.0, (len(states), 2)) for states in y], y


def steps_of(hmm):
    """Probabilities of the next label after each label, in the order of first and later pairs."""
    table = np.exp(hmm.transition_logprob_)
    if table.ndim == 2:
        return [table]
    return [*table, np.exp(hmm.pair_start_logprob_)]


# ---------------------------------------------------------------- topologies


@ORDERS
@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("init", ["auto", "random"])
def test_from_left_to_right(order, stop, init):
    X, y = phases()
    hmm = HMM(
        order=order,
        stop=stop,
        n_states=3,
        allowed_transitions="left-to-right",
        transition_smoothing=0.5,
        init=init,
        random_state=1,
        max_iter=1,
    )
    for max_iter in (1, 2, 50):
        hmm.set_params(max_iter=max_iter).fit(X)
        assert np.exp(hmm.start_logprob_).tolist() == [1.0, 0.0, 0.0]
        for steps in steps_of(hmm):
            forbidden = ~np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)
            assert np.all(steps[forbidden] == 0.0)
        assert np.all(np.diff(hmm.loss_curve_) <= 1e-9)
        assert np.isfinite(hmm.loss_curve_).all()
    if init == "auto":
        assert np.mean(np.concatenate(hmm.predict(X)) == np.concatenate(y)) > 0.95
        drawn = hmm.sample(5, 0, length=None if stop else 8)[1]
        assert all(labels[0] == 0 for labels in drawn)
        assert all(np.isin(np.diff(labels), [0, 1]).all() for labels in drawn)


@ORDERS
def test_counts_without_what_is_forbidden(order):
    X = [["a", "b", "a"], ["b", "b"]]
    y = [["A", "B", "A"], ["B", "B"]]
    matrix = np.array([[False, True], [True, True]])
    hmm = HMM(
        order=order, oov="smoothing", allowed_transitions=matrix, transition_smoothing=1.0
    ).fit(X, y)
    if order == 1:
        # A is followed by B once, and ends once; B by A, by B, and ends once
        np.testing.assert_allclose(np.exp(hmm.transition_logprob_), [[0, 0.5], [1 / 3, 1 / 3]])
        np.testing.assert_allclose(np.exp(hmm.stop_logprob_), [0.5, 1 / 3])
    else:
        # after A first: B once, and both B and the end once more
        np.testing.assert_allclose(np.exp(hmm.pair_start_logprob_[0]), [0, 2 / 3])
        np.testing.assert_allclose(np.exp(hmm.single_stop_logprob_[0]), 1 / 3)
        assert np.all(hmm.transition_logprob_[:, 0, 0] == -np.inf)
    assert hmm.log_likelihood([["a", "b"]]) > -np.inf


def test_the_same_as_for_chains():
    """A dict also says where a sequence begins and ends; schemes are known by name."""
    X = [["a", "b", "c"], ["b", "c"]]
    y = [["O", "B-X", "I-X"], ["B-X", "I-X"]]
    hmm = HMM(oov="smoothing", allowed_transitions="BIO", transition_smoothing=1.0).fit(X, y)
    classes = hmm.classes_.tolist()
    inside = classes.index("I-X")
    assert hmm.start_logprob_[inside] == -np.inf
    assert hmm.transition_logprob_[classes.index("O"), inside] == -np.inf
    rule = {None: ["I-X"], "O": ["I-X"], "B-X": [None]}
    hmm = HMM(oov="smoothing", allowed_transitions=rule, transition_smoothing=1.0).fit(X, y)
    assert hmm.start_logprob_[inside] == -np.inf
    assert hmm.transition_logprob_[classes.index("O"), inside] == -np.inf
    assert hmm.stop_logprob_[classes.index("B-X")] == -np.inf
    rows = np.exp(hmm.transition_logprob_).sum(axis=1) + np.exp(hmm.stop_logprob_)
    np.testing.assert_allclose(rows, 1.0)


@pytest.mark.twins
@ORDERS
def test_partly_known_labels_by_enumeration(order):
    X, y = phases(1, 4)
    X = [rows[:4] for rows in X]
    known = [[labels[0], None, None, labels[3]] for labels in y]
    hmm = HMM(order=order, n_states=3, allowed_transitions="left-to-right", max_iter=20)
    hmm.fit(X, known)
    rule = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)
    for rows in X:
        twin = naive.Hidden(hmm, rows)
        possible = twin.log_p > -np.inf
        for labels in np.array(list(twin.y))[possible]:
            assert labels[0] == 0
            assert all(rule[j, k] for j, k in pairwise(labels))


@ORDERS
def test_models_to_start_from_respect_it(order):
    X, y = phases()
    init = HMM(order=order, transition_smoothing=1.0).fit(X, y)
    hmm = HMM(order=order, allowed_transitions="left-to-right", max_iter=2).fit(X, init=init)
    assert np.exp(hmm.start_logprob_).tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="start of `init` has a probability above 0 where"):
        HMM(order=order, allowed_transitions="left-to-right", fixed=["start"]).fit(X, init=init)
    with pytest.raises(ValueError, match="transition of `init` has a probability above 0"):
        hmm.set_params(fixed=["transition"]).fit(X, init=init)


def test_mistakes_of_topologies():
    X, y = phases(0, 3)
    hmm = HMM(allowed_transitions="left-to-right")
    with pytest.raises(ForbiddenLabelError, match=r"y\[1\], token 0: .* forbids the label 2 here"):
        hmm.fit(X, [y[0], y[1][::-1], y[2]])
    gap = [y[0], [0, None, *y[1][2:]], [0, None, 2, *[None] * (len(y[2]) - 3)]]
    hmm.fit(X, gap)
    gap[2][1:3] = [2, None]
    with pytest.raises(ForbiddenLabelError, match=r"y\[2\], token 1: .* forbids the label 2 here"):
        hmm.fit(X, gap)
    hmm.fit(X, gap, sample_weight=[1, 1, 0])
    for rule, error, message in (
        (np.ones((2, 2), dtype=bool), LengthMismatchError, r"but 3 labels need \(3, 3\)"),
        ({"a": [0]}, UnknownLabelError, "label 'a' was not seen"),
        ({None: [0, 1, 2]}, ValueError, "forbids every label at the start"),
        ({0: [0, 1, 2, None]}, ValueError, "leaves no way on from label 0"),
    ):
        with pytest.raises(error, match=message):
            HMM(allowed_transitions=rule).fit(X, y)
    with pytest.raises(ValueError, match="forbids 0 at the end, which needs stop=True"):
        HMM(allowed_transitions={0: [None]}, stop=False).fit(X, y)
    with pytest.raises(ForbiddenLabelError, match=r"X\[0\], token 1: .* allows no label here"):
        # a single label that may not follow itself, and two tokens
        HMM(n_states=1, allowed_transitions=np.zeros((1, 1), dtype=bool)).fit([["a", "b"]])


# ---------------------------------------------------------------- priors


@ORDERS
def test_a_table_is_added_to_transitions_alone(order):
    X = [["a", "b", "a"], ["b"]]
    y = [["A", "B", "A"], ["B"]]
    more = np.array([[1.0, 0.0], [2.0, 3.0]])
    hmm = HMM(order=order, oov="smoothing", transition_smoothing=more).fit(X, y)
    np.testing.assert_allclose(np.exp(hmm.start_logprob_), [0.5, 0.5])
    if order == 1:
        np.testing.assert_allclose(
            np.exp(hmm.transition_logprob_), [[1 / 3, 1 / 3], [3 / 7, 3 / 7]]
        )
        np.testing.assert_allclose(np.exp(hmm.stop_logprob_), [1 / 3, 1 / 7])
    else:
        np.testing.assert_allclose(np.exp(hmm.pair_start_logprob_), [[0.5, 0.5], [1 / 3, 0.5]])
        np.testing.assert_allclose(np.exp(hmm.single_stop_logprob_), [0, 1 / 6])
    same = HMM(order=order, oov="smoothing", transition_smoothing=np.zeros((2, 2))).fit(X, y)
    plain = HMM(order=order, oov="smoothing").fit(X, y)
    np.testing.assert_array_equal(same.transition_logprob_, plain.transition_logprob_)
    for wrong, error in (
        (np.ones((3, 3)), LengthMismatchError),
        (-more, ValueError),
        (more * np.nan, NonFiniteError),
    ):
        with pytest.raises(error, match="transition_smoothing"):
            HMM(transition_smoothing=wrong).fit(X, y)


def test_formulas_of_the_docstring():
    rng = np.random.RandomState(0)
    x = rng.normal(size=(30, 2))
    y = rng.randint(2, size=30)
    k = 3.0
    r = 5.0
    hmm = HMM(covariance_type="full", mean_smoothing=k, covariance_smoothing=r).fit([x], [y])
    m = x.mean(axis=0)
    S = np.cov(x.T, bias=True)
    for label in (0, 1):
        own = x[y == label]
        n = len(own)
        u = (own.sum(axis=0) + k * m) / (n + k)
        A = (own - u).T @ (own - u)
        V = (A + k * np.outer(u - m, u - m) + r * S) / (n + r)
        np.testing.assert_allclose(hmm.means_[label], u)
        np.testing.assert_allclose(hmm.covariances_[label], V)


def test_least_variances_hold_for_what_priors_make():
    """Not for the variance of the tokens alone, which is below."""
    x = np.array([0.0, 0.1, 10.0, 14.0])
    y = [0, 0, 1, 1]
    hmm = HMM(covariance_smoothing=2.0, min_variance=0.45).fit([x[:, None]], [y])
    floor = 0.45 * x.var()
    expected = [(2 * x[:2].var() + 2 * x.var()) / 4, (2 * x[2:].var() + 2 * x.var()) / 4]
    assert x[:2].var() < x[2:].var() < floor < min(expected)
    np.testing.assert_allclose(hmm.covariances_[:, 0], expected)


@COVARIANCES
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("smoothing", [(2.0, 0.0), (0.0, 2.0), (3.0, 1.5)])
def test_curves_with_priors_never_rise(kind, missing, smoothing):
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(15, 3)) + rng.randint(2, size=(15, 1)) for _ in range(6)]
    if missing:
        X = [np.where(rng.uniform(size=rows.shape) < 0.2, np.nan, rows) for rows in X]
    options = {"mean_smoothing": smoothing[0], "covariance_smoothing": smoothing[1]}
    hmm = HMM(n_states=3, covariance_type=kind, random_state=0, tol=0, max_iter=40, **options)
    hmm.fit(X)
    assert len(hmm.loss_curve_) > 3
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-8)


@COVARIANCES
def test_what_was_learned_is_the_most_probable(kind):
    """The penalised value, written out, is lower for no other means and covariances nearby."""
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(20, 2))]
    y = [rng.randint(2, size=20)]
    k = 3.0
    r = 2.0
    hmm = HMM(covariance_type=kind, mean_smoothing=k, covariance_smoothing=r).fit(X, y)
    m = X[0].mean(axis=0)
    S = np.cov(X[0].T, bias=True)
    S = {
        "diag": np.diag(np.diag(S)),
        "spherical": np.eye(2) * np.trace(S) / 2,
    }.get(kind, S)

    def value():
        twin = naive.Hidden(hmm, X[0][:1])
        total = hmm.log_joint(X, y).sum()
        for label in (0, 1):
            V = twin.covariance(label)
            away = hmm.means_[label] - m
            total -= k / 2 * away @ np.linalg.solve(V, away)
            if kind != "tied" or label == 0:
                trace = np.trace(np.linalg.solve(V, S))
                total -= r / 2 * (np.linalg.slogdet(V)[1] + trace)
        return total

    best = value()
    assert best == pytest.approx(-hmm.loss_curve_[-1], abs=1e-9)
    covariances = hmm.covariances_
    means = hmm.means_
    for factor in (0.99, 1.01):
        hmm.covariances_ = covariances * factor
        assert value() < best
        hmm.covariances_ = covariances
        hmm.means_ = means * factor + 0.001
        assert value() < best
        hmm.means_ = means


def test_imagined_tokens_keep_small_states_from_single_tokens():
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(30, 1))]
    y = [np.arange(30) == 3]
    alone = HMM().fit(X, y)
    shared = HMM(mean_smoothing=1.0, covariance_smoothing=5.0).fit(X, y)
    assert alone.variances_[1, 0] < 1e-3 < 0.5 < shared.variances_[1, 0]
    mean = (X[0][3, 0] + X[0].mean()) / 2
    assert shared.means_[1, 0] == pytest.approx(mean)
    # symbols know nothing of these
    words = [["a", "b", "a"]]
    HMM(mean_smoothing=1.0, oov="smoothing").fit(words, [[0, 1, 0]])


# ---------------------------------------------------------------- several starts


@pytest.mark.parametrize("verbose", [0, 1])
def test_the_best_of_several_starts(verbose, capsys):
    rng = np.random.RandomState(0)
    X = [rng.choice(list("abcd"), size=25).tolist() for _ in range(4)]
    options = {"n_states": 3, "random_state": 0, "max_iter": 30}
    best = HMM(n_init=5, verbose=verbose, **options).fit(X)
    singles = [HMM(**options | {"random_state": seed}).fit(X).loss_curve_ for seed in seeds(0, 5)]
    lowest = min(singles, key=lambda curve: curve[-1])
    assert best.loss_curve_ == lowest
    assert best.n_iter_ == len(lowest)
    assert len({curve[-1] for curve in singles}) > 1
    printed = capsys.readouterr().out
    assert printed.count("iteration ") == (len(lowest) if verbose else 0)
    again = HMM(n_init=5, n_jobs=2, **options).fit(X)
    np.testing.assert_array_equal(again.transition_logprob_, best.transition_logprob_)
    # known labels and a given model say where EM starts
    given = HMM(n_init=5, **options).fit(X, init=best)
    one = HMM(**options).fit(X, init=best)
    assert given.loss_curve_ == one.loss_curve_
