"""Numbers that do not vanish, beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES, load, mul, store
from sklearn_struct.inference.chains.floored_numbers import (
    FLOOR,
    LEAST,
    floored,
    raise_table,
    raised_exp,
)


@kernel
def _raised(x, y, out):
    a = load(x, 0)
    b = load(y, 0)
    store(out, 0, raised_exp(a))
    store(out, LANES, floored(b, load(y, LANES), mul(b, load(y, LANES))))


@pytest.mark.twins
def test_what_is_possible_stays_above_a_floor():
    x = np.array([0.0, -1.0, -300.0, -350.0, -800.0, -1e290, -np.inf, -745.0])
    y = np.array([[1.0, 0.5, 1e-100, 1e-140, 0.0, 1.0, 1e-300, 0.0], [1.0, 0.5, 1e-60] + 5 * [0]])
    y[1, 3:] = [1e-140, 1.0, 0.0, 1e-10, 0.0]
    out = np.empty((2, LANES))
    _raised(x, y, out)
    with np.errstate(divide="ignore"):
        wanted = np.where(x > -np.inf, np.maximum(np.exp(x), LEAST), 0.0)
    np.testing.assert_allclose(out[0], wanted, rtol=1e-13)
    table = np.empty(8)
    raise_table(x[None] + 3.0, 3.0, table)
    np.testing.assert_allclose(table, wanted, rtol=1e-13)
    product = y[0] * y[1]
    np.testing.assert_array_equal(
        out[1], np.where((y[0] > 0) & (y[1] > 0), np.maximum(product, FLOOR), 0.0)
    )


def test_a_step_of_two_raised_numbers_is_one_still():
    assert 2 * np.finfo(float).tiny < LEAST * FLOOR
