"""Averaged perceptron and passive-aggressive, and passes over batches of a stream, against loops
over dense vectors.
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.max_margin import MaxMargin
from sklearn_struct.objectives.linear_objective import TrainingData
from sklearn_struct.objectives.linear_potentials import bind
from sklearn_struct.objectives.linear_terms import LinearTerms
from sklearn_struct.solvers import sgd as sgd_module
from sklearn_struct.solvers.online import (
    passive_aggressive,
    passive_aggressive_pass,
    passive_aggressive_squared,
    passive_aggressive_squared_pass,
    perceptron,
    perceptron_pass,
)
from sklearn_struct.solvers.result import Stream
from sklearn_struct.solvers.sgd import sgd_pass

AP = contracts.Solver(
    perceptron, lambda: {"rng": np.random.RandomState(0)}, l1=False, precision=0.0, tol=0.0
)
PA = contracts.Solver(
    passive_aggressive, lambda: {"rng": np.random.RandomState(0)}, l1=False, precision=0.0, tol=0.0
)
PA_II = contracts.Solver(
    passive_aggressive_squared,
    lambda: {"rng": np.random.RandomState(0)},
    l1=False,
    precision=0.0,
    tol=0.0,
)
BOTH = pytest.mark.parametrize(("solver", "margin"), [(AP, 0.0), (PA, 1.0)], ids=["ap", "pa"])


def averaged(problem, length, n_passes, w0=None):
    """Means of the iterates after each pass, and the numbers of steps: the textbook's loop."""
    w = np.zeros(problem.size) if w0 is None else w0.copy()
    rng = np.random.RandomState(0)
    iterates = []
    means = []
    steps = []
    for _ in range(n_passes):
        steps.append(0)
        for i in rng.permutation(problem.n_terms):
            loss = problem.margin - problem.A[i] @ w
            if loss >= 0:
                w = w + length(loss, problem.A[i]) * problem.A[i]
                steps[-1] += 1
            iterates.append(w)
        means.append(np.mean(iterates, axis=0))
    return means, steps


def pa_length(bound):
    return lambda loss, a: min(bound, loss / (a @ a))


@pytest.mark.parametrize("w0", [None, np.arange(6.0)])
@pytest.mark.parametrize("C", [0.01, 1.0, np.inf])
def test_squared_losses_go_less_far_instead_of_having_a_bound(C, w0):
    problem = contracts.noisy(np.random.default_rng(0), 1.0)
    means, _ = averaged(problem, lambda loss, a: loss / (a @ a + 1 / (2 * C)), 4, w0)
    found = PA_II(problem, w0, l2=1 / (40 * C), max_iter=4)
    np.testing.assert_allclose(found.w, means[-1], atol=1e-12)


@pytest.mark.parametrize("w0", [None, np.arange(6.0)])
def test_perceptron_is_the_textbooks(w0):
    problem = contracts.noisy(np.random.default_rng(0), 0.0)
    means, steps = averaged(problem, lambda loss, a: 1.0, 5, w0)
    seen = []
    found = AP(problem, w0, max_iter=5, callback=lambda n_iter, w, value: seen.append((w, value)))
    assert found.n_iter == 5
    assert [value for _, value in seen] == [n / 40 for n in steps]
    np.testing.assert_allclose([w for w, _ in seen], means, atol=1e-12)
    np.testing.assert_array_equal(found.w, seen[-1][0])
    assert found.value == seen[-1][1]


@pytest.mark.parametrize("w0", [None, np.arange(6.0)])
@pytest.mark.parametrize("bound", [0.01, 0.1, np.inf])
def test_passive_aggressive_is_the_textbooks(bound, w0):
    problem = contracts.noisy(np.random.default_rng(0), 1.0)
    means, _ = averaged(problem, pa_length(bound), 4, w0)
    found = PA(problem, w0, l2=1 / (40 * bound), max_iter=4)
    np.testing.assert_allclose(found.w, means[-1], atol=1e-12)


def test_passive_aggressive_step_solves_its_problem():
    """||w' - w||**2 / 2 + f_i(w') / (l2 * n_terms) is nowhere lower around the iterate."""
    rng = np.random.default_rng(0)
    for l2 in (0.05, 1.0, 20.0):
        problem = contracts.Hinges(rng, 1.0, n_terms=1)
        w0 = rng.normal(size=6) - 2 * problem.A[0] / (problem.A[0] @ problem.A[0])
        found = PA(problem, w0, l2=l2, max_iter=1)

        def cost(w, problem=problem, w0=w0, l2=l2):
            return (w - w0) @ (w - w0) / 2 + problem.term(problem.forward(w, 0, 1.0), 0)[0] / l2

        assert cost(found.w) < cost(w0)
        for scale in (1e-3, 1e-1, 1.0):
            assert all(
                cost(found.w) <= cost(found.w + scale * rng.normal(size=6)) + 1e-12
                for _ in range(50)
            )


