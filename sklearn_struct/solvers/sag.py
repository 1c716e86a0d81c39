"""Stochastic average gradient with automatic steps (Schmidt, Le Roux & Bach 2013; Schmidt et al.
2015 for CRFs).

Of every term the solver remembers its last derivative in the potentials, tokens x labels, and of
all terms the sum D of their gradients in the parameters. A step revisits a term, whose gradient has
changed by d:

    w <- (1 - alpha * l2) * w - alpha * (D / m + c * d)            m terms seen, D before the change

c = 1/m is SAG, whose memory answers slowly; c = 1 is SAGA (and, while the memory is empty,
stochastic gradient descent), unbiased but noisy. Steps may be longest in between (Driggs, Liang &
Schoenlieb 2019): c is passes ** -1.5, but at least 1/10. After two passes terms are drawn with
replacement: when they go on taking turns, memories are all equally late, and resonate.

The dense part costs nothing: w = beta * (V - s * D), where a step writes V and D at the term's
support alone.

The first passes work in float32: sampling makes more noise than rounding, and half the memory is
read. When they get slow, the same point and memory go on in the float type of the objective, which
all evaluations have.

Every few passes the point is evaluated. Ways between such points that go straight on, as where
features are dense and conditioning is what makes the solver slow, are followed farther; ways to and
fro ask for shorter steps.

alpha = 1 / (L + l2), and 1 / L for free entries. L is half way between mean and (slowly forgotten)
maximum of the terms' curvatures along their own gradients, measured in every tenth step of the
first pass, then ever more rarely.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite

import numpy as np
from numpy.typing import DTypeLike

from sklearn_struct.solvers.objective_protocols import SumOfTerms
from sklearn_struct.solvers.owlqn import pseudo_gradient
from sklearn_struct.solvers.result import Callback, Result
from sklearn_struct.solvers.sag_iterate import Iterate
from sklearn_struct.solvers.step_lengths import PATIENCE, Course, Curvature

__all__ = ["Remembered", "evaluate", "sag"]

CORRECTION = 0.1  # c in the end
SHUFFLED = 2  # first passes, in which each term has one turn, lest the earliest memories stay
# steps between two measurements of the curvature in the first pass; they grow with each pass
FIRST_GAP = 10
PROX_PER_PASS = 4  # dense proximal steps with an L1 penalty
COARSE = np.float32  # of the first passes
PIECE = 1 << 16  # weights whose penalty is added at once: another vector would be room for all
SMALL = 100_000  # derivatives to remember, for which float32 would save nothing
# relative improvement between two evaluations, below which float32 has served its time
ENOUGH = 1e-4
# times tol: how far above the optimum, relatively, the objective may at most be in the end
CERTAIN = 10.0
STEEP = 0.01  # share of the value; while a pass takes off more, evaluations wait twice as long
KNOWN = 4  # passes that have been made, where an earlier call has left its memory


class Remembered:
    """What one call of `sag` leaves to the next, which has the same objective and another penalty:
    derivatives of terms, curvatures, and the value at zero.
    """

    def __init__(self) -> None:
        self.iterate: Iterate | None = None
        self.curvature: Curvature | None = None
        self.at_zero = np.inf
        self.n_passes = 0  # of which nothing has to be learned again

    def recall(self, iterate: Iterate) -> tuple[Iterate, Curvature]:
        """A new point with what is remembered, if there is something."""
        if self.iterate is not None:
            iterate.remember(self.iterate)
        return iterate, self.curvature or Curvature(iterate.objective, iterate.dtype)

    def keep(self, iterate: Iterate, curvature: Curvature) -> None:
        """Remember what a call has left."""
        self.iterate = iterate
        self.curvature = curvature
        self.n_passes = KNOWN


def sag(
    objective: SumOfTerms,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    rng: np.random.RandomState,
    memory: Remembered | None = None,
    hopeless: Callable[[int, float], bool] = lambda n_iter, flattest: False,
    sampled: bool = False,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2 + l1 * ||w||_1``; the ``n_free`` last entries are
    unpenalised.

    An iteration is one pass over the terms. Stops when no entry of the (pseudo-)gradient exceeds
    `tol` and, with an L2 penalty, ``||gradient||**2 / (2 * l2)``, which bounds what penalised
    entries have left to gain, not 10 `tol` of the value. Of unpenalised ones nothing says so.

    Points are evaluated in the end, and every four passes; every eight, and without the gradient,
    while each pass lowers the mean of the terms' last values by a hundredth. `callback` is given
    the best point evaluated so far. From a start other than zero, which must not be worse than
    zero, the first pass only fills the memory. Where the value stays, or evaluated points lie to
    and fro, steps get shorter; where it is above those at the start and at zero, the best point is
    taken up again.

    `memory` is left as it is in the end; where an earlier call has left one, no pass fills it.
    `hopeless` is asked after each evaluation of a gradient, with the passes made and the least of
    all largest entries of gradients, whether to give up. If `sampled`, large memories keep samples,
    which save memory and lead near the optimum, not to it.
    """
    dtype = objective.expand(w0).dtype
    coarse = COARSE if objective.n_potentials > SMALL else dtype
    memory = Remembered() if memory is None else memory
    begun = partial(_begun, objective, l1, l2, rng, sampled)
    best, limit = _begin(objective, w0, l1, l2, tol, memory)
    if best.converged:
        return best
    n = objective.n_terms
    iterate, curvature = memory.recall(begun(best.w, coarse))
    warm = bool(np.any(best.w))
    first = 1 - memory.n_passes
    looks = _Looks(max_iter, limit)
    course = Course(best.w)
    flattest = best.steepest
    for n_iter in range(1, max_iter + 1):
        passes = n_iter - first + 1
        # with replacement: in a fixed order all memories are equally late, and SAG diverges
        order = rng.permutation(n) if passes <= SHUFFLED else rng.randint(n, size=n)
        length = 0.0 if warm and passes == 1 else course.length
        c = max(CORRECTION, 1 / n, 0.0 if warm else passes**-1.5)
        _visit(iterate, curvature, order, c, length, FIRST_GAP * passes)
        due = looks.are_due(n_iter, iterate.mean_value)
        if due:
            here = _look(iterate, curvature, course, tol, looks.value_alone)
            rise = here.value - best.value
            flattest = min(flattest, here.steepest)
            # float32 no longer improves anything: from here on its rounding would
            if iterate.dtype != dtype and -ENOUGH * abs(best.value) <= rise < np.inf:
                iterate.refine(dtype)
            if rise < 0 or (here.converged and rise <= 1e-12 * abs(best.value)):
                best = here._replace(value=min(here.value, best.value))
            course.come_to(n_iter, here.value, best.value)
            if not here.value <= limit + 1e-9 * abs(limit):
                # the first pass may just be too noisy without a memory
                course = Course(best.w, course.length / 2 if warm else course.length)
                iterate = begun(best.w, iterate.dtype)
                warm = True
                first = n_iter + 1
        best = best._replace(n_iter=n_iter)
        stops = callback is not None and callback(n_iter, best.w, best.value)
        # where values still fall fast nobody knows how flat it is
        looked = due and not looks.value_alone
        if stops or best.converged or (looked and hopeless(n_iter, flattest)):
            break
    memory.keep(iterate, curvature)
    return _completed(best, objective, l1, l2, tol)


