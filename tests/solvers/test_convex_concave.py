"""Latent structured support vector machines: the convex-concave procedure on hidden states."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import GraphCRF
from sklearn_struct.solvers import convex_concave as module
from sklearn_struct.solvers.convex_concave import convex_concave
from sklearn_struct.solvers.result import Result

VALUES = [[-1, 0], [0, 1], [1, 1], [0, 0], [-1, -1], [1, -1], [0, -1, 1, 0]]
X = [
    (np.array(x, float)[:, None], np.column_stack([np.arange(len(x) - 1), np.arange(1, len(x))]))
    for x in VALUES
]
Y = [["inner" if v == 0 else "outer" for v in x] for x in VALUES]


def crf(C=10, **settings):
    return GraphCRF(loss="hinge", C=C, random_state=0, decoder="states", **settings)


@pytest.mark.parametrize("cost", [None, [[0, 2], [1, 0]]])
def test_states_learn_what_labels_alone_cannot(cost):
    """Outer values are on both sides of inner ones, which no weight of the value can say."""
    plain = GraphCRF(loss="hinge", C=10, cost=cost).fit(X, Y)
    assert plain.score(X, Y) < 0.8
    latent = crf(n_states={"outer": 2}, cost=cost).fit(X, Y)
    assert latent.score(X, Y) == 1.0
    assert latent.loss_curve_[-1] < plain.loss_curve_[-1] - plain.gap_
    # it is no global minimum, so nobody knows how far that is
    assert not hasattr(latent, "gap_")


@pytest.mark.parametrize("seed", range(3))
def test_values_fall_to_where_a_round_changes_nothing(seed):
    model = crf(n_states=2, init="random", tol=1e-6).set_params(random_state=seed, C=1)
    model.fit(X, Y)
    curve = np.array(model.loss_curve_)
    assert np.all(np.diff(curve) <= 0)
    assert model.converged_
    assert curve[-1] == pytest.approx(objective(model, model._w), rel=1e-9)
    # a round from there finds nothing lower: completed labels stay
    again = crf(n_states=2, C=1, tol=1e-6).fit(X, Y, init=model)
    assert again.loss_curve_[-1] == pytest.approx(curve[-1], rel=1e-5)


def objective(model, w):
    """Sum of losses over all labellings by states, and half the squared weights, / C."""
    states = [label for label, _ in model.states_.tolist()]
    S = len(states)
    learned = np.array(w)
    total = 0.5 * learned @ learned / model.C
    before = model._w
    try:
        model._w = learned
        node_weights = model.coef_
        table = model.transition_
        intercept = model.intercept_
        for (x, edges), y in zip(X, Y):
            node = x @ node_weights.T + intercept
            paths = np.array(np.meshgrid(*[range(S)] * len(x), indexing="ij")).reshape(len(x), -1)
            score = sum(node[i, paths[i]] for i in range(len(x)))
            score = score + sum(table[paths[a], paths[b]] for a, b in edges)
            wrong = np.array([[states[s] != y[i] for s in range(S)] for i in range(len(x))])
            n_wrong = sum(wrong[i, paths[i]] for i in range(len(x)))
            total += np.max(score + n_wrong) - np.max(np.where(n_wrong == 0, score, -np.inf))
    finally:
        model._w = before
    return total


@pytest.mark.parametrize(("tol", "n_iter"), [(0.3, 2), (0.1, 4), (1e-3, 10)])
def test_it_stops_when_a_round_gains_little(tol, n_iter, monkeypatch):
    """Round n ends at the value 1 + 2**-n, by a gain of as much as is left."""

    class Halving:
        def completion(self, w):
            return np.array([int(w[0])])

        def with_completion(self, completion):
            return self

        def value(self, w):
            return 1.0 + 0.5 ** w[0] - w[0] ** 2 / 2

    rounds = []

    def solve(objective, start, **options):
        rounds.append(options["tol"])
        return Result(np.array([float(len(rounds))]), np.nan, 1, True)

    monkeypatch.setattr(module, "frank_wolfe", solve)
    options = {"l1": 0.0, "l2": 1.0, "max_iter": 50, "tol": tol}
    result = convex_concave(Halving(), np.zeros(1), **options, rng=np.random.RandomState(0))
    gains = 0.5 ** np.arange(1, 50)
    assert n_iter == 1 + np.argmax(gains <= tol * (1 + gains))
    assert result.n_iter == len(rounds) == n_iter
    assert result.converged
    assert result.value == 1.0 + 0.5**n_iter


def test_one_state_for_each_label_is_the_convex_machine():
    plain = GraphCRF(loss="hinge", random_state=0, tol=1e-8).fit(X, Y)
    single = GraphCRF(loss="hinge", random_state=0, tol=1e-8, n_states=1).fit(X, Y)
    # each begins with random numbers of its own
    np.testing.assert_allclose(single._w, plain._w, atol=1e-3)
    assert single.gap_certified_


def test_missing_labels_and_sets_cost_nothing():
    """A set of all labels says as much as None; labels of one are known."""
    missing = [[None, *y[1:]] for y in Y]
    of_sets = [[{"inner", "outer"}, *[{label} for label in y[1:]]] for y in Y]
    first = GraphCRF(loss="hinge", random_state=0).fit(X, missing)
    second = GraphCRF(loss="hinge", random_state=0).fit(X, of_sets)
    np.testing.assert_allclose(first._w, second._w, atol=1e-12)
    assert np.all(np.diff(first.loss_curve_) <= 0)


def test_what_does_not_go_together_is_said():
    with pytest.raises(ValueError, match="no shared states"):
        crf(n_states=1, shared_states={("inner", "outer"): 1}).fit(X, Y)
    with pytest.raises(ValueError, match="kinks"):
        crf(n_states=2, solver="lbfgs").fit(X, Y)
