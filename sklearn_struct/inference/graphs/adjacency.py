"""The cliques at each node of a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Structure
from sklearn_struct.inference.graphs.flat_scores import Cliques, cliques_of
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["Adjacency", "adjacency", "read"]


class Adjacency(NamedTuple):
    """The places of each node in `Cliques.members`: ``places[bounds[v] : bounds[v + 1]]``.

    A place has a message. ``clique`` has the clique of each place.
    """

    bounds: np.ndarray
    places: np.ndarray
    clique: np.ndarray


def adjacency(cliques: Cliques, n_nodes: int) -> Adjacency:
    """The places of all nodes; those of each in the order of its cliques."""
    bounds = np.zeros(n_nodes + 1, np.int64)
    places = np.empty(len(cliques.members), np.int64)
    _sort(cliques, bounds, places)
    clique = np.repeat(np.arange(len(cliques.row)), np.diff(cliques.bounds))
    return Adjacency(bounds, places, clique)


@kernel
def _sort(cliques: Cliques, bounds: np.ndarray, places: np.ndarray) -> None:
    """Write the places of each node one after the other, and where those of each begin; bounds are
    0 at first.
    """
    members = cliques.members
    n = len(bounds) - 1
    for v in members:
        bounds[v + 1] += 1
    for v in range(n):
        bounds[v + 1] += bounds[v]
    # where the next place of each node goes
    free = bounds[:n].copy()
    for p in range(len(members)):
        v = members[p]
        places[free[v]] = p
        free[v] += 1


def read(structure: Structure) -> tuple[Cliques, Adjacency]:
    """A structure as kernels read it; made once."""

    def make() -> tuple[Cliques, Adjacency]:
        cliques = cliques_of(structure)
        return cliques, adjacency(cliques, int(structure.offsets[-1]))

    return of_structure(structure, "adjacency", make)
