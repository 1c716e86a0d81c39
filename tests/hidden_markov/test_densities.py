"""From counts to log-parameters."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.hidden_markov.densities import (
    add_values,
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


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_log_probabilities_of_values(dtype):
    table = np.random.RandomState(0).normal(size=(3, 4))
    codes = np.array([3, 0, 0, 2, 1], dtype)
    for written in (table, np.asfortranarray(table), np.repeat(table, 2, axis=1)[:, ::2]):
        log_p = np.ones((5, 3))
        add_values(codes, written, log_p)
        np.testing.assert_array_equal(log_p, 1 + table.T[codes])
