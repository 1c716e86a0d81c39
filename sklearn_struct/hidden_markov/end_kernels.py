"""What is added to the first and the last token of each sequence, and summed there."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["add_sums_of_ends", "add_to_ends"]


@kernel
def add_to_ends(start: np.ndarray, stop: np.ndarray, offsets: np.ndarray, node: np.ndarray) -> None:
    """Add `start` (K,) to the first row of each sequence, and `stop` (K,) to the last one."""
    for i in range(len(offsets) - 1):
        first = offsets[i]
        last = offsets[i + 1] - 1
        for k in range(node.shape[1] if first <= last else 0):
            node[first, k] += start[k]
            node[last, k] += stop[k]


@kernel
def add_sums_of_ends(
    node: np.ndarray, offsets: np.ndarray, start: np.ndarray, stop: np.ndarray
) -> None:
    """Add the first rows of all sequences up in `start` (K,), and the last ones in `stop` (K,)."""
    for i in range(len(offsets) - 1):
        first = offsets[i]
        last = offsets[i + 1] - 1
        for k in range(node.shape[1] if first <= last else 0):
            start[k] += node[first, k]
            stop[k] += node[last, k]
