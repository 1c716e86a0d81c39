"""Batches of graphs as arrays: nodes one graph after the other, and who is connected with whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.cliques import Cliques
from sklearn_struct.containers.graph_array import GraphArray
from sklearn_struct.containers.networks import is_network, read_network
from sklearn_struct.containers.structures import Family
from sklearn_struct.containers.typed_nodes import TypedNodes
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["CALLED", "EDGES", "GivenCliques", "GivenGraphs", "as_graphs", "family_of"]

# the kind of cliques that a table of edges has
EDGES = "edges"
# what errors call cliques of so many nodes
CALLED = {2: "edge"}
_WANTED = "a graph is a tuple (nodes, edges) with edges of shape (n_edges, 2)"


class GivenCliques(NamedTuple):
    """Cliques of one kind: their nodes in each graph, and their features in each graph.

    ``potts`` says that all labellings in which their nodes agree share one weight, and others have
    none; ``checked`` that nodes are arrays of our own making, int64, of which nothing is doubted.
    """

    size: int
    nodes: list[Any]
    features: Any
    symmetric: bool
    potts: bool = False
    checked: bool = False


class GivenGraphs(NamedTuple):
    """Nodes of each graph, and cliques by their names, as users have them.

    ``undirected`` says whether some graphs say of themselves that their edges have no direction,
    ``types`` are those of the nodes of each graph, if they have some.
    """

    nodes: Any
    cliques: dict[str, GivenCliques]
    undirected: bool
    types: list[Any] | None = None


def as_graphs(X: Any) -> GivenGraphs | None:
    """X as graphs; None if it has other items, or none.

    Raises
    ------
    InputTypeError
        If some graphs have features of edges and others not, if an adjacency matrix has weights, or
        if X is one graph of networkx.
    LengthMismatchError
        If an adjacency matrix is one of another number of nodes.
    """
    if isinstance(X, GraphArray):
        edges = GivenCliques(2, list(X.edges), X.edge_features, False)
        types = None if X.node_types is None else list(X.node_types)
        return GivenGraphs(X.nodes, {EDGES: edges}, False, types)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim:
        # numpy makes columns of tuples
        X = list(map(tuple, X)) if X.ndim == 2 else list(X)
    if is_network(X):
        raise InputTypeError("X is a single graph of networkx: X must be a list, [graph]")
    if not (isinstance(X, list) and X):
        return None
    networks = [is_network(graph) for graph in X]
    undirected = any(graph.is_directed() is False for graph, is_one in zip(X, networks) if is_one)
    graphs = [
        _of_network(graph, i) if is_one else graph
        for i, (graph, is_one) in enumerate(zip(X, networks))
    ]
    are_graphs = list(map(_is_graph, graphs))
    if not all(are_graphs):
        if any(are_graphs):
            i = are_graphs.index(False)
            raise InputTypeError(f"X[{i}] is {_described(graphs[i])}; {_WANTED}")
        return None
    graphs, types = _parted(graphs)
    if any(_has_cliques(graph) for graph in graphs):
        return GivenGraphs([graph[0] for graph in graphs], _templates(graphs), undirected, types)
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
    nodes, tables, *features = map(list, zip(*graphs, strict=True))
    for i, table in enumerate(tables):
        if sp.issparse(table):
            tables[i], symmetric = _of_adjacency(table, _n_nodes(nodes[i]), i)
            undirected |= symmetric
    edges = GivenCliques(2, tables, features[0] if features else None, False)
    return GivenGraphs(nodes, {EDGES: edges}, undirected, types)


def _is_graph(item: Any) -> bool:
    if not isinstance(item, tuple) or isinstance(item, TypedNodes):
        return False
    return len(item) in (2, 3) and all(map(_has_length, item))


def _described(item: Any) -> str:
    """What stands in the place of a graph."""
    kind = type(item).__name__
    if not isinstance(item, tuple):
        return f"of type {kind}"
    return f"a {kind} of ({', '.join(type(part).__name__ for part in item)})"


def _parted(graphs: list[tuple[Any, ...]]) -> tuple[list[tuple[Any, ...]], list[Any] | None]:
    """Graphs without types of their nodes, and these types."""
    typed = [isinstance(graph[0], TypedNodes) for graph in graphs]
    if not any(typed):
        return graphs, None
    if not all(typed):
        i = next(i for i, is_typed in enumerate(typed) if is_typed != typed[0])
        has = "types" if typed[i] else "no types"
        raise InputTypeError(f"X[{i}]: its nodes have {has}, unlike those of X[0]")
    nodes = [graph[0] for graph in graphs]
    rest = [(part.features, *graph[1:]) for part, graph in zip(nodes, graphs)]
    return rest, [part.types for part in nodes]


def _has_length(part: Any) -> bool:
    return is_list(part) or hasattr(part, "shape") or hasattr(part, "tokens")


def _has_cliques(graph: tuple[Any, ...]) -> bool:
    parts = graph[1]
    return isinstance(parts, list) and any(isinstance(part, Cliques) for part in parts)


def _of_network(graph: Any, i: int) -> tuple[Any, ...]:
    """A graph of networkx as a tuple: attributes of nodes, and of edges if any has some, are
    features.
    """
    nodes, edges, features = read_network(graph, i)
    return (nodes, edges, features) if any(features) else (nodes, edges)


def _n_nodes(nodes: Any) -> int:
    rows = getattr(nodes, "tokens", nodes)
    return int(rows.shape[0] if hasattr(rows, "shape") else len(rows))


def _of_adjacency(matrix: Any, n_nodes: int, i: int) -> tuple[np.ndarray, bool]:
    """The edges of an adjacency matrix, and whether they have no direction: each once, then."""
    table = sp.coo_array(matrix)
    table.sum_duplicates()
    if table.shape[0] != table.shape[1]:
        raise InputTypeError(f"X[{i}]: an adjacency matrix is square, got {table.shape}")
    if table.shape[0] != n_nodes:
        raise LengthMismatchError(
            f"X[{i}] has {n_nodes} nodes, but its adjacency matrix has the shape {table.shape}"
        )
    kept = table.data != 0
    weights = table.data[kept & (table.data != 1)]
    if len(weights):
        raise InputTypeError(
            f"X[{i}]: an adjacency matrix has ones for edges, got {weights[0]}; give weights as "
            "features of edges, (nodes, edges, edge_features)"
        )
    edges = np.column_stack([table.row[kept], table.col[kept]]).astype(np.int64)
    # a matrix without edges says nothing of directions
    symmetric = bool(len(edges) and (sp.csr_array(table) != sp.csr_array(table).T).nnz == 0)
    return edges[edges[:, 0] <= edges[:, 1]] if symmetric else edges, symmetric


# ---- cliques of several kinds


def _templates(graphs: list[tuple[Any, ...]]) -> dict[str, GivenCliques]:
    """The cliques of all graphs by their names, in the order of these."""
    by_name: dict[str, dict[int, Cliques]] = {}
    for i, graph in enumerate(graphs):
        parts = graph[1] if len(graph) == 2 else None
        # an empty list has no cliques, of whatever kind
        if not (isinstance(parts, list) and all(isinstance(part, Cliques) for part in parts)):
            raise InputTypeError(
                f"X[{i}]: where one graph is a tuple (nodes, list of Cliques), all must be"
            )
        for part in parts:
            if not isinstance(part.name, str):
                raise InputTypeError(f"X[{i}]: a name of Cliques is a string, got {part.name!r}")
            if not isinstance(part.symmetric, bool | np.bool_):
                raise InputTypeError(
                    f"X[{i}]: symmetric of {part.name!r} must be True or False, got a "
                    f"{type(part.symmetric).__name__}"
                )
            if by_name.setdefault(part.name, {}).setdefault(i, part) is not part:
                raise InputTypeError(f"X[{i}]: two Cliques are called {part.name!r}")
    return {name: _of_template(name, by_name[name], len(graphs)) for name in sorted(by_name)}


def _of_template(name: str, parts: dict[int, Cliques], n: int) -> GivenCliques:
    """The cliques of one name, of n graphs; what is true of the first graph must be of all."""
    first, template = next(iter(parts.items()))
    sizes = {i: size for i, part in parts.items() if (size := _size(part, i)) is not None}
    size = next(iter(sizes.values()), 2)
    for i, part in parts.items():
        if sizes.get(i, size) != size:
            raise InputTypeError(f"X[{i}]: {name!r} has cliques of {sizes[i]} nodes, not {size}")
        if bool(part.symmetric) != bool(template.symmetric):
            raise InputTypeError(
                f"X[{i}]: {name!r} has symmetric={part.symmetric}, unlike in X[{first}]"
            )
        if (part.features is None) != (template.features is None):
            has = "no features" if part.features is None else "features"
            raise InputTypeError(f"X[{i}]: {name!r} has {has}, unlike in X[{first}]")
    features = None
    if template.features is not None:
        features = [parts[i].features if i in parts else [] for i in range(n)]
    nodes = [parts[i].nodes if i in parts else [] for i in range(n)]
    return GivenCliques(size, nodes, features, bool(template.symmetric))


def _size(part: Cliques, i: int) -> int | None:
    """How many nodes its cliques have; None if there are none."""
    table = _as_array(part.nodes, i, f"nodes of {part.name!r}")
    if table.size == 0:
        return None
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputTypeError(
            f"X[{i}]: nodes of {part.name!r} must have shape (n_cliques, 2) or wider, got "
            f"{table.shape}"
        )
    size: int = table.shape[1]
    return size


# ---- tables of nodes


def family_of(given: GivenCliques, name: str, offsets: np.ndarray) -> Family:
    """The cliques of one kind, whose nodes are counted through all graphs.

    Raises
    ------
    InputTypeError
        If they are no table of whole numbers.
    LengthMismatchError
        If there are cliques of another number of graphs.
    ValueError
        If one has a node that the graph has not, or a node twice, or all nodes of another one.
    """
    lengths = np.diff(offsets)
    what = CALLED.get(given.size, "clique")
    if len(given.nodes) != len(lengths):
        raise LengthMismatchError(
            f"nodes of {len(lengths)} graphs, but {what}s of {len(given.nodes)}"
        )
    if given.checked:
        tables = given.nodes
    else:
        tables = [_table(nodes, given.size, i, f"{what}s") for i, nodes in enumerate(given.nodes)]
    every = np.concatenate([np.zeros((0, given.size), np.int64), *tables])
    bounds = np.cumsum([0, *map(len, tables)])
    graph = np.repeat(np.arange(len(tables)), np.diff(bounds))
    if not given.checked:
        place = _Places(what if name == EDGES else f"{what} of {name!r}", bounds, graph)
        _check_nodes(every, place, lengths)
        _check_once(every, place)
    return Family(every + offsets[:-1][graph][:, None], bounds)


class _Places(NamedTuple):
    """Where the rows of a table come from."""

    what: str
    bounds: np.ndarray
    graph: np.ndarray

    def of(self, row: int) -> str:
        i = self.graph[row]
        return f"X[{i}], {self.what} {row - self.bounds[i]}"


def _as_array(table: Any, i: int, what: str) -> np.ndarray:
    try:
        return np.asarray(table)
    except ValueError:
        raise InputTypeError(
            f"X[{i}]: {what} are no table, as rows differ in length; {_WANTED}"
        ) from None


def _table(nodes: Any, size: int, i: int, what: str) -> np.ndarray:
    table = _as_array(nodes, i, what)
    # an empty list has no second dimension
    if table.size == 0:
        return np.zeros((0, size), np.int64)
    if table.ndim != 2 or table.shape[1] != size:
        raise InputTypeError(f"X[{i}]: {what} have shape {table.shape}; {_WANTED}")
    if table.dtype.kind not in "iu":
        raise InputTypeError(f"X[{i}]: {what} must be whole numbers, got dtype {table.dtype}")
    if table.dtype == np.uint64 and table.max() > np.iinfo(np.int64).max:
        raise ValueError(f"X[{i}]: {what} have node {table.max()}; a graph's count from 0")
    return table.astype(np.int64)


def _check_nodes(nodes: np.ndarray, place: _Places, lengths: np.ndarray) -> None:
    outside = (nodes < 0) | (nodes >= lengths[place.graph][:, None])
    if np.any(outside):
        row, end = np.argwhere(outside)[0]
        raise ValueError(
            f"{place.of(row)}: node {nodes[row, end]} is not one of the graph's "
            f"{lengths[place.graph[row]]}, which count from 0"
        )
    # labels of one node cannot differ
    ascending = np.sort(nodes, axis=1)
    twice = np.flatnonzero(np.any(ascending[:, 1:] == ascending[:, :-1], axis=1))
    if len(twice):
        row = twice[0]
        if place.what.startswith("edge"):
            raise ValueError(f"{place.of(row)}: it leads from node {nodes[row, 0]} to itself")
        raise ValueError(f"{place.of(row)}: it has a node twice, {_listed(nodes[row])}")


def _check_once(nodes: np.ndarray, place: _Places) -> None:
    ascending = np.sort(nodes, axis=1)
    graph = place.graph
    # stable: of equal rows the first one stays first
    order = np.lexsort((*ascending.T[::-1], graph))
    same = np.all(ascending[order[1:]] == ascending[order[:-1]], axis=1)
    same &= graph[order[1:]] == graph[order[:-1]]
    again = np.flatnonzero(same)
    if len(again):
        row = order[again + 1].min()
        alike = np.all(ascending == ascending[row], axis=1) & (graph == graph[row])
        first = np.flatnonzero(alike)[0] - place.bounds[graph[row]]
        what = place.what.split()[0]
        raise ValueError(
            f"{place.of(row)}: nodes {_listed(nodes[row])} have {what} {first} already; they can "
            "have one at most"
        )


def _listed(nodes: Iterable[Any]) -> str:
    *most, last = map(str, nodes)
    return f"{', '.join(most)} and {last}"
