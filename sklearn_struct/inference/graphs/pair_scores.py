"""Scores of nodes and edges as numbers in the layout that messages read; and whether numbers hold
them.
"""

from __future__ import annotations

import math
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

__all__ = ["PairScores", "are_odds", "are_small", "pair_scores"]

# by how much scores of a node, with those of all its edges, may differ: the square of its
# exponential, and what many labels add to that, are numbers
LARGEST_RANGE = 300.0


class _Places(NamedTuple):
    """Where tables begin, for each place, as in `PairScores`; and of each family how many numbers
    its tables have, and the different shares of its edges where these have one table.
    """

    start: np.ndarray
    stride: np.ndarray
    turned: np.ndarray
    sizes: list[int]
    shares: list[np.ndarray]


class PairScores(NamedTuple):
    """Exponentials of scores, each row divided by its largest.

    ``node`` (n, P), padded with zeros to whole vectors, or (n, 2) where messages are odds. What
    comes from place p of an edge is multiplied by the table that begins at ``tables[start[p]]``,
    with a row each ``stride[p]`` numbers; ``turned[p]`` says that it is that of the other
    direction. Tables that edges share are padded, too, and stand there in both directions, once for
    each share; those of single edges once, and not padded, as it takes long to read them. A vector
    of zeros stands at the end.
    ``taken`` (n_examples) is what the divisions took from log Z. ``share`` is that of each edge;
    `shared_out` says that some are not 1.
    """

    node: np.ndarray
    tables: np.ndarray
    start: np.ndarray
    stride: np.ndarray
    turned: np.ndarray
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
    n = len(potentials.node)
    _, graph = read(structure)
    wide = np.empty(len(share))
    first = 0
    for table, family in zip(potentials.cliques, structure.families, strict=True):
        last = first + len(family.nodes)
        _spread_of_edges(_numbers(table), share[first:last], wide[first:last])
        first = last
    spread = np.empty(n)
    rows = _numbers(potentials.node)
    in_parts(lambda a, b: _spread_of_nodes(rows, graph, wide, a, b, spread), n)
    small = np.empty(structure.n_examples, bool)
    _are_at_most(LARGEST_RANGE, spread, structure.offsets, small)
    return small


def _spread_of_edges(table: np.ndarray, share: np.ndarray, out: np.ndarray) -> None:
    """By how much scores of each edge differ, divided by its share."""
    if len(table) == 1:
        spread = np.empty(1)
        _spread(table, spread)
        in_parts(lambda a, b: np.divide(spread, share[a:b], out=out[a:b]), len(share))
    else:
        in_parts(lambda a, b: _spread(table[a:b], out[a:b]), len(table))
        out /= share


def pair_scores(potentials: Potentials, structure: Structure, share: np.ndarray) -> PairScores:
    """The scores of structures whose cliques are edges; those of edges divided by their shares."""
    n, K = potentials.node.shape
    places = _places(potentials, structure, share)
    some = _are_shared_out(share)
    node = workspace((n, K if are_odds(K, some) else padded(K)), np.float64)
    top = np.empty(n)
    rows = _numbers(potentials.node)
    in_parts(lambda a, b: _exponentials_of_nodes(rows[a:b], node[a:b], top[a:b]), n)
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
            top = np.empty(len(table))
            _fill(_numbers(table), of_family, into.reshape(table.shape), top)
            taken += by_example(top, family.offsets)
    start, stride, turned = places[:3]
    return PairScores(node, tables, start, stride, turned, taken, share, some)


def are_odds(n_labels: int, shared_out: bool) -> bool:
    """Whether messages are one number each, the odds of two labels."""
    return n_labels == 2 and not shared_out


def _are_shared_out(share: np.ndarray) -> bool:
    """Whether some share, at most 1 each, is below 1."""
    return bool(share.min(initial=1.0) < 1.0)


def _fill(table: np.ndarray, share: np.ndarray, out: np.ndarray, top: np.ndarray) -> None:
    in_parts(lambda a, b: _exponentials(table[a:b], share[a:b], out[a:b], top[a:b]), len(table))


def _places(potentials: Potentials, structure: Structure, share: np.ndarray) -> _Places:
    """Where tables begin; made once for a structure, a number of labels and shares."""
    K = potentials.node.shape[1]
    alone = tuple(len(table) == 1 for table in potentials.cliques)
    shares = share.tobytes() if _are_shared_out(share) else None

    def make() -> _Places:
        return _places_of(K, alone, structure, share)

    return of_structure(structure, ("pairs", K, alone, shares), make)


def _places_of(K: int, alone: tuple[bool, ...], structure: Structure, share: np.ndarray) -> _Places:
    P = padded(K)
    width = n_columns(K, 2)
    places = []
    sizes = []
    different = []
    size = 0
    first = 0
    for is_alone, family in zip(alone, structure.families, strict=True):
        n_edges = len(family.nodes)
        values, number = np.unique(share[first : first + n_edges], return_inverse=True)
        first += n_edges
        if is_alone:
            start = size + 2 * K * P * np.repeat(number, 2) + np.tile([0, K * P], n_edges)
            places.append((start, np.full(2 * n_edges, P), np.zeros(2 * n_edges, bool)))
            sizes.append(2 * K * P * len(values))
        else:
            start = np.repeat(size + np.arange(n_edges) * width, 2)
            places.append((start, np.full(2 * n_edges, K), np.tile([False, True], n_edges)))
            sizes.append(n_edges * width)
        different.append(values)
        size += sizes[-1]
    joined = [np.concatenate(part) for part in zip(*places, strict=True)]
    return _Places(joined[0], joined[1], joined[2], sizes, different)


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
def _spread_of_nodes(
    node: np.ndarray, graph: Adjacency, wide: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """By how much scores of some nodes differ that are not -inf, inf where all are, and what comes
    from their edges.
    """
    for v in range(first, last):
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
        for e in range(graph.bounds[v], graph.bounds[v + 1]):
            spread += wide[graph.clique[graph.places[e]]]
        out[v] = spread


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


@kernel
def _are_at_most(most: float, values: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """Whether all values between two offsets are small."""
    for i in range(len(out)):
        out[i] = True
        for v in range(offsets[i], offsets[i + 1]):
            # nan is not
            if not values[v] <= most:
                out[i] = False
