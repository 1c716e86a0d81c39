"""Features of whole segments, compared with enumeration, and with features of tokens."""

from __future__ import annotations

import naive_segments
import numpy as np
import pytest

from sklearn_struct import Lexicon, LinearChainCRF, SemiMarkovCRF, persistence
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.exceptions import InputTypeError, ModelFileError
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
NAMES = Lexicon({"person": {"Ann Lee", "Bob"}, "town": ["lee"]}, case_sensitive=False)


def shape(tokens, start, end):
    words = tokens[start:end]
    return {"shape": "".join("A" if w[0].isupper() else "a" for w in words), "n": len(words) / 2}


def twin(crf, X, tokens):
    """The enumeration of one sequence of numbers whose segments have features."""
    K = len(crf.classes_)
    node = X @ crf.coef_.T + crf.intercept_
    L = crf.max_length_
    T = len(tokens)
    every = [(e - n, e) for e in range(1, T + 1) for n in range(1, min(L, e) + 1)]
    whole = np.zeros((len(every), K))
    names = crf.segment_feature_names_.tolist()
    coef = crf.segment_coef_.toarray()
    for c, (start, end) in enumerate(every):
        given = {f"shape:{shape(tokens, start, end)['shape']}": 1.0, "n": (end - start) / 2}
        given |= dict.fromkeys(NAMES(tokens, start, end), 1.0)
        for name, value in given.items():
            if name in names:
                whole[c] += value * coef[:, names.index(name)]
    lengths = [row[None] for row in crf.length_coef_[1:]]
    ends = []
    if len(crf.end_features_):
        ends = [X[:, crf.end_features_] @ coef.T for coef in (crf.first_coef_, crf.last_coef_)]
    moves = crf.transition_.ravel()[None]
    longest = [1 if k == crf.outside else L for k in crf.classes_.tolist()]
    potentials = Potentials(node, (moves, *lengths, *ends, whole))
    return naive_segments.Segmented(potentials, longest, bool(ends))


class WithWords:
    """Functions that know the words of sequences that are numbers, by their first number."""

    def __init__(self, function, words):
        self.function = function
        self.words = words

    def __call__(self, tokens, start, end):
        return self.function(self.words[int(tokens[0][0])], start, end)


@pytest.mark.twins
@pytest.mark.parametrize("feature_pairs", ["observed", "all"])
@pytest.mark.parametrize("end_features", [None, "all"])
def test_probabilities_and_loss_by_enumeration(feature_pairs, end_features):
    rng = np.random.default_rng(0)
    X = [
        np.c_[np.full(len(words), i), rng.normal(size=(len(words), 2))]
        for i, words in enumerate(WORDS)
    ]
    functions = [WithWords(shape, WORDS), WithWords(NAMES, WORDS)]
    crf = SemiMarkovCRF(
        segment_features=functions, feature_pairs=feature_pairs, end_features=end_features
    ).fit(X, TAGS)
    n_names = len(crf.segment_feature_names_)
    assert crf.segment_coef_.shape == (2, n_names)
    assert ("shape:Aa" in crf.segment_feature_names_) == (feature_pairs == "all")
    log_p = crf.log_proba(X, TAGS)
    proba = crf.predict_segment_proba(X)
    loss = 0.0
    for i, words in enumerate(WORDS):
        every = twin(crf, X[i], words)
        spans = [(start, stop, 1) for _, start, stop in extract_spans(TAGS[i])]
        taken = {t for start, stop, _ in spans for t in range(start, stop)}
        segments = sorted(spans + [(t, t + 1, 0) for t in range(len(words)) if t not in taken])
        p = every.p[every.all.index(segments)]
        assert log_p[i] == pytest.approx(float(np.log(p)), abs=1e-10)
        loss -= float(np.log(p))
        best = every.all[int(np.argmax(every.scores))]
        assert crf.predict_spans(X)[i] == [(s, e, "PER") for s, e, k in best if k == 1]
        expected = np.zeros((len(words), crf.max_length_, 2))
        for weight, division in zip(every.p, every.all, strict=True):
            for start, stop, k in division:
                expected[start, stop - start - 1, k] += float(weight)
        np.testing.assert_allclose(proba[i], expected, atol=1e-10)
        np.testing.assert_allclose(
            crf.predict_proba(X)[i], every.marginals().node.astype(float), atol=1e-10
        )
    ends = crf.first_coef_, crf.last_coef_
    whole = crf.segment_coef_.toarray()
    weights = (crf.coef_, crf.transition_, crf.length_coef_, whole, *ends)
    penalty = sum(np.sum(table**2) for table in weights) / 2
    assert crf.loss_curve_[-1] == pytest.approx(loss + penalty, rel=1e-10)


