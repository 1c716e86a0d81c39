"""Scores of nodes and edges as numbers in the layout that messages read; and whether numbers hold
them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    exp,
    largest,
    least,
    load_part,
    maximum,
    minimum,
    mul,
    padded,
    splat,
    store_part,
    sub,
    total,
    workspace,
)
from sklearn_struct.compiled.threads import in_parts
from sklearn_struct.containers.structures import (
    Potentials,
    Structure,
    has_only_edges,
    n_columns,
)
from sklearn_struct.inference.graphs.adjacency import Adjacency, read
from sklearn_struct.inference.graphs.flat_scores import by_example
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["PairScores", "are_odds", "are_small", "pair_scores", "table_of"]

# by how much scores of a node, with those of all its edges, may differ: the square of its
# exponential, and what many labels add to that, are numbers
LARGEST_RANGE = 300.0


class _Places(NamedTuple):
    """Where tables begin, for each place, as in `PairScores`; and of each family how many numbers
    its tables have, and the different shares of its edges where these have one table.
    """

    start: np.ndarray
    sizes: list[int]
    shares: list[np.ndarray]


class PairScores(NamedTuple):
    """Exponentials of scores, each row divided by its largest.

    ``node`` (n, P), padded with zeros to whole vectors, or (n, 2) where messages are odds. What
    comes from place p of an edge is multiplied by the table that begins at ``tables[start[p]]``.
    Tables that edges share are padded, too, and stand there in both directions, once for each
    share. Those of single edges stand there once, and are not padded, as it takes long to read
    them: they begin at ``tables[~start[p]]``. See `table_of`. A vector of zeros stands at the end.
    ``taken`` (n_examples) is what the divisions took from log Z. ``share`` is that of each edge;
    `shared_out` says that some are not 1.
    """

    node: np.ndarray
    tables: np.ndarray
    start: np.ndarray
    taken: np.ndarray
    share: np.ndarray
    shared_out: bool


def are_small(potentials: Potentials, structure: Structure, share: np.ndarray) -> np.ndarray:
    """Whether numbers can stand for the scores of each example: all its cliques are edges, nothing
    is forbidden in tables, some label is allowed at each node, and ranges, divided by shares of
    edges, are small.
    """
    if not has_only_edges(structure, of_one_kind=False):
        return np.zeros(structure.n_examples, bool)
    _, graph = read(structure)
    wide = _spread_of_edges(potentials, structure, share)
    rows = _numbers(potentials.node)
    small = np.ones(structure.n_examples, bool)
    offsets = structure.offsets
    in_parts(lambda a, b: _find_wide(rows, graph, wide, (a, b), offsets, small), len(rows))
    return small


def _spread_of_edges(potentials: Potentials, structure: Structure, share: np.ndarray) -> np.ndarray:
    """By how much scores of each edge differ, divided by its share; one number if all edges have
    the same table and the share 1.
    """
    spreads = []
    for table in map(_numbers, potentials.cliques):
        spread = np.empty(len(table))
        in_parts(partial(_spread_of_some, table, spread), len(table))
        spreads.append(spread)
    some = _are_shared_out(share)
    if len(spreads) == 1 and not some:
        return spreads[0]
    every = [
        np.broadcast_to(spread, len(family.nodes))
        for spread, family in zip(spreads, structure.families, strict=True)
    ]
    wide = np.concatenate([np.empty(0), *every])
    return wide / share if some else wide


def _spread_of_some(table: np.ndarray, spread: np.ndarray, first: int, last: int) -> None:
    _spread(table[first:last], spread[first:last])


def pair_scores(
    potentials: Potentials,
    structure: Structure,
    share: np.ndarray,
    order: np.ndarray | None = None,
) -> PairScores:
    """The scores of structures whose cliques are edges; those of edges divided by their shares.
    With an order, that of one example's nodes, row i is that of node ``order[i]``.
    """
    n, K = potentials.node.shape
    some = _are_shared_out(share)
    places = _places(potentials, structure, share, some)
    node = workspace((n, K if are_odds(K, some) else padded(K)), np.float64)
    top = np.empty(n)
    rows = _numbers(potentials.node)

    def write(first: int, last: int) -> None:
        part = rows[first:last]
        if order is not None:
            part = np.empty((last - first, K))
            _write_in_order(rows, order[first:last], part)
        _exponentials_of_nodes(part, node[first:last], top[first:last])

    in_parts(write, n)
    taken = by_example(top, structure.offsets)
    tables = workspace((sum(places.sizes) + LANES,), np.float64)
    tables[-LANES:] = 0.0
    size = 0
    first = 0
    parts = zip(potentials.cliques, structure.families, places.sizes, places.shares, strict=True)
    for table, family, n_numbers, shares in parts:
        of_family = share[first : first + len(family.nodes)]
        first += len(family.nodes)
        into = tables[size : size + n_numbers]
        size += n_numbers
        if len(table) == 1:
            _in_both_directions(table, shares, into)
            taken += table.max() * np.diff(family.offsets)
        else:
            of_tables = np.empty(len(table))
            _fill(_numbers(table), of_family, into.reshape(table.shape), of_tables)
            taken += by_example(of_tables, family.offsets)
    return PairScores(node, tables, places.start, taken, share, some)


@inlined
def table_of(start: int, p: int, K: int, P: int) -> tuple[int, int, bool]:
    """Where the table of place p begins whose start is given, how many numbers it has from row to
    row, and whether it is that of the other direction.
    """
    if start < 0:
        return ~start, K, p % 2 == 1
    return start, P, False


def are_odds(n_labels: int, shared_out: bool) -> bool:
    """Whether messages are one number each, the odds of two labels."""
    return n_labels == 2 and not shared_out


def _are_shared_out(share: np.ndarray) -> bool:
    """Whether some share, at most 1 each, is below 1."""
    return bool(share.min(initial=1.0) < 1.0)


def _fill(table: np.ndarray, share: np.ndarray, out: np.ndarray, top: np.ndarray) -> None:
    in_parts(lambda a, b: _exponentials(table[a:b], share[a:b], out[a:b], top[a:b]), len(table))


def _places(
    potentials: Potentials, structure: Structure, share: np.ndarray, shared_out: bool
) -> _Places:
    """Where tables begin; made once for a structure, a number of labels and shares."""
    K = potentials.node.shape[1]
    alone = tuple(len(table) == 1 for table in potentials.cliques)
    shares = share.tobytes() if shared_out else None

    def make() -> _Places:
        return _places_of(K, alone, structure, share)

    return of_structure(structure, ("pairs", K, alone, shares), make)


def _places_of(K: int, alone: tuple[bool, ...], structure: Structure, share: np.ndarray) -> _Places:
    P = padded(K)
    width = n_columns(K, 2)
    starts = []
    sizes = []
    different = []
    size = 0
    first = 0
    for is_alone, family in zip(alone, structure.families, strict=True):
        n_edges = len(family.nodes)
        values, number = np.unique(share[first : first + n_edges], return_inverse=True)
        first += n_edges
        if is_alone:
            starts.append(size + 2 * K * P * np.repeat(number, 2) + np.tile([0, K * P], n_edges))
            sizes.append(2 * K * P * len(values))
        else:
            starts.append(~np.repeat(size + np.arange(n_edges) * width, 2))
            sizes.append(n_edges * width)
        different.append(values)
        size += sizes[-1]
    return _Places(np.concatenate(starts), sizes, different)


def _numbers(rows: np.ndarray) -> np.ndarray:
    """Rows as kernels read them."""
    # a kernel is compiled once more for arrays that are read-only
    return np.require(rows, np.float64, ["C", "W"])


def _in_both_directions(table: np.ndarray, shares: np.ndarray, out: np.ndarray) -> None:
    """A padded table (K, P) and its transpose for each share."""
    K = math.isqrt(table.shape[1])
    both = out.reshape(len(shares), 2, K, padded(K))
    both[:, :, :, K:] = 0.0
    numbers = np.exp((table - table.max()) / shares[:, None]).reshape(-1, K, K)
    both[:, 0, :, :K] = numbers
    both[:, 1, :, :K] = numbers.swapaxes(1, 2)


@inlined
def _top(rows: np.ndarray, i: int) -> float:
    """The largest number of a row."""
    width = rows.shape[1]
    top = splat(-np.inf)
    for k in range(0, width, LANES):
        top = maximum(load_part(rows, i * width + k, width - k, -np.inf), top)
    highest: float = largest(top)
    return highest


@kernel
def _exponentials_of_nodes(node: np.ndarray, out: np.ndarray, top: np.ndarray) -> None:
    """exp(row - largest of the row), padded with zeros if `out` is wider, and the largest, 0 where
    all are -inf.
    """
    K = node.shape[1]
    P = out.shape[1]
    for v in range(len(node)):
        highest = _top(node, v)
        if highest == -np.inf:
            highest = 0.0
        top[v] = highest
        for k in range(0, P, LANES):
            x = sub(load_part(node, v * K + k, K - k, -np.inf), splat(highest))
            store_part(out, v * P + k, exp(x), P - k)


@kernel
def _write_in_order(rows: np.ndarray, order: np.ndarray, out: np.ndarray) -> None:
    """Write rows in another order."""
    for i in range(len(order)):
        for k in range(rows.shape[1]):
            out[i, k] = rows[order[i], k]


@kernel
def _exponentials(tables: np.ndarray, share: np.ndarray, out: np.ndarray, top: np.ndarray) -> None:
    """exp((row - largest of the row) / share), and the largest, 0 where all are -inf."""
    width = tables.shape[1]
    for e in range(len(tables)):
        highest = _top(tables, e)
        if highest == -np.inf:
            highest = 0.0
        top[e] = highest
        scale = splat(1.0 / share[e])
        for k in range(0, width, LANES):
            x = sub(load_part(tables, e * width + k, width - k, -np.inf), splat(highest))
            store_part(out, e * width + k, exp(mul(x, scale)), width - k)


@kernel
def _find_wide(
    node: np.ndarray,
    graph: Adjacency,
    wide: np.ndarray,
    nodes: tuple[int, int],
    offsets: np.ndarray,
    small: np.ndarray,
) -> None:
    """Write False for examples in which scores of some of these nodes, with what comes from their
    edges, differ by more than `LARGEST_RANGE`, or all are -inf. The same comes from each edge if
    `wide` has one number.
    """
    are_alike = len(wide) == 1
    first, last = nodes
    i = np.searchsorted(offsets, first, "right") - 1
    for v in range(first, last):
        while v >= offsets[i + 1]:
            i += 1
        lowest = np.inf
        highest = -np.inf
        sum_of_all = 0.0
        for k in range(node.shape[1]):
            x = node[v, k]
            if x != -np.inf:
                sum_of_all += x
                lowest = min(lowest, x)
                highest = max(highest, x)
        # nan if some are nan or infinite
        spread = np.inf if highest == -np.inf else highest - lowest + 0.0 * sum_of_all
        if are_alike:
            spread += wide[0] * (graph.bounds[v + 1] - graph.bounds[v])
        else:
            for e in range(graph.bounds[v], graph.bounds[v + 1]):
                spread += wide[graph.clique[graph.places[e]]]
        # nan is not small
        if not spread <= LARGEST_RANGE:
            small[i] = False


@kernel
def _spread(tables: np.ndarray, out: np.ndarray) -> None:
    """By how much the numbers of each row differ; inf or nan if some are not finite."""
    width = tables.shape[1]
    for e in range(len(tables)):
        bottom = splat(np.inf)
        sums = splat(0.0)
        for k in range(0, width, LANES):
            bottom = minimum(load_part(tables, e * width + k, width - k, np.inf), bottom)
            sums = add(load_part(tables, e * width + k, width - k, 0.0), sums)
        # comparisons do not see what is no number
        out[e] = _top(tables, e) - least(bottom) + 0.0 * total(sums)
