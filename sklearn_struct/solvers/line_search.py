"""A step along a direction of descent: cubic interpolation, until a condition of Wolfe's holds or
nearly does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["Point", "search"]

# of value and slope (Nocedal & Wright, section 3.1)
DECREASE = 1e-4
CURVATURE = 0.9
# of the value, relative: below it slopes alone tell what is lower, up to OVERSHOOT times the first
# one
NOISE = 1e-6
OVERSHOOT = 0.8
MAX_TRIALS = 20
# of a step: a slope that changes its sign so quickly jumps
JUMP = 1e-3


class Point(NamedTuple):
    """A point on the line, `step` from its start, with its gradient and the derivative along the
    line.
    """

    step: float
    value: float
    slope: float
    w: np.ndarray
    grad: np.ndarray

    @property
    def finite(self) -> bool:
        return math.isfinite(self.value) and math.isfinite(self.slope)


def search(
    at: Callable[[float], Point],
    start: Point,
    step: float,
    rounding: float = 0.0,
    curvature: float = CURVATURE,
) -> Point | None:
    """A point that is lower than `start` and less steep, looked for from `step` on; None if none is
    found.

    Where values differ by no more than their rounding errors, the slope decides: the approximate
    conditions of Hager & Zhang (SIAM Journal on Optimization 16, 2005). They are NOISE times the
    value, or `rounding` if that is more. If `rounding` is infinite, slopes alone count; where they
    jump from falling to rising, the last point that was seen to fall is taken.
    """
    low = start
    high = None
    best = None
    noise = max(NOISE * abs(start.value), rounding)
    for _ in range(MAX_TRIALS):
        new = at(step)
        before = low
        # by more than values are wrong, else noise would count as descent
        lower = new.finite and new.value <= start.value + min(
            DECREASE * new.step * start.slope, -rounding
        )
        # near the minimum values are equal up to rounding, while slopes still tell sides apart
        as_low = new.finite and new.value <= start.value + noise
        if new.slope >= curvature * start.slope and (
            lower or (as_low and new.slope <= -OVERSHOOT * start.slope)
        ):
            return new
        # lower, but still too steep: better than nothing if the trials end before a flatter one is
        # met
        if lower and (best is None or new.value < best.value):
            best = new
        # a minimum is to the right of points that are low and still fall, and to the left of all
        # others
        if new.slope < 0 and (lower or as_low):
            low = new
        else:
            high = new
        if rounding == math.inf and high is not None and high.step - low.step < JUMP * high.step:
            break
        # a step that floats cannot tell from the last one ends the search below
        step = _beyond(before, low, rounding) if high is None else _between(low, high, rounding)
        if not low.step < step < math.inf:
            break
    jumps = rounding == math.inf and high is not None and low is not start
    return low if jumps else best


def _beyond(before: Point, low: Point, rounding: float) -> float:
    """Where to look while the line still falls."""
    width = low.step - before.step
    return low.step + float(
        # beyond the last point in any case, and not too far: two points that both fall say little
        # about what comes after them
        np.clip(_minimum(before, low, math.inf, rounding) - low.step, 1.1 * width, 4 * width)
    )


def _between(low: Point, high: Point, rounding: float) -> float:
    """Where to look when the line has been seen to rise, or to end."""
    width = high.step - low.step
    # a value that overflowed says only that the step was too long
    guess = _minimum(low, high, low.step, rounding) if high.finite else low.step
    # a guess next to an end would hardly shrink the bracket
    return low.step + float(np.clip(guess - low.step, 0.1 * width, 0.9 * width))


def _minimum(a: Point, b: Point, default: float, rounding: float) -> float:
    """Where the cubic through two points is lowest (Nocedal & Wright, equation 3.59).

    Where their values differ by rounding errors, it is the parabola that has their slopes.
    """
    width = b.step - a.step
    rise = b.value - a.value
    if abs(rise) <= rounding:
        # the difference of two values that differ by rounding alone is noise; slopes are not
        rise = (a.slope + b.slope) / 2 * width
    mean = a.slope + b.slope - 3 * rise / width
    square = mean * mean - a.slope * b.slope
    # a cubic without a minimum: NaN leads to the default
    root = math.sqrt(square) if square >= 0 else math.nan
    steepness = b.slope - a.slope + 2 * root
    lowest = b.step - width * (b.slope + root - mean) / steepness if steepness else math.nan
    return lowest if math.isfinite(lowest) else default
