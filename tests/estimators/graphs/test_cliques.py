"""Clique templates: several kinds of edges, and cliques of three and four nodes."""

from __future__ import annotations

import pickle
from itertools import combinations, permutations, product

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import Cliques, GraphCRF, persistence
from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.inference.graphs.junction_tree import JunctionTree

LABELS = np.array(["a", "b", "c"])


def some(rng, n, r, count):
    """Different sets of r nodes, in any order."""
    every = list(combinations(range(n), r))
    chosen = rng.permutation(len(every))[:count]
    return np.array([rng.permutation(every[i]) for i in chosen]).reshape(-1, r)


def graphs_with_cliques(rng, n_graphs=20, n=6, symmetric=False, form=np.asarray):
    X = []
    y = []
    for i in range(n_graphs):
        codes = rng.integers(3, size=n)
        near = some(rng, n, 2, 5)
        alike = (codes[near[:, 0]] == codes[near[:, 1]]).astype(float)
        parts = [
            Cliques("near", near, form(np.column_stack([alike, rng.normal(size=5)]))),
            Cliques("far", some(rng, n, 2, 3)),
            Cliques("triple", some(rng, n, 3, 3), symmetric=symmetric),
        ]
        if i % 2:
            # not every graph has all kinds
            four = some(rng, n, 4, 2)
            parts.insert(0, Cliques("four", four, form(rng.normal(size=(2, 1)))))
        nodes = np.column_stack([codes + rng.normal(size=n), rng.normal(size=n)])
        X.append((nodes, parts))
        y.append(LABELS[codes].tolist())
    return X, y


def log_p_by_enumeration(crf, graph, labels):
    """log p(y | x) from the weights that users see."""
    nodes, parts = graph
    K = len(crf.classes_)
    scores = nodes @ crf.coef_.T + crf.intercept_
    totals = {}
    for codes in product(range(K), repeat=len(nodes)):
        total = sum(scores[i, k] for i, k in enumerate(codes))
        for part in parts:
            table = crf.clique_transition_[part.name]
            coef = crf.clique_coef_[part.name]
            for c, members in enumerate(part.nodes):
                place = tuple(codes[i] for i in members)
                total += table[place]
                if part.features is not None:
                    total += part.features[c] @ coef[(slice(None), *place)]
        totals[codes] = total
    truth = tuple(np.searchsorted(crf.classes_, labels).tolist())
    return totals[truth] - np.logaddexp.reduce(list(totals.values()))


@pytest.mark.parametrize("symmetric", [False, True])
def test_probabilities_are_those_of_enumeration(symmetric):
    X, y = graphs_with_cliques(np.random.default_rng(0), symmetric=symmetric)
    crf = GraphCRF(C=2.0).fit(X, y)
    assert crf.clique_transition_["four"].shape == (3,) * 4
    assert crf.clique_coef_["near"].shape == (2, 3, 3)
    assert crf.clique_coef_["triple"].shape == (0, 3, 3, 3)
    table = crf.clique_transition_["triple"]
    if symmetric:
        for order in permutations(range(3)):
            np.testing.assert_array_equal(table, table.transpose(order))
    expected = [log_p_by_enumeration(crf, *pair) for pair in zip(X[:4], y)]
    np.testing.assert_allclose(crf.log_proba(X[:4], y[:4]), expected, atol=1e-10)


def test_gradients_are_those_of_the_likelihood():
    """At the minimum the penalty's derivative is what enumeration would have it."""
    X, y = graphs_with_cliques(np.random.default_rng(1), n_graphs=6)
    crf = GraphCRF(C=2.0, tol=1e-8).fit(X, y)
    # expected minus observed counts of a clique's labellings, times C, are the weights
    counts = np.zeros((3,) * 3)
    for (_, parts), labels, proba in zip(X, y, crf.predict_clique_proba(X, "triple"), strict=True):
        codes = np.searchsorted(crf.classes_, labels)
        counts -= proba.sum(axis=0)
        (triple,) = (part for part in parts if part.name == "triple")
        for members in triple.nodes:
            counts[tuple(codes[members])] += 1
    np.testing.assert_allclose(crf.clique_transition_["triple"], 2.0 * counts, atol=1e-5)


def test_two_kinds_of_edges_are_one_if_they_share_their_weights():
    """The same edges under one name, or as two halves under two: the latter has more weights."""
    rng = np.random.default_rng(2)
    X, y = graphs_with_cliques(rng)
    one = [(nodes, [parts[-3]._replace(features=None)]) for nodes, parts in X]
    plain = [(nodes, parts[-3].nodes) for nodes, parts in X]
    a = GraphCRF(tol=1e-7).fit(one, y)
    b = GraphCRF(tol=1e-7).fit(plain, y)
    np.testing.assert_allclose(a._w, b._w, atol=1e-6)
    halves = [
        (nodes, [Cliques("a", edges[::2]), Cliques("b", edges[1::2])]) for nodes, edges in plain
    ]
    c = GraphCRF(tol=1e-7).fit(halves, y, init=b)
    assert sorted(c.clique_transition_) == ["a", "b"]
    with pytest.raises(AttributeError, match="no cliques 'edges'"):
        c.predict_edge_proba(halves)
    assert not hasattr(c, "transition_")


