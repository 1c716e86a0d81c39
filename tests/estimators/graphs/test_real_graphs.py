"""CRFs on graphs with real text: sentences as paths are chains, dependency trees are enumerated.

Two fits of the same convex objective stop at points where no entry of the gradient exceeds `tol`,
so their weights differ by that over the curvature. With tol=1e-7 some 1e-6 are seen, and 1e-5 in
intercepts, which have no penalty; the tests allow 1e-3. With equal weights only rounding is left.
"""

from __future__ import annotations

import io
from itertools import pairwise, product

import numpy as np
import pytest
from real_data import real

from sklearn_struct import FeatureTemplates, GraphCRF, LinearChainCRF, metrics
from sklearn_struct.datasets import downloaded_corpora, fetch_conll2000, read_conll
from sklearn_struct.datasets.data_home import read_text

pytestmark = pytest.mark.corpus


# --------------------------------------------------------------------------------- paths are chains


def paths(X):
    """Each sequence as a graph with an edge from each token to the next one."""
    return [(x, [*pairwise(range(x.shape[0]))]) for x in X]


def scores_of_chains(crf, X, y):
    """Scores of labellings, by the formula of the user guide."""
    total = []
    for x, labels in zip(X, y, strict=True):
        codes = np.searchsorted(crf.classes_, labels)
        node = x @ crf.coef_.T.toarray() + crf.intercept_
        total.append(
            node[np.arange(len(codes)), codes].sum() + crf.transition_[codes[:-1], codes[1:]].sum()
        )
    return np.array(total)


@pytest.fixture(scope="module", params=[("NP", 300), (None, 60)], ids=["noun phrases", "all"])
def chunks(request):
    """Sentences to learn from and others, encoded; fewer where there are 20 labels."""
    kind, n = request.param
    X, y = real(fetch_conll2000, chunks=kind, return_X_y=True)
    templates = FeatureTemplates("chunking")
    known = {label for labels in y[:n] for label in labels}
    new = [i for i in range(1000, 1300) if known.issuperset(y[i])]
    X_new = templates.fit(X[:n]).transform([X[i] for i in new])
    return templates.transform(X[:n]), y[:n], X_new, [y[i] for i in new]


@pytest.fixture(scope="module")
def fitted(chunks):
    """A chain, and the same as graphs."""
    X, y, _, _ = chunks
    settings = {"C": 1.0, "solver": "lbfgs", "tol": 1e-7, "max_iter": 3000}
    return LinearChainCRF(**settings).fit(X, y), GraphCRF(**settings).fit(paths(X), y)


def test_the_fit_of_paths_is_that_of_chains(chunks, fitted):
    _, _, X_new, y_new = chunks
    chain, graph = fitted
    assert graph.classes_.tolist() == chain.classes_.tolist()
    np.testing.assert_array_equal(graph.coef_.indices, chain.coef_.indices)
    np.testing.assert_array_equal(graph.coef_.indptr, chain.coef_.indptr)
    np.testing.assert_allclose(graph.coef_.data, chain.coef_.data, atol=1e-3)
    np.testing.assert_allclose(graph.transition_, chain.transition_, atol=1e-3)
    np.testing.assert_allclose(graph.intercept_, chain.intercept_, atol=1e-3)
    assert graph.loss_curve_[-1] == pytest.approx(chain.loss_curve_[-1], rel=1e-8)
    predicted = graph.predict(paths(X_new))
    best = chain.predict(X_new)
    # where two labellings are equally good, either may be predicted
    lost = chain.log_proba(X_new, best) - chain.log_proba(X_new, predicted)
    np.testing.assert_allclose(lost, 0, atol=1e-2)
    f1 = [metrics.span_f1_score(y_new, labels) for labels in (predicted, best)]
    assert f1[0] == pytest.approx(f1[1], abs=1e-3)
    assert f1[0] > 0.75


def test_equal_weights_give_equal_answers(chunks, fitted):
    _, _, X, y = chunks
    chain = fitted[0]
    graph = GraphCRF(max_iter=1, tol=1e9).fit(paths(chunks[0]), chunks[1])
    graph._w = chain._w.copy()
    graphs = paths(X)
    for a, b in zip(graph.predict_proba(graphs), chain.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)
    for a, b in zip(graph.predict_edge_proba(graphs), chain.predict_edge_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)
    log_p = chain.log_proba(X, y)
    np.testing.assert_allclose(graph.log_proba(graphs, y), log_p, atol=1e-8)
    np.testing.assert_allclose(
        graph.log_partition(graphs), scores_of_chains(chain, X, y) - log_p, atol=1e-8
    )
    best = [chain.log_proba(X, model) for model in (graph.predict(graphs), chain.predict(X))]
    np.testing.assert_allclose(best[0], best[1], atol=1e-8)


# --------------------------------------------------------------------------------- dependency trees

COARSE = {
    **dict.fromkeys(["NOUN", "PROPN", "PRON", "NUM"], "nominal"),
    **dict.fromkeys(["VERB", "AUX"], "verbal"),
    **dict.fromkeys(["ADJ", "ADV", "DET"], "modifier"),
    **dict.fromkeys(["ADP", "CCONJ", "SCONJ", "PART"], "function"),
    **dict.fromkeys(["PUNCT", "SYM", "X", "INTJ"], "other"),
}


