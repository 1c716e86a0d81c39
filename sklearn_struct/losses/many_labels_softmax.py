"""Softmax over many labels of which few differ from a background that all examples share.

An example's active labels have scores of their own, all others those of the background. Their sum
of exponentials is the background's less that of the active labels, so the cost is that of the
active ones. Where that difference would lose digits, all labels are added up one by one instead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    exp,
    largest,
    load_part,
    maximum,
    splat,
    store_part,
    sub,
    total,
)

__all__ = ["Active", "Background", "BackgroundSoftmax", "Derivative", "background", "zeros"]

TRUSTED = 1e-4  # share of the background's sum from which on a difference has twelve digits


class Active(NamedTuple):
    """Example i has scores of its own for ``labels[offsets[i]:offsets[i + 1]]``."""

    offsets: np.ndarray
    labels: np.ndarray
    scores: np.ndarray


class Background(NamedTuple):
    """Scores of all labels, exp(scores - peak), a direction (zeros if there is none), and [peak,
    sums].

    The sums are those of the exponentials and of their products with the direction.
    """

    scores: np.ndarray
    exponentials: np.ndarray
    direction: np.ndarray
    summary: np.ndarray


class Derivative(NamedTuple):
    """By active row; and by label of the background, in pieces.

    The latter is ``labels + common[0] * e + common[1] * e * direction`` with its exponentials e.
    """

    rows: np.ndarray
    labels: np.ndarray
    common: np.ndarray

    def of_labels(self, background: Background) -> np.ndarray:
        """The derivative in the scores of the background."""
        factor = self.common[0] + self.common[1] * background.direction
        derivative: np.ndarray = self.labels + factor * background.exponentials
        return derivative


def background(scores: np.ndarray, direction: np.ndarray | None = None) -> Background:
    """What examples share, computed once an evaluation."""
    direction = np.zeros(len(scores)) if direction is None else direction
    # exponentials relative to the largest cannot overflow, and their sum is at least 1
    peak = float(np.max(scores))
    e = np.exp(scores - peak)
    return Background(scores, e, direction, np.array([peak, np.sum(e), np.dot(e, direction)]))


def zeros(n_rows: int, n_labels: int) -> Derivative:
    """Room for a derivative."""
    return Derivative(np.empty(n_rows), np.zeros(n_labels), np.zeros(2))


class BackgroundSoftmax:
    """-log p(y | x) of each example (P5, section 7.1)."""

    def __call__(
        self,
        active: Active,
        y: np.ndarray,
        background: Background,
        weight: np.ndarray,
        out: Derivative,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]`` and ``out.rows``; add to the rest of `out`."""
        _softmax(active, y, background, weight, out, value)

    def hess_vec(
        self,
        active: Active,
        direction: np.ndarray,
        background: Background,
        weight: np.ndarray,
        out: Derivative,
    ) -> None:
        """The second derivative times a direction, given for active rows and in `background`."""
        _covariance(active, direction, background, weight, out)


@kernel
def _softmax(
    active: Active,
    y: np.ndarray,
    background: Background,
    weight: np.ndarray,
    out: Derivative,
    value: np.ndarray,
) -> None:
    offsets = active.offsets
    labels = active.labels
    scores = active.scores
    e = background.exponentials
    rows = out.rows
    by_label = out.labels
    p = np.empty(len(background.scores))
    for i in range(len(offsets) - 1):
        first = offsets[i]
        last = offsets[i + 1]
        top, scale, Z = _sums(active, background, i, rows)
        if Z > 0.0:
            value[i] = top + math.log(Z)
            w = weight[i] / Z
            share = weight[i] * scale / Z
            for r in range(first, last):
                rows[r] *= w
                by_label[labels[r]] -= share * e[labels[r]]
            out.common[0] += share
        else:
            value[i] = _dense(active, background, i, p)
            for r in range(first, last):
                rows[r] = weight[i] * p[labels[r]]
                p[labels[r]] = 0.0
            by_label += weight[i] * p
        r = first
        while r < last and labels[r] != y[i]:
            r += 1
        if r < last:
            value[i] -= scores[r]
            rows[r] -= weight[i]
        else:
            value[i] -= background.scores[y[i]]
            by_label[y[i]] -= weight[i]


