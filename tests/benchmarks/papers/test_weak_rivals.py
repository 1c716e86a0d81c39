"""The benchmarks' rivals of learning from labelled words, against enumeration."""

from __future__ import annotations

from itertools import groupby, pairwise, product
from math import log

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.special import logsumexp

from sklearn_struct import HMM

X = [["2", "oak", "st"], ["9", "st"], ["oak", "ave", "apt", "9"]]
Y = [["N", "S", "T"], ["N", "T"], ["S", "T", "U", "N"]]
UNLABELLED = [["9", "elm", "ave"], ["elm", "apt"], ["2", "elm", "elm", "st"], ["apt"]]
LABELLED_WORDS = {"st": "T", "ave": "T", "apt": "U"}


# ---- constraint-driven learning


def joint(model, text, labels):
    """log p(x, y), read off the tables."""
    (start, transition, stop), words = model.chain_
    codes = [model.classes_.index(label) for label in labels]
    found = start[codes[0]] + stop[codes[-1]] + sum(transition[j, k] for j, k in pairwise(codes))
    oov = len(model.vocabulary_)
    return found + sum(words[k, model.vocabulary_.get(word, oov)] for k, word in zip(codes, text))


def penalised(model, text, labels):
    broken = sum(LABELLED_WORDS.get(word, label) != label for word, label in zip(text, labels))
    broken += sum(len(list(run)) < model.min_length for _, run in groupby(labels))
    return joint(model, text, labels) - model.penalty * broken


@pytest.mark.parametrize("n_rounds", [0, 2])
@pytest.mark.parametrize("min_length", [1, 2, 3])
def test_best_labellings_are_those_of_an_enumeration(n_rounds, min_length):
    from papers.constraint_driven import ConstraintDrivenHMM

    options = {"min_length": min_length, "n_best": 7, "n_rounds": n_rounds}
    model = ConstraintDrivenHMM(LABELLED_WORDS, penalty=1.5, **options).fit(X, Y, UNLABELLED)
    labels, weight = model.best_labellings(UNLABELLED)
    start = 0
    for i, text in enumerate(UNLABELLED):
        ranked = sorted(
            product(model.classes_, repeat=len(text)), key=lambda y: -penalised(model, text, y)
        )[:7]
        n = len(ranked)  # a text of one token has but four labellings
        found = [[model.classes_[k] for k in row[start : start + len(text)]] for row in labels[:n]]
        assert_allclose(
            [penalised(model, text, y) for y in found], [penalised(model, text, y) for y in ranked]
        )
        assert len(set(map(tuple, found))) == n
        assert_allclose(weight[:, i], [1 / n] * n + [0] * (7 - n))
        start += len(text)
        for constrained, score in ((False, joint), (True, penalised)):
            (predicted,) = model.predict([text], constrained=constrained)
            best = max(score(model, text, y) for y in product(model.classes_, repeat=len(text)))
            assert_allclose(score(model, text, predicted), best)


def test_without_rounds_it_is_the_hidden_markov_model():
    from papers.constraint_driven import ConstraintDrivenHMM

    model = ConstraintDrivenHMM(LABELLED_WORDS, n_rounds=0, smoothing=0.5).fit(X, Y, UNLABELLED)
    hmm = HMM(smoothing=0.5, transition_smoothing=0.1).fit(X, Y)
    texts = [*X, *UNLABELLED, ["new", "st"]]
    assert model.predict(texts) == hmm.predict(texts).tolist()
    assert_is_distribution(model)


def assert_is_distribution(model):
    (start, transition, stop), words = model.chain_
    assert_allclose(np.exp(start).sum(), 1)
    assert_allclose(np.exp(transition).sum(axis=1) + np.exp(stop), 1)
    assert_allclose(np.exp(words).sum(axis=1), 1)


def test_a_round_mixes_with_the_counts_of_the_best_labellings():
    from papers.constraint_driven import ConstraintDrivenHMM

    options = {"n_best": 2, "supervised_share": 0.7, "smoothing": 0.3, "transition_smoothing": 0.2}
    supervised = ConstraintDrivenHMM(LABELLED_WORDS, n_rounds=0, **options).fit(X, Y, UNLABELLED)
    model = ConstraintDrivenHMM(LABELLED_WORDS, n_rounds=1, **options).fit(X, Y, UNLABELLED)
    assert_is_distribution(model)
    labels, weight = supervised.best_labellings(UNLABELLED)
    K = len(model.classes_)
    texts = np.repeat(np.arange(len(UNLABELLED)), [len(text) for text in UNLABELLED])
    start = np.zeros(K)
    words = np.zeros((K, len(model.vocabulary_) + 1))
    everything = [*X, *UNLABELLED]
    seen = set()
    position = -sum(map(len, X))
    for i, text in enumerate(everything):
        for t, word in enumerate(text):
            code = model.vocabulary_.get(word, -1) if word in seen else -1
            seen.add(word)
            given = (
                [(model.classes_.index(Y[i][t]), 1)]
                if position < 0
                else zip(labels[:, position], weight[:, texts[position]])
            )
            for k, share in given:
                words[k, code] += share
                start[k] += share * (t == 0)
            position += 1
    for found, old, counts, smoothing in (
        (model.chain_.words, supervised.chain_.words, words, 0.3),
        (model.chain_.markov.start, supervised.chain_.markov.start, start, 0.2),
    ):
        new = (counts + smoothing) / (counts + smoothing).sum(axis=-1, keepdims=True)
        assert_allclose(np.exp(found), 0.7 * np.exp(old) + 0.3 * new)


