"""Forbidden transitions between segments, compared with enumeration and with the linear chain."""

from __future__ import annotations

from itertools import pairwise

import naive_segments
import numpy as np
import pytest

from sklearn_struct import LinearChainCRF, SemiMarkovCRF, persistence
from sklearn_struct.exceptions import (
    ForbiddenLabelError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)

WORDS = [["call", "Ann", "Lee", "now"], ["Bob", "sleeps"], ["ask", "Jo", "van", "Fox", "Ann"], []]
TAGS = [
    ["O", "B-PER", "I-PER", "O"],
    ["B-PER", "O"],
    ["O", "B-PER", "I-PER", "I-PER", "B-PER"],
    [],
]
SPANS = [[(1, 3, "PER")], [(0, 1, "PER")], [(1, 4, "PER"), (4, 5, "PER")], []]
# no B first, no A last, nothing twice in a row but what is outside
RULE = {None: ["B"], "A": ["A", None], "B": ["B"]}
MATRIX = np.array([[True, False, True], [True, True, True], [False, True, True]])  # of A, B and O
BY_TOKENS = {"O": ["I-PER"], None: ["I-PER"]}


def is_allowed(segments, rule, labels):
    names = [None, *(labels[k] for _, _, k in segments), None]
    if isinstance(rule, dict):
        return all(b not in rule.get(a, []) for a, b in pairwise(names))
    codes = [k for _, _, k in segments]
    return all(rule[a, b] for a, b in pairwise(codes))


def allowed_segmentations(crf, rows, rule):
    """Those that are allowed, with their probabilities among these and their place in all."""
    every = naive_segments.of_model(crf, rows)
    labels = crf.classes_.tolist()
    places = [m for m, one in enumerate(every.all) if is_allowed(one, rule, labels)]
    scores = every.scores[places]
    p = np.exp(scores - scores.max())
    return [every.all[m] for m in places], p / p.sum(), scores


def segments_of(tags, labels):
    """Segments (start, stop, label) of tags with letters."""
    segments = []
    for t, tag in enumerate(tags):
        if tag.startswith("I-"):
            start, _, k = segments.pop()
            segments.append((start, t + 1, k))
        else:
            segments.append((t, t + 1, labels.index(tag[2:] or "O")))
    return segments


@pytest.mark.twins
@pytest.mark.parametrize("rule", [RULE, MATRIX], ids=["dict", "matrix"])
@pytest.mark.parametrize("end_features", [None, "all"])
def test_predictions_by_enumeration(rule, end_features):
    X, y = naive_segments.rows_and_tags(np.random.default_rng(6))
    crf = SemiMarkovCRF(C=2.0, end_features=end_features).fit(X, y)
    free = crf.log_proba(X, y)
    crf.set_params(allowed_transitions=rule)
    log_p = crf.log_proba(X, y)
    assert np.any(log_p == -np.inf)
    assert np.any(log_p > free)
    labels = crf.classes_.tolist()
    for i, rows in enumerate(X):
        ways, p, scores = allowed_segmentations(crf, rows, rule)
        segments = segments_of(y[i], labels)
        expected = np.log(p[ways.index(segments)]) if segments in ways else -np.inf
        assert log_p[i] == pytest.approx(float(expected), abs=1e-10)
        proba = np.zeros((len(rows), crf.max_length_, len(labels)))
        for way, p_way in zip(ways, p):
            for start, stop, k in way:
                proba[start, stop - start - 1, k] += p_way
        np.testing.assert_allclose(crf.predict_segment_proba(X)[i], proba, atol=1e-10)
        of_tokens = np.zeros((len(rows), len(labels)))
        for start, n, k in zip(*np.nonzero(proba)):
            of_tokens[start : start + n + 1, k] += proba[start, n, k]
        np.testing.assert_allclose(crf.predict_proba(X)[i], of_tokens, atol=1e-10)
        spans = [
            [(start, stop, labels[k]) for start, stop, k in ways[m] if labels[k] != "O"]
            for m in np.argsort(-scores, kind="stable")
        ]
        assert crf.predict_spans(X)[i] == spans[0]
        ranked = crf.predict_nbest(X, n=4)[i]
        expected = np.sort(np.log(p))[::-1][:4].astype(float)
        np.testing.assert_allclose([log_p for _, log_p in ranked], expected, atol=1e-9)


