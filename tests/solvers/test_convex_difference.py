"""Expectation maximisation as turns of tangents and quasi-Newton iterations."""

from __future__ import annotations

from itertools import pairwise

import contracts
import numpy as np
import pytest

from sklearn_struct.solvers.convex_difference import M_STEPS, expectation_maximisation


class Difference(contracts.LeastSquares):
    """Least squares written as twice that less once that."""

    class Part:
        """A multiple of least squares."""

        def __init__(self, whole, factor):
            self.whole = whole
            self.factor = factor
            self.size = whole.size
            self.n_free = whole.n_free
            self.evaluations = 0

        def value_and_grad(self, w):
            self.evaluations += 1
            value, grad = contracts.LeastSquares.value_and_grad(self.whole, w)
            return self.factor * value, self.factor * grad

    def parts(self):
        self.both = self.Part(self, 2.0), self.Part(self, 1.0)
        return self.both


def make(problem):
    """The contract's problem, as a difference."""
    problem.__class__ = Difference
    return problem


def solver(problem, w0, **options):
    return expectation_maximisation(make(problem), w0, **options)


test_contract = contracts.solver(contracts.Solver(solver, dict, l1=True, precision=1e-6, tol=1e-8))


class Wells:
    """Sums of (x - a)**2 / 2 - log(2 cosh(3 x)), with minima near -3 and 3."""

    n_free = 0

    def __init__(self, size):
        self.size = size
        self.offset = 0.1 * np.arange(size)

    def value_and_grad(self, w):
        (a, slope_a), (b, slope_b) = (part.value_and_grad(w) for part in self.parts())
        return a - b, slope_a - slope_b

    def parts(self):
        wells = self

        class Bowl:
            size = wells.size
            n_free = 0

            def value_and_grad(self, w):
                v = w - wells.offset
                return float(v @ v) / 2, v

        class Ridge:
            size = wells.size
            n_free = 0

            def value_and_grad(self, w):
                return float(np.sum(np.logaddexp(3 * w, -3 * w))), 3 * np.tanh(3 * w)

        return Bowl(), Ridge()


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.0, 0.3), (0.4, 0.0), (0.4, 0.3)])
@pytest.mark.parametrize("seed", range(3))
def test_values_never_rise_and_end_where_the_whole_is_flat(seed, l1, l2):
    problem = Wells(5)
    w0 = np.random.default_rng(seed).normal(size=5)
    seen = []
    result = expectation_maximisation(
        problem,
        w0,
        l1=l1,
        l2=l2,
        max_iter=200,
        tol=1e-9,
        callback=lambda n_iter, w, value: seen.append((w.copy(), value)),
    )
    assert result.converged
    values = [contracts.penalised_value(problem, w0, l1, l2), *(value for _, value in seen)]
    assert all(b <= a + 1e-12 for a, b in pairwise(values))
    for w, value in seen:
        assert value == pytest.approx(contracts.penalised_value(problem, w, l1, l2), abs=1e-12)
    assert np.abs(contracts.subgradient(problem, result.w, l1, l2)).max() <= 1e-8
    assert result.value < values[0] - 0.1


def test_an_m_step_asks_for_the_first_part_alone():
    problem = make(contracts.LeastSquares(np.random.default_rng(0)))
    w0 = np.zeros(problem.size)
    result = expectation_maximisation(problem, w0, l1=0.0, l2=0.1, max_iter=4, tol=0.0)
    first, second = problem.both
    assert result.n_iter == 4
    assert second.evaluations == 5
    assert 4 * M_STEPS < first.evaluations <= 4 * (2 * M_STEPS + 1)
