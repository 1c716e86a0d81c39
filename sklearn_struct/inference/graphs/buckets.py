"""What exact inference knows of graphs before it sees any score: which node is summed out when, and
into which tables scores go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Structure
from sklearn_struct.inference.graphs.elimination import Elimination, eliminated, linked
from sklearn_struct.inference.graphs.flat_scores import Cliques, cliques_of
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["Buckets", "Labels", "buckets_of", "finite_labels", "n_numbers"]

# of how many shapes of graphs orders are kept, and how many nodes these have at most
CACHED = 1024
LARGE = 300


class Labels(NamedTuple):
    """Labels that nodes may have: ``codes[bounds[i] : bounds[i + 1]]`` of node i."""

    bounds: np.ndarray
    codes: np.ndarray


class Buckets(NamedTuple):
    """Steps of all examples, one for each node; those of example i are ``offsets[i : i + 2]``.

    Of step s: ``nodes[s]`` is summed out of a table over ``scopes[bounds[s] : bounds[s + 1]]``, of
    which each has as many labels as `sizes` says in the same places. The sum goes to the table of
    step ``parent[s]``. The table begins at ``tables[s]`` and its sum at ``sums[s]`` of memory that
    examples share. Cliques ``clique_steps[clique_bounds[s] : clique_bounds[s + 1]]`` have their
    scores there, or the node itself, over the variables that are `own` in the same places as
    `scopes`. Steps ``children[child_bounds[s] : child_bounds[s + 1]]`` have it as parent. Tables,
    sums and own scores need ``room`` numbers; ``room[3]`` is how many variables a table has.
    """

    offsets: np.ndarray
    nodes: np.ndarray
    bounds: np.ndarray
    scopes: np.ndarray
    sizes: np.ndarray
    own: np.ndarray
    parent: np.ndarray
    tables: np.ndarray
    sums: np.ndarray
    cliques: Cliques
    clique_bounds: np.ndarray
    clique_steps: np.ndarray
    child_bounds: np.ndarray
    children: np.ndarray
    room: tuple[int, int, int, int]


def finite_labels(node: np.ndarray) -> Labels:
    """The labels whose score is not -inf."""
    bounds = np.zeros(len(node) + 1, np.int64)
    codes = np.empty(node.size, np.int64)
    return Labels(bounds, codes[: _write_finite(node, bounds, codes)])


@kernel
def _write_finite(node: np.ndarray, bounds: np.ndarray, codes: np.ndarray) -> int:
    n = 0
    for i in range(len(node)):
        for k in range(node.shape[1]):
            if node[i, k].real > -np.inf:
                codes[n] = k
                n += 1
        bounds[i + 1] = n
    return n


def n_numbers(structure: Structure, n_labels: int, most: float) -> np.ndarray:
    """How many numbers the tables of each example need if all labels are allowed that nodes have;
    inf if more than `most`.
    """
    sizes = structure.sizes
    if sizes is None:
        sizes = np.full(int(structure.offsets[-1]), n_labels)
    steps = [_steps_of(structure, i, sizes, most) for i in range(structure.n_examples)]
    return np.array([np.inf if part is None else part.numbers for part in steps])


def buckets_of(structure: Structure, labels: Labels, most: float) -> Buckets:
    """Where everything goes. ValueError if an example needs more than `most` numbers."""
    sizes = np.diff(labels.bounds)
    return of_structure(
        structure, ("buckets", sizes.tobytes(), most), lambda: _buckets(structure, sizes, most)
    )


def _buckets(structure: Structure, sizes: np.ndarray, most: float) -> Buckets:
    n = len(sizes)
    parts = [_of_example(structure, i, sizes, most) for i in range(structure.n_examples)] or [
        _NOTHING
    ]
    nodes, lengths, scopes, parents, tables, sums, rooms = map(list, zip(*parts, strict=True))
    order = np.concatenate(nodes)
    parent = np.concatenate(parents)
    bounds = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    scope = np.concatenate(scopes)
    cliques = cliques_of(structure)
    steps = _steps_of_cliques(cliques, sizes, order)
    by_step = np.argsort(steps, kind="stable")
    own, most_own = _own_variables(cliques, steps, bounds, scope, sizes)
    children = np.argsort(parent, kind="stable")[int(np.count_nonzero(parent < 0)) :]
    room = np.max(rooms, axis=0)
    return Buckets(
        structure.offsets.copy(),
        order,
        bounds,
        scope,
        sizes[scope],
        own,
        parent,
        np.concatenate(tables),
        np.concatenate(sums),
        cliques,
        np.searchsorted(steps[by_step], np.arange(n + 1)),
        by_step,
        np.searchsorted(parent[children], np.arange(n + 1)),
        children,
        (int(room[0]), int(room[1]), most_own, int(np.max(np.diff(bounds), initial=0))),
    )


def _own_variables(
    cliques: Cliques, steps: np.ndarray, bounds: np.ndarray, scope: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, int]:
    """Which variables of the steps' tables their own nodes and cliques have; how many labellings
    of these there are at most.
    """
    n = len(sizes)
    lengths = np.diff(bounds)
    of_cliques = np.repeat(steps, np.diff(cliques.bounds)) * n + cliques.members
    own = np.isin(np.repeat(np.arange(n), lengths) * n + scope, of_cliques)
    own[bounds[:-1]] = True
    numbers = np.multiply.reduceat(np.where(own, sizes[scope], 1), bounds[:-1]) if n else _NONE
    return own, int(np.max(numbers, initial=0))


_NONE = np.empty(0, np.int64)
_NOTHING = _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, np.zeros(2, np.int64)


def _of_example(
    structure: Structure, i: int, sizes: np.ndarray, most: float
) -> tuple[np.ndarray, ...]:
    """Of the steps of example i: nodes, lengths of scopes, scopes, parents, where tables and sums
    begin; and how much room all have.
    """
    steps = _steps_of(structure, i, sizes, most)
    if steps is None:
        raise ValueError(f"exact inference needs tables of more than {most:,.0f} numbers")
    first = structure.offsets[i]
    lengths = np.diff(steps.bounds)
    n_numbers = np.ones(len(lengths), np.int64)
    np.multiply.at(
        n_numbers, np.repeat(np.arange(len(lengths)), lengths), sizes[first + steps.scopes]
    )
    n_sums = n_numbers // np.maximum(sizes[first + steps.nodes], 1)
    tables = np.concatenate([[0], np.cumsum(n_numbers)])
    sums = np.concatenate([[0], np.cumsum(n_sums)])
    return (
        first + steps.nodes,
        lengths,
        first + steps.scopes,
        np.where(steps.parent >= 0, first + steps.parent, -1),
        tables[:-1],
        sums[:-1],
        np.array([tables[-1], sums[-1]]),
    )


def _steps_of_cliques(cliques: Cliques, sizes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The step of each clique: that of its node which is summed out first, as its table has all
    others, but those of one label, which are in no table of others.
    """
    n = len(order)
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    ranks = rank[cliques.members] + np.where(sizes[cliques.members] == 1, n, 0)
    if not len(cliques.row):
        return _NONE
    steps: np.ndarray = np.minimum.reduceat(ranks, cliques.bounds[:-1]) % n
    return steps


