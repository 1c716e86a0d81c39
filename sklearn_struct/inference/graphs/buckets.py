"""What exact inference knows of graphs before it sees any score: which node is summed out when, and
into which tables scores go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.containers.structures import Family, Structure
from sklearn_struct.inference.graphs.elimination import Elimination, eliminated, linked
from sklearn_struct.inference.graphs.flat_scores import Cliques, cliques_of

__all__ = ["Buckets", "Labels", "all_labels", "buckets_of", "finite_labels", "n_numbers"]

CACHED = 1024  # structures

Written: TypeAlias = tuple[bytes, tuple[tuple[int, bytes, bytes], ...]]


class Labels(NamedTuple):
    """Labels that nodes may have: ``codes[bounds[i] : bounds[i + 1]]`` of node i."""

    bounds: np.ndarray
    codes: np.ndarray


class Buckets(NamedTuple):
    """Steps of all examples, one for each node; those of example i are ``offsets[i : i + 2]``.

    Of step s: ``nodes[s]`` is summed out of a table over ``scopes[bounds[s] : bounds[s + 1]]``,
    whose sum goes to that of step ``parent[s]``. The table begins at ``tables[s]`` and its sum at
    ``sums[s]`` of memory that examples share, which needs ``room`` numbers. Cliques
    ``clique_steps[clique_bounds[s] : clique_bounds[s + 1]]`` have their scores there; steps
    ``children[child_bounds[s] : child_bounds[s + 1]]`` have it as parent.
    """

    offsets: np.ndarray
    nodes: np.ndarray
    bounds: np.ndarray
    scopes: np.ndarray
    parent: np.ndarray
    tables: np.ndarray
    sums: np.ndarray
    cliques: Cliques
    clique_bounds: np.ndarray
    clique_steps: np.ndarray
    child_bounds: np.ndarray
    children: np.ndarray
    room: tuple[int, int]


def all_labels(n: int, n_labels: int) -> Labels:
    """Each node may have each label."""
    return Labels(np.arange(n + 1) * n_labels, np.tile(np.arange(n_labels), n))


def finite_labels(node: np.ndarray) -> Labels:
    """The labels whose score is not -inf."""
    allowed = node.real > -np.inf
    counts = allowed.sum(axis=1)
    return Labels(np.concatenate([[0], np.cumsum(counts)]), np.nonzero(allowed)[1])


def n_numbers(structure: Structure, n_labels: int, most: float) -> np.ndarray:
    """How many numbers the tables of each example need if all labels are allowed; inf if more than
    `most`.
    """
    sizes = np.full(int(structure.offsets[-1]), n_labels)
    steps = [_steps_of(structure, i, sizes, most) for i in range(structure.n_examples)]
    return np.array([np.inf if part is None else part.numbers for part in steps])


def buckets_of(structure: Structure, labels: Labels, most: float) -> Buckets:
    """Where everything goes. ValueError if an example needs more than `most` numbers."""
    return _buckets(_written(structure), np.diff(labels.bounds).tobytes(), most)


@lru_cache(CACHED)
def _buckets(written: Written, of_nodes: bytes, most: float) -> Buckets:
    structure = _read(written)
    sizes = np.frombuffer(of_nodes, np.int64)
    n = len(sizes)
    parts = [_of_example(structure, i, sizes, most) for i in range(structure.n_examples)] or [
        _NOTHING
    ]
    nodes, lengths, scopes, parents, tables, sums, rooms = map(list, zip(*parts, strict=True))
    order = np.concatenate(nodes)
    parent = np.concatenate(parents)
    cliques = cliques_of(structure)
    steps = _steps_of_cliques(cliques, sizes, order)
    by_step = np.argsort(steps, kind="stable")
    children = np.argsort(parent, kind="stable")[int(np.count_nonzero(parent < 0)) :]
    room = np.max(rooms, axis=0)
    return Buckets(
        structure.offsets,
        order,
        np.concatenate([[0], np.cumsum(np.concatenate(lengths))]),
        np.concatenate(scopes),
        parent,
        np.concatenate(tables),
        np.concatenate(sums),
        cliques,
        np.searchsorted(steps[by_step], np.arange(n + 1)),
        by_step,
        np.searchsorted(parent[children], np.arange(n + 1)),
        children,
        (int(room[0]), int(room[1])),
    )


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
    families = []
    for family in structure.families:
        cliques = family.nodes[slice(*family.offsets[i : i + 2])] - first
        families.append(Family(cliques, np.array([0, len(cliques)])))
    alone = Structure(np.array([0, stop - first]), tuple(families))
    return _steps(_written(alone), sizes[first:stop].tobytes(), most)


@lru_cache(CACHED)
def _steps(written: Written, of_nodes: bytes, most: float) -> Elimination | None:
    sizes = np.frombuffer(of_nodes, np.int64)
    cliques = [family.nodes for family in _read(written).families]
    return eliminated(linked(len(sizes), cliques), sizes, most)


def _written(structure: Structure) -> Written:
    """A structure as bytes. To find an order takes as long as to sum over it: that is done once for
    all evaluations, and for all graphs of one shape.
    """
    families = tuple(
        (family.nodes.shape[1], family.nodes.tobytes(), family.offsets.tobytes())
        for family in structure.families
    )
    return structure.offsets.tobytes(), families


def _read(written: Written) -> Structure:
    offsets, families = written
    return Structure(
        np.frombuffer(offsets, np.int64),
        tuple(
            Family(np.frombuffer(nodes, np.int64).reshape(-1, r), np.frombuffer(bounds, np.int64))
            for r, nodes, bounds in families
        ),
    )