def test_constraints_teach_words_that_have_no_labels():
    from papers.constraint_driven import ConstraintDrivenHMM

    unlabelled = [["2", "elm", "blvd"], ["9", "fir", "blvd"], ["2", "oak", "blvd", "apt", "9"]] * 5
    model = ConstraintDrivenHMM(
        LABELLED_WORDS | {"blvd": "T"}, penalty=log(99), supervised_share=0.5
    ).fit(X, Y, unlabelled)
    assert model.predict([["2", "new", "blvd"]]) == [["N", "S", "T"]]


def test_least_lengths_join_short_fields():
    from papers.constraint_driven import ConstraintDrivenHMM

    texts = [["2", "oak", "oak", "st", "st"]]
    free = ConstraintDrivenHMM({}, n_rounds=0).fit(X, Y, [])
    model = ConstraintDrivenHMM({}, n_rounds=0, min_length=2, penalty=50.0).fit(X, Y, [])
    assert 1 in {len(list(run)) for _, run in groupby(free.predict(texts)[0])}
    found = model.predict(texts, constrained=True)[0]
    assert min(len(list(run)) for _, run in groupby(found)) >= 2
    assert model.predict(texts) == free.predict(texts)


# ---- prototypes

PROTOTYPES = {"st": "T", "oak": "S"}
WORDS = ["2", "oak", "st", "9"]
FEATURES = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0], [1.0, 0.2]])
TEXTS = [["2", "oak", "st"], ["9", "st"], ["2"], ["oak", "2"]]


@pytest.fixture
def mrf():
    """A model with features but not yet fitted, weights, and what it has seen."""
    from papers.prototype_mrf import PrototypeMRF

    model = PrototypeMRF(PROTOTYPES, variance=2.0, max_iter=1).fit(
        TEXTS, [*WORDS, "unseen"], np.vstack([FEATURES, [1, 0]])
    )
    n_weights = 2 * (2 + 2 + 5 + 2)
    return model, np.random.RandomState(0).normal(size=n_weights), model.observed(TEXTS)


def test_objective_is_that_of_an_enumeration_of_words_and_labels(mrf):
    model, w, observed = mrf
    start, stop, transition, emission = model.parts(w)

    def score(text, codes):
        found = (
            start[codes[0]] + stop[codes[-1]] + sum(transition[j, k] for j, k in pairwise(codes))
        )
        features = [
            np.concatenate([np.eye(5)[WORDS.index(word)], FEATURES[WORDS.index(word)]])
            for word in text
        ]
        return found + sum(f @ emission[:, k] for f, k in zip(features, codes))

    def log_Z(texts, n, allowed=lambda word, label: True):
        return logsumexp(
            [
                score(text, codes)
                for text in texts
                for codes in product(range(2), repeat=n)
                if all(allowed(word, model.classes_[k]) for word, k in zip(text, codes))
            ]
        )

    expected = -w @ w / 4
    for text in TEXTS:
        expected += log_Z(
            [text], len(text), lambda word, label: PROTOTYPES.get(word, label) == label
        )
        expected -= log_Z(product(WORDS, repeat=len(text)), len(text))
    assert_allclose(model.objective(w, observed)[0], -expected / sum(map(len, TEXTS)), rtol=1e-12)


def test_gradient_is_that_of_finite_differences(mrf):
    model, w, observed = mrf
    error = check_grad(
        lambda v: model.objective(v, observed)[0], lambda v: model.objective(v, observed)[1], w
    )
    assert error < 1e-6


def test_prototypes_keep_their_labels_and_lend_them_by_features():
    from papers.prototype_mrf import PrototypeMRF

    texts = [
        ["1", "oak", "st"],
        ["2", "elm", "ave"],
        ["3", "ash", "st"],
        ["1", "fir", "ave"],
        ["7", "oak", "ave"],
    ] * 4
    words = sorted({word for text in texts for word in text} | {"rd"})
    like = np.array([[word in {"st", "ave", "rd"}, word.isdigit()] for word in words], dtype=float)
    model = PrototypeMRF({"st": "T", "1": "N", "oak": "S"}).fit(texts, words, like)
    assert model.predict([["2", "elm", "ave"], ["8", "new", "rd"], []]) == [
        ["N", "S", "T"],
        ["N", "S", "T"],
        [],
    ]
    assert model.predict([["st", "1"]]) == [["T", "N"]]
