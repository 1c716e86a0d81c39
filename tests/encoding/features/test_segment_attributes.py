"""Attributes of whole segments as rows, compared with those read one by one."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import SequenceVectorizer
from sklearn_struct.encoding.features.segment_attributes import (
    candidates,
    encode,
    functions_of,
    places,
    spans_of,
)
from sklearn_struct.exceptions import InputTypeError, NonFiniteError

X = [["a", "b", "c", "d"], [], ["b"], ["c", "a"]]
OFFSETS = np.array([0, 4, 4, 5, 7])


def as_tuples(spans):
    """(sequence, start, stop) of each segment."""
    sequence = np.repeat(np.arange(len(spans.offsets) - 1), np.diff(spans.offsets))
    return list(zip(sequence.tolist(), spans.start.tolist(), spans.stop.tolist()))


@pytest.mark.parametrize("longest", [1, 2, 3, 9])
def test_all_segments(longest):
    expected = [
        (i, last + 1 - length, last + 1)
        for i, tokens in enumerate(X)
        for last in range(len(tokens))
        for length in range(1, min(longest, last + 1) + 1)
    ]
    every = candidates(OFFSETS, longest)
    assert as_tuples(every) == expected
    where = places(every, OFFSETS, longest)
    np.testing.assert_array_equal(where, np.arange(len(expected)))


def test_segments_that_begin_at_some_tokens():
    spans = spans_of(np.array([1, 0, 1, 0, 1, 1, 1], bool), OFFSETS)
    assert as_tuples(spans) == [(0, 0, 2), (0, 2, 4), (2, 0, 1), (3, 0, 1), (3, 1, 2)]
    every = as_tuples(candidates(OFFSETS, 3))
    assert [every[c] for c in places(spans, OFFSETS, 3)] == as_tuples(spans)


def joined(tokens, start, end):
    return "".join(tokens[start:end])


def letters(tokens, start, end):
    return list(tokens[start:end])


def size(tokens, start, end):
    return {"size": end - start, "a": 0.5} if "a" in tokens[start:end] else None


def kinds(tokens, start, end):
    return {"x", f"y{end}"}


def test_values_of_several_functions_are_added_up():
    functions = (letters, joined, size, kinds)
    every = candidates(OFFSETS, 3)
    vectorizer = SequenceVectorizer()
    rows = encode(vectorizer, functions, X, every, learn=True)
    names = vectorizer.get_feature_names_out().tolist()
    for row, (i, start, stop) in zip(rows.toarray(), as_tuples(every), strict=True):
        expected = {}
        for function in functions:
            given = function(X[i], start, stop) or []
            given = [given] if isinstance(given, str) else given
            values = given if isinstance(given, dict) else dict.fromkeys(given, 1.0)
            for name, value in values.items():
                expected[name] = expected.get(name, 0.0) + value
        assert {names[j]: row[j] for j in np.flatnonzero(row)} == expected
    # what was not there before is ignored
    few = SequenceVectorizer()
    encode(few, (joined,), X, candidates(OFFSETS, 1), learn=True)
    again = encode(few, (joined,), X, every, learn=False)
    assert again.shape == (len(every.start), 4)
    assert again.sum() == 7


def test_names_have_the_same_order_in_each_process():
    vectorizer = SequenceVectorizer()
    words = {"q", "w", "e", "r", "t", "z"}
    encode(vectorizer, (lambda *_: words,), [["a"]], candidates(np.array([0, 1]), 1), learn=True)
    assert vectorizer.get_feature_names_out().tolist() == sorted(words)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (3, InputTypeError, "bad: attributes are a dict, a string, or a list or set of strings"),
        ([3], InputTypeError, "bad: names of features must be strings, got 3"),
        ({"k": np.nan}, NonFiniteError, "bad, feature 'k': not finite"),
    ],
)
def test_errors_say_which_segment(given, error, message):
    def bad(tokens, start, end):
        return given if (start, end) == (1, 3) else ["good"]

    said = r"X\[0\], the segment \(1, 3\), tokens 1 up to but not including 3: segment_features, "
    with pytest.raises(error, match=said + message):
        encode(SequenceVectorizer(), (joined, bad), X, candidates(OFFSETS, 3), learn=True)


def test_functions():
    assert functions_of(None) == ()
    assert functions_of(joined) == (joined,)
    assert functions_of([joined, size]) == (joined, size)
    with pytest.raises(InputTypeError, match="or a list of these; got 'joined'"):
        functions_of(["joined"])