@pytest.mark.parametrize("rule", [RULE, MATRIX], ids=["dict", "matrix"])
def test_what_is_drawn_is_allowed(rule):
    X, y = naive_segments.rows_and_tags(np.random.default_rng(6))
    crf = SemiMarkovCRF(allowed_transitions=rule).fit(X, y)
    labels = crf.classes_.tolist()
    for i, drawn in enumerate(crf.sample(X, n_samples=200, random_state=0)):
        ways, p, _ = allowed_segmentations(crf, X[i], rule)
        places = [ways.index(segments_of(tags, labels)) for tags in drawn]
        shares = np.bincount(places, minlength=len(ways)) / len(drawn)
        assert np.abs(shares - p.astype(float)).max() < 0.12


@pytest.mark.twins
@pytest.mark.parametrize("end_features", [None, "all"])
def test_training_among_allowed_segmentations(end_features):
    """The loss is that of enumeration, and it is least where the fit ends."""
    rule = {"A": ["A"], "B": ["B"]}
    settings = {"C": 2.0, "end_features": end_features, "tol": 1e-9}
    X, y = naive_segments.rows_and_tags(np.random.default_rng(6))
    free = SemiMarkovCRF(**settings).fit(X, y)
    kept = [
        i
        for i, log_p in enumerate(free.set_params(allowed_transitions=rule).log_proba(X, y))
        if log_p > -np.inf
    ]
    assert len(kept) > 1
    X = [X[i] for i in kept]
    y = [y[i] for i in kept]
    free = SemiMarkovCRF(**settings).fit(X, y)
    crf = SemiMarkovCRF(allowed_transitions=rule, constrain_training=True, **settings).fit(X, y)
    assert np.abs(crf._w - free._w).max() > 1e-3

    def objective(model):
        """Loss + penalty / C by enumeration."""
        labels = model.classes_.tolist()
        loss = 0.0
        for rows, tags in zip(X, y):
            ways, p, _ = allowed_segmentations(model, rows, rule)
            loss -= float(np.log(p[ways.index(segments_of(tags, labels))]))
        tables = (model.coef_, model.transition_, model.length_coef_)
        ends = (model.first_coef_, model.last_coef_)
        return loss + sum(np.sum(table**2) for table in (*tables, *ends)) / 4.0

    least = objective(crf)
    assert crf.loss_curve_[-1] == pytest.approx(least, rel=1e-9)
    w = crf._w.copy()
    for step in np.random.default_rng(0).normal(size=(5, len(w))) * 1e-3:
        crf.__dict__.update(crf._learned(w + step))
        assert objective(crf) > least


