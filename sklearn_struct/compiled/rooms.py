"""Arrays that threads use again and again."""

from __future__ import annotations

import math
from threading import local

import numpy as np

__all__ = ["Room"]


class Room(local):
    """Memory for one array of float64 at a time, which each thread has for itself.

    The system gives new memory page by page, which takes longer than a few sums over its numbers.
    """

    def __init__(self) -> None:
        self._memory = np.empty(0)

    def zeros(self, shape: tuple[int, ...]) -> np.ndarray:
        """Zeros, in the place of what was there before."""
        n = math.prod(shape)
        if len(self._memory) < n:
            self._memory = np.empty(n)
        array = self._memory[:n].reshape(shape)
        array[:] = 0.0
        return array
