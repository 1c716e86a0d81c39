"""The tokens of a few chains step by step: a step of a recursion over all of them is one small matrix product.

Row ``first[t] + r`` is token t of chain ``order[r]``. The longest chains come first, so that those still alive at
step t are r = 0 ... n_t - 1, with n_t = first[t + 1] - first[t], and their rows at steps t and t + 1 lie alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.kernel import kernel

__all__ = ["Steps", "batch_end", "steps"]

BATCH_TOKENS = 1000  # of one batch: what a recursion stores of it fits a second-level cache


class Steps(NamedTuple):
    """Where each token stands; see the module."""

    first: np.ndarray  # (longest + 1,), ends at the number of rows
    order: np.ndarray  # (n chains,)


@kernel
def batch_end(offsets, lo):
    """Where a batch that starts at chain `lo` ends."""
    hi = lo + 1
    while hi < len(offsets) - 1 and offsets[hi + 1] - offsets[lo] <= BATCH_TOKENS:
        hi += 1
    return hi


@kernel
def steps(offsets, weight, lo, hi):
    """The steps of those of the chains lo ... hi - 1 that have tokens and a weight that is not 0."""
    longest = 0
    for i in range(lo, hi):
        if weight[i] != 0.0:
            longest = max(longest, offsets[i + 1] - offsets[i])
    alive = np.zeros(longest + 1, np.int64)  # of each length the number of chains, then of those that are longer
    for i in range(lo, hi):
        if weight[i] != 0.0:
            alive[offsets[i + 1] - offsets[i]] += 1
    longer = 0
    for t in range(longest, -1, -1):
        alive[t], longer = longer, longer + alive[t]
    first, order = np.zeros(longest + 1, np.int64), np.empty(alive[0], np.int64)
    for t in range(longest):
        first[t + 1] = first[t] + alive[t]
    for i in range(lo, hi):
        T = offsets[i + 1] - offsets[i]
        if weight[i] != 0.0 and T > 0:
            order[alive[T]] = i
            alive[T] += 1
    return Steps(first, order)
