"""The semi-Markov CRF, compared with enumeration from the weights that users see, and with the
linear chain.
"""

from __future__ import annotations

import naive_segments
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import LinearChainCRF, SemiMarkovCRF, SequenceArray, persistence
from sklearn_struct.exceptions import UnknownLabelError
from sklearn_struct.metrics import extract_spans

WORDS = [
    ["call", "Ann", "Lee", "now"],
    ["Bob", "sleeps"],
    ["ask", "Jo", "van", "Fox", "Ann", "Lee"],
    [],
    ["now"],
]
TAGS = [
    ["O", "B-PER", "I-PER", "O"],
    ["B-PER", "O"],
    ["O", "B-PER", "I-PER", "I-PER", "B-PER", "I-PER"],
    [],
    ["O"],
]
SPANS = [[(1, 3, "PER")], [(0, 1, "PER")], [(1, 4, "PER"), (4, 6, "PER")], [], []]


@pytest.mark.twins
@pytest.mark.parametrize("edge_features", [None, [1]])
@pytest.mark.parametrize("end_features", [None, "all", [1]])
def test_probabilities_and_loss_by_enumeration(edge_features, end_features):
    X, y = naive_segments.rows_and_tags(np.random.default_rng(6))
    crf = SemiMarkovCRF(edge_features=edge_features, end_features=end_features, C=2.0).fit(X, y)
    log_p = crf.log_proba(X, y)
    loss = 0.0
    columns = [] if edge_features is None else edge_features
    for i, rows in enumerate(X):
        every = naive_segments.of_model(crf, rows, columns)
        spans = [(start, stop, label) for label, start, stop in extract_spans(y[i])]
        place = {label: k for k, label in enumerate(crf.classes_.tolist())}
        taken = {t for start, stop, _ in spans for t in range(start, stop)}
        outside = [(t, t + 1, "O") for t in range(len(rows)) if t not in taken]
        segments = sorted(spans + outside)
        m = every.all.index([(start, stop, place[label]) for start, stop, label in segments])
        assert log_p[i] == pytest.approx(float(np.log(every.p[m])), abs=1e-10)
        loss -= float(np.log(every.p[m]))
        marginals = every.marginals().node.astype(float)
        np.testing.assert_allclose(crf.predict_proba(X)[i], marginals, atol=1e-10)
        best = every.all[int(np.argmax(every.scores))]
        named = [(start, stop, crf.classes_[k]) for start, stop, k in best]
        assert crf.predict_spans(X)[i] == [span for span in named if span[2] != "O"]
    edges = np.zeros(0) if edge_features is None else crf.edge_coef_
    ends = crf.first_coef_, crf.last_coef_
    assert ends[0].shape == (len(crf.classes_), len(crf.end_features_))
    weights = (crf.coef_, crf.transition_, crf.length_coef_, edges, *ends)
    penalty = sum(np.sum(table**2) for table in weights) / 2
    assert crf.loss_curve_[-1] == pytest.approx(loss + penalty / 2.0, rel=1e-10)


@pytest.mark.parametrize("form", ["arrays", "sparse", "packed"])
def test_forms_of_x_are_the_same(form):
    X, y = naive_segments.rows_and_tags(np.random.default_rng(1))
    expected = SemiMarkovCRF(feature_pairs="all").fit(X, y)
    same = {
        "arrays": X,
        "sparse": [sp.csr_array(rows) for rows in X],
        "packed": SequenceArray.from_sequences(X),
    }[form]
    crf = SemiMarkovCRF(feature_pairs="all").fit(same, y)
    np.testing.assert_allclose(crf._w, expected._w, atol=1e-6)
    np.testing.assert_allclose(crf.log_proba(same, y), expected.log_proba(X, y), atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"edge_features": "all"}, {"l1_ratio": 0.3}], ids=repr)
