"""Sums over all labellings of a graph, one node after the other: each leaves a table of
probabilities of its labels, given those of the nodes that are summed out later.

Up, a node's table is the product of all scores that it is in, and of what earlier steps have left.
Its sum goes on to a later step; divided by it, the table is p(label | later ones). Down, each table
is multiplied by the probabilities of the later ones, which are known by then. What is lost below
the smallest float on the way down is as small a probability, so only the way up has a twin in
logarithms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.inference.graphs.buckets import Buckets, Labels
from sklearn_struct.inference.graphs.flat_scores import FlatScores, first_score
from sklearn_struct.inference.graphs.table_products import Walk, add_sums, combine

__all__ = ["Room", "add_marginals", "best_labels", "drawn_labels", "room_for", "sum_out"]

# sums, relative to the largest of their table, below which numbers that are part of them may be
# lost; then logarithms are taken
SMALLEST = 1e-250


class Room(NamedTuple):
    """Memory for the tables of an example and for their sums, and for what loops over them need:
    ``has`` says which variables of a table a smaller one has.
    """

    tables: np.ndarray
    sums: np.ndarray
    has: np.ndarray
    walk: Walk


def room_for(buckets: Buckets, dtype: np.dtype) -> Room:
    """Memory for the widest tables."""
    widest = int(np.max(np.diff(buckets.bounds), initial=0))
    walk = Walk(*np.empty((3, widest + 2), np.int64))
    tables, sums = (np.empty(n, dtype) for n in buckets.room)
    return Room(tables, sums, np.empty(widest, np.bool_), walk)


@kernel
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
        sizes = _sizes(buckets, s)
        table, sums = _memory(buckets, sizes, s, room)
        _multiply_in(factors, labels, buckets, s, sizes, room, logs)
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


@kernel
def _has_labels(labels: Labels, buckets: Buckets, i: int) -> bool:
    """Whether each node of an example has a label; else its tables are empty."""
    for v in range(buckets.offsets[i], buckets.offsets[i + 1]):
        if labels.bounds[v + 1] == labels.bounds[v]:
            return False
    return True


@kernel
def _sums(table: np.ndarray, n: int, sums: np.ndarray) -> Any:
    """Sum over the first variable, and divide by the sums; the largest of these, or nan if numbers
    may be lost.
    """
    rest = len(sums)
    for r in range(rest):
        sums[r] = table[r]
    for k in range(1, n):
        for r in range(rest):
            sums[r] += table[k * rest + r]
    top = sums[0]
    least = sums[0]
    for r in range(1, rest):
        if sums[r].real > top.real:
            top = sums[r]
        if sums[r].real < least.real:
            least = sums[r]
    if not least.real > SMALLEST * top.real:
        return top + np.nan
    for k in range(n):
        for r in range(rest):
            table[k * rest + r] /= sums[r]
    return top


@kernel
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


@inlined
def _sizes(buckets: Buckets, s: int) -> np.ndarray:
    """The sizes of the variables of a step's table."""
    return buckets.sizes[buckets.bounds[s] : buckets.bounds[s + 1]]


@kernel
def _memory(
    buckets: Buckets, sizes: np.ndarray, s: int, room: Room
) -> tuple[np.ndarray, np.ndarray]:
    rest = 1
    for j in range(1, len(sizes)):
        rest *= sizes[j]
    table = room.tables[buckets.tables[s] : buckets.tables[s] + rest * sizes[0]]
    return table, room.sums[buckets.sums[s] : buckets.sums[s] + rest]


@kernel
def _multiply_in(
    factors: FlatScores,
    labels: Labels,
    buckets: Buckets,
    s: int,
    sizes: np.ndarray,
    room: Room,
    logs: bool,
) -> None:
    """The product of all scores that end here first, and of what earlier steps have left."""
    table, _ = _memory(buckets, sizes, s, room)
    v = buckets.nodes[s]
    rest = len(table) // sizes[0]
    for k in range(sizes[0]):
        x = factors.node[v, labels.codes[labels.bounds[v] + k]]
        for r in range(rest):
            table[k * rest + r] = x
    for e in range(buckets.clique_bounds[s], buckets.clique_bounds[s + 1]):
        c = buckets.clique_steps[e]
        columns = _columns(factors, labels, buckets, s, c, room.has)
        row = factors.tables[first_score(factors, buckets.cliques, c) :]
        part = np.empty(len(columns), table.dtype)
        for j in range(len(columns)):
            part[j] = row[columns[j]]
        combine(table, sizes, room.has, part, logs, room.walk)
    for c in range(buckets.child_bounds[s], buckets.child_bounds[s + 1]):
        child = buckets.children[c]
        _, sums = _memory(buckets, _sizes(buckets, child), child, room)
        _mark(buckets, s, child, room.has)
        combine(table, sizes, room.has, sums, logs, room.walk)


