"""From counts to log-parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from sklearn_struct.hidden_markov.densities import (
    Gaussians,
    fit_gaussians,
    least_variances,
    log_densities,
    log_prior,
    log_ratios,
    value_counts,
)

pytestmark = pytest.mark.twins


def test_ratios():
    found = np.exp(log_ratios(np.array([[1.0, 3.0], [0.0, 2.0], [0.0, 0.0]])))
    np.testing.assert_allclose(found, [[0.25, 0.75], [0, 1], [0.5, 0.5]])
    np.testing.assert_allclose(np.exp(log_ratios(np.array([0.0, 2.0]), 1.0)), [0.25, 0.75])


def test_smoothing_is_the_mode_under_its_prior():
    counts = np.array([3.0, 0.0, 1.0])
    rng = np.random.RandomState(0)
    best = log_ratios(counts, 0.5)
    value = counts @ best + log_prior(best, 0.5)
    for _ in range(100):
        other = np.log(rng.dirichlet([1, 1, 1]))
        assert counts @ other + log_prior(other, 0.5) < value
    assert log_prior(np.array([-np.inf, 0.0]), 0.0) == 0


def test_counts_of_values():
    posterior = np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_array_equal(
        value_counts(np.array([1, 0, 1]), posterior, 3), [[0.25, 1.5, 0], [0.75, 0.5, 0]]
    )


def test_gaussians_are_weighted_moments():
    rng = np.random.RandomState(0)
    x = rng.normal(size=(30, 2)) * [1, 1e-3] + [1e6, 0]
    posterior = rng.dirichlet([1, 1, 1], size=30)
    found = fit_gaussians(x, posterior, np.zeros(2))
    for k in range(3):
        np.testing.assert_allclose(
            found.mean[k], np.average(x, axis=0, weights=posterior[:, k]), rtol=1e-12
        )
        variance = [np.cov(column, aweights=posterior[:, k], ddof=0) for column in x.T]
        np.testing.assert_allclose(found.variance[k], variance, rtol=1e-6)


def test_floors_and_states_without_mass():
    x = np.array([[1.0, 5.0], [3.0, 5.0]])
    posterior = np.array([[1.0, 0.0], [1.0, 0.0]])
    floor = least_variances(x, np.ones(2), 0.1)
    np.testing.assert_allclose(floor, [0.1, 0.1])
    assert not np.any(np.isfinite(least_variances(x * 1e200, np.ones(2), 0.1)[0]))
    found = fit_gaussians(x, posterior, floor)
    np.testing.assert_allclose(found.mean, [[2, 5], [2, 5]])
    np.testing.assert_allclose(found.variance, [[1, 0.1], [1, 0.1]])


def test_densities():
    gaussians = Gaussians(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[1.0, 2.0], [0.5, 4.0]]))
    x = np.random.RandomState(0).normal(size=(5, 2))
    expected = norm.logpdf(x[:, None], gaussians.mean, np.sqrt(gaussians.variance)).sum(axis=2)
    np.testing.assert_allclose(log_densities(x, gaussians), expected, rtol=1e-12)
    assert np.all(log_densities(np.full((1, 2), 1e200), gaussians) == -1e300)
    np.testing.assert_array_equal(
        log_densities(np.empty((2, 0)), Gaussians(*np.empty((2, 3, 0)))), np.zeros((2, 3))
    )
