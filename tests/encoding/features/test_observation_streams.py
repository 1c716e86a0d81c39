"""Every form of X as columns."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sklearn_struct import SequenceArray
from sklearn_struct.encoding.features.observation_streams import (
    Column,
    is_numeric,
    numbers,
    read,
)
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)

ROWS = [[("a", 1.5), ("b", 2)], [], [("a", 0.5)]]
OFFSETS = [0, 2, 2, 3]


def spelt_out(column):
    return (
        list(column.values)
        if column.codes is None
        else [column.values[code] for code in column.codes]
    )


@pytest.mark.parametrize(
    "X",
    [
        ROWS,
        [np.array(rows, dtype=object).reshape(-1, 2) for rows in ROWS],
        SequenceArray(
            np.array([("a", 1.5), ("b", 2), ("a", 0.5)], dtype=object), OFFSETS, ["w", "x"]
        ),
        SequenceArray(np.array([("a", 1.5), ("b", 2), ("a", 0.5)], dtype=object), OFFSETS),
    ],
)
def test_rows(X):
    found = read(X)
    assert [spelt_out(column) for column in found.columns] == [["a", "b", "a"], [1.5, 2, 0.5]]
    assert (found.offsets.tolist(), found.kind) == (OFFSETS, "rows")
    assert [is_numeric(column) for column in found.columns] == [False, True]
    assert numbers(found.columns[1], found.offsets, 1).tolist() == [1.5, 2, 0.5]


def test_rows_that_begin_with_a_number():
    X = [[(b, a) for a, b in rows] for rows in ROWS]
    assert [spelt_out(column) for column in read(X).columns] == [[1.5, 2, 0.5], ["a", "b", "a"]]
    assert read([[[1.5, 2.5]], [[0.5, 1.0]]]).kind == "numbers"


def test_frames():
    frame = pd.DataFrame({"s": [0, 0, 1], "word": ["a", "b", "a"], "size": [1.5, 2, 0.5]})
    found = read(SequenceArray.from_frame(frame, "s"))
    assert [spelt_out(column) for column in found.columns] == [["a", "b", "a"], [1.5, 2, 0.5]]
    assert list(found.names) == ["word", "size"]
    assert read(SequenceArray.from_frame(frame, "s", ["size"])).kind == "numbers"


@pytest.mark.parametrize(
    "X",
    [
        [["a", "b"], [], ["a"]],
        [np.array(["a", "b"]), np.array([], dtype=str), np.array(["a"])],
        SequenceArray(np.array(["a", "b", "a"]), OFFSETS),
    ],
)
def test_strings(X):
    found = read(X)
    assert [spelt_out(column) for column in found.columns] == [["a", "b", "a"]]
    assert (found.offsets.tolist(), found.kind) == (OFFSETS, "values")


@pytest.mark.parametrize(
    "X",
    [[np.array([[1.0, 2], [3, 4]]), np.empty((0, 2)), np.array([[5, 6.0]])], np.ones((2, 3, 1))],
)
def test_numbers(X):
    found = read(X)
    stacked = np.concatenate(list(X))
    np.testing.assert_array_equal(
        np.column_stack([spelt_out(column) for column in found.columns]), stacked
    )
    assert found.kind == "numbers"
    assert all(is_numeric(column) for column in found.columns)


TABLE = np.random.RandomState(0).normal(size=(6, 3))


def read_only(table):
    table = table.copy()
    table.flags.writeable = False
    return table


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("form", ["packed", "list of one", "3-D"])
def test_numbers_are_not_copied(form, writeable):
    table = TABLE.copy()
    table.flags.writeable = writeable
    X = {
        "packed": SequenceArray(table, [0, 4, 6]),
        "list of one": [table],
        "3-D": table.reshape(2, 3, 3),
    }[form]
    found = read(X)
    assert np.shares_memory(found.table, table)
    assert found.table.flags.c_contiguous
    # by name: kernels are not compiled once more
    assert found.table.flags.writeable
    assert table.flags.writeable == writeable
    np.testing.assert_array_equal(found.table, TABLE)
    offsets = {"packed": [0, 4, 6], "list of one": [0, 6], "3-D": [0, 3, 6]}[form]
    assert found.offsets.tolist() == offsets


def test_a_memory_map_is_not_copied(tmp_path):
    TABLE.tofile(tmp_path / "numbers")
    mapped = np.memmap(tmp_path / "numbers", np.float64, "r", shape=TABLE.shape)
    for X in (SequenceArray(mapped, [0, 6]), [mapped]):
        found = read(X)
        assert np.shares_memory(found.table, mapped)
    del mapped, X
    # the map lives as long as what was made of it
    np.testing.assert_array_equal(found.table, TABLE)


@pytest.mark.parametrize(
    "table",
    [
        TABLE.astype(np.float32),
        TABLE.astype(np.float16),
        TABLE > 0,
        TABLE.astype(">f8"),
        np.asfortranarray(TABLE),
        np.repeat(TABLE, 2, axis=1)[:, ::2],
        TABLE[::-1],
        read_only(TABLE.T).T,
        np.frombuffer(b"0" + TABLE.tobytes(), np.uint8)[1:].view(np.float64).reshape(6, 3),
    ],
    ids=[
        *("float32", "float16", "bool", "swapped", "Fortran", "strided"),
        *("reversed", "read-only Fortran", "not aligned"),
    ],
)
def test_other_numbers_are_copied_as_they_are(table):
    for X in (SequenceArray(table, [0, 4, 6]), [table], table.reshape(2, 3, 3)):
        found = read(X).table
        assert not np.shares_memory(found, table)
        assert (found.dtype, found.flags.c_contiguous) == (np.float64, True)
        np.testing.assert_array_equal(found, table.astype(np.float64))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64, ">i4"])
def test_whole_numbers_are_not_copied(dtype):
    table = np.arange(18).reshape(6, 3).astype(dtype)
    for X in (SequenceArray(table, [0, 4, 6]), [table], table.reshape(2, 3, 3)):
        found = read(X)
        assert np.shares_memory(found.table, table)
        assert found.table.dtype == table.dtype
        np.testing.assert_array_equal(numbers(found.columns[1], found.offsets, 1), table[:, 1])
    turned = read(SequenceArray(np.asfortranarray(table), [0, 6])).table
    assert (turned.dtype, turned.flags.c_contiguous) == (table.dtype, True)
    np.testing.assert_array_equal(turned, table)


def test_a_masked_array_is_no_array_of_numbers():
    masked = np.ma.masked_array(TABLE, TABLE > 1)
    with pytest.raises(InputTypeError, match=re.escape("X[0] cannot be read")):
        read([masked])


def test_nothing():
    found = read([[], []])
    assert (found.columns, found.offsets.tolist()) == ([], [0, 0, 0])


@pytest.mark.parametrize(
    ("X", "error", "said"),
    [
        ([["a"], ["b", None]], InputTypeError, "X[1], token 1: None is not a value"),
        ([["a"], [("b",)]], InputTypeError, "X[1], token 0: ('b',) is not a value"),
        (
            [[("a", "b")], [("c", None)]],
            InputTypeError,
            "X[1], token 0, column 1: None is not a value",
        ),
        ([[("a", "b")], [("c",)]], LengthMismatchError, "X[1], token 0: 1 columns, expected 2"),
        ([[("a", "b")], ["cd"]], InputTypeError, "X[1], token 0"),
        ([[{"w": "a"}]], InputTypeError, "tokens that are a dict"),
        ([[("a", [1])]], InputTypeError, "X[0], token 0, column 1: values must be hashable"),
        ([[("a", np.nan)]], NonFiniteError, "X[0], token 0, column 1: not finite"),
        ([np.ones((1, 2)), np.array([[1, np.inf]])], NonFiniteError, "X[1], token 0, feature 1"),
        ([sp.csr_array(np.eye(2))], InputTypeError, "sparse"),
        ([np.ones((1, 2)), np.array(1.0)], InputTypeError, "X[1] must have two dimensions"),
        ([np.array(1.0), np.ones((1, 2))], InputTypeError, "X[0] must have two dimensions"),
        ([], EmptyDataError, "no sequences"),
        ("ab", InputTypeError, "str"),
    ],
)
def test_mistakes(X, error, said):
    with pytest.raises(error, match=re.escape(said)):
        read(X)


def test_what_is_no_number():
    found = read([[("a", 1.0)], [("b", "c"), ("b", float("inf"))]])
    with pytest.raises(
        InputTypeError, match=re.escape("X[1], token 0, column 1: 'c' is not a number")
    ):
        numbers(found.columns[1], found.offsets, 1)
    with pytest.raises(
        NonFiniteError, match=re.escape("X[0], token 1, column 0: not finite (inf)")
    ):
        numbers(Column([1.0, float("inf")], np.array([0, 1])), np.array([0, 2]), 0)
    assert not is_numeric(Column([True, False], np.array([0, 1])))
