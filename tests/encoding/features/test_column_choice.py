"""Names and patterns of names are said in two ways."""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_struct import GECRF, MEMM, LinearChainCRF, SequenceArray, SequenceVectorizer
from sklearn_struct.encoding.features.column_choice import columns_named
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.labeled_features import suggest_features, suggest_labeled_features
from sklearn_struct.persistence import load, save

NAMES = ["word:a", "word:*", "word:b", "*", "w[0]:a", "?", "all", "size"]
X = SequenceArray(np.eye(len(NAMES)), [0, len(NAMES)], NAMES)
TEXT = [["word:a", "word:*", "word:b"], ["word:a", "word:*"]]
TAGS = [["A", "B", "C"], ["A", "B"]]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("size", ["size"]),
        (re.compile("word:.*"), ["word:a", "word:*", "word:b"]),
        (re.compile(re.escape("word:*")), ["word:*"]),
        (["size", re.compile("w[^o].*"), 0, np.int64(0)], ["word:a", "w[0]:a", "size"]),
        (re.compile("SIZE|all", re.I), ["all", "size"]),
        ("w[0]:a", ["w[0]:a"]),
        ("all", ["all"]),
        (np.array(["size", "?"], dtype=object)[:1], ["size"]),
        ([], []),
    ],
    ids=str,
)
def test_what_is_chosen(wanted, names):
    assert [NAMES[column] for column in columns_named(wanted, X, "features")] == names


@pytest.mark.parametrize(("name", "n"), [("word:*", 3), ("*", 8), ("?", 2)])
def test_a_name_that_would_be_several_as_a_pattern_is_the_name_and_warns(name, n):
    with pytest.warns(
        UserWarning, match=rf"features: '{re.escape(name)}' is taken .* {n} features.*re\.escape"
    ):
        assert [NAMES[column] for column in columns_named(name, X, "features")] == [name]


@pytest.mark.parametrize(
    ("wanted", "advice"),
    [
        (
            "size*",
            "X has no feature 'size*'; a string is a name, a pattern is written "
            "re.compile('size.*')",
        ),
        (
            "word:[ab]",
            "X has no feature 'word:[ab]'; a string is a name, a pattern is written "
            "re.compile('word:[ab]')",
        ),
        (
            "wor[!a]:a",
            "X has no feature 'wor[!a]:a'; a string is a name, a pattern is written "
            "re.compile('wor[^a]:a')",
        ),
        ("nope*", "X has no feature 'nope*'"),
        ("[z-a]", "X has no feature '[z-a]'"),
        (re.compile("word"), "X has no feature whose whole name matches re.compile('word')"),
        ([99], "X has no feature 99, it has 8"),
    ],
    ids=str,
)
def test_what_is_not_there_is_an_error_that_says_how_to_write_it(wanted, advice):
    with pytest.raises(ValueError, match=f"^features: {re.escape(advice)}$"):
        columns_named(wanted, X, "features")


@pytest.mark.parametrize(
    "wanted", [[True, False], [None], [0.5], b"w", {"size": 1}, iter(["size"]), [re.compile(b"w")]]
)
def test_what_cannot_choose(wanted):
    with pytest.raises(InputTypeError, match=r"^features"):
        columns_named(wanted, X, "features")


def test_wildcards_are_neither_lost_nor_found_by_an_asterisk_in_the_text():
    """A string was a pattern, unless the text had an asterisk: then it silently was that one
    feature.
    """
    for model in (LinearChainCRF(), MEMM(), GECRF()):
        model.set_params(edge_features="word:*")
        with pytest.warns(UserWarning, match="edge_features: 'word:[*]' is taken"):
            assert model.fit(TEXT, TAGS).edge_features_.tolist() == [1]
        model.set_params(edge_features=re.compile("word:.*"))
        assert model.fit(TEXT, TAGS).edge_features_.tolist() == [0, 1, 2]
    with pytest.warns(UserWarning, match="features: 'word:[*]' is taken"):
        assert suggest_labeled_features(TEXT, TAGS, features="word:*") == {"word:*": "B"}
    every = {"word:a": "A", "word:*": "B", "word:b": "C"}
    assert suggest_labeled_features(TEXT, TAGS, features=re.compile("word:.*")) == every
    # no word of ours here
    assert suggest_features([["all", "of", "it"]], features="all") == ["all"]


def test_labelled_features_are_names():
    with pytest.raises(
        ValueError, match=r"has no feature re.compile.*; a labelled feature is one, by its name"
    ):
        GECRF({re.compile("word:.*"): "A"}).fit(TEXT, [None, None])


def test_patterns_are_parameters_like_others(tmp_path):
    pattern = re.compile("WORD:[ab]", re.I)
    crf = LinearChainCRF(edge_features=[pattern, "word:*"])
    for other in (clone(crf), copy.deepcopy(crf), pickle.loads(pickle.dumps(crf))):
        assert other.edge_features == [pattern, "word:*"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # both are meant
        crf.fit(TEXT, TAGS)
    save(crf, tmp_path / "model")
    assert load(tmp_path / "model").edge_features == [pattern, "word:*"]
    choices = [None, pattern, re.compile("word:a")]
    search = GridSearchCV(LinearChainCRF(), {"edge_features": choices}, cv=2)
    assert (
        search.fit(SequenceVectorizer().fit_transform(TEXT * 2), TAGS * 2).best_params_[
            "edge_features"
        ]
        in choices
    )