def test_a_term_without_features_is_passed_over():
    problem = contracts.Hinges(np.random.default_rng(0), 1.0)
    problem.A[:] = 0.0
    for l2 in (0.0, 0.1):
        assert not PA(problem, l2=l2, max_iter=2).w.any()


@BOTH
def test_separable_terms_are_learnt(solver, margin):
    problem = contracts.Hinges(np.random.default_rng(0), margin)
    found = solver(problem, l2=0.0, max_iter=300)
    assert found.converged
    assert np.all(problem.A @ found.w > 0)


def test_mistakes_of_the_perceptron_are_bounded():
    """Novikoff: at most (largest norm / gap)**2 on the way to the separation, in whatever order."""
    for gap in (0.1, 0.5, 2.0):
        problem = contracts.Hinges(np.random.default_rng(1), 0.0, gap=gap)
        shares = []
        found = AP(
            problem,
            max_iter=1000,
            callback=lambda n_iter, w, value, shares=shares: shares.append(value),
        )
        assert found.converged
        assert found.value == shares[-1] == 0.0
        assert 0 < 40 * sum(shares) <= (problem.A**2).sum(axis=1).max() / gap**2


@BOTH
def test_tol(solver, margin):
    """Contradictory terms end a fit once passes improve little; the value is never quite the lowest
    again.
    """
    problem = contracts.noisy(np.random.default_rng(0), margin)
    n_iter = []
    for tol in (1.0, 1e-2, 1e-4):
        found = solver._replace(tol=tol)(problem, max_iter=2000)
        assert found.converged
        assert found.value > 0
        n_iter.append(found.n_iter)
    assert n_iter == sorted(n_iter)
    assert n_iter[0] == 7  # the first window to compare
    assert not solver(problem, max_iter=6).converged


def test_when_it_ends():
    """After passes 7, 15, 31 ..., where the lowest cost fell by less than `tol` of the first a pass
    since the last.
    """
    problem = contracts.noisy(np.random.default_rng(0), 1.0)
    values = []
    PA._replace(tol=-1.0)(problem, max_iter=127, callback=lambda n, w, value: values.append(value))
    lowest = np.minimum.accumulate(values)
    falls = {
        2 * m - 1: (lowest[m - 2] - lowest[2 * m - 2]) / (values[0] * m) for m in (4, 8, 16, 32, 64)
    }
    assert falls[7] > 0
    for fall in falls.values():
        for tol in (0.75 * fall, 1.25 * fall):
            found = PA._replace(tol=tol)(problem, max_iter=127)
            assert found.n_iter == next(n for n in falls if falls[n] <= tol)
            assert found.converged


@BOTH
@pytest.mark.parametrize(
    "check",
    [
        contracts.check_callback_stops,
        contracts.check_start_stays_and_runs_repeat,
        contracts.check_l1,
    ],
)
def test_contract(solver, margin, check):
    check(solver, contracts.noisy(np.random.default_rng(0), margin))


