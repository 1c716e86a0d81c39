"""How long the steps of stochastic average gradient are: curvatures of terms, and whether points go
to and fro.
"""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import DTypeLike

from sklearn_struct.solvers.objective_protocols import SumOfTerms

__all__ = ["PATIENCE", "Course", "Curvature"]

PATIENCE = 4  # passes between two evaluations; where the value does not fall, steps are halved

LONGEST_MOVE = 4.0  # by which a step may change potentials of its term
NOTHING = 1e-200  # squared gradient of a term that says nothing of its curvature
# cosines of the angle between the ways to this evaluated point and to the last
WAVERING = 0.25
WAY = np.float32  # for angles, and for a point that is only tried
# steps that go on in one direction can be followed beyond their end
STRAIGHT = 0.9
SHORTER = 0.7  # factor of steps that waver
FARTHEST = 3.0  # of the way just made, to go straight on


class Curvature:
    """An estimate of the terms' Lipschitz constant, from numbers of a float type."""

    def __init__(self, objective: SumOfTerms, dtype: DTypeLike) -> None:
        self.objective = objective
        self.dtype = dtype
        self.scratch: np.ndarray | None = None
        self.mean = self.largest = 0.0
        self.count = 0

    @property
    def value(self) -> float:
        # a step of 1 / L wants an L near the mean of the terms' curvatures; the largest alone
        # halves the speed
        return (self.mean + self.largest) / 2 if self.count else 1.0

    def rest(self) -> None:
        """Free what measurements need, until the next one."""
        self.scratch = None

    def measure(self, i: int, theta: np.ndarray, gradient: np.ndarray, gap: int) -> None:
        """Take in the curvature of term i along its gradient, a difference of derivatives along X
        X' gradient.
        """
        if self.scratch is None:
            nowhere = np.zeros(self.objective.size)
            self.scratch = self.objective.side_by_side([nowhere], self.dtype)
        added = gradient.astype(self.dtype, copy=False)
        self.objective.add(added, i, self.scratch, 1.0)
        direction = self.objective.forward(self.scratch, i, 1.0).astype(np.float64, copy=False)
        # what rounding leaves there is as small as the rounding of a curvature
        self.objective.add(added, i, self.scratch, -1.0)
        norm2 = float(np.dot(gradient, direction))
        square = float(np.dot(gradient, gradient))
        if not min(norm2, square) > NOTHING:
            return
        longest = float(np.max(np.abs(direction)))
        # a thousandth of a nat in any potential: short enough for a derivative, far above rounding
        step = 1e-3 / longest
        _, moved = self.objective.term(theta - step * direction, i)
        curvature = float(np.dot(gradient - moved, direction)) / (step * norm2)
        # beyond some nats it is another, at a saturated point it says nothing: at least 1/1000 of
        # what features allow
        curvature = max(curvature, longest / LONGEST_MOVE, 1e-3 * norm2 / square)
        if isfinite(curvature):
            self.count += 1
            # older measurements are forgotten, as curvature changes on the way
            self.mean += (curvature - self.mean) / min(self.count, 32)
            # halves in a pass
            self.largest = max(self.largest * 0.5 ** (gap / self.objective.n_terms), curvature)


class Course:
    """The way from one evaluated point to the next: if it goes to and fro, steps are too long."""

    def __init__(self, w: np.ndarray, length: float = 1.0) -> None:
        self.w = w
        self.way = np.zeros(0, WAY)
        self.length = length
        self.value = np.inf
        self.fell = 0  # the pass after which the value was seen to fall

    def follow(self, w: np.ndarray) -> np.ndarray | None:
        """Take in the next point; return how much farther a straight way seems to lead."""
        before = self.way
        self.way = (w - self.w).astype(WAY)
        self.w = w
        if not len(before):
            return None
        now = float(np.dot(self.way, self.way))
        then = float(np.dot(before, before))
        both = float(np.dot(before, self.way))
        # ways that turn back mean steps beyond the minimum, as on text near the optimum
        if both < WAVERING * (now * then) ** 0.5:
            self.length *= SHORTER
        if not both > STRAIGHT * (now * then) ** 0.5:
            return None
        # they go straight on: steps that were shortened may be long again
        self.length = min(1.0, self.length / SHORTER)
        # if ways go on shrinking by it, the rest of them is ratio / (1 - ratio) times this
        ratio = (now / then) ** 0.5
        return (FARTHEST if ratio >= FARTHEST / (1 + FARTHEST) else ratio / (1 - ratio)) * self.way

    def come_to(self, n_iter: int, value: float, lowest: float) -> None:
        """Take in the value of the point; halve the steps if it is not the lowest one, and has not
        fallen since the last point.
        """
        if value < self.value or value <= lowest:
            self.fell = n_iter
        self.value = value
        if n_iter >= self.fell + PATIENCE and value - lowest > 1e-9 * abs(lowest):
            self.length /= 2
            self.fell = n_iter
