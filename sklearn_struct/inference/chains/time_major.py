"""The tokens of a few chains step by step: a step of a recursion over all of them is one small
matrix product.

Row ``first[t] + r`` is token t of chain ``order[r]``. The longest chains come first, so that those
still alive at step t are r = 0 ... n_t - 1, with n_t = first[t + 1] - first[t], and their rows at
steps t and t + 1 lie alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["Steps", "steps"]


class Steps(NamedTuple):
    """Where each token stands; see the module."""

    first: np.ndarray  # (longest + 1,), ends at the number of rows
    order: np.ndarray  # (n chains,)


def steps(offsets: np.ndarray, weight: np.ndarray | None = None) -> Steps:
    """The steps of the chains that have tokens, and a weight that is not 0 if weights are given."""
    n_tokens = int(offsets[-1] - offsets[0])
    # of a single sentence calls cost most
    if len(offsets) == 2 and n_tokens and (weight is None or weight[0] != 0.0):
        return Steps(np.arange(n_tokens + 1), np.zeros(1, np.int64))
    if weight is None:
        weight = np.ones(len(offsets) - 1)
    alive, first = np.zeros((2, n_tokens + 1), np.int64)
    order = np.empty(len(weight), np.int64)
    longest, n = _steps(offsets, weight, alive, first, order)
    return Steps(first[: longest + 1], order[:n])


@kernel
def _steps(
    offsets: np.ndarray, weight: np.ndarray, alive: np.ndarray, first: np.ndarray, order: np.ndarray
) -> tuple[int, int]:
    """Fill `first` and `order`; return last step and number of chains. `alive` is scratch."""
    n = len(offsets) - 1
    longest = 0
    for i in range(n):  # of each length the number of chains, then of those that are longer
        if weight[i] != 0.0:
            T = offsets[i + 1] - offsets[i]
            alive[T] += 1
            if longest < T:
                longest = T
    longer = 0
    # a counting sort by length: chains are many and lengths few
    for t in range(longest, -1, -1):
        of_this_length = alive[t]
        alive[t] = longer
        longer += of_this_length
    n_chains = alive[0]
    for t in range(longest):
        first[t + 1] = first[t] + alive[t]
    for i in range(n):
        T = offsets[i + 1] - offsets[i]
        if weight[i] != 0.0 and T > 0:
            order[alive[T]] = i
            alive[T] += 1
    return longest, n_chains
