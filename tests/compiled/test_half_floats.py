"""Numbers in two bytes: as near as eleven bits are, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.compiled.half_floats import from_half, to_half


def rounded(numbers):
    """What is rounded in place, after a look at what is kept."""
    numbers = np.array(numbers, np.float32)
    bits = numbers.view(np.int32)
    half = np.empty(len(numbers), np.uint16)
    exponent = to_half(bits, half)
    again = np.empty_like(numbers)
    from_half(half, exponent, again.view(np.int32))
    np.testing.assert_array_equal(again, numbers)
    return numbers


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e30])
def test_nearest(scale):
    rng = np.random.default_rng(0)
    numbers = (scale * rng.normal(size=3000) * 10.0 ** rng.uniform(-6, 0, size=3000)).astype("f4")
    kept = rounded(numbers)
    np.testing.assert_allclose(kept, numbers, rtol=2.0**-11)
    assert np.max(np.abs(kept / numbers - 1)) > 2.0**-12
    # as numpy rounds where its orders are
    if scale == 1.0:
        large = np.abs(numbers) > 1e-4
        np.testing.assert_array_equal(kept[large], numbers[large].astype(np.float16))


def test_orders_below_the_largest():
    numbers = 2.0 ** -np.arange(40.0)
    kept = rounded(np.concatenate([numbers, -numbers]))
    np.testing.assert_array_equal(np.abs(kept[:30]), numbers[:30])
    np.testing.assert_array_equal(kept[40:], -kept[:40])
    assert not kept[32:40].any()


@pytest.mark.parametrize("numbers", [[], [0.0, -0.0], [1e-44, 0.0], [3e38, -3e38, 1e37]])
def test_ends_of_the_range(numbers):
    np.testing.assert_allclose(rounded(numbers), numbers, rtol=2.0**-11, atol=1e-38)


def test_what_is_not_finite_stays_so():
    kept = rounded([np.inf, -np.inf, 1.0])
    np.testing.assert_array_equal(kept[:2], [np.inf, -np.inf])
    bits = np.array([np.nan, 1.0], np.float32).view(np.int32)
    half = np.empty(2, np.uint16)
    to_half(bits, half)
    assert np.isnan(bits.view(np.float32)[0])
