"""The tokens of a few chains step by step: a step of a recursion over all of them is one small
matrix product.

Row ``first[t] + r`` is token t of chain ``order[r]``. The longest chains come first, so that those
still alive at step t are r = 0 ... n_t - 1, with n_t = first[t + 1] - first[t], and their rows at
steps t and t + 1 lie alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined

__all__ = ["Steps", "count_steps", "n_counts", "steps", "steps_in"]


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
    n = len(offsets) - 1
    if weight is None:
        weight = np.ones(n)
    counts = np.empty(n_counts(n_tokens, n), np.int64)
    count_steps(offsets, weight, counts)
    return steps_in(counts, n)


def n_counts(n_tokens: int, n_chains: int) -> int:
    """How many integers `count_steps` needs."""
    return 2 + 2 * (n_tokens + 1) + n_chains


@inlined
def count_steps(offsets: np.ndarray, weight: np.ndarray, counts: np.ndarray) -> None:
    """Write to `counts` what `steps_in` finds there: last step and number of chains, `first` and
    `order`; what is behind them is scratch.
    """
    n = len(offsets) - 1
    n_first = offsets[n] - offsets[0] + 1
    first = counts[2 : 2 + n_first]
    order = counts[2 + n_first : 2 + n_first + n]
    alive = counts[2 + n_first + n :]
    first[0] = 0
    alive[:] = 0
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
    counts[0] = longest
    counts[1] = alive[0]
    for t in range(longest):
        first[t + 1] = first[t] + alive[t]
    for i in range(n):
        T = offsets[i + 1] - offsets[i]
        if weight[i] != 0.0 and T > 0:
            order[alive[T]] = i
            alive[T] += 1


def steps_in(counts: np.ndarray, n_chains: int) -> Steps:
    """What `count_steps` has written for so many chains."""
    n_first = (len(counts) - 2 - n_chains) // 2
    first = counts[2 : 3 + counts[0]]
    order = counts[2 + n_first : 2 + n_first + counts[1]]
    return Steps(first, order)
