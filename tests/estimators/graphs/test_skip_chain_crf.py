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
