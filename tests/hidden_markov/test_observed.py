"""What all labels have in common."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest

from sklearn_struct.hidden_markov.counts import Counts
from sklearn_struct.hidden_markov.observed import Observed

OFFSETS = np.array([0, 3, 3, 5, 6])
WEIGHT = np.array([1.0, 5.0, 0.5, 0.0])
TOKENS = np.repeat(WEIGHT, np.diff(OFFSETS))
EVENTS = np.array([[0, 3], [1, 2], [170, 0], [4, 4], [2, 9], [1, 1]])
TRIALS = np.array([[2, 3, 1], [0, 0, 0], [1, 0, 9], [60, 5, 4], [1, 1, 1], [7, 0, 0]])


def observed(events=EVENTS, trials=TRIALS):
    counts = Counts.of_events(events), Counts.of_trials(trials)
    return Observed([], np.empty((6, 0)), OFFSETS, *counts)


def of_events(row):
    return -sum(lgamma(count + 1) for count in row if count == count)


def of_trials(row):
    return lgamma(sum(row) + 1) - sum(lgamma(count + 1) for count in row)


def test_the_constant_of_all_sequences():
    expected = sum(
        weight * (of_events(events) + of_trials(trials))
        for weight, events, trials in zip(TOKENS, EVENTS.tolist(), TRIALS.tolist(), strict=True)
    )
    found = observed()
    assert found.constant(WEIGHT) == pytest.approx(expected, rel=1e-13)
    assert found.without_constants.constant(WEIGHT) == 0.0
    np.testing.assert_array_equal(found.without_constants.events.numbers, EVENTS)


def test_missing_events_add_nothing():
    events = EVENTS.astype(float)
    events[0, 1] = events[3] = np.nan
    expected = sum(w * of_events(row) for w, row in zip(TOKENS, events.tolist(), strict=True))
    nothing = np.empty((6, 0))
    assert observed(events, nothing).constant(WEIGHT) == pytest.approx(expected, rel=1e-13)
    assert observed(nothing, nothing).constant(WEIGHT) == 0.0


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, np.int64])
def test_small_types_do_not_overflow(dtype):
    found = observed(EVENTS.astype(dtype), TRIALS.astype(dtype))
    assert found.constant(WEIGHT) == observed().constant(WEIGHT)
    assert found.measured.dtype == np.float64
    np.testing.assert_allclose(found.measured, observed().measured)


def test_pieces_of_many_tokens():
    n = 30_000
    numbers = np.random.RandomState(0).poisson(3.0, size=(n, 2))
    offsets = np.array([0, 20_000, n])
    weight = np.array([1.0, 3.0])
    nothing = Counts.none(n)
    many = Observed([], np.empty((n, 0)), offsets, Counts.of_events(numbers), nothing)
    each = np.array([of_events(row) for row in numbers.tolist()])
    expected = each[:20_000].sum() + 3 * each[20_000:].sum()
    assert many.constant(weight) == pytest.approx(expected, rel=1e-12)


def test_how_many_columns_are_measured():
    nothing = np.empty((6, 0))
    assert observed().n_measured == observed().measured.shape[1] == 5
    assert observed(EVENTS, nothing).n_measured == 2
    assert observed(nothing, nothing).n_measured == 0
