"""Forms of scores: what is read, and errors that say where a form is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import SequenceArray, potentials
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

TABLE = np.eye(2)
ROWS = [[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("unary", "lengths"),
    [
        (ROWS, [2, 1]),
        (np.array(ROWS), np.array([2, 1])),
        ([ROWS[:2], ROWS[2:]], None),
        ((np.array(ROWS[:2]), ROWS[2:]), None),
        (np.array([ROWS[:2], [*ROWS[2:], [9.0, 9.0]]]), [2, 1]),
        (SequenceArray(np.array(ROWS), [0, 2, 3]), None),
        (np.array(ROWS).astype(np.float16), [2, 1]),
        (np.array(ROWS).astype(int), [2, 1]),
    ],
)
def test_forms_mean_the_same(unary, lengths):
    labels, scores = potentials.viterbi(unary, TABLE, lengths)
    np.testing.assert_array_equal(scores, [3.0, 1.0])
    if isinstance(labels, list | SequenceArray) or np.ndim(labels) == 2:
        labels = np.concatenate([row[:n] for row, n in zip(labels, (2, 1))])
    np.testing.assert_array_equal(labels, [0, 0, 1])


def test_object_arrays_of_sequences_are_lists():
    """So predictions of estimators, such as `predict_log_proba`, can be given."""
    unary = np.empty(2, dtype=object)
    unary[:] = [np.array(ROWS[:2]), np.array(ROWS[2:])]
    tables = np.empty(2, dtype=object)
    tables[:] = [np.array([TABLE]), np.empty((0, 2, 2))]
    for pairwise in (TABLE, tables):
        labels, _ = potentials.viterbi(unary, pairwise)
        assert [row.tolist() for row in labels] == [[0, 0], [1]]
    segments = np.empty(2, dtype=object)
    segments[:] = [rows[:, None] for rows in unary]
    labels, *_ = potentials.segment_viterbi(segments, tables)
    assert [row.tolist() for row in labels] == [[0, 0], [1]]


def test_a_padded_array_without_lengths_is_full():
    unary = np.random.RandomState(0).randn(3, 4, 2)
    labels, scores = potentials.viterbi(unary, TABLE)
    flat, same = potentials.viterbi(unary.reshape(12, 2), TABLE, [4, 4, 4])
    np.testing.assert_array_equal(labels, flat.reshape(3, 4))
    np.testing.assert_array_equal(scores, same)


def test_items_without_tokens_need_no_columns():
    labels, scores = potentials.viterbi([[], ROWS, np.empty((0, 2))], TABLE)
    assert [len(row) for row in labels] == [0, 3, 0]
    assert scores[[0, 2]].tolist() == [0.0, 0.0]


def test_a_table_for_each_step_may_be_none():
    """Where all sequences have a single token there are no steps."""
    labels, _ = potentials.viterbi(ROWS, np.empty((0, 2, 2)), [1, 1, 1])
    assert labels.tolist() == [1, 0, 1]
    labels, _ = potentials.viterbi(np.array(ROWS)[:, None], np.empty((3, 0, 2, 2)))
    assert labels.tolist() == [[1], [0], [1]]
    _, pairs = potentials.marginals(ROWS, TABLE, [1, 1, 1], return_pairs=True)
    assert pairs.shape == (0, 2, 2)


def test_nothing_is_changed():
    unary = np.array(ROWS)
    table = np.array(TABLE)
    ends = {"start": np.array([1.0, -np.inf]), "stop": np.ones(2)}
    potentials.viterbi(unary, table, [2, 1], start=[1.0, -1.0], stop=ends["stop"])
    potentials.marginals(unary, table, [1, 2], **{"stop": ends["stop"]})
    np.testing.assert_array_equal(unary, ROWS)
    np.testing.assert_array_equal(table, TABLE)
    np.testing.assert_array_equal(ends["stop"], np.ones(2))


WRONG = {
    "one dimension": ((np.zeros(3), TABLE), InputTypeError, "got an array of 1 dimensions"),
    "words": (([["a", "b"]], TABLE), InputTypeError, "unary must hold numbers, got an array of <U"),
    "None": ((None, TABLE), InputTypeError, "unary must hold numbers, got NoneType"),
    "complex": ((np.zeros((3, 2), complex), TABLE), InputTypeError, "an array of complex128"),
    "ragged rows": (([[[0.0], [0.0, 1.0]]], TABLE), InputTypeError, r"unary\[0\] has rows of diff"),
    "no label": ((np.zeros((3, 0)), TABLE), ValueError, "scores of no label"),
    "sum of lengths": (
        (ROWS, TABLE, [2, 2]),
        ValueError,
        "lengths sum to 4, but unary has 3 tokens",
    ),
    "lengths of numbers": ((ROWS, TABLE, [1.5, 1.5]), InputTypeError, "list of whole numbers"),
    "ragged lengths": ((ROWS, TABLE, [[1], [1, 1]]), InputTypeError, "list of whole numbers"),
    "objects": ((np.array(ROWS, dtype=object), TABLE), InputTypeError, r"write .astype\(float\)"),
    "no score": (([[0.0, None]], TABLE), InputTypeError, "unary must .* got list with NoneType"),
    "one number": ((ROWS, 0.0), InputTypeError, r"is one number, 0.0: write a table \(n_labels"),
    "list of numbers": (([ROWS], [0.0]), InputTypeError, "pairwise must .* a list of numbers"),
    "one number, no tokens": (([[]], 0), InputTypeError, "pairwise is one number, 0: write"),
    "masked scores": (
        (np.ma.masked_greater(np.array(ROWS), 0.5), TABLE),
        InputTypeError,
        r"unary is a masked array: .* with .filled\(value\)",
    ),
    "a length below 0": ((ROWS, TABLE, [4, -1]), ValueError, r"lengths\[1\] cannot be -1"),
    "a huge length": ((ROWS, TABLE, [3, 2**62]), ValueError, r"lengths\[1\] cannot be 46"),
    "lengths twice": (([ROWS], TABLE, [3]), ValueError, "None where unary is a list of sequences"),
    "lengths of packed": (
        (SequenceArray(np.array(ROWS), [0, 3]), TABLE, [3]),
        ValueError,
        "None where unary is a SequenceArray",
    ),
    "other labels": (
        ([ROWS, [[0.0]]], TABLE),
        LengthMismatchError,
        r"unary\[1\] has scores of 1 labels, but others have scores of 2",
    ),
    "an item of rank 1": (([ROWS, [0.0, 1.0]], TABLE), InputTypeError, r"unary\[1\] must have two"),
    "too long": (
        (np.zeros((2, 3, 2)), TABLE, [3, 4]),
        LengthMismatchError,
        r"lengths\[1\] is 4, but unary has room for 3 tokens",
    ),
    "lengths of padded": (
        (np.zeros((2, 3, 2)), TABLE, [3]),
        LengthMismatchError,
        "lengths has 1 numbers, but unary has 2 sequences",
    ),
    "table": (
        (ROWS, np.eye(3)),
        LengthMismatchError,
        r"one table of shape \(2, 2\), or a table for each .* 2 in all; got .* \(3, 3\)",
    ),
    "number of tables": (
        (ROWS, np.zeros((3, 2, 2)), [1, 2]),
        LengthMismatchError,
        "pairwise has 3 tables, but there are 1 pairs",
    ),
    "list of tables": (
        ([ROWS, ROWS], [np.zeros((2, 2, 2))]),
        LengthMismatchError,
        "pairwise has 1 items, but unary has 2 sequences",
    ),
    "tables of an item": (
        ([ROWS, ROWS], [np.zeros((2, 2, 2)), np.zeros((1, 2, 2))]),
        LengthMismatchError,
        r"pairwise\[1\] has 1 tables, but sequence 1 has 2 pairs",
    ),
    "shapes of tables": (
        ([ROWS, ROWS], [np.zeros((2, 2, 2)), np.zeros((2, 2, 3))]),
        LengthMismatchError,
        "items of pairwise have different shapes",
    ),
    "padded tables": (
        (np.zeros((2, 3, 2)), np.zeros((2, 3, 2, 2))),
        LengthMismatchError,
        r"have the shape \(2, 2, n_labels, n_labels\); got \(2, 3, 2, 2\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_is_wrong(name):
    arguments, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        potentials.viterbi(*arguments)
