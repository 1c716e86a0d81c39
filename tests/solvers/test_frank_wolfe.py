"""Structured support vector machines, against quadratic programs over all labellings and against
scikit-learn's.
"""

from __future__ import annotations

from itertools import product

import contracts
import numpy as np
import pytest
from hinges import Distances, Hinges, lowest, penalised
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC

from sklearn_struct import LinearChainCRF
from sklearn_struct.solvers import frank_wolfe as module
from sklearn_struct.solvers.frank_wolfe import frank_wolfe

SOLVER = contracts.Solver(
    frank_wolfe, lambda: {"rng": np.random.RandomState(0)}, l1=False, precision=1e-3, tol=1e-9
)


@pytest.mark.parametrize("few", [0, module.FEW], ids=["in potentials", "in weights"])
@pytest.mark.parametrize("l2", [0.01, 0.1, 1.0])
def test_the_value_is_the_lowest_one_and_the_gap_says_so(l2, few, monkeypatch):
    monkeypatch.setattr(module, "FEW", few)
    problem = Hinges()
    best = lowest(problem, l2)
    values = []
    result = SOLVER(problem, l2=l2, callback=lambda n, w, value: values.append(value))
    assert result.converged
    assert result.value == pytest.approx(best, rel=1e-6)
    assert result.value == pytest.approx(penalised(problem, result.w, l2), rel=1e-12)
    assert values == sorted(values, reverse=True)
    assert values[-1] == result.value
    assert len(values) == result.n_iter
    for n_iter in range(1, result.n_iter + 1):
        part = SOLVER(problem, l2=l2, max_iter=n_iter)
        assert part.value - part.gap <= best + 1e-9
        assert part.value >= best - 1e-9


POINTS = np.random.default_rng(3).normal([2.0, 0.0], size=(8, 2))


@pytest.mark.parametrize("few", [0, module.FEW], ids=["in potentials", "in weights"])
def test_planes_that_are_hardly_higher_are_kept(few, monkeypatch):
    """Near the lowest point, planes of directions that are nearly the same are all there is."""
    monkeypatch.setattr(module, "FEW", few)
    problem = Distances(POINTS)
    options = {"l1": 0.0, "l2": 0.1, "max_iter": 500, "tol": 1e-6}
    result = frank_wolfe(problem, np.zeros(2), **options, rng=np.random.RandomState(0))
    assert result.converged
    smooth = minimize(lambda w: penalised(problem, w, 0.1), np.array([1.9, 0.1]), tol=1e-12)
    assert result.value == pytest.approx(smooth.fun, rel=2e-6)
    assert result.value - result.gap <= smooth.fun + 1e-9


def test_passes_over_kept_planes_save_such_that_ask(monkeypatch):
    """One is better than none, and some are better than one."""
    asked = []
    for most in (0, 1, module.MOST_PASSES):
        monkeypatch.setattr(module, "MOST_PASSES", most)
        problem = Distances(POINTS)
        options = {"l1": 0.0, "l2": 0.05, "max_iter": 2000, "tol": 1e-5}
        for seed in range(3):
            result = frank_wolfe(problem, np.zeros(2), **options, rng=np.random.RandomState(seed))
            assert result.converged
        asked.append(problem.n_asked)
    assert asked[0] > asked[1] > asked[2]


def test_the_gap_is_that_of_the_best_point(monkeypatch):
    """Values rise at times, and the best one stays; so does what is known of it."""
    bounds = []
    lower_bound = module._Course.lower_bound

    def kept(course, w):
        bounds.append(lower_bound(course, w))
        return bounds[-1]

    monkeypatch.setattr(module._Course, "lower_bound", kept)
    for n_iter in range(1, 15):
        bounds.clear()
        result = SOLVER(Hinges(), l2=0.01, max_iter=n_iter)
        assert result.gap == pytest.approx(result.value - max(bounds), rel=1e-9)


