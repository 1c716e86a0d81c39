"""Several runs, of which the lowest counts."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.estimators.hidden_states.random_starts import NOISE, with_noise
from sklearn_struct.estimators.hidden_states.restarts import Start, best_run, seeds
from sklearn_struct.solvers.result import Result


def starts(*values):
    return [Start(np.array([value]), seed) for seed, value in enumerate(values)]


def run(start, callback):
    callback(1, start.w, float(start.w[0]) + 1)
    callback(2, start.w, float(start.w[0]))
    return Result(start.w, float(start.w[0]), 2, True)


def test_the_lowest_value_wins_and_the_first_of_equals():
    best = best_run(starts(3.0, 1.0, 2.0, 1.0), run)
    assert (best.start.seed, best.result.value, best.values) == (1, 1.0, [2.0, 1.0])


def test_what_is_no_number_loses():
    best = best_run(starts(np.nan, 5.0, np.inf, -np.inf), run)
    assert best.result.value == 5.0
    assert np.isnan(best_run(starts(np.nan, np.inf), run).result.value)


def test_there_must_be_a_start():
    with pytest.raises(ValueError, match="must be a start"):
        best_run([], run)


def test_more_starts_leave_the_first_seeds():
    assert seeds(3, 5)[:2] == seeds(3, 2)
    assert seeds(np.random.RandomState(3), 5) == seeds(3, 5)
    assert len(set(seeds(0, 50))) == 50
    assert seeds(4, 5) != seeds(3, 5)


def test_noise_is_where_it_is_asked_for():
    w = np.arange(1000.0)
    chosen = w >= 500
    noisy = with_noise(w, chosen, np.random.RandomState(0))
    np.testing.assert_array_equal(noisy[:500], w[:500])
    assert np.std(noisy[500:] - w[500:]) == pytest.approx(NOISE, rel=0.1)
    np.testing.assert_array_equal(w, np.arange(1000.0))
