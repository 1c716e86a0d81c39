"""The part of log-probabilities of counts that is the same for all labels."""

from __future__ import annotations

from math import factorial, log, prod

import numpy as np
import pytest

from sklearn_struct.hidden_markov.counts import Counts

NUMBERS = [[0, 3], [2, 5], [1, 0]]


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.uint64])
def test_events(dtype):
    counts = Counts.of_events(np.array(NUMBERS, dtype))
    ((rows, floats),) = counts.pieces
    assert (rows.start, floats.dtype) == (0, np.float64)
    wanted = [-log(prod(map(factorial, row))) for row in NUMBERS]
    np.testing.assert_allclose(counts.constant(floats), wanted, rtol=1e-14, atol=1e-14)


def test_events_that_are_missing_say_nothing():
    constant = Counts.of_events(np.empty((0, 2))).constant
    numbers = np.array([[np.nan, 3], [np.nan, np.nan], [4, 2]])
    wanted = [-log(6), 0.0, -log(48)]
    np.testing.assert_allclose(constant(numbers), wanted, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_trials(dtype):
    counts = Counts.of_trials(np.array(NUMBERS, dtype))
    ((_, floats),) = counts.pieces
    wanted = [log(factorial(sum(row)) // prod(map(factorial, row))) for row in NUMBERS]
    np.testing.assert_allclose(counts.constant(floats), wanted, rtol=1e-13, atol=1e-13)


def test_rows_and_what_is_left_out():
    counts = Counts.of_events(np.array(NUMBERS))
    part = counts.of_rows(slice(1, 2))
    assert (part.numbers.tolist(), part.constant) == ([NUMBERS[1]], counts.constant)
    assert counts.without_constant.constant is None
    assert Counts.none(4).numbers.shape == (4, 0)
