"""Each solver on least squares, by the contract, and on logistic regression, against the others."""

from __future__ import annotations

import contracts
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.objectives.linear_objective import TrainingData
from sklearn_struct.objectives.linear_potentials import bind
from sklearn_struct.objectives.linear_terms import LinearTerms
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern
from sklearn_struct.solvers.gradient_descent import cg, gradient_descent
from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.newton_cg import newton_cg, trust_ncg
from sklearn_struct.solvers.owlqn import owlqn
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.rounding_noise import measure
from sklearn_struct.solvers.sgd import sgd

LBFGS = contracts.Solver(lbfgs, dict, l1=False, precision=1e-6, tol=1e-8)
OWLQN = contracts.Solver(owlqn, dict, l1=True, precision=1e-6, tol=1e-8)
NEWTON_CG = contracts.Solver(newton_cg, dict, l1=False, precision=1e-6, tol=1e-8)
TRUST_NCG = contracts.Solver(trust_ncg, dict, l1=False, precision=1e-6, tol=1e-8)
CG = contracts.Solver(cg, dict, l1=False, precision=1e-6, tol=1e-7)
GRADIENT = contracts.Solver(gradient_descent, dict, l1=False, precision=1e-5, tol=1e-8)
SGD = contracts.Solver(
    sgd, lambda: {"rng": np.random.RandomState(0)}, l1=False, precision=0.03, tol=1e-6
)

test_lbfgs = contracts.solver(LBFGS)
test_owlqn = contracts.solver(OWLQN)
test_newton_cg = contracts.solver(NEWTON_CG)
test_trust_ncg = contracts.solver(TRUST_NCG)
test_cg = contracts.solver(CG)
test_gradient = contracts.solver(GRADIENT)
test_sgd = contracts.solver(SGD)


BATCH = {
    "lbfgs": LBFGS,
    "owlqn": OWLQN,
    "newton_cg": NEWTON_CG,
    "trust_ncg": TRUST_NCG,
    "cg": CG,
    "gradient": GRADIENT,
}


def objective_of(X, y, weight, edge_columns):
    """The terms of a chain with all of its weights."""
    n_features = X.tokens.shape[1]
    pairs = CliquePattern(2, len(edge_columns), None, np.arange(9))
    pattern = Pattern(n_features, 3, None, (pairs,), np.array(edge_columns, dtype=int), True)
    structure = Chain().structure(X.offsets)
    potentials = bind(pattern, X, structure, np.dtype(float))
    data = TrainingData(structure, Evidence(y), weight)
    return LinearTerms(potentials, LogLikelihood(Chain()), Chain(), data)


@pytest.fixture
def logistic():
    """Softmax regression with intercepts: sequences of one token, labels drawn from a model."""
    rng = np.random.default_rng(0)
    n = 150
    m = 4
    K = 3
    X = SequenceArray(rng.normal(size=(n, m)), np.arange(n + 1))
    scores = X.tokens @ rng.normal(size=(m, K)) + rng.gumbel(size=(n, K))
    y = scores.argmax(axis=1).astype(np.int32)
    return objective_of(X, y, rng.uniform(0.5, 2, size=n), [])


@pytest.mark.parametrize("solver", BATCH.values(), ids=BATCH)
@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_logistic_regression(solver, l2, logistic):
    found = solver(logistic, l2=l2)
    assert found.converged
    assert np.abs(contracts.subgradient(logistic, found.w, l2=l2)).max() <= solver.tol


@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_sgd_comes_near_the_optimum_of_lbfgs(l2, logistic):
    optimum = LBFGS(logistic, l2=l2)
    found = SGD(logistic, l2=l2)
    assert found.converged
    assert optimum.value <= found.value <= optimum.value * (1 + 1e-3)
    np.testing.assert_allclose(found.w, optimum.w, atol=0.02)