def _steps_of(structure: Structure, i: int, sizes: np.ndarray, most: float) -> Elimination | None:
    """The steps of example i, whose nodes count from 0."""
    first, stop = structure.offsets[i : i + 2].tolist()
    cliques = [
        family.nodes[slice(*family.offsets[i : i + 2])] - first for family in structure.families
    ]
    of_nodes = sizes[first:stop]
    if _least_numbers(cliques, of_nodes) > most:
        return None
    if len(of_nodes) > LARGE:
        return eliminated(linked(len(of_nodes), cliques), of_nodes, most)
    written = tuple((nodes.shape[1], nodes.tobytes()) for nodes in cliques)
    return _remembered(written, of_nodes.tobytes(), most)


def _least_numbers(cliques: list[np.ndarray], sizes: np.ndarray) -> float:
    """Tables have at least so many numbers, whatever the order."""
    connected = np.zeros(len(sizes), bool)
    for nodes in cliques:
        connected[nodes if nodes.shape[1] > 1 else nodes[:0]] = True
    # at least every second one of them has a neighbour left when it is summed out
    least = float(sizes.min()) if len(sizes) else 1.0
    return np.count_nonzero(connected) / 2 * least * least


@lru_cache(CACHED)
def _remembered(
    written: tuple[tuple[int, bytes], ...], of_nodes: bytes, most: float
) -> Elimination | None:
    """Small graphs are often of one shape; to find an order takes as long as to sum over it."""
    sizes = np.frombuffer(of_nodes, np.int64)
    cliques = [np.frombuffer(nodes, np.int64).reshape(-1, r) for r, nodes in written]
    return eliminated(linked(len(sizes), cliques), sizes, most)
