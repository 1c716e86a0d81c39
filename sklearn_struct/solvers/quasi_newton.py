"""What quasi-Newton methods remember: the inverse Hessian of the last steps (Nocedal & Wright, section 7.2)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

__all__ = ["Memory"]

LENGTH = 10
LARGE = 100_000  # entries from which on steps are kept in float32: half the memory to read


class Memory:
    """The last steps and the changes of the gradient on them, pairs (s, y), as an approximation of a Hessian.

    Its inverse is that of Liu & Nocedal (Math. Programming 45, 1989), in the compact form of Byrd, Nocedal & Schnabel
    (Math. Programming 63, 1994): products of vectors that are shorter than `LENGTH` alone, between two matrix-vector
    products with all pairs at once. A pair is kept as unit vectors and their lengths.
    """

    def __init__(self, size: int) -> None:
        dtype = np.float32 if size > LARGE else np.float64
        self._pairs = np.empty((LENGTH, 2, size), dtype)  # slot, s or y
        self._slots: list[int] = []  # oldest first
        self._norms = np.ones((LENGTH, 2))
        self._sy, self._yy = np.zeros((LENGTH, LENGTH)), np.zeros((LENGTH, LENGTH))

    def __len__(self) -> int:
        return len(self._slots)

    def clear(self) -> None:
        self._slots = []

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step and the change of the gradient, unless the curvature between them vanishes."""
        curvature, square = float(np.dot(step, change)), float(np.dot(change, change))
        if not curvature > EPSILON * square:
            return
        slot = self._slots.pop(0) if len(self) == LENGTH else len(self)
        self._slots.append(slot)
        self._norms[slot] = np.linalg.norm(step), np.sqrt(square)
        for vector, norm, row in zip((step, change), self._norms[slot], self._pairs[slot], strict=True):
            np.multiply(vector, 1.0 / norm, out=row, casting="same_kind")
        products = self._products(self._pairs[slot, 1]) * self._norms[slot, 1]
        self._sy[: len(self), slot], self._yy[: len(self), slot] = products.T
        self._yy[slot, : len(self)] = self._yy[: len(self), slot]
        self._sy[slot, slot], self._yy[slot, slot] = curvature, square

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Minus the inverse Hessian times `gradient`."""
        if not self:
            return -gradient
        norm = float(np.linalg.norm(gradient))
        scaled = np.multiply(gradient, 1.0 / norm, dtype=self._pairs.dtype, casting="same_kind")
        order = np.ix_(self._slots, self._slots)
        sy, yy = np.triu(self._sy[order]), self._yy[order]
        sg, yg = norm * self._products(scaled)[self._slots].T
        scale = sy[-1, -1] / yy[-1, -1]
        by_y = solve_triangular(sy, sg)
        by_s = solve_triangular(sy, np.diag(sy) * by_y + scale * (yy @ by_y - yg), trans=1)
        coefs = np.zeros((len(self), 2))
        coefs[self._slots] = np.column_stack([-by_s, scale * by_y])
        coefs *= self._norms[: len(self)]
        found = -scale * gradient
        found += coefs.ravel().astype(self._pairs.dtype) @ self._flat
        return found

    @property
    def _flat(self) -> np.ndarray:
        return self._pairs[: len(self)].reshape(2 * len(self), -1)

    def _products(self, vector: np.ndarray) -> np.ndarray:
        """(slot, s or y): products of the kept vectors with `vector`."""
        return (self._flat @ vector).astype(np.float64).reshape(-1, 2) * self._norms[: len(self)]


EPSILON = float(np.finfo(float).eps)
