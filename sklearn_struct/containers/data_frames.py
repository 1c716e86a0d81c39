"""Data frames of pandas and polars, told by what they can do: neither library is imported."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.typing import Frame
from sklearn_struct.exceptions import InputTypeError

__all__ = [
    "is_frame",
    "names_of",
    "numeric_columns",
    "refuse_lazy",
    "refuse_masked",
    "runs",
    "table",
]


def is_frame(value: object) -> bool:
    """Whether it is a table whose columns have names: who goes through it gets these, or columns,
    and no rows.
    """
    return len(getattr(value, "shape", ())) == 2 and hasattr(value, "columns")


def refuse_masked(X: Any, name: str) -> None:
    """Raise InputTypeError for masked values, of which arrays without a mask have the numbers."""
    if np.ma.is_masked(X):
        raise InputTypeError(
            f"{name} has masked values, which would count as any others; write "
            f"{name}.filled(np.nan) if numbers are missing, or leave these tokens out"
        )


def refuse_lazy(value: object, name: str) -> None:
    """Raise InputTypeError for a query such as a LazyFrame: to ask it for its shape or columns may
    run it.
    """
    # of the class: to ask a query itself for its columns may run it
    kind = type(value)
    if hasattr(kind, "columns") and hasattr(kind, "collect"):
        raise InputTypeError(
            f"{name} is a {kind.__name__}, which has no rows before it is run: write "
            f"{name}.collect()"
        )


def names_of(frame: Any) -> list[str]:
    """Names of the columns of a data frame, which must be different."""
    names = list(map(str, frame.columns))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the frame has a column twice: {twice!r}")
    return names


def numeric_columns(frame: Any) -> bool:
    """Whether all columns of a data frame hold numbers or booleans."""
    return all(map(_is_numeric, frame.dtypes))


def table(frame: Frame, columns: list[Any]) -> np.ndarray:
    """Some columns side by side: floats if all of them hold numbers, NaN for a missing one, else
    objects.
    """
    if all(_is_numeric(frame[column].dtype) for column in columns):
        tokens = np.empty((len(frame), len(columns)))
        for c, column in enumerate(columns):
            tokens[:, c] = _floats(frame[column])
        return tokens
    tokens = np.empty((len(frame), len(columns)), dtype=object)
    for c, column in enumerate(columns):
        tokens[:, c] = object_array(frame[column].to_list())
    return tokens


def _is_numeric(dtype: Any) -> bool:
    """Whether a type of pandas or of polars is one of numbers or booleans."""
    if hasattr(dtype, "is_numeric"):
        # polars does not call booleans numeric
        return dtype.is_numeric() or str(dtype) == "Boolean"
    return dtype.kind in "biuf"


def _floats(column: Any) -> np.ndarray:
    floats: np.ndarray
    if hasattr(column, "cast"):  # of polars
        floats = column.cast(float).to_numpy()
    else:
        floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return floats


def runs(frame: Frame, columns: list[Any]) -> np.ndarray:
    """Offsets of the runs of rows with equal values in these columns, each of which names one
    sequence.
    """
    for column in columns:
        if (missing := _missing(frame[column])).any():
            row = int(np.argmax(missing))
            raise ValueError(f"row {row} belongs to no sequence: {_named(frame, columns, row)}")
    # Python's values, which compare in the same way for either library
    names = list(zip(*(frame[column].to_list() for column in columns)))
    changes = [row for row, (last, name) in enumerate(pairwise(names), 1) if name != last]
    seen = set(names[:1])
    for row in changes:
        if names[row] in seen:
            raise ValueError(
                f"row {row}: {_named(frame, columns, row)} has come before, with other sequences "
                "in between; sort the "
                "rows by it, equal ones in the order in which they are, or give more columns that "
                "tell sequences apart"
            )
        seen.add(names[row])
    return np.array([*([0] if names else []), *changes, len(names)])


def _missing(column: Any) -> np.ndarray:
    if hasattr(column, "isna"):
        missing: np.ndarray = column.isna().to_numpy()
        return missing
    return np.array([value is None or value != value for value in column.to_list()], dtype=bool)


def _named(frame: Frame, columns: list[Any], row: int) -> str:
    """How a row names its sequence."""
    return ", ".join(f"{column}={frame[column].to_list()[row]!r}" for column in columns)
