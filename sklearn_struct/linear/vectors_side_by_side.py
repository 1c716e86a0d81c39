"""Several parameter vectors interleaved in one array, so that memory is read once for all of them.

A layout is a list of parts (length, grain): in a part of so many numbers, `grain` at a time stay
neighbours, and the grains of the vectors take turns. With grain 2, vectors a and b of length 4 are
kept as a0 a1 b0 b1 a2 a3 b2 b3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ONE", "Grains", "compress_of", "expand_of", "parts", "put", "take"]

Grains = list[tuple[int, int]]

ONE = np.ones(1)  # the scales of a single vector


def parts(W: np.ndarray, n: int, grains: Grains) -> list[np.ndarray]:
    """A view (number of grains, n, grain) of each part of a layout that n vectors share."""
    views = []
    start = 0
    for length, grain in grains:
        stop = start + n * length
        views.append(W[start:stop].reshape(length // grain if grain else 0, n, grain))
        start = stop
    return views


def put(vector: np.ndarray, n: int, c: int, grains: Grains, W: np.ndarray) -> None:
    """Make `vector` the c-th of the n in W."""
    for part, shared in zip(parts(vector, 1, grains), parts(W, n, grains), strict=True):
        shared[:, c] = part[:, 0]


def take(W: np.ndarray, n: int, c: int, grains: Grains, vector: np.ndarray) -> None:
    """Write the c-th of the n vectors in W to `vector`."""
    for part, shared in zip(parts(vector, 1, grains), parts(W, n, grains), strict=True):
        part[:, 0] = shared[:, c]


def expand_of(of: Any, w: np.ndarray, W: np.ndarray, n: int, c: int) -> None:
    """Write w as a map expands it, as the c-th of n vectors in W."""
    if hasattr(of, "expand_one"):
        # with rare features a vector is long: another one would need as much room again
        of.expand_one(w, W, n, c)
        return
    vector = np.zeros(of.expanded_size, W.dtype)
    of.expand(w, vector)
    put(vector, n, c, of.grains, W)


def compress_of(of: Any, W: np.ndarray, n: int, c: int, w: np.ndarray) -> None:
    """The inverse, written to w."""
    if hasattr(of, "compress_one"):
        of.compress_one(W, n, c, w)
        return
    vector = W
    if n > 1:
        vector = np.empty(of.expanded_size, W.dtype)
        take(W, n, c, of.grains, vector)
    w[:] = of.compress(vector)
