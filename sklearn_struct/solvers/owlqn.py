"""Orthant-wise limited-memory quasi-Newton for L1 and elastic-net penalties (Andrew & Gao, ICML 2007)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.quasi_newton import Memory
from sklearn_struct.solvers.result import Result

__all__ = ["owlqn", "pseudo_gradient"]

ARMIJO = 1e-4
MAX_BACKTRACKS = 40


def owlqn(
    objective: Any,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callable[[int, np.ndarray, float], bool] | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2 + l1 * ||w||_1``; the ``n_free`` last entries are unpenalised.

    Stops when no entry of the pseudo-gradient, the steepest of all subgradients, exceeds `tol`. With ``l1=0``
    there are no orthants to keep to: `lbfgs` takes over, whose line search needs fewer evaluations.
    """
    if not l1:
        return lbfgs(objective, w0, l1=l1, l2=l2, max_iter=max_iter, tol=tol, callback=callback)
    smooth = Penalised(objective, l2)
    l1_weights = np.zeros(objective.size)
    l1_weights[smooth.entries] = l1
    w = w0.copy()
    value, grad = smooth.value_and_grad(w)
    value += float(np.dot(l1_weights, np.abs(w)))
    memory = Memory(objective.size)
    for n_iter in range(1, max_iter + 1):
        steepest = pseudo_gradient(w, grad, l1_weights)
        if np.max(np.abs(steepest), initial=0.0) <= tol:
            return Result(w, value, n_iter - 1, True)
        if not 0 < float(np.dot(steepest, steepest)) < np.inf:
            return Result(w, value, n_iter - 1, False)  # its square is no float
        direction = memory.direction(steepest)
        direction[direction * steepest >= 0] = 0.0  # stay in the orthant into which steepest descent leads
        if not float(np.dot(direction, steepest)) < 0:
            memory.clear()
            direction = -steepest
        step = 1.0 if memory else 1.0 / float(np.linalg.norm(steepest))
        orthant = np.where(w != 0, np.sign(w), -np.sign(steepest))
        for _ in range(MAX_BACKTRACKS):
            new_w = w + step * direction
            new_w[(new_w * orthant < 0) & (l1_weights > 0)] = 0.0
            new_value, new_grad = smooth.value_and_grad(new_w)
            new_value += float(np.dot(l1_weights, np.abs(new_w)))
            if new_value <= value + ARMIJO * float(np.dot(steepest, new_w - w)):
                break
            step *= 0.5
        else:
            return Result(w, value, n_iter - 1, False)
        memory.add(new_w - w, new_grad - grad)
        w, value, grad = new_w, new_value, new_grad
        if callback is not None and callback(n_iter, w, value):
            return Result(w, value, n_iter, False)
    converged = np.max(np.abs(pseudo_gradient(w, grad, l1_weights)), initial=0.0) <= tol
    return Result(w, value, max_iter, bool(converged))


def pseudo_gradient(w: np.ndarray, grad: np.ndarray, l1_weights: np.ndarray) -> np.ndarray:
    """The subgradient of smallest norm: at zero the L1 term gives way by up to its weight."""
    shrunk = np.sign(grad) * np.maximum(np.abs(grad) - l1_weights, 0.0)
    return np.where(w != 0, grad + l1_weights * np.sign(w), shrunk)