def _completed(best: Result, objective: SumOfTerms, l1: float, l2: float, tol: float) -> Result:
    """The best point with its gradient, where only the value is known."""
    if isfinite(best.steepest):
        return best
    return evaluate(objective, best.w, l1, l2, tol)._replace(n_iter=best.n_iter)


class _Looks:
    """When a point is evaluated: after so many passes, in the end, and where the mean of terms'
    values is above a limit.
    """

    def __init__(self, max_iter: int, limit: float) -> None:
        self.max_iter = max_iter
        self.limit = limit
        self.next = PATIENCE
        self.mean_value = np.inf
        self.value_alone = False

    def are_due(self, n_iter: int, mean_value: float) -> bool:
        """Whether to evaluate the point after a pass; `value_alone` says whether without the
        gradient.
        """
        falls = self.mean_value - mean_value > STEEP * abs(self.mean_value)
        self.mean_value = mean_value
        # where values still fall fast is no end, and to look there takes as long as to go on
        due = n_iter >= self.next + (PATIENCE if falls else 0)
        due = due or n_iter == self.max_iter or not mean_value <= self.limit
        if due:
            self.next = n_iter + PATIENCE
            self.value_alone = falls and n_iter < self.max_iter
        return due


def _begun(
    objective: SumOfTerms,
    l1: float,
    l2: float,
    rng: np.random.RandomState,
    sampled: bool,
    w: np.ndarray,
    dtype: DTypeLike,
) -> Iterate:
    """A point with an empty memory."""
    return Iterate(objective, w, l1, l2, dtype, objective.new_memory(dtype, rng, sampled))


