"""lbfgs beside scipy's, and where numbers are bad; what holds for all solvers is in
test_solvers.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sklearn_struct.solvers.gradient_descent import cg
from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.owlqn import owlqn


class Function:
    """A function with its gradient as an objective that counts its evaluations."""

    def __init__(self, function, size, n_free=0):
        self.function = function
        self.size = size
        self.n_free = n_free
        self.n_evaluations = 0

    def value_and_grad(self, w):
        self.n_evaluations += 1
        return self.function(w)


def solve(
    objective, w0=None, *, l1=0.0, l2=0.0, max_iter=2000, tol=1e-6, solver=lbfgs, callback=None
):
    w0 = np.zeros(objective.size) if w0 is None else w0
    return solver(objective, w0, l1=l1, l2=l2, max_iter=max_iter, tol=tol, callback=callback)


def scipys(objective, w0, tol=1e-6):
    options = {"gtol": tol, "ftol": 0.0, "maxcor": 10, "maxiter": 2000, "maxfun": 10**5}
    return minimize(objective.function, w0, jac=True, method="L-BFGS-B", options=options)


def rosenbrock(w):
    deviation = w[1:] - w[:-1] ** 2
    grad = np.zeros_like(w)
    grad[1:] = 200 * deviation
    grad[:-1] -= 400 * w[:-1] * deviation + 2 * (1 - w[:-1])
    return float(100 * deviation @ deviation + np.sum((1 - w[:-1]) ** 2)), grad


def logistic(scales=1.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12)) * scales
    sign = np.sign(X @ (rng.normal(size=12) / scales) + rng.logistic(size=300))

    def function(w):
        margin = sign * (X @ w)
        value = np.logaddexp(0, -margin).mean() + 5e-4 * w @ w
        return float(value), X.T @ (-sign * np.exp(-np.logaddexp(0, margin))) / 300 + 1e-3 * w

    return function


def parabola(curvature):
    return lambda w: (float(curvature @ (w - 1) ** 2) / 2, curvature * (w - 1))


def poisson(w):
    """Overflows away from its minimum at 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sum(np.exp(w) - w)), np.exp(w) - 1


PROBLEMS = {
    "logistic": (logistic(), np.zeros(12)),
    "logistic, from afar": (logistic(), np.full(12, 300.0)),
    "logistic, scales": (logistic(np.logspace(-1, 1, 12)), np.zeros(12)),
    "rosenbrock": (rosenbrock, np.random.default_rng(0).normal(size=30)),
    "rosenbrock, from afar": (rosenbrock, 30 * np.random.default_rng(2).normal(size=10)),
    "parabola": (parabola(np.logspace(0, 4, 100)), np.zeros(100)),
    "flat parabola": (parabola(np.logspace(-3, 0, 100)), np.zeros(100)),
}


@pytest.mark.parametrize(("function", "w0"), PROBLEMS.values(), ids=PROBLEMS)
def test_the_optimum_of_scipy(function, w0):
    objective = Function(function, len(w0))
    found = solve(objective, w0, tol=1e-7)
    expected = scipys(objective, w0, tol=1e-7)
    assert found.converged
    assert found.value == pytest.approx(expected.fun, rel=1e-8, abs=1e-8)
    assert np.abs(function(found.w)[1]).max() <= 1e-7


def test_about_as_many_evaluations_as_scipy():
    """Single problems differ by chance."""
    ratios = []
    for function, w0 in PROBLEMS.values():
        objective = Function(function, len(w0))
        solve(objective, w0)
        ratios.append(objective.n_evaluations / scipys(objective, w0).nfev)
    assert np.median(ratios) < 1.2
    assert max(ratios) < 2


def test_more_pairs_need_fewer_iterations():
    objective = Function(parabola(np.logspace(-2, 2, 30)), 30)
    options = {"l1": 0.0, "l2": 0.0, "max_iter": 2000, "tol": 1e-6}
    few, many = (lbfgs(objective, np.zeros(30), n_pairs=n, **options) for n in (5, 30))
    assert few.converged
    assert many.converged
    assert many.n_iter < few.n_iter


def test_most_iterations_need_one_evaluation():
    objective = Function(PROBLEMS["parabola"][0], 100)
    found = solve(objective)
    assert found.converged
    assert objective.n_evaluations < 1.1 * found.n_iter


@pytest.mark.parametrize("start", [-40.0, 40.0, 300.0])
def test_steps_that_overflow_are_shortened(start):
    objective = Function(poisson, 3)
    found = solve(objective, np.full(3, start))
    assert found.converged
    np.testing.assert_allclose(found.w, 0, atol=1e-6)


def test_the_end_of_a_domain():
    def barrier(w):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.sum(w - np.log(w))), 1 - 1 / w

    found = solve(Function(barrier, 2), np.array([1e-3, 50.0]))
    assert found.converged
    np.testing.assert_allclose(found.w, 1, atol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["value", "gradient", "both"])
