"""Sentences and their tags: what is read, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklearn_struct import EMLPCFG, PCFG, MEstimatedPCFG, SpectralHMM, SpectralLPCFG
from sklearn_struct.encoding.trees.sentence_checks import as_sentences, as_tags
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)


@pytest.mark.parametrize(
    "X",
    [
        [["a", "b"], [], ["c"]],
        (("a", "b"), (), ("c",)),
        (iter(sentence) for sentence in (["a", "b"], [], ["c"])),
        [np.array(["a", "b"]), np.array([], dtype=str), ["c"]],
        np.array([["a", "b"], [], ["c"], None], dtype=object)[:-1],
    ],
    ids=["lists", "tuples", "iterators", "arrays", "object array"],
)
def test_forms(X):
    assert as_sentences(X) == [["a", "b"], [], ["c"]]


def test_a_table_of_words():
    assert as_sentences(np.array([["a", "b"], ["c", "d"]])) == [["a", "b"], ["c", "d"]]


def test_what_is_read_is_a_copy():
    X = [["a", "b"]]
    as_sentences(X)[0].append("c")
    assert X == [["a", "b"]]


@pytest.mark.parametrize("X", ["a b", b"a b", {"a": 1}, {"a"}, frozenset("a"), None, 3])
def test_what_is_no_list(X):
    message = f"^X is a {type(X).__name__}, expected a list of sentences, lists of words$"
    with pytest.raises(InputTypeError, match=message):
        as_sentences(X)


@pytest.mark.parametrize(
    ("sentence", "error", "message"),
    [
        (
            "a b",
            InputTypeError,
            r"^X\[1\] is a str, expected a list of words: split it into words; "
            r"one .* is \[sentence\]$",
        ),
        (b"a b", InputTypeError, r"^X\[1\] is a bytes, expected a list of words$"),
        ({"a": 1}, InputTypeError, r"^X\[1\] is a dict, expected a list of words$"),
        (None, InputTypeError, r"^X\[1\] is a NoneType, expected a list of words$"),
        (["a", 3], InputTypeError, r"^X\[1\], token 1: 3 is a int, expected a string$"),
        (["a", b"b"], InputTypeError, r"^X\[1\], token 1: b'b' is a bytes, expected a string$"),
        (["a", "b", ""], ValueError, r"^X\[1\], token 2: the word is empty$"),
    ],
)
def test_what_is_no_sentence(sentence, error, message):
    with pytest.raises(error, match=message):
        as_sentences([["a"], sentence])


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("name", ["X", "tags"])
def test_frames_are_no_sentences(library, name):
    frame = library.DataFrame({"the": ["a"], "cat": ["b"]})
    with pytest.raises(
        InputTypeError,
        match=rf"^{name} is a DataFrame: SequenceArray\.from_frame\({name}, group, column\)",
    ):
        as_sentences(frame, name)
    with pytest.raises(
        InputTypeError, match=rf"^{name}\[1\] is a DataFrame, expected a list of words, .*\(1, 2\)$"
    ):
        as_sentences([["a"], frame], name)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (
            np.zeros((3, 0)),
            EmptyDataError,
            r"^X has 3 rows without words, its shape \(3, 0\); .* write \[\[\], ",
        ),
        (
            np.zeros((3, 0, 2)),
            InputTypeError,
            r"^X is an array of shape \(3, 0, 2\), expected a list of sentences",
        ),
        (
            [np.zeros((0, 2))],
            InputTypeError,
            r"^X\[0\] is a ndarray, expected a list of words, .* \(0, 2\)$",
        ),
        (
            [["a"], np.array([["a"]])],
            InputTypeError,
            r"^X\[1\] is a ndarray, expected a list of words, .*\(1, 1\)$",
        ),
    ],
)
def test_arrays_that_are_no_sentences(X, error, message):
    with pytest.raises(error, match=message):
        as_sentences(X)


def test_no_sentences():
    for X in ([], np.zeros((0, 0)), np.zeros((0, 5)), np.zeros(0)):
        assert as_sentences(X) == []


@pytest.mark.parametrize(
    "model",
    [
        PCFG(),
        EMLPCFG(n_states=2, max_iter=2, tol=9.0),
        SpectralLPCFG(),
        MEstimatedPCFG(max_iter=2, tol=9.0),
    ],
)
def test_parsers_refuse_frames(model):
    X = [["the", "cat"], ["a", "dog"]]
    y = ["(NP (D the) (N cat))", "(NP (D a) (N dog))"]
    frame = pd.DataFrame({"the": [1], "cat": [2]})
    model.fit(X, y)
    for refused in ([frame], [pl.from_dicts(frame.to_dict("records"))], frame, np.zeros((3, 0))):
        for ask in (model.predict, model.score_samples, lambda X: model.fit(X, y[:1])):
            with pytest.raises((InputTypeError, EmptyDataError), match=r"^X"):
                ask(refused)
    trees = pd.DataFrame({tree: [1, 2] for tree in y})
    with pytest.raises(InputTypeError, match=r"^y is a DataFrame, expected a list of trees"):
        model.fit(X, trees)


def test_hidden_states_refuse_frames():
    hmm = SpectralHMM(n_states=1, min_frequency=1).fit(
        [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    )
    frame = pd.DataFrame({"the": [1], "cat": [2]})
    for refused in ([frame], frame, np.zeros((3, 0))):
        for ask in (
            hmm.predict,
            hmm.predict_proba,
            hmm.score_samples,
            lambda X: hmm.fit(X, [["D", "N"]]),
        ):
            with pytest.raises((InputTypeError, EmptyDataError, ValueError), match=r"^X|0 feature"):
                ask(refused)
    with pytest.raises(
        InputTypeError, match=r"^y\[0\] must be a sequence of labels, got DataFrame"
    ):
        hmm.fit([["the", "cat"]], [frame])


def test_tags():
    assert as_tags([("D", "N"), []], [["the", "cat"], []], {"D", "N"}) == [["D", "N"], []]


@pytest.mark.parametrize(
    ("tags", "error", "message"),
    [
        ("DN", InputTypeError, "^tags is a str, expected a list of sentences, lists of tags$"),
        (["DN", []], InputTypeError, r"^tags\[0\] is a str, expected a list of tags"),
        ([["D", ""], []], ValueError, r"^tags\[0\], token 1: the tag is empty$"),
        ([["D", "N"]], LengthMismatchError, "^X has 2 sentences but tags has 1$"),
        ([["D", "N"], ["D"]], LengthMismatchError, r"^X\[1\] has 0 words but tags\[1\] has 1$"),
        ([["D", "V"], []], UnknownLabelError, r"^tags\[0\], token 1: 'V' was not seen in fit$"),
    ],
)
def test_what_are_no_tags(tags, error, message):
    with pytest.raises(error, match=message):
        as_tags(tags, [["the", "cat"], []], ["D", "N"])
