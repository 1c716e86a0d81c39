"""The cliques of each node of a structure, and where the scores of its labels stand in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Structure, columns_of
from sklearn_struct.inference.graphs.adjacency import adjacency
from sklearn_struct.inference.graphs.flat_scores import FlatScores, cliques_of
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["Places", "labelled_scores", "places_of", "scores_of_labels"]


class Places(NamedTuple):
    """Node v is in the cliques ``clique[bounds[v] : bounds[v + 1]]``, counted through all families.

    From one label of the node to the next it is ``stride`` columns there.
    """

    bounds: np.ndarray
    clique: np.ndarray
    stride: np.ndarray


def places_of(structure: Structure, n_labels: int) -> Places:
    """Those of all nodes; made once for a structure."""
    return of_structure(structure, ("places", n_labels), lambda: _places(structure, n_labels))


def _places(structure: Structure, n_labels: int) -> Places:
    cliques = cliques_of(structure)
    graph = adjacency(cliques, int(structure.offsets[-1]))
    strides = [np.empty(0, np.int64)]
    for family in structure.families:
        n_cliques, size = family.nodes.shape
        strides.append(np.tile(n_labels ** np.arange(size)[::-1], n_cliques))
    return Places(graph.bounds, graph.clique[graph.places], np.concatenate(strides)[graph.places])


def labelled_scores(scores: FlatScores, structure: Structure, labels: np.ndarray) -> np.ndarray:
    """Where the score of a labelling (n,) stands in the tables, for the cliques of all families."""
    K = scores.node.shape[1]
    where = [np.empty(0, np.int64)]
    for f, family in enumerate(structure.families):
        first = scores.starts[f] + scores.steps[f] * np.arange(len(family.nodes))
        where.append(first + columns_of(labels, family, K))
    return np.concatenate(where)


@kernel
def scores_of_labels(
    scores: FlatScores,
    places: Places,
    node: tuple[int, int],
    where: np.ndarray,
    fill: float,
    row: np.ndarray,
) -> None:
    """Write the scores of the labels of a node among the others' labels; `fill` behind the last.

    `node` is its number, and the label that it has in the labelling whose scores stand at `where`.
    """
    tables = scores.tables
    of_nodes = scores.node
    v, label = node
    K = of_nodes.shape[1]
    for k in range(len(row)):
        row[k] = of_nodes[v, k] if k < K else fill
    for e in range(places.bounds[v], places.bounds[v + 1]):
        stride = places.stride[e]
        first = where[places.clique[e]] - stride * label
        for k in range(K):
            row[k] += tables[first + stride * k]