@pytest.mark.parametrize(("l1", "l2"), [(0.002, 0.0), (0.02, 0.0), (0.02, 0.1), (0.1, 0.01)])
def test_owlqn_meets_the_subgradient_conditions(l1, l2, logistic):
    found = OWLQN(logistic, l1=l1, l2=l2)
    penalised = found.w[: -logistic.n_free]
    assert found.converged
    assert np.abs(contracts.subgradient(logistic, found.w, l1, l2)).max() <= OWLQN.tol
    assert np.any(penalised == 0)
    assert np.any(penalised != 0)


def test_owlqn_starts_anywhere(logistic):
    w0 = np.random.default_rng(1).normal(size=logistic.size) * 3
    first = OWLQN(logistic, w0, l1=0.02, l2=0.1)
    second = OWLQN(logistic, l1=0.02, l2=0.1)
    assert first.value == pytest.approx(second.value, abs=1e-10)
    # the intercepts may share any constant
    np.testing.assert_allclose(first.w[:-3], second.w[:-3], atol=1e-6)


def test_a_heavy_penalty_leaves_the_intercept(logistic):
    """With all else at zero the intercept alone gives the weighted label frequencies."""
    found = OWLQN(logistic, l1=10.0, l2=0.0)
    assert not found.w[: -logistic.n_free].any()
    weight = logistic.data.weight
    frequencies = np.bincount(logistic.data.evidence.labels, weight) / weight.sum()
    odds = np.exp(found.w[-3:])
    np.testing.assert_allclose(odds / odds.sum(), frequencies, atol=1e-6)


@pytest.mark.parametrize("solver", BATCH.values(), ids=BATCH)
def test_converged_is_not_claimed_too_early(solver, logistic):
    for max_iter in (1, 3, 10, 500):
        found = solver(logistic, l2=0.01, max_iter=max_iter)
        steepest = np.abs(contracts.subgradient(logistic, found.w, l2=0.01)).max()
        assert found.n_iter <= max_iter
        assert found.converged == (steepest <= solver.tol)


@pytest.mark.parametrize("solver", [*BATCH.values(), SGD], ids=[*BATCH, "sgd"])
def test_an_objective_without_penalised_entries(solver):
    problem = contracts.LeastSquares(np.random.default_rng(0), size=1, n_free=1)
    assert solver(problem, l2=5.0).w == pytest.approx(problem.b.mean(), abs=solver.precision)


class Sampled(contracts.LeastSquares):
    """Derivatives with noise that hangs on where one is, and values of another problem."""

    def __init__(self, rng):
        super().__init__(rng)
        self.is_sampled = True

    def term(self, theta, i):
        value, gradient = super().term(theta, i)
        return value, gradient + 0.3 * np.sin(1e6 * theta)

    def value_and_grad(self, w):
        value, grad = super().value_and_grad(w)
        return value + 100.0 * float(np.abs(w).sum()), grad


def test_sgd_follows_estimates_whatever_values_say():
    """The result is the last mean, near the minimum that the derivatives are about."""
    problem = Sampled(np.random.default_rng(0))
    rng = np.random.RandomState(0)
    values = []
    result = sgd(
        problem,
        np.zeros(problem.size),
        l1=0.0,
        l2=0.1,
        max_iter=200,
        tol=1e-4,
        callback=lambda n, w, value: values.append(value),
        rng=rng,
    )
    exact = lbfgs(
        contracts.LeastSquares(np.random.default_rng(0)),
        np.zeros(problem.size),
        l1=0.0,
        l2=0.1,
        max_iter=500,
        tol=1e-8,
    )
    np.testing.assert_allclose(result.w, exact.w, atol=0.05)
    assert result.value == values[-1]
    assert result.value > problem.value_and_grad(np.zeros(problem.size))[0]
    assert result.converged
    assert len(values) == result.n_iter < 200


def test_sgd_depends_on_its_generator_alone(logistic):
    contracts.assert_its_generator_decides(sgd, logistic, max_iter=2)


