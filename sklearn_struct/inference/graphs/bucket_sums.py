"""Sums over all labellings of a graph, one node after the other: each leaves a table of
probabilities of its labels, given those of the nodes that are summed out later.

Up, a node's table is the product of all scores that it is in, and of what earlier steps have left.
Its sum goes on to a later step; divided by it, the table is p(label | later ones). Down, each table
is multiplied by the probabilities of the later ones, which are known by then. What is lost below
the smallest float on the way down is as small a probability, so only the way up has a twin in
logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.compiled.kernel import uncounted
from sklearn_struct.inference.graphs.bucket_tables import (
    Room,
    add_own,
    mark,
    memory_of,
    multiply_in,
    sizes_of,
)
from sklearn_struct.inference.graphs.buckets import Buckets, Labels
from sklearn_struct.inference.graphs.flat_scores import FlatScores
from sklearn_struct.inference.graphs.table_products import add_sums

__all__ = ["add_marginals", "best_labels", "drawn_labels", "sum_out"]

# sums below which numbers that are part of them may be lost; then logarithms are taken
SMALLEST = 1e-250


@uncounted
def sum_out(
    factors: FlatScores, labels: Labels, buckets: Buckets, i: int, room: Room, logs: bool
) -> Any:
    """Fill the tables of example i; log Z of it. Of factors that are no logarithms nan, if numbers
    may be lost.
    """
    zero = room.tables.dtype.type(0.0)
    log_Z = zero
    if not _has_labels(labels, buckets, i):
        return zero - np.inf
    for s in range(buckets.offsets[i], buckets.offsets[i + 1]):
        sizes = sizes_of(buckets, s)
        table, sums = memory_of(buckets, sizes, s, room)
        multiply_in(factors, labels, buckets, s, sizes, room, logs)
        n = sizes[0]
        rest = len(sums)
        if logs:
            top = _log_sums(table, n, sums)
        else:
            top = _sums(table, n, sums)
            if np.isnan(top.real):
                return top
            for r in range(rest):
                sums[r] = sums[r] / top
            log_Z += np.log(top)
            top = zero
        if buckets.parent[s] < 0:
            log_Z += top + (sums[0] if logs else np.log(sums[0]))
        if logs and not log_Z.real > -np.inf:
            return log_Z
    return log_Z


@uncounted
def _has_labels(labels: Labels, buckets: Buckets, i: int) -> bool:
    """Whether each node of an example has a label; else its tables are empty."""
    for v in range(buckets.offsets[i], buckets.offsets[i + 1]):
        if labels.bounds[v + 1] == labels.bounds[v]:
            return False
    return True


@uncounted
def _sums(table: np.ndarray, n: int, sums: np.ndarray) -> Any:
    """Sum over the first variable, and divide by the sums; the largest of these, or nan if numbers
    may be lost.
    """
    rest = len(sums)
    for r in range(rest):
        sums[r] = table[r]
    for k in range(1, n):
        for r in range(rest):
            sums[r] += table[np.uintp(k * rest + r)]
    top = sums[0]
    least = sums[0].real
    for r in range(1, rest):
        if sums[r].real > top.real:
            top = sums[r]
        least = min(least, sums[r].real)
    if not least > SMALLEST:
        return top + np.nan
    for k in range(n):
        for r in range(rest):
            table[np.uintp(k * rest + r)] /= sums[r]
    return top


@uncounted
def _log_sums(table: np.ndarray, n: int, sums: np.ndarray) -> Any:
    """The same in logarithms; the table is left as probabilities. Nothing is taken out of sums."""
    rest = len(sums)
    for r in range(rest):
        top = table[r].real
        for k in range(1, n):
            top = max(top, table[k * rest + r].real)
        sums[r] = top
        if not top > -np.inf:
            for k in range(n):
                table[k * rest + r] = 0.0
            continue
        mass = table.dtype.type(0.0)
        for k in range(n):
            x = np.exp(table[k * rest + r] - top)
            table[k * rest + r] = x
            mass += x
        for k in range(n):
            table[k * rest + r] /= mass
        sums[r] = top + np.log(mass)
    return table.dtype.type(0.0)


@uncounted
def add_marginals(
    labels: Labels,
    buckets: Buckets,
    i: int,
    room: Room,
    weight: float,
    out: FlatScores,
) -> None:
    """Make the tables of example i, which `sum_out` has left, marginals; add these to `out`, which
    has the form of scores.
    """
    for s in range(buckets.offsets[i + 1] - 1, buckets.offsets[i] - 1, -1):
        sizes = sizes_of(buckets, s)
        table, sums = memory_of(buckets, sizes, s, room)
        rest = len(sums)
        parent = buckets.parent[s]
        if parent >= 0:
            of_parent = sizes_of(buckets, parent)
            above, _ = memory_of(buckets, of_parent, parent, room)
            for r in range(rest):
                sums[r] = 0.0
            mark(buckets, parent, s, room.has)
            add_sums(above, of_parent, room.has, sums, room.walk)
            for k in range(sizes[0]):
                for r in range(rest):
                    table[np.uintp(k * rest + r)] *= sums[r]
        add_own(table, labels, buckets, s, sizes, room, weight, out)


@uncounted
def best_labels(
    factors: FlatScores, labels: Labels, buckets: Buckets, i: int, room: Room, chosen: np.ndarray
) -> None:
    """Write the best labelling of example i, by logarithms; ties go to the smaller label."""
    if not _has_labels(labels, buckets, i):
        # some labelling, as none is allowed
        for v in range(buckets.offsets[i], buckets.offsets[i + 1]):
            chosen[v] = 0
        return
    for s in range(buckets.offsets[i], buckets.offsets[i + 1]):
        sizes = sizes_of(buckets, s)
        table, sums = memory_of(buckets, sizes, s, room)
        multiply_in(factors, labels, buckets, s, sizes, room, True)
        rest = len(sums)
        for r in range(rest):
            sums[r] = -np.inf
        for k in range(sizes[0]):
            for r in range(rest):
                sums[r] = max(sums[r], table[k * rest + r])
    for s in range(buckets.offsets[i + 1] - 1, buckets.offsets[i] - 1, -1):
        sizes = sizes_of(buckets, s)
        table, sums = memory_of(buckets, sizes, s, room)
        r = _place(labels, buckets, s, chosen)
        v = buckets.nodes[s]
        best = 0
        for k in range(1, sizes[0]):
            if table[k * len(sums) + r] > table[best * len(sums) + r]:
                best = k
        chosen[v] = labels.codes[labels.bounds[v] + best]


@uncounted
def drawn_labels(
    labels: Labels,
    buckets: Buckets,
    i: int,
    room: Room,
    uniform: np.ndarray,
    chosen: np.ndarray,
) -> None:
    """Draw a labelling of example i from the tables that `sum_out` has left."""
    for s in range(buckets.offsets[i + 1] - 1, buckets.offsets[i] - 1, -1):
        sizes = sizes_of(buckets, s)
        table, sums = memory_of(buckets, sizes, s, room)
        r = _place(labels, buckets, s, chosen)
        v = buckets.nodes[s]
        left = uniform[v]
        last = 0
        for k in range(sizes[0]):
            p = table[k * len(sums) + r]
            if p > 0.0:
                last = k
                left -= p
                if left < 0.0:
                    break
        chosen[v] = labels.codes[labels.bounds[v] + last]


@uncounted
def _place(labels: Labels, buckets: Buckets, s: int, chosen: np.ndarray) -> int:
    """Where the labels that later steps have chosen stand in the sum of a step's table."""
    place = 0
    for b in range(buckets.bounds[s] + 1, buckets.bounds[s + 1]):
        v = buckets.scopes[b]
        codes = labels.codes[labels.bounds[v] : labels.bounds[v + 1]]
        k = 0
        while k < len(codes) - 1 and codes[k] != chosen[v]:
            k += 1
        place = place * len(codes) + k
    return place
