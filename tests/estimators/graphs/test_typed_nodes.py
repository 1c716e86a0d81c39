"""Nodes of several types, each with labels of its own, by enumeration and against other models."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from typed_graphs import LABELS, Enumerated, Spy, typed_graphs

from sklearn_struct import Cliques, FactorialCRF, GraphArray, GraphCRF, TypedNodes, persistence
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
    UnknownValueError,
)


@pytest.fixture(scope="module")
def fitted():
    X, y = typed_graphs(np.random.default_rng(0))
    return GraphCRF(C=3.0).fit(X, y), X, y


def test_labels_of_types(fitted):
    crf, X, _ = fitted
    assert {name: labels.tolist() for name, labels in crf.type_classes_.items()} == LABELS
    assert crf.classes_.tolist() == [(name, k) for name, of in LABELS.items() for k in of]
    assert crf.type_slices_ == {"a": slice(0, 2), "b": slice(2, 5), "c": slice(5, 9)}
    for (nodes, _), labels in zip(X, crf.predict(X), strict=True):
        assert all(label in LABELS[name] for name, label in zip(nodes.types, labels, strict=True))
    # no weights, as no edge leads from a later type to an earlier one
    assert not crf.transition_[2:, :2].any()
    assert not crf.transition_[5:, :5].any()
    assert len(crf._segments().columns[0]) == 4 + 9 + 16 + 6 + 8 + 12


def check_by_enumeration(crf, X, y):
    expected = [Enumerated(crf, graph) for graph in X]
    log_p = [every.log_p(labels) for every, labels in zip(expected, y, strict=True)]
    np.testing.assert_allclose(crf.log_proba(X, y), log_p, atol=1e-10)
    log_Z = [every.log_Z for every in expected]
    np.testing.assert_allclose(crf.log_partition(X), log_Z, atol=1e-10)
    parts = X, expected, crf.predict(X), crf.predict_proba(X)
    for (nodes, _, *_), every, labels, proba in zip(*parts, strict=True):
        of_nodes = [every.marginals([t]) for t in range(len(nodes.types))]
        np.testing.assert_allclose(proba, of_nodes, atol=1e-10)
        best = [crf.classes_[k] for k in every.best()]
        assert list(zip(nodes.types, labels, strict=True)) == best


def test_probabilities_are_those_of_enumeration(fitted):
    crf, X, y = fitted
    check_by_enumeration(crf, X, y)
    for (_, edges), table, every in zip(
        X, crf.predict_edge_proba(X), [Enumerated(crf, graph) for graph in X], strict=True
    ):
        pairs = [every.marginals(members) for members in edges.tolist()]
        np.testing.assert_allclose(table, pairs, atol=1e-10)


@pytest.mark.parametrize("inference", ["exact", "bp", "trw"])
def test_forests(inference):
    X, y = typed_graphs(np.random.default_rng(1), forest=True, form=sp.csr_array)
    crf = GraphCRF(C=3.0, inference=inference, max_iter=5, tol=1.0).fit(X, y)
    check_by_enumeration(crf, X, y)


def test_features_of_edges_without_direction():
    rng = np.random.default_rng(2)
    X, y = typed_graphs(rng)
    turned = [edges[:, ::-1] if i % 2 else edges for i, (_, edges) in enumerate(X)]
    X = [(nodes, edges, rng.normal(size=(len(edges), 2))) for (nodes, _), edges in zip(X, turned)]
    crf = GraphCRF(C=3.0, symmetric=True, max_iter=5, tol=1.0).fit(X, y)
    np.testing.assert_array_equal(crf.transition_, crf.transition_.T)
    check_by_enumeration(crf, X, y)
    # what cannot be has no weight
    assert len(crf._segments().columns[0]) == 9 * 10 // 2


def test_loss_and_derivative_are_those_of_enumeration():
    X, y = typed_graphs(np.random.default_rng(3), n_graphs=6)
    crf = Spy(C=2.0, max_iter=2, tol=1.0).fit(X, y)
    w = np.random.default_rng(4).normal(size=len(crf._w))

    def loss(at):
        crf._w = at
        return -np.mean([Enumerated(crf, x).log_p(labels) for x, labels in zip(X, y)])

    value, gradient = crf.objective_.value_and_grad(w)
    assert value == pytest.approx(loss(w), abs=1e-10)
    for i in np.random.default_rng(5).permutation(len(w))[:12]:
        step = np.zeros(len(w))
        step[i] = 1e-5
        assert gradient[i] == pytest.approx((loss(w + step) - loss(w - step)) / 2e-5, abs=1e-8)


def test_one_type_is_none():
    X, y = typed_graphs(np.random.default_rng(6), kinds="b")
    plain = [(nodes.features, edges) for nodes, edges in X]
    typed = GraphCRF(tol=1e-8).fit(X, y)
    crf = GraphCRF(tol=1e-8).fit(plain, y)
    np.testing.assert_allclose(typed._w, crf._w, atol=1e-6)
    assert typed.predict(X).tolist() == crf.predict(plain).tolist()
    # and a fit without types forgets them
    again = typed.fit(plain, y)
    assert again.classes_.tolist() == ["x", "y", "z"]
    with pytest.raises(AttributeError, match="had no types"):
        _ = again.type_classes_


def test_rows_of_labels_are_types():
    rng = np.random.default_rng(7)
    tokens = [rng.normal(size=(n, 2)) for n in (3, 1, 2, 3, 2)]
    rows = [[("ab"[int(t[0] > 0)], int(rng.integers(3))) for t in x] for x in tokens]
    factorial = FactorialCRF(tol=1e-9).fit(tokens, rows)
    X = []
    for x in tokens:
        n = len(x)
        near = np.column_stack([np.arange(n - 1), np.arange(1, n)])
        both = np.column_stack([np.arange(n), n + np.arange(n)])
        parts = [Cliques("0", near), Cliques("1", n + near), Cliques("2", both)]
        X.append((TypedNodes(np.concatenate([x, x]), ["r0"] * n + ["r1"] * n), parts))
    y = [[entry[r] for r in range(2) for entry in labels] for labels in rows]
    crf = GraphCRF(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(crf.log_proba(X, y), factorial.log_proba(tokens, rows), atol=1e-5)
    np.testing.assert_allclose(
        crf.clique_transition_["2"][:2, 2:], factorial.pair_transition_[0, 1], atol=1e-5
    )


def test_missing_labels_and_sets():
    X, y = typed_graphs(np.random.default_rng(8))
    y[0][1:3] = [None, {0, 2}]
    y[1] = None
    crf = GraphCRF(C=3.0).fit(X, y)
    [log_p] = crf.log_proba(X[:1], y[:1])
    every = Enumerated(crf, X[0])
    each = [every.log_p([y[0][0], None, k, *y[0][3:]]) for k in (0, 2)]
    assert X[0][0].types[:3] == ["a", "b", "c"]
    assert log_p == pytest.approx(np.logaddexp(*each), abs=1e-10)
    assert crf.log_proba(X[1:2], [None])[0] == pytest.approx(0.0, abs=1e-10)
    assert 0 < crf.score(X, y) <= 1


def test_files_pickles_and_starts(tmp_path, fitted):
    crf, X, y = fitted
    persistence.save(crf, tmp_path / "model")
    for copy in (persistence.load(tmp_path / "model"), pickle.loads(pickle.dumps(crf))):
        assert copy.predict(X).tolist() == crf.predict(X).tolist()
        assert copy.type_slices_ == crf.type_slices_
        for name, labels in crf.type_classes_.items():
            assert labels.dtype == copy.type_classes_[name].dtype
            assert labels.tolist() == copy.type_classes_[name].tolist()
        again = GraphCRF(C=3.0, tol=1e9).fit(X, y, init=copy)
        np.testing.assert_array_equal(again._w, crf._w)


def test_threads_change_nothing(fitted):
    crf, X, y = fitted
    again = GraphCRF(C=3.0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again._w, crf._w)


@pytest.mark.parametrize("loss", ["pseudo", "piecewise", "composite", "contrastive", "samplerank"])
def test_other_losses_never_mix_types(loss):
    X, y = typed_graphs(np.random.default_rng(9), n_graphs=6)
    crf = GraphCRF(loss=loss, max_iter=3, tol=1e3).fit(X, y)
    assert np.all(np.isfinite(crf._w))
    for (nodes, _), labels, proba in zip(X, crf.predict(X), crf.predict_proba(X), strict=True):
        for name, label, p in zip(nodes.types, labels, proba, strict=True):
            assert label in LABELS[name]
            assert p[crf.type_slices_[name]].sum() == pytest.approx(1.0)


# ---- packed graphs


def test_packed_graphs(fitted):
    crf, X, y = fitted
    packed = GraphArray.from_graphs(X)
    assert repr(packed).endswith("n_node_types=3)")
    assert packed[1][0].types.tolist() == list(X[1][0].types)
    assert crf.predict(packed[3:]).tolist() == crf.predict(X[3:]).tolist()
    assert np.concatenate([packed[:2], packed[2:]]) == packed
    nodes = packed.nodes
    assert GraphArray(nodes, packed.edges, None, packed.node_types) == packed
    assert GraphArray(nodes, packed.edges) != packed
    X, y = typed_graphs(np.random.default_rng(10), kinds="ab")
    search = GridSearchCV(GraphCRF(max_iter=3, tol=1e3), {"C": [0.1, 1.0]}, cv=2)
    assert search.fit(GraphArray.from_graphs(X), y).predict(X[:2])[0]


def test_types_of_networks():
    graph = nx.Graph()
    graph.add_node("p", size=1.0, kind="a", label="x")
    graph.add_node("q", size=2.0, kind="b", label="z")
    graph.add_edge("p", "q")
    X, y = GraphArray.from_networkx([graph] * 2, ["size"], label="label", node_type="kind")
    assert X[0][0].types.tolist() == ["a", "b"]
    assert GraphCRF().fit(X, y).predict(X)[0] == ["x", "z"]
    with pytest.raises(ValueError, match="no attribute 'color'"):
        GraphArray.from_networkx([graph], ["size"], node_type="color")


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ([["a", "b"], ["c"]], "one type for each node"),
        ([["a", 1], ["c"], ["a"]], r"node_types\[0\], node 1: a type is a string, got 1"),
    ],
)
def test_bad_types_of_packed_graphs(types, message):
    with pytest.raises(ValueError, match=message):
        GraphArray([np.ones((2, 1)), np.ones((1, 1)), np.ones((1, 1))], [[], [], []], None, types)
    plain = GraphArray([np.ones((1, 1))], [[]])
    typed = GraphArray([np.ones((1, 1))], [[]], None, [["a"]])
    with pytest.raises(ValueError, match="or none have"):
        np.concatenate([plain, typed])


# ---- bad input


def test_types_of_some_graphs_alone(fitted):
    crf, X, y = fitted
    few = [(nodes, edges) for nodes, edges in X if set(nodes.types) <= {"a", "b"}]
    assert few
    assert len(crf.predict(few)) == len(few)
    every = GraphCRF(max_iter=2, tol=1e3).fit(X, y)
    assert list(every.type_classes_) == ["a", "b", "c"]


ONE = np.ones((2, 2))


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        ((ONE, [[0, 1]]), InputTypeError, "nodes of X have no types, unlike in fit"),
        (
            (TypedNodes(ONE, ["a", "w"]), [[0, 1]]),
            UnknownValueError,
            r"X\[0\], node 1: the type 'w' was not seen in fit \(known: 'a', 'b', 'c'\)",
        ),
        ((TypedNodes(ONE, ["a"]), []), LengthMismatchError, r"X\[0\]: types of 1 nodes, but .* 2"),
        ((TypedNodes(ONE, ["a", 3]), []), InputTypeError, r"X\[0\], node 1: a type is a string"),
        ((TypedNodes(ONE, "ab"), []), InputTypeError, "types of nodes must be a list of strings"),
    ],
)
def test_bad_graphs(fitted, graph, error, message):
    crf, _, _ = fitted
    with pytest.raises(error, match=message):
        crf.predict([graph])


def test_types_between_which_there_were_no_edges(fitted):
    crf, _, _ = fitted
    graph = TypedNodes(ONE, ["b", "a"])
    said = r"X\[0\], edge 0: its nodes are of the types 'b', 'a', and fit .* in this order: such"
    with pytest.warns(UserWarning, match=said):
        [proba] = crf.predict_proba([(graph, [[0, 1]])])
    np.testing.assert_allclose(proba, crf.predict_proba([(graph, [])])[0], atol=1e-12)


def test_bad_data_of_fits(fitted):
    _, X, y = fitted
    plain = [(nodes.features, edges) for nodes, edges in X]
    with pytest.raises(InputTypeError, match=r"X\[1\]: its nodes have no types, unlike those of"):
        GraphCRF().fit([X[0], plain[1]], y[:2])
    untyped = GraphCRF(max_iter=1, tol=1e9).fit(plain, [["p"] * len(labels) for labels in y])
    with pytest.raises(InputTypeError, match="nodes of X have types"):
        untyped.predict(X)
    single = GraphCRF().fit([(TypedNodes(ONE[:1], ["a"]), [])] * 2, [["x"], ["y"]])
    with pytest.raises(InputTypeError, match="nodes of X have no types"):
        single.predict(ONE)
    none = [[None if t == "b" else k for t, k in zip(x[0].types, of)] for x, of in zip(X, y)]
    with pytest.raises(EmptyDataError, match="no labels of nodes of the type 'b'"):
        GraphCRF().fit(X, none)
    with pytest.raises(ValueError, match="requires y"):
        GraphCRF().fit(X, None)


def test_labels_of_another_type(fitted):
    crf, X, y = fitted
    wrong = [list(labels) for labels in y]
    assert X[0][0].types[0] == "a"
    wrong[0][0] = "z"
    with pytest.raises(UnknownLabelError, match=r"y\[0\], node 0: label 'z' .* type .* is 'a'"):
        crf.log_proba(X, wrong)
    # in scores what was never seen is wrong
    right = crf.score(X, crf.predict(X))
    assert right == 1.0
    labels = [list(labels) for labels in crf.predict(X)]
    labels[0][0] = "z"
    assert crf.score(X, labels) == pytest.approx(1 - 1 / sum(map(len, labels)))


def test_labels_of_other_types_are_not_too_large():
    """Their score of -inf is meant; a node of the second type is the one to be named."""
    X = [(TypedNodes(np.eye(2), ["a", "b"]), []), (TypedNodes(np.eye(2), ["b", "b"]), [])]
    crf = GraphCRF().fit(X, [["x", "x"], ["y", "x"]])
    large = np.array([[0.0, 0.0], [1e308, 0.0]])
    with pytest.raises(NonFiniteError, match=r"X\[0\], node 1: the score of the label .*'b', 'x'"):
        crf.predict([(TypedNodes(large, ["a", "b"]), [])])