@pytest.mark.parametrize("constrain_training", [False, True])
@pytest.mark.parametrize("rule", ["BIO", BY_TOKENS], ids=["scheme", "dict"])
def test_segments_of_one_token_are_a_linear_chain(rule, constrain_training):
    settings = {"allowed_transitions": rule, "constrain_training": constrain_training}
    crf = SemiMarkovCRF(max_length=1, **settings).fit(WORDS, TAGS)
    chain = LinearChainCRF(solver="lbfgs", **settings).fit(WORDS, TAGS)
    np.testing.assert_allclose(crf.loss_curve_, chain.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(crf._w, chain._w, atol=1e-7)
    for a, b in zip(crf.predict_proba(WORDS), chain.predict_proba(WORDS), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)
    assert crf.predict(WORDS).tolist() == chain.predict(WORDS).tolist()
    wrong = [["O", "I-PER", "I-PER", "O"], *TAGS[1:]]
    np.testing.assert_allclose(
        crf.log_proba(WORDS, wrong), chain.log_proba(WORDS, wrong), atol=1e-7
    )


@pytest.mark.parametrize("y", [TAGS, SPANS], ids=["tags", "spans"])
def test_a_rule_is_about_segments_not_tokens(y):
    """Tokens within a segment have the same label, which is no transition."""
    settings = {"allowed_transitions": {"PER": ["PER"]}, "constrain_training": True}
    with pytest.raises(
        ForbiddenLabelError, match=r"^y\[2\], token 4: allowed_transitions forbids the label 'PER'"
    ):
        SemiMarkovCRF(**settings).fit(WORDS, y)
    weight = [1, 1, 0, 1]  # of a sequence without weight nothing is learned
    crf = SemiMarkovCRF(**settings).fit(WORDS, y, sample_weight=weight)
    spans = crf.predict_spans([["ask", "Ann", "Lee", "Bob", "Ann", "Lee"]])[0]
    assert spans
    assert all(b[0] > a[1] for a, b in pairwise(spans))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_segment_proba", "sample"])
def test_no_segmentation_is_allowed(method):
    everything = {None: ["O"], "PER": ["PER", "O"]}
    crf = SemiMarkovCRF(allowed_transitions=everything).fit(WORDS, TAGS)
    assert crf.max_length_ == 3
    assert crf.predict_spans([["Ann", "Lee", "Fox"]])[0] == [(0, 3, "PER")]
    with pytest.raises(
        ForbiddenLabelError,
        match=r"^X\[1\], token 3: the constraints allow no label here, whatever stands before it",
    ):
        getattr(crf, method)([["Ann"], ["call", "Ann", "Lee", "now"]])


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        ("BIO", UnknownLabelError, "allowed_transitions='BIO': label 'PER' is neither 'O' nor"),
        ({"LOC": ["O"]}, UnknownLabelError, r"allowed_transitions\['LOC'\]: label 'LOC' was not"),
        ({"O": "PER"}, InputTypeError, r"allowed_transitions\['O'\] must be a list of labels"),
        ([[True]], LengthMismatchError, r"has shape \(1, 1\), but 2 labels need \(2, 2\)"),
        ([[1, 0], [1, 1]], InputTypeError, "must hold booleans"),
        ("bio", ValueError, "'allowed_transitions' parameter of SemiMarkovCRF"),
        (3, ValueError, "'allowed_transitions' parameter of SemiMarkovCRF"),
    ],
    ids=repr,
)
def test_rules_that_are_refused(rule, error, message):
    with pytest.raises(error, match=message):
        SemiMarkovCRF(allowed_transitions=rule).fit(WORDS, TAGS)
    crf = SemiMarkovCRF().fit(WORDS, TAGS).set_params(allowed_transitions=rule)
    with pytest.raises(error, match=message):
        crf.predict(WORDS)


@pytest.mark.parametrize("rule", [{"O": ["PER"], "PER": ["PER", None]}, np.eye(2, dtype=bool)])
def test_files(rule, tmp_path):
    crf = SemiMarkovCRF(allowed_transitions=rule).fit(WORDS, TAGS)
    persistence.save(crf, tmp_path / "model")
    loaded = persistence.load(tmp_path / "model")
    np.testing.assert_equal(loaded.allowed_transitions, rule)
    assert loaded.predict(WORDS[:1]).tolist() == crf.predict(WORDS[:1]).tolist()
    assert crf.set_params(allowed_transitions=None).predict(WORDS[:1])[0] == TAGS[0]
    assert loaded.predict(WORDS[:1])[0] != TAGS[0]


def test_codes_of_the_twin():
    """What the twins above call a segment is what the model calls one."""
    labels = ["O", "PER"]
    segments = segments_of(TAGS[0], labels)
    assert segments == [(0, 1, 0), (1, 3, 1), (3, 4, 0)]
    assert naive_segments.codes(segments, 2) == (0, 1, 3, 0)
