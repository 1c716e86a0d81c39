"""Features of words that are like prototypes: against dense linear algebra, and whether they are
any good.
"""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import set_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sklearn_struct import (
    FeatureTemplates,
    LinearChainCRF,
    PrototypeFeatures,
    SequenceArray,
    SequenceUnion,
    SequenceVectorizer,
)
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.exceptions import EmptyDataError, InputTypeError

X = [
    f"the {animal} {verb}".split()
    for animal in ("cat", "dog", "fox")
    for verb in ("eats", "runs", "hides")
]

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
PROTOTYPES = {word: label for label, words in TELLING.items() for word in words.split()}


@pytest.fixture(scope="module")
def ads():
    """Words in lower case, and their fields without B- and I-."""
    X, y = make_rental_ads(200, random_state=0)
    return [[word.lower() for word in words] for words in X], [
        [label[2:] or "O" for label in labels] for labels in y
    ]


def naive_cosines(X, prototypes, n_components, window, directions, n_context):
    """(words, cosines of each word with the prototypes) by dense matrices."""
    words = list(dict.fromkeys(word for sequence in X for word in sequence))
    frequency = Counter(word for sequence in X for word in sequence)
    frequent = {
        *sorted(words, key=lambda word: (-frequency[word], words.index(word)))[:n_context],
        None,
    }
    counts = Counter()
    for sequence in X:
        for t, word in enumerate(sequence):
            for place in range(-window, window + 1):
                other = sequence[t + place] if 0 <= t + place < len(sequence) else None
                if place and other in frequent:
                    counts[word, (other, place * directions)] += 1
    contexts = list(dict.fromkeys(context for _, context in counts))
    table = np.array(
        [[counts[word, context] for context in contexts] for word in words], dtype=float
    )
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    there = table.sum(1) > 0
    residual = (table[there] - expected[there]) / np.sqrt(expected[there])
    left, singular, _ = np.linalg.svd(residual, full_matrices=False)
    vectors = np.zeros((len(words), min(n_components, len(singular))))
    vectors[there] = (left * singular)[:, :n_components]
    lengths = np.linalg.norm(vectors, axis=1)
    vectors /= np.where(lengths > 1e-9, lengths, np.inf)[:, np.newaxis]
    return words, vectors @ vectors[[words.index(word) for word in prototypes]].T


# ---------------------------------------------------------------- what is computed


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"directions": False, "window": 5, "n_components": 10},
        {"n_components": 3, "n_context": 20, "window": 1, "threshold": 0.7},
        {"n_components": 4000, "n_context": 30, "window": 1},  # the whole decomposition
    ],
)
def test_tokens_have_the_prototypes_that_their_words_are_near(ads, options):
    X = ads[0][:60]
    prototypes = ["call", "kitchen", "$", "near"]
    model = PrototypeFeatures(prototypes, **options)
    found = model.fit_transform(X)
    others = {
        "n_components": 50,
        "window": 2,
        "directions": True,
        "n_context": 500,
        "threshold": 0.35,
    } | options
    threshold = others.pop("threshold")
    words, cosines = naive_cosines(X, prototypes, **others)
    cosines[[words.index(word) for word in prototypes], range(4)] = 1
    # what is near it depends on rounding, and on the seed
    sure = np.abs(cosines - threshold) > 0.02
    assert sure.mean() > 0.95
    rows = [words.index(word) for sequence in X for word in sequence]
    near = (cosines >= threshold)[rows]
    sure = sure[rows]
    tokens = found.tokens.toarray()
    assert set(np.unique(tokens)) == {0.0, 1.0}
    np.testing.assert_array_equal(tokens[sure], near[sure])
    np.testing.assert_array_equal(found.lengths, [len(sequence) for sequence in X])
    similar = model.similar_words_["call"]
    order = np.array([cosines[words.index(word), 0] for word in similar])
    assert similar[0] == "call"
    assert np.all(np.diff(order) < 0.02)


def test_similar_words():
    model = PrototypeFeatures(["dog", "runs", "the"]).fit(X)
    assert model.similar_words_ == {
        "dog": ["dog", "cat", "fox"],
        "runs": ["runs", "eats", "hides"],
        "the": ["the"],
    }


