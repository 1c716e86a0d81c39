"""Several expanded parameter vectors side by side, grain by grain: what belongs together comes from memory together.

A layout is a list of (length, grain): after each other so many numbers, of which `grain` at a time stay neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["ONE", "Grains", "interleave", "separate"]

Grains = list[tuple[int, int]]

ONE = np.ones(1)  # the scales of a single vector


def interleave(vectors: list[np.ndarray], grains: Grains, W: np.ndarray) -> None:
    """Write the vectors into W."""
    for c, vector in enumerate(vectors):
        for part, shared in zip(_parts(vector, 1, grains), _parts(W, len(vectors), grains), strict=True):
            shared[:, c] = part[:, 0]


def separate(W: np.ndarray, grains: Grains, vectors: list[np.ndarray]) -> None:
    """The inverse of `interleave`."""
    for c, vector in enumerate(vectors):
        for part, shared in zip(_parts(vector, 1, grains), _parts(W, len(vectors), grains), strict=True):
            part[:, 0] = shared[:, c]


def _parts(W: np.ndarray, n: int, grains: Grains) -> Iterator[np.ndarray]:
    """Views (number of grains, n, grain)."""
    start = 0
    for length, grain in grains:
        if length:
            yield W[n * start : n * (start + length)].reshape(-1, n, grain)
        start += length
