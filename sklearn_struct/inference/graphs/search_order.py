"""The order in which searches for labellings visit nodes and sum what cliques say: it goes by
scores and neighbours, and not by how nodes and cliques are numbered, so that a search ends where it
would end with other numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.graphs.adjacency import Adjacency, adjacency, read
from sklearn_struct.inference.graphs.flat_scores import Cliques, by_example

__all__ = ["TIE", "Ordered", "ordered"]

# how often nodes hear of their neighbours at most: those with equal scores are told apart by others
# so near
ROUNDS = 16
# neighbours that are met at once, so few that to sort them is a matter of comparing each two
FEW = 16
# parts of the mean size of scores which count: last digits depend on numbers of nodes
PARTS = 2.0**24
# What is better by no more than this part is no better, and the first is taken: last digits do not
# choose among labels that are equally good.
TIE = 1e-11
# odd numbers that spread bits (those of the generator "splitmix64", public domain)
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


class Ordered(NamedTuple):
    """Node i of this numbering is ``order[i]``. Cliques have the new numbers, and stand in an order
    that goes by these alone.
    """

    order: np.ndarray
    cliques: Cliques
    graph: Adjacency


def ordered(potentials: Potentials, structure: Structure) -> Ordered:
    """A structure with its nodes in the order of visits: one comes after one of its neighbours, but
    for the first of each part that hangs together, and the nearer to the first the earlier.

    Where that leaves a choice keys decide, which are made of scores. Only nodes with the same
    scores, whose neighbours have the same as well, and so on, are in the order of their numbers.
    """
    cliques, graph = read(structure)
    n = int(structure.offsets[-1])
    example = np.repeat(np.arange(structure.n_examples), np.diff(structure.offsets))
    by_key = np.lexsort((_keys(potentials, structure, example), example))
    place = _inverse(by_key)
    places = np.empty(n, np.int64)
    patiently(lambda: _go_through(cliques, graph, by_key, place, places), 4 * len(graph.places))
    order = by_key[places]
    rank = _inverse(order)
    renumbered = _renumbered(structure, cliques, rank)
    return Ordered(order, renumbered, adjacency(renumbered, n))


def _inverse(order: np.ndarray) -> np.ndarray:
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _renumbered(structure: Structure, cliques: Cliques, rank: np.ndarray) -> Cliques:
    """Cliques with their nodes' ranks, in the order of these; so those of a node are near to each
    other in memory.
    """
    every = [np.empty(0, np.int64)]
    rows = [np.empty(0, np.int64)]
    n = len(rank)
    for family in structure.families:
        members = rank[family.nodes]
        smallest_first = np.sort(members, axis=1)
        if n ** members.shape[1] < 2**63:
            # one number tells what several do, and is quicker to sort
            smallest_first = smallest_first @ n ** np.arange(members.shape[1])[::-1, None]
        # which node of a clique comes first decides last
        columns = [*members.T[::-1], *smallest_first.T[::-1]]
        rows.append(np.lexsort(columns))
        every.append(members[rows[-1]].ravel())
    return cliques._replace(members=np.concatenate(every), row=np.concatenate(rows))


def _keys(potentials: Potentials, structure: Structure, example: np.ndarray) -> np.ndarray:
    """A number for each node that tells those apart whose scores, or those around them, differ."""
    own = _spread_bits(_in_parts_of_mean(potentials.node, structure.offsets))
    n_labels = potentials.node.shape[1]
    of_cliques = []
    for f, (table, family) in enumerate(zip(potentials.cliques, structure.families, strict=True)):
        number = np.full(len(family.nodes), f, np.uint64)
        if len(table) > 1:
            number += _in_parts_of_mean(table, family.offsets)
        # where nodes may change places, which comes first may hang on their numbers
        places = np.arange(1, family.nodes.shape[1] + 1)
        place = np.where(_are_ordered(table, n_labels, family)[:, None], places, 0)
        of_cliques.append((_spread_bits(number), STEP * place.astype(np.uint64)))
    keys = own
    sizes = np.diff(structure.offsets)
    counts = _count_different(keys, structure.offsets)
    gained = counts < sizes
    for _ in range(ROUNDS):
        if not gained.any():
            break
        heard = np.zeros(len(own), np.uint64)
        for (number, turns), family in zip(of_cliques, structure.families, strict=True):
            # what a clique says depends on which node of it has which key
            said = number + _spread_bits(keys[family.nodes] + turns).sum(axis=1)
            np.add.at(heard, family.nodes, _spread_bits(said[:, None] + turns))
        new = _spread_bits(keys + heard)
        now = _count_different(new, structure.offsets)
        # each example by itself: where no two nodes were told apart, none ever will be
        gained &= now > counts
        keys = np.where(gained[example], new, keys)
        counts = np.where(gained, now, counts)
        gained &= counts < sizes
    return keys


def _count_different(keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """How many different keys the nodes of each example have."""
    in_order = keys.copy()
    for first, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        in_order[first:stop].sort()
    is_new = np.ones(len(keys), bool)
    is_new[1:] = in_order[1:] != in_order[:-1]
    is_new[offsets[:-1][np.diff(offsets) > 0]] = True
    return by_example(is_new, offsets).astype(np.int64)


def _are_ordered(table: np.ndarray, n_labels: int, family: Family) -> np.ndarray:
    """Whether the nodes of each clique may not change places, as some score of its example would
    change by more than last digits.
    """
    size = family.nodes.shape[1]
    every = table.reshape(-1, *[n_labels] * size)
    finite = np.where(np.isfinite(table), np.abs(table), 0.0)
    near = finite.max(axis=1, initial=0.0).reshape(-1, *[1] * size) / PARTS
    ordered = np.zeros(len(table), bool)
    for axis in range(1, size):
        other = every.swapaxes(axis, axis + 1)
        with np.errstate(invalid="ignore"):
            differ = (every != other) & ~(np.abs(every - other) <= near)
        ordered |= differ.any(axis=tuple(range(1, size + 1)))
    of_cliques = np.broadcast_to(ordered, len(family.nodes))
    of_example = by_example(of_cliques, family.offsets) > 0.0
    return np.repeat(of_example, np.diff(family.offsets))


def _in_parts_of_mean(rows: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """A whole number for each row, in which last digits are not seen; of each example by itself."""
    finite = np.where(np.isfinite(rows), rows, 0.0)
    allowed = np.where(np.isfinite(rows), 0.0, 1.0)
    # columns with weights of which no sums are equal
    weights = np.sqrt(np.arange(2.0, rows.shape[1] + 2.0))
    sums = finite @ weights
    counts = np.maximum(np.diff(offsets), 1)
    mean = by_example(np.abs(sums), offsets) / counts
    unit = np.where(mean > 0.0, mean, 1.0) / PARTS
    in_parts = sums / np.repeat(unit, np.diff(offsets)) + PARTS * (allowed @ weights)
    return np.rint(np.clip(in_parts, -(2.0**62), 2.0**62)).astype(np.int64).view(np.uint64)


def _spread_bits(numbers: np.ndarray) -> np.ndarray:
    """Numbers whose bits all depend on all bits of the given ones."""
    spread = numbers + STEP
    spread = (spread ^ (spread >> np.uint64(30))) * FIRST
    spread = (spread ^ (spread >> np.uint64(27))) * SECOND
    mixed: np.ndarray = spread ^ (spread >> np.uint64(31))
    return mixed


@inlined
def _sort_few(numbers: np.ndarray, first: int, stop: int) -> None:
    """Sort what is between two places, in a time that grows with the square of their number."""
    for i in range(first + 1, stop):
        number = numbers[i]
        j = i
        while j > first and numbers[j - 1] > number:
            numbers[j] = numbers[j - 1]
            j -= 1
        numbers[j] = number


@kernel
def _go_through(
    cliques: Cliques,
    graph: Adjacency,
    by_key: np.ndarray,
    place: np.ndarray,
    places: np.ndarray,
) -> None:
    """Write places in `by_key` in the order of visits."""
    seen = np.zeros(len(places), np.bool_)
    n = 0
    for root in range(len(places)):
        if seen[root]:
            continue
        seen[root] = True
        places[n] = root
        here = n
        n += 1
        while here < n:
            v = by_key[places[here]]
            here += 1
            nearest = n
            for e in range(graph.bounds[v], graph.bounds[v + 1]):
                c = graph.clique[graph.places[e]]
                for p in range(cliques.bounds[c], cliques.bounds[c + 1]):
                    u = place[cliques.members[p]]
                    if not seen[u]:
                        seen[u] = True
                        places[n] = u
                        n += 1
            if n - nearest > FEW:
                places[nearest:n].sort()
            else:
                _sort_few(places, nearest, n)
