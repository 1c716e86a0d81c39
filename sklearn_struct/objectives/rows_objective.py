"""Objectives on scores of rows: w -> F w -> loss -> gradient, plus a linear term."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_struct.compiled.threads import parts
from sklearn_struct.linear.sparse_rows import Dual, SparseRows
from sklearn_struct.losses.losses_of_rows import Exponential, RowExamples, RowLoss
from sklearn_struct.objectives.lent_threads import OnThreads

__all__ = ["RowsObjective"]

# of the steps of a free entry, as a share of what a row's other entries make together
DAMPING = 0.1
LONGEST_CALL = 2_000_000  # numbers of F


class RowsObjective(OnThreads):
    """Weighted mean of a loss on scores of rows, plus a linear function, of the parameter vector.

        value = sum_i weight[i] * loss((F w)[rows of i], y_i) / sum_i weight[i] + linear . w

    Parameters
    ----------
    rows : SparseRows
        The matrix F.
    loss : RowLoss
    data : RowExamples
    linear : ndarray of shape (size,), default=None
        Coefficients of the linear term; it is not divided by the sum of weights.
    n_free : int, default=0
        How many entries at the end of w have no penalty.
    total : float, default=None
        What sums of losses are divided by; by default the sum of the weights.
    """

    def __init__(
        self,
        rows: SparseRows,
        loss: RowLoss,
        data: RowExamples,
        linear: np.ndarray | None = None,
        n_free: int = 0,
        total: float | None = None,
    ) -> None:
        self.rows = rows
        self.loss = loss
        self.data = data
        self.linear = linear
        self.size = rows.size
        self.n_free = n_free
        self.total_weight = float(np.sum(data.weight)) if total is None else total

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient."""
        scores = self.rows.forward(self.threads, w)
        value = np.empty(len(self.data.weight))

        def work(rows: slice, examples: slice, out: np.ndarray) -> None:
            self.loss(scores[rows], self.data.part(examples), out, value[examples])

        grad = self._pull(work)
        mean = float(np.dot(self.data.weight, value)) / self.total_weight
        if self.linear is None:
            return mean, grad
        return mean + float(np.dot(self.linear, w)), grad + self.linear

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative at w, F' D F, times v."""
        scores = self.rows.forward(self.threads, w)
        direction = self.rows.forward(self.threads, v)

        def work(rows: slice, examples: slice, out: np.ndarray) -> None:
            self.loss.hess_vec(scores[rows], direction[rows], self.data.part(examples), out)

        return self._pull(work)

    # ---- for dual coordinate ascent, with the exponential loss and one row an example

    @property
    def n_terms(self) -> int:
        return self.rows.n_rows

    def dual_start(self, w: np.ndarray, l2: float) -> tuple[np.ndarray, Dual, np.ndarray]:
        """Where to start: w, minus the losses' derivatives as the factors of the rows, and scales
        of w's entries.

        At the minimum w = (F' factors - linear) / l2. A free entry has no such equation, but one
        for its change since the pass before, by a scale that suits the others: in the end that is
        0.
        """
        # `ascend` solves an equation for the factor of a row, which is that of this loss
        if not isinstance(self.loss, Exponential):
            raise TypeError(
                f"dual ascent is for exponential losses, not {type(self.loss).__name__}"
            )
        score = self.rows.forward(self.threads, w)
        factors = np.empty(len(score))
        shares = self.data._replace(weight=self.data.weight / self.total_weight)
        self.loss(score, shares, factors, np.empty_like(score))
        factors *= -1.0
        # without the 1 of the free entry, which has a scale of its own
        squares = self.rows.squares - self.n_free
        scales = np.array([1.0 / l2, 1.0 / l2])
        if self.n_free:
            # the free entry has no penalty to bound its steps: a share of what the others make
            # together
            scales[1] = DAMPING * scales[0] * max(float(np.mean(squares)), 1.0)
        start = scales[0] * (self.rows.transpose(self.threads, factors) - self._linear)
        start[self.size - self.n_free :] = w[self.size - self.n_free :]
        return start, Dual(factors, scales[0] * squares + scales[1] * self.n_free), scales

    def dual_pass(self, w: np.ndarray, dual: Dual, scales: np.ndarray, order: np.ndarray) -> None:
        """Go over the rows in this order; each gets the factor that is best while the others keep
        theirs.
        """
        if self.n_free:
            w[-1] += scales[1] * (float(np.sum(dual.factors)) - self._linear[-1])
        # weights of 0 are fine: their factors are 0
        with np.errstate(divide="ignore"):
            log_weight = np.log(self.data.weight / self.total_weight)
        # several calls, so that Ctrl-C is heard between them
        for part in np.array_split(order, -(-self.rows.n_stored // LONGEST_CALL) or 1):
            self.rows.ascend(part, log_weight, scales, w, dual)

    @property
    def _linear(self) -> np.ndarray:
        return np.zeros(self.size) if self.linear is None else self.linear

    def _pull(self, work: Callable[[slice, slice, np.ndarray], None]) -> np.ndarray:
        """The weighted mean of what `work` writes, in the parameters."""
        out = np.empty(self.rows.n_rows)
        offsets = self.data.offsets
        cuts = [
            examples for examples in parts(len(self.data.weight)) if examples.stop > examples.start
        ]

        def part(c: int) -> None:
            examples = cuts[c]
            rows = slice(int(offsets[examples.start]), int(offsets[examples.stop]))
            work(rows, examples, out[rows])

        self.threads.map(part, len(cuts))
        return self.rows.transpose(self.threads, out) / self.total_weight
