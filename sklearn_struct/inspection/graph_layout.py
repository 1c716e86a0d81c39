"""Where the nodes of a graph are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from sklearn_struct.containers.networks import is_network
from sklearn_struct.encoding.graphs import as_graphs, family_of
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.inspection.optional_imports import networkx

__all__ = ["graph_parts", "layout_of", "nearest"]


def graph_parts(graph: Any) -> tuple[int, np.ndarray]:
    """How many nodes one graph has, and its edges (n_edges, 2), from any form of it.

    Raises
    ------
    InputTypeError, LengthMismatchError, ValueError
        If it is no graph, or not one.
    """
    given = as_graphs([graph] if isinstance(graph, tuple) or is_network(graph) else graph)
    if given is None:
        raise InputTypeError(
            f"graph must be a tuple (nodes, edges), or a graph of networkx, got "
            f"{type(graph).__name__}"
        )
    if len(given.nodes) != 1:
        raise LengthMismatchError(f"graph must be one graph, got {len(given.nodes)}")
    nodes = given.nodes[0]
    n: int = nodes.shape[0] if hasattr(nodes, "shape") else len(nodes)
    offsets = np.array([0, n])
    tables = [family_of(cliques, name, offsets).nodes for name, cliques in given.cliques.items()]
    # of three and more nodes each two
    pairs = [
        table[:, list(two)] for table in tables for two in combinations(range(table.shape[1]), 2)
    ]
    return n, np.concatenate([np.zeros((0, 2), np.int64), *pairs])


def layout_of(positions: Any, graph: Any, n: int, edges: np.ndarray) -> np.ndarray:
    """Places (n, 2) of the nodes, to the right and up.

    Raises
    ------
    LengthMismatchError
        If there are places of other nodes.
    """
    if positions is None:
        return _by_networkx(n, edges)
    if isinstance(positions, Mapping):
        network = graph[0] if isinstance(graph, list) else graph
        names = list(network.nodes) if is_network(network) else range(n)
        missing = [name for name in names if name not in positions]
        if missing:
            raise LengthMismatchError(f"positions has no place of node {missing[0]!r}")
        positions = [positions[name] for name in names]
    places = np.asarray(positions)
    if places.shape == (2,) and places.dtype.kind in "iu":
        height, width = places.tolist()
        if height * width != n:
            raise LengthMismatchError(
                f"a grid of {height} rows and {width} columns has {height * width} nodes, but the "
                f"graph {n}"
            )
        row, column = np.divmod(np.arange(n), width)
        return np.column_stack([column, height - 1 - row]).astype(np.float64)
    if places.shape != (n, 2):
        raise LengthMismatchError(
            f"positions has the shape {places.shape} but the graph {n} nodes: give (n_nodes, 2), "
            "or the height and width of a grid"
        )
    return places.astype(np.float64)


def _by_networkx(n: int, edges: np.ndarray) -> np.ndarray:
    """Neighbours near each other, where networkx is installed; else all nodes on a circle."""
    module = networkx()
    if module is None:
        angle = np.arange(n) * (2 * np.pi / max(n, 1))
        return np.column_stack([np.sin(angle), np.cos(angle)])
    graph = module.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges.tolist())
    places = module.spring_layout(graph, seed=0)
    return np.array([places[t] for t in range(n)], np.float64).reshape(n, 2)


def nearest(places: np.ndarray) -> float:
    """How far a node's nearest neighbour is, as a share of the whole picture, for most nodes."""
    if len(places) < 2:
        return 1.0
    distance = cKDTree(places).query(places, k=2)[0][:, 1]
    return float(np.quantile(distance, 0.2) / (np.ptp(places, axis=0).max() or 1.0))