def test_sgd_with_sparse_updates_and_a_warm_start():
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 8, size=200))])
    tokens = rng.normal(size=(offsets[-1], 12)) * (rng.random((offsets[-1], 12)) < 0.3)
    X = SequenceArray(sp.csr_array(tokens), offsets)
    y = rng.integers(3, size=offsets[-1]).astype(np.int32)
    objective = objective_of(X, y, np.ones(200), [0, 3])
    optimum = LBFGS(objective, l2=0.05)
    for w0 in (None, rng.normal(size=objective.size), optimum.w):
        found = SGD(objective, w0, l2=0.05)
        assert optimum.value * (1 - 1e-9) <= found.value <= optimum.value * (1 + 2e-3)


@pytest.mark.parametrize("solver", [NEWTON_CG, TRUST_NCG, CG], ids=["newton_cg", "trust_ncg", "cg"])
def test_the_optimum_of_lbfgs(solver, logistic):
    optimum = LBFGS(logistic, l2=0.01)
    found = solver(logistic, np.ones(logistic.size), l2=0.01)
    assert found.value == pytest.approx(optimum.value, rel=1e-12)
    np.testing.assert_allclose(
        found.w[: -logistic.n_free], optimum.w[: -logistic.n_free], atol=1e-5
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("solver", [NEWTON_CG, TRUST_NCG], ids=["newton_cg", "trust_ncg"])
def test_newton_does_not_mind_the_scale_of_columns(solver, scale):
    """Curvatures from 1e-6 to 1e6, and nothing that takes the small ones for zero."""
    problem = contracts.LeastSquares(np.random.default_rng(0))
    problem.A[:, 1] *= scale
    found = solver(problem, l2=0.0)
    assert found.converged
    assert found.w * problem.A.std(axis=0) == pytest.approx(
        problem.solution(0.0) * problem.A.std(axis=0), abs=1e-4
    )
    assert found.n_iter < 30


class Coarse(contracts.LeastSquares):
    """Values have errors like chance, as differences of large numbers in float32 have; gradients
    have none.
    """

    def value_and_grad(self, w):
        value, grad = super().value_and_grad(w)
        return value + 1e-5 * np.sin(1e9 * np.sum(w)), grad


@pytest.mark.parametrize(
    ("solver", "l1"),
    [(LBFGS, 0.0), (OWLQN, 0.01), (CG, 0.0), (GRADIENT, 0.0)],
    ids=["lbfgs", "owlqn", "cg", "gradient"],
)
def test_gradients_tell_what_coarse_values_hide(solver, l1):
    """Where values stop to tell, gradients are about 1e-3. By bad luck one run in 300 ends early
    all the same.
    """
    n_converged = 0
    for seed in range(6):
        found = solver._replace(tol=1e-6)(Coarse(np.random.default_rng(seed)), l1=l1)
        expected = solver(contracts.LeastSquares(np.random.default_rng(seed)), l1=l1)
        np.testing.assert_allclose(found.w, expected.w, atol=0.05)
        n_converged += found.converged
    assert n_converged >= 4


def test_rounding_is_measured():
    problem = Coarse(np.random.default_rng(0))
    found = measure(Penalised(problem, 0.0), problem.solution(0.0))
    assert 1e-5 <= found.value <= 1e-4
    assert found.grad < 1e-5


def test_penalised_is_the_objective_with_its_penalty(logistic):
    rng = np.random.default_rng(0)
    w = rng.normal(size=logistic.size)
    v = rng.normal(size=logistic.size)
    step = np.zeros(1)
    smooth = Penalised(logistic, 0.3)
    value, grad = smooth.value_and_grad(w)
    assert value == pytest.approx(contracts.penalised_value(logistic, w, l2=0.3), rel=1e-14)
    slope = contracts.derivative(lambda: smooth.value_and_grad(w + step * v)[0], step, 0)
    assert slope == pytest.approx(grad @ v, abs=1e-7)
    slope = contracts.derivative(lambda: smooth.value_and_grad(w + step * v)[1], step, 0)
    np.testing.assert_allclose(slope, smooth.hess_vec(w, v), atol=1e-7)
