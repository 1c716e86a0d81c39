"""Tables of the steps of exact inference: products of the scores that end in a step and of what
earlier steps have left, and what marginals in them say of nodes and cliques.

A step's own scores are first multiplied in a table of their variables alone, which is small: each
pass over the step's table takes longer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined
from sklearn_struct.inference.graphs.buckets import Buckets, Labels
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores, first_score
from sklearn_struct.inference.graphs.table_products import Walk, add_sums, combine, spread

__all__ = ["Room", "add_own", "mark", "memory_of", "multiply_in", "room_for", "sizes_of"]


class Room(NamedTuple):
    """Memory for the tables of an example and for their sums; and for a step: ``own`` for the
    scores of its own cliques, ``columns`` for the places of these among a clique's scores,
    ``scope``, ``sizes`` and ``steps`` for loops over them. ``has`` says which variables of a table
    a smaller one has.
    """

    tables: np.ndarray
    sums: np.ndarray
    own: np.ndarray
    columns: np.ndarray
    has: np.ndarray
    scope: np.ndarray
    sizes: np.ndarray
    steps: np.ndarray
    walk: Walk


def room_for(buckets: Buckets, dtype: np.dtype) -> Room:
    """Memory for the widest tables."""
    n_numbers, n_sums, n_own, widest = buckets.room
    scope, sizes, steps = np.empty((3, widest), np.int64)
    return Room(
        np.empty(n_numbers, dtype),
        np.empty(n_sums, dtype),
        np.empty(n_own, dtype),
        np.empty(n_own, np.int64),
        np.empty(widest, np.bool_),
        scope,
        sizes,
        steps,
        Walk(*np.empty((3, widest + 2), np.int64)),
    )


@inlined
def sizes_of(buckets: Buckets, s: int) -> np.ndarray:
    """The sizes of the variables of a step's table."""
    return buckets.sizes[buckets.bounds[s] : buckets.bounds[s + 1]]


@inlined
def memory_of(
    buckets: Buckets, sizes: np.ndarray, s: int, room: Room
) -> tuple[np.ndarray, np.ndarray]:
    rest = 1
    for j in range(1, len(sizes)):
        rest *= sizes[j]
    table = room.tables[buckets.tables[s] : buckets.tables[s] + rest * sizes[0]]
    return table, room.sums[buckets.sums[s] : buckets.sums[s] + rest]


