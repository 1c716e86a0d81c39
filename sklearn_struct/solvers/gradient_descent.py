"""Steepest descent and nonlinear conjugate gradients with a line search (Nocedal & Wright, section
5.2).

Steepest descent is gradient ascent on minus the objective, the simple method (P5, figure 2).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sklearn_struct.solvers.line_search import CURVATURE, Point
from sklearn_struct.solvers.objective_protocols import BatchObjective
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.result import Callback, Result
from sklearn_struct.solvers.rounding_noise import Search

__all__ = ["cg", "gradient_descent"]

NEARLY_EXACT = 0.4  # of the slope, which is what conjugate directions ask of a line search
PATIENCE = 100  # iterations without a lower value or gradient, which rounding errors then hide


def gradient_descent(
    objective: BatchObjective,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    conjugate: bool = False,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2`` over the penalised and the ``n_free`` last,
    unpenalised entries.

    Stops when no entry of the gradient exceeds `tol`, or when nothing lower is found. `conjugate`
    directions are those of Polak and Ribiere, which start anew where they would turn back.
    """
    if l1:
        raise ValueError("gradient descent is for smooth objectives; use owlqn with an L1 penalty")
    smooth = Penalised(objective, l2)
    search = Search(smooth, NEARLY_EXACT if conjugate else CURVATURE)
    w = w0.copy()
    n_iter = 0
    idle = 0
    value, grad = smooth.value_and_grad(w)
    direction = -grad
    step = 0.0
    lowest = value
    steepest = flattest = _steepest(grad)
    while tol < steepest < np.inf and n_iter < max_iter and idle < PATIENCE:
        square = float(np.dot(grad, grad))
        if not 0 < square < np.inf:
            break  # it is no float
        slope = float(np.dot(direction, grad))
        better = None
        if slope < 0:
            at = partial(_point, smooth, w, direction)
            better = search(
                at, Point(0.0, value, slope, w, grad), step or 1.0 / float(np.sqrt(square))
            )
        # nothing is lower even along the steepest descent: this is as far as rounding lets us go
        if better is None and np.array_equal(direction, -grad):
            break
        if better is None:
            direction = -grad
            step = 0.0
            continue
        share = (
            # Polak-Ribiere; cut off at 0 it restarts by itself where directions stop being
            # conjugate
            max(float(np.dot(better.grad, better.grad - grad)) / square, 0.0) if conjugate else 0.0
        )
        direction = share * direction - better.grad
        # the next line promises as much as this one did (Nocedal & Wright, section 3.5)
        ahead = float(np.dot(direction, better.grad))
        step = float(better.step) * slope / ahead if ahead < 0 else 0.0
        w = better.w
        value = better.value
        grad = better.grad
        n_iter = n_iter + 1
        steepest = _steepest(grad)
        idle = 0 if value < lowest or steepest < flattest else idle + 1
        lowest = min(lowest, value)
        flattest = min(flattest, steepest)
        if callback is not None and callback(n_iter, w, value):
            return Result(w, value, n_iter, False, steepest=steepest)
    return Result(w, value, n_iter, steepest <= tol, steepest=steepest)


def _point(smooth: Penalised, start: np.ndarray, direction: np.ndarray, step: float) -> Point:
    w = start + step * direction
    value, grad = smooth.value_and_grad(w)
    return Point(step, value, float(np.dot(grad, direction)), w, grad)


def _steepest(grad: np.ndarray) -> float:
    return float(np.max(np.abs(grad), initial=0.0))


cg = partial(gradient_descent, conjugate=True)
