"""What `sag` remembers: samples are right in the mean, small, and lead to the optimum."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.objectives import remembered_terms as module
from sklearn_struct.objectives.linear_objective import TrainingData
from sklearn_struct.objectives.linear_terms import LinearTerms
from sklearn_struct.objectives.remembered_terms import (
    KEPT,
    MANY,
    AllDerivatives,
    HalfDerivatives,
    SampledDerivatives,
    memory_of,
    remembered_terms,
)
from sklearn_struct.solvers.sag import sag
from sklearn_struct.solvers.sag_lbfgs import sag_lbfgs


def derivatives(rng, n=4000):
    """As of tokens with many labels: few that matter, a long tail, some that are zero."""
    gradient = rng.dirichlet(np.full(n, 0.02)) * 20
    gradient[rng.random(n) < 0.1] = 0.0
    gradient[rng.choice(n, size=20, replace=False)] -= 1.0
    return gradient


def test_all_in_a_float_type():
    memory = AllDerivatives(2, np.float32)
    gradient = derivatives(np.random.default_rng(0))
    assert memory.get(1) is None
    kept = memory.put(1, gradient)
    np.testing.assert_array_equal(kept, gradient.astype(np.float32))
    np.testing.assert_array_equal(memory.get(1), kept)
    assert memory.get(0) is None


def test_a_sample_is_right_in_the_mean():
    """Of 4,000 samples; the mean of each number is as far off as its chances say."""
    gradient = derivatives(np.random.default_rng(0), 1000)
    memory = SampledDerivatives(1, np.random.RandomState(0))
    memory.put(0, gradient)
    threshold = memory.threshold
    total = np.zeros_like(gradient)
    n = 4000
    for _ in range(n):
        memory.threshold = threshold
        total += memory.put(0, gradient)
    small = np.abs(gradient) < threshold / 2
    spread = np.sqrt(np.abs(gradient) * 2 * threshold / n)
    error = np.abs(total / n - gradient)
    assert np.all(error[small] <= 5 * spread[small] + 1e-7)
    assert np.count_nonzero(small & (gradient != 0)) > 100


def test_sums_of_neighbours_are_off_by_a_threshold_at_most():
    rng = np.random.default_rng(1)
    gradient = np.abs(derivatives(rng))
    memory = SampledDerivatives(1, np.random.RandomState(0))
    memory.threshold = 4 * gradient.sum() / (KEPT * len(gradient))
    kept = memory.put(0, gradient)
    threshold = 4 * gradient.sum() / (KEPT * len(gradient))
    off = np.cumsum(kept - gradient)
    assert off.max() - off.min() <= threshold * (1 + 1e-5)
    large = gradient >= threshold
    np.testing.assert_allclose(kept[large], gradient[large], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_samples_are_small_whatever_the_scale(scale):
    rng = np.random.default_rng(0)
    memory = SampledDerivatives(30, np.random.RandomState(0))
    sizes = []
    for i in range(30):
        kept = memory.put(i, scale * derivatives(rng))
        np.testing.assert_array_equal(memory.get(i), kept)
        sizes.append(np.count_nonzero(kept))
    assert max(sizes) <= KEPT * 4000
    # no smaller than they must be
    assert np.mean(sizes[10:]) >= KEPT * 4000 / 4


def test_terms_that_say_nothing():
    memory = SampledDerivatives(2, np.random.RandomState(0))
    np.testing.assert_array_equal(memory.put(0, np.zeros(100)), np.zeros(100))
    gradient = derivatives(np.random.default_rng(0))
    assert np.any(memory.put(1, gradient))


@pytest.mark.parametrize("n", [MANY, MANY + 1])
@pytest.mark.parametrize("sampled", [True, False])
def test_which_memory(n, sampled):
    memory = remembered_terms(3, n, np.float32, np.random.RandomState(0), sampled)
    assert isinstance(memory, SampledDerivatives) == (sampled and n > MANY)
    assert memory.of_terms == [None] * 3
    assert isinstance(memory, HalfDerivatives) == (sampled and n == MANY)
    assert sampled or memory.dtype == np.float32


def test_small_data_are_remembered_as_they_are():
    memory = remembered_terms(3, 100, np.float64, np.random.RandomState(0), True)
    assert memory.dtype == np.float64


def test_all_in_two_bytes():
    gradient = derivatives(np.random.default_rng(0)) * 0.05
    memory = HalfDerivatives(2)
    before = gradient.copy()
    kept = memory.put(1, gradient)
    np.testing.assert_array_equal(gradient, before)
    np.testing.assert_allclose(kept, gradient, rtol=2.0**-11, atol=1e-9)
    np.testing.assert_array_equal(memory.get(1), kept)
    assert memory.get(1).dtype == np.float32
    assert memory.of_terms[1][0].nbytes == 2 * len(gradient)
    assert memory.get(0) is None


def test_float32_that_is_put_stays():
    gradient = derivatives(np.random.default_rng(0)).astype(np.float32)
    before = gradient.copy()
    HalfDerivatives(1).put(0, gradient)
    np.testing.assert_array_equal(gradient, before)


def test_memory_of_samples():
    assert memory_of(MANY, True) == memory_of(MANY, False) == 8 * MANY
    assert memory_of(12 * MANY, False) == 8 * 12 * MANY
    assert memory_of(12 * MANY, True) == pytest.approx(8 * 12 * MANY * KEPT)


@pytest.mark.parametrize("sampled", [True, False])
def test_derivatives_beyond_memory(sampled):
    n = 2**35
    with pytest.raises(ValueError, match=r"sag would remember .* GiB .* use lbfgs or owlqn"):
        remembered_terms(3, n, np.float64, np.random.RandomState(0), sampled)


def test_sag_on_samples(monkeypatch):
    """Near the optimum by samples alone, and there as L-BFGS takes over."""
    rng = np.random.default_rng(0)
    model = naive.linear_model(rng, rng.integers(1, 20, size=400), K=16, m=30)
    data = TrainingData(model.structure, Evidence(model.y), np.ones(400))
    objective = LinearTerms(model.potentials, LogLikelihood(Chain()), Chain(), data, 100)
    options = {"l1": 0.0, "l2": 0.1, "tol": 1e-7, "rng": np.random.RandomState(0)}
    zero = np.zeros(objective.size)
    exact = sag(objective, zero, max_iter=300, **options)
    monkeypatch.setattr(module, "MANY", 0)
    found = sag(objective, zero, max_iter=60, sampled=True, **options)
    gain = objective.value_and_grad(zero)[0] - exact.value
    assert exact.converged
    assert 0 < found.value - exact.value < 2e-2 * gain
    assert sag(objective, zero, max_iter=300, **options).converged
    both = sag_lbfgs(objective, zero, max_iter=300, **options)
    assert both.converged
    assert both.value == pytest.approx(exact.value, rel=1e-9)