def test_the_minimum_is_flat():
    """At the solution each derivative of the objective is 0, by differences of log p."""
    crf = SemiMarkovCRF(segment_features=[shape, NAMES], tol=1e-8, C=2.0).fit(WORDS, TAGS)
    w = crf._w.copy()
    n_free = len(crf.classes_)

    def objective(w):
        crf._w = w
        return -2.0 * crf.log_proba(WORDS, TAGS).sum() + np.sum(w[:-n_free] ** 2) / 2

    for j in range(len(w)):
        step = np.zeros(len(w))
        step[j] = 1e-5
        assert (objective(w + step) - objective(w - step)) / 2e-5 == pytest.approx(0, abs=1e-5)


def test_segments_of_one_token_have_features_as_tokens_have():
    """With segments of one token, features of segments are features of tokens."""
    tokens = [[("w", word) for word in words] for words in WORDS]
    plain = [[("w",) for _ in words] for words in WORDS]
    known = {}

    def words_of(tokens, start, end):
        return known[id(tokens)][start][1]

    known.update({id(x): words for x, words in zip(plain, tokens)})
    crf = SemiMarkovCRF(max_length=1, segment_features=words_of, tol=1e-8).fit(plain, TAGS)
    chain = LinearChainCRF(solver="lbfgs", tol=1e-8).fit(tokens, TAGS)
    np.testing.assert_allclose(crf.log_proba(plain, TAGS), chain.log_proba(tokens, TAGS), atol=1e-6)
    for a, b in zip(crf.predict_proba(plain), chain.predict_proba(tokens)):
        np.testing.assert_allclose(a, b, atol=1e-6)
    for a, b in zip(crf.predict_segment_proba(plain), chain.predict_proba(tokens)):
        np.testing.assert_allclose(a[:, 0], b, atol=1e-6)


def test_tags_and_spans_are_the_same():
    of_tags = SemiMarkovCRF(segment_features=[shape, NAMES]).fit(WORDS, TAGS)
    of_spans = SemiMarkovCRF(segment_features=(shape, NAMES)).fit(WORDS, SPANS)
    np.testing.assert_array_equal(of_tags._w, of_spans._w)
    assert of_spans.predict(WORDS).tolist() == SPANS
    dicts = [[{"word": word} for word in words] for words in WORDS]
    names = SemiMarkovCRF(segment_features=NAMES).fit(dicts, TAGS)
    assert names.segment_feature_names_.tolist() == ["in_lexicon:person"]


def test_a_lexicon_finds_names_that_were_never_seen():
    X = [["w"] * 6 for _ in range(20)]
    y = []
    lexicon = set()
    for i, words in enumerate(X):
        start = i % 4
        words[start : start + 2] = [f"n{i}", "w"]
        lexicon.add(f"n{i} w")
        y.append([(start, start + 2, "N")])
    features = {"segment_features": Lexicon(lexicon), "C": 100.0, "feature_pairs": "all"}
    assert SemiMarkovCRF(**features).fit(X[:10], y[:10]).predict(X[10:]).tolist() == y[10:]


@pytest.mark.parametrize("y", [TAGS, SPANS], ids=["tags", "spans"])
def test_predictions_agree(y):
    crf = SemiMarkovCRF(segment_features=[shape, NAMES], n_jobs=2).fit(WORDS, y)
    best, log_p = crf.predict_nbest(WORDS, 1)[2][0]
    assert best == crf.predict(WORDS)[2]
    assert log_p == pytest.approx(crf.log_proba(WORDS[2:3], [best])[0])
    for label, of_segments in zip(crf.predict_proba(WORDS), crf.predict_segment_proba(WORDS)):
        T, L, _ = of_segments.shape
        expected = np.zeros_like(label)
        for t in range(T):
            for m in range(min(L, T - t)):
                expected[t : t + m + 1] += of_segments[t, m]
        np.testing.assert_allclose(label, expected, atol=1e-12)
    assert crf.sample(WORDS, 3, random_state=0)[4]


