"""Graphs of networkx, which need not be installed: nothing is asked but for their attributes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.ragged import object_array

__all__ = ["Network", "column", "is_network", "read_network"]


class Network(NamedTuple):
    """The attributes of each node and each edge, and the edges (n_edges, 2) as numbers of nodes."""

    nodes: list[dict[Any, Any]]
    edges: np.ndarray
    of_edges: list[dict[Any, Any]]


def is_network(item: Any) -> bool:
    """Whether it is a graph of networkx."""
    return all(hasattr(item, name) for name in ("nodes", "edges", "adj", "is_directed"))


def read_network(graph: Any, i: int) -> Network:
    """A graph, whose nodes are numbered in their order.

    Raises
    ------
    ValueError
        If it may have several edges between two nodes.
    """
    if graph.is_multigraph():
        raise ValueError(f"X[{i}]: a multigraph; two nodes have one edge at most")
    number = {node: t for t, node in enumerate(graph.nodes)}
    table = [[number[a], number[b]] for a, b in graph.edges]
    return Network(
        [dict(attributes) for _, attributes in graph.nodes(data=True)],
        np.array(table, np.int64).reshape(-1, 2),
        [dict(attributes) for _, _, attributes in graph.edges(data=True)],
    )


def column(rows: list[dict[Any, Any]], names: Any, place: str) -> Any:
    """One attribute, whose values are features or labels, or several ones, side by side.

    Raises
    ------
    ValueError
        With the place, if an attribute lacks.
    """
    several = isinstance(names, list)
    for t, attributes in enumerate(rows):
        for name in names if several else [names]:
            if name not in attributes:
                raise ValueError(f"{place} {t}: there is no attribute {name!r}")
    if not several:
        return [attributes[names] for attributes in rows]
    values = [object_array([attributes[name] for name in names]) for attributes in rows]
    return np.array(values, dtype=object).reshape(len(rows), len(names))