def test_segments_of_one_token_are_a_linear_chain(settings):
    crf = SemiMarkovCRF(max_length=1, **settings).fit(WORDS, TAGS)
    solver = "owlqn" if "l1_ratio" in settings else "lbfgs"
    chain = LinearChainCRF(solver=solver, **settings).fit(WORDS, TAGS)
    assert crf.classes_.tolist() == chain.classes_.tolist() == ["B-PER", "I-PER", "O"]
    np.testing.assert_allclose(crf.loss_curve_, chain.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(crf._w, chain._w, atol=1e-7)
    np.testing.assert_array_equal(crf.length_coef_, np.zeros((1, 3)))
    for method in ("predict", "predict_proba", "predict_nbest"):
        for a, b in zip(getattr(crf, method)(WORDS), getattr(chain, method)(WORDS), strict=True):
            if method == "predict_nbest":
                a = [log_p for _, log_p in a]
                b = [log_p for _, log_p in b]
            if method == "predict":
                assert a == b
            else:
                np.testing.assert_allclose(a, b, atol=1e-7)
    assert crf.score(WORDS, TAGS) == chain.score(WORDS, TAGS)


def test_spans_and_tags_are_the_same():
    of_tags = SemiMarkovCRF(C=10, end_features="all").fit(WORDS, TAGS)
    of_spans = SemiMarkovCRF(C=10, end_features="all").fit(WORDS, SPANS)
    np.testing.assert_array_equal(of_tags._w, of_spans._w)
    assert of_tags.scheme_ == of_spans.scheme_ == "IOB2"
    assert of_tags.max_length_ == 3
    assert of_tags.predict(WORDS).tolist() == TAGS
    assert of_spans.predict(WORDS).tolist() == SPANS
    assert of_tags.predict_spans(WORDS).tolist() == SPANS
    for crf in (of_tags, of_spans):
        for y in (TAGS, SPANS):
            assert crf.score(WORDS, y) == 1.0
            np.testing.assert_array_equal(crf.log_proba(WORDS, y), of_tags.log_proba(WORDS, TAGS))
    assert of_spans.predict_nbest(WORDS, 1)[0][0][0] == SPANS[0]
    assert of_spans.sample(WORDS, 2, random_state=0)[1][0] in ([(0, 1, "PER")], [], [(1, 2, "PER")])


def test_runs_of_labels():
    X = [["a", "b", "b"], ["b", "a"]]
    y = [["A", "B", "B"], ["B", "A"]]
    crf = SemiMarkovCRF(C=10).fit(X, y)
    assert crf.scheme_ == "IO"
    assert crf.max_length_ == 2
    assert crf.predict(X).tolist() == y
    assert crf.predict_spans(X)[0] == [(0, 1, "A"), (1, 3, "B")]
    assert crf.score(X, [["A", "B", "B"], ["A", "A"]]) == 0.8
    # each token outside is a segment by itself
    single = SemiMarkovCRF(C=10, outside="B").fit(X, y)
    assert single.max_length_ == 1
    assert single.predict_spans(X)[0] == [(0, 1, "A")]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_labels_that_are_numbers(dtype):
    X = [["a", "b", "b"], ["b", "a"]]
    y = [np.array([0, 1, 1], dtype), np.array([1, 0], dtype)]
    crf = SemiMarkovCRF(C=10, outside=0).fit(X, y)
    assert crf.predict(X).tolist() == [[0, 1, 1], [1, 0]]
    assert crf.predict_spans(X).tolist() == [[(1, 3, 1)], [(0, 1, 1)]]


def test_segments_that_are_too_long():
    message = (
        r"y\[2\], token 1: a segment 'PER' of 3 tokens begins here, but max_length=2; the longest "
        r"segment in y has 3 tokens, so write max_length=3, or None"
    )
    crf = SemiMarkovCRF(max_length=2)
    for y in (TAGS, SPANS):
        with pytest.raises(ValueError, match=message):
            crf.fit(WORDS, y)
    assert not hasattr(crf, "classes_")
    crf.fit(WORDS[:2], TAGS[:2])
    assert crf.log_proba([["Jo", "van", "Fox"]], [["B-PER", "I-PER", "I-PER"]])[0] == -np.inf
    assert crf.score([["Jo", "van", "Fox"]], [["B-PER", "I-PER", "I-PER"]]) <= 1.0


def test_no_longer_than_the_longest_sequence():
    assert SemiMarkovCRF(max_length=10**9).fit(WORDS, TAGS).max_length_ == 6
    assert SemiMarkovCRF(max_length=4).fit(WORDS, TAGS).max_length_ == 4


def test_labels_that_were_not_seen():
    crf = SemiMarkovCRF().fit(WORDS, TAGS)
    assert crf.score([["Ann", "now"]], [["B-LOC", "O"]]) <= 0.5
    with pytest.raises(UnknownLabelError, match=r"y\[0\], token 0: label 'LOC' was not seen"):
        crf.log_proba([["Ann"]], [["B-LOC"]])


def test_every_solver_finds_the_same_minimum():
    X, y = naive_segments.rows_and_tags(np.random.default_rng(2))
    expected = SemiMarkovCRF(tol=1e-8).fit(X, y)
    for solver in ("newton-cg", "trust-ncg", "cg", "gradient", "owlqn"):
        crf = SemiMarkovCRF(solver=solver, tol=1e-6, max_iter=5000).fit(X, y)
        np.testing.assert_allclose(crf._w, expected._w, atol=1e-3)
        assert crf.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-7)


