"""Line searches on functions of one variable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sklearn_struct.solvers.line_search import CURVATURE, DECREASE, MAX_TRIALS, NOISE, Point, search

LINES = {
    "parabola": (lambda t: (t - 1) ** 2, lambda t: 2 * (t - 1)),
    "quartic": (lambda t: (t - 1) ** 4, lambda t: 4 * (t - 1) ** 3),
    "exponential": (lambda t: math.exp(t) - 5 * t, lambda t: math.exp(t) - 5),
    "waves": (
        lambda t: math.sin(5 * t) - t + t * t / 9,
        lambda t: 5 * math.cos(5 * t) - 1 + 2 * t / 9,
    ),
    "barrier": (
        lambda t: -math.log(2 - t) - 3 * t if t < 2 else math.nan,
        lambda t: 1 / (2 - t) - 3,
    ),
    "cliff": (lambda t: -t if t < 1e-3 else math.inf, lambda t: -1.0),
}


def line(value, slope, seen=None):
    def at(step):
        if seen is not None:
            seen.append(step)
        return Point(step, value(step), slope(step), np.array([step]), np.array([slope(step)]))

    return at


@pytest.mark.parametrize("first", [1e-6, 0.1, 1.0, 1.9, 100.0])
@pytest.mark.parametrize("name", [name for name in LINES if name not in ("waves", "cliff")])
def test_wolfe_conditions(name, first):
    seen = []
    at = line(*LINES[name], seen)
    start = at(0.0)
    found = search(at, start, first)
    assert found.value <= start.value + DECREASE * found.step * start.slope
    assert found.slope >= CURVATURE * start.slope
    assert len(seen) <= 14


@pytest.mark.parametrize("first", [0.01, 0.1, 1.0, 10.0])
def test_a_line_of_many_minima(first):
    value, slope = LINES["waves"]
    at = line(lambda t: value(t + 0.5), lambda t: slope(t + 0.5))
    start = at(0.0)
    found = search(at, start, first)
    assert found.value < start.value
    assert found.slope >= CURVATURE * start.slope


def test_a_good_first_step_is_taken():
    seen = []
    at = line(*LINES["parabola"], seen)
    assert search(at, at(0.0), 1.3).step == 1.3
    assert seen == [0.0, 1.3]


def test_the_lowest_where_no_point_is_flat_enough():
    at = line(*LINES["cliff"])
    found = search(at, at(0.0), 1.0)
    assert 5e-4 < found.step < 1e-3


def test_nothing_is_lower():
    seen = []
    at = line(lambda t: t, lambda t: -1.0, seen)
    assert search(at, at(0.0), 1.0) is None
    assert len(seen) <= MAX_TRIALS + 1


def test_an_unbounded_line():
    at = line(lambda t: -t, lambda t: -1.0)
    assert search(at, at(0.0), 1.0).step > 1e6


def test_slopes_decide_within_the_noise():
    for error in (0.5 * NOISE, 2 * NOISE):
        at = line(
            lambda t, error=error: 1.0 + (error if t > 0.5 else 0.0), lambda t: 1e-12 * (t - 1)
        )
        found = search(at, at(0.0), 1.0)
        assert (found is not None and found.step == 1.0) == (error < NOISE)


def test_too_far_within_the_noise():
    """Values tell nothing, and the slope says that the minimum has been passed."""
    at = line(lambda t: 1.0, lambda t: 1e-12 * (t - 1))
    assert search(at, at(0.0), 10.0).step < 1.9
