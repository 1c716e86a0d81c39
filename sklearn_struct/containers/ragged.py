"""Lists of arrays of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.compiled.kernel import kernel

__all__ = ["bounds", "cut", "object_array", "write_bounds"]


def bounds(lengths: ArrayLike) -> np.ndarray:
    """Where each of some pieces of these lengths begins, and where the last one ends (int64)."""
    sizes = np.asarray(lengths)
    ends = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, dtype=np.int64, out=ends[1:])
    return ends


def cut(items: Sequence[Any] | np.ndarray, offsets: np.ndarray) -> list[Any]:
    """The items of each sequence, of a list or an array of all."""
    return [items[lo:hi] for lo, hi in pairwise(offsets.tolist())]


def object_array(items: Sequence[Any]) -> np.ndarray:
    """One-dimensional object array of `items`; equal lengths never make it two-dimensional."""
    # np.array would make sequences of one length two-dimensional
    return np.fromiter(items, dtype=object, count=len(items))


@kernel
def write_bounds(sizes: np.ndarray, most: int, offsets: np.ndarray, steps: np.ndarray) -> int:
    """Write the bounds of the tokens of each sequence, and of its steps; return the first length
    that is not in 0 ... most, -1 if there is none.
    """
    offsets[0] = 0
    steps[0] = 0
    for i in range(len(sizes)):
        # large ones, too, as sums of these might overflow
        if sizes[i] < 0 or sizes[i] > most:
            return i
        offsets[i + 1] = offsets[i] + sizes[i]
        # one step fewer than tokens, but for sequences without tokens
        steps[i + 1] = steps[i] + max(sizes[i] - 1, 0)
    return -1
