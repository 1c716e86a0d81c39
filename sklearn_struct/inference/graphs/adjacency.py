"""The cliques at each node of a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
    """The places of all nodes."""
    places = np.argsort(cliques.members, kind="stable")
    return Adjacency(
        np.searchsorted(cliques.members[places], np.arange(n_nodes + 1)),
        places,
        np.repeat(np.arange(len(cliques.row)), np.diff(cliques.bounds)),
    )


def read(structure: Structure) -> tuple[Cliques, Adjacency]:
    """A structure as kernels read it; made once."""

    def make() -> tuple[Cliques, Adjacency]:
        cliques = cliques_of(structure)
        return cliques, adjacency(cliques, int(structure.offsets[-1]))

    return of_structure(structure, "adjacency", make)
