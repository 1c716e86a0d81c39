"""Checks of given scores of segments: forms, shapes and values."""

from __future__ import annotations

import numpy as np
import pytest
from scored_segments import case

from sklearn_struct import SequenceArray, potentials
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError

FUNCTIONS = ["viterbi", "nbest", "sample", "marginals", "log_partition"]
TABLE = np.zeros((2, 2))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, -1e308])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_score_that_is_no_score_is_named(function, value):
    scores = np.zeros((5, 3, 2))
    scores[2, 1, 1] = value
    with pytest.raises(
        NonFiniteError,
        match=r"sequence 2, the segment \(1, 3\), tokens 1 up to but not including 3, label 1: the "
        "score in segments",
    ):
        getattr(potentials, f"segment_{function}")(scores, TABLE, lengths=[1, 0, 4])
    tables = np.zeros((3, 2, 2))
    tables[1, 1, 0] = value
    with pytest.raises(NonFiniteError, match="sequence 2, tokens 1 and 2, labels 1 and 0"):
        getattr(potentials, f"segment_{function}")(np.zeros((5, 3, 2)), tables, [1, 0, 4])


def test_places_are_those_of_the_whole_data():
    given = case("shared", n_sequences=2000)
    given.segments[given.tokens(1998).start, 0, 1] = np.nan
    with pytest.raises(NonFiniteError, match=r"sequence 1998, the segment \(0, 1\), tokens"):
        potentials.segment_viterbi(*given, n_jobs=2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.zeros((5, 2)), TABLE), InputTypeError, "segments must be an array .*of 2 dimensions"),
        (([np.zeros((5, 2))], TABLE), InputTypeError, r"segments\[0\] has 2 dimensions"),
        (
            ([np.zeros((5, 3, 2)), np.zeros((5, 2, 2))], TABLE),
            LengthMismatchError,
            r"segments\[1\] has 2 lengths and 2 labels, but others have 3 and 2",
        ),
        (
            (SequenceArray(np.zeros((5, 2)), [0, 5]), TABLE),
            InputTypeError,
            "got a SequenceArray",
        ),
        (
            (np.zeros((5, 3, 2)), np.zeros((3, 3))),
            LengthMismatchError,
            "segments has scores of 2 labels, so pairwise must be one table",
        ),
        (
            (np.zeros((5, 3, 2)), TABLE, [2, 2]),
            LengthMismatchError,
            "lengths sum to 4, but segments has 5 tokens",
        ),
        (
            (np.zeros((2, 5, 3, 2)), TABLE, [2, 6]),
            LengthMismatchError,
            "but segments has room for 5 tokens",
        ),
        (
            ([np.zeros((5, 3, 2))], TABLE, [5]),
            ValueError,
            "lengths must be None where segments is a list of sequences",
        ),
        (
            ([np.zeros((5, 3, 2))], [np.zeros((4, 2, 2)), np.zeros((1, 2, 2))]),
            LengthMismatchError,
            "pairwise has 2 items, but segments has 1 sequences",
        ),
        (
            (np.zeros((2, 5, 3, 2)), np.zeros((2, 5, 2, 2))),
            LengthMismatchError,
            "as segments is padded, have the shape",
        ),
        ((np.zeros((5, 3, 0)), np.zeros((0, 0))), ValueError, "segments has no scores"),
        ((np.zeros((5, 0, 2)), TABLE), ValueError, "segments has no scores"),
        (([["a"]], TABLE), InputTypeError, "segments"),
    ],
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_refused(function, arguments, error, message):
    with pytest.raises(error, match=message):
        getattr(potentials, f"segment_{function}")(*arguments)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_tokens(function):
    call = getattr(potentials, f"segment_{function}")
    given = [[], [np.zeros((0, 3, 2))], np.zeros((2, 0, 3, 2))]
    results = [call(scores, TABLE) for scores in given]
    results.append(call(np.zeros((0, 3, 2)), TABLE, lengths=[0, 0]))
    for result, n in zip(results, (0, 1, 2, 2), strict=True):
        # scores of sequences come last; probabilities stand alone
        last = result[-1] if isinstance(result, tuple) else result
        assert len(last) == (n if function != "marginals" or result is not results[-1] else 0)


def test_nested_lists_are_arrays():
    given = case("shared")
    flat = np.nan_to_num(given.segments)
    expected = potentials.segment_log_partition(flat, given.pairwise)
    for form in (flat.tolist(), [flat.tolist()], [flat]):
        log_Z = potentials.segment_log_partition(form, given.pairwise.tolist())
        np.testing.assert_array_equal(log_Z, expected)


def test_large_scores():
    scores = np.full((40_000, 1, 1), 1e306)
    with pytest.raises(NonFiniteError, match="sequence 0: its scores, summed over all tokens"):
        potentials.segment_log_partition(scores, [[0.0]])
