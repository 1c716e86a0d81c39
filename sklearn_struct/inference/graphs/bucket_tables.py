"""Tables of the steps of exact inference: products of the scores that end in a step and of what
earlier steps have left, and what marginals in them say of nodes and cliques.

A step's own scores are first multiplied in a table of their variables alone, which is small: each
pass over the step's table takes longer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.inference.graphs.buckets import Buckets, Labels
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores, first_score
from sklearn_struct.inference.graphs.table_products import Walk, add_sums, combine, spread

__all__ = ["Room", "add_own", "mark", "memory_of", "multiply_in", "room_for", "sizes_of"]


class Room(NamedTuple):
    """Memory for the tables of an example and for their sums, and for what loops over them need:
    ``has`` says which variables of a table a smaller one has, ``own`` which of a step's table its
    own scores have, ``scope`` and ``sizes`` what these are.
    """

    tables: np.ndarray
    sums: np.ndarray
    has: np.ndarray
    own: np.ndarray
    scope: np.ndarray
    sizes: np.ndarray
    walk: Walk


def room_for(buckets: Buckets, dtype: np.dtype) -> Room:
    """Memory for the widest tables."""
    widest = int(np.max(np.diff(buckets.bounds), initial=0))
    walk = Walk(*np.empty((3, widest + 2), np.int64))
    tables, sums = (np.empty(n, dtype) for n in buckets.room)
    has, own = np.empty((2, widest), np.bool_)
    scope, sizes = np.empty((2, widest), np.int64)
    return Room(tables, sums, has, own, scope, sizes, walk)


@inlined
def sizes_of(buckets: Buckets, s: int) -> np.ndarray:
    """The sizes of the variables of a step's table."""
    return buckets.sizes[buckets.bounds[s] : buckets.bounds[s + 1]]


@kernel
def memory_of(
    buckets: Buckets, sizes: np.ndarray, s: int, room: Room
) -> tuple[np.ndarray, np.ndarray]:
    rest = 1
    for j in range(1, len(sizes)):
        rest *= sizes[j]
    table = room.tables[buckets.tables[s] : buckets.tables[s] + rest * sizes[0]]
    return table, room.sums[buckets.sums[s] : buckets.sums[s] + rest]


@kernel
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
    scope, own_sizes = _own_variables(buckets, s, sizes, room)
    # first what is small: each pass over a table takes longer than all of this
    own = _own_table(table, own_sizes)
    v = buckets.nodes[s]
    rest = len(own) // sizes[0]
    for k in range(sizes[0]):
        x = factors.node[v, labels.codes[labels.bounds[v] + k]]
        for r in range(rest):
            own[k * rest + r] = x
    for e in range(buckets.clique_bounds[s], buckets.clique_bounds[s + 1]):
        c = buckets.clique_steps[e]
        columns = _columns(factors, labels, buckets.cliques, scope, c, room.has)
        row = factors.tables[first_score(factors, buckets.cliques, c) :]
        part = np.empty(len(columns), table.dtype)
        for j in range(len(columns)):
            part[j] = row[columns[j]]
        combine(own, own_sizes, room.has, part, logs, room.walk)
    if len(own) < len(table):
        spread(table, sizes, room.own, own, room.walk)
    for c in range(buckets.child_bounds[s], buckets.child_bounds[s + 1]):
        child = buckets.children[c]
        _, sums = memory_of(buckets, sizes_of(buckets, child), child, room)
        mark(buckets, s, child, room.has)
        combine(table, sizes, room.has, sums, logs, room.walk)


@kernel
def _own_variables(
    buckets: Buckets, s: int, sizes: np.ndarray, room: Room
) -> tuple[np.ndarray, np.ndarray]:
    """The variables that a step's node and cliques have, in the order of its table, and their
    sizes.
    """
    cliques = buckets.cliques
    first = buckets.bounds[s]
    n = 0
    for p in range(len(sizes)):
        v = buckets.scopes[first + p]
        own = p == 0
        for e in range(buckets.clique_bounds[s], buckets.clique_bounds[s + 1]):
            c = buckets.clique_steps[e]
            for m in range(cliques.bounds[c], cliques.bounds[c + 1]):
                own = own or cliques.members[m] == v
        room.own[p] = own
        if own:
            room.scope[n] = v
            room.sizes[n] = sizes[p]
            n += 1
    return room.scope[:n], room.sizes[:n]


@kernel
def _own_table(table: np.ndarray, own_sizes: np.ndarray) -> np.ndarray:
    """Memory for the scores of a step's own cliques: its table, where that is as large."""
    n = 1
    for size in own_sizes:
        n *= size
    return table if n == len(table) else np.zeros(n, table.dtype)


@kernel
def _columns(
    factors: FlatScores,
    labels: Labels,
    cliques: Cliques,
    scope: np.ndarray,
    c: int,
    has: np.ndarray,
) -> np.ndarray:
    """For each labelling of a clique, in the order of a table over `scope`, the column that it has
    in its row of scores; write which variables of the table the clique has.
    """
    K = factors.node.shape[1]
    members = cliques.members[cliques.bounds[c] : cliques.bounds[c + 1]]
    r = len(members)
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


@kernel
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
    scope, own_sizes = _own_variables(buckets, s, sizes, room)
    own = _own_table(table, own_sizes)
    if len(own) < len(table):
        add_sums(table, sizes, room.own, own, room.walk)
    v = buckets.nodes[s]
    rest = len(own) // sizes[0]
    for k in range(sizes[0]):
        p = own[k * rest]
        for r in range(1, rest):
            p += own[k * rest + r]
        out.node[v, labels.codes[labels.bounds[v] + k]] += weight * p
    for e in range(buckets.clique_bounds[s], buckets.clique_bounds[s + 1]):
        c = buckets.clique_steps[e]
        columns = _columns(out, labels, buckets.cliques, scope, c, room.has)
        part = np.zeros(len(columns), table.dtype)
        add_sums(own, own_sizes, room.has, part, room.walk)
        row = out.tables[first_score(out, buckets.cliques, c) :]
        for j in range(len(columns)):
            row[columns[j]] += weight * part[j]
