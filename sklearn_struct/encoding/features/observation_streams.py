"""Columns of tokens -> streams of codes or numbers, with a code for unknown values."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.kernel_arrays import for_kernels
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.row_pieces import first_row, row_pieces
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Matrix, Sequences, Token
from sklearn_struct.encoding.features.column_codes import read_table
from sklearn_struct.encoding.sequences import (
    check_numbers,
    check_sequences,
    form,
    is_list,
    pack_arrays,
)
from sklearn_struct.exceptions import InputTypeError, NonFiniteError, UnknownValueError

__all__ = [
    "OOV",
    "Column",
    "Columns",
    "counts",
    "encode",
    "first_occurrences",
    "is_numeric",
    "learn_values",
    "look_up",
    "numbers",
    "of_numbers",
    "place",
    "read",
    "refuse_missing",
    "symbols",
]

OOV = "<OOV>"  # stands for all values out of vocabulary; X may have it, too
LARGEST_TABLE = 1 << 15  # of the codes of whole numbers

T = TypeVar("T")


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


def symbols(X: T) -> T | SequenceArray:
    """Lists of whole numbers, packed as sequences of symbols; anything else passes through."""
    if not (isinstance(X, list | tuple | np.ndarray) and getattr(X, "ndim", 1) == 1):
        return X
    # one sequence of anything else, and it is read as usual
    if not len(X) or not all(map(_holds_symbols, X)):
        return X
    offsets = np.cumsum([0, *map(len, X)])
    values = [value for sequence in X for value in sequence]
    return SequenceArray(object_array(values), offsets) if values else X


def _holds_symbols(sequence: object) -> bool:
    if isinstance(sequence, np.ndarray):
        return sequence.ndim == 1 and (sequence.dtype.kind in "iu" or len(sequence) == 0)
    return isinstance(sequence, list | tuple) and all(map(_is_symbol, sequence))


def _is_symbol(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


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
    """Raise InputTypeError for None, and for a tuple among single values."""
    for c, (values, codes) in enumerate(columns):
        for code, value in enumerate(values):
            if value is None or (single and isinstance(value, tuple)):
                where = place(int(np.argmax(codes == code)), offsets)
                raise InputTypeError(
                    f"{where}{'' if single else f', column {c}'}: {value!r} is not a value"
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
    if alone and all(map(_is_symbol, column.values)):
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


def _coded(column: Column) -> tuple[list[Any], np.ndarray]:
    if column.codes is not None:
        return column.values, column.codes
    _refuse_merged(column.values)
    values = _distinct(column.values)
    return values.tolist(), _numbered(column.values, values)


def _refuse_merged(numbers: np.ndarray) -> None:
    """Raise ValueError where different whole numbers are the same float."""
    has_large = numbers.dtype.kind in "iu" and numbers.dtype.itemsize == 8 and len(numbers)
    for number in (int(numbers.max()), int(numbers.min())) if has_large else ():
        if abs(number) > 2**53:
            raise ValueError(
                f"X has the symbol {number}, but of numbers beyond 2 ** 53 some are the same "
                "float: write X.astype(str)"
            )


def _distinct(numbers: np.ndarray) -> np.ndarray:
    """The distinct numbers (n,) as floats, sorted."""
    parts = [np.unique(numbers[rows].astype(np.float64)) for rows in row_pieces(numbers)]
    return np.unique(np.concatenate([np.empty(0), *parts]))


def _numbered(numbers: np.ndarray, distinct: np.ndarray) -> np.ndarray:
    """The place of each number among the distinct ones."""
    codes = np.empty(len(numbers), _code_type(len(distinct)))
    places = _places_of_whole_numbers(distinct, codes.dtype)
    for rows in row_pieces(numbers, share=4):
        floats = numbers[rows].astype(np.float64)
        if places is None:
            codes[rows] = np.searchsorted(distinct, floats)
        else:
            # no search, which takes ten times as long
            codes[rows] = places[(floats - distinct[0]).astype(np.intp)]
    return codes


def _places_of_whole_numbers(distinct: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray | None:
    """The place of each whole number from the first to the last; None where there are others, or
    these are far apart.
    """
    if not len(distinct) or not distinct[-1] - distinct[0] < LARGEST_TABLE:
        return None
    if np.any(distinct != np.floor(distinct)):
        return None
    places = np.zeros(int(distinct[-1] - distinct[0]) + 1, dtype)
    places[(distinct - distinct[0]).astype(np.intp)] = np.arange(len(distinct))
    return places


def _code_type(n: int) -> np.dtype[Any]:
    """The smallest type for codes up to n, and -1."""
    return np.min_scalar_type(-n - 1)


def _at(table: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """What a table has at codes (n,), a piece at a time: indices become eight bytes each."""
    taken = np.empty(len(codes), table.dtype)
    for rows in row_pieces(codes, share=4):
        taken[rows] = table[codes[rows]]
    return taken


def learn_values(
    column: Column, used: np.ndarray, oov: str | None
) -> tuple[dict[Any, int], np.ndarray]:
    """The vocabulary of a column, {value: code}, and the codes of the tokens.

    Only tokens that are `used` count. The code after the last one is that of OOV. With
    ``oov="first"`` the first occurrence of each value is OOV, too: values that occur once are not
    in the vocabulary, and OOV is learned from the others' first occurrences.
    """
    values, codes = _coded(column)
    # tokens of weight 0 teach no values
    codes = np.where(used, codes, codes.dtype.type(-1))
    # a value that X itself writes so is none of the vocabulary
    if oov is not None and OOV in values:
        codes[codes == values.index(OOV)] = -1
    if oov == "first":
        codes[first_occurrences(codes)] = -1
    # values that only first occurrences had are out of vocabulary from here on
    is_kept = np.zeros(len(values) + 1, dtype=bool)
    for rows in row_pieces(codes, share=4):
        is_kept[codes[rows]] = True
    kept = np.flatnonzero(is_kept[:-1]).tolist()  # the last one is for -1
    with suppress(TypeError):  # several types stay in the order of their appearance
        kept.sort(key=values.__getitem__)
    renumbered = np.full(len(values) + 1, len(kept), _code_type(len(kept)))
    renumbered[kept] = np.arange(len(kept))
    new_codes = _at(renumbered, codes)
    if oov is None:
        new_codes[~used] = 0  # without OOV there is no code for them; nobody reads this one
    return {values[old]: new for new, old in enumerate(kept)}, new_codes


def look_up(column: Column, table: Mapping[Any, int]) -> np.ndarray:
    """What a table has for the value of each token, -1 where it has nothing."""
    values, codes = _coded(column)
    # each distinct value is looked up once; the 0 is for a column without tokens
    of_values = [table.get(value, -1) for value in values] or [0]
    return _at(np.array(of_values, _code_type(max(len(table), *of_values))), codes)


def first_occurrences(codes: np.ndarray) -> np.ndarray:
    """Where each code but -1 occurs first."""
    distinct, first = np.unique(codes, return_index=True)
    positions: np.ndarray = first[distinct >= 0]
    return positions


def encode(
    column: Column, vocabulary: dict[Any, int], oov: str | None, offsets: np.ndarray, c: int
) -> np.ndarray:
    """The codes of a column in a vocabulary that was learned before."""
    new = look_up(column, vocabulary)
    unknown = new < 0
    if oov is None and np.any(unknown):
        values, codes = _coded(column)
        t = int(np.argmax(unknown))
        raise UnknownValueError(
            f"{place(t, offsets)}, column {c}: {values[codes[t]]!r} was not seen in fit; set `oov`"
        )
    new[unknown] = len(vocabulary)
    return new
