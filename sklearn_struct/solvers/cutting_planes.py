"""Cutting planes for convex objectives with kinks, which are evaluated as a whole, such as the
structured hinge of data in partitions (Joachims, Finley and Yu, Machine Learning 2009; Teo,
Vishwanathan, Smola and Le, JMLR 2010).

Each evaluation gives a plane that is nowhere above the objective. The highest of all planes, with
the penalty, is a model of it from below. The lowest point of the model is found by its dual: w is
minus a mean of slopes, and the shares of the planes in this mean are looked for.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.solvers.objective_protocols import BatchObjective
from sklearn_struct.solvers.result import Callback, Result

__all__ = ["cutting_planes"]

# how far to go from the best point to the lowest one of the model, where it is asked for the next
# plane (Franc and Sonnenburg, ICML 2008, do the same): the model is poor far from all its planes.
# The way is doubled where the point was better. Where it was not, it is halved, once more each time
# in a row: the weaker the penalty, the further away the first points are
MOST_OF_WAY = 0.3
MOST = 100  # planes, each as long as w
NEAR = 0.01  # of what moves could gain at first: what they may leave
MOST_MOVES = 50  # of shares, for each plane


def cutting_planes(
    objective: BatchObjective,
    w0: np.ndarray,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Result:
    """Minimise ``objective + l2 / 2 * ||w||**2``, where the objective is convex and nowhere below
    0, and its gradients are subgradients at kinks. The penalty is on all entries.

    An iteration is an evaluation. Stops when the gap between the best value and the lowest one of
    the model is at most `tol` times the value.
    """
    if l1 or not l2 > 0:
        raise ValueError(
            "'cutting-planes' needs an L2 penalty, and no other: a finite C, and l1_ratio=0; 'sgd' "
            "goes without one, where all data are in one place"
        )
    value, grad = objective.value_and_grad(w0)
    best = Result(w0.copy(), value + l2 / 2 * float(np.dot(w0, w0)), 0, False, np.inf)
    model = _Model(objective.size, l2)
    model.add(grad, value - float(np.dot(grad, w0)))
    of_way = MOST_OF_WAY
    in_a_row = 0  # points that were not better
    while best.n_iter < max_iter and not best.converged and np.isfinite(best.value):
        lowest, bound = model.lowest()
        w = best.w + of_way * (lowest - best.w)
        value, grad = objective.value_and_grad(w)
        if not np.isfinite(value):
            break  # the penalty is so weak that the model has no lowest point in these numbers
        model.add(grad, value - float(np.dot(grad, w)))
        value += l2 / 2 * float(np.dot(w, w))
        if value < best.value:
            best = best._replace(w=w, value=value)
            of_way = min(2 * of_way, MOST_OF_WAY)
            in_a_row = 0
        else:
            in_a_row += 1
            of_way *= 0.5**in_a_row
        gap = max(best.value - bound, 0.0)
        best = best._replace(n_iter=best.n_iter + 1, gap=gap, converged=gap <= tol * best.value)
        if callback is not None and callback(best.n_iter, best.w.copy(), best.value):
            break
    return best


class _Model:
    """The highest of some planes, and the penalty.

    `offset` (n,) and `slope` (n, d) of the n planes, which are the first rows of `rows`; `share`
    (n,) of each in the mean; `product` (n, n) of slopes with each other.
    """

    def __init__(self, size: int, l2: float) -> None:
        self.l2 = l2
        # memory that is written to when its plane comes
        self.rows = np.empty((MOST, size))
        self.slope = self.rows[:0]
        self.offset = np.zeros(0)
        self.share = np.zeros(0)
        self.product = np.zeros((0, 0))
        self.bound = 0.0

    def add(self, slope: np.ndarray, offset: float) -> None:
        """Add a plane; the first one has all of the shares."""
        n = len(self.offset)
        if n == MOST:
            at = self._freed()
        else:
            at = n
            self.slope = self.rows[: n + 1]
            self.offset = np.append(self.offset, 0.0)
            self.share = np.append(self.share, float(n == 0))
            self.product = np.pad(self.product, (0, 1))
        self.slope[at] = slope
        self.offset[at] = offset
        across = self.slope @ slope
        self.product[at] = across
        self.product[:, at] = across

    def lowest(self) -> tuple[np.ndarray, float]:
        """The lowest point, nearly; and what the objective is at least, with its penalty."""
        heights = self.offset - self.product @ self.share / self.l2
        above = float(np.max(heights) - np.dot(self.share, heights))
        for _ in range(MOST_MOVES * len(heights)):
            to = int(np.argmax(heights))
            since = int(np.argmin(np.where(self.share > 0, heights, np.inf)))
            gain = heights[to] - heights[since]
            if not gain > NEAR * above:
                break
            self._move(since, to, gain, heights)
        mean = self.share @ self.slope
        bound = float(np.dot(self.share, self.offset)) - float(np.dot(mean, mean)) / (2 * self.l2)
        # any shares give a bound
        self.bound = max(self.bound, bound)
        return -mean / self.l2, self.bound

    def _move(self, since: int, to: int, gain: float, heights: np.ndarray) -> None:
        """Move as much of a share to another plane as raises the dual value most."""
        toward = (self.product[to] - self.product[since]) / self.l2
        bend = toward[to] - toward[since]
        step = self.share[since]
        if bend * step > gain:
            step = gain / bend
            self.share[since] -= step
        else:
            self.share[since] = 0.0
        self.share[to] += step
        heights -= step * toward

    def _freed(self) -> int:
        """The place of the plane with the least share. It is forgotten; if it has one, it goes into
        a mean with the next least, which is nowhere above the objective either.
        """
        first, second = np.argsort(self.share, kind="stable")[:2]
        if self.share[first] > 0:
            total = self.share[first] + self.share[second]
            mix = np.zeros(len(self.share))
            mix[first] = self.share[first] / total
            mix[second] = self.share[second] / total
            self.slope[second] = mix @ self.slope
            self.offset[second] = mix @ self.offset
            across = self.product @ mix
            self.product[second] = across
            self.product[:, second] = across
            self.product[second, second] = mix @ across
            self.share[second] = total
            self.share[first] = 0.0
        return int(first)