def _begin(
    objective: SumOfTerms, w0: np.ndarray, l1: float, l2: float, tol: float, memory: Remembered
) -> tuple[Result, float]:
    """The better of the start and of zero, and the value of the worse, above which points are given
    up.
    """
    objective.rest()
    if np.any(w0) or l1:
        start = zero = evaluate(objective, w0, l1, l2, tol)
    else:
        # hardly any fit ends at zero without an L1 penalty: the gradient there can wait
        start = zero = valued(objective, w0, l1, l2)
    if np.any(w0) and memory.iterate is None and not start.converged:
        zero = valued(objective, 0.0 * w0, l1, l2)
    if memory.iterate is None:
        # the same whatever the penalty is
        memory.at_zero = zero.value
    objective.rest()
    limit = max(start.value, memory.at_zero)
    return (zero if zero.value < start.value else start), limit


@np.errstate(over="ignore", invalid="ignore")
def _visit(
    iterate: Iterate, curvature: Curvature, order: np.ndarray, c: float, length: float, gap: int
) -> None:
    """Step by `length` / L for each term in `order`, and note their values, without the penalty;
    end where one is not finite.
    """
    iterate.unfold()
    objective = iterate.objective
    n = len(order)
    for t, i in enumerate(order.tolist()):
        theta = iterate.potentials(i)
        value, gradient = objective.term(theta, i)
        iterate.values[i] = value
        if not isfinite(value):
            return
        if t % gap == 0 or curvature.count < FIRST_GAP:
            curvature.measure(i, theta, gradient, gap)
        iterate.move(i, gradient, length / curvature.value, c)
        # proximal steps are dense: a few in a pass, not one for each term
        if iterate.l1 and t % (n // PROX_PER_PASS + 1) == 0:
            iterate.write_out()


def _look(
    iterate: Iterate, curvature: Curvature, course: Course, tol: float, value_alone: bool
) -> Result:
    """Evaluate the point, and one farther on where the way has been straight; go there if lower."""
    objective = iterate.objective
    l1 = iterate.l1
    l2 = iterate.l2

    def at(w: np.ndarray) -> Result:
        if value_alone:
            result = valued(objective, w, l1, l2)
        else:
            result = evaluate(objective, w, l1, l2, tol)
        # steps and evaluations take turns to have memory
        objective.rest()
        return result

    if not isfinite(iterate.mean_value):
        return Result(course.w, np.inf, 0, False, steepest=np.inf)
    curvature.rest()
    # what steps held is given back before others take as much
    objective.rest()
    w = iterate.fold()
    objective.rest()
    here = at(w)
    beyond = None if l1 else course.follow(here.w)
    if beyond is None:
        return here
    farther = at(here.w + beyond)
    if not farther.value < here.value:
        return here
    course.w = farther.w
    iterate.go_to(farther.w)
    return farther


@np.errstate(over="ignore", invalid="ignore")
def evaluate(objective: SumOfTerms, w: np.ndarray, l1: float, l2: float, tol: float) -> Result:
    """A point and its value, and whether `sag` would stop there."""
    value, grad = objective.value_and_grad(w)
    penalised = w[: objective.size - objective.n_free]
    for first in range(0, len(penalised), PIECE):
        piece = slice(first, min(first + PIECE, len(penalised)))
        grad[piece] += l2 * penalised[piece]
    slope = grad
    if l1:
        l1_weights = np.zeros(objective.size)
        l1_weights[: len(penalised)] = l1
        slope = pseudo_gradient(w, grad, l1_weights)
    value += _penalty(penalised, l1, l2)
    # without an array of absolute values
    steepest = float(max(np.max(slope, initial=0.0), -np.min(slope, initial=0.0)))
    # l2 times what strong convexity leaves to be gained
    gap = float(np.dot(slope, slope)) / 2 if l2 else 0.0
    converged = steepest <= tol and gap <= l2 * CERTAIN * tol * (abs(value) + tol)
    return Result(w, value, 0, bool(converged), steepest=steepest)


def valued(objective: SumOfTerms, w: np.ndarray, l1: float, l2: float) -> Result:
    """A point and its value, where it is known that `sag` would not stop there."""
    penalised = w[: objective.size - objective.n_free]
    value = objective.value(w) + _penalty(penalised, l1, l2)
    return Result(w, value, 0, False, steepest=np.inf)


def _penalty(penalised: np.ndarray, l1: float, l2: float) -> float:
    penalty = l2 / 2 * float(np.dot(penalised, penalised))
    return penalty + l1 * float(np.sum(np.abs(penalised))) if l1 else penalty
