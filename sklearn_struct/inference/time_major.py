"""The tokens of a block step by step: a step of a recursion over all its chains is one small matrix product.

Row ``first[t] + rank[i]`` is token t of chain i. The longest chains come first, so that the chains still alive at step t
are ranks 0 ... n_t - 1, with n_t = first[t + 1] - first[t], and their rows at steps t and t + 1 lie alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.kernel import kernel

__all__ = ["Steps", "steps"]


class Steps(NamedTuple):
    """Where each token of a block stands; see the module. Chains that are left out have rank -1."""

    first: np.ndarray  # (longest + 1,), ends at the number of rows
    rank: np.ndarray  # (n_chains,)
    order: np.ndarray  # (n ranks,): the chain of each rank


@kernel
def steps(offsets, weight):
    """The steps of the chains of non-zero weight."""
    n, longest = len(offsets) - 1, 0
    for i in range(n):
        if weight[i] != 0.0:
            longest = max(longest, offsets[i + 1] - offsets[i])
    alive = np.zeros(longest + 2, np.int64)  # alive[t]: number of chains longer than t
    for i in range(n):
        if weight[i] != 0.0:
            alive[offsets[i + 1] - offsets[i]] += 1
    above = 0
    for t in range(longest, -1, -1):
        alive[t], above = above, above + alive[t]
    first, rank = np.zeros(longest + 1, np.int64), np.full(n, -1)
    for t in range(longest):
        first[t + 1] = first[t] + alive[t]
    order = np.empty(alive[0], np.int64)
    for i in range(n):
        T = offsets[i + 1] - offsets[i]
        if weight[i] != 0.0 and T > 0:
            rank[i] = alive[T]
            order[alive[T]] = i
            alive[T] += 1
    return Steps(first, rank, order)
