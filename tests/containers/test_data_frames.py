"""Data frames of pandas and polars give the same, and what is no frame is told."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklearn_struct.containers.data_frames import is_frame, names_of, refuse_lazy, runs, table
from sklearn_struct.exceptions import InputTypeError

LIBRARIES = [pd, pl]
COLUMNS = {
    "s": [7, 7, 3, 3],
    "word": ["It", "rains", "Why", "?"],
    "size": [2, 5, 3, 1],
    "upper": [True, False, True, False],
    "share": [0.5, 1.5, 2.5, np.nan],
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_a_frame(library):
    frame = library.DataFrame(COLUMNS)
    assert is_frame(frame)
    assert not is_frame(frame["word"])
    assert names_of(frame) == list(COLUMNS)


@pytest.mark.parametrize("value", [None, "a", [], {}, np.zeros((2, 2)), np.zeros(2)])
def test_what_is_none(value):
    assert not is_frame(value)
    refuse_lazy(value, "X")


def test_a_query_is_refused_without_being_run():
    """polars warns of whoever asks a query for its columns."""
    query = pl.DataFrame(COLUMNS).lazy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not is_frame(query)
        with pytest.raises(
            InputTypeError, match=r"^X\[1\] is a LazyFrame, .*: write X\[1\]\.collect\(\)$"
        ):
            refuse_lazy(query, "X[1]")


@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_and_objects(library):
    frame = library.DataFrame(COLUMNS)
    numbers = table(frame, ["upper", "size", "share"])
    assert numbers.dtype == np.float64
    np.testing.assert_array_equal(numbers, [[1, 2, 0.5], [0, 5, 1.5], [1, 3, 2.5], [0, 1, np.nan]])
    objects = table(frame, ["word", "upper", "size"])
    assert objects.tolist() == [
        ["It", True, 2],
        ["rains", False, 5],
        ["Why", True, 3],
        ["?", False, 1],
    ]
    assert [type(value) for value in objects[0]] == [str, bool, int]
    assert table(frame, []).shape == (4, 0)
    assert table(frame[:0], ["word"]).shape == (0, 1)


def nullable(library, values):
    """Numbers or booleans of which one is missing, in the form that each library has for these."""
    if library is pl:
        return pl.DataFrame({"a": values})
    return pd.DataFrame({"a": pd.array(values)})


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("values", [[1, None], [True, None], [1.0, None]])
def test_what_is_missing_is_nan(library, values):
    np.testing.assert_array_equal(table(nullable(library, values), ["a"]), [[1], [np.nan]])


@pytest.mark.parametrize("library", LIBRARIES)
def test_runs(library):
    frame = library.DataFrame({**COLUMNS, "t": ["a", "b", "b", "b"]})
    assert runs(frame, ["s"]).tolist() == [0, 2, 4]
    assert runs(frame, ["t", "s"]).tolist() == [0, 1, 2, 4]
    assert runs(frame[:0], ["s"]).tolist() == [0]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", None, "b"], "^row 1 belongs to no sequence: t=(None|nan)$"),
        ([0.5, 0.5, np.nan], "^row 2 belongs to no sequence: t=nan$"),
        (
            ["a", "b", "a"],
            "^row 2: t='a' has come before, with other sequences in between; sort the rows by it",
        ),
        ([True, False, True], "^row 2: t=True has come before"),
    ],
)
def test_rows_of_no_sequence(library, values, message):
    with pytest.raises(ValueError, match=message):
        runs(library.DataFrame({"t": values}), ["t"])


def test_names_that_come_twice():
    with pytest.raises(ValueError, match=r"^the frame has a column twice: 'a'$"):
        names_of(pd.DataFrame([[1, 2]], columns=["a", "a"]))