def test_directions_matter():
    X = [["x", "a", "y"], ["y", "b", "x"], ["x", "c", "y"]] * 3
    alike = [
        PrototypeFeatures(["a"], window=1, directions=d).fit(X).similar_words_["a"]
        for d in (True, False)
    ]
    assert alike == [["a", "c"], ["a", "b", "c"]]


def test_bounds_of_a_sequence_are_context():
    # no word has a neighbour in common with another one
    X = [["first", "m", "last"], ["begin", "n", "end"]]
    model = PrototypeFeatures(["first", "last"], window=1, n_components=2).fit(X)
    assert model.similar_words_ == {"first": ["first", "begin"], "last": ["last", "end"]}


def test_only_frequent_words_are_context():
    X = [["f", "q", "r", "f"], ["f", "s", "u", "f"]]
    found = [
        PrototypeFeatures(["q"], n_context=n, window=1).fit(X).similar_words_["q"] for n in (1, 9)
    ]
    assert found == [["q", "s"], ["q"]]


def test_a_prototype_is_near_itself_alone_where_nothing_is_special():
    model = PrototypeFeatures(["a"]).fit([["a"], ["b"]])  # all words stand in the same contexts
    assert model.transform([["a", "b"]]).tokens.toarray().tolist() == [[1], [0]]
    X = [["f", "f", "u", "v", "w", "f", "f"]]  # around v there is nothing that is counted
    model = PrototypeFeatures(["v"], n_context=1, window=1).fit(X)
    assert model.similar_words_ == {"v": ["v"]}


def test_a_threshold_of_1():
    model = PrototypeFeatures(["cat", "runs"], threshold=1).fit(X)
    assert model.similar_words_ == {"cat": ["cat", "dog", "fox"], "runs": ["runs", "eats", "hides"]}


def test_the_seed_changes_little(ads):
    found = [
        PrototypeFeatures(PROTOTYPES, random_state=seed).fit_transform(ads[0]) for seed in (0, 0, 1)
    ]
    assert found[0] == found[1]
    assert (found[0].tokens != found[2].tokens).nnz < 0.01 * found[0].tokens.nnz


# ---------------------------------------------------------------- whether it is any good


@pytest.mark.parametrize(("options", "times"), [({}, 2), ({"directions": False, "window": 5}, 4)])
def test_words_near_a_prototype_have_its_label(ads, options, times):
    """Tokens of other words than prototypes: how often the label is that of their feature, and how
    often by chance.
    """
    X, y = ads
    model = PrototypeFeatures(PROTOTYPES, **options)
    tokens = model.fit_transform(X).tokens.toarray() > 0
    tokens[np.isin(np.concatenate(X), list(PROTOTYPES))] = False
    labels = np.concatenate(y)[:, np.newaxis] == [PROTOTYPES[word] for word in model.prototypes_]
    precision = np.sum(tokens & labels) / tokens.sum()
    chance = np.sum(tokens.sum(axis=0) * labels.mean(axis=0)) / tokens.sum()
    assert tokens.any(axis=1).mean() > 0.4
    assert precision > times * chance


def test_a_model_of_few_labelled_sequences_gains(ads):
    X, y = ads
    parts = [
        ("word", SequenceVectorizer()),
        ("prototype", PrototypeFeatures(PROTOTYPES, directions=False, window=5)),
    ]
    accuracy = []
    for n_parts in (1, 2):
        encoded = SequenceUnion(parts[:n_parts]).fit_transform(X)
        crf = LinearChainCRF(C=10, feature_pairs="all", tol=1e-2).fit(encoded[:10], y[:10])
        accuracy.append(crf.score(encoded[10:], y[10:]))
    assert accuracy[1] > accuracy[0] + 0.1


# ---------------------------------------------------------------- forms of X and of prototypes