@kernel
def _columns(
    factors: FlatScores, labels: Labels, buckets: Buckets, s: int, c: int, has: np.ndarray
) -> np.ndarray:
    """For each labelling of a clique, in the order of a step's table, the column that it has in its
    row of scores; write which variables of the table the clique has.
    """
    K = factors.node.shape[1]
    cliques = buckets.cliques
    members = cliques.members[cliques.bounds[c] : cliques.bounds[c + 1]]
    r = len(members)
    scope = buckets.scopes[buckets.bounds[s] : buckets.bounds[s + 1]]
    n = 1
    base = 0
    # by how many columns labels of the members differ
    steps = np.ones(r, np.int64)
    for j in range(r - 1, -1, -1):
        v = members[j]
        if j > 0:
            steps[j - 1] = K * steps[j]
        size = labels.bounds[v + 1] - labels.bounds[v]
        n *= size
        # its label is known, and it may be in no scope
        if size == 1:
            base += labels.codes[labels.bounds[v]] * steps[j]
    columns = np.empty(n, np.int64)
    columns[0] = base
    length = 1
    # from the last variable, which changes fastest: those behind it, once for each of its labels
    for p in range(len(scope) - 1, -1, -1):
        v = scope[p]
        first = labels.bounds[v]
        size = labels.bounds[v + 1] - first
        has[p] = False
        for j in range(r):
            if members[j] == v and size > 1:
                has[p] = True
                for k in range(size - 1, -1, -1):
                    more = labels.codes[first + k] * steps[j]
                    for i in range(length):
                        columns[k * length + i] = columns[i] + more
                length *= size
    return columns


@kernel
def _mark(buckets: Buckets, s: int, child: int, has: np.ndarray) -> None:
    """Write which variables of a step's table the sum of another one has."""
    b = buckets.bounds[child] + 1
    for p in range(buckets.bounds[s + 1] - buckets.bounds[s]):
        # both in the order of steps
        here = b < buckets.bounds[child + 1]
        if here:
            here = buckets.scopes[buckets.bounds[s] + p] == buckets.scopes[b]
        has[p] = here
        b += here


@kernel
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
        sizes = _sizes(buckets, s)
        table, sums = _memory(buckets, sizes, s, room)
        rest = len(sums)
        parent = buckets.parent[s]
        if parent >= 0:
            of_parent = _sizes(buckets, parent)
            above, _ = _memory(buckets, of_parent, parent, room)
            for r in range(rest):
                sums[r] = 0.0
            _mark(buckets, parent, s, room.has)
            add_sums(above, of_parent, room.has, sums, room.walk)
            for k in range(sizes[0]):
                for r in range(rest):
                    table[k * rest + r] *= sums[r]
        v = buckets.nodes[s]
        for k in range(sizes[0]):
            p = table[k * rest]
            for r in range(1, rest):
                p += table[k * rest + r]
            out.node[v, labels.codes[labels.bounds[v] + k]] += weight * p
        for e in range(buckets.clique_bounds[s], buckets.clique_bounds[s + 1]):
            c = buckets.clique_steps[e]
            columns = _columns(out, labels, buckets, s, c, room.has)
            part = np.zeros(len(columns), table.dtype)
            add_sums(table, sizes, room.has, part, room.walk)
            row = out.tables[first_score(out, buckets.cliques, c) :]
            for j in range(len(columns)):
                row[columns[j]] += weight * part[j]


@kernel
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
        sizes = _sizes(buckets, s)
        table, sums = _memory(buckets, sizes, s, room)
        _multiply_in(factors, labels, buckets, s, sizes, room, True)
        rest = len(sums)
        for r in range(rest):
            sums[r] = -np.inf
        for k in range(sizes[0]):
            for r in range(rest):
                sums[r] = max(sums[r], table[k * rest + r])
    for s in range(buckets.offsets[i + 1] - 1, buckets.offsets[i] - 1, -1):
        sizes = _sizes(buckets, s)
        table, sums = _memory(buckets, sizes, s, room)
        r = _place(labels, buckets, s, chosen)
        v = buckets.nodes[s]
        best = 0
        for k in range(1, sizes[0]):
            if table[k * len(sums) + r] > table[best * len(sums) + r]:
                best = k
        chosen[v] = labels.codes[labels.bounds[v] + best]


@kernel
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
        sizes = _sizes(buckets, s)
        table, sums = _memory(buckets, sizes, s, room)
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


@kernel
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
