"""Losses on scores of rows: each example owns a few rows, and each row has one score."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["Exponential", "RowExamples", "RowLoss", "Softmax", "exponential_factor"]

# exp(300) squared is still a float
LARGEST = 300.0


class RowExamples(NamedTuple):
    """Example i owns the rows ``offsets[i]:offsets[i + 1]``; ``y[i]`` is one of them, for losses
    that ask for it; its weight is ``weight[i]``.
    """

    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    @classmethod
    def single(cls, weight: np.ndarray) -> RowExamples:
        """One row an example."""
        return cls(np.arange(len(weight) + 1), np.zeros(len(weight), np.int32), weight)

    def part(self, examples: slice) -> RowExamples:
        """Some of them, whose rows are counted from their first."""
        offsets = self.offsets[examples.start : examples.stop + 1]
        return RowExamples(offsets - offsets[0], self.y[examples], self.weight[examples])


class RowLoss(ABC):
    """A loss of the scores of each example's rows, and its derivatives in them."""

    @abstractmethod
    def __call__(
        self, scores: np.ndarray, examples: RowExamples, out: np.ndarray, value: np.ndarray
    ) -> None:
        """Write the loss ``value[i]`` of each example, and into `out` ``weight[i]`` times its
        derivative in the scores.
        """

    @abstractmethod
    def hess_vec(
        self, scores: np.ndarray, direction: np.ndarray, examples: RowExamples, out: np.ndarray
    ) -> None:
        """Write ``weight[i]`` times the second derivative in a direction."""


class Softmax(RowLoss):
    """-log of the softmax over an example's rows, at row ``y[i]`` of them (P5, section 7.1)."""

    def __call__(
        self, scores: np.ndarray, examples: RowExamples, out: np.ndarray, value: np.ndarray
    ) -> None:
        """The derivative is p(row) - [row is y[i]]."""
        _softmax(scores, examples, out, value)

    def hess_vec(
        self, scores: np.ndarray, direction: np.ndarray, examples: RowExamples, out: np.ndarray
    ) -> None:
        """Cov(rows, direction) = p(row) (direction - its mean)."""
        _softmax(scores, examples, out, np.empty(len(examples.weight)))
        _softmax_covariance(direction, examples, out)


class Exponential(RowLoss):
    """The sum of exp(-score) over the rows of an example; `y` is not read.

    Scores below -300 count as that, so that a step that is far too long has a finite value and
    slope, and is shortened.
    """

    def __call__(
        self, scores: np.ndarray, examples: RowExamples, out: np.ndarray, value: np.ndarray
    ) -> None:
        """The derivative is -exp(-score)."""
        # first steps may be far too long; then a large finite value sends the line search back
        np.exp(np.minimum(-scores, LARGEST), out=out)
        owner = np.repeat(np.arange(len(value)), np.diff(examples.offsets))
        value[:] = np.bincount(owner, out, len(value))
        out *= -examples.weight[owner]

    def hess_vec(
        self, scores: np.ndarray, direction: np.ndarray, examples: RowExamples, out: np.ndarray
    ) -> None:
        """exp(-score) direction."""
        np.multiply(np.exp(np.minimum(-scores, LARGEST)), direction, out=out)
        out *= np.repeat(examples.weight, np.diff(examples.offsets))


@kernel
def exponential_factor(level: float, growth: float) -> float:
    """The factor a = exp(level - growth * a): minus the derivative of exp(-score), where the score
    grows with a.

    By Newton's method in the logarithm of a, in which the equation is convex: from above it comes
    down to the root.
    """
    if not level > -math.inf:
        return 0.0
    x = level
    # from `level` itself, where the exponential is huge, each step would come down by about 1; this
    # is nearly the root
    if growth > 0.0 and level + math.log(growth) > 1.0:
        x = math.log(level + math.log(growth)) - math.log(growth)
        x = max(x, -math.log(growth))
    for _ in range(100):
        e = growth * math.exp(x)
        step = (x + e - level) / (1.0 + e)
        x -= step
        if abs(step) <= 1e-14 * max(1.0, abs(x)):
            break
    return math.exp(x)


@kernel
def _softmax(scores: np.ndarray, examples: RowExamples, out: np.ndarray, value: np.ndarray) -> None:
    offsets, y, weight = examples
    for i in range(len(offsets) - 1):
        first = offsets[i]
        last = offsets[i + 1]
        peak = -math.inf
        total = 0.0
        for r in range(first, last):
            peak = max(peak, scores[r])
        for r in range(first, last):
            out[r] = math.exp(scores[r] - peak)
            total += out[r]
        value[i] = peak + math.log(total) - scores[first + y[i]]
        for r in range(first, last):
            out[r] *= weight[i] / total
        out[first + y[i]] -= weight[i]


@kernel
def _softmax_covariance(direction: np.ndarray, examples: RowExamples, out: np.ndarray) -> None:
    """From ``weight * (p - indicator)`` in `out` to ``weight * p * (direction - mean)``."""
    offsets, y, weight = examples
    for i in range(len(offsets) - 1):
        out[offsets[i] + y[i]] += weight[i]
        mean = 0.0
        for r in range(offsets[i], offsets[i + 1]):
            mean += out[r] * direction[r]
        mean = mean / weight[i] if weight[i] > 0 else 0.0
        for r in range(offsets[i], offsets[i + 1]):
            out[r] *= direction[r] - mean
