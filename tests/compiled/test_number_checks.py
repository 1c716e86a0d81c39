"""Numbers that are counted where they are too large."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.compiled.number_checks import n_beyond


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_beyond_a_limit_are_counted(n, dtype):
    numbers = np.random.RandomState(n).uniform(-2, 2, size=n).astype(dtype)
    assert n_beyond(numbers, 2.0) == 0
    assert n_beyond(numbers, 1.0) == np.count_nonzero(np.abs(numbers) > 1)
    numbers[::3] = np.nan
    numbers[1::3] = -np.inf
    numbers[2::3] = 2.0
    assert n_beyond(numbers, 2.0) == len(numbers[::3]) + len(numbers[1::3])
