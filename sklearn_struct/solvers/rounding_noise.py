"""How wrong values and gradients are, measured where a solver is stuck: by rounding, or because an
objective is computed inexactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_struct.solvers.line_search import CURVATURE, Point, search
from sklearn_struct.solvers.penalised import Penalised

__all__ = ["Rounding", "Search", "measure"]

# of each parameter: float32 knows no less, and float64 is smooth enough at this distance
NUDGE = 2.0**-23
N_NUDGES = 4
SAFETY = 4.0  # errors met elsewhere, over the largest of those measured
# of a step: so near, the change of a smooth function is what slopes say
NEAR = 1e-2
# of a change, from which on values are not those that gradients belong to
DISAGREES = 0.1


class Rounding(NamedTuple):
    """Errors of the value, and of the gradient's worst entry."""

    value: float
    grad: float


def measure(smooth: Penalised, w: np.ndarray) -> Rounding:
    """Differences between w and points next to it, as far as steps in float32 make them.

    Errors of log Z do not shrink with the loss, which is a difference, so they cannot be told from
    the value alone.
    """
    value, grad = smooth.value_and_grad(w)
    of_value = of_grad = 0.0
    # a seed of its own: the callers are not stochastic, and a fit repeated must stop at the same
    # point
    rng = np.random.RandomState(0)
    for _ in range(N_NUDGES):
        signs = rng.randint(0, 2, len(w)) * 2.0 - 1.0
        # relative to each weight: so far float32 can tell them apart
        other, there = smooth.value_and_grad(w + NUDGE * signs * w)
        of_value = max(of_value, abs(other - value))
        of_grad = max(of_grad, float(np.max(np.abs(there - grad), initial=0.0)))
    return Rounding(SAFETY * of_value, SAFETY * of_grad)


class Search:
    """A line search that, where it is stuck, looks how wrong values are: it measures their rounding
    errors; and where they do not change as slopes say, as those of inference that has not settled,
    it goes by slopes alone from then on.

    `by_slopes` is for lines on which the function is smooth.
    """

    def __init__(
        self, smooth: Penalised, curvature: float = CURVATURE, by_slopes: bool = True
    ) -> None:
        self.smooth = smooth
        self.curvature = curvature
        self.by_slopes = by_slopes
        self.rounding = 0.0
        self._measured_at: np.ndarray | None = None

    def __call__(self, at: Callable[[float], Point], start: Point, step: float) -> Point | None:
        """A point on the line that is better than `start`; None if even slopes tell of none."""
        better = search(at, start, step, self.rounding, self.curvature)
        if better is None and self.look(start.w):
            better = search(at, start, step, self.rounding, self.curvature)
        if better is None and self._disagree(at, start, step):
            self.rounding = math.inf
            better = search(at, start, step, self.rounding, self.curvature)
        return better

    @property
    def inexact(self) -> bool:
        """Whether values are of no use."""
        return self.rounding == math.inf

    def look(self, w: np.ndarray) -> bool:
        """Measure at w, once; return whether errors are larger than was known."""
        # identity: a point that was measured and not left says nothing new
        if w is self._measured_at or self.inexact:
            return False
        before = self.rounding
        self._measured_at = w
        self.rounding = max(before, measure(self.smooth, w).value)
        return self.rounding > before

    def _disagree(self, at: Callable[[float], Point], start: Point, step: float) -> bool:
        """Whether near the start the value does not change as the slopes say, by more than rounding
        explains.
        """
        if not self.by_slopes or self.inexact:
            return False
        near = at(NEAR * step)
        expected = NEAR * step * (start.slope + near.slope) / 2
        gap = abs(near.value - start.value - expected)
        rounding = max(self.rounding, 64 * np.finfo(float).eps * abs(start.value))
        return bool(near.finite and gap > max(DISAGREES * abs(expected), rounding))
