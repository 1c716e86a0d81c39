"""Fitted models of graphs, for every form of X, each with one graph that it can read."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from fitted import LABELS, Case

from sklearn_struct import GraphArray, GraphCRF

# a triangle with a tail, a path, a node, an edge and a node
EDGES = [[[0, 1], [2, 1], [2, 0], [3, 2]], [[1, 0], [1, 2]], [], [[1, 0]]] * 3
SIZES = [4, 3, 1, 3] * 3


def network(words: list[str], edges: np.ndarray, features: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from((f"n{t}", {"word": word}) for t, word in enumerate(words))
    for (a, b), (x, _) in zip(edges, features, strict=True):
        graph.add_edge(f"n{a}", f"n{b}", far=bool(x > 0))
    return graph


def case(kind: str) -> Case:
    """The estimator of that kind, fitted on random data."""
    rng = np.random.RandomState(5)
    nodes: list[Any] = [rng.normal(size=(n, 3)) for n in SIZES]
    features: list[Any] = [rng.normal(size=(len(edges), 2)) for edges in EDGES]
    words = [[f"w{w}" for w in rng.randint(4, size=n)] for n in SIZES]
    y: Any = [[LABELS[k] for k in rng.randint(3, size=n)] for n in SIZES]
    options: dict[str, Any] = {"C": 5.0, "tol": 1e-3}
    X: Any = list(zip(nodes, EDGES, features))
    if kind == "no features of edges":
        X = [graph[:2] for graph in X]
        options["fit_intercept"] = False
    if kind == "sparse":
        X = [(sp.csr_array(a * (a > 0)), b, sp.csr_array(c * (c > 0))) for a, b, c in X]
    if kind == "strings":
        X = [
            (a, b, [{"far": bool(x > 0), "size": x} for x, _ in c])
            for a, b, c in zip(words, EDGES, features)
        ]
    if kind == "networks":
        X = [network(*parts) for parts in zip(words, EDGES, features)]
    if kind == "symmetric":
        options["symmetric"] = True
    if kind == "float32":
        options["dtype"] = "float32"
    if kind == "rows":
        X = np.concatenate(nodes)
        y = np.concatenate(y)
    if kind == "packed":
        X = GraphArray.from_graphs(X)
    crf = GraphCRF(**options).fit(X, y)
    x = X[:1] if kind in ("packed", "rows") else X[0]
    other = ["z" if label == "y" else "y" for label in np.ravel(crf.predict(X[:1]).tolist())]
    return Case(crf, x, other)


KINDS = [
    "numbers",
    "no features of edges",
    "sparse",
    "strings",
    "networks",
    "symmetric",
    "float32",
    "rows",
    "packed",
]
