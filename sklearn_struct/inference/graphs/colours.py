"""A large graph whose nodes are numbered by colours: no two neighbours have the same."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Structure
from sklearn_struct.inference.graphs.adjacency import Adjacency, adjacency, read
from sklearn_struct.inference.graphs.flat_scores import Cliques
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["Coloured", "coloured", "is_large"]

# edges of a graph from which on threads share its nodes
LARGE = 100_000
# of more colours each has few nodes
MOST_COLOURS = 64


class Coloured(NamedTuple):
    """Node i of this numbering is ``order[i]``. Cliques and places have the new numbers. Each
    colour has nodes from a first one to before a last one; threads may visit them at the same
    time.
    """

    order: np.ndarray
    cliques: Cliques
    graph: Adjacency
    colours: list[tuple[int, int]]


def is_large(structure: Structure) -> bool:
    """Whether a structure is one graph of so many edges that threads should share it. That is a
    matter of the data alone: its messages have another order than those of other graphs.
    """
    if structure.n_examples != 1 or not structure.families:
        return False
    n_edges = sum(len(family.nodes) for family in structure.families)
    return n_edges > LARGE and len(coloured(structure).colours) <= MOST_COLOURS


def coloured(structure: Structure) -> Coloured:
    """The graph by colours; made once."""
    return of_structure(structure, "coloured", lambda: _coloured(structure))


def _coloured(structure: Structure) -> Coloured:
    cliques, graph = read(structure)
    n = int(structure.offsets[-1])
    colour = np.full(n, -1)
    _colour(cliques, graph, colour)
    order = np.argsort(colour, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    renumbered = cliques._replace(members=rank[cliques.members])
    bounds = np.searchsorted(colour[order], np.arange(colour.max(initial=-1) + 2)).tolist()
    return Coloured(order, renumbered, adjacency(renumbered, n), list(pairwise(bounds)))


@kernel
def _colour(cliques: Cliques, graph: Adjacency, colour: np.ndarray) -> None:
    """Give each node, by its number, the first colour that no neighbour has."""
    # the node that has last seen a colour at a neighbour
    seen = np.full(len(colour) + 1, -1)
    for v in range(len(colour)):
        for e in range(graph.bounds[v], graph.bounds[v + 1]):
            near = colour[cliques.members[graph.places[e] ^ 1]]
            if near >= 0:
                seen[near] = v
        k = 0
        while seen[k] == v:
            k += 1
        colour[v] = k
