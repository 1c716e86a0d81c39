"""Graphs without cycles as rooted trees: in which order nodes are visited, and from where."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sklearn_struct.containers.structures import Structure, has_only_edges

__all__ = ["RootedTrees", "are_forests", "has_cycle", "rooted"]


class RootedTrees(NamedTuple):
    """Nodes, parents before their children; the parent of each, and the edge to it, -1 at roots."""

    order: np.ndarray
    parent: np.ndarray
    link: np.ndarray


def are_forests(structure: Structure) -> np.ndarray:
    """Which examples have no cycle; none where cliques are of several kinds or of many nodes."""
    if not has_only_edges(structure, of_one_kind=True):
        return np.zeros(structure.n_examples, bool)
    return ~has_cycle(structure)


def has_cycle(structure: Structure) -> np.ndarray:
    """Whether the edges of the first kind make a cycle in each example: there are more of them than
    nodes less trees.
    """
    n = int(structure.offsets[-1])
    roots = np.isin(np.arange(n), _roots(n, structure.families[0].nodes))
    n_trees = np.diff(np.concatenate([[0], np.cumsum(roots)])[structure.offsets])
    n_edges = np.diff(structure.families[0].offsets)
    too_many: np.ndarray = n_edges > np.diff(structure.offsets) - n_trees
    return too_many


def rooted(structure: Structure) -> RootedTrees:
    """The trees of a structure without cycles, each with its first node as root."""
    n = int(structure.offsets[-1])
    edges = structure.families[0].nodes
    roots = _roots(n, edges)
    # one more node makes one tree of all
    joined = np.concatenate([edges, np.column_stack([np.full(len(roots), n), roots])])
    order, parent = breadth_first_order(_graph(n + 1, joined), n, directed=False)
    left, right = edges.T
    link = np.full(n, -1)
    link[np.where(parent[left] == right, left, right)] = np.arange(len(edges))
    parent[roots] = -1
    # without the node that was added, which comes first
    return RootedTrees(order[1:].astype(np.int64), parent[:n].astype(np.int64), link)


def _roots(n: int, edges: np.ndarray) -> np.ndarray:
    """The first node of each tree."""
    _, tree = connected_components(_graph(n, edges), directed=False)
    return np.unique(tree, return_index=True)[1]


def _graph(n: int, edges: np.ndarray) -> sp.csr_array:
    return sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