def test_weights_of_another_model():
    X, y = naive_segments.rows_and_tags(np.random.default_rng(3))
    crf = SemiMarkovCRF(tol=1e-6, edge_features=[0], end_features="all").fit(X, y)
    again = SemiMarkovCRF(tol=1e-4, edge_features=[0], end_features="all").fit(X, y, init=crf)
    assert again.n_iter_ <= 1
    np.testing.assert_allclose(again._w, crf._w, atol=1e-6)
    warm = SemiMarkovCRF(warm_start=True).fit(X, y)
    assert warm.fit(X, y).n_iter_ <= 1
    # of a chain it takes what has the same labels
    labels = [["A" if "A" in tag else "O" for tag in tags] for tags in y]
    chain = LinearChainCRF(solver="lbfgs").fit(X, labels)
    started = SemiMarkovCRF(max_iter=1, tol=10.0).fit(X, labels, init=chain)
    assert (
        started.loss_curve_[-1] < SemiMarkovCRF(max_iter=1, tol=10.0).fit(X, labels).loss_curve_[-1]
    )


def test_threads_and_weights_of_sequences():
    X, y = naive_segments.rows_and_tags(np.random.default_rng(4), lengths=(5, 3, 1, 6) * 50)
    crf = SemiMarkovCRF().fit(X, y)
    np.testing.assert_array_equal(SemiMarkovCRF(n_jobs=2).fit(X, y)._w, crf._w)
    twice = SemiMarkovCRF(tol=1e-7).fit(X[:3] + X[:1], y[:3] + y[:1])
    weighted = SemiMarkovCRF(tol=1e-7).fit(X[:3], y[:3], sample_weight=[2.0, 1.0, 1.0])
    np.testing.assert_allclose(weighted._w, twice._w, atol=1e-5)


def test_longer_names_than_a_chain_can_see():
    """Names of exactly three words among words that all look alike: only lengths tell."""
    rng = np.random.default_rng(5)
    X = []
    y = []
    for _ in range(60):
        words = ["w"] * int(rng.integers(1, 4)) + ["<"] + ["w"] * 6
        tags = ["O"] * words.index("<") + ["B-N", "I-N", "I-N"] + ["O"] * 4
        X.append(words)
        y.append(tags)
    crf = SemiMarkovCRF(C=100).fit(X[:40], y[:40])
    chain = LinearChainCRF(C=100, solver="lbfgs").fit(X[:40], y[:40])
    assert crf.score(X[40:], y[40:]) == 1.0
    assert chain.score(X[40:], y[40:]) < 1.0
    assert int(np.argmax(crf.length_coef_[:, 0])) == 2


@pytest.mark.parametrize("feature_pairs", ["observed", "all"])
@pytest.mark.parametrize("form", ["words", "dense"])
def test_labels_of_one_token_have_no_weights_of_last_tokens(form, feature_pairs, tmp_path):
    X, y = naive_segments.rows_and_tags(np.random.default_rng(7))
    if form == "words":
        X = WORDS
        y = TAGS
    crf = SemiMarkovCRF(feature_pairs=feature_pairs).fit(X, y)
    outside = crf.classes_.tolist().index("O")
    last = sp.csr_array(crf.last_coef_).toarray()
    first = sp.csr_array(crf.first_coef_).toarray()
    assert np.all(last[outside] == 0)
    assert np.any(first[outside] != 0)
    assert np.any(np.delete(last, outside, axis=0) != 0)
    persistence.save(crf, tmp_path / "model")
    loaded = persistence.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded._w, crf._w)
    np.testing.assert_array_equal(loaded.log_proba(X, y), crf.log_proba(X, y))
    assert SemiMarkovCRF(feature_pairs=feature_pairs).fit(X, y, init=crf).n_iter_ <= 1