def test_segment_probabilities_without_such_features():
    crf = SemiMarkovCRF().fit(WORDS, TAGS)
    for label, of_segments in zip(crf.predict_proba(WORDS), crf.predict_segment_proba(WORDS)):
        np.testing.assert_allclose(of_segments[:, 0, 0], label[:, 0], atol=1e-12)
    rows = np.eye(3)
    flat = SemiMarkovCRF().fit(rows, ["a", "b", "a"])
    np.testing.assert_allclose(flat.predict_segment_proba(rows)[:, 0], flat.predict_proba(rows))


def test_weights_of_another_model():
    crf = SemiMarkovCRF(segment_features=[shape, NAMES], tol=1e-6).fit(WORDS, TAGS)
    turned = SemiMarkovCRF(segment_features=[NAMES, shape], tol=1e-4).fit(WORDS, TAGS, init=crf)
    assert turned.n_iter_ <= 1
    np.testing.assert_allclose(turned.log_proba(WORDS, TAGS), crf.log_proba(WORDS, TAGS), atol=1e-6)
    plain = SemiMarkovCRF().fit(WORDS, TAGS)
    assert SemiMarkovCRF(segment_features=shape).fit(WORDS, TAGS, init=plain).n_iter_ > 1
    assert SemiMarkovCRF().fit(WORDS, TAGS, init=crf).segment_coef_.shape == (2, 0)


def test_functions_that_say_nothing():
    plain = SemiMarkovCRF().fit(WORDS, TAGS)
    for nothing in (lambda *_: None, Lexicon(set()), []):
        crf = SemiMarkovCRF(segment_features=nothing).fit(WORDS, TAGS)
        np.testing.assert_array_equal(crf._w, plain._w)
        assert crf.segment_coef_.shape == (2, 0)
        assert crf.predict(WORDS).tolist() == plain.predict(WORDS).tolist()


def test_what_is_refused():
    with pytest.raises(InputTypeError, match="a two-dimensional X has single tokens"):
        SemiMarkovCRF(segment_features=shape).fit(np.eye(3), ["a", "b", "a"])
    with pytest.raises(
        InputTypeError,
        match=r"X\[0\], the segment \(0, 1\), tokens 0 up to but not including 1: "
        "segment_features, <lambda>: ",
    ):
        SemiMarkovCRF(segment_features=lambda *_: 3).fit(WORDS, TAGS)
    crf = SemiMarkovCRF(segment_features=shape).fit(WORDS, TAGS)
    with pytest.raises(ValueError, match="has been set or removed since fit"):
        crf.set_params(segment_features=None).predict(WORDS)
    with pytest.raises(InputTypeError, match="segment_features are others than in fit"):
        persistence.save(crf, "unused")


def test_files(tmp_path):
    crf = SemiMarkovCRF(segment_features=[shape, NAMES]).fit(WORDS, TAGS)
    path = tmp_path / "model"
    with pytest.raises(InputTypeError, match="which no file holds; give it a name"):
        persistence.save(crf, path)
    persistence.save(crf, path, functions={"shape": shape})
    with pytest.raises(ModelFileError, match="it needs the function 'shape'"):
        persistence.load(path)
    loaded = persistence.load(path, functions={"shape": shape})
    np.testing.assert_array_equal(loaded._w, crf._w)
    assert loaded.segment_feature_names_.tolist() == crf.segment_feature_names_.tolist()
    np.testing.assert_array_equal(loaded.log_proba(WORDS, TAGS), crf.log_proba(WORDS, TAGS))
    names = SemiMarkovCRF(segment_features=NAMES, end_features=None).fit(WORDS, TAGS)
    persistence.save(names, path)
    np.testing.assert_array_equal(
        persistence.load(path).segment_coef_.toarray(), names.segment_coef_.toarray()
    )