@inlined
def multiply_in(
    factors: FlatScores,
    labels: Labels,
    buckets: Buckets,
    s: int,
    sizes: np.ndarray,
    room: Room,
    logs: bool,
) -> None:
    """The product of all scores that end here first, and of what earlier steps have left."""
    table, _ = memory_of(buckets, sizes, s, room)
    n_own, own = _own_table(buckets, s, sizes, table, room)
    v = buckets.nodes[s]
    rest = len(own) // sizes[0]
    for k in range(sizes[0]):
        x = factors.node[v, labels.codes[labels.bounds[v] + k]]
        for r in range(rest):
            own[k * rest + r] = x
    for e in range(buckets.clique_bounds[s], buckets.clique_bounds[s + 1]):
        c = buckets.clique_steps[e]
        step = _write_columns(factors, labels, buckets.cliques, c, n_own, room)
        row = factors.tables[first_score(factors, buckets.cliques, c) :]
        codes = _last_codes(labels, n_own, room)
        for line in range(len(own) // len(codes)):
            start = line * len(codes)
            for k in range(len(codes)):
                x = row[np.uintp(room.columns[line] + step * codes[k])]
                own[start + k] = own[start + k] + x if logs else own[start + k] * x
    if len(own) < len(table):
        spread(table, sizes, buckets.own[buckets.bounds[s] :], own, room.walk)
    for c in range(buckets.child_bounds[s], buckets.child_bounds[s + 1]):
        child = buckets.children[c]
        _, sums = memory_of(buckets, sizes_of(buckets, child), child, room)
        mark(buckets, s, child, room.has)
        combine(table, sizes, room.has, sums, logs, room.walk)


@inlined
def _own_table(
    buckets: Buckets, s: int, sizes: np.ndarray, table: np.ndarray, room: Room
) -> tuple[int, np.ndarray]:
    """Write the variables that a step's node and cliques have, in the order of its table, and their
    sizes. How many there are, and memory for their scores: the table, where that is as large.
    """
    first = buckets.bounds[s]
    n = 0
    length = 1
    for p in range(len(sizes)):
        if buckets.own[first + p]:
            room.scope[n] = buckets.scopes[first + p]
            room.sizes[n] = sizes[p]
            length *= sizes[p]
            n += 1
    return n, (table if length == len(table) else room.own[:length])


@inlined
def _write_columns(
    factors: FlatScores, labels: Labels, cliques: Cliques, c: int, n_own: int, room: Room
) -> int:
    """Write for each labelling of a step's own variables but the last the column that a clique has
    in its row of scores if the label of the last is 0; by how many columns that label differs.
    """
    steps = room.steps
    steps[:n_own] = 0
    base = 0
    # by how many columns labels of a member differ
    step = 1
    for m in range(cliques.bounds[c + 1] - 1, cliques.bounds[c] - 1, -1):
        v = cliques.members[m]
        first = labels.bounds[v]
        # its label is known, and it may be in no scope
        if labels.bounds[v + 1] == first + 1:
            base += labels.codes[first] * step
        else:
            for p in range(n_own):
                if room.scope[p] == v:
                    steps[p] = step
        step *= factors.node.shape[1]
    last = n_own - 1
    columns = room.columns
    columns[0] = base
    n = 1
    for p in range(last):
        first = labels.bounds[room.scope[p]]
        size = room.sizes[p]
        # from the end, so that none is read after it was written
        for line in range(n - 1, -1, -1):
            column = columns[line]
            for k in range(size - 1, -1, -1):
                columns[line * size + k] = column + steps[p] * labels.codes[first + k]
        n *= size
    return int(steps[last])


@inlined
def _last_codes(labels: Labels, n_own: int, room: Room) -> np.ndarray:
    """The labels of the last of a step's own variables."""
    first = labels.bounds[room.scope[n_own - 1]]
    return labels.codes[first : first + room.sizes[n_own - 1]]


@inlined
def mark(buckets: Buckets, s: int, child: int, has: np.ndarray) -> None:
    """Write which variables of a step's table the sum of another one has."""
    b = buckets.bounds[child] + 1
    for p in range(buckets.bounds[s + 1] - buckets.bounds[s]):
        # both in the order of steps
        here = b < buckets.bounds[child + 1]
        if here:
            here = buckets.scopes[buckets.bounds[s] + p] == buckets.scopes[b]
        has[p] = here
        b += here


@inlined
def add_own(
    table: np.ndarray,
    labels: Labels,
    buckets: Buckets,
    s: int,
    sizes: np.ndarray,
    room: Room,
    weight: float,
    out: FlatScores,
) -> None:
    """Add what a step's table of marginals says of its node and of its cliques."""
    n_own, own = _own_table(buckets, s, sizes, table, room)
    if len(own) < len(table):
        own[:] = 0.0
        add_sums(table, sizes, buckets.own[buckets.bounds[s] :], own, room.walk)
    v = buckets.nodes[s]
    rest = len(own) // sizes[0]
    for k in range(sizes[0]):
        p = own[k * rest]
        for r in range(1, rest):
            p += own[k * rest + r]
        out.node[v, labels.codes[labels.bounds[v] + k]] += weight * p
    for e in range(buckets.clique_bounds[s], buckets.clique_bounds[s + 1]):
        c = buckets.clique_steps[e]
        step = _write_columns(out, labels, buckets.cliques, c, n_own, room)
        row = out.tables[first_score(out, buckets.cliques, c) :]
        codes = _last_codes(labels, n_own, room)
        for line in range(len(own) // len(codes)):
            start = line * len(codes)
            if step == 0:
                p = own[start]
                for k in range(1, len(codes)):
                    p += own[start + k]
                row[room.columns[line]] += weight * p
            else:
                for k in range(len(codes)):
                    row[room.columns[line] + step * codes[k]] += weight * own[start + k]
