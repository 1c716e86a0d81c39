"""Accuracies against scikit-learn's on flat labels, and the errors of bad input."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from sklearn_struct import SequenceArray
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.metrics import sequence_accuracy_score, token_accuracy_score

Y_TRUE = [["a", "b", "a"], ["b"], [], ["a", "a"]]
Y_PRED = [["a", "b", "b"], ["b"], [], ["b", "b"]]
FRAME = pd.DataFrame({"a": ["x"], "b": ["y"]})
POLARS = pl.DataFrame({"a": ["x"], "b": ["y"]})
SCORES = [token_accuracy_score, sequence_accuracy_score]


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4),
        min_size=1,
        max_size=5,
    ),
    st.data(),
)
def test_agrees_with_sklearn_on_flat_labels(pairs, data):
    y_true = [[true for true, _ in sequence] for sequence in pairs]
    y_pred = [[pred for _, pred in sequence] for sequence in pairs]
    weight = np.array(
        data.draw(st.lists(st.integers(1, 4), min_size=len(pairs), max_size=len(pairs)))
    )
    same = [true == pred for true, pred in zip(y_true, y_pred)]
    expected = accuracy_score(np.ones(len(pairs)), same, sample_weight=weight)
    assert sequence_accuracy_score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected)
    flat_true = list(chain(*y_true))
    flat_pred = list(chain(*y_pred))
    if flat_true:
        expected = accuracy_score(
            flat_true, flat_pred, sample_weight=np.repeat(weight, [len(y) for y in y_true])
        )
        assert token_accuracy_score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected)


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        object_array,
        lambda y: [np.array(sequence, dtype=str) for sequence in y],
        SequenceArray.from_sequences,
    ],
)
def test_containers(kind):
    assert token_accuracy_score(kind(Y_TRUE), kind(Y_PRED)) == 0.5
    assert sequence_accuracy_score(kind(Y_TRUE), Y_PRED) == 0.5


def test_rectangular_arrays_are_rows_of_labels():
    y = np.array([[0, 1], [1, 1]])
    assert token_accuracy_score(y, [[0, 1], [0, 1]]) == 0.75


@pytest.mark.parametrize("score", SCORES)
def test_nothing_to_count_scores_zero(score):
    assert score([], []) == 0.0
    assert score([["a"]], [["a"]], sample_weight=[0.0]) == 0.0


def test_only_empty_sequences():
    assert token_accuracy_score([[]], [[]]) == 0.0
    assert sequence_accuracy_score([[]], [[]]) == 1.0


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "error", "message"),
    [
        (Y_TRUE[:3], Y_PRED[:2], LengthMismatchError, "y_true has 3 sequences but y_pred has 2"),
        (
            [["a"], ["a"] * 5],
            [["a"], ["a"] * 6],
            LengthMismatchError,
            r"y_true\[1\] has 5 labels but y_pred\[1\] has 6",
        ),
        (["ab"], ["ab"], InputTypeError, r"y_true\[0\] is a str, expected a sequence of labels"),
        (
            [["a"]],
            np.array(["a"]),
            InputTypeError,
            r"y_pred\[0\] is a str, expected a sequence of labels",
        ),
        (
            [["a"]],
            [np.zeros((1, 3))],
            InputTypeError,
            r"y_pred\[0\] is a ndarray, expected a sequence of labels",
        ),
        ("ab", "ab", InputTypeError, "y_true is a str, expected a sequence of labels"),
        (FRAME, FRAME, InputTypeError, "y_true is a DataFrame, expected a sequence of labels"),
        (
            [["a", "b"]],
            [FRAME],
            InputTypeError,
            r"y_pred\[0\] is a DataFrame, expected a sequence of labels",
        ),
        (POLARS, POLARS, InputTypeError, "y_true is a DataFrame, expected a sequence of labels"),
        (
            [None],
            [["a"]],
            InputTypeError,
            r"y_true\[0\] is a NoneType, expected a sequence of labels",
        ),
        (
            [["a", None]],
            [["a", "b"]],
            InputTypeError,
            r"y_true\[0\], token 1: None is no single label",
        ),
        (
            [["a"], [{"a"}]],
            [["a"], ["a"]],
            InputTypeError,
            r"y_true\[1\], token 0: {'a'} is no single label",
        ),
    ],
)
def test_errors_name_the_place(score, y_true, y_pred, error, message):
    with pytest.raises(error, match=message):
        score(y_true, y_pred)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        ([1.0], LengthMismatchError, r"sample_weight has shape \(1,\), but there are 4 sequences"),
        ([1.0, np.nan, 1.0, 1.0], NonFiniteError, r"sample_weight\[1\] is nan"),
        ([1.0, 1.0, 1.0, -2.0], ValueError, r"sample_weight\[3\] is negative: -2.0"),
    ],
)
def test_bad_weights(score, weight, error, message):
    with pytest.raises(error, match=message):
        score(Y_TRUE, Y_PRED, sample_weight=weight)
