"""Cutting planes against quadratic programs, and what is known of the lowest value meanwhile."""

from __future__ import annotations

import re

import contracts
import numpy as np
import pytest
from hinges import Distances, Hinges, lowest, penalised
from scipy.optimize import minimize

from sklearn_struct import LinearChainCRF
from sklearn_struct.solvers import cutting_planes as module
from sklearn_struct.solvers.cutting_planes import _Model, cutting_planes

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
    bounds = [0.0]
    for n_iter in (1, 2, 5, 10, 20, 40):
        part = SOLVER(problem, l2=l2, max_iter=n_iter)
        assert part.gap >= 0
        bounds.append(part.value - part.gap)
        assert bounds[-1] <= best + 1e-9
        assert part.value >= best - 1e-9
    assert np.all(np.diff(bounds) >= -1e-12)


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


def test_weak_penalties():
    """The first points are as far away as the penalty is weak, and the bound is 0 meanwhile."""
    problem = Hinges()
    for l2 in (1e-12, 1e-60):
        first = SOLVER(problem, l2=l2, max_iter=1)
        assert first.gap == first.value
    result = SOLVER(problem, l2=1e-12, max_iter=40)
    assert result.gap < result.value < 1.2 * lowest(problem, 1e-9)


def test_without_a_lowest_point_in_numbers():
    """What was best stays."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = SOLVER(Hinges(), l2=1e-320)
    assert not result.converged
    assert result.n_iter == 0
    assert np.all(result.w == 0)


def test_shares_are_those_of_a_mean(monkeypatch):
    """Also where planes are put together."""
    monkeypatch.setattr(module, "MOST", 4)
    rng = np.random.default_rng(4)
    slopes = rng.normal(size=(12, 3))
    model = _Model(3, 0.1)
    for plane in slopes:
        mean = model.share @ np.column_stack([model.slope, model.offset])
        model.add(plane, rng.uniform(0.5, 1.0))
        if len(model.share) > 1:
            # the new one has no share yet, and the others are not forgotten
            both = np.column_stack([model.slope, model.offset])
            np.testing.assert_allclose(model.share @ both, mean, atol=1e-12)
        model.lowest()
        assert model.share.min() >= 0
        assert model.share.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(model.product, model.slope @ model.slope.T, atol=1e-12)


def test_a_callback_may_write_to_its_weights():
    def scribble(n_iter, w, value):
        w[:] = np.nan

    assert np.array_equal(SOLVER(Hinges(), callback=scribble).w, SOLVER(Hinges()).w)


def test_a_callback_stops_it():
    result = SOLVER(Hinges(), l2=0.01, callback=lambda n, w, value: n == 2)
    assert result.n_iter == 2
    assert not result.converged
    assert 0 < result.gap < np.inf


@pytest.mark.parametrize("penalty", [{"l1": 0.1}, {"l2": 0.0}])
def test_what_it_refuses(penalty):
    with pytest.raises(ValueError, match="'cutting-planes' needs an L2 penalty"):
        SOLVER(Hinges(), **penalty)


def test_chains(capsys):
    """The lowest objective lies between the bounds of both solvers."""
    rng = np.random.default_rng(8)
    X = [rng.normal(size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.5) for n in (4, 1, 6, 3, 5)]
    y = [rng.integers(0, 3, size=len(x)).tolist() for x in X]
    crf = LinearChainCRF(loss="hinge", C=3.0, tol=1e-3, random_state=0, verbose=1)
    ends = []
    for solver in ("frank-wolfe", "cutting-planes"):
        fitted = crf.set_params(solver=solver).fit(X, y)
        said = re.search(r"tol=0\.001 is reached, the gap is (\S+); ", capsys.readouterr().out)
        assert float(said[1]) == pytest.approx(fitted.gap_, rel=0.01)
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
