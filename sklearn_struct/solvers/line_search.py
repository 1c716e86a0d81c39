"""Steps along a direction of descent that meet the conditions of Wolfe, exact or approximate."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["Point", "search"]

ARMIJO, CURVATURE = 1e-4, 0.9
APPROXIMATE = 0.1
NOISE = 1e-9
MAX_TRIALS = 20


class Point(NamedTuple):
    """A point at distance `step` on the line, and the derivative along it."""

    step: float
    value: float
    slope: float
    w: np.ndarray
    grad: np.ndarray


def search(at: Callable[[float], Point], start: Point, step: float) -> Point | None:
    """A point that is low and flat enough, from the first trial `step`; the lowest found if none is; None if none is lower.
    """
    low, high, best = start, None, start
    noise = NOISE * abs(start.value)
    for _ in range(MAX_TRIALS):
        new = at(step)
        finite = np.isfinite(new.value) and np.isfinite(new.slope)
        armijo = finite and new.value <= start.value + ARMIJO * new.step * start.slope
        if armijo and new.value < best.value:
            best = new
        approximate = finite and new.value <= start.value + noise and new.slope <= (2 * APPROXIMATE - 1) * start.slope
        if (armijo or approximate) and new.slope >= CURVATURE * start.slope and (not STRONG or new.slope <= -CURVATURE * start.slope):
            return new
        previous = low
        if finite and new.slope < 0 and (armijo or new.value <= start.value + noise):
            low = new
        else:
            high = new
        step = _trial(previous, low, high)
        if high is not None and abs(high.step - low.step) <= 1e-12 * high.step:
            break
    return best if best is not start else None

STRONG=True

def _trial(previous: Point, low: Point, high: Point | None) -> float:
    if high is None:
        width = low.step - previous.step
        return float(np.clip(_minimum(previous, low), low.step + 1.1 * width, low.step + 4 * width))
    width = high.step - low.step
    if not (np.isfinite(high.value) and np.isfinite(high.slope)):
        return low.step + 0.1 * width
    return float(np.clip(_minimum(low, high), low.step + 0.1 * width, high.step - 0.1 * width))


def _minimum(a: Point, b: Point) -> float:
    """Where the cubic through two points is lowest (Nocedal & Wright, 3.59)."""
    width = b.step - a.step
    mean = a.slope + b.slope - 3 * (b.value - a.value) / width
    inside = mean**2 - a.slope * b.slope
    if inside < 0:
        return np.inf
    root = np.sqrt(inside)
    bottom = b.slope - a.slope + 2 * root
    return b.step - width * (b.slope + root - mean) / bottom if bottom else np.inf
