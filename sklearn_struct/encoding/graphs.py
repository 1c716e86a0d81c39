"""Lists of graphs as arrays: nodes one graph after the other, and who is connected with whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.structures import Family, Structure
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import InputTypeError

__all__ = ["as_graphs", "read_edges", "structure_of"]

_WANTED = "a graph is a pair (nodes, edges), with edges of shape (n_edges, 2)"


def as_graphs(X: Any) -> list[tuple[Any, Any]] | None:
    """X as a list of graphs; None if it has other items, or none."""
    if isinstance(X, np.ndarray) and X.dtype == object:
        # numpy makes two columns of pairs
        X = list(map(tuple, X)) if X.ndim == 2 else list(X)
    return X if isinstance(X, list) and X and all(map(_is_graph, X)) else None


def _is_graph(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and all(map(_has_length, item))


def _has_length(part: Any) -> bool:
    return is_list(part) or hasattr(part, "shape")


def read_edges(X: Any, lengths: np.ndarray) -> list[np.ndarray]:
    """The edges (n_edges, 2) of each graph, whose numbers of nodes are given.

    Raises
    ------
    InputTypeError
        If edges are no table of whole numbers.
    ValueError
        If an edge leads to a node that the graph has not, or from a node to itself, or joins two
        nodes that another one joins.
    """
    return [_edges(edges, i, int(n)) for i, ((_, edges), n) in enumerate(zip(X, lengths))]


def _edges(edges: Any, i: int, n: int) -> np.ndarray:
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
    outside = (table < 0) | (table >= n)
    if np.any(outside):
        e, end = np.argwhere(outside)[0]
        raise ValueError(
            f"X[{i}], edge {e}: node {table[e, end]} is not one of the graph's {n}, which count "
            "from 0"
        )
    # an edge to itself would score pairs that cannot differ
    loops = np.flatnonzero(table[:, 0] == table[:, 1])
    if len(loops):
        raise ValueError(
            f"X[{i}], edge {loops[0]}: it leads from node {table[loops[0], 0]} to itself"
        )
    _, first, which = np.unique(
        np.sort(table, axis=1), axis=0, return_index=True, return_inverse=True
    )
    again = np.flatnonzero(first[which.ravel()] != np.arange(len(table)))
    if len(again):
        a, b = table[again[0]]
        raise ValueError(
            f"X[{i}], edge {again[0]}: nodes {a} and {b} have edge {first[which.ravel()][again[0]]}"
            " already; two nodes have one edge at most"
        )
    return table.astype(np.int64)


def structure_of(offsets: np.ndarray, edges: list[np.ndarray]) -> Structure:
    """Graphs one after the other; an edge is a clique of two nodes."""
    bounds = np.cumsum([0, *map(len, edges)])
    nodes = [first + table for first, table in zip(offsets[:-1], edges, strict=True)]
    every = np.concatenate([np.zeros((0, 2), np.int64), *nodes])
    return Structure(offsets, (Family(every, bounds),))
