"""Expectation maximisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn_struct.solvers.result import Result

__all__ = ["em"]


def em(
    expect: Callable[[Any], tuple[Any, float]],
    maximise: Callable[[Any], Any],
    start: Any,
    *,
    max_iter: int,
    tol: float,
    callback: Callable[[int, Any, float], bool] | None = None,
) -> Result:
    """Maximise what `expect` says of parameters by turns of expectation and maximisation.

    Parameters
    ----------
    expect : callable
        Parameters -> (expectations, value), where the value is what is to be maximised.
    maximise : callable
        Expectations -> parameters, whose value is not lower.
    start : object
        Parameters.
    max_iter : int
    tol : float
        Stop when an iteration raises the value by no more than this.
    callback : callable, default=None
        ``callback(n_iter, parameters, value)`` after each iteration; True stops.

    Returns
    -------
    Result
        ``w`` are the parameters, of whatever type.
    """
    parameters = start
    expectations, value = expect(start)
    for n_iter in range(1, max_iter + 1):
        parameters = maximise(expectations)
        before = value
        expectations, value = expect(parameters)
        converged = value - before <= tol
        if (callback is not None and callback(n_iter, parameters, value)) or converged:
            return Result(parameters, value, n_iter, converged)
    return Result(parameters, value, max_iter, False)
