"""Stochastic gradient descent with a calibrated step (P1 5.20-5.22; Bottou 2010, Xu 2011).

The step of P1 5.22 after m terms is 1 / (l2 * (m_0 + m)) with m_0 = 1 / (l2 * a), which is a / (1 +
a * l2 * m). Here l2 is the curvature of the regulariser in 5.20; the printed sigma**2 lacks the
number of instances, and its steps are too short by that factor. The constant a is the best of a few
tried on a small subset. Unless these steps are asked for, means over iterates are learned, which
want the slower decay a / (1 + a * l2 * m)**(3/4).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.objective_protocols import SumOfTerms
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.result import Callback, Result, Stream

__all__ = ["sgd", "sgd_pass"]

CALIBRATION_TERMS = 200
RESCALE = 1e5  # largest divisor before the lazily scaled vectors are written out
# curvature from which on the search for a step begins below 1, as it would not get there
FARTHEST = 2.0**30
CERTAIN = 1.0  # of the value: where no more than that can be gained, passes are trusted
DOUBTFUL = 1e7  # of the value: where that could be gained, nothing is
NEAR = 0.02  # of the value, which other iterations may gain
NOTHING = 1e-3  # of the first value: less than that counts as that
N_CHECKED = 60  # of these iterations
# the weight of an iterate in the mean of a stream grows with this power of its number
FORGETTING = 3.0


class _Steps(NamedTuple):
    """How long steps are, and what of their iterates is learned: a mean, or the last one."""

    first: float
    l2: float
    averaged: bool

    def length(self, m: int) -> float:
        """After m steps: 5.22, or (Xu 2011) slower than 1 / m, as averaging wants it."""
        power = 0.75 if self.averaged else 1.0
        return self.first / float((1.0 + self.first * self.l2 * m) ** power)


class _Averaged:
    """The iterate w = v / v_divisor and its running mean (a + v_fraction * v) / a_divisor, updated
    sparsely.
    """

    def __init__(self, objective: SumOfTerms, w0: np.ndarray, l2: float) -> None:
        self.objective = objective
        self.l2 = l2
        self.v = np.array(objective.expand(w0), dtype=np.float64)
        self.n_penalised = len(self.v) - objective.n_free
        self.a = np.zeros_like(self.v)
        self.v_divisor = 1.0
        self.a_divisor = 1.0
        self.v_fraction = 0.0
        self.free_mean = self.v[self.n_penalised :].copy()

    def start_mean(self, mean: np.ndarray) -> None:
        """Let the running mean begin here instead of at the start."""
        self.a = np.array(self.objective.expand(mean), dtype=np.float64)
        self.free_mean = self.a[self.n_penalised :].copy()

    def step(self, i: int, eta: float, mu: float) -> float:
        """Go down the gradient of term i and return its value.

        The new iterate enters the mean with weight `mu`: 1 until averaging starts, less ever after.
        """
        if max(self.v_divisor, self.a_divisor) > RESCALE:
            self._write_out()
        theta = self.objective.forward(self.v, i, 1.0 / self.v_divisor)
        value, gradient = self.objective.term(theta, i)
        # the penalty shrinks all weights: a common divisor says so without touching them
        self.v_divisor /= 1.0 - eta * self.l2
        free = self.v[self.n_penalised :].copy()
        self.objective.add(gradient, i, self.v, -eta * self.v_divisor)
        # the unpenalised entries are few: they are neither scaled nor averaged lazily
        self.v[self.n_penalised :] = free + (self.v[self.n_penalised :] - free) / self.v_divisor
        self.free_mean += mu * (self.v[self.n_penalised :] - self.free_mean)
        if mu >= 1.0:
            # already 0 where the last step said the same: in calibration all steps do, and clearing
            # all weights would cost more than a step
            if self.v_fraction != 1.0:
                self.a[:] = 0.0
            self.a_divisor = self.v_divisor
            self.v_fraction = 1.0
        else:
            # the mean is a + fraction * v: what the step adds to v is taken out of a, so that both
            # stay sparse (Xu 2011)
            self.objective.add(gradient, i, self.a, self.v_fraction * eta * self.v_divisor)
            self.a_divisor /= 1.0 - mu
            self.v_fraction += mu * self.a_divisor / self.v_divisor
        return value

    def _write_out(self) -> None:
        mean = (self.a + self.v_fraction * self.v) / self.a_divisor
        self.v[: self.n_penalised] /= self.v_divisor
        self.v_divisor = self.a_divisor = 1.0
        self.a = mean
        self.v_fraction = 0.0

    def last(self) -> np.ndarray:
        """The last iterate, expanded."""
        w = self.v / self.v_divisor
        w[self.n_penalised :] = self.v[self.n_penalised :]
        return w

    def mean(self) -> np.ndarray:
        """The averaged parameters, compact."""
        mean = (self.a + self.v_fraction * self.v) / self.a_divisor
        mean[self.n_penalised :] = self.free_mean
        return self.objective.compress(mean)


def sgd(
    objective: SumOfTerms,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    rng: np.random.RandomState,
    averaged: bool = True,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2`` by passes over its terms in random order.

    An iteration is one pass; the averaged parameters are evaluated after each, or the last ones
    where they are not `averaged`. The average starts anew with passes 1, 2, 4, 8, ..., so that
    early iterates are forgotten; converged when the passes of such a window improved the value by
    less than `tol` each, relatively, and nothing says that it is far from the minimum.

    Where derivatives are estimates that are not those of the values, no value is a reason to prefer
    other parameters than the last ones; converged when passes change it by less than that.
    """
    if l1:
        raise ValueError("sgd is for smooth objectives; use owlqn with an L1 penalty")
    steps = _Steps(_calibrate(objective, w0, l2, rng), l2, averaged)
    iterate = _Averaged(objective, w0, l2)
    if objective.is_sampled:
        return _follow(objective, iterate, steps, (max_iter, tol), callback, rng)
    m = start = 0
    best = Result(w0, _penalised(objective, w0, l2), 0, False)
    at_start = np.inf
    first = best.value
    settled = False
    for n_iter in range(1, max_iter + 1):
        # the mean starts anew at passes 1, 2, 4, ...: it forgets the beginning, and still averages
        # at least half of all passes
        if n_iter & (n_iter - 1) == 0:
            start = m
            at_start = best.value
        m = _visit(iterate, rng.permutation(objective.n_terms), steps, m, start)
        w = iterate.mean()
        value = _penalised(objective, w, l2)
        best = (
            Result(w, value, n_iter, False) if value < best.value else best._replace(n_iter=n_iter)
        )
        window = (n_iter + 1) // 2
        if (
            # passes 3, 7, 15, ...: the last ones before the mean starts anew
            n_iter & (n_iter + 1) == 0
            and n_iter > 1
            and at_start - best.value <= tol * abs(best.value) * window
        ):
            improved = best.w is not w0
            converged = (
                _is_low(objective, best, l2, first)
                if improved
                else _is_flat(objective, w0, l2, tol)
            )
            best = best._replace(converged=converged)
            settled = converged or not improved
        if (callback is not None and callback(n_iter, best.w, best.value)) or settled:
            break
    return best