@kernel
def _covariance(
    active: Active,
    direction: np.ndarray,
    background: Background,
    weight: np.ndarray,
    out: Derivative,
) -> None:
    offsets = active.offsets
    labels = active.labels
    rows = out.rows
    by_label = out.labels
    e = background.exponentials
    along = background.direction
    p = np.empty(len(background.scores))
    for i in range(len(offsets) - 1):
        first = offsets[i]
        last = offsets[i + 1]
        _, scale, Z = _sums(active, background, i, rows)
        if Z > 0.0:
            own = 0.0
            rest = background.summary[2]
            for r in range(first, last):
                own += rows[r] * direction[r]
                # what touched labels replace in the shared sum is taken out of it
                rest -= e[labels[r]] * along[labels[r]]
            mean = (own + scale * rest) / Z
            w = weight[i] / Z
            share = weight[i] * scale / Z
            for r in range(first, last):
                k = labels[r]
                rows[r] *= w * (direction[r] - mean)
                by_label[k] -= share * e[k] * (along[k] - mean)
            out.common[0] -= share * mean
            out.common[1] += share
        else:
            _dense(active, background, i, p)
            mean = 0.0
            for r in range(first, last):
                rows[r] = p[labels[r]]
                p[labels[r]] = 0.0
                mean += rows[r] * direction[r]
            mean += np.sum(p * along)
            for r in range(first, last):
                rows[r] *= weight[i] * (direction[r] - mean)
            by_label += weight[i] * p * (along - mean)


@kernel
def _sums(
    active: Active, background: Background, i: int, out: np.ndarray
) -> tuple[float, float, float]:
    """(top, scale, Z): exponentials of active scores less top go to `out`, those of others are
    scale * e, Z their sum.

    Z is 0 if it would have too few digits, or underflow.
    """
    labels = active.labels
    scores = active.scores
    e = background.exponentials
    first = active.offsets[i]
    last = active.offsets[i + 1]
    top = max(_largest(scores, first, last), background.summary[0])
    scale = math.exp(background.summary[0] - top)
    Z = _exponentials(scores, first, last, top, out)
    rest = background.summary[1]
    for r in range(first, last):
        rest -= e[labels[r]]
    Z += scale * rest
    trusted = TRUSTED * scale * background.summary[1]
    # next to nothing left of the sum: its digits are lost, and all labels are added up instead
    return top, scale, Z if trusted <= Z else 0.0


@kernel
def _dense(active: Active, background: Background, i: int, p: np.ndarray) -> float:
    """The probabilities of all labels, one by one; log Z is returned."""
    p[:] = background.scores
    for r in range(active.offsets[i], active.offsets[i + 1]):
        p[active.labels[r]] = active.scores[r]
    top: float = np.max(p)
    Z: float = 0.0
    for k in range(len(p)):
        p[k] = math.exp(p[k] - top)
        Z += p[k]
    for k in range(len(p)):
        p[k] /= Z
    return top + math.log(Z)


@kernel
def _largest(scores: np.ndarray, first: int, last: int) -> float:
    if last == first:
        return -math.inf
    best = load_part(scores, first, min(LANES, last - first), -math.inf)
    for r in range(first + LANES, last, LANES):
        best = maximum(best, load_part(scores, r, min(LANES, last - r), -math.inf))
    return largest(best)


@kernel
def _exponentials(scores: np.ndarray, first: int, last: int, top: float, out: np.ndarray) -> float:
    """Write exp(scores - top) into `out`, and return their sum."""
    sums = splat(0.0)
    peak = splat(top)
    for r in range(first, last, LANES):
        n = min(LANES, last - r)
        x = exp(sub(load_part(scores, r, n, -math.inf), peak))
        store_part(out, r, x, n)
        sums = add(sums, x)
    return total(sums)