def test_a_start_that_is_not_finite(bad, where):
    def function(w):
        return (1.0 if where == "gradient" else bad), np.full(2, 1.0 if where == "value" else bad)

    found = solve(Function(function, 2))
    assert (found.n_iter, found.converged, found.w.tolist()) == (0, False, [0.0, 0.0])


def test_nothing_lower():
    """A gradient that points the wrong way."""
    found = solve(Function(lambda w: (float(w @ w), -2 * w), 2), np.ones(2))
    assert (found.n_iter, found.converged, found.w.tolist()) == (0, False, [1.0, 1.0])


def rounded(function, digits):
    """Values with rounding errors of their own, as from potentials in float32."""
    noise = np.random.default_rng(0)

    def noisy(w):
        value, grad = function(w)
        return value * (1 + 10.0**-digits * noise.uniform(-1, 1)), grad

    return noisy


def test_slopes_decide_where_values_are_noise():
    curvature = np.logspace(0, 2, 50)
    found = solve(
        Function(
            rounded(lambda w: (100 + parabola(curvature)(w)[0], parabola(curvature)(w)[1]), 7), 50
        )
    )
    assert found.converged
    np.testing.assert_allclose(found.w, 1, atol=1e-6)


@pytest.mark.parametrize("solver", [lbfgs, cg], ids=["lbfgs", "cg"])
def test_slopes_decide_where_values_are_of_another_function(solver):
    """As those of inference that has not settled: the value falls towards another point than that
    at which the gradient is 0.
    """
    curvature = np.logspace(0, 1, 20)

    def inexact(w):
        _, grad = parabola(curvature)(w)
        return float(np.sum((w - 0.2) ** 2)), grad

    result = solver(Function(inexact, 20), np.zeros(20), l1=0.0, l2=0.0, max_iter=500, tol=1e-8)
    assert result.converged
    np.testing.assert_allclose(result.w, 1, atol=1e-6)


def test_a_gradient_that_jumps():
    """There is no point at which it is 0: the result is that of the smallest one that was met."""

    def jumps(w):
        grad = np.where(w < 0.5, w - 3.0, w + 1.0) + 0.1 * (w - 0.5)
        return float(np.sum(w)), grad

    seen = []

    def callback(n_iter, w, value):
        seen.append((n_iter, w.copy(), value))

    objective = Function(jumps, 2)
    result = lbfgs(
        objective, np.zeros(2), l1=0.0, l2=0.0, max_iter=500, tol=1e-8, callback=callback
    )
    assert not result.converged
    assert objective.n_evaluations < 1000
    steepest = [np.max(np.abs(jumps(w)[1])) for _, w, _ in seen]
    assert np.max(np.abs(jumps(result.w)[1])) == min(steepest) < 2.7
    n_iter, w, value = seen[-1]
    assert (n_iter, w.tolist(), value) == (result.n_iter, result.w.tolist(), result.value)


def test_a_tolerance_below_the_noise():
    noise = np.random.default_rng(1)

    def noisy(w):
        value, grad = parabola(np.logspace(0, 2, 50))(w)
        return 100 + value, grad + 1e-5 * noise.normal(size=50)

    objective = Function(noisy, 50)
    found = solve(objective, tol=1e-9, max_iter=10_000)
    assert not found.converged
    assert found.n_iter < 1000
    assert objective.n_evaluations < 2000
    np.testing.assert_allclose(found.w, 1, atol=1e-3)


def test_numbers_of_any_size():
    """Pairs are kept in float32, whose squares end at 1e19."""
    for scale in (1e-30, 1e30):
        found = solve(Function(parabola(scale * np.logspace(0, 3, 20)), 20), tol=scale * 1e-6)
        assert found.converged
        np.testing.assert_allclose(found.w, 1, atol=1e-5)


def test_no_parameters():
    assert solve(Function(lambda w: (2.0, w), 0))[1:4] == (2.0, 0, True)


def test_a_start_at_the_optimum_needs_one_evaluation():
    objective = Function(logistic(), 12)
    first = solve(objective)
    objective.n_evaluations = 0
    again = solve(objective, first.w)
    assert (again.n_iter, again.converged, objective.n_evaluations) == (0, True, 1)
    np.testing.assert_array_equal(again.w, first.w)


def test_owlqn_without_l1_is_lbfgs():
    objective = Function(rosenbrock, 10)
    first, second = (solve(objective, l2=0.1, solver=solver) for solver in (lbfgs, owlqn))
    np.testing.assert_array_equal(first.w, second.w)
    assert first[1:] == second[1:]


@pytest.mark.parametrize("solver", [lbfgs, owlqn])
@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_gradients_whose_square_is_no_float(solver, scale):
    """There is no step to take, and that is said."""
    for l1 in (0.0, 1e-180) if solver is owlqn else (0.0,):
        with np.errstate(over="ignore"):
            found = solve(
                Function(lambda w: (1.0, np.full(3, scale)), 3), l1=l1, tol=0.0, solver=solver
            )
        assert not found.converged
        np.testing.assert_array_equal(found.w, np.zeros(3))
