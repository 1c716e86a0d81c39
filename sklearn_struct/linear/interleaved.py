"""Several expanded parameter vectors side by side, grain by grain: what belongs together comes from
memory together.

A layout is a list of (length, grain): after each other so many numbers, of which `grain` at a time
stay neighbours.
"""

from __future__ import annotations

import numpy as np

__all__ = ["ONE", "Grains", "parts", "put", "take"]

Grains = list[tuple[int, int]]

ONE = np.ones(1)  # the scales of a single vector


def parts(W: np.ndarray, n: int, grains: Grains) -> list[np.ndarray]:
    """Views of what n vectors side by side share, each of the layout's lengths as (number of
    grains, n, grain).
    """
    found = []
    start = 0
    for length, grain in grains:
        stop = start + n * length
        found.append(W[start:stop].reshape(length // grain if grain else 0, n, grain))
        start = stop
    return found


def put(vector: np.ndarray, n: int, c: int, grains: Grains, W: np.ndarray) -> None:
    """Make `vector` the c-th of the n in W."""
    for part, shared in zip(parts(vector, 1, grains), parts(W, n, grains), strict=True):
        shared[:, c] = part[:, 0]


def take(W: np.ndarray, n: int, c: int, grains: Grains, vector: np.ndarray) -> None:
    """Write the c-th of the n vectors in W to `vector`."""
    for part, shared in zip(parts(vector, 1, grains), parts(W, n, grains), strict=True):
        part[:, 0] = shared[:, c]
