"""Lists of arrays of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["cut", "object_array"]


def cut(items: Sequence[Any] | np.ndarray, offsets: np.ndarray) -> list[Any]:
    """The items of each sequence, of a list or an array of all."""
    return [items[lo:hi] for lo, hi in pairwise(offsets.tolist())]


def object_array(items: Sequence[Any]) -> np.ndarray:
    """One-dimensional object array of `items`; equal lengths never make it two-dimensional."""
    # np.array would make sequences of one length two-dimensional
    return np.fromiter(items, dtype=object, count=len(items))
