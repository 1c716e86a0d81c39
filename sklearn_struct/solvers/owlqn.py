"""Orthant-wise limited-memory quasi-Newton for L1 and elastic-net penalties (Andrew & Gao, ICML
2007).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.line_search import OVERSHOOT
from sklearn_struct.solvers.objective_protocols import BatchObjective
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.quasi_newton import Memory
from sklearn_struct.solvers.result import Callback, Result
from sklearn_struct.solvers.rounding_noise import Search

__all__ = ["owlqn", "pseudo_gradient"]

ARMIJO = 1e-4
# halvings of a first step of length 1, which then is 1e-12
MAX_BACKTRACKS = 40
# of steps that know the curvature: where these do not suffice, rounding hides what is lower
FEW_BACKTRACKS = 10
PATIENCE = 100  # iterations without a lower value or slope, which rounding errors then hide


def owlqn(
    objective: BatchObjective,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2 + l1 * ||w||_1``; the ``n_free`` last entries are
    unpenalised.

    Stops when no entry of the pseudo-gradient, the steepest of all subgradients, exceeds `tol`.
    With ``l1=0`` there are no orthants to keep to: `lbfgs` takes over, whose line search needs
    fewer evaluations.
    """
    if not l1:
        # without kinks there are no orthants to stay in
        return lbfgs(objective, w0, l1=l1, l2=l2, max_iter=max_iter, tol=tol, callback=callback)
    problem = _Problem(Penalised(objective, l2), l1)
    memory = Memory(objective.size)
    search = Search(problem.smooth, by_slopes=False)  # lines have kinks
    here = problem.point(w0.copy())
    n_iter = 0
    idle = 0
    lowest = here.value
    flattest = here.steepest
    while tol < here.steepest < np.inf and n_iter < max_iter and idle < PATIENCE:
        if not 0 < float(np.dot(here.slopes, here.slopes)) < np.inf:
            break  # its square is no float
        direction = memory.direction(here.slopes)
        # stay in the orthant into which steepest descent leads
        direction[direction * here.slopes >= 0] = 0.0
        if not float(np.dot(direction, here.slopes)) < 0:
            memory.clear()
            direction = -here.slopes
        # a memory knows the scale of the problem; the first step has length 1
        step = 1.0 if memory else 1.0 / float(np.linalg.norm(here.slopes))
        n_trials = FEW_BACKTRACKS if memory else MAX_BACKTRACKS
        better = problem.backtrack(here, direction, step, search.rounding, n_trials)
        # the values were noisier than was known: try again, with the noise measured
        if better is None and search.look(here.w):
            continue
        if better is None and not memory:
            break
        if better is None:
            memory.clear()
            continue
        # gradients of the smooth part: the L1 term has no curvature
        memory.add(better.w - here.w, better.grad - here.grad)
        here = better
        n_iter = n_iter + 1
        idle = 0 if here.value < lowest or here.steepest < flattest else idle + 1
        lowest = min(lowest, here.value)
        flattest = min(flattest, here.steepest)
        if callback is not None and callback(n_iter, here.w, here.value):
            return Result(here.w, here.value, n_iter, False, steepest=here.steepest)
    return Result(here.w, here.value, n_iter, here.steepest <= tol, steepest=here.steepest)


class _Point(NamedTuple):
    w: np.ndarray
    value: float
    grad: np.ndarray  # of the smooth part
    slopes: np.ndarray  # the pseudo-gradient
    steepest: float


class _Problem:
    """A smooth objective with an L1 penalty on the entries that are not free."""

    def __init__(self, smooth: Penalised, l1: float) -> None:
        self.smooth = smooth
        self.l1_weights = np.zeros(smooth.objective.size)
        self.l1_weights[smooth.entries] = l1

    def point(self, w: np.ndarray) -> _Point:
        value, grad = self.smooth.value_and_grad(w)
        slopes = pseudo_gradient(w, grad, self.l1_weights)
        value += float(np.dot(self.l1_weights, np.abs(w)))
        return _Point(w, value, grad, slopes, float(np.max(np.abs(slopes), initial=0.0)))

    def backtrack(
        self, start: _Point, direction: np.ndarray, step: float, rounding: float, n_trials: int
    ) -> _Point | None:
        """The first point of ever shorter steps that is lower, or higher by rounding at most.

        `rounding_noise` says how much that is. There slopes decide, as in `line_search`.
        """
        # a weight of 0 may leave it to the side of descent alone
        orthant = np.where(start.w != 0, np.sign(start.w), -np.sign(start.slopes))
        for _ in range(n_trials):
            w = start.w + step * direction
            # crossing 0 would change the slope of the penalty, which the model of the step knows
            # nothing of;
            # free entries have no kink at 0 and may cross it
            w[(w * orthant < 0) & (self.l1_weights > 0)] = 0.0
            new = self.point(w)
            # the projected step, not the direction, is what Armijo's rule is about here
            way = w - start.w
            slope = float(np.dot(start.slopes, way))
            if new.value <= start.value + min(ARMIJO * slope, -rounding):
                return new
            if (
                new.value <= start.value + rounding
                and float(np.dot(new.slopes, way)) <= -OVERSHOOT * slope
            ):
                return new
            step *= 0.5
        return None


def pseudo_gradient(w: np.ndarray, grad: np.ndarray, l1_weights: np.ndarray) -> np.ndarray:
    """The subgradient of smallest norm: at zero the L1 term gives way by up to its weight."""
    # at 0 the penalty resists with any slope up to its weight
    shrunk = np.sign(grad) * np.maximum(np.abs(grad) - l1_weights, 0.0)
    slopes: np.ndarray = np.where(w != 0, grad + l1_weights * np.sign(w), shrunk)
    return slopes
