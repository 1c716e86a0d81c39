"""The cliques at each node of a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.inference.graphs.flat_scores import Cliques

__all__ = ["Adjacency", "adjacency"]


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
