"""Cutting planes against quadratic programs, and what is known of the lowest value meanwhile."""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from hinges import Distances, Hinges, lowest, penalised
from scipy.optimize import minimize

from sklearn_struct import LinearChainCRF
from sklearn_struct.solvers import cutting_planes as module
from sklearn_struct.solvers.cutting_planes import cutting_planes

SOLVER = contracts.Solver(cutting_planes, dict, l1=False, precision=1e-3, tol=1e-9)


@pytest.mark.parametrize("most", [3, 100])
@pytest.mark.parametrize("l2", [0.01, 0.1, 1.0])
def test_the_value_is_the_lowest_one_and_the_gap_says_so(l2, most, monkeypatch):
    """With three planes it takes longer, but no bound is wrong."""
    monkeypatch.setattr(module, "MOST", most)
    problem = Hinges()
    best = lowest(problem, l2)
    values = []
    result = SOLVER(problem, l2=l2, callback=lambda n, w, value: values.append(value))
    assert result.converged or most == 3
    assert result.value == pytest.approx(best, rel=1e-6 if result.converged else 0.05)
    assert result.value == pytest.approx(penalised(problem, result.w, l2), rel=1e-12)
    assert values == sorted(values, reverse=True)
    assert values[-1] == result.value
    assert len(values) == result.n_iter
    for n_iter in (1, 2, 5, 10, 20, 40):
        part = SOLVER(problem, l2=l2, max_iter=n_iter)
        assert part.value - part.gap <= best + 1e-9
        assert part.value >= best - 1e-9


def test_round_objectives():
    """Distances from points have endlessly many planes."""
    problem = Distances(np.random.default_rng(3).normal([2.0, 0.0], size=(8, 2)))
    result = cutting_planes(problem, np.zeros(2), l1=0.0, l2=0.1, max_iter=500, tol=1e-6)
    assert result.converged
    smooth = minimize(lambda w: penalised(problem, w, 0.1), np.array([1.9, 0.1]), tol=1e-12)
    assert result.value == pytest.approx(smooth.fun, rel=2e-6)
    assert result.value - result.gap <= smooth.fun + 1e-9


def test_it_begins_anywhere():
    problem = Hinges()
    expected = SOLVER(problem).value
    for w0 in np.random.default_rng(0).normal(size=(3, problem.size)):
        assert SOLVER(problem, w0).value == pytest.approx(expected, rel=1e-6)


def test_a_callback_stops_it():
    result = SOLVER(Hinges(), l2=0.01, callback=lambda n, w, value: n == 2)
    assert result.n_iter == 2
    assert not result.converged
    assert 0 < result.gap < np.inf


@pytest.mark.parametrize("penalty", [{"l1": 0.1}, {"l2": 0.0}])
def test_what_it_refuses(penalty):
    with pytest.raises(ValueError, match="'cutting-planes' needs an L2 penalty"):
        SOLVER(Hinges(), **penalty)


def test_chains():
    """The lowest objective lies between the bounds of both solvers."""
    rng = np.random.default_rng(8)
    X = [rng.normal(size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.5) for n in (4, 1, 6, 3, 5)]
    y = [rng.integers(0, 3, size=len(x)).tolist() for x in X]
    crf = LinearChainCRF(loss="hinge", C=3.0, tol=1e-3, random_state=0)
    ends = []
    for solver in ("frank-wolfe", "cutting-planes"):
        fitted = crf.set_params(solver=solver).fit(X, y)
        assert fitted.gap_ <= 1e-3 * fitted.loss_curve_[-1]
        assert fitted.gap_certified_
        ends.append((fitted.loss_curve_[-1], fitted.gap_))
    assert ends[0][0] == pytest.approx(ends[1][0], rel=2e-3)
    for (value, gap), (other, _) in (ends, ends[::-1]):
        assert value - gap <= other * (1 + 1e-9)
    with pytest.raises(ValueError, match="is for loss='hinge' where all labels are known"):
        crf.fit(X, [None, *y[1:]])
    with pytest.raises(ValueError, match="is for loss='hinge'; use 'lbfgs' or 'auto'"):
        crf.set_params(loss="log_likelihood").fit(X, y)
