"""Learners that step where a term costs something: averaged perceptron and passive-aggressive
(P-A).

Both leave w alone where a term has no gradient, and return the mean of all iterates. The sum for
that mean is kept lazily (Daume 2006, section 2.2.2): mean of w_1 ... w_n = w_n - (sum over steps of
t * update_t) / n, t from 0, so that a step writes what its term touches and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_struct.solvers.objective_protocols import SumOfTerms
from sklearn_struct.solvers.result import Callback, Result, Stream

__all__ = [
    "passive_aggressive",
    "passive_aggressive_pass",
    "passive_aggressive_squared",
    "passive_aggressive_squared_pass",
    "perceptron",
    "perceptron_pass",
]

# (value, gradient, i) -> length of the step down the gradient of term i, and what the step is said
# to have cost
Rule = Callable[[float, np.ndarray, int], tuple[float, float]]


def perceptron(
    objective: SumOfTerms,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    rng: np.random.RandomState,
) -> Result:
    """Step down every gradient that is not zero, by its whole length (Collins, EMNLP 2002); `l2` is
    ignored.

    An iteration is a pass over the terms in random order, its value the share of terms that made a
    step. Converged when none did, or when the passes of a window (4 to 7, 8 to 15, 16 to 31, ...)
    brought the lowest value down by less than `tol` times the first pass's each.
    """
    if l1:
        raise ValueError("the perceptron has no penalty; use owlqn with an L1 penalty")
    return _learn(objective, w0, _whole_gradient, (max_iter, tol), callback, rng)


def passive_aggressive(
    objective: SumOfTerms,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    rng: np.random.RandomState,
) -> Result:
    """Go just so far that the loss of a term vanishes, at most 1 / (l2 * n_terms) (Crammer et al.,
    JMLR 2006, PA-I).

    The step solves ``||w' - w||**2 / 2 + f_i(w') / (l2 * n_terms)`` with f_i linearised above 0:
    each term is weighed against staying put as all of them are against ``||w||**2 / 2`` in the
    penalised objective. No bound for l2 = 0.

    Iterations and `tol` as in `perceptron`; the value of a pass is the mean of the losses that its
    steps met.
    """
    if l1:
        raise ValueError("passive-aggressive steps have no L1 penalty; use owlqn")
    return _learn(objective, w0, _just_enough(objective, l2), (max_iter, tol), callback, rng)


def passive_aggressive_squared(
    objective: SumOfTerms,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    rng: np.random.RandomState,
) -> Result:
    """The same with squared losses: step by f_i / (squared norm + l2 * n_terms / 2), without a
    bound (PA-II).

    What a term costs is squared with its weight.
    """
    if l1:
        raise ValueError("passive-aggressive steps have no L1 penalty; use owlqn")
    return _learn(objective, w0, _soft(objective, l2), (max_iter, tol), callback, rng)


def passive_aggressive_squared_pass(
    objective: SumOfTerms, stream: Stream, *, l2: float, rng: np.random.RandomState
) -> Stream:
    """One pass of `passive_aggressive_squared` over further terms; the mean goes on."""
    return _pass(objective, stream, _soft(objective, l2), rng)[0]


def perceptron_pass(
    objective: SumOfTerms, stream: Stream, *, l2: float, rng: np.random.RandomState
) -> Stream:
    """One pass of `perceptron` over further terms; the mean goes on."""
    return _pass(objective, stream, _whole_gradient, rng)[0]


def passive_aggressive_pass(
    objective: SumOfTerms, stream: Stream, *, l2: float, rng: np.random.RandomState
) -> Stream:
    """One pass of `passive_aggressive` over further terms; the mean goes on."""
    return _pass(objective, stream, _just_enough(objective, l2), rng)[0]


def _whole_gradient(value: float, gradient: np.ndarray, i: int) -> tuple[float, float]:
    return 1.0, 1.0


def _just_enough(objective: SumOfTerms, l2: float) -> Rule:
    # C in the units of the estimator: the aggressiveness of Crammer et al.
    longest = 1.0 / (l2 * objective.n_terms) if l2 else np.inf

    def rule(value: float, gradient: np.ndarray, i: int) -> tuple[float, float]:
        square = objective.squared_norm(gradient, i)
        return (min(longest, value / square) if square else 0.0), value

    return rule


def _soft(objective: SumOfTerms, l2: float) -> Rule:
    more = l2 * objective.n_terms / 2

    def rule(value: float, gradient: np.ndarray, i: int) -> tuple[float, float]:
        square = objective.squared_norm(gradient, i) + more
        return (value / square if square else 0.0), value

    return rule


def _learn(
    objective: SumOfTerms,
    w0: np.ndarray,
    rule: Rule,
    limits: tuple[int, float],
    callback: Callback | None,
    rng: np.random.RandomState,
) -> Result:
    """Passes until the cost of a pass falls no more."""
    max_iter, tol = limits
    stream = Stream(w0, w0)
    value = 0.0
    first = 0.0
    lowest = np.inf
    at_start = np.inf
    converged = False
    n_iter = 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        # windows of passes are 1, 2-3, 4-7, ...: single passes go up and down, and what a window
        # improves must be worth its length
        if n_iter & (n_iter - 1) == 0:
            at_start = lowest
        stream, value, n_steps = _pass(objective, stream, rule, rng)
        first = value if n_iter == 1 else first
        lowest = min(lowest, value)
        window = (n_iter + 1) // 2
        # the first windows are too short to tell anything
        end = n_iter & (n_iter + 1) == 0 and n_iter > 3
        converged = n_steps == 0 or (end and at_start - lowest <= tol * first * window)
        if callback is not None and callback(n_iter, stream.mean, value):
            break
    return Result(stream.mean, value, n_iter, converged)


def _pass(
    objective: SumOfTerms, stream: Stream, rule: Rule, rng: np.random.RandomState
) -> tuple[Stream, float, int]:
    """Visit each term once; also return the mean cost of the terms and the number of steps.

    The expanded layout may lack parameters that no term touches; so it only tells how far w has
    moved.
    """
    before = np.array(objective.expand(stream.w), dtype=np.float64)
    W = before.copy()
    late = np.zeros_like(before)
    n = objective.n_terms
    total = 0.0
    n_steps = 0
    for t, i in enumerate(rng.permutation(n)):
        value, gradient = objective.term(objective.forward(W, i, 1.0), i)
        if not np.any(gradient):
            continue
        step, cost = rule(value, gradient, i)
        objective.add(gradient, i, W, -step)
        # the mean over all steps of W is W at the end less what each step came too late for; so no
        # sum over dense vectors is made at each step
        objective.add(gradient, i, late, -step * t)
        total += cost
        n_steps += 1
    w = stream.w + objective.compress(W - before)
    # all steps weigh the same, those of earlier batches too
    mean = stream.mean + n / (stream.n + n) * (w - objective.compress(late) / n - stream.mean)
    return Stream(w, mean, stream.n + n), total / n, n_steps