@pytest.mark.parametrize(
    ("convert", "options"),
    [
        (lambda X: [[(word, "T") for word in words] for words in X], {}),
        (lambda X: [[["T", word] for word in words] for words in X], {"column": 1}),
        (lambda X: [[["T", word] for word in words] for words in X], {"column": -1}),
        (lambda X: [[{"w": word, "n": 2.0} for word in words] for words in X], {"column": "w"}),
        (lambda X: [np.array(words) for words in X], {}),
        (lambda X: [np.array([("T", word) for word in words]) for words in X], {"column": 1}),
        (lambda X: [tuple(words) for words in X], {}),
        (iter, {}),
        (pd.Series, {}),
        (object_array, {}),
        (
            lambda X: SequenceArray.from_frame(
                pd.DataFrame([(i, "T", word) for i, words in enumerate(X) for word in words]),
                0,
                [1, 2],
            ),
            {"column": 1},
        ),
    ],
    ids=[
        "tuples",
        "lists",
        "last",
        "dicts",
        "array",
        "2d",
        "tuple",
        "iterator",
        "series",
        "objects",
        "frame",
    ],
)
def test_forms_of_X(convert, options):
    expected = PrototypeFeatures(["cat", "runs"]).fit_transform(X)
    model = PrototypeFeatures(["cat", "runs"], **options)
    assert model.fit_transform(convert(X)) == expected
    assert model.fit(convert(X)).transform(convert(X)) == expected


@pytest.mark.parametrize(
    "prototypes",
    [
        ("cat", "runs"),
        {"cat": "NOUN", "runs": "VERB"},
        {"runs", "cat"},
        np.array(["cat", "runs", "cat"]),
    ],
)
def test_forms_of_prototypes(prototypes):
    model = PrototypeFeatures(prototypes).fit(X)
    assert model.get_feature_names_out().tolist() == ["prototype=cat", "prototype=runs"]
    assert model.prototypes_.tolist() == ["cat", "runs"]
    assert model.n_features_out_ == 2


def test_unseen_words_and_empty_sequences():
    model = PrototypeFeatures(["cat", "runs"]).fit([*X, []])
    found = model.transform([["a", "dog"], [], ["\ud800", "hides"]])
    assert found.tokens.toarray().tolist() == [[0, 0], [1, 0], [0, 0], [0, 1]]
    assert found.lengths.tolist() == [2, 0, 2]
    assert sp.issparse(found.tokens)
    assert model.transform([]).tokens.shape == (0, 2)


def test_prototypes_that_X_does_not_have():
    with pytest.warns(UserWarning, match=r"get no feature: \['cow', 'Cat'\]"):
        model = PrototypeFeatures(["cow", "dog", "Cat"]).fit(X)
    assert model.get_feature_names_out().tolist() == ["prototype=dog"]
    assert model.transform(X).tokens.shape == (27, 1)
    with pytest.warns(UserWarning, match="cow"):
        model.set_params(prototypes=["cow"]).fit(X)
    assert model.transform(X).tokens.shape == (27, 0)
    assert model.get_feature_names_out().shape == (0,)
    assert model.similar_words_ == {}


# ---------------------------------------------------------------- manners


def test_beside_other_features():
    rows = [[(word, word[-1]) for word in words] for words in X]
    y = [["D", "N", "V"]] * len(X)
    union = SequenceUnion(
        [
            ("t", FeatureTemplates(["w:%x[0,0]"])),
            ("p", PrototypeFeatures({"the": "D", "eats": "V"})),
        ]
    )
    model = Pipeline([("features", union), ("crf", LinearChainCRF())])
    model.fit([*rows[:2], *rows], [*y[:2], *y])
    assert model.predict([[("the", "e"), ("fox", "x"), ("runs", "s")]]).tolist() == [
        ["D", "N", "V"]
    ]
    assert model["crf"].feature_names_in_.tolist()[-2:] == ["p__prototype=the", "p__prototype=eats"]
    assert pickle.loads(pickle.dumps(model)).predict(rows).tolist() == model.predict(rows).tolist()
    search = GridSearchCV(model, {"features__p__threshold": [0.2, 0.9]}, cv=3).fit(rows, y)
    assert search.best_score_ > 0.9


