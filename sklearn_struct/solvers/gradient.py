"""Steepest descent with a line search: gradient ascent on minus the objective, the simple method (P5, figure 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_struct.solvers.line_search import Point, search
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.result import Result

__all__ = ["gradient_descent"]


def gradient_descent(
    objective: Any,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callable[[int, np.ndarray, float], bool] | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2`` over the penalised and the ``n_free`` last, unpenalised entries.

    Stops when no entry of the gradient exceeds `tol`, or when nothing lower is found.
    """
    if l1:
        raise ValueError("gradient descent is for smooth objectives; use owlqn with an L1 penalty")
    smooth = Penalised(objective, l2)
    w, n_iter = w0.copy(), 0
    value, grad = smooth.value_and_grad(w)
    step = 0.0
    while tol < _steepest(grad) < np.inf and n_iter < max_iter:
        square = float(np.dot(grad, grad))
        if not 0 < square < np.inf:
            break  # it is no float
        found = _search(smooth, Point(0.0, value, -square, w, grad), step or 1.0 / float(np.sqrt(square)))
        if found is None:
            break
        w, value, grad, n_iter = found.w, found.value, found.grad, n_iter + 1
        # the next line promises as much as this one did (Nocedal & Wright, section 3.5)
        step = found.step * square / max(float(np.dot(grad, grad)), np.finfo(float).tiny)
        if callback is not None and callback(n_iter, w, value):
            return Result(w, value, n_iter, False)
    return Result(w, value, n_iter, _steepest(grad) <= tol)


def _search(smooth: Penalised, start: Point, step: float) -> Point | None:
    """A lower point along minus the gradient."""

    def at(step: float) -> Point:
        w = start.w - step * start.grad
        value, grad = smooth.value_and_grad(w)
        return Point(step, value, -float(np.dot(grad, start.grad)), w, grad)

    return search(at, start, step)


def _steepest(grad: np.ndarray) -> float:
    return float(np.max(np.abs(grad), initial=0.0))
