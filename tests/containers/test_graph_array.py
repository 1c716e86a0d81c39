"""Packed graphs: they slice, concatenate and compare as arrays do."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import _safe_indexing

from sklearn_struct import GraphArray, SequenceArray


def packed(features=True):
    rng = np.random.default_rng(0)
    sizes = [(3, 2), (1, 0), (4, 3), (0, 0), (2, 1)]
    nodes = [rng.normal(size=(n, 2)) for n, _ in sizes]
    edges = [np.array([[i, i + 1] for i in range(m)]).reshape(-1, 2) for _, m in sizes]
    rows = [rng.normal(size=(m, 3)) for _, m in sizes]
    return GraphArray(nodes, edges, rows if features else None), nodes, edges, rows


def test_items_are_graphs():
    X, nodes, edges, rows = packed()
    assert len(X) == 5
    assert X.shape == (5,)
    for i, parts in enumerate(X):
        for part, given in zip(parts, (nodes[i], edges[i], rows[i]), strict=True):
            np.testing.assert_array_equal(part, given)
    assert len(X[-1]) == 3
    assert len(packed(features=False)[0][-1]) == 2
    with pytest.raises(IndexError):
        X[5]
    with pytest.raises(IndexError, match="one dimension"):
        X[0, 1]


@pytest.mark.parametrize("key", [slice(1, 4), slice(None, None, -1), [2, 2, 0], np.arange(5) > 2])
def test_parts_are_packed_again(key):
    X, *_ = packed()
    part = X[key]
    assert isinstance(part, GraphArray)
    for a, i in zip(part, np.arange(5)[key], strict=True):
        for b, c in zip(a, X[i], strict=True):
            np.testing.assert_array_equal(b, c)


def test_arrays_of_numpy():
    X, *_ = packed()
    assert np.concatenate([X[:2], X[2:]]) == X
    assert np.concatenate([X, X[:1]]) != X
    assert np.take(X, [0, 4]) == X[[0, 4]]
    objects = np.asarray(X)
    assert objects.dtype == object
    assert objects.shape == (5,)
    plain, *_ = packed(features=False)
    assert plain != X
    assert np.concatenate([plain, list(plain)]) == np.concatenate([plain, plain])
    with pytest.raises(ValueError, match="either all graphs have edge features"):
        np.concatenate([plain, X])


def test_scikit_learn_splits_them():
    X, *_ = packed()
    train, test = train_test_split(X, random_state=0, test_size=2)
    assert (len(train), len(test)) == (3, 2)
    assert all(isinstance(_safe_indexing(X, part), GraphArray) for part, _ in KFold(2).split(X))


def test_sparse_nodes():
    X = GraphArray([sp.csr_array(np.eye(3))], [[[0, 1]]])
    assert sp.issparse(X[0][0])
    assert GraphArray([np.eye(3)], [np.array([[0, 1]])]) == X


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([np.eye(2)], []), "nodes of 1 graphs, but edges of 0"),
        (([np.eye(2)], [[[0, 1, 1]]]), r"shape \(n_edges, 2\)"),
        (([np.eye(2)], [[[0.0, 1.0]]]), "whole numbers"),
        (([np.eye(2)], [[[0, 1]]], [np.eye(2)]), "one row for each edge"),
    ],
)
def test_parts_that_do_not_fit(parts, message):
    with pytest.raises(ValueError, match=message):
        GraphArray(*parts)


def test_networks_of_arrays_and_of_words():
    graph = nx.DiGraph()
    graph.add_node(7, x=np.arange(2.0), word="a")
    graph.add_node(3, x=np.ones(2), word="b")
    graph.add_edge(3, 7, w=2)
    X = GraphArray.from_networkx([graph], "x", "w")
    np.testing.assert_array_equal(X[0][0], [[0, 1], [1, 1]])
    assert X[0][1].tolist() == [[1, 0]]
    words = GraphArray.from_networkx([graph], ["word"])
    assert words.nodes == SequenceArray(np.array([["a"], ["b"]], object), [0, 2], ["word"])
    with pytest.raises(ValueError, match=r"X\[0\], node 0: there is no attribute 'y'"):
        GraphArray.from_networkx([graph], "x", label="y")
