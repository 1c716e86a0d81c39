"""What quasi-Newton methods remember of their last steps: an inverse Hessian (Nocedal & Wright,
section 7.2).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

__all__ = ["LENGTH", "Memory"]

# cosine of a step and the change of the gradient below which the curvature is negative in truth,
# and not by rounding errors
NEGATIVE = -1e-3
LENGTH = 10  # pairs, as many as in scipy's L-BFGS-B
COLUMNS = 16_384  # of all rows: a block that stays in cache for two products


class Memory:
    """The last steps and the changes of the gradient along them, pairs (s, y), as an inverse
    Hessian.

    It is that of Liu & Nocedal (Mathematical Programming 45, 1989) in the compact form of Byrd,
    Nocedal & Schnabel (Mathematical Programming 63, 1994): long vectors are read twice, all at
    once, for their products with the gradient and for their combination; the rest is small. Vectors
    are kept in float32 as unit vectors and their lengths, half the memory to read: the numbers of
    evaluations are those of float64, also where curvatures differ by 1e12.
    """

    def __init__(self, size: int, n_pairs: int = LENGTH) -> None:
        self.n_pairs = n_pairs
        # the gradient, then s and y of each slot
        # float32 halves what is read twice an iteration; a direction needs no more digits than that
        self._rows = np.zeros((1 + 2 * n_pairs, size), np.float32)
        # rows are kept at length 1, their lengths in float64: squares of tiny steps would vanish in
        # float32
        self._lengths = np.ones(1 + 2 * n_pairs)
        self._slots: list[int] = []  # oldest pair first
        # whether the newest pair's products are still to be computed, with those of the gradient
        self._fresh = False
        self._sy = np.zeros((n_pairs, n_pairs))
        self._yy = np.zeros((n_pairs, n_pairs))

    def __len__(self) -> int:
        return len(self._slots)

    def clear(self) -> None:
        """Forget all."""
        self._slots = []
        self._fresh = False

    def add(self, step: np.ndarray, change: np.ndarray, scale: float = 1.0) -> None:
        """Remember ``scale * step`` and the change of the gradient along it, unless there is no
        positive curvature. Where it is negative forget all: what was learned before was another
        region's curvature.
        """
        curvature = _dot(step, change)
        step_length = _dot(step, step) ** 0.5
        change_length = _dot(change, change) ** 0.5
        if curvature < NEGATIVE * step_length * change_length:
            self.clear()
        # the inverse Hessian must stay positive definite
        if not curvature > np.finfo(float).eps * step_length * change_length:
            return
        # products are made of the newest pair alone: of one that is not the newest any more they
        # would be missing
        if self._fresh:
            self._products()
        # the oldest pair gives its rows to the newest: nothing is moved in memory
        slot = self._slots.pop(0) if len(self) == self.n_pairs else len(self)
        self._slots.append(slot)
        self._keep(1 + 2 * slot, step, step_length)
        self._keep(2 + 2 * slot, change, change_length)
        # the factor of the step goes into its length, so nobody has to make the scaled vector
        self._lengths[1 + 2 * slot] *= scale
        self._sy[slot, slot] = scale * curvature
        self._fresh = True

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Minus the inverse Hessian times `gradient`."""
        if not self:
            return -gradient
        self._keep(0, gradient, _dot(gradient, gradient) ** 0.5)
        by_s, by_y = self._products()
        order = np.ix_(self._slots, self._slots)
        # the compact form wants products of steps with changes that are not older than they are
        sy = np.triu(self._sy[order])
        yy = self._yy[order]
        # the size of the newest curvature (Nocedal & Wright, equation 7.20)
        scale = sy[-1, -1] / yy[-1, -1]
        # the two loops of the textbook, as solutions of triangular systems of the small products
        of_y = solve_triangular(sy, by_s[self._slots])
        of_s = solve_triangular(
            sy, np.diag(sy) * of_y + scale * (yy @ of_y - by_y[self._slots]), trans=1
        )
        weights = np.zeros((len(self), 2))
        weights[self._slots] = np.column_stack([-of_s, scale * of_y])
        rows = self._rows[: 1 + 2 * len(self)]
        weights = np.concatenate([[-scale], weights.ravel()]) * self._lengths[: len(rows)]
        # all rows are read once, in one product, instead of once for each pair
        return (weights.astype(np.float32) @ rows).astype(np.float64)

    def _keep(self, row: int, vector: np.ndarray, length: float) -> None:
        np.multiply(vector, 1.0 / length, out=self._rows[row], casting="same_kind")
        self._lengths[row] = length

    def _products(self) -> tuple[np.ndarray, np.ndarray]:
        """Products of all s and of all y with the gradient; those with the newest y fill the small
        matrices.
        """
        rows = self._rows[: 1 + 2 * len(self)]
        newest = self._slots[-1]
        products = np.zeros((2, len(rows)))
        for start in range(0, rows.shape[1], COLUMNS):
            block = rows[:, start : start + COLUMNS]
            products[0] += block @ block[0]
            products[1] += block @ block[2 + 2 * newest]
        products *= self._lengths[: len(rows)]
        products *= self._lengths[[[0], [2 + 2 * newest]]]
        by_s = products[:, 1::2]
        by_y = products[:, 2::2]
        curvature = self._sy[newest, newest]  # exact: next to its factors it may vanish
        self._sy[: len(self), newest] = by_s[1]
        self._sy[newest, newest] = curvature
        self._yy[: len(self), newest] = self._yy[newest, : len(self)] = by_y[1]
        self._fresh = False
        return by_s[0], by_y[0]


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.dot(a, b))