@BOTH
def test_depends_on_its_generator_alone(solver, margin):
    problem = contracts.noisy(np.random.default_rng(0), margin)
    by_seed = [
        solver._replace(options=lambda seed=seed: {"rng": np.random.RandomState(seed)})(
            problem, max_iter=3
        ).w
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(by_seed[0], by_seed[1])
    assert np.any(by_seed[0] != by_seed[2])


# ---- passes over batches of chains


MODELS = pytest.mark.parametrize(
    "options",
    [
        {},
        {"dense": True},
        {"edge": False, "intercept": False},
        {"dtype": np.float32},
        {"observed": True},
        {"triples": True},
    ],
)
PASSES = {
    "ap": (perceptron_pass, MaxMargin(Chain())),
    "pa-ii": (passive_aggressive_squared_pass, MaxMargin(Chain(), margin=1.0)),
    "pa": (passive_aggressive_pass, MaxMargin(Chain(), 1.0)),
    "sgd": (sgd_pass, LogLikelihood(Chain())),
}
BATCHES = [(0, 1), (1, 2), (2, 9), (9, 30)]
STEP = 0.3


class Chains:
    """A corpus whose first batches show few of its features, and objectives of its parts."""

    def __init__(self, loss, options):
        rng = np.random.default_rng(0)
        self.model = naive.linear_model(rng, rng.integers(1, 4, size=30), m=8, **options)
        self.loss = loss
        self.dtype = np.dtype(options.get("dtype", np.float64))
        self.size = self.model.potentials.size
        self.pattern = self.model.potentials.pattern
        self.weight = rng.uniform(0.5, 2.0, size=30)

    def __call__(self, lo, hi):
        X = SequenceArray(self.model.X.tokens, self.model.X.offsets)[lo:hi]
        y = self.model.y[self.model.X.offsets[lo] : self.model.X.offsets[hi]]
        inference = Chain(self.pattern.order)
        structure = inference.structure(X.offsets)
        data = TrainingData(structure, Evidence(y), self.weight[lo:hi], float(hi - lo))
        potentials = bind(self.pattern, X, structure, self.dtype)
        return LinearTerms(potentials, self.loss, inference, data, term_tokens=1)


def dense_steps(name, chains, batches, l2):
    """All iterates of passes over the batches, each by the gradient of its sequence in a full
    vector.
    """
    w = np.zeros(chains.size)
    iterates = []
    penalised = np.arange(chains.size) < chains.size - (3 if chains.pattern.fit_intercept else 0)
    for seed, (lo, hi) in enumerate(batches):
        for i in np.random.RandomState(seed).permutation(hi - lo):
            value, grad = chains(lo + i, lo + i + 1).value_and_grad(w)
            if name == "sgd":
                eta = STEP / (1 + STEP * l2 * len(iterates)) ** 0.75
                w = np.where(penalised, (1 - eta * l2) * w, w) - eta * grad
            elif grad.any():
                # of a step along the gradient of weight 1
                longest = chains.weight[lo + i] / (l2 * (hi - lo))
                length = (
                    min(longest / chains.weight[lo + i], value / (grad @ grad))
                    if name == "pa"
                    else 1.0
                )
                if name == "pa-ii":
                    length = value / (grad @ grad + l2 * (hi - lo) / 2)
                w = w - length * grad
            iterates.append(w)
    return np.array(iterates)


@MODELS
@pytest.mark.parametrize("name", PASSES)
def test_passes_over_batches(name, options, monkeypatch):
    """Weights of features that a batch lacks stay (or shrink, in sgd), and the mean goes on."""
    monkeypatch.setattr(sgd_module, "_calibrate", lambda *args: STEP)
    one_pass, loss = PASSES[name]
    chains = Chains(loss, options)
    l2 = 0.02
    iterates = dense_steps(name, chains, BATCHES, l2)
    stream = Stream(np.zeros(chains.size), np.zeros(chains.size))
    for seed, (lo, hi) in enumerate(BATCHES):
        before = [array.copy() for array in stream[:2]]
        earlier = stream
        stream = one_pass(chains(lo, hi), stream, l2=l2, rng=np.random.RandomState(seed))
        for array, kept in zip(earlier[:2], before, strict=True):
            np.testing.assert_array_equal(array, kept)
        mean = np.mean(iterates[:hi], axis=0)
        if name == "sgd":
            mean = iterates[0]
            for n, w in enumerate(iterates[1:hi], start=1):
                mean = mean + 4 / (n + 4) * (w - mean)
        atol = 1e-4 if chains.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(stream.w, iterates[hi - 1], atol=atol)
        np.testing.assert_allclose(stream.mean, mean, atol=atol)
        assert stream.n == hi
    assert np.linalg.norm(stream.mean) > 0.1


@pytest.mark.parametrize(
    ("solver", "name"),
    [(perceptron, "ap"), (passive_aggressive, "pa"), (passive_aggressive_squared, "pa-ii")],
)
def test_a_solver_is_a_stream_of_passes(solver, name):
    one_pass, loss = PASSES[name]
    objective = Chains(loss, {})(0, 30)
    rng = np.random.RandomState(0)
    stream = Stream(np.zeros(objective.size), np.zeros(objective.size))
    for _ in range(3):
        stream = one_pass(objective, stream, l2=0.02, rng=rng)
    found = solver(
        objective,
        np.zeros(objective.size),
        l1=0.0,
        l2=0.02,
        max_iter=3,
        tol=0.0,
        rng=np.random.RandomState(0),
    )
    np.testing.assert_allclose(found.w, stream.mean, rtol=1e-9)


def test_step_of_a_stream_is_calibrated_until_enough_was_seen(monkeypatch):
    steps = iter([0.1, 0.4, 0.2])
    monkeypatch.setattr(sgd_module, "_calibrate", lambda *args: next(steps))
    monkeypatch.setattr(sgd_module, "CALIBRATION_TERMS", 6)
    chains = Chains(LogLikelihood(Chain()), {})
    stream = Stream(np.zeros(chains.size), np.zeros(chains.size))
    found = []
    for lo, hi in [(0, 1), (1, 4), (4, 8), (8, 10)]:
        stream = sgd_pass(chains(lo, hi), stream, l2=0.02, rng=np.random.RandomState(0))
        found.append(stream.step)
    expected = np.exp(np.cumsum(np.log([0.1, 0.4, 0.2]) * [1, 3, 4]) / [1, 4, 8])
    np.testing.assert_allclose(found, [*expected, expected[-1]])


def test_steps_are_calibrated_with_the_penalty():
    """Where terms ask for nothing, a pass shrinks the weights as much as it may: a step of nearly 1
    / l2.
    """
    problem = contracts.LeastSquares(np.random.default_rng(0))
    l2 = 0.1
    problem.A[:] = 0.0
    problem.b[:] = 0.0
    start = np.ones(problem.size)
    stream = sgd_pass(problem, Stream(start, start), l2=l2, rng=np.random.RandomState(0))
    assert 0.5 / l2 < stream.step < 1 / l2
