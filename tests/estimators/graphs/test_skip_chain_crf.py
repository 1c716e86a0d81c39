"""Chains with edges between tokens that are alike: graphs whose edges a rule finds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sklearn_struct import Cliques, GraphCRF, LinearChainCRF, SkipChainCRF, persistence
from sklearn_struct.encoding.skip_edges import skip_edges
from sklearn_struct.exceptions import InputTypeError

WORDS = ["Ann", "Bob", "sees", "and", "Cid", "by"]


def texts(rng, n=30):
    X = [[WORDS[k] for k in rng.integers(6, size=rng.integers(1, 9))] for _ in range(n)]
    y = []
    for words in X:
        kind = "AB"[rng.integers(2)]
        y.append([kind if word[0].isupper() and rng.random() < 0.8 else "O" for word in words])
    return X, y


def around(words):
    """Features of tokens, of which some say more than others."""
    before = ["", *words[:-1]]
    return [{"word": word, f"after {b}": 2.0} for word, b in zip(words, before, strict=True)]


def word_of(token):
    return token["word"] if token["word"][0].isupper() else None


def first_letter(token):
    return token[0] if token[0].isupper() else None


def as_graphs(X, max_pairs=None):
    graphs = []
    for words in X:
        skip = []
        for t, word in enumerate(words):
            alike = [s for s in range(t - 1) if words[s] == word and word[0].isupper()]
            skip += [(s, t) for s in alike[::-1][:max_pairs]]
        near = list(pairwise(range(len(words))))
        graphs.append((words, [Cliques("edges", near), Cliques("skip", skip)]))
    return graphs


@pytest.mark.parametrize("max_pairs", [None, 1])
def test_it_is_a_graph(max_pairs):
    X, y = texts(np.random.default_rng(0))
    crf = SkipChainCRF(key="capitalized", max_pairs=max_pairs, tol=1e-7).fit(X, y)
    graphs = as_graphs(X, max_pairs)
    same = GraphCRF(tol=1e-7).fit(graphs, y)
    np.testing.assert_allclose(crf._w, same._w, atol=1e-6)
    np.testing.assert_array_equal(crf.skip_transition_, crf.clique_transition_["skip"])
    for a, b in zip(crf.predict_proba(X), same.predict_proba(graphs), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    # the data say that words keep their labels
    assert crf.loss_curve_[-1] < LinearChainCRF(tol=1e-7).fit(X, y).loss_curve_[-1]


def union(first, second):
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in first | second}


def test_features_of_either_token():
    X, y = texts(np.random.default_rng(5))
    tokens = list(map(around, X))
    crf = SkipChainCRF(key=word_of, skip_features="either", feature_pairs="all", tol=1e-7)
    crf.fit(tokens, y)
    graphs = []
    for words, (_, (near, skip)) in zip(tokens, as_graphs(X), strict=True):
        features = [union(words[s], words[t]) for s, t in skip.nodes]
        graphs.append((words, [near, Cliques("skip", skip.nodes, features)]))
    same = GraphCRF(tol=1e-7, feature_pairs="all").fit(graphs, y)
    assert crf.loss_curve_[-1] == pytest.approx(same.loss_curve_[-1], rel=1e-9)
    for a, b in zip(crf.predict_proba(tokens), same.predict_proba(graphs), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    # they learn more than edges without features do
    plain = SkipChainCRF(key=word_of, tol=1e-7).fit(tokens, y)
    assert crf.loss_curve_[-1] < plain.loss_curve_[-1] - 1e-3
    assert crf.clique_coef_["skip"].shape == (crf.n_features_in_, 9)


def test_features_of_dense_rows():
    rng = np.random.default_rng(6)
    X = [rng.normal(size=(n, 3)) for n in (5, 1, 4)]
    y = [list(rng.choice(["A", "B"], len(rows))) for rows in X]

    def sign(row):
        return bool(row[0] > 0)

    crf = SkipChainCRF(key=sign, skip_features="either", tol=1e-8).fit(X, y)
    graphs = []
    for rows in X:
        skip = skip_edges(rows, sign, None, 0)
        larger = np.maximum(rows[skip[:, 0]], rows[skip[:, 1]])
        near = list(pairwise(range(len(rows))))
        graphs.append((rows, [Cliques("edges", near), Cliques("skip", skip, larger)]))
    same = GraphCRF(tol=1e-8).fit(graphs, y)
    np.testing.assert_allclose(crf._w, same._w, atol=1e-5)


def test_their_weights_follow_names():
    """Also where the tokens of another fit have other features, in another order."""
    X, y = texts(np.random.default_rng(7))
    tokens = list(map(around, X))
    crf = SkipChainCRF(key=word_of, skip_features="either", feature_pairs="all").fit(tokens, y)
    more = [[{"a": 1.0} | token for token in sequence] for sequence in tokens]
    start = SkipChainCRF(key=word_of, skip_features="either", feature_pairs="all", tol=1e9)
    start.fit(more, y, init=crf)
    names = list(start.feature_names_in_)
    where = [names.index(name) for name in crf.feature_names_in_]
    weights = start.clique_coef_["skip"].toarray()
    np.testing.assert_allclose(weights[where], crf.clique_coef_["skip"].toarray())
    assert not weights[names.index("a")].any()


def test_predictions_see_what_fit_has_seen(tmp_path):
    X, y = texts(np.random.default_rng(8))
    crf = SkipChainCRF(key="capitalized", skip_features="either").fit(X, y)
    expected = crf.predict_proba(X)
    persistence.save(crf, tmp_path / "model")
    copy = persistence.load(tmp_path / "model")
    crf.set_params(skip_features=None)
    for model in (crf, copy):
        for a, b in zip(expected, model.predict_proba(X), strict=True):
            np.testing.assert_array_equal(a, b)
    # where fit has seen no edges, theirs have no weights
    bare = SkipChainCRF(key="capitalized", skip_features="either").fit([["b", "c"]], [["O", "A"]])
    assert (
        bare.predict(X[:3]).tolist()
        == SkipChainCRF().fit([["b", "c"]], [["O", "A"]]).predict(X[:3]).tolist()
    )


def test_without_a_key_it_is_a_chain():
    X, y = texts(np.random.default_rng(1))
    chain = LinearChainCRF(tol=1e-8).fit(X, y)
    crf = SkipChainCRF(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(crf.transition_, chain.transition_, atol=1e-5)
    np.testing.assert_allclose(crf.coef_.toarray(), chain.coef_.toarray(), atol=1e-5)
    assert not crf.skip_transition_.any()
    # each may start the other
    start = SkipChainCRF(key="capitalized", tol=1e9).fit(X, y, init=chain)
    np.testing.assert_allclose(start.transition_, chain.transition_)
    back = LinearChainCRF(tol=1e9).fit(X, y, init=start)
    np.testing.assert_allclose(back.transition_, chain.transition_)


def test_key_is_read_by_predictions():
    X, y = texts(np.random.default_rng(2))
    crf = SkipChainCRF(key="capitalized").fit(X, y)
    expected = crf.predict_proba(X)
    others = crf.set_params(key=None).predict_proba(X)
    assert any(not np.allclose(a, b) for a, b in zip(expected, others))
    letters = crf.set_params(key=first_letter).predict_proba(X)
    # here no two words have one first letter
    for a, b in zip(expected, letters, strict=True):
        np.testing.assert_array_equal(a, b)


def test_files(tmp_path):
    X, y = texts(np.random.default_rng(3))
    crf = SkipChainCRF(key="capitalized", max_pairs=2).fit(X, y)
    persistence.save(crf, tmp_path / "model")
    copy = persistence.load(tmp_path / "model")
    assert copy.predict(X).tolist() == crf.predict(X).tolist()
    assert copy.get_params() == crf.get_params()
    with pytest.raises(InputTypeError, match="key"):
        persistence.save(crf.set_params(key=first_letter), tmp_path / "other")


def test_nearest_tokens_come_first():
    tokens = ["A", "A", "b", "A", "A", "b", "A"]
    every = skip_edges(tokens, str.upper, None, 0)
    expected = [[0, 3], [0, 4], [0, 6], [1, 3], [1, 4], [1, 6], [2, 5], [3, 6], [4, 6]]
    assert sorted(every.tolist()) == expected
    nearest = skip_edges(tokens, str.upper, 1, 0)
    assert nearest.tolist() == [[1, 3], [1, 4], [2, 5], [4, 6]]
    assert skip_edges([], str.upper, None, 0).shape == (0, 2)


def test_bad_keys():
    X, y = texts(np.random.default_rng(4))
    with pytest.raises(InputTypeError, match=r"X\[0\], token 0: key gives a list"):
        SkipChainCRF(key=list).fit(X, y)
    dicts = [[{"word": word} for word in words] for words in X]
    with pytest.raises(InputTypeError, match="needs tokens that are words"):
        SkipChainCRF(key="capitalized").fit(dicts, y)
    with pytest.raises(ValueError, match="'key' parameter"):
        SkipChainCRF(key="words").fit(X, y)
