"""What is expected of missing numbers, a few rows at a time."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.hidden_markov import missing_numbers
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.missing_numbers import Incomplete


def expected(x, gaussians):
    """The numbers of all rows that have some, NaN for others, and how many steps that took."""
    numbers = np.full((len(gaussians.mean), *x.shape), np.nan)
    steps = 0
    for rows, some, _ in Incomplete.of(x).expected(x, gaussians):
        numbers[:, rows] = some
        steps += 1
    return numbers, steps


@pytest.mark.parametrize("at_a_time", [1, 4 * 3 * 2, 5 * 3 * 2])
def test_many_rows_take_several_steps(at_a_time, monkeypatch):
    rng = np.random.RandomState(0)
    root = rng.normal(size=(2, 3, 4))
    gaussians = Gaussians(rng.normal(size=(2, 3)), root @ np.swapaxes(root, 1, 2), "full")
    x = rng.normal(size=(20, 3))
    x[::2, 1] = np.nan
    x[1:16:2, :2] = np.nan
    at_once, n = expected(x, gaussians)
    assert n == 2
    monkeypatch.setattr(missing_numbers, "NUMBERS", at_a_time)
    in_steps, n = expected(x, gaussians)
    assert n == {1: 18, 24: 5, 30: 4}[at_a_time]
    np.testing.assert_allclose(in_steps, at_once, rtol=1e-13)
    # rows that lack nothing are in no step
    np.testing.assert_array_equal(np.isnan(in_steps).all(axis=(0, 2)), ~np.isnan(x).any(axis=1))