def _visit(iterate: _Averaged, order: np.ndarray, steps: _Steps, m: int, start: int) -> int:
    """A pass after m steps, with the mean from step `start` on; return the number of steps then."""
    for i in order:
        iterate.step(i, steps.length(m), 1.0 / (m - start + 1) if steps.averaged else 1.0)
        m += 1
    return m


def _follow(
    objective: SumOfTerms,
    iterate: _Averaged,
    steps: _Steps,
    limits: tuple[int, float],
    callback: Callback | None,
    rng: np.random.RandomState,
) -> Result:
    """Passes down estimates of derivatives; values say how it goes, and decide nothing else."""
    max_iter, tol = limits
    m = start = 0
    w = iterate.mean()
    last = Result(w, _penalised(objective, w, iterate.l2), 0, False)
    at_start = last.value
    for n_iter in range(1, max_iter + 1):
        # as in `sgd`: windows are passes 1, 2-3, 4-7, ...
        if n_iter & (n_iter - 1) == 0:
            start = m
            at_start = last.value
        m = _visit(iterate, rng.permutation(objective.n_terms), steps, m, start)
        w = iterate.mean()
        value = _penalised(objective, w, iterate.l2)
        window = (n_iter + 1) // 2
        end = n_iter & (n_iter + 1) == 0 and n_iter > 1
        converged = end and abs(at_start - value) <= tol * abs(value) * window
        last = Result(w, value, n_iter, converged)
        if (callback is not None and callback(n_iter, w, value)) or converged:
            break
    return last


