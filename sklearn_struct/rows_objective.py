"""Objectives on scores of rows: w -> F w -> loss -> gradient, plus a linear term."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.linear.sparse_rows import SparseRows
from sklearn_struct.threads import Pool, parts

__all__ = ["RowExamples", "RowsObjective"]


class RowExamples(NamedTuple):
    """Example i owns the rows ``offsets[i]:offsets[i + 1]``; ``y[i]`` is one of them, for losses that ask for it."""

    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    @classmethod
    def single(cls, weight: np.ndarray) -> RowExamples:
        """One row an example."""
        return cls(np.arange(len(weight) + 1), np.zeros(len(weight), np.int32), weight)


class RowsObjective:
    """Weighted mean of a loss on scores of rows, plus a linear function, of the parameter vector.

        value = sum_i weight[i] * loss((F w)[rows of i], y_i) / sum_i weight[i] + linear . w

    Parameters
    ----------
    rows : SparseRows
        The matrix F.
    loss : callable
        One of `sklearn_struct.losses.rows`, or another with their signature.
    data : RowExamples
    pool : Pool
        Threads to use; the result has the same bits for any number of them.
    linear : ndarray of shape (size,), default=None
        Coefficients of the linear term; it is not divided by the sum of weights.
    n_free : int, default=0
        How many entries at the end of w have no penalty.
    """

    def __init__(
        self,
        rows: SparseRows,
        loss: Any,
        data: RowExamples,
        pool: Pool,
        linear: np.ndarray | None = None,
        n_free: int = 0,
    ) -> None:
        self.rows, self.loss, self.data, self.pool, self.linear = rows, loss, data, pool, linear
        self.size, self.n_free = rows.size, n_free
        self.total_weight = float(np.sum(data.weight))

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient."""
        scores, value = self.rows.forward(self.pool, w), np.empty(len(self.data.weight))

        def work(rows: slice, examples: slice, offsets: np.ndarray, out: np.ndarray) -> None:
            _, y, weight = self.data
            self.loss(scores[rows], y[examples], offsets, weight[examples], out, value[examples])

        grad = self._pull(work)
        mean = float(np.dot(self.data.weight, value)) / self.total_weight
        if self.linear is None:
            return mean, grad
        return mean + float(np.dot(self.linear, w)), grad + self.linear

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative at w, F' D F, times v."""
        scores, direction = self.rows.forward(self.pool, w), self.rows.forward(self.pool, v)

        def work(rows: slice, examples: slice, offsets: np.ndarray, out: np.ndarray) -> None:
            _, y, weight = self.data
            self.loss.hess_vec(scores[rows], direction[rows], y[examples], offsets, weight[examples], out)

        return self._pull(work)

    def _pull(self, work: Callable[[slice, slice, np.ndarray, np.ndarray], None]) -> np.ndarray:
        """The weighted mean of what `work` writes, in the parameters."""
        out, offsets = np.empty(self.rows.n_rows), self.data.offsets
        cuts = [examples for examples in parts(len(self.data.weight)) if examples.stop > examples.start]

        def part(c: int) -> None:
            examples = cuts[c]
            rows = slice(int(offsets[examples.start]), int(offsets[examples.stop]))
            work(rows, examples, offsets[examples.start : examples.stop + 1] - rows.start, out[rows])

        self.pool.map(part, len(cuts))
        return self.rows.transpose(self.pool, out) / self.total_weight
