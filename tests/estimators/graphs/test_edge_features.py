"""Graphs whose edges have features, or no direction, in all forms in which users have them."""

from __future__ import annotations

import pickle
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_struct import GraphArray, GraphCRF, LinearChainCRF, persistence
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

LABELS = np.array(["a", "b", "c"])


def graphs_with_features(rng, n_graphs=25, n_nodes=5):
    """Graphs with cycles; how alike labels of neighbours are depends on the features of edges."""
    X = []
    y = []
    pairs = np.array([[i, j] for i in range(n_nodes) for j in range(i)])
    for _ in range(n_graphs):
        edges = rng.permuted(pairs[rng.random(len(pairs)) < 0.6], axis=1)
        nodes = rng.normal(size=(n_nodes, 2))
        codes = rng.integers(3, size=n_nodes) * (nodes[:, 0] > -0.5)
        same = codes[edges[:, 0]] == codes[edges[:, 1]]
        features = np.column_stack([same, rng.random(len(edges)) < 0.3])
        X.append((nodes, edges, features + 0.5 * rng.normal(size=(len(edges), 2)).round(1)))
        y.append(LABELS[codes].tolist())
    return X, y


def sparse(X):
    return [(sp.csr_array(nodes), edges, sp.csr_array(features)) for nodes, edges, features in X]


def log_p_by_enumeration(crf, graph, labels):
    """log p(y | x) from the weights that users see."""
    nodes, edges, features = graph
    K = len(crf.classes_)
    scores = nodes @ crf.coef_.T + crf.intercept_
    tables = crf.transition_ + (features @ crf.edge_coef_.T).reshape(-1, K, K)
    totals = {}
    for codes in product(range(K), repeat=len(nodes)):
        total = sum(scores[i, k] for i, k in enumerate(codes))
        total += sum(table[codes[i], codes[j]] for table, (i, j) in zip(tables, edges))
        totals[codes] = total
    truth = tuple(np.searchsorted(crf.classes_, labels).tolist())
    return totals[truth] - np.logaddexp.reduce(list(totals.values()))


@pytest.mark.parametrize("symmetric", [False, True])
def test_probabilities_are_those_of_enumeration(symmetric):
    X, y = graphs_with_features(np.random.default_rng(0))
    crf = GraphCRF(symmetric=symmetric, C=2.0, tol=1e-6).fit(X, y)
    expected = [log_p_by_enumeration(crf, *pair) for pair in zip(X[:6], y)]
    np.testing.assert_allclose(crf.log_proba(X[:6], y[:6]), expected, atol=1e-10)
    # features say how alike neighbours are, and the model has learned it
    without = GraphCRF(symmetric=symmetric, C=2.0).fit([graph[:2] for graph in X], y)
    assert crf.loss_curve_[-1] < 0.9 * without.loss_curve_[-1]


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("solver", ["lbfgs", "sag", "cg", "gradient"])
def test_dense_and_sparse_are_one_model(symmetric, solver):
    X, y = graphs_with_features(np.random.default_rng(1))
    options = {"symmetric": symmetric, "solver": solver, "random_state": 0}
    crf = GraphCRF(**options, tol=1e-5, max_iter=2000).fit(X, y)
    same = GraphCRF(**options, tol=1e-5, max_iter=2000, feature_pairs="all").fit(sparse(X), y)
    np.testing.assert_allclose(same.edge_coef_.toarray(), crf.edge_coef_, atol=1e-3)
    best = GraphCRF(symmetric=symmetric, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(crf.edge_coef_, best.edge_coef_, atol=1e-3)
    assert same.loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], rel=1e-6)


def test_paths_are_chains_whose_features_condition_transitions():
    """An edge has the features of its second token."""
    rng = np.random.default_rng(2)
    tokens = [rng.normal(size=(n, 3)) for n in (4, 1, 6, 3, 5, 7) * 4]
    y = [LABELS[rng.integers(3, size=len(x))].tolist() for x in tokens]
    graphs = [(x, np.array(list(pairwise(range(len(x))))).reshape(-1, 2), x[1:]) for x in tokens]
    chain = LinearChainCRF(edge_features="all", tol=1e-8).fit(tokens, y)
    crf = GraphCRF(tol=1e-8).fit(graphs, y)
    for name in ("coef_", "transition_", "edge_coef_", "intercept_"):
        np.testing.assert_allclose(getattr(crf, name), getattr(chain, name), atol=1e-5)
    assert crf.loss_curve_[-1] == pytest.approx(chain.loss_curve_[-1], rel=1e-10)


