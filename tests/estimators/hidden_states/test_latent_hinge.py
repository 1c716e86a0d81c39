"""Latent structured support vector machines on chains, against enumeration of all sequences of
states and against the same paths as graphs.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from latent_chains import data, fitted, twins

from sklearn_struct import GraphCRF, LatentChainCRF, LinearChainCRF

COST = np.array([[0.0, 2.0, 1.0], [0.5, 0.0, 3.0], [1.0, 0.25, 0.0]])
HINGE = {"loss": "hinge", "max_iter": 300}


def hinge_of(twin, may_be, cost):
    """How far the best rival is ahead of the best states of labels that may be; probabilities are
    scores, but for a constant.
    """
    with np.errstate(divide="ignore"):
        score = np.log(twin.p.astype(np.longdouble))
    costs = []
    for labels in twin.labels:
        rows = zip(labels, may_be, strict=True)
        costs.append(sum(min(cost[right, label] for right in may) for label, may in rows))
    agrees = [all(k in s for k, s in zip(labels, may_be, strict=True)) for labels in twin.labels]
    return float(np.max(score + np.array(costs)) - np.max(score[agrees]))


def penalty(crf):
    parts = [crf.coef_, crf.transition_, getattr(crf, "transition2_", np.zeros(1))]
    if crf.solver != "sgd":
        # the dual problem of "frank-wolfe" has no free weights
        parts.append(crf.intercept_)
    return sum(float(np.sum(part**2)) for part in parts) / (2 * crf.C)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_states": {"a": 3, "b": 1}},
        {"state_transitions": "left-to-right", "n_states": 3},
        {"order": 2, "n_states": {"a": 2, "b": 1}},
        {"solver": "sgd", "max_iter": 1000, "tol": 1e-2},
    ],
    ids=str,
)
@pytest.mark.parametrize("cost", [None, COST], ids=["hamming", "matrix"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_by_enumeration(options, cost):
    X, y = data()
    y[0] = None
    y[2] = [None, "a", {"a", "b"}, "c"]
    crf = fitted(HINGE | {"cost": cost} | options, X, y)
    places = {label: k for k, label in enumerate(crf.classes_.tolist())}
    table = 1.0 - np.eye(3) if cost is None else cost
    loss = 0.0
    for i, twin in enumerate(twins(crf, X)):
        # nothing is known of the first
        if i:
            may_be = [{0, 1, 2} if one is None else {places[k] for k in one} for one in y[i]]
            loss += hinge_of(twin, may_be, table)
    assert crf.loss_curve_[-1] == pytest.approx(loss + penalty(crf), rel=1e-9)
    assert np.all(np.diff(crf.loss_curve_) <= 0) or crf.solver == "sgd"
    assert not hasattr(crf, "gap_")


def test_missing_labels_of_a_chain_without_states():
    X, y = data()
    y[2] = [None, "a", {"a", "b"}, "c"]
    crf = LinearChainCRF(**HINGE, C=2.0, random_state=0, tol=1e-3).fit(X, y)
    graphs = [(x, [list(pair) for pair in pairwise(range(len(x)))]) for x in X]
    same = GraphCRF(**HINGE, C=2.0, random_state=0, tol=1e-3).fit(graphs, y)
    assert crf.loss_curve_[-1] == pytest.approx(same.loss_curve_[-1], rel=5e-3)
    places = {label: k for k, label in enumerate("abc")}
    crf.states_ = np.array([(label, 0) for label in "abc"], dtype=object)
    crf.shared_states = None
    crf.state_transitions = "all"
    loss = 0.0
    for i, twin in enumerate(twins(crf, X)):
        may_be = [{0, 1, 2} if one is None else {places[k] for k in one} for one in y[i]]
        loss += hinge_of(twin, may_be, 1.0 - np.eye(3))
    assert crf.loss_curve_[-1] == pytest.approx(loss + penalty(crf), rel=1e-9)


def test_states_tell_what_labels_cannot():
    """Values below and above those of "inner" are "outer", as in the class's own example."""
    values = [[-1, 0], [0, 1], [1, 1], [0, 0], [-1, -1], [1, -1], [0, -1, 1, 0]]
    X = [np.array(x, float)[:, None] for x in values] * 5
    y = [["inner" if v == 0 else "outer" for v in x] for x in values] * 5
    options = HINGE | {"C": 10.0, "random_state": 0}
    assert LinearChainCRF(**options).fit(X, y).score(X, y) < 0.8
    crf = LatentChainCRF(**options, n_states={"outer": 2}, decoder="viterbi").fit(X, y)
    assert crf.score(X, y) == 1.0
    paths = [(x, [list(pair) for pair in pairwise(range(len(x)))]) for x in X]
    graph = GraphCRF(**options, n_states={"outer": 2}, decoder="states").fit(paths, y)
    assert graph.score(paths, y) == 1.0


def test_one_state_a_label_is_convex():
    X, y = data(1)
    options = HINGE | {"C": 1.0, "random_state": 0, "tol": 1e-3}
    crf = LatentChainCRF(**options, n_states=1).fit(X, y)
    chain = LinearChainCRF(**options).fit(X, y)
    assert crf.gap_ <= 1e-3 * crf.loss_curve_[-1]
    assert crf.loss_curve_[-1] == pytest.approx(chain.loss_curve_[-1], rel=2e-3)


def test_forbidden_transitions_stay_forbidden():
    X, y = data()
    rule = {"a": ["a"], "b": ["c"]}
    y = [["a", "c", "a", "b", "b"][: len(labels)] for labels in y]
    y[4] = [None] * len(y[4][:-1]) + y[4][-1:]
    crf = fitted(HINGE | {"allowed_transitions": rule, "constrain_training": True}, X, y)
    for labels in crf.set_params(decoder="viterbi").predict(X):
        assert not {("a", "a"), ("b", "c")} & set(pairwise(labels))


def test_what_it_refuses():
    X, y = data()
    with pytest.raises(ValueError, match="cost is of loss='hinge'"):
        LatentChainCRF(cost=COST).fit(X, y)
    with pytest.raises(ValueError, match="loss='hinge' has kinks"):
        LatentChainCRF(**HINGE, solver="lbfgs").fit(X, y)
    with pytest.raises(ValueError, match="has no shared states"):
        LatentChainCRF(**HINGE, shared_states={("a", "b"): 1}).fit(X, y)
    with pytest.raises(ValueError, match="is for loss='hinge'"):
        LatentChainCRF(solver="frank-wolfe").fit(X, y)