def test_a_clique_of_three_is_an_auxiliary_node():
    """A node of eight labels, whose edges allow only those of its three neighbours that it says."""
    rng = np.random.default_rng(3)
    members = np.array([[0, 1, 2], [3, 1, 2]])
    scores = rng.normal(size=(4, 2))
    tables = rng.normal(size=(2, 8))
    offsets = np.array([0, 4])
    bounds = np.array([0, 2])
    triples = Structure(offsets, (Family(members, bounds),))
    log_Z = np.zeros(1)
    out = Potentials(np.zeros((4, 2)), (np.zeros((2, 8)),))
    JunctionTree().marginals(Potentials(scores, (tables,)), triples, np.ones(1), out, log_Z)
    node = np.full((6, 8), -np.inf)
    node[:4, :2] = scores
    node[4:] = tables
    edges = []
    pairs = []
    for c, nodes in enumerate(members):
        for place, i in enumerate(nodes):
            agree = np.full((8, 8), -np.inf)
            for state in range(8):
                agree[state, (state >> (2 - place)) & 1] = 0.0
            edges.append([4 + c, i])
            pairs.append(agree.ravel())
    auxiliary = Structure(np.array([0, 6]), (Family(np.array(edges), np.array([0, 6])),))
    again = np.zeros(1)
    out_pairs = Potentials(np.zeros((6, 8)), (np.zeros((6, 64)),))
    potentials = Potentials(node, (np.array(pairs),))
    JunctionTree().marginals(potentials, auxiliary, np.ones(1), out_pairs, again)
    np.testing.assert_allclose(again, log_Z, atol=1e-10)
    np.testing.assert_allclose(out_pairs.node[:4, :2], out.node, atol=1e-10)
    np.testing.assert_allclose(out_pairs.node[4:], out.cliques[0], atol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_files_pickles_and_starts(tmp_path, form):
    X, y = graphs_with_cliques(np.random.default_rng(4), symmetric=True, form=form)
    crf = GraphCRF(tol=1e-6).fit(X, y)
    persistence.save(crf, tmp_path / "model")
    for copy in (persistence.load(tmp_path / "model"), pickle.loads(pickle.dumps(crf))):
        for a, b in zip(copy.predict_proba(X), crf.predict_proba(X), strict=True):
            np.testing.assert_array_equal(a, b)
        again = copy.set_params(tol=1e9).fit(X, y, init=copy)
        np.testing.assert_allclose(again._w, crf._w, atol=1e-4)
        with pytest.raises(InputTypeError, match="called 'wide', but in fit there were"):
            copy.predict([(np.ones((3, 2)), [Cliques("wide", [[0, 1]])])])


def test_belief_propagation_and_exact_inference_agree_where_that_is_exact():
    """Triples that share one node each hang together as a tree."""
    rng = np.random.default_rng(5)
    parts = [Cliques("triple", [[0, 1, 2], [2, 3, 4]])]
    X = [(rng.normal(size=(5, 2)), parts) for _ in range(12)]
    y = [LABELS[rng.integers(3, size=5)].tolist() for _ in X]
    exact = GraphCRF(tol=1e-8, inference="exact").fit(X, y)
    near = GraphCRF(tol=1e-8, inference="bp", inference_tol=1e-12).fit(X, y)
    np.testing.assert_allclose(near._w, exact._w, atol=1e-6)


NODES = np.ones((3, 2))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([[Cliques("a", [[0, 1, 1]])]], r"X\[0\], clique of 'a' 0: it has a node twice"),
        ([[Cliques("a", [[0, 1, 3]])]], "node 3 is not one of the graph's 3"),
        ([[Cliques("a", [[0, 1, 2], [2, 0, 1]])]], "nodes 2, 0 and 1 have clique 0 already"),
        ([[Cliques("a", [[0], [1]])]], r"\(n_cliques, 2\) or wider"),
        ([[Cliques("a", [[0, 1]]), Cliques("a", [[1, 2]])]], "two Cliques are called 'a'"),
        ([[Cliques(1, [[0, 1]])]], "a name of Cliques is a string"),
        ([[Cliques("a", [[0, 1]], None, NODES)]], "symmetric of 'a' must be True or False, got a "),
        ([[Cliques("a", [[0, 1]])], [Cliques("a", [[0, 1, 2]])]], "of 3 nodes, not 2"),
        ([[Cliques("a", [[0, 1]])], [Cliques("a", [[0, 1]], NODES[:1])]], "unlike in"),
        ([[Cliques("a", [[0, 1]])], [Cliques("a", [[0, 1]], None, True)]], "symmetric=True"),
        ([[Cliques("a", [[0, 1]])], [[0, 1]]], "all must be"),
        ([[Cliques("a", [[0, 1]], NODES)]], "features of 3 cliques 'a', but there are 1"),
    ],
)
def test_what_cannot_be_read_is_refused(parts, message):
    crf = GraphCRF()
    with pytest.raises((InputTypeError, LengthMismatchError, ValueError), match=message):
        crf.fit([(NODES, part) for part in parts], [["a", "b", "a"]] * len(parts))
    assert not hasattr(crf, "classes_")


@pytest.mark.parametrize("name", [["edges"], None, 0, {}])
def test_names_that_are_none(name):
    crf = GraphCRF().fit([(NODES, [[0, 1]])], [["a", "b", "a"]])
    with pytest.raises(InputTypeError, match="name must be a string, of Cliques, such as 'edges'"):
        crf.predict_clique_proba([(NODES, [[0, 1]])], name)


def test_tables_that_are_too_large_are_refused():
    X = [(np.ones((30, 1)), [Cliques("a", [list(range(30))])])]
    with pytest.raises(ValueError, match=r"2\*\*30 labellings"):
        GraphCRF().fit(X, [["a", "b"] * 15])


def test_cliques_without_a_length_are_refused():
    """With the place, whether such cliques are known or not."""
    nodes = np.eye(2)
    known = (nodes, [[0, 1]])
    other = (nodes, [Cliques("one", [[0, 1]])])
    for graph in (known, other):
        crf = GraphCRF(max_iter=1, tol=1e9).fit([graph], [["a", "b"]])
        with pytest.raises(InputTypeError, match=r"X\[0\]: edges have shape \(\)"):
            crf.predict([(nodes, np.array(3))])
