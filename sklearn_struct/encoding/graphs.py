"""Batches of graphs as arrays: nodes one graph after the other, and who is connected with whom."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.graph_array import GraphArray
from sklearn_struct.containers.networks import is_network, read_network
from sklearn_struct.containers.structures import Family, Structure
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["GivenGraphs", "as_graphs", "edges_of", "structure_of"]

_WANTED = "a graph is a tuple (nodes, edges) with edges of shape (n_edges, 2)"


class GivenGraphs(NamedTuple):
    """Nodes, edges and features of edges of each graph, as users have them.

    ``undirected`` says whether some graphs say of themselves that their edges have no direction.
    """

    nodes: Any
    edges: list[Any]
    features: Any
    undirected: bool


def as_graphs(X: Any) -> GivenGraphs | None:
    """X as graphs; None if it has other items, or none.

    Raises
    ------
    InputTypeError
        If some graphs have features of edges and others not, or if an adjacency matrix has weights.
    """
    if isinstance(X, GraphArray):
        return GivenGraphs(X.nodes, list(X.edges), X.edge_features, False)
    if isinstance(X, np.ndarray) and X.dtype == object:
        # numpy makes columns of tuples
        X = list(map(tuple, X)) if X.ndim == 2 else list(X)
    if not (isinstance(X, list) and X):
        return None
    networks = [is_network(graph) for graph in X]
    undirected = any(graph.is_directed() is False for graph, is_one in zip(X, networks) if is_one)
    graphs = [
        _of_network(graph, i) if is_one else graph
        for i, (graph, is_one) in enumerate(zip(X, networks))
    ]
    if not all(map(_is_graph, graphs)):
        return None
    if any(len(graph) == 3 for graph in graphs):
        # a network without edges cannot show that edges have features
        graphs = [
            (*graph, []) if is_one and len(graph) == 2 and not len(graph[1]) else graph
            for graph, is_one in zip(graphs, networks)
        ]
    sizes = {len(graph) for graph in graphs}
    if len(sizes) > 1:
        i = next(i for i, graph in enumerate(graphs) if len(graph) != len(graphs[0]))
        has = "no features" if len(graphs[i]) == 2 else "features"
        raise InputTypeError(f"X[{i}]: its edges have {has}, unlike those of X[0]")
    nodes, edges, *features = map(list, zip(*graphs, strict=True))
    for i, table in enumerate(edges):
        if sp.issparse(table):
            edges[i], symmetric = _of_adjacency(table, i)
            undirected |= symmetric
    return GivenGraphs(nodes, edges, features[0] if features else None, undirected)


def _is_graph(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) in (2, 3) and all(map(_has_length, item))


def _has_length(part: Any) -> bool:
    return is_list(part) or hasattr(part, "shape") or hasattr(part, "tokens")


def _of_network(graph: Any, i: int) -> tuple[Any, ...]:
    """A graph of networkx as a tuple: attributes of nodes, and of edges if any has some, are
    features.
    """
    nodes, edges, features = read_network(graph, i)
    return (nodes, edges, features) if any(features) else (nodes, edges)


def _of_adjacency(matrix: Any, i: int) -> tuple[np.ndarray, bool]:
    """The edges of an adjacency matrix, and whether they have no direction: each once, then."""
    table = sp.coo_array(matrix)
    table.sum_duplicates()
    if table.shape[0] != table.shape[1]:
        raise InputTypeError(f"X[{i}]: an adjacency matrix is square, got {table.shape}")
    kept = table.data != 0
    if np.any(table.data[kept] != 1):
        raise InputTypeError(
            f"X[{i}]: an adjacency matrix has ones for edges, got {table.data[kept].max()}; give "
            "weights as features of edges, (nodes, edges, edge_features)"
        )
    edges = np.column_stack([table.row[kept], table.col[kept]]).astype(np.int64)
    symmetric = bool((sp.csr_array(table) != sp.csr_array(table).T).nnz == 0)
    return edges[edges[:, 0] <= edges[:, 1]] if symmetric else edges, symmetric


def edges_of(given: list[Any], lengths: np.ndarray) -> list[np.ndarray]:
    """The edges (n_edges, 2) of each graph, whose numbers of nodes are given.

    Raises
    ------
    InputTypeError
        If edges are no table of whole numbers.
    LengthMismatchError
        If there are edges of another number of graphs.
    ValueError
        If an edge leads to a node that the graph has not, or from a node to itself, or joins two
        nodes that another one joins.
    """
    if len(given) != len(lengths):
        raise LengthMismatchError(f"nodes of {len(lengths)} graphs, but edges of {len(given)}")
    tables = [_table(edges, i) for i, edges in enumerate(given)]
    every = np.concatenate([np.zeros((0, 2), np.int64), *tables])
    bounds = np.cumsum([0, *map(len, tables)])
    graph = np.repeat(np.arange(len(tables)), np.diff(bounds))
    _check_ends(every, bounds, graph, lengths)
    _check_once(every, bounds, graph)
    return tables


def _table(edges: Any, i: int) -> np.ndarray:
    try:
        table = np.asarray(edges)
    except ValueError as error:
        raise InputTypeError(f"X[{i}]: edges are no table: {error}; {_WANTED}") from None
    # an empty list has no second dimension
    if table.size == 0:
        return np.zeros((0, 2), np.int64)
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputTypeError(f"X[{i}]: edges have shape {table.shape}; {_WANTED}")
    if table.dtype.kind not in "iu":
        raise InputTypeError(f"X[{i}]: edges must be whole numbers, got dtype {table.dtype}")
    return table.astype(np.int64)


def _check_ends(
    edges: np.ndarray, bounds: np.ndarray, graph: np.ndarray, lengths: np.ndarray
) -> None:
    outside = (edges < 0) | (edges >= lengths[graph][:, None])
    if np.any(outside):
        row, end = np.argwhere(outside)[0]
        i = graph[row]
        raise ValueError(
            f"X[{i}], edge {row - bounds[i]}: node {edges[row, end]} is not one of the graph's "
            f"{lengths[i]}, which count from 0"
        )
    # an edge to itself would score pairs that cannot differ
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        i = graph[loops[0]]
        raise ValueError(
            f"X[{i}], edge {loops[0] - bounds[i]}: it leads from node {edges[loops[0], 0]} to "
            "itself"
        )


def _check_once(edges: np.ndarray, bounds: np.ndarray, graph: np.ndarray) -> None:
    ends = np.sort(edges, axis=1)
    # stable: of equal edges the first one stays first
    order = np.lexsort((ends[:, 1], ends[:, 0], graph))
    same = np.all(ends[order[1:]] == ends[order[:-1]], axis=1)
    same &= graph[order[1:]] == graph[order[:-1]]
    again = np.flatnonzero(same)
    if len(again):
        row = order[again + 1].min()
        before = np.flatnonzero(np.all(ends == ends[row], axis=1) & (graph == graph[row]))[0]
        i = graph[row]
        raise ValueError(
            f"X[{i}], edge {row - bounds[i]}: nodes {edges[row, 0]} and {edges[row, 1]} have edge "
            f"{before - bounds[i]} already; two nodes have one edge at most"
        )


def structure_of(offsets: np.ndarray, edges: list[np.ndarray]) -> Structure:
    """Graphs one after the other; an edge is a clique of two nodes."""
    bounds = np.cumsum([0, *map(len, edges)])
    nodes = [first + table for first, table in zip(offsets[:-1], edges, strict=True)]
    every = np.concatenate([np.zeros((0, 2), np.int64), *nodes])
    return Structure(offsets, (Family(every, bounds),))