def sgd_pass(
    objective: SumOfTerms,
    stream: Stream,
    *,
    l2: float,
    rng: np.random.RandomState,
    averaged: bool = True,
) -> Stream:
    """One pass over further terms, with `l2` the penalty beside the mean of all terms so far.

    The mean goes on, but forgets (Shamir & Zhang, ICML 2013, polynomial-decay averaging); where
    iterates are not `averaged` it is the last one. Until
    enough terms have been seen the step is calibrated in each pass; it is the geometric mean of
    what was found.
    """
    step = stream.step
    n = objective.n_terms
    if stream.n < CALIBRATION_TERMS:
        # first batches may be tiny: the step is a geometric mean of what each of them found
        step = step ** (stream.n / (stream.n + n)) * _calibrate(objective, stream.w, l2, rng) ** (
            n / (stream.n + n)
        )
    steps = _Steps(step, l2, averaged)
    iterate = _Averaged(objective, stream.w, l2)
    iterate.start_mean(stream.mean)
    # what happens to a parameter that no term touches, which the expanded layout may lack: it
    # shrinks
    w_left = 1.0
    mean_left = 1.0
    w_in_mean = 0.0
    for m, i in enumerate(rng.permutation(n), start=stream.n):
        eta = steps.length(m)
        mu = (FORGETTING + 1) / (m + FORGETTING + 1) if averaged else 1.0
        iterate.step(i, eta, mu)
        w_left *= 1.0 - eta * l2
        mean_left *= 1.0 - mu
        w_in_mean = (1.0 - mu) * w_in_mean + mu * w_left
    w, mean = (v - objective.compress(objective.expand(v)) for v in (stream.w, stream.mean))
    # to touched parameters the shrunken share of those that no term touched
    mean = iterate.mean() + mean_left * mean + w_in_mean * w
    w = objective.compress(iterate.last()) + w_left * w
    return Stream(w, mean, stream.n + n, step)


def _penalised(objective: SumOfTerms, w: np.ndarray, l2: float) -> float:
    penalised = w[: objective.size - objective.n_free]
    return objective.value(w) + l2 / 2 * float(np.dot(penalised, penalised))


def _is_flat(objective: SumOfTerms, w: np.ndarray, l2: float, tol: float) -> bool:
    """Whether w is an optimum, so that no step can be better."""
    grad = Penalised(objective, l2).value_and_grad(w)[1]
    return float(np.max(np.abs(grad), initial=0.0)) <= tol


def _is_low(objective: SumOfTerms, best: Result, l2: float, first: float) -> bool:
    """Whether the value is near the minimum; passes go on improving little where scales of features
    differ, too.

    A gradient g tells that the minimum is at most |g|**2 / (2 * l2) lower. Where that could be
    much, a few iterations of a solver that learns the scales tell more, but for scales that are
    beyond it, too.
    """
    grad = Penalised(objective, l2).value_and_grad(best.w)[1]
    scale = max(abs(best.value), NOTHING * abs(first))
    gain = float(np.dot(grad, grad)) / (2.0 * l2 * scale) if l2 else DOUBTFUL
    if not CERTAIN < gain <= DOUBTFUL:
        return gain <= CERTAIN
    # neither bound decides: see what another solver gains from here
    lower = lbfgs(objective, best.w, l1=0.0, l2=l2, max_iter=N_CHECKED, tol=0.0).value
    return best.value - lower <= NEAR * scale


def _calibrate(
    objective: SumOfTerms, w0: np.ndarray, l2: float, rng: np.random.RandomState
) -> float:
    """The step, of a geometric series, whose single pass over a sample of the terms ends lowest,
    below its start.
    """
    sample = rng.permutation(objective.n_terms)[:CALIBRATION_TERMS]

    def cost(step: float) -> float:
        iterate = _Averaged(objective, w0, l2)
        # weights would change their sign by the penalty alone
        if step * l2 >= 1.0:
            return np.inf
        for i in sample:
            if not np.isfinite(iterate.step(i, step, 1.0)):
                return np.inf
        W = iterate.last()
        values = [objective.term(objective.forward(W, i, 1.0), i)[0] for i in sample]
        w = W[: iterate.n_penalised]
        mean = float(np.mean(values)) + l2 / 2 * float(np.dot(w, w))
        return mean if np.isfinite(mean) else np.inf

    start = cost(0.0)
    step = _first_step(objective, w0, l2, sample)
    lowest = cost(step)
    # first find the direction in which the series improves
    factor = 2.0 if lowest < start and cost(2.0 * step) < lowest else 0.5
    # a safeguard: 2**40 is beyond any step that makes sense
    for _ in range(40):
        value = cost(step * factor)
        if lowest < start and (value > lowest or (value == np.inf and factor > 1)):
            break
        step = step * factor
        lowest = value
    return step


def _first_step(objective: SumOfTerms, w0: np.ndarray, l2: float, sample: np.ndarray) -> float:
    """A power of 2: 1, unless features or penalty are so large that a step must be far shorter."""
    W = np.array(objective.expand(w0), dtype=np.float64)
    largest = l2
    scratch = np.zeros_like(W)
    for i in sample:
        gradient = objective.term(objective.forward(W, i, 1.0), i)[1]
        objective.add(gradient, i, scratch, 1.0)
        change = objective.forward(scratch, i, 1.0)
        square = float(np.dot(gradient, gradient))
        objective.add(gradient, i, scratch, -1.0)
        if square > 0:
            largest = max(largest, float(np.dot(gradient, change)) / square)
    # a power of two, as all steps of the series then are
    return 1.0 if not FARTHEST < largest < np.inf else 0.5 ** math.frexp(largest)[1]
