"""The point of `sag`, with what it remembers of the terms, and its steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from sklearn_struct.solvers.objective_protocols import Derivatives, SumOfTerms

__all__ = ["Iterate"]

SMALLEST_SCALE = 1e-5  # beta, before the lazily scaled tables are written out
PIECE = 1 << 12  # rows that are written at once: products of all would need as much room as V


class Iterate:
    """The point w = beta * (V - s * D), its free entries dense; D is the sum of remembered
    gradients.

    With an L1 penalty D also holds a pull of l1 * m towards zero for each weight, fixed between two
    proximal steps: by its sign, or for a weight at zero what balances its gradient. Thus an optimum
    stays where it is, though proximal steps are few.
    """

    def __init__(
        self,
        objective: SumOfTerms,
        w: np.ndarray,
        l1: float,
        l2: float,
        dtype: DTypeLike,
        memory: Derivatives,
    ) -> None:
        self.objective = objective
        self.l1 = l1
        self.l2 = l2
        self.free_sum = np.zeros(objective.n_free)
        # derivatives in potentials: a number for each token and label, where gradients would have
        # one for each weight that the term touches
        self.memory = memory
        self.m = 0
        # of each term when it was last visited: a pass that draws its terms may draw high ones
        self.values = np.zeros(objective.n_terms)
        self.dtype = np.dtype(dtype)
        self.pulls: list[np.ndarray] = []
        # the point and D where they are folded
        self.folded: tuple[np.ndarray, np.ndarray] | None = w, np.zeros(objective.size)
        self.unfold()

    def fold(self) -> np.ndarray:
        """Keep the point, which is returned, and D compact until they are unfolded: whoever looks
        at the point needs memory, and with rare features V and D are long.
        """
        if self.folded is None:
            self.write_out()
            self.folded = self.objective.separate(self.W, 0), self.objective.separate(self.W, 1)
            self._let_go()
        return self.folded[0]

    def unfold(self) -> None:
        """Write out what is folded."""
        if self.folded is None:
            return
        objective = self.objective
        self.W = objective.side_by_side(self.folded, self.dtype)
        self.folded = None
        self.parts = [(part[:, 0], part[:, 1]) for part in objective.penalised_parts(self.W)]
        # the L1 penalty's subgradient takes part in the mean D, like the gradient of one more term
        if self.l1 and not self.pulls:
            self.pulls = [np.zeros(V.shape, V.dtype) for V, _ in self.parts]
        self.free = self.W[len(self.W) - 2 * objective.n_free :].reshape(2, -1)
        self._reset()

    def _let_go(self) -> None:
        """Free the vectors."""
        self.W = np.empty(0, self.dtype)
        self.free = np.empty((2, 0))
        self.parts = []

    def _reset(self) -> None:
        self.beta = 1.0
        self.s = 0.0
        self.length = self.pulled = 0.0  # sums of alpha, and of alpha's share that D took part in

    def refine(self, dtype: DTypeLike) -> None:
        """Go on at the same point, with the same memory, with another float type for V and D."""
        w = self.fold()
        self.dtype = np.dtype(dtype)
        self.pulls = []
        self.folded = w, np.zeros(len(w))
        self.unfold()
        self.free_sum[:] = 0.0
        self._sum_up()

    def remember(self, other: Iterate) -> None:
        """Take over another's memory, at a point that has none."""
        self.memory = other.memory
        self.m = other.m
        self.values = other.values
        self._sum_up()

    def _sum_up(self) -> None:
        """Make D the sum of what is remembered, so that float32's rounding does not stay in it."""
        for i in range(self.objective.n_terms):
            gradient = self.memory.get(i)
            if gradient is not None:
                self.objective.add(gradient.astype(self.W.dtype), i, self.W, 0.0, 1.0)
        self.free_sum += self.free[1]
        self.free[1] = 0.0

    @property
    def mean_value(self) -> float:
        """The mean of the values that terms had when they were last visited; it may be inf."""
        with np.errstate(over="ignore"):
            return float(np.mean(self.values))

    def potentials(self, i: int) -> np.ndarray:
        return self.objective.forward(self.W, i, self.beta, -self.beta * self.s)

    def move(self, i: int, gradient: np.ndarray, step: float, c: float) -> None:
        """Remember the gradient of term i, and go a `step`, in units of 1 / curvature."""
        if self.beta < SMALLEST_SCALE:
            self.write_out()
        before = self.memory.get(i)
        # what is added must be what is remembered, rounded, or D would no longer be the sum of it
        gradient = self.memory.put(i, gradient).astype(self.W.dtype, copy=False)
        if before is None:
            self.m += 1
            change = gradient
            # of a term seen first, c of its gradient is taken at once and the rest by the mean
            dense = (1 - c) / self.m
            sparse = c
        else:
            change = gradient - before
            dense = 1 / self.m
            sparse = c - 1 / self.m
        alpha = step / (1 + step * self.l2)
        V, D = self.free
        free = V.copy()
        self.beta /= 1 + step * self.l2
        self.objective.add(change, i, self.W, self.s - sparse * alpha / self.beta, 1.0)
        self.s += dense * alpha / self.beta
        if self.objective.n_free:
            self.free_sum += D
            V[:] = free - step * (dense * self.free_sum + sparse * D)
            # what free entries have of D is kept in `free_sum`: they are stepped densely, each time
            D[:] = 0.0
        self.length += alpha
        self.pulled += dense * alpha

    def go_to(self, w: np.ndarray) -> None:
        """Make w the point; D stays."""
        self.fold()
        assert self.folded is not None
        self.folded = w, self.folded[1]

    def write_out(self) -> None:
        """Make V the point itself; with an L1 penalty go the proximal step that is due."""
        for V, D in self.parts:
            # so far the step along D was only counted: all weights at every term would cost a pass
            # each
            for first in range(0, len(V), PIECE):
                piece = slice(first, first + PIECE)
                V[piece] -= self.s * D[piece]
                V[piece] *= self.beta
        for (V, D), pull in zip(self.parts if self.l1 else [], self.pulls, strict=True):
            V += self.pulled * pull
            # soft thresholding by all steps since the last time at once
            V -= np.clip(V, -self.l1 * self.length, self.l1 * self.length)
            D -= pull
            pull[:] = np.where(
                V == 0,
                -np.clip(D, -self.l1 * self.m, self.l1 * self.m),
                self.l1 * self.m * np.sign(V),
            )
            D += pull
        self._reset()
