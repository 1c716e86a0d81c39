"""Keys and values of dicts as texts, against loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_struct.encoding.features import attribute_reader, dict_texts
from sklearn_struct.encoding.features.dict_texts import key_texts, value_texts
from sklearn_struct.encoding.features.string_numbers import as_words
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer


class Text(str):
    __slots__ = ()


texts = st.sampled_from(["", "a", "é", "\ud800", "long text", Text("b")])
others = st.sampled_from([True, 0, 1.5, None, b"c", ["a"]])
mixed = st.dictionaries(texts, texts | others, min_size=1, max_size=4)
# single tokens with others among tokens of texts, and many of them
of_texts = st.dictionaries(texts, texts, min_size=1, max_size=4)
tokens = st.lists(of_texts, max_size=12) | st.lists(mixed | of_texts | of_texts, max_size=12)


def looped(tokens):
    values = [value for token in tokens for value in token.values()]
    places = {p: value for p, value in enumerate(values) if not isinstance(value, str)}
    return [value if isinstance(value, str) else "" for value in values], places


@pytest.mark.twins
@settings(max_examples=300, deadline=None)
@given(tokens)
def test_equals_loops(tokens):
    keys = [key for token in tokens for key in token]
    assert "\0".join(key_texts(tokens)) == "\0".join(keys)
    expected, places = looped(tokens)
    joined, found = value_texts(tokens)
    # what is no plain string may be among the others
    subclasses = {p: value for p, value in found.items() if isinstance(value, str)}
    assert list({**found, **places}) == list(found)
    assert {p: value for p, value in found.items() if p not in subclasses} == places
    parts = "\0".join(joined).split("\0") if tokens else []
    assert [subclasses.get(p, text) for p, text in enumerate(parts)] == expected


@pytest.mark.parametrize("n", [1, 4, 5, 30])
def test_a_few_tokens_with_others(n):
    """The tokens before and after them are there once, and in order."""
    tokens = [{"a": f"v{i}", "b": "w"} for i in range(n)]
    tokens[0] = {"a": "x", "first": True}
    tokens[-1] = {"last": 1.5, "a": "y", "b": False}
    expected, places = looped(tokens)
    joined, found = value_texts(tokens)
    assert "\0".join(joined).split("\0") == expected
    assert found == places
    assert list(found) == sorted(found)


def test_zeros_inside_texts_are_told():
    with pytest.raises(ValueError, match="zero"):
        as_words(["a\0b", "c\0\0d"], 4)
    assert_array_equal(as_words(["a\0b", "c"], 3), as_words(["a", "b", "c"]))


def test_tokens_without_attributes():
    X = [[{}, {"a": "b"}, {}], [{}], [{"c": 1.5}, {}]]
    encoded = SequenceVectorizer().fit_transform(X)
    assert encoded.tokens.toarray().tolist() == [[0, 0], [1, 0], [0, 0], [0, 0], [0, 1.5], [0, 0]]
    assert SequenceVectorizer().fit_transform([[{}, {}]]).tokens.shape == (2, 0)


def test_many_mixed_tokens_are_read_one_by_one(monkeypatch):
    calls = []
    one_by_one = dict_texts._one_by_one
    monkeypatch.setattr(
        dict_texts, "_one_by_one", lambda tokens: calls.append(len(tokens)) or one_by_one(tokens)
    )
    text = {"a": "b"}
    number = {"a": 1.0}
    for tokens, n_calls in (
        ([text] * 9, 0),
        ([number, *[text] * 9, number], 0),
        ([number] * 9, 1),
        ([number] * 5 + [text] * 9, 1),
    ):
        calls.clear()
        joined, found = value_texts(tokens)
        assert calls == [len(tokens)] * n_calls
        assert ("\0".join(joined).split("\0"), found) == looped(tokens)


def test_names_that_wait_are_numbered_in_order(monkeypatch):
    X = [
        [
            {"a": f"v{i % 50}", "b": i % 3},
            {"c": [f"w{i % 7}"]} if i % 9 == 0 else {"d": "x"},
        ]
        for i in range(300)
    ]
    monkeypatch.setattr(attribute_reader, "_CHUNK", 4)
    results = []
    for n_bytes in (0, 300, 1 << 22):
        monkeypatch.setattr(attribute_reader, "_WAITING", n_bytes)
        vectorizer = SequenceVectorizer()
        results.append((vectorizer.fit_transform(X), list(vectorizer.vocabulary_)))
    first, names = results[0]
    assert names[:3] == ["a:v0", "c:w0", "a:v1"]
    for encoded, others in results[1:]:
        assert others == names
        assert encoded == first


class OtherText(str):
    """As members of enumerations are: `str` gives something else than the text."""

    __slots__ = ()

    def __str__(self):
        return "other"


def test_the_name_of_an_embedding_is_the_text_of_its_key():
    vectorizer = SequenceVectorizer().fit([[{OtherText("a"): np.array([1.0, 2.0])}]])
    assert [name[0] for name in vectorizer.get_feature_names_out()] == ["a", "a"]
