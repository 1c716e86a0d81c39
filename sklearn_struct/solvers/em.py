"""Expectation maximisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Maximum", "em"]

Parameters = TypeVar("Parameters")
Expectations = TypeVar("Expectations")


class Maximum(NamedTuple, Generic[Parameters]):
    """As `Result` of other solvers, but w are parameters of any type, and `value` is highest."""

    w: Parameters
    value: float
    n_iter: int
    converged: bool


def em(
    expect: Callable[[Parameters], tuple[Expectations, float]],
    maximise: Callable[[Expectations], Parameters],
    start: Parameters,
    *,
    max_iter: int,
    tol: float,
    callback: Callable[[int, Parameters, float], bool] | None = None,
) -> Maximum[Parameters]:
    """Maximise a likelihood by turns of expectation and maximisation.

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
    Maximum
    """
    parameters = start
    # the value comes with expectations, so the last ones are made for their value alone
    expected = expect(start)
    value = expected[1]
    for n_iter in range(1, max_iter + 1):
        parameters = maximise(expected[0])
        before = value
        # expectations may be large, and are not needed while the next ones are made
        del expected
        expected = expect(parameters)
        value = expected[1]
        # EM never lowers the likelihood, so the gain needs no absolute value
        converged = value - before <= tol
        if (callback is not None and callback(n_iter, parameters, value)) or converged:
            return Maximum(parameters, value, n_iter, converged)
    return Maximum(parameters, value, max_iter, False)
