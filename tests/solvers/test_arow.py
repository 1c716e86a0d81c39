"""AROW against the textbook's loop over dense vectors."""

from __future__ import annotations

import contracts
import numpy as np
import pytest

from sklearn_struct.solvers.arow import adaptive

AROW = contracts.Solver(
    adaptive, lambda: {"rng": np.random.RandomState(0)}, l1=False, precision=0.0, tol=0.0
)


def by_hand(problem, r, n_passes, w0, variance=1.0):
    """Means and variances after steps that Crammer et al. give in figure 1, with diagonal
    covariances.
    """
    w = w0.copy()
    v = np.full(problem.size, variance)
    rng = np.random.RandomState(0)
    values = []
    for _ in range(n_passes):
        values.append(0.0)
        for i in rng.permutation(problem.n_terms):
            a = problem.A[i]
            loss = problem.margin - a @ w
            if loss >= 0:
                beta = 1 / (a @ (v * a) + r)
                w = w + loss * beta * v * a
                v = 1 / (1 / v + a**2 / r)
                values[-1] += loss / problem.n_terms
    return w, values


@pytest.mark.parametrize("w0", [np.zeros(6), np.arange(6.0)])
@pytest.mark.parametrize("r", [0.1, 1.0, 30.0])
def test_steps_are_the_textbooks(r, w0):
    problem = contracts.noisy(np.random.default_rng(0), 1.0)
    seen = []
    found = AROW(
        problem, w0, l2=r / 40, max_iter=4, callback=lambda n, w, value: seen.append(value)
    )
    w, values = by_hand(problem, r, 4, w0)
    np.testing.assert_allclose(found.w, w, rtol=1e-9)
    np.testing.assert_allclose(seen, values, rtol=1e-9)
    assert (found.n_iter, found.converged) == (4, False)


def test_another_variance_at_first_is_another_scale():
    problem = contracts.noisy(np.random.default_rng(1), 1.0)
    w, _ = by_hand(problem, 3.0, 3, np.zeros(6), variance=0.5)
    np.testing.assert_allclose(AROW(problem, None, l2=6.0 / 40, max_iter=3).w, w, rtol=1e-9)


@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_it_ends_where_nothing_is_left_to_learn(l2):
    problem = contracts.Hinges(np.random.default_rng(0), 0.1, gap=2.0)
    found = AROW(problem, None, l2=l2, max_iter=500)
    assert np.all(np.isfinite(found.w))
    if l2:
        assert found.value < 1e-4
        assert np.all(problem.A @ found.w >= 0.99 * problem.margin)


def test_it_stops_when_asked_to_and_has_no_l1():
    problem = contracts.noisy(np.random.default_rng(0), 1.0)
    assert AROW(problem, None, l2=1.0, max_iter=9, callback=lambda n, w, value: n == 2).n_iter == 2
    with pytest.raises(ValueError, match="no L1 penalty"):
        AROW(problem, None, l1=1.0)
