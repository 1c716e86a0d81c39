"""What `predict` gives by each decoder, by enumeration and on grids."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sklearn_struct import FactorialCRF, GraphCRF, SkipChainCRF, persistence

LABELS = np.array(["a", "b", "c"])


def graphs(rng, sizes=(5, 1, 4, 6) * 5):
    """Random graphs with cycles, and labels that depend on nodes in part."""
    X = []
    y = []
    for n in sizes:
        pairs = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.6]
        nodes = rng.normal(size=(n, 3))
        X.append((nodes, np.array(pairs, int).reshape(-1, 2)))
        y.append(LABELS[rng.integers(3, size=n) * (nodes[:, 0] > 0)].tolist())
    return X, y


def all_scores(crf, graph):
    """All labellings of a graph as rows of codes, and their scores."""
    nodes, edges = graph
    scores = nodes @ crf.coef_.T + crf.intercept_
    every = np.array(list(product(range(len(crf.classes_)), repeat=len(nodes))))
    total = scores[np.arange(len(nodes)), every].sum(axis=1)
    for a, b in edges:
        total += crf.transition_[every[:, a], every[:, b]]
    return every, total


@pytest.fixture(scope="module")
def fitted():
    X, y = graphs(np.random.default_rng(0))
    # strong edges: decoders agree where they are weak
    return GraphCRF(C=100.0).fit(X, y), X, y


def test_marginals_choose_each_node_by_itself(fitted):
    crf, X, _ = fitted
    crf.set_params(decoder="marginal")
    chosen = crf.predict(X)
    together = crf.set_params(decoder="auto").predict(X)
    for graph, labels, joint in zip(X, chosen, together, strict=True):
        every, total = all_scores(crf, graph)
        p = np.exp(total - np.logaddexp.reduce(total))
        best = [np.bincount(column, p, 3).argmax() for column in every.T]
        assert labels == crf.classes_[best].tolist()
        assert joint == crf.classes_[every[total.argmax()]].tolist()
    assert chosen.tolist() != together.tolist()


def test_iterated_modes_cannot_be_made_better_by_one_label(fitted):
    crf, X, _ = fitted
    crf.set_params(decoder="icm")
    for (nodes, edges), labels in zip(X, crf.predict(X), strict=True):
        every, total = all_scores(crf, (nodes, edges))
        codes = np.searchsorted(crf.classes_, labels)
        score = total[np.all(every == codes, axis=1)][0]
        near = np.sum(every != codes, axis=1) == 1
        assert np.all(total[near] <= score + 1e-12)
        start = (nodes @ crf.coef_.T + crf.intercept_).argmax(axis=1)
        assert score >= total[np.all(every == start, axis=1)][0]
    crf.set_params(decoder="auto")


def test_iterated_modes_start_from_the_scores_of_nodes():
    """Two nodes whose edge rewards equal labels: each keeps its own if that is worth more."""
    X = [(np.array([[1.0], [-1.0]]), [[0, 1]]), (np.array([[0.2], [-1.0]]), [[0, 1]])]
    crf = GraphCRF(decoder="icm", fit_intercept=False, C=10.0)
    crf.fit(X * 2, [["a", "b"], ["b", "b"]] * 2)
    crf._w = crf._w.copy()
    crf._w[:] = [1.0, -1.0, 1.0, 0.0, 0.0, 1.0]
    # (a, b) scores 2 and (b, b) 1: no label alone is better; in the other graph 1.2 and 1.8
    assert crf.predict(X).tolist() == [["a", "b"], ["b", "b"]]


@pytest.mark.parametrize("inference", ["bp", "trw", "mean_field", "gibbs"])
def test_marginals_of_any_inference(fitted, inference):
    crf, X, _ = fitted
    crf.set_params(decoder="marginal", inference=inference)
    by_nodes = [crf.classes_[p.argmax(axis=1)].tolist() for p in crf.predict_proba(X)]
    assert crf.predict(X).tolist() == by_nodes
    crf.set_params(decoder="auto", inference="auto")


def test_without_edges_all_decoders_agree():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 3))
    crf = GraphCRF().fit(rows, LABELS[(rows[:, 0] > 0).astype(int)])
    expected = crf.predict(rows).tolist()
    for name in ("marginal", "icm"):
        assert crf.set_params(decoder=name).predict(rows).tolist() == expected


def test_several_labels_of_a_token_stay_in_their_rows():
    X = [["the", "cat"], ["dogs"], ["the", "dogs"]] * 3
    y = [[("D", 0), ("N", 1)], [("N", 1)], [("D", 0), ("N", 1)]] * 3
    crf = FactorialCRF(C=10.0).fit(X, y)
    for name in ("auto", "marginal", "icm"):
        assert crf.set_params(decoder=name).predict(X).tolist() == y


def test_a_decoder_is_kept_in_files_and_looked_at(fitted, tmp_path):
    crf, X, _ = fitted
    crf.set_params(decoder="marginal")
    persistence.save(crf, tmp_path / "model")
    again = persistence.load(tmp_path / "model")
    assert again.decoder == "marginal"
    assert again.predict(X).tolist() == crf.predict(X).tolist()
    with pytest.raises(ValueError, match="'decoder' parameter of GraphCRF must be"):
        crf.set_params(decoder="viterbi").predict(X)
    with pytest.raises(ValueError, match="'decoder' parameter of SkipChainCRF must be"):
        SkipChainCRF(decoder="best").fit([["a"]], [["A"]])
    crf.set_params(decoder="auto")