def test_where_slopes_are_kept_is_only_a_matter_of_time(monkeypatch):
    rng = np.random.default_rng(8)
    X = [rng.normal(size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.5) for n in (4, 1, 6, 3, 5)]
    y = [rng.integers(0, 3, size=len(x)).tolist() for x in X]
    crf = LinearChainCRF(loss="hinge", C=3.0, tol=1e-3, max_iter=500, random_state=0)
    few_weights = clone(crf).fit(X, y)
    monkeypatch.setattr(module, "FEW", 0)
    many_weights = crf.fit(X, y)
    assert few_weights.gap_ <= 1e-3 * few_weights.loss_curve_[-1]
    assert many_weights.gap_ <= 1e-3 * many_weights.loss_curve_[-1]
    # which of two equally high planes comes first may hang on last digits
    lowest = few_weights.loss_curve_[-1]
    assert many_weights.loss_curve_[-1] == pytest.approx(lowest, rel=2e-3)
    assert many_weights.loss_curve_[-1] - many_weights.gap_ <= lowest * (1 + 1e-9)
    assert lowest - few_weights.gap_ <= many_weights.loss_curve_[-1] * (1 + 1e-9)


def test_its_generator_decides():
    problem = Hinges()
    contracts.assert_its_generator_decides(frank_wolfe, problem, 2)


def test_a_callback_stops_it():
    problem = Hinges()
    result = SOLVER(problem, l2=0.01, callback=lambda n, w, value: n == 2)
    assert result.n_iter == 2
    assert not result.converged
    assert 0 < result.gap < np.inf


@pytest.mark.parametrize("penalty", [{"l1": 0.1}, {"l2": 0.0}, {"w0": np.ones(6)}])
def test_what_it_refuses(penalty):
    problem = Hinges()
    with pytest.raises(ValueError, match="'frank-wolfe'"):
        SOLVER(problem, **penalty)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_single_labels_are_the_machine_of_crammer_and_singer(C):
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    theirs = LinearSVC(
        multi_class="crammer_singer", C=C, tol=1e-8, max_iter=1_000_000, random_state=0
    ).fit(X, y)
    ours = LinearChainCRF(
        loss="hinge", C=C, tol=1e-6, max_iter=5000, random_state=0, feature_pairs="all"
    ).fit(X, y)
    w = np.hstack([theirs.coef_, theirs.intercept_[:, None]])
    scores = X @ theirs.coef_.T + theirs.intercept_
    right = scores[np.arange(len(y)), y]
    losses = (scores + 1.0 - np.eye(3)[y] - right[:, None]).max(axis=1)
    value = losses.sum() + (w**2).sum() / (2 * C)
    assert ours.loss_curve_[-1] == pytest.approx(value, rel=1e-4)
    assert ours.loss_curve_[-1] - ours.gap_ <= value * (1 + 1e-9)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98


def test_chains_against_a_program_with_all_labellings():
    """Costs of a matrix; the lowest value, by a slack for each sequence and a constraint for each
    labelling.
    """
    rng = np.random.default_rng(5)
    X = [rng.normal(size=(n, 2)) for n in (3, 2, 3, 1, 2)]
    y = [rng.integers(0, 3, size=len(x)).tolist() for x in X]
    y[0] = [0, 1, 2]
    cost = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 0.5], [2.0, 1.0, 0.0]])
    C = 2.0
    crf = LinearChainCRF(loss="hinge", cost=cost, C=C, tol=1e-6, max_iter=2000, random_state=0).fit(
        X, y
    )

    def features(x, labels):
        node = np.zeros((3, 3))
        pair = np.zeros((3, 3))
        for t, label in enumerate(labels):
            node[label] += [*x[t], 1.0]
            if t:
                pair[labels[t - 1], label] += 1.0
        return np.concatenate([node.ravel(), pair.ravel()])

    rows = []
    offsets = []
    for i, (x, labels) in enumerate(zip(X, y, strict=True)):
        for rival in product(range(3), repeat=len(labels)):
            slack = np.zeros(len(X))
            slack[i] = 1.0
            rows.append(np.concatenate([features(x, labels) - features(x, rival), slack]))
            offsets.append(sum(cost[a, b] for a, b in zip(labels, rival, strict=True)))
    A = np.array(rows)
    b = np.array(offsets)
    solved = minimize(
        lambda z: z[:18] @ z[:18] / 2 + C * z[18:].sum(),
        np.concatenate([np.zeros(18), np.full(len(X), 10.0)]),
        jac=lambda z: np.concatenate([z[:18], np.full(len(X), C)]),
        constraints=[{"type": "ineq", "fun": lambda z: A @ z - b, "jac": lambda z: A}],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert crf.loss_curve_[-1] == pytest.approx(solved.fun / C, rel=1e-5)
    assert crf.loss_curve_[-1] - crf.gap_ <= solved.fun / C * (1 + 1e-7)
    assert crf.gap_certified_
