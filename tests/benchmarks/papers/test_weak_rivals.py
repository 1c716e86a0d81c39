"""The benchmarks' rivals of learning from labelled words, against enumeration."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.special import logsumexp

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


def test_what_stands_between_fields_belongs_to_the_field_before():
    from papers.prototype_mrf import BOUNDARY, PrototypeMRF, joined

    texts = [["1", ",", "st"], ["2", ",", "ave"], [",", "1", ",", "st", "."], [","]] * 4
    words = sorted({word for text in texts for word in text})
    like = np.array([[word in {"st", "ave"}, word.isdigit()] for word in words], dtype=float)
    model = PrototypeMRF({"st": "T", "1": "N"}, boundary=[",", "."]).fit(texts, words, like)
    assert model.predict([[",", "2", ",", "ave", "."]]) == [["N", "N", "N", "T", "T"]]
    assert joined([BOUNDARY, "A", BOUNDARY, BOUNDARY, "B"]) == ["A", "A", "A", "A", "B"]
    without = PrototypeMRF({"st": "T", "1": "N"}).fit(texts, words, like)
    assert BOUNDARY in model.classes_
    assert without.classes_ == ["N", "T"]