def treebank(subset, step):
    """Dependency trees with an edge from each head to each of its words; coarse tags."""
    name = f"ewt/en_ewt-ud-{subset}.conllu"
    text = real(
        read_text,
        name=name,
        sha256=downloaded_corpora.SHA256,
        download=None,
        data_home=None,
    )
    X = []
    y = []
    for sentence in read_conll(io.BytesIO(text), columns=[1, 3, 6], conllu=True)[::step]:
        nodes = [
            [f"end={word[-3:].lower()}", f"upper={word[0].isupper()}"] for word, *_ in sentence
        ]
        heads = [int(head) for *_, head in sentence]
        X.append((nodes, [(head - 1, t) for t, head in enumerate(heads) if head]))
        y.append([COARSE[tag] for _, tag, _ in sentence])
    return X, y


@pytest.fixture(scope="module")
def trees():
    """Some 300 sentences to learn from, and as many others, of all genres."""
    return *treebank("train", 40), *treebank("dev", 7)


@pytest.fixture(scope="module")
def tagger(trees):
    return GraphCRF(tol=1e-6).fit(*trees[:2])


def turned(X):
    """The same trees, with edges from words to heads."""
    return [(nodes, [(b, a) for a, b in edges]) for nodes, edges in X]


def test_trees_of_short_sentences_are_enumerated(trees, tagger):
    _, _, X, y = trees
    K = len(tagger.classes_)
    short = [i for i, (nodes, _) in enumerate(X) if len(nodes) <= 6]
    assert len(short) > 50
    assert max(np.bincount(np.ravel(X[i][1])).max(initial=0) for i in short if X[i][1]) > 2
    graphs = [X[i] for i in short]
    labels = [y[i] for i in short]
    answers = zip(
        graphs,
        labels,
        tagger.predict_proba(graphs),
        tagger.predict_edge_proba(graphs),
        tagger.log_partition(graphs),
        tagger.log_proba(graphs, labels),
        tagger.predict(graphs),
        strict=True,
    )
    for (nodes, edges), right, node_p, edge_p, log_Z, log_p, best in answers:
        x = tagger.vectorizer_.transform([nodes]).tokens
        scores = x @ tagger.coef_.T.toarray() + tagger.intercept_
        every = np.array(list(product(range(K), repeat=len(nodes))))
        energy = scores[np.arange(len(nodes)), every].sum(axis=1)
        for a, b in edges:
            energy += tagger.transition_[every[:, a], every[:, b]]
        assert log_Z == pytest.approx(np.logaddexp.reduce(energy), abs=1e-9)
        p = np.exp(energy - log_Z)
        expected = [np.bincount(every[:, t], p, K) for t in range(len(nodes))]
        np.testing.assert_allclose(node_p, expected, atol=1e-9)
        for table, (a, b) in zip(edge_p, edges, strict=True):
            expected = np.bincount(every[:, a] * K + every[:, b], p, K * K).reshape(K, K)
            np.testing.assert_allclose(table, expected, atol=1e-9)
        names = tagger.classes_[every]
        assert energy[np.all(names == best, axis=1)] == pytest.approx(energy.max(), abs=1e-9)
        assert energy[np.all(names == right, axis=1)] - log_Z == pytest.approx(log_p, abs=1e-9)


def test_edges_of_trees_tell_about_tags(trees, tagger):
    """Seen: 0.82 with edges, 0.79 without, 0.33 for the most frequent tag."""
    X, y, X_new, y_new = trees
    truth = np.concatenate(y_new)
    tags, counts = np.unique(np.concatenate(y), return_counts=True)
    majority = np.mean(truth == tags[np.argmax(counts)])
    alone = GraphCRF(tol=1e-6).fit([(nodes, []) for nodes, _ in X], y)
    without = [(nodes, []) for nodes, _ in X_new]
    right = [
        np.mean(np.concatenate(model.predict(graphs)) == truth)
        for model, graphs in ((tagger, X_new), (alone, without))
    ]
    assert right[0] > right[1] + 0.01
    assert right[1] > majority + 0.3
    assert tagger.log_proba(X_new, y_new).sum() > alone.log_proba(without, y_new).sum()


def test_the_order_of_nodes_and_edges_does_not_matter(trees, tagger):
    _, _, X, _ = trees
    rng = np.random.default_rng(0)
    shuffled = []
    places = []
    for nodes, edges in X:
        order = rng.permutation(len(nodes))
        place = np.argsort(order)
        table = np.array(edges, dtype=int).reshape(-1, 2)
        shuffled.append(([nodes[t] for t in order], rng.permutation(place[table])))
        places.append(place)
    answers = zip(tagger.predict_proba(X), tagger.predict_proba(shuffled), places, strict=True)
    for p, q, place in answers:
        np.testing.assert_allclose(q[place], p, atol=1e-10)


def test_turned_edges_turn_the_table(trees, tagger):
    """From words to heads instead of heads to words: rows are columns, all else stays."""
    X, y, X_new, _ = trees
    back = GraphCRF(tol=1e-6).fit(turned(X), y)
    np.testing.assert_allclose(back.transition_, tagger.transition_.T, atol=1e-2)
    assert np.max(np.abs(tagger.transition_ - tagger.transition_.T)) > 1
    for p, q in zip(tagger.predict_proba(X_new), back.predict_proba(turned(X_new)), strict=True):
        np.testing.assert_allclose(q, p, atol=1e-2)
