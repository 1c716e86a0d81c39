"""Sums of exponentials with and without a minimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sklearn_struct.objectives.boundedness import has_minimum

ROWS = np.array([[1.0, 0, 2], [0, 1, 1], [1, 1, 0], [2, 0, 1]])


@pytest.mark.parametrize("share", [[1, 1, 1, 1], [0.1, 3, 1, 0.01]], ids=str)
def test_positive_mixtures_of_rows_have_one(share):
    linear = np.array(share) @ ROWS
    assert has_minimum(ROWS, linear)
    found = minimize(
        lambda w: np.exp(-ROWS @ w).sum() + linear @ w, np.zeros(3), method="BFGS", tol=1e-9
    )
    assert np.max(np.abs(found.jac)) < 1e-5
    assert np.max(np.abs(found.x)) < 20


@pytest.mark.parametrize(
    ("rows", "linear"),
    [
        (ROWS, [-1.0, 1, 1]),  # expected less than never
        (ROWS, [0.0, 1, 1]),  # not expected, but seen
        (ROWS[:2], [1.0, 1, 1]),  # fewer rows than features
        ([[1.0, 0], [2, 0]], [1.0, 1]),  # expected, but not seen
        (ROWS[:3], ROWS[0] + ROWS[1]),  # on the border: the third row needs an infinite weight
        (ROWS, [0.0, 0, 0]),
    ],
    ids=str,
)
def test_others_have_none(rows, linear):
    assert not has_minimum(rows, np.array(linear))


def test_directions_in_which_nothing_changes_do_no_harm():
    twice = np.hstack([ROWS, ROWS[:, :1]])
    assert has_minimum(twice, np.ones(4) @ twice)
    assert has_minimum(np.zeros((2, 3)), np.zeros(3))