def test_symmetric_edges_may_be_turned():
    rng = np.random.default_rng(3)
    X, y = graphs_with_features(rng)
    turned = [(nodes, rng.permuted(edges, axis=1), features) for nodes, edges, features in X]
    crf = GraphCRF(symmetric=True, tol=1e-8).fit(X, y)
    other = GraphCRF(symmetric=True, tol=1e-8).fit(turned, y)
    np.testing.assert_array_equal(crf.transition_, crf.transition_.T)
    tables = crf.edge_coef_.T.reshape(-1, 3, 3)
    np.testing.assert_array_equal(tables, tables.transpose(0, 2, 1))
    np.testing.assert_allclose(other._w, crf._w, atol=1e-6)
    assert len(crf._w) == 3 * 2 + 3 * (2 * 3) + 3
    for a, b in zip(crf.predict_proba(X), crf.predict_proba(turned), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_starts_from_other_models():
    X, y = graphs_with_features(np.random.default_rng(4))
    plain = [graph[:2] for graph in X]
    crf = GraphCRF(tol=1e-7).fit(X, y)
    again = GraphCRF(tol=1e9).fit(X, y, init=crf)
    np.testing.assert_allclose(again._w, crf._w, atol=1e-5)
    undirected = GraphCRF(symmetric=True, tol=1e9, max_iter=1).fit(X, y, init=crf)
    assert np.isfinite(undirected._w).all()
    # what only one of them has starts from 0
    bare = GraphCRF(tol=1e-7).fit(plain, y)
    start = GraphCRF(tol=1e9).fit(X, y, init=bare)
    np.testing.assert_allclose(start.transition_, bare.transition_, atol=1e-5)
    narrow = [(nodes, edges, features[:, :1]) for nodes, edges, features in X]
    with pytest.raises(LengthMismatchError, match="init has 2 features of edges, but X has 1"):
        GraphCRF().fit(narrow, y, init=crf)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "dicts"])
def test_files_and_pickles(tmp_path, symmetric, kind):
    X, y = graphs_with_features(np.random.default_rng(5))
    if kind == "sparse":
        X = sparse(X)
    if kind == "dicts":
        X = [
            (nodes, edges, [{"kind": str(int(row[0] > 0.5)), "size": row[1]} for row in features])
            for nodes, edges, features in X
        ]
    crf = GraphCRF(symmetric=symmetric).fit(X, y)
    persistence.save(crf, tmp_path / "model")
    for copy in (persistence.load(tmp_path / "model"), pickle.loads(pickle.dumps(crf))):
        assert copy.n_edge_features_in_ == crf.n_edge_features_in_
        for a, b in zip(copy.predict_proba(X), crf.predict_proba(X), strict=True):
            np.testing.assert_array_equal(a, b)
        again = copy.set_params(tol=1e9).fit(X, y, init=copy)
        assert again.n_edge_features_in_ == crf.n_edge_features_in_


def test_bits_do_not_depend_on_threads():
    X, y = graphs_with_features(np.random.default_rng(6), n_graphs=300)
    one, two = (GraphCRF(symmetric=True, n_jobs=n, tol=1.0) for n in (1, 2))
    np.testing.assert_array_equal(one.fit(X, y)._w, two.fit(X, y)._w)


def test_a_packed_array_is_taken_by_searches():
    X, y = graphs_with_features(np.random.default_rng(7))
    packed = GraphArray.from_graphs(X)
    crf = GraphCRF().fit(X, y)
    np.testing.assert_array_equal(GraphCRF().fit(packed, y)._w, crf._w)
    assert crf.predict(packed[::-1]).tolist() == crf.predict(X).tolist()[::-1]
    expected = cross_val_score(GraphCRF(), X, y, cv=3)
    np.testing.assert_array_equal(cross_val_score(GraphCRF(), packed, y, cv=3), expected)
    search = GridSearchCV(GraphCRF(), {"C": [0.1, 1.0]}, cv=3).fit(packed, y)
    assert search.best_score_ >= expected.mean()


