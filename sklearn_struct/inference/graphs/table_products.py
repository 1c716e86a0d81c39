"""Tables over some variables, as flat arrays: products with tables over fewer of them, and sums.

The last variable changes fastest. A smaller table has its variables in the same order; `has` says
which of the larger one's these are. Variables that stand beside each other and are all in it, or
all not, count as one, so that inner loops are long. Their indices are unsigned, as numba takes
signed ones for possibly negative, and then makes no vectors of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["Walk", "add_sums", "combine", "spread"]


class Walk(NamedTuple):
    """Memory for the loops over a table: sizes of variables joined where they may be, steps in the
    smaller table, 0 where it has them not, and where the outer loops are.

    Of tables of n variables these are ``n + 2`` numbers each, of which the last ones are used. The
    last two are those of the inner loops.
    """

    sizes: np.ndarray
    steps: np.ndarray
    here: np.ndarray


@kernel
def combine(
    table: np.ndarray, sizes: np.ndarray, has: np.ndarray, part: np.ndarray, logs: bool, walk: Walk
) -> None:
    """Multiply a table by a smaller one; add it where both are logarithms."""
    first = _begin(sizes, has, walk)
    last = len(sizes) + 1
    inner = walk.sizes[last]
    step = walk.steps[last]
    start = 0
    o = 0
    while start < len(table):
        for b in range(walk.sizes[last - 1]):
            p = o + b * walk.steps[last - 1]
            if step == 0:
                x = part[p]
                if logs:
                    for a in range(inner):
                        table[np.uintp(start + a)] += x
                else:
                    for a in range(inner):
                        table[np.uintp(start + a)] *= x
            elif logs:
                for a in range(inner):
                    table[np.uintp(start + a)] += part[np.uintp(p + a)]
            else:
                for a in range(inner):
                    table[np.uintp(start + a)] *= part[np.uintp(p + a)]
            start += inner
        o = _next(walk, first, last - 2, o)


@kernel
def spread(
    table: np.ndarray, sizes: np.ndarray, has: np.ndarray, part: np.ndarray, walk: Walk
) -> None:
    """Write a smaller table into all places of a larger one."""
    first = _begin(sizes, has, walk)
    last = len(sizes) + 1
    inner = walk.sizes[last]
    step = walk.steps[last]
    start = 0
    o = 0
    while start < len(table):
        for b in range(walk.sizes[last - 1]):
            p = o + b * walk.steps[last - 1]
            if step == 0:
                x = part[p]
                for a in range(inner):
                    table[np.uintp(start + a)] = x
            else:
                for a in range(inner):
                    table[np.uintp(start + a)] = part[np.uintp(p + a)]
            start += inner
        o = _next(walk, first, last - 2, o)


@kernel
def add_sums(
    table: np.ndarray, sizes: np.ndarray, has: np.ndarray, part: np.ndarray, walk: Walk
) -> None:
    """Add the sums of a table over the variables that a smaller one has not."""
    first = _begin(sizes, has, walk)
    last = len(sizes) + 1
    inner = walk.sizes[last]
    step = walk.steps[last]
    start = 0
    o = 0
    while start < len(table):
        for b in range(walk.sizes[last - 1]):
            p = o + b * walk.steps[last - 1]
            if step == 0:
                x = table[start]
                for a in range(1, inner):
                    x += table[np.uintp(start + a)]
                part[p] += x
            else:
                for a in range(inner):
                    part[np.uintp(p + a)] += table[np.uintp(start + a)]
            start += inner
        o = _next(walk, first, last - 2, o)


@kernel
def _begin(sizes: np.ndarray, has: np.ndarray, walk: Walk) -> int:
    """Join the variables; where the outermost loop stands."""
    n = len(sizes)
    g = n + 1
    # two loops at least
    for i in range(n, n + 2):
        walk.sizes[i] = 1
        walk.steps[i] = 0
    step = 1
    for v in range(n - 1, -1, -1):
        if v < n - 1 and has[v] != has[v + 1]:
            g -= 1
            walk.sizes[g] = 1
            walk.steps[g] = 0
        if walk.sizes[g] == 1 and has[v]:
            walk.steps[g] = step
        walk.sizes[g] *= sizes[v]
        walk.here[g] = 0
        if has[v]:
            step *= sizes[v]
    return min(g, n)


@kernel
def _next(walk: Walk, first: int, last: int, o: int) -> int:
    """Where the next round of the inner loops begins in the smaller table."""
    for g in range(last, first - 1, -1):
        walk.here[g] += 1
        o += walk.steps[g]
        if walk.here[g] < walk.sizes[g]:
            break
        o -= walk.here[g] * walk.steps[g]
        walk.here[g] = 0
    return o
