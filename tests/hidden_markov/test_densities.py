"""From counts to log-parameters."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.hidden_markov.densities import log_prior, log_ratios, value_counts

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