def networks(X, y, kind=nx.DiGraph):
    made = []
    for (nodes, edges, features), labels in zip(X, y, strict=True):
        graph = kind()
        for t, (row, label) in enumerate(zip(nodes, labels)):
            graph.add_node(f"n{t}", x=row[0], y=row[1], label=label)
        for (i, j), row in zip(edges.tolist(), features):
            graph.add_edge(f"n{i}", f"n{j}", p=row[0], q=row[1])
        made.append(graph)
    return made


def test_graphs_of_networkx():
    X, y = graphs_with_features(np.random.default_rng(8))
    crf = GraphCRF().fit(X, y)
    packed, labels = GraphArray.from_networkx(networks(X, y), ["x", "y"], ["p", "q"], "label")
    assert labels == y
    # edges stand in another order
    np.testing.assert_allclose(GraphCRF().fit(packed, labels)._w, crf._w, atol=1e-4)
    for graph in (plain := networks(X, y)):
        for node in graph.nodes:
            del graph.nodes[node]["label"]
    direct = GraphCRF(feature_pairs="all").fit(plain, y)
    np.testing.assert_allclose(direct.coef_.toarray(), crf.coef_, atol=1e-4)
    assert direct.feature_names_in_.tolist() == ["x", "y"]
    assert direct.edge_vectorizer_.get_feature_names_out().tolist() == ["p", "q"]
    assert direct.predict(plain).tolist() == crf.predict(X).tolist()


def test_graphs_without_direction_warn_unless_symmetric():
    X, y = graphs_with_features(np.random.default_rng(9))
    undirected = networks(X, y, nx.Graph)
    with pytest.warns(UserWarning, match="symmetric=True"):
        GraphCRF(max_iter=1, tol=1e9).fit(undirected, y)
    crf = GraphCRF(symmetric=True).fit(undirected, y)
    assert crf.score(undirected, y) > 0.5


@pytest.mark.parametrize("size", [3, 5])
def test_adjacency_matrices_of_other_graphs_are_refused(size):
    A = np.zeros((size, size))
    A[0, 1] = A[1, 0] = 1.0
    message = rf"X\[0\] has 4 nodes, but its adjacency matrix has the shape \({size}, {size}\)"
    crf = GraphCRF().fit([(np.eye(4), [[0, 1]])], [[0, 1, 0, 1]])
    for nodes in (np.eye(4), sp.csr_array(np.eye(4)), np.eye(4).tolist()):
        with pytest.raises(LengthMismatchError, match=message):
            GraphCRF().fit([(nodes, sp.csr_array(A))], [[0, 1, 0, 1]])
        with pytest.raises(LengthMismatchError, match=message):
            crf.predict([(nodes, sp.csr_array(A))])


def test_adjacency_matrices():
    X, y = graphs_with_features(np.random.default_rng(10))
    pairs = [(nodes, edges) for nodes, edges, _ in X]
    crf = GraphCRF().fit(pairs, y)
    directed = []
    both_ways = []
    for nodes, edges in pairs:
        A = sp.coo_array((np.ones(len(edges)), edges.T), shape=(len(nodes),) * 2)
        directed.append((nodes, A))
        both_ways.append((nodes, sp.csr_array(A + A.T)))
    assert crf.score(directed, y) == crf.score(pairs, y)
    np.testing.assert_allclose(GraphCRF(tol=1e-7).fit(directed, y)._w, crf._w, atol=1e-3)
    symmetric = GraphCRF(symmetric=True, tol=1e-7).fit(pairs, y)
    same = GraphCRF(symmetric=True, tol=1e-7).fit(both_ways, y)
    np.testing.assert_allclose(same._w, symmetric._w, atol=1e-5)


