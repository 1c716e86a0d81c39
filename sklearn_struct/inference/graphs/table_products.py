"""Tables over some variables, as flat arrays: products with tables over fewer of them, and sums.

The last variable changes fastest. A smaller table has its variables in the same order; `has` says
which of the larger one's these are. Variables that stand beside each other and are all in it, or
all not, count as one, so that inner loops are long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["add_sums", "combine"]


class _Walk(NamedTuple):
    """Variables joined where they may be: sizes, and steps in the smaller table, 0 where it has
    them not. The last two are those of the inner loops.
    """

    sizes: np.ndarray
    steps: np.ndarray


@kernel
def combine(
    table: np.ndarray, sizes: np.ndarray, has: np.ndarray, part: np.ndarray, logs: bool
) -> None:
    """Multiply a table by a smaller one; add it where both are logarithms."""
    walk = _walk(sizes, has)
    n = len(walk.sizes)
    outer = walk.sizes[n - 2]
    inner = walk.sizes[n - 1]
    here = np.zeros(n, np.int64)
    start = 0
    o = 0
    while start < len(table):
        for b in range(outer):
            first = o + b * walk.steps[n - 2]
            if walk.steps[n - 1] == 0:
                x = part[first]
                if logs:
                    for a in range(inner):
                        table[start + a] += x
                else:
                    for a in range(inner):
                        table[start + a] *= x
            elif logs:
                for a in range(inner):
                    table[start + a] += part[first + a]
            else:
                for a in range(inner):
                    table[start + a] *= part[first + a]
            start += inner
        o = _next(walk, here, o)


@kernel
def add_sums(table: np.ndarray, sizes: np.ndarray, has: np.ndarray, part: np.ndarray) -> None:
    """Add the sums of a table over the variables that a smaller one has not."""
    walk = _walk(sizes, has)
    n = len(walk.sizes)
    outer = walk.sizes[n - 2]
    inner = walk.sizes[n - 1]
    here = np.zeros(n, np.int64)
    start = 0
    o = 0
    while start < len(table):
        for b in range(outer):
            first = o + b * walk.steps[n - 2]
            if walk.steps[n - 1] == 0:
                x = table[start]
                for a in range(1, inner):
                    x += table[start + a]
                part[first] += x
            else:
                for a in range(inner):
                    part[first + a] += table[start + a]
            start += inner
        o = _next(walk, here, o)


@kernel
def _walk(sizes: np.ndarray, has: np.ndarray) -> _Walk:
    n = len(sizes)
    joined = np.ones(n + 2, np.int64)
    steps = np.zeros(n + 2, np.int64)
    # from the last one, with two of size 1 in front for the loops of short tables
    g = n + 1
    step = 1
    for v in range(n - 1, -1, -1):
        if v < n - 1 and has[v] != has[v + 1]:
            g -= 1
        if joined[g] == 1 and has[v]:
            steps[g] = step
        joined[g] *= sizes[v]
        if has[v]:
            step *= sizes[v]
    g = min(g, n)
    return _Walk(joined[g:], steps[g:])


@kernel
def _next(walk: _Walk, here: np.ndarray, o: int) -> int:
    """Where the next round of the inner loops begins in the smaller table."""
    for g in range(len(here) - 3, -1, -1):
        here[g] += 1
        o += walk.steps[g]
        if here[g] < walk.sizes[g]:
            break
        o -= here[g] * walk.steps[g]
        here[g] = 0
    return o