def test_manners_of_an_estimator():
    model = PrototypeFeatures(["cat", "runs"], n_components=5, column=0)
    assert clone(model).get_params() == model.get_params()
    encoded = model.fit(X).transform(X)
    again = pickle.loads(pickle.dumps(model))
    assert again.transform(X) == encoded
    assert again.similar_words_ == model.similar_words_
    assert (
        encoded.feature_names
        is model.get_feature_names_out()
        is model.transform(X[:1]).feature_names
    )
    assert not encoded.feature_names.flags.writeable
    assert model.__sklearn_tags__().input_tags.string
    assert not hasattr(PrototypeFeatures(["a"]), "similar_words_")


def test_a_matter_of_configuration():
    """A SequenceArray is no data frame, whatever output is asked for."""
    set_config(transform_output="pandas")
    try:
        assert isinstance(PrototypeFeatures(["cat"]).fit(X).transform(X), SequenceArray)
    finally:
        set_config(transform_output="default")


def test_not_fitted():
    for call in (lambda m: m.transform(X), lambda m: m.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            call(PrototypeFeatures(["cat"]))


BAD = [
    (
        [["a"], ["b", 3.0]],
        InputTypeError,
        r"X\[1\], token 1: a token is a string or has one at 0, got 3.0",
    ),
    (
        [["a", None]],
        InputTypeError,
        r"X\[0\], token 1: a token is a string or has one at 0, got None",
    ),
    ([[()]], InputTypeError, r"X\[0\], token 0: a token is a string or has one at 0, got \(\)"),
    (
        [[{"w": "a"}]],
        InputTypeError,
        r"X\[0\], token 0: a token is a string or has one at 0, got {'w': 'a'}",
    ),
    ([[("a",)], [(1, "a")]], InputTypeError, r"X\[1\], token 0: a word is a string, got 1 \(int\)"),
    (["ab"], InputTypeError, r"X\[0\]: a sequence is a list of tokens, got str"),
    ([["a"], 3], InputTypeError, r"X\[1\]: a sequence is a list of tokens, got int"),
    (
        SequenceArray(sp.csr_array(np.eye(2)), [0, 2]),
        InputTypeError,
        "X is a SequenceArray of sparse numbers",
    ),
    (3, InputTypeError, "X must be a list of sequences, got int"),
]


@pytest.mark.parametrize(("wrong", "error", "message"), BAD)
def test_bad_input_is_refused_with_its_place_and_changes_nothing(wrong, error, message):
    model = PrototypeFeatures(["cat"]).fit(X)
    before = dict(vars(model))
    for call in (model.fit, model.fit_transform, model.transform):
        with pytest.raises(error, match=message):
            call(wrong)
    assert vars(model) == before


@pytest.mark.parametrize("nothing", [[], [[]], iter([])])
def test_nothing_to_learn_from(nothing):
    with pytest.raises(EmptyDataError, match="X has no tokens"):
        PrototypeFeatures(["a"]).fit(nothing)


@pytest.mark.parametrize(
    ("prototypes", "error", "message"),
    [
        ("cat", InputTypeError, "prototypes must be a list of words, got str"),
        (None, InputTypeError, "prototypes must be a list of words, got NoneType"),
        (
            pd.DataFrame({"cat": [1]}),
            InputTypeError,
            "prototypes must be a list of words, got DataFrame",
        ),
        (iter(["cat"]), InputTypeError, "prototypes must be a list of words, got list_iterator"),
        (
            [("cat", "N")],
            InputTypeError,
            r"prototypes must be words \(strings\), got \('cat', 'N'\) \(tuple\)",
        ),
        ([], ValueError, "prototypes is empty"),
    ],
)
def test_bad_prototypes(prototypes, error, message):
    with pytest.raises(error, match=message):
        PrototypeFeatures(prototypes).fit(X)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 0},
        {"threshold": 0},
        {"threshold": 1.5},
        {"window": 0},
        {"directions": "left"},
        {"n_context": 0.5},
        {"column": None},
        {"random_state": "seed"},
    ],
)
def test_bad_parameters(parameters):
    with pytest.raises(ValueError, match=f"'{next(iter(parameters))}' parameter"):
        PrototypeFeatures(["cat"], **parameters).fit(X)


def test_matrices_without_items_are_no_tokens():
    with pytest.raises(InputTypeError, match="a token is a string or has one at 0"):
        PrototypeFeatures({"A": ["a"]}, column=0).fit([[sp.bsr_array(np.eye(2))]])
