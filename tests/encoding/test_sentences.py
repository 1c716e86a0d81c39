"""Sentences and their tags: what is read, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.encoding.sentences import as_sentences, as_tags
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError


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
            r"^X\[1\] is a str, expected a list of words: split it into words; one .* is \[sentence\]$",
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
