"""Columns of tokens -> streams of values or numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.kernel_arrays import for_kernels
from sklearn_struct.containers.row_pieces import first_row
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Matrix, Sequences, Token
from sklearn_struct.encoding.features.column_codes import read_table
from sklearn_struct.encoding.features.symbol_sequences import is_boolean, is_symbol, refuse_bytes
from sklearn_struct.encoding.sequences import (
    check_numbers,
    check_sequences,
    form,
    is_list,
    pack_arrays,
)
from sklearn_struct.exceptions import InputTypeError, NonFiniteError

__all__ = [
    "Column",
    "Columns",
    "counts",
    "is_numeric",
    "numbers",
    "of_numbers",
    "place",
    "read",
    "refuse_missing",
]


class Column(NamedTuple):
    """One column of all tokens: their numbers, or distinct values and the code of each token."""

    values: Any
    codes: np.ndarray | None


class Columns(NamedTuple):
    """The columns of X and their names, the bounds of its sequences, and how tokens were written.

    ``kind`` is "numbers" (rows of arrays), "values" (a string each) or "rows" (tuples). ``table``
    (n, d) has all columns of numbers as float64 or whole numbers of any size, in the memory of X
    where X is such a table. Nobody may write to it.
    """

    columns: list[Column]
    offsets: np.ndarray
    names: Any
    kind: str
    table: np.ndarray | None = None


def read(X: Sequences, missing: bool = False) -> Columns:
    """Read sequences of strings, rows of values or arrays of numbers, also in a SequenceArray.

    NaN is refused unless it stands for a number that is `missing`.
    """
    names = X.names if isinstance(X, SequenceArray) else None
    kind = form(X)
    if kind == "empty":
        return Columns([], np.zeros(len(X) + 1, np.int64), names, "rows")
    if isinstance(X, SequenceArray) and kind == "packed" and _has_numbers(X):
        return of_numbers(X, missing)
    if kind == "arrays" and not _has_rows(X):
        return of_numbers(_in_place(X) or pack_arrays(X, np.dtype(np.float64)), missing)
    single = kind != "arrays" and _has_single_values(X)
    if single:
        check_sequences(X)
    rows = [[(value,) for value in sequence] for sequence in X] if single else X
    table = read_table(rows, missing=missing)
    columns = [
        Column(list(values), codes) for codes, values in zip(table.codes, table.values, strict=True)
    ]
    _refuse_missing(columns, table.offsets, single)
    if not single:
        _refuse_merged_booleans(X, columns)
    return Columns(columns, table.offsets, names, "values" if single else "rows")


def _has_numbers(X: SequenceArray) -> bool:
    tokens: Matrix = X.tokens
    return tokens.ndim == 2 and (sp.issparse(tokens) or tokens.dtype.kind != "O")


def _in_place(X: Sequences) -> SequenceArray | None:
    """An array of three dimensions, or a list of one array, in the memory that it is in; None for
    anything else, of which `pack_arrays` makes one array.
    """
    several = isinstance(X, np.ndarray) and X.ndim == 3
    rows: Any = X if several else X[0] if len(X) == 1 else None
    if not isinstance(rows, np.ndarray) or isinstance(rows, np.ma.MaskedArray):
        return None
    if rows.ndim != 2 + several or rows.dtype.kind not in "fiub" or not rows.size:
        return None
    n = rows.shape[-2]
    offsets = np.arange(0, len(X) * n + 1, n)
    return SequenceArray(rows.reshape(-1, rows.shape[-1]), offsets)


def of_numbers(X: SequenceArray, missing: bool = False) -> Columns:
    """The columns of packed numbers; NaN may be there if it stands for what is `missing`."""
    if sp.issparse(X.tokens):
        raise InputTypeError(
            "sparse X has no meaning here: the columns are streams of numbers; give a dense array"
        )
    # whole numbers stay: copies of them as floats would be as large as X
    dtype = X.tokens.dtype if X.tokens.dtype.kind in "iu" else np.dtype(np.float64)
    table = for_kernels(X.tokens.astype(dtype, order="C", copy=False), dtype)
    check_numbers(SequenceArray(table, X.offsets, X.names), missing)
    columns = [Column(column, None) for column in table.T]
    return Columns(columns, X.offsets, X.names, "numbers", table)


def _first_token(X: Sequences) -> Token:
    token: Token = next(token for sequence in X if len(sequence) for token in sequence)
    return token


def _has_rows(X: Sequences) -> bool:
    """Whether sequences of two dimensions hold more than numbers."""
    sequence = next((s for s in X if _is_filled(s)), ())
    if not isinstance(sequence, list | tuple):
        return not sp.issparse(sequence) and np.asarray(sequence).dtype.kind in "OUS"
    rows = [row for row in sequence if isinstance(row, list | tuple)]
    return any(not isinstance(value, Real | np.generic) for row in rows for value in row)


def _is_filled(sequence: object) -> bool:
    shape = getattr(sequence, "shape", None)
    if shape is None:
        return is_list(sequence) and len(sequence) > 0
    return len(shape) > 0 and shape[0] > 0  # a sparse matrix has no len()


def _has_single_values(X: Sequences) -> bool:
    token = _first_token(X)
    if isinstance(token, dict | set | frozenset):
        raise InputTypeError(
            f"X has tokens that are a {type(token).__name__}; give a string, a row with a value "
            "for each stream, or numbers (SequenceVectorizer makes numbers of dicts, for models "
            "that read features)"
        )
    return not isinstance(token, list | tuple | np.ndarray)


def _refuse_missing(columns: list[Column], offsets: np.ndarray, single: bool) -> None:
    """Raise InputTypeError for None, for bytes, and for a tuple among single values."""
    for c, (values, codes) in enumerate(columns):
        for code, value in enumerate(values):
            is_none = value is None or (single and isinstance(value, tuple))
            if not is_none and not isinstance(value, bytes):
                continue
            where = place(int(np.argmax(codes == code)), offsets)
            where += "" if single else f", column {c}"
            refuse_bytes(value, where)
            raise InputTypeError(f"{where}: {value!r} is not a value")


def _refuse_merged_booleans(X: Sequences, columns: list[Column]) -> None:
    """Raise InputTypeError for a column of booleans and numbers: True equals 1, so that the first
    of them would say what all are.
    """
    for c, column in enumerate(columns):
        # no other number is equal to a boolean
        if not any(isinstance(v, Real | np.bool_) and v in (0, 1) for v in column.values):
            continue
        first: tuple[type, str] | None = None
        for i, sequence in enumerate(X):
            for t, row in enumerate(sequence):
                kind = type(row[c])
                if not issubclass(kind, Real | np.bool_):
                    continue
                first = first or (kind, f"X[{i}], token {t}")
                if is_boolean(kind) != is_boolean(first[0]):
                    raise InputTypeError(
                        f"{first[1]}, column {c}, is of type {first[0].__name__}, and X[{i}], "
                        f"token {t}, of type {kind.__name__}: write numbers, as by int(value), or "
                        "booleans alone"
                    )


def place(position: int, offsets: np.ndarray) -> str:
    """Where a token stands, in words."""
    i = int(np.searchsorted(offsets, position, side="right")) - 1
    return f"X[{i}], token {position - offsets[i]}"


def is_numeric(column: Column, alone: bool = False) -> bool:
    """Whether all values are numbers, and no booleans.

    Whole numbers that stand `alone`, one a token, are symbols and not numbers.
    """
    if column.codes is None:
        return True
    # single whole numbers are names of symbols, as hmmlearn's
    if alone and all(map(is_symbol, column.values)):
        return False
    return all(isinstance(v, Real) and not isinstance(v, bool) for v in column.values)


def refuse_missing(column: Column, offsets: np.ndarray, c: int) -> None:
    """Raise NonFiniteError for NaN in a column that is read as symbols."""
    if column.codes is None:
        t = first_row(column.values, np.isnan)
    else:
        nan = [isinstance(v, float | np.floating) and np.isnan(v) for v in column.values]
        is_nan = np.array(nan, dtype=bool)
        t = first_row(column.codes, lambda codes: is_nan[codes]) if any(nan) else None
    if t is not None:
        raise NonFiniteError(
            f"{place(t, offsets)}, column {c}: not finite (nan); numbers may be missing, symbols "
            "may not"
        )


def numbers(column: Column, offsets: np.ndarray, c: int, missing: bool = False) -> np.ndarray:
    """A column as floats or whole numbers; NaN may be there if it stands for what is `missing`."""
    if column.codes is None:
        as_given: np.ndarray = column.values
        return as_given
    for code, value in enumerate(column.values):
        where = place(int(np.argmax(column.codes == code)), offsets) + f", column {c}"
        if not isinstance(value, Real):
            raise InputTypeError(f"{where}: {value!r} is not a number")
        if not np.isfinite(float(value)) and not (missing and np.isnan(float(value))):
            raise NonFiniteError(f"{where}: not finite ({value})")
    of_token: np.ndarray = np.array(column.values, dtype=np.float64)[column.codes]
    return of_token


def counts(column: Column, offsets: np.ndarray, c: int, missing: bool = False) -> np.ndarray:
    """A column of whole numbers of at least 0, as floats or not; NaN may be there if it stands for
    what is `missing`.
    """
    of_token = numbers(column, offsets, c, missing=True)
    gone = None if missing else first_row(of_token, np.isnan)
    if gone is not None:
        raise NonFiniteError(
            f"{place(gone, offsets)}, column {c}: not finite (nan); a vector of counts must have "
            "all its counts"
        )
    t = first_row(of_token, _are_no_counts)
    if t is not None:
        raise ValueError(
            f"{place(t, offsets)}, column {c}: {of_token[t]:g} is not a count, which is a whole "
            "number from 0 to 2 ** 53"
        )
    return of_token


def _are_no_counts(values: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        # larger numbers have no next one as floats
        good = (values >= 0) & (values == np.floor(values)) & (values <= 2.0**53)
    bad: np.ndarray = ~(good | np.isnan(values))
    return bad
