"""Values as codes of a vocabulary, with a place for those that are not in it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sklearn_struct.encoding.features.observation_streams import Column, read
from sklearn_struct.encoding.features.stream_vocabularies import OOV, encode, learn_values
from sklearn_struct.exceptions import UnknownValueError as Unknown

VALUES = read([["b", "a", "b", "c", OOV, "b"]]).columns[0]
ALL = np.ones(6, dtype=bool)
OF = np.array([0, 6])


def test_the_first_occurrence_counts_as_out_of_vocabulary():
    vocabulary, codes = learn_values(VALUES, ALL, "first")
    assert vocabulary == {"b": 0}
    assert codes.tolist() == [1, 1, 0, 1, 1, 0]
    assert encode(VALUES, vocabulary, "first", OF, 0).tolist() == [0, 1, 0, 1, 1, 0]


def test_other_vocabularies():
    vocabulary, codes = learn_values(VALUES, ALL, "smoothing")
    assert vocabulary == {"a": 0, "b": 1, "c": 2}
    assert codes.tolist() == [1, 0, 1, 2, 3, 1]
    vocabulary, codes = learn_values(VALUES, ALL, None)
    assert vocabulary == {OOV: 0, "a": 1, "b": 2, "c": 3}
    assert codes.tolist() == [2, 1, 2, 3, 0, 2]
    with pytest.raises(
        Unknown, match=re.escape("X[1], token 1, column 4: 'd' was not seen in fit")
    ):
        encode(read([["a"], ["a", "d"]]).columns[0], vocabulary, None, np.array([0, 1, 3]), 4)


@pytest.mark.parametrize(
    ("oov", "expected"), [("first", {}), ("smoothing", {"b": 0, "c": 1}), (None, {"b": 0, "c": 1})]
)
def test_only_what_is_used_is_learned(oov, expected):
    used = np.array([0, 0, 1, 1, 0, 0], dtype=bool)
    vocabulary, codes = learn_values(VALUES, used, oov)
    assert vocabulary == expected
    assert np.all(codes <= len(expected) - (oov is None))


def test_values_of_arrays_and_of_several_types():
    vocabulary, codes = learn_values(
        Column(np.array([2.0, 1.0, 2.0]), None), np.ones(3, dtype=bool), None
    )
    assert (vocabulary, codes.tolist()) == ({1.0: 0, 2.0: 1}, [1, 0, 1])
    assert list(
        learn_values(read([[("b",), (1,)]]).columns[0], np.ones(2, dtype=bool), None)[0]
    ) == ["b", 1]


SPREAD = {
    "digits": np.array([3, 0, 9, 3, 3, 5]),
    "below zero": np.array([-3, 7, -3, 0, 2, 2], np.int8),
    "far apart": np.array([10**9, -4, 7, 7, 10**9, 0]),
    "fractions": np.array([0.1, 0.2, 0.1, 0.7, 1.0, 0.2]),
    "floats": np.array([0.5, 2.0, -1.25, 0.5, 2.0, 7.0]),
    "whole floats": np.array([2.0, -0.0, 0.0, 3.0, 2.0, 1.0]),
}


@pytest.mark.parametrize("name", SPREAD)
def test_codes_of_numbers_are_their_places_among_floats(name):
    column = Column(SPREAD[name], None)
    values, places = np.unique(SPREAD[name].astype(np.float64), return_inverse=True)
    vocabulary, codes = learn_values(column, ALL, None)
    assert vocabulary == {value: code for code, value in enumerate(values.tolist())}
    assert all(type(value) is float for value in vocabulary)
    np.testing.assert_array_equal(codes, places)
    np.testing.assert_array_equal(encode(column, vocabulary, None, OF, 0), places)


@pytest.mark.parametrize(
    ("n_values", "dtype"), [(127, np.int8), (128, np.int16), (32767, np.int16), (32768, np.int32)]
)
def test_codes_are_as_small_as_the_vocabulary_allows(n_values, dtype):
    """The last one is what is out of vocabulary, and -1 is none."""
    numbers = np.random.RandomState(0).permutation(n_values + 1)
    used = numbers < n_values
    vocabulary, codes = learn_values(Column(numbers, None), used, "smoothing")
    assert (len(vocabulary), codes.dtype) == (n_values, dtype)
    np.testing.assert_array_equal(codes, numbers)
    again = encode(Column(numbers, None), vocabulary, "smoothing", np.array([0, len(numbers)]), 0)
    assert again.dtype == dtype
    np.testing.assert_array_equal(again, numbers)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1])
def test_symbols_that_are_one_float_are_refused(number):
    column = Column(np.array([1, number, 3]), None)
    with pytest.raises(ValueError, match=rf"symbol {number}, but of numbers beyond 2 \*\* 53 some"):
        learn_values(column, np.ones(3, dtype=bool), None)
