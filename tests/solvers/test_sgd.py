"""The steps of stochastic gradient descent against the textbook's, written down plainly."""

from __future__ import annotations

from functools import partial

import contracts
import numpy as np
import pytest

from sklearn_struct.solvers.result import Stream
from sklearn_struct.solvers.sgd import sgd, sgd_pass

OPTIMAL = contracts.Solver(
    partial(sgd, averaged=False),
    lambda: {"rng": np.random.RandomState(0)},
    l1=False,
    precision=0.05,
    tol=1e-4,
)


@pytest.mark.parametrize(
    "check",
    [check for check in contracts.SOLVER_CHECKS if check.__name__ != "check_finds_the_minimum"],
)
def test_contract(check):
    """But for the minimum without a penalty, where nothing shortens the steps."""
    check(OPTIMAL, contracts.LeastSquares(np.random.default_rng(0)))


@pytest.mark.parametrize("l2", [0.1, 1.0])
def test_the_minimum(l2):
    problem = contracts.LeastSquares(np.random.default_rng(0))
    result = OPTIMAL(problem, l2=l2)
    assert result.converged
    np.testing.assert_allclose(result.w, problem.solution(l2), atol=OPTIMAL.precision)


def one_by_one(problem, w, l2, order, step):
    """Down the gradient of one term after the other (P1 5.20), with step(m) after m of them."""
    penalised = np.arange(problem.size) < problem.size - problem.n_free
    for m, i in enumerate(order):
        gradient = (problem.A[i] @ w - problem.b[i]) * problem.A[i]
        w = w - step(m) * (gradient + l2 * penalised * w)
    return w


def best_fixed_step(problem, l2, sample):
    """The power of two with which a pass over the sample ends lowest."""

    def cost(step):
        w = one_by_one(problem, np.zeros(problem.size), l2, sample, lambda m: step)
        losses = (problem.A[sample] @ w - problem.b[sample]) ** 2 / 2
        return losses.mean() + l2 / 2 * np.sum(w[: problem.size - problem.n_free] ** 2)

    with np.errstate(over="ignore"):
        return min((2.0**k for k in range(-20, 3) if 2.0**k * l2 < 1), key=cost)


@pytest.mark.parametrize("l2", [0.01, 0.1, 0.5])
def test_steps_are_those_of_equation_5_22(l2):
    """1 / (l2 (m_0 + m)), where 1 / (l2 m_0) is the best of fixed steps on a sample of terms."""
    problem = contracts.LeastSquares(np.random.default_rng(1), n_terms=300)
    seen = []
    sgd(
        problem,
        np.zeros(problem.size),
        l1=0.0,
        l2=l2,
        max_iter=1,
        tol=0.0,
        callback=lambda n_iter, w, value: seen.append(w),
        rng=np.random.RandomState(3),
        averaged=False,
    )
    rng = np.random.RandomState(3)
    m_0 = 1 / (l2 * best_fixed_step(problem, l2, rng.permutation(300)[:200]))
    order = rng.permutation(300)
    w = one_by_one(problem, np.zeros(problem.size), l2, order, lambda m: 1 / (l2 * (m_0 + m)))
    np.testing.assert_allclose(seen[0], w, rtol=1e-9)
    # as printed, with sigma**2 = 1 / (300 l2), steps are too short to leave the start
    short = one_by_one(
        problem, np.zeros(problem.size), l2, order, lambda m: 1 / (1 / (300 * l2) * (m_0 + m))
    )
    assert not np.allclose(short, w, rtol=0.1)


def test_a_stream_goes_on_with_the_same_steps():
    problem = contracts.LeastSquares(np.random.default_rng(1))
    start = np.random.default_rng(2).normal(size=problem.size)
    # after so many terms nothing is calibrated any more
    stream = sgd_pass(
        problem,
        Stream(start, np.zeros(problem.size), 500, 0.25),
        l2=0.1,
        rng=np.random.RandomState(0),
        averaged=False,
    )
    order = np.random.RandomState(0).permutation(problem.n_terms)
    w = one_by_one(problem, start, 0.1, order, lambda m: 1 / (0.1 * (1 / (0.1 * 0.25) + 500 + m)))
    np.testing.assert_allclose(stream.w, w, rtol=1e-9)
    np.testing.assert_allclose(stream.mean, w, rtol=1e-9)
    assert stream.n == 500 + problem.n_terms
