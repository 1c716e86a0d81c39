"""Dual coordinate ascent on sums of exponentials, against L-BFGS."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.linear.sparse_rows import SparseRows
from sklearn_struct.losses.losses_of_rows import Exponential, RowExamples, Softmax
from sklearn_struct.objectives.rows_objective import RowsObjective
from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.sdca import sdca


def objective(free, seed=0, n=40, m=60):
    rng = np.random.default_rng(seed)
    F = sp.csr_array(rng.poisson(0.4, size=(n, m)).astype(float))
    linear = rng.random(n) @ F / n
    if free:
        F = sp.csr_array(sp.hstack([F, np.ones((n, 1))]))
        linear = np.append(linear, 1.0)
    weight = rng.integers(0, 3, size=n).astype(float)
    return RowsObjective(
        SparseRows(F), Exponential(), RowExamples.single(weight), linear, n_free=int(free)
    )


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("l2", [0.05, 1.0, 100.0])
def test_the_optimum_is_that_of_lbfgs(free, l2):
    problem = objective(free)
    options = {"l1": 0.0, "l2": l2, "max_iter": 3000, "tol": 1e-8}
    found = sdca(problem, np.zeros(problem.size), rng=np.random.RandomState(0), **options)
    expected = lbfgs(problem, np.zeros(problem.size), **options)
    assert found.converged
    assert found.n_iter < 1000
    np.testing.assert_allclose(found.w, expected.w, atol=1e-6 / l2)
    assert found.value == pytest.approx(expected.value, abs=1e-10)


def test_it_starts_near_the_point_given():
    problem = objective(True)
    options = {"l1": 0.0, "l2": 0.1, "max_iter": 3000, "tol": 1e-6}
    first = sdca(problem, np.zeros(problem.size), rng=np.random.RandomState(0), **options)
    again = sdca(problem, first.w, rng=np.random.RandomState(1), **options)
    assert again.n_iter < first.n_iter / 2


def test_the_callback_stops_it():
    problem = objective(True)
    seen = []
    options = {"l1": 0.0, "l2": 0.1, "max_iter": 100, "tol": 0.0, "rng": np.random.RandomState(0)}
    found = sdca(
        problem,
        np.zeros(problem.size),
        callback=lambda n, w, v: seen.append((n, v)) or n == 3,
        **options,
    )
    assert [n for n, _ in seen] == [1, 2, 3]
    assert (found.n_iter, found.converged) == (3, False)
    start = problem.value_and_grad(np.zeros(problem.size))[0]
    assert found.value == min(start, *(value for _, value in seen))


def test_what_is_returned_is_never_worse_than_the_start():
    problem = objective(False)
    options = {"l1": 0.0, "l2": 1e-6, "max_iter": 2, "tol": 0.0, "rng": np.random.RandomState(0)}
    seen = []
    found = sdca(
        problem, np.zeros(problem.size), callback=lambda n, w, v: seen.append(v), **options
    )
    assert found.value <= problem.value_and_grad(np.zeros(problem.size))[0] < max(seen)


@pytest.mark.parametrize("options", [{"l1": 0.1, "l2": 0.1}, {"l1": 0.0, "l2": 0.0}])
def test_other_penalties_are_refused(options):
    problem = objective(False)
    with pytest.raises(ValueError, match="sdca needs an L2 penalty"):
        sdca(
            problem,
            np.zeros(problem.size),
            max_iter=1,
            tol=0.0,
            rng=np.random.RandomState(0),
            **options,
        )


def test_other_losses_are_refused():
    problem = objective(False)
    problem.loss = Softmax()
    with pytest.raises(TypeError, match="not Softmax"):
        sdca(
            problem,
            np.zeros(problem.size),
            l1=0.0,
            l2=1.0,
            max_iter=1,
            tol=0.0,
            rng=np.random.RandomState(0),
        )
