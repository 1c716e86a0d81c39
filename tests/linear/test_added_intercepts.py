"""Sums of rows, and of squares, against numpy's; and what makes them infinite."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.linear.added_intercepts import add_to_rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 1), (2, 7), (3, 5), (4, 8), (7, 22), (100, 3), (5, 441), (9, 12)]
)
def test_rows(shape, dtype):
    """The same bits as numpy's sum."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=shape).astype(dtype)
    row = rng.normal(size=shape[1]).astype(dtype)
    expected = scores + row
    squares = add_to_rows(row, scores)
    np.testing.assert_array_equal(scores, expected)
    assert squares == pytest.approx(np.sum(expected.astype(np.float64) ** 2), rel=1e-5)


@pytest.mark.parametrize("shape", [(9, 5), (3, 16), (2, 7)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e160])
def test_no_sum_that_is_not_finite_hides(value, shape):
    for place in range(shape[0] * shape[1]):
        scores = np.zeros(shape)
        scores.flat[place] = value
        assert not add_to_rows(np.ones(shape[1]), scores) < np.inf
