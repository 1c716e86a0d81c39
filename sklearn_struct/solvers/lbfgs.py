"""lbfgs"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_struct.solvers.line_search import Point, search
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.quasi_newton import Memory
from sklearn_struct.solvers.result import Result

__all__ = ["lbfgs"]


def lbfgs(
    objective: Any,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callable[[int, np.ndarray, float], bool] | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2`` over the penalised and the ``n_free`` last, unpenalised entries."""
    if l1:
        raise ValueError("lbfgs is for smooth objectives; use owlqn with an L1 penalty")
    smooth, memory = Penalised(objective, l2), Memory(objective.size)
    w = w0.copy()
    value, grad = smooth.value_and_grad(w)
    n_iter = 0
    while n_iter < max_iter and not _flat(grad, tol):
        direction = memory.direction(grad)
        slope = float(np.dot(direction, grad))
        if not slope < 0:
            memory.clear()
            direction, slope = -grad, -float(np.dot(grad, grad))

        def at(step: float, w: np.ndarray = w, direction: np.ndarray = direction) -> Point:
            new_w = w + step * direction
            new_value, new_grad = smooth.value_and_grad(new_w)
            return Point(step, new_value, float(np.dot(new_grad, direction)), new_w, new_grad)

        first = 1.0 if memory else 1.0 / float(np.sqrt(-slope))
        found = search(at, Point(0.0, value, slope, w, grad), first)
        if found is None:
            if not memory:
                break
            memory.clear()
            continue
        memory.add(found.step * direction, found.grad - grad)
        w, value, grad, n_iter = found.w, found.value, found.grad, n_iter + 1
        if callback is not None and callback(n_iter, w, value):
            return Result(w, value, n_iter, False)
    return Result(w, value, n_iter, _flat(grad, tol))


def _flat(grad: np.ndarray, tol: float) -> bool:
    return bool(np.max(np.abs(grad), initial=0.0) <= tol)
