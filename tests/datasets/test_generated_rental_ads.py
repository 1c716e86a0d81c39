"""The advertisements: their form, and that they are what sequence models are for."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pycrfsuite
import pytest

from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.datasets.generated_rental_ads import GRAMMAR, POSITIONS, RULES
from sklearn_struct.metrics import extract_spans, span_f1_score

FIELDS = {
    "ADDRESS", "AVAILABLE", "CONTACT", "FEATURES", "NEIGHBORHOOD", "PHOTOS", "RENT",
    "RESTRICTIONS", "ROOMMATES", "SIZE", "UTILITIES",
}  # fmt: skip

# Words that a person would name if asked which words tell of a field.
TELLING = {
    "ADDRESS": "address avenue corner",
    "AVAILABLE": "available immediately ready",
    "CONTACT": "call email phone appointment",
    "FEATURES": "kitchen laundry parking dishwasher",
    "NEIGHBORHOOD": "near close downtown shopping",
    "PHOTOS": "photos pictures click",
    "RENT": "$ deposit month rent",
    "RESTRICTIONS": "pets smoking dog no",
    "ROOMMATES": "roommate respectful drama",
    "SIZE": "sq ft bedroom br bath",
    "UTILITIES": "utilities pays electricity included",
}


@pytest.fixture(scope="module")
def ads():
    return make_rental_ads(n_samples=400, random_state=0)


@pytest.fixture(scope="module")
def fields_of(ads):
    """How often each word (in lower case) stands in each field."""
    found = defaultdict(Counter)
    for tokens, labels in zip(*ads):
        for token, label in zip(tokens, labels):
            found[token.lower()][label[2:] or "O"] += 1
    return found


def test_form(ads):
    X, y = ads
    assert len(X) == len(y) == 400
    for tokens, labels in zip(X, y):
        assert 30 <= len(tokens) == len(labels) <= 80
        assert all(
            type(token) is str and not set(token) & set("<>#| ") and token for token in tokens
        )
        assert all(type(label) is str for label in labels)


def test_labels_are_well_formed_and_all_fields_occur(ads):
    kinds = Counter()
    for labels in ads[1]:
        spans = extract_spans(labels)
        assert spans == extract_spans(labels, "IOB2")
        kinds.update(kind for kind, _, _ in spans)
    assert kinds.keys() == FIELDS
    assert min(kinds.values()) > 100


def test_random_state_reproduces():
    first = make_rental_ads(5, random_state=3)
    assert (
        first
        == make_rental_ads(5, random_state=3)
        == make_rental_ads(5, random_state=np.random.RandomState(3))
    )
    assert first != make_rental_ads(5, random_state=4)
    assert [part[:2] for part in first] == list(make_rental_ads(2, random_state=3))
    assert make_rental_ads(0) == ([], [])
    assert len(make_rental_ads()[0]) == 100


@pytest.mark.parametrize("n_samples", [-1, 2.5, "3"])
def test_bad_number(n_samples):
    with pytest.raises(
        ValueError, match=f"n_samples must be an integer, not negative, got {n_samples!r}"
    ):
        make_rental_ads(n_samples)


def test_grammar_is_closed_and_used():
    named = {part.split(">")[0] for text in GRAMMAR.values() for part in text.split("<")[1:]}
    assert named <= RULES.keys()
    assert RULES.keys() == named | POSITIONS.keys()
    assert POSITIONS.keys() == FIELDS | {"O"}


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_telling_words_are_mostly_in_their_field(fields_of, field):
    for word in TELLING[field].split():
        assert fields_of[word].most_common(1)[0][0] == field, (word, fields_of[word])


@pytest.mark.parametrize(
    "word", ["month", "room", "parking", "street", "water", "available", "call", "1", "no"]
)
def test_words_of_several_fields(fields_of, word):
    assert len(fields_of[word]) >= 2


def test_fields_follow_each_other_in_varying_order(ads):
    after = defaultdict(set)
    for labels in ads[1]:
        kinds = [kind for kind, _, _ in extract_spans(labels)]
        for before, now in pairwise(kinds):
            after[before].add(now)
    assert all(len(after[field]) >= 8 for field in FIELDS)


def fit_predict(items, labels, new_items, path):
    """A CRF trained by crfsuite; sequences of length one make it a logistic regression."""
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0.0, "c2": 1.0, "max_iterations": 100})
    for sequence, y in zip(items, labels):
        trainer.append(pycrfsuite.ItemSequence(sequence), y)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    with tagger.open(str(path)):
        return [tagger.tag(pycrfsuite.ItemSequence(sequence)) for sequence in new_items]


def test_chains_beat_tokens(ads, tmp_path):
    """The same features with and without transitions."""
    X, y = ads
    items = [
        [{f"word={token.lower()}": 1.0, f"digit={token.isdigit()}": 1.0} for token in tokens]
        for tokens in X
    ]
    chains = fit_predict(items[:200], y[:200], items[300:], tmp_path / "chains")
    train = [
        ([item], [label])
        for tokens, labels in zip(items[:200], y[:200])
        for item, label in zip(tokens, labels)
    ]
    flat = fit_predict(
        *zip(*train), [[item] for tokens in items[300:] for item in tokens], tmp_path / "tokens"
    )
    labels = iter(label for (label,) in flat)
    tokens = [[next(labels) for _ in sequence] for sequence in y[300:]]
    assert span_f1_score(y[300:], chains) > 0.7
    assert span_f1_score(y[300:], chains) > span_f1_score(y[300:], tokens) + 0.3
