"""Samples beside the sums that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.compiled.systematic_sample import systematic_sample


def taken(numbers, threshold, start):
    """The sample as numbers, zero where none was taken."""
    places = np.full(len(numbers), -1, np.int32)
    values = np.full(len(numbers), np.nan, np.float32)
    n = systematic_sample(numbers, threshold, start, places, values)
    assert np.all(np.diff(places[:n]) > 0)
    assert np.all(places[n:] == -1)
    kept = np.zeros(len(numbers))
    kept[places[:n]] = values[:n]
    return kept, n


@pytest.mark.parametrize("start", [0.0, 0.3, 0.999])
def test_large_numbers_stay_and_small_ones_keep_their_sum(start):
    rng = np.random.default_rng(0)
    numbers = rng.exponential(size=2000)
    kept, n = taken(numbers, 2.0, start)
    large = numbers >= 2.0
    np.testing.assert_allclose(kept[large], numbers[large], rtol=1e-7)
    assert set(kept[~large]) == {0.0, 2.0}
    off = np.cumsum(kept - numbers)
    assert off.max() - off.min() <= 2.0 * (1 + 1e-6)
    assert n == np.count_nonzero(kept)
    assert abs(n - np.minimum(numbers / 2, 1).sum()) <= 1


def test_each_number_has_its_chance():
    """Over all starts, which are equally probable, the mean of a sample is the numbers."""
    numbers = np.array([0.1, -0.25, 0.0, 0.4, 3.0, -0.05, 0.2])
    starts = (np.arange(2000) + 0.5) / 2000
    mean = np.mean([taken(numbers, 0.5, start)[0] for start in starts], axis=0)
    np.testing.assert_allclose(mean, numbers, atol=1e-3)


def test_nothing_of_zeros():
    for threshold in (0.0, 1.0):
        assert taken(np.zeros(10), threshold, 0.5)[1] == 0
    assert taken(np.zeros(0), 1.0, 0.5)[1] == 0
