"""What to label, and what an annotator would find: against loops over tokens that count."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import mutual_info_classif

from sklearn_struct import FeatureTemplates, SequenceArray, SequenceUnion, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)
from sklearn_struct.labeled_features import (
    sample_targets,
    suggest_features,
    suggest_labeled_features,
)

FUNCTIONS = {
    "suggest_labeled_features": suggest_labeled_features,
    "suggest_features": lambda X, y, **options: suggest_features(
        X, y, criterion="information_gain", **options
    ),
    "sample_targets": lambda X, y: sample_targets(X, y, ["a"]),
}
every_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


@pytest.fixture(scope="module")
def ads():
    """Words in lower case, fields without B- and I-, some labels and whole sequences missing."""
    X, y = make_rental_ads(60, random_state=0)
    rng = np.random.RandomState(0)
    X = [[word.lower() for word in words] for words in X]
    y = [[None if rng.rand() < 0.2 else label[2:] or "O" for label in labels] for labels in y]
    y[3] = y[10] = None
    return X, y


def pairs(X, y):
    """(word, label) of all labelled tokens."""
    return [
        (word, label)
        for words, labels in zip(X, y)
        if labels is not None
        for word, label in zip(words, labels)
        if label is not None
    ]


def naive_rule(X, y, n_per_label=3, min_label_tokens=1, min_frequency=1, min_precision=0.0):
    together = Counter(pairs(X, y))
    words, labels = (Counter(items) for items in zip(*pairs(X, y)))
    found = {}
    for label in sorted(label for label, n in labels.items() if n >= min_label_tokens):
        candidates = [
            (-n, word)
            for (word, other), n in together.items()
            if other == label and n == max(together[word, every] for every in labels)
            if n >= min_frequency and n / words[word] >= min_precision and word not in found
        ]
        found |= {word: label for _, word in sorted(candidates)[:n_per_label]}
    return found


# ---------------------------------------------------------------- suggest_labeled_features


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_per_label": 1},
        {"n_per_label": 500},
        {"min_label_tokens": 150},
        {"min_precision": 0.7},
        {"min_frequency": 4, "min_precision": 1.0, "n_per_label": 10},
    ],
)
def test_the_rule(ads, options):
    found = suggest_labeled_features(*ads, **options)
    assert found == (expected := naive_rule(*ads, **options))
    assert list(found) == list(expected)
    assert len(found) > 3


def test_telling_words_of_the_ads(ads):
    found = suggest_labeled_features(*ads, min_frequency=3, min_precision=0.8)
    assert {"laundry": "FEATURES", "shopping": "NEIGHBORHOOD", "$": "RENT"}.items() <= found.items()


def test_order_and_ties():
    X = [["b", "a", "c", "both", "c"], ["both", "z"], ["z", "d"]]
    y = [["N", "N", "N", "N", "N"], ["A", "A"], ["A", "A"]]
    found = suggest_labeled_features(X, y, n_per_label=3)
    assert list(found.items()) == [
        ("z", "A"),
        ("both", "A"),
        ("d", "A"),
        ("c", "N"),
        ("a", "N"),
        ("b", "N"),
    ]
    found = suggest_labeled_features(X, y, n_per_label=1)
    assert found == {"z": "A", "c": "N"}
    found = suggest_labeled_features(
        [["x", "x"], ["b", "x", "x", "x"]], [["A", "A"], ["B", "B", "B", "B"]]
    )
    assert found == {"x": "B", "b": "B"}  # not a feature of A, where it is less frequent
    assert suggest_labeled_features(
        [["t", "t"], ["u", "u"]], [["A", "B"], ["A", "B"]], n_per_label=1
    ) == {
        "t": "A",
        "u": "B",
    }


def test_rare_labels_get_nothing_but_still_compete():
    X = [["w", "w", "v"], ["w", "u", "u"]]
    y = [["RARE", "RARE", "OFTEN"], ["OFTEN", "OFTEN", "OFTEN"]]
    assert suggest_labeled_features(X, y, min_label_tokens=3) == {"u": "OFTEN", "v": "OFTEN"}
    assert suggest_labeled_features(X, y, min_label_tokens=5) == {}


def test_precision_counts_labelled_tokens_only():
    X = [["w", "w", "w", "w"], ["w", "w"]]
    y = [["A", "A", "A", None], None]
    assert suggest_labeled_features(X, y, min_precision=1.0) == {"w": "A"}
    y[1] = ["B", None]
    assert suggest_labeled_features(X, y, min_precision=0.75) == {"w": "A"}
    assert suggest_labeled_features(X, y, min_precision=0.76) == {}


def test_labels_of_any_kind():
    found = suggest_labeled_features([["a", "b"]], SequenceArray(np.array([2, 1]), [0, 2]))
    assert found == {"b": 1, "a": 2}
    assert list(map(type, found.values())) == [int, int]
    assert suggest_labeled_features([["a"], ["b"]], [[("B", 1)], None]) == {"a": ("B", 1)}


# ---------------------------------------------------------------- forms of X


def dicts(X):
    return [[{"w": word, "size": float(len(word)), "no": 0.0} for word in words] for words in X]


def test_forms_of_X_agree(ads):
    X, y = ads
    expected = suggest_labeled_features(X, y)
    rows = [[(word, "x") for word in words] for words in X]
    named = {
        "w:": dicts(X),
        "t:": FeatureTemplates(["t:%x[0,0]"]).fit_transform(rows),
        "one__": SequenceUnion(
            [("one", SequenceVectorizer()), ("two", SequenceVectorizer())]
        ).fit_transform(X),
        "": SequenceVectorizer().fit_transform([[[word] for word in words] for words in X]),
    }
    for prefix, other in named.items():
        found = suggest_labeled_features(other, y, features=[re.compile(re.escape(prefix) + ".*")])
        assert found == {prefix + word: label for word, label in expected.items()}
    assert suggest_labeled_features(iter(X), iter(y)) == expected
    assert suggest_labeled_features(pd.Series(X), pd.Series(y)) == expected


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_a_feature_occurs_where_its_value_is_not_0(convert):
    tokens = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -0.5], [2.0, 0.0, 0.0]])
    X = SequenceArray(convert(tokens), [0, 2, 3], ["p", "never", "q"])
    assert suggest_labeled_features(X, [["A", "B"], ["A"]]) == {"p": "A", "q": "B"}
    assert suggest_features(X, n=None) == ["p", "q"]


def test_stored_zeros_and_duplicates_do_not_count():
    values = [1.0, -1.0, 0.0, 3.0, 2.0]
    columns = [0, 0, 1, 1, 1]
    indptr = [0, 3, 5]
    tokens = sp.csr_array((values, columns, indptr), shape=(2, 2))
    X = SequenceArray(tokens, [0, 2], ["cancels", "there"])
    assert suggest_features(X) == ["there"]
    assert sample_targets(X, [["A", "B"]], ["there"]) == {"there": Counter("B")}
    assert X.tokens.data.tolist() == values
    assert X.tokens.indices.tolist() == columns


def test_sequences_that_are_data_frames():
    X = [pd.DataFrame({"up": [1, 0], "down": [0, 1]}), pd.DataFrame({"up": [1], "down": [0]})]
    assert suggest_labeled_features(X, [["A", "B"], ["A"]]) == {"up": "A", "down": "B"}


# ---------------------------------------------------------------- which features


def test_patterns(ads):
    X, y = ads
    encoded = dicts(X)
    assert suggest_features(encoded, features="size") == ["size"]
    assert suggest_features(encoded, features=re.compile("w:kit.*")) == ["w:kitchen"]
    assert set(suggest_features(encoded, n=None, features=["size", re.compile("w:[ab].*")])) == {
        "size",
        *(f"w:{word}" for word in {word for words in X for word in words} if word[0] in "ab"),
    }
    with_p = suggest_labeled_features(encoded, y, n_per_label=1, features=re.compile("w:p.*"))
    assert set(with_p.values()) > {"FEATURES"}


@every_function
@pytest.mark.parametrize("missing", ["nope", ["a", "nope"]])
def test_unknown_features(function, missing):
    if function is FUNCTIONS["sample_targets"]:
        function = lambda X, y, features: sample_targets(X, y, features)  # noqa: E731
    with pytest.raises(ValueError, match="features: X has no feature 'nope'"):
        function([["a", "b"]], [["A", "B"]], features=missing)


# ---------------------------------------------------------------- suggest_features


def test_by_frequency(ads):
    X, _ = ads
    counts = Counter(word for words in X for word in words)
    expected = sorted(counts, key=lambda word: (-counts[word], word))
    assert suggest_features(X) == expected[:50]
    assert suggest_features(X, n=None) == expected
    assert suggest_features(X, [None], n=3) == expected[:3]  # y is not looked at


def test_by_information_gain(ads):
    X, y = ads
    labelled = pairs(X, y)
    labels = [label for _, label in labelled]
    gain = {
        word: mutual_info_classif(
            [[other == word] for other, _ in labelled], labels, discrete_features=True
        )[0]
        for word in suggest_features(X, n=60)
    }
    found = suggest_features(X, y, n=None, criterion="information_gain", features=list(gain))
    assert found == sorted(gain, key=lambda word: (-round(gain[word], 12), word))
    assert found != list(gain)
    everything = suggest_features(X, y, n=None, criterion="information_gain")
    assert set(everything) == {word for word, _ in labelled}
    # some words stand beside missing labels only
    assert len(everything) < len(suggest_features(X, n=None))


def test_information_gain_is_symmetric_and_ties_go_by_name():
    X = [[["z", "all"], ["all"], ["all"]], [["b", "all"], ["a", "all", "y"], ["all"]]]
    y = [["B", "A", "A"], ["A", "A", "B"]]
    found = suggest_features(X, y, criterion="information_gain")
    assert found[0] == "z"
    assert found[1:] == ["a", "b", "y", "all"]
    assert suggest_features([["b", "a"]], [["A", "B"]], criterion="information_gain") == ["a", "b"]


# ---------------------------------------------------------------- sample_targets


def test_all_tokens(ads):
    X, y = ads
    words = ["parking", "$", "street"]
    found = sample_targets(X, y, words, None)
    assert found == {
        word: Counter(label for other, label in pairs(X, y) if other == word) for word in words
    }
    assert list(found) == words
    assert all(type(counts) is Counter for counts in found.values())


def test_samples(ads):
    X, y = ads
    chosen = suggest_labeled_features(X, y)
    whole = sample_targets(X, y, chosen, None)
    before = None
    for n in (1, 2, 5, 10, 1000):
        found = sample_targets(X, y, chosen, n, random_state=3)
        assert found == sample_targets(X, y, chosen, n, random_state=3)
        for name, counts in found.items():
            assert counts.total() == min(n, whole[name].total())
            assert counts <= whole[name]
            # a larger sample contains a smaller one
            assert before is None or before[name] <= counts
        before = found
    assert before == whole
    drawn = {str(sample_targets(X, y, ["parking"], 3, random_state=seed)) for seed in range(20)}
    assert len(drawn) > 1


def test_samples_are_fair():
    X = [["w"] * 10]
    y = [["A"] * 7 + ["B"] * 3]
    rng = np.random.RandomState(0)
    n_a = sum(sample_targets(X, y, ["w"], 2, random_state=rng)["w"]["A"] for _ in range(2000))
    assert abs(n_a / 4000 - 0.7) < 0.03


def test_a_single_name_and_none():
    X = [["word", "w"]]
    y = [["A", "B"]]
    assert sample_targets(X, y, "word") == {"word": Counter("A")}
    assert sample_targets(X, y, []) == {}


def test_features_without_labels_are_named():
    X = [["a", "b"], ["c", "a"]]
    y = [["A", None], None]
    with pytest.warns(UserWarning, match=r"nowhere with a label .* \['b', 'c'\]") as caught:
        assert sample_targets(X, y, ["b", "a", "c"]) == {"a": Counter("A")}
    assert caught[0].filename == __file__


# ---------------------------------------------------------------- bad input


@every_function
@pytest.mark.parametrize(
    ("X", "y", "error", "match"),
    [
        (
            [["a", "b"]],
            [["A"]],
            LengthMismatchError,
            r"X\[0\] has 2 tokens but y\[0\] has 1 labels",
        ),
        ([["a"]], [["A"], None], LengthMismatchError, "X has 1 sequences but y has 2"),
        ([["a"], ["b"]], [None, [None]], EmptyDataError, "y has no labels"),
        ([[], []], [[], []], EmptyDataError, "X has no tokens"),
        ([["a"]], [[["A"]]], InputTypeError, r"y\[0\], token 0: \['A'\] cannot be a label"),
        ([np.ones((1, 2))], [["A"]], InputTypeError, "X has no feature names"),
        (np.ones((1, 2)), ["A"], InputTypeError, "must be a list of sequences"),
        (SequenceArray(["a"], [0, 1]), [["A"]], InputTypeError, "rows of real numbers"),
        (
            SequenceArray([[np.nan]], [0, 1], ["a"]),
            [["A"]],
            NonFiniteError,
            r"X\[0\], token 0, feature 'a'",
        ),
        ([[{"a": None}]], [["A"]], InputTypeError, r"X\[0\], token 0, feature 'a'"),
    ],
)
def test_bad_data(function, X, y, error, match):
    with pytest.raises(error, match=match):
        function(X, y)


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: suggest_labeled_features(X, y, n_per_label=0),
        lambda X, y: suggest_labeled_features(X, y, min_label_tokens=0),
        lambda X, y: suggest_labeled_features(X, y, min_frequency=0),
        lambda X, y: suggest_labeled_features(X, y, min_precision=1.1),
        lambda X, y: suggest_labeled_features(X, y, features=3),
        lambda X, y: suggest_features(X, n=0),
        lambda X, y: suggest_features(X, criterion="chi2"),
        lambda X, y: sample_targets(X, y, ["a"], 0),
        lambda X, y: sample_targets(X, y, None),
        lambda X, y: sample_targets(X, y, ["a"], random_state="seed"),
    ],
)
def test_bad_parameters(call):
    with pytest.raises(ValueError, match=r"The '.*' parameter of"):
        call([["a"]], [["A"]])


def test_information_gain_needs_labels():
    with pytest.raises(ValueError, match=r"information_gain.* y is None"):
        suggest_features([["a"]], criterion="information_gain")