NODES = np.ones((3, 2))
EDGES = [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([(NODES, EDGES, np.ones((3, 2)))], LengthMismatchError, "of 3 edges, but there are 2"),
        ([(NODES, EDGES, [[1.0, np.nan]] * 2)], ValueError, "features of edges: .*not finite"),
        ([(NODES, EDGES, [1.0, 2.0])], (ValueError, TypeError), "features of edges"),
        ([(NODES, EDGES, NODES[:2]), (NODES, EDGES)], InputTypeError, r"X\[1\]: its edges have no"),
        ([(NODES, sp.csr_array(2 * np.eye(3)))], InputTypeError, "has ones for edges"),
        ([(NODES, sp.csr_array(np.ones((3, 2))))], InputTypeError, "is square"),
        ([(NODES, sp.csr_array(np.eye(3)))], ValueError, "from node 0 to itself"),
        ([(NODES, [[0, 1], [1, 0]])], ValueError, "edge 1: nodes 1 and 0 have edge 0 already"),
        ([nx.MultiGraph([(0, 1), (0, 1)])], ValueError, "a multigraph"),
    ],
)
def test_what_cannot_be_read_is_refused(X, error, message):
    crf = GraphCRF()
    with pytest.raises(error, match=message):
        crf.fit(X, [["a", "b", "a"]] * len(X))
    assert not hasattr(crf, "classes_")


def test_other_features_of_edges_than_in_fit_are_refused():
    X, y = graphs_with_features(np.random.default_rng(11))
    crf = GraphCRF(max_iter=1, tol=1e9).fit(X, y)
    with pytest.raises(LengthMismatchError, match="edges have 0 features, but 2 in fit"):
        crf.predict([graph[:2] for graph in X])
    with pytest.raises(InputTypeError, match="dicts or strings, but numbers in fit"):
        crf.predict([(nodes, edges, [{"a": 1.0}] * len(edges)) for nodes, edges, _ in X])
    # graphs without edges have none to show
    assert len(crf.predict([(X[0][0], [])])[0]) == 5


def test_chains_and_graphs_start_each_other():
    """Features of edges belong to one of them alone."""
    rng = np.random.default_rng(12)
    X, y = graphs_with_features(rng)
    crf = GraphCRF(tol=1e-7).fit(X, y)
    nodes = [graph[0] for graph in X]
    chain = LinearChainCRF(edge_features="all", tol=1e9).fit(nodes, y, init=crf)
    np.testing.assert_allclose(chain.transition_, crf.transition_, atol=1e-12)
    np.testing.assert_allclose(chain.coef_, crf.coef_, atol=1e-12)
    assert not chain.edge_coef_.any()
    back = GraphCRF(tol=1e9).fit(X, y, init=chain)
    np.testing.assert_allclose(back.transition_, crf.transition_, atol=1e-12)
    assert not back.edge_coef_.any()


def test_networks_without_edges_beside_others():
    """They cannot show that edges have features."""
    pair = nx.DiGraph()
    pair.add_nodes_from([(0, {"word": "a"}), (1, {"word": "b"})])
    pair.add_edge(0, 1, far=True)
    alone = nx.DiGraph()
    alone.add_node(0, word="a")
    crf = GraphCRF().fit([alone, pair], [["x"], ["x", "y"]])
    assert crf.n_edge_features_in_ == 1
    assert crf.predict([alone, pair]).tolist() == [["x"], ["x", "y"]]
    pair.edges[0, 1].clear()
    other = alone.copy()
    other.add_node(1, word="b")
    other.add_edge(0, 1, far=True)
    with pytest.raises(InputTypeError, match=r"X\[1\]: its edges have features, unlike"):
        crf.predict([pair, other])


def test_adjacency_matrices_of_which_some_have_no_direction():
    """One of them is enough for the warning, wherever it stands; one without edges is none."""
    directed = np.ones((2, 1)), sp.csr_array([[0, 1], [0, 0]])
    symmetric = np.ones((2, 1)), sp.csr_array([[0, 1], [1, 0]])
    empty = np.ones((2, 1)), sp.csr_array((2, 2))
    y = [["a", "b"], ["b", "a"]]
    for X in ([symmetric, directed], [directed, symmetric], [symmetric, empty]):
        with pytest.warns(UserWarning, match="edges of some graphs have no direction"):
            GraphCRF().fit(X, y)
    for X in ([directed, empty], [empty, directed], [empty, empty]):
        GraphCRF().fit(X, y)
