"""A packed array of graphs: the public face of a batch of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.networks import column, read_network
from sklearn_struct.containers.one_dimensional import OneDimensional
from sklearn_struct.containers.segments import graph_of_segments, labels_of_segments
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typed_nodes import TypedNodes

__all__ = ["GraphArray"]


class GraphArray(OneDimensional):
    """A one-dimensional array of graphs, stored as one table of nodes and one of edges.

    It slices, concatenates and splits like an array of length ``n_graphs``, so scikit-learn's
    splitters and searches take it as X, while nodes and edges stay in one block of memory each.

    Read more in :doc:`/user_guide/graphs`.

    Parameters
    ----------
    nodes : SequenceArray, or list of arrays (n_nodes, n_features), of sparse matrices or of lists
        The nodes of each graph.
    edges : SequenceArray, or list of arrays of shape (n_edges, 2)
        The edges of each graph: the numbers of two of its nodes, which count from 0.
    edge_features : SequenceArray, list of arrays (n_edges, n_edge_features) or of sparse matrices,\
            default=None
        The features of each edge.
    node_types : SequenceArray, or list of lists of str, default=None
        The type of each node, where nodes have types, see `TypedNodes`.

    Raises
    ------
    ValueError
        If they are not of the same number of graphs, if edges are no table of whole numbers with
        two columns, if there are features of another number of edges or types of another number of
        nodes, or if a type is no string.

    See Also
    --------
    GraphCRF : Learns from such graphs.
    Cliques : Several kinds of edges, and larger cliques.
    TypedNodes : Nodes with labels of their own types.
    SequenceArray : The same for sequences.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import GraphArray
    >>> X = GraphArray([np.eye(3), np.ones((2, 3))], [[[0, 1], [1, 2]], [[0, 1]]])
    >>> X
    GraphArray(n_graphs=2, n_nodes=5, n_edges=3)
    >>> nodes, edges = X[1]
    >>> nodes.shape, edges.tolist()
    ((2, 3), [[0, 1]])
    >>> X[::-1]
    GraphArray(n_graphs=2, n_nodes=5, n_edges=3)
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, nodes: Any, edges: Any, edge_features: Any = None, node_types: Any = None
    ) -> None:
        self.nodes = _packed(nodes)
        self.edges = _packed(edges)
        self.edge_features = None if edge_features is None else _packed(edge_features)
        if len(self.edges) != len(self.nodes):
            raise ValueError(f"nodes of {len(self.nodes)} graphs, but edges of {len(self.edges)}")
        table = self.edges.tokens
        if not table.size:
            # an empty list has neither a second dimension nor a type
            table = np.zeros((0, 2), np.int64)
        if sp.issparse(table) or table.ndim != 2 or table.shape[1] != 2:
            raise ValueError(f"edges must have shape (n_edges, 2), got {table.shape}")
        if table.dtype.kind not in "iu":
            raise ValueError(f"edges must be whole numbers, got dtype {table.dtype}")
        self.edges = SequenceArray(table, self.edges.offsets)
        features = self.edge_features
        if features is not None and not np.array_equal(features.offsets, self.edges.offsets):
            raise ValueError("edge_features must have one row for each edge of each graph")
        self.node_types = None if node_types is None else _packed_types(node_types)
        types = self.node_types
        if types is not None and not np.array_equal(types.offsets, self.nodes.offsets):
            raise ValueError("node_types must have one type for each node of each graph")

    def __len__(self) -> int:
        return len(self.nodes)

    def _one(self, i: int) -> tuple[Any, ...]:
        nodes = self.nodes[i]
        if self.node_types is not None:
            nodes = TypedNodes(nodes, self.node_types[i])
        graph = nodes, self.edges[i]
        return graph if self.edge_features is None else (*graph, self.edge_features[i])

    def _several(self, chosen: np.ndarray, consecutive: bool) -> GraphArray:
        parts = [
            None if part is None else part._several(chosen, consecutive)
            for part in (self.nodes, self.edges, self.edge_features, self.node_types)
        ]
        return GraphArray(*parts)

    @classmethod
    def _joined(cls, arrays: Sequence[Any]) -> GraphArray:
        parts = [part if isinstance(part, GraphArray) else cls.from_graphs(part) for part in arrays]
        features: list[Any] = [part.edge_features for part in parts]
        if len({part is None for part in features}) > 1:
            raise ValueError("either all graphs have edge features, or none")
        types: list[Any] = [part.node_types for part in parts]
        if len({part is None for part in types}) > 1:
            raise ValueError("either the nodes of all graphs have types, or none have")
        return cls(
            np.concatenate([part.nodes for part in parts]),
            np.concatenate([part.edges for part in parts]),
            None if features[0] is None else np.concatenate(features),
            None if types[0] is None else np.concatenate(types),
        )

    @classmethod
    def from_graphs(cls, graphs: Sequence[tuple[Any, ...]]) -> GraphArray:
        """Pack a list of tuples (nodes, edges) or (nodes, edges, edge_features).

        Parameters
        ----------
        graphs : list of tuples
            The graphs, as `GraphCRF` takes them; all have edge features, or none has.

        Returns
        -------
        GraphArray
        """
        columns: list[Any] = list(map(list, zip(*graphs, strict=True)))
        if not columns:
            return cls([], [])
        nodes = columns[0]
        if not any(isinstance(part, TypedNodes) for part in nodes):
            return cls(*columns)
        if not all(isinstance(part, TypedNodes) for part in nodes):
            raise ValueError("either the nodes of all graphs have types, or none have")
        features = columns[2] if len(columns) > 2 else None
        types = [part.types for part in nodes]
        return cls([part.features for part in nodes], columns[1], features, types)

    @classmethod
    def from_networkx(
        cls,
        graphs: Sequence[Any],
        node: Any,
        edge: Any = None,
        label: Any = None,
        *,
        node_type: Any = None,
    ) -> Any:
        """Pack graphs of networkx, with the attributes that are named.

        Nodes are numbered in the order of ``graph.nodes``.

        Parameters
        ----------
        graphs : list of networkx.Graph or networkx.DiGraph
        node : attribute, or list of attributes
            The features of nodes. A single attribute holds all features of a node, such as an
            array. In a list each attribute is one feature, a number or a string.
        edge : attribute, or list of attributes, default=None
            The features of edges, in the same form; None if they have none.
        label : attribute, default=None
            The labels of nodes; None without labels.
        node_type : attribute, default=None
            The types of nodes, strings; None if they have none.

        Returns
        -------
        X : GraphArray
        y : list of lists
            The labels; only with `label`.

        Raises
        ------
        ValueError
            If an attribute is missing; the message says where.

        Examples
        --------
        >>> import networkx as nx
        >>> from sklearn_struct import GraphArray
        >>> graph = nx.Graph()
        >>> graph.add_node("a", size=2.0, tone="high", kind="X")
        >>> graph.add_node("b", size=0.5, tone="low", kind="Y")
        >>> graph.add_edge("a", "b", weight=3.0)
        >>> X, y = GraphArray.from_networkx([graph], ["size", "tone"], ["weight"], "kind")
        >>> X
        GraphArray(n_graphs=1, n_nodes=2, n_edges=1, n_edge_features=1)
        >>> y
        [['X', 'Y']]
        """
        read = [read_network(graph, i) for i, graph in enumerate(graphs)]
        nodes = [column(part.nodes, node, f"X[{i}], node") for i, part in enumerate(read)]
        features = None
        if edge is not None:
            of_edges = [column(part.of_edges, edge, f"X[{i}], edge") for i, part in enumerate(read)]
            features = _features(of_edges, edge)
        types = None
        if node_type is not None:
            types = [column(part.nodes, node_type, f"X[{i}], node") for i, part in enumerate(read)]
        X = cls(_features(nodes, node), [part.edges for part in read], features, types)
        if label is None:
            return X
        return X, [column(part.nodes, label, f"X[{i}], node") for i, part in enumerate(read)]

    @classmethod
    def from_segments(
        cls, images: Any, segments: Any, y: Any = None, *, ignore_label: Any = None
    ) -> Any:
        """Make graphs of superpixels: each segment is a node, and those that touch have an edge.

        Nodes stand in the order of the segments' numbers. So ``labels[segments]`` are pixels again
        where these count from 0, and ``labels[numpy.unique(segments, return_inverse=True)[1]]``
        (reshaped, before numpy 2) where they do not.

        Features of a node are the mean of each channel, the share of the image's pixels, and the
        mean position along each axis, from 0 to 1. Features of an edge are the length of the shared
        border, divided by the whole border that the segment with the shorter one has to others;
        and exp(-d / (2 m)), where d is the squared distance of the mean colours, and m the mean of
        d over the edges of the image. It is 1 for equal colours.

        Parameters
        ----------
        images : list of arrays (h, w) or (h, w, n_channels)
            Also volumes (z, h, w) or (z, h, w, n_channels); a single array is one image.
        segments : list of arrays (h, w) of int
            The number of the segment of each pixel, such as ``skimage.segmentation.slic`` gives
            them. Of a single image a single array.
        y : list of arrays (h, w), default=None
            Labels of pixels. A node gets the label that most of its pixels have.
        ignore_label : int or str, default=None
            Pixels of y with this value do not count, nor do those that are masked or None. A node
            without any other one gets None, an unknown label.

        Returns
        -------
        X : GraphArray
        y : list of lists
            The labels of nodes; only with `y`.

        Raises
        ------
        ValueError
            If an image, its segments and its labels have different shapes, segments are no whole
            numbers, or pixels of an image or of its segments are masked.
        InputTypeError
            If labels are neither integers nor strings.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_struct import GraphArray
        >>> image = np.array([[0.1, 0.2, 0.9], [0.1, 0.2, 0.8]])
        >>> segments = np.array([[0, 0, 2], [0, 1, 2]])
        >>> X = GraphArray.from_segments(image, segments)
        >>> nodes, edges, edge_features = X[0]
        >>> edges.tolist()
        [[0, 1], [0, 2], [1, 2]]
        >>> nodes[:, 0].round(2).tolist()  # mean colours
        [0.13, 0.2, 0.85]
        """
        if isinstance(segments, np.ndarray) and segments.dtype != object:
            images = [images]
            segments = [segments]
            y = None if y is None else [y]
        parts = [images, segments] if y is None else [images, segments, y]
        if len(set(map(len, parts))) > 1:
            names = ("images", "arrays of segments", "arrays of labels")
            counts = ", ".join(f"{len(part)} {name}" for part, name in zip(parts, names))
            raise ValueError(f"there are {counts}")
        graphs = [
            graph_of_segments(image, of_image, f"[{i}]")
            for i, (image, of_image) in enumerate(zip(images, segments))
        ]
        X = cls(*map(list, zip(*graphs, strict=True))) if graphs else cls([], [])
        if y is None:
            return X
        return X, [
            labels_of_segments(labels, of_image, ignore_label, f"[{i}]")
            for i, (labels, of_image) in enumerate(zip(y, segments))
        ]

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same graphs, value by value."""
        if not isinstance(other, GraphArray):
            return NotImplemented
        return (self.nodes, self.edges, self.edge_features, self.node_types) == (
            other.nodes,
            other.edges,
            other.edge_features,
            other.node_types,
        )

    def __repr__(self) -> str:
        nodes = self.nodes.tokens.shape[0]
        edges = self.edges.tokens.shape[0]
        features = self.edge_features
        more = "" if features is None else f", n_edge_features={features.tokens.shape[1]}"
        if self.node_types is not None:
            more += f", n_node_types={len(np.unique(self.node_types.tokens))}"
        return f"GraphArray(n_graphs={len(self)}, n_nodes={nodes}, n_edges={edges}{more})"


def _features(parts: list[Any], names: Any) -> SequenceArray:
    """Attributes of all graphs; several ones as numbers, if all are, else as columns with names."""
    packed = SequenceArray.from_sequences(parts)
    if not isinstance(names, list):
        return packed
    if all(isinstance(value, Real) for value in packed.tokens.ravel()):
        return SequenceArray(packed.tokens.astype(np.float64), packed.offsets)
    return SequenceArray(packed.tokens, packed.offsets, list(map(str, names)))


def _packed(part: Any) -> SequenceArray:
    return part if isinstance(part, SequenceArray) else SequenceArray.from_sequences(part)


def _packed_types(types: Any) -> SequenceArray:
    """Types of nodes as strings; ValueError for others."""
    if not isinstance(types, SequenceArray):
        types = list(map(list, types))
        for i, of_graph in enumerate(types):
            for t, name in enumerate(of_graph):
                if not isinstance(name, str):
                    raise ValueError(f"node_types[{i}], node {t}: a type is a string, got {name!r}")
        types = SequenceArray.from_sequences(types)
    tokens = types.tokens
    if not tokens.size:
        # an empty list has no type
        tokens = np.zeros(0, "U1")
    if tokens.ndim != 1 or tokens.dtype.kind != "U":
        raise ValueError(f"node_types must be strings, one for each node, got {tokens.dtype}")
    return SequenceArray(tokens, types.offsets)
