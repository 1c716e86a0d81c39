"""Tables over some variables, as flat arrays: products with tables over fewer of them, and sums.

The last variable changes fastest. A smaller table has its variables in the same order; `has` says
which of the larger one's these are. Variables that stand beside each other and are all in it, or
all not, count as one, so that loops are long; of the two inner loops the longer one is the
innermost if the other is very short, since to begin a loop takes as long as some numbers. Indices
are unsigned, as numba takes signed ones for possibly negative, and then makes no vectors of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, uncounted

__all__ = ["Walk", "add_sums", "combine", "spread"]

# turns of the innermost loop below which it changes places with a longer one
FEW = 4
# turns of the other one above which its numbers would leave the fastest cache between two rounds
NEAR = 1024


class Walk(NamedTuple):
    """Memory for the loops over a table: sizes of variables joined where they may be, steps in the
    smaller table, 0 where it has them not, and where the outer loops are.

    Of tables of n variables these are ``n + 2`` numbers each, of which the last ones are used. The
    last two are those of the inner loops.
    """

    sizes: np.ndarray
    steps: np.ndarray
    here: np.ndarray


class Loop(NamedTuple):
    """How many turns there are, and how far each goes in the larger and in the smaller table."""

    turns: int
    step: int
    part: int


@uncounted
def combine(
    table: np.ndarray, sizes: np.ndarray, has: np.ndarray, part: np.ndarray, logs: bool, walk: Walk
) -> None:
    """Multiply a table by a smaller one; add it where both are logarithms."""
    first, outer, inner = _begin(sizes, has, walk)
    start = 0
    o = 0
    while start < len(table):
        for b in range(outer.turns):
            t = np.uintp(start + b * outer.step)
            p = np.uintp(o + b * outer.part)
            if logs:
                for a in range(inner.turns):
                    table[t + np.uintp(a * inner.step)] += part[p + np.uintp(a * inner.part)]
            elif inner.step > 1:
                for a in range(inner.turns):
                    table[t + np.uintp(a * inner.step)] *= part[p + np.uintp(a * inner.part)]
            elif inner.part == 0:
                x = part[p]
                for a in range(inner.turns):
                    table[t + np.uintp(a)] *= x
            else:
                for a in range(inner.turns):
                    table[t + np.uintp(a)] *= part[p + np.uintp(a)]
        start += outer.turns * inner.turns
        o = _next(walk, first, len(sizes) - 1, o)


@uncounted
def spread(
    table: np.ndarray, sizes: np.ndarray, has: np.ndarray, part: np.ndarray, walk: Walk
) -> None:
    """Write a smaller table into all places of a larger one."""
    first, outer, inner = _begin(sizes, has, walk)
    start = 0
    o = 0
    while start < len(table):
        for b in range(outer.turns):
            t = np.uintp(start + b * outer.step)
            p = np.uintp(o + b * outer.part)
            if inner.step > 1:
                for a in range(inner.turns):
                    table[t + np.uintp(a * inner.step)] = part[p + np.uintp(a * inner.part)]
            elif inner.part == 0:
                x = part[p]
                for a in range(inner.turns):
                    table[t + np.uintp(a)] = x
            else:
                for a in range(inner.turns):
                    table[t + np.uintp(a)] = part[p + np.uintp(a)]
        start += outer.turns * inner.turns
        o = _next(walk, first, len(sizes) - 1, o)


@uncounted
def add_sums(
    table: np.ndarray, sizes: np.ndarray, has: np.ndarray, part: np.ndarray, walk: Walk
) -> None:
    """Add the sums of a table over the variables that a smaller one has not."""
    first, outer, inner = _begin(sizes, has, walk)
    start = 0
    o = 0
    while start < len(table):
        for b in range(outer.turns):
            t = np.uintp(start + b * outer.step)
            p = np.uintp(o + b * outer.part)
            if inner.part == 0:
                part[p] += _sum(table, t, inner)
            elif inner.step > 1:
                for a in range(inner.turns):
                    part[p + np.uintp(a * inner.part)] += table[t + np.uintp(a * inner.step)]
            else:
                for a in range(inner.turns):
                    part[p + np.uintp(a)] += table[t + np.uintp(a)]
        start += outer.turns * inner.turns
        o = _next(walk, first, len(sizes) - 1, o)


@inlined
def _sum(table: np.ndarray, t: np.uintp, loop: Loop) -> Any:
    """As four sums, none of which waits for another."""
    x0 = table.dtype.type(0.0)
    x1 = x0
    x2 = x0
    x3 = x0
    n = loop.turns
    for a in range(0, n - 3, 4):
        x0 += table[t + np.uintp(a * loop.step)]
        x1 += table[t + np.uintp((a + 1) * loop.step)]
        x2 += table[t + np.uintp((a + 2) * loop.step)]
        x3 += table[t + np.uintp((a + 3) * loop.step)]
    for a in range(n - n % 4, n):
        x0 += table[t + np.uintp(a * loop.step)]
    return (x0 + x1) + (x2 + x3)


@uncounted
def _begin(sizes: np.ndarray, has: np.ndarray, walk: Walk) -> tuple[int, Loop, Loop]:
    """Join the variables; where the outermost loop stands, and the two inner ones."""
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
    inner = Loop(walk.sizes[n + 1], 1, walk.steps[n + 1])
    outer = Loop(walk.sizes[n], inner.turns, walk.steps[n])
    if inner.turns < FEW and inner.turns < outer.turns <= NEAR:
        return min(g, n), inner, outer
    return min(g, n), outer, inner


@uncounted
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
