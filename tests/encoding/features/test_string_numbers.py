"""Numbers of strings, against a dict."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct.encoding.features.string_numbers import Names, as_words, join_pairs

# Lengths around multiples of eight, zeros, lone surrogates, and pairs that differ late or not
# before their end.
odd = st.sampled_from(
    [
        "",
        "\0",
        "a\0",
        "\0a",
        "a",
        "é",
        "\ud800",
        "\U00010000",
        "\ud800\udc00",
        "1234567",
        "12345678",
    ]
)
long = st.builds(
    lambda n, end: "x" * n + end, st.integers(0, 40), st.sampled_from(["", "y", "é", "\0"])
)
texts = st.lists(odd | long | st.text(max_size=20), max_size=30)


@pytest.mark.twins
@settings(max_examples=200, deadline=None)
@given(st.lists(texts, max_size=4), texts)
def test_equals_a_dict(batches, others):
    names = Names()
    numbers = {}
    for batch in batches:
        learnt = names.learn(as_words(batch), len(batch))
        assert learnt.tolist() == [numbers.setdefault(text, len(numbers)) for text in batch]
    found = names.find(as_words(others), len(others))
    assert found.tolist() == [numbers.get(text, -1) for text in others]
    assert found.dtype == np.int32
    assert list(names) == list(numbers)
    assert len(names) == len(numbers)
    for copy in (deepcopy(names), pickle.loads(pickle.dumps(names)), Names(list(numbers))):
        assert copy.find(as_words(others), len(others)).tolist() == found.tolist()
        assert copy == names
    names.learn(as_words(["new" * 50]), 1)
    assert copy != names


def test_many_strings_need_larger_tables():
    strings = [f"{i}" * (i % 4) for i in range(5000)]
    names = Names()
    parts = [names.learn(as_words(strings[i : i + 100]), 100) for i in range(0, 5000, 100)]
    numbers = {text: j for j, text in enumerate(names)}
    assert np.concatenate(parts).tolist() == [numbers[text] for text in strings]
    assert names.find(as_words(strings), 5000).tolist() == np.concatenate(parts).tolist()


@pytest.mark.compiled
def test_equal_halves_of_hashes_are_told_apart():
    """Only half a hash is kept; among so many strings several pairs share theirs."""
    strings = list(map(str, range(300_000)))
    names = Names()
    assert names.learn(as_words(strings), 300_000).tolist() == list(range(300_000))
    assert names.find(as_words(strings[::-1]), 300_000).tolist() == list(range(300_000))[::-1]


@pytest.mark.twins
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(odd | long, odd | long, st.integers(0, 2)), max_size=20), odd | long)
def test_pairs(pairs, separator):
    expected = [key + separator + text if kind == 2 else key for key, text, kind in pairs if kind]
    values = [text if kind == 2 else "" for _, text, kind in pairs]
    kinds = np.array([kind for *_, kind in pairs], np.uint8)
    words = join_pairs(
        as_words([key for key, *_ in pairs]), as_words([separator]), as_words(values), kinds
    )
    numbers = {text: j for j, text in enumerate(dict.fromkeys(expected))}
    names = Names()
    assert names.learn(words, len(expected)).tolist() == [numbers[text] for text in expected]
    assert list(names) == list(numbers)


@pytest.mark.parametrize("texts", [["a", 1], [None], ["a", ["b"]], [b"a"]])
def test_only_strings(texts):
    with pytest.raises(TypeError):
        as_words(texts)


def test_names_as_an_array():
    names = Names(["b", "a\0"])
    assert names().tolist() == ["b", "a\0"]
    assert names() is names()
    names.learn(as_words(["a", "b"]), 2)
    assert names().tolist() == ["b", "a\0", "a"]
