"""Block-coordinate Frank-Wolfe for losses that are the largest of many planes, such as the
structured hinge (Lacoste-Julien, Jaggi, Schmidt and Pletscher, ICML 2013).

With a penalty the optimal w is a mean of the planes' slopes, and the shares of these means are the
variables of a dual problem, term by term. A visit of a term asks for its highest plane, keeps it,
and gives all planes of the term that were kept their best shares; plain Frank-Wolfe steps would
move a share to the new plane alone. Between two passes that ask for planes there are some over the
kept ones (Shah, Kolmogorov and Lampert, CVPR 2015), since these need no maxima over labellings.

Any shares give a lower bound of the optimum, so the duality gap says how far it is at most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_struct.solvers.objective_protocols import LargestPlanes
from sklearn_struct.solvers.result import Callback, Result

__all__ = ["frank_wolfe"]

MOST_PASSES = 8  # over kept planes, after each that asks for new ones
LITTLE = 0.1  # of the mean gap: terms with less are left out of passes over kept planes
ENOUGH = 0.1  # of the gap of the pass before: less than that passes over kept planes need not leave
FEW = 10_000_000  # weights times terms: up to that, slopes of planes are kept in the weights
HIGHER = 1e-12  # by which part a plane must be higher than those that are kept


def frank_wolfe(
    objective: LargestPlanes,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    callback: Callback | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2``, where the objective's terms are largest ones of
    planes. Here the penalty is on all entries: with free ones there would be no dual problem term
    by term.

    An iteration is a pass over the terms in random order that asks for planes, and some over those
    that are kept. The best point is looked for among the weights after each iteration and their
    means, in which those after iteration k count k times. Stops when the duality gap is at most
    `tol` times the value. It begins at zero, which is what the right labellings' planes make;
    another `w0` is no mean of planes.
    """
    if l1 or not l2 > 0:
        raise ValueError("'frank-wolfe' needs an L2 penalty, and no other; use 'sgd' without one")
    if np.any(w0):
        raise ValueError(
            "'frank-wolfe' begins at zero; leave out init and warm_start, or use 'sgd'"
        )
    course = _Course(objective, l2)
    best = Result(w0.copy(), objective.value(w0), 0, False, np.inf)
    best = best._replace(gap=best.value - course.lower_bound(w0))
    mean = w0.copy()
    while best.n_iter < max_iter and not best.converged:
        course.ask(rng)
        w = objective.compress(course.W)
        mean += 2.0 / (best.n_iter + 2) * (w - mean)
        for point in (w, mean):
            value = objective.value(point) + l2 / 2 * float(np.dot(point, point))
            if value < best.value:
                best = best._replace(w=point.copy(), value=value)
        # the bound never falls but by rounding, so the gap is that of the best point of all
        gap = min(best.gap, max(best.value - course.lower_bound(w), 0.0))
        best = best._replace(n_iter=best.n_iter + 1, gap=gap, converged=gap <= tol * best.value)
        if callback is not None and callback(best.n_iter, best.w.copy(), best.value):
            break
    return best


class _Course:
    """The shares of all terms' planes, and the weights that these make."""

    def __init__(self, objective: LargestPlanes, l2: float) -> None:
        self.objective = objective
        self.l2 = l2
        self.W = np.array(objective.expand(np.zeros(objective.size)), dtype=np.float64)
        self.planes = [objective.new_planes() for _ in range(objective.n_terms)]
        # w is minus this times the sum over terms of the mean slope
        self.scale = 1.0 / (l2 * objective.n_terms)
        # of few weights, slopes in these are as short as in potentials, and need no potentials
        self.in_weights = len(self.W) * objective.n_terms <= FEW

    def ask(self, rng: np.random.RandomState) -> None:
        """A pass that asks for planes, then passes over those that are kept."""
        every = np.arange(self.objective.n_terms)
        gaps = self._pass(rng, every, self._ask_term)
        first = gaps.sum()
        for _ in range(MOST_PASSES):
            # of a term with little to gain nothing is asked before the next pass of all terms
            chosen = np.flatnonzero(gaps > LITTLE * gaps.sum() / len(gaps))
            gaps[chosen] = self._pass(rng, chosen, self._share_anew)
            if gaps.sum() <= ENOUGH * first:
                break

    def lower_bound(self, w: np.ndarray) -> float:
        """The dual value: below it the objective with its penalty is nowhere."""
        heights = [planes.height for planes in self.planes]
        return float(np.mean(heights)) - self.l2 / 2 * float(np.dot(w, w))

    def _pass(
        self, rng: np.random.RandomState, terms: np.ndarray, visit: Callable[[int], float]
    ) -> np.ndarray:
        """Visit some terms in random order; their gaps."""
        gaps = np.empty(len(terms))
        for k in rng.permutation(len(terms)).tolist():
            gaps[k] = visit(int(terms[k]))
        return gaps

    def _ask_term(self, i: int) -> float:
        """Keep the highest plane of a term if it is new; then share anew."""
        theta = self.objective.forward(self.W, i, 1.0)
        value, gradient = self.objective.term(theta, i)
        planes = self.planes[i]
        at = self.W if self.in_weights else theta
        if value > np.max(planes.values(at)) + HIGHER * (1.0 + abs(value)):
            # potentials of labels that a node cannot have are -inf, and no slope is there
            stored = np.flatnonzero(gradient)
            offset = value - float(np.dot(gradient[stored], theta[stored]))
            if self.in_weights:
                slope = np.zeros(len(self.W))
                self.objective.add(gradient, i, slope, 1.0)
                planes.add(slope, offset, slope)
            else:
                planes.add(gradient, offset, self.objective.image(gradient, i))
        return self._share_anew(i)

    def _share_anew(self, i: int) -> float:
        planes = self.planes[i]
        if len(planes) == 1:
            return 0.0
        if self.in_weights:
            return planes.share_anew(self.W, self.scale, -self.scale, self.W)
        theta = self.objective.forward(self.W, i, 1.0)
        change = np.zeros(len(theta))
        gap = planes.share_anew(theta, self.scale, 1.0, change)
        if np.any(change):
            self.objective.add(change, i, self.W, -self.scale)
        return gap
