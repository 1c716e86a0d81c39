"""Sequences of single values: which are symbols, and which cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Number
from typing import Any, NoReturn, TypeVar

import numpy as np

from sklearn_struct.containers.data_frames import is_frame, numeric_columns
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError

__all__ = ["check_single_values", "is_boolean", "is_symbol", "refuse_bytes", "symbols"]

T = TypeVar("T")

SYMBOLS = "symbols are strings, whole numbers or booleans"
# classes of libraries that are not imported
MISSING = ("NoneType", "NAType", "NaTType")
NUMBER = "number"
BOOLEAN = "boolean"
TEXT = "text"
ROW = "row"  # several values
OTHER = "other"


def symbols(X: T) -> T | SequenceArray:
    """Lists of whole numbers, or of booleans, packed as sequences of symbols; anything else passes
    through.
    """
    if not _is_plain_list(X):
        return X
    values: list[Any] = []
    lengths = [0]
    kinds: set[bool] = set()
    given: Any = X
    for sequence in given:
        tokens = _tokens(sequence)
        if tokens is None:
            return X
        types = set(map(type, tokens))
        kinds |= {is_boolean(kind) for kind in types}
        # one sequence of anything else, and it is read as usual
        if len(kinds) > 1 or not all(_is_whole(kind) or is_boolean(kind) for kind in types):
            return X
        values += tokens
        lengths.append(len(tokens))
    return SequenceArray(object_array(values), np.cumsum(lengths)) if values else X


def is_symbol(value: object) -> bool:
    """Whether a value is a whole number, and no boolean."""
    return _is_whole(type(value))


def _is_plain_list(X: object) -> bool:
    return isinstance(X, list | tuple | np.ndarray) and getattr(X, "ndim", 1) == 1


def is_boolean(kind: type) -> bool:
    """Whether a type is one of booleans."""
    return issubclass(kind, bool | np.bool_)


def _is_whole(kind: type) -> bool:
    return issubclass(kind, Integral) and not is_boolean(kind)


def _tokens(sequence: Any) -> Any:
    """The items of a sequence of single values, which may be an array or a column of a data frame;
    None for anything else, and for arrays of no symbols.
    """
    if isinstance(sequence, list | tuple):
        return sequence
    if isinstance(sequence, np.ndarray):
        is_read = sequence.ndim == 1 and (sequence.dtype.kind in "iubO" or not len(sequence))
        return sequence.tolist() if is_read else None
    if is_list(sequence) and len(getattr(sequence, "shape", (1,))) == 1:
        # lists of Python's numbers, where columns can make these
        return sequence.to_list() if hasattr(sequence, "to_list") else list(sequence)
    return None


def refuse_bytes(value: object, where: str) -> None:
    """Raise InputTypeError for bytes: the file of a model could not hold them."""
    if isinstance(value, bytes):
        raise InputTypeError(
            f"{where}: {value!r} is bytes; write text, as by value.decode(), or X.astype(str) of "
            "an array"
        )


def check_single_values(X: object) -> None:
    """Raise for sequences of single values that are neither symbols of one type nor a table of
    numbers, and for a list of data frames that hold more than numbers.

    Raises
    ------
    InputTypeError
        For values of several types, whichever comes first; for what is no symbol; for frames.
    LengthMismatchError
        For lists of numbers of different lengths, which are no table.
    NonFiniteError
        For NaN among symbols.
    """
    if isinstance(X, SequenceArray):
        # numbers may have any length there, and are all that an array of another type has
        if X.stored.ndim == 1 and X.stored.dtype == object:
            _refuse_several_types(X, _groups(X))
        return
    if not _is_plain_list(X):
        return
    _refuse_frames(X)
    groups = _groups(X)
    if groups and groups <= {NUMBER, BOOLEAN}:
        _refuse_ragged(X)
    elif groups == {OTHER}:
        _refuse_others(X)
    else:
        _refuse_several_types(X, groups)


def _refuse_frames(X: Any) -> None:
    """Raise InputTypeError for a list of data frames that hold more than numbers."""
    for i, sequence in enumerate(X):
        if not is_frame(sequence) or numeric_columns(sequence):
            continue
        joined = (
            "pandas.concat(X, keys=range(len(X)), names=['sequence', None]).reset_index('sequence')"
            if hasattr(sequence, "iloc")
            else "polars.concat(x.with_columns(sequence=i) for i, x in enumerate(X))"
        )
        raise InputTypeError(
            f"X[{i}] is a {type(sequence).__name__} with columns that are no numbers; write "
            f"SequenceArray.from_frame(frame, 'sequence') with frame = {joined}, which has the "
            "rows of all sequences and a column that tells these apart"
        )


def _groups(X: Any) -> set[str]:
    """The groups of all tokens; none unless all of these are single values."""
    types: set[type] = set()
    for sequence in X:
        if not is_list(sequence) or len(getattr(sequence, "shape", (1,))) != 1:
            return set()
        if isinstance(sequence, np.ndarray) and sequence.dtype != object:
            types |= {sequence.dtype.type} if len(sequence) else set()
        else:
            types |= set(map(type, sequence))
    groups = set(map(_group, types))
    # rows among single values have errors of their own
    return set() if ROW in groups else groups


def _group(kind: type) -> str:
    """What values of a type are, of which one model has one."""
    if issubclass(kind, str):
        return TEXT
    if is_boolean(kind):
        return BOOLEAN
    if issubclass(kind, Number | np.number):
        return NUMBER
    if issubclass(kind, list | tuple | np.ndarray | dict | set | frozenset):
        return ROW
    return "bytes" if issubclass(kind, bytes) else OTHER


def _places(X: Any) -> Iterator[tuple[int, int, Any]]:
    """All tokens, with the numbers of their sequences and their own."""
    for i, sequence in enumerate(X):
        for t, value in enumerate(sequence):
            yield i, t, value


def _refuse_several_types(X: Any, groups: set[str]) -> None:
    """Raise for the first token that is of another group than the first of all."""
    if len(groups) < 2:
        return
    first: tuple[int, int, Any] | None = None
    for i, t, value in _places(X):
        where = f"X[{i}], token {t}"
        _refuse_missing(value, where)
        refuse_bytes(value, where)
        first = first or (i, t, value)
        # strings may stand beside values of types that only their users know
        both = {_group(type(value)), _group(type(first[2]))}
        if len(both) == 2 and both != {TEXT, OTHER}:
            _refuse_two(first, (i, t, value))


def _refuse_others(X: Any) -> None:
    """Raise for the first token of a list that has no symbols."""
    for i, t, value in _places(X):
        where = f"X[{i}], token {t}"
        _refuse_missing(value, where)
        raise InputTypeError(
            f"{where}: {value!r} is a {type(value).__name__}, and {SYMBOLS}: write str(value)"
        )


def _refuse_missing(value: Any, where: str) -> None:
    if type(value).__name__ in MISSING:
        raise InputTypeError(f"{where}: {value!r} is not a value")
    if isinstance(value, float | np.floating) and np.isnan(value):
        raise NonFiniteError(
            f"{where}, column 0: not finite (nan); numbers may be missing, symbols may not"
        )


def _refuse_two(first: tuple[int, int, Any], other: tuple[int, int, Any]) -> NoReturn:
    i, t, value = first
    j, u, differs = other
    raise InputTypeError(
        f"X[{i}], token {t}, is {value!r} of type {type(value).__name__}, and X[{j}], token {u}, "
        f"is {differs!r} of type {type(differs).__name__}; {SYMBOLS}, all of one type: write "
        "str(value) for each"
    )


def _refuse_ragged(X: Any) -> None:
    """Raise LengthMismatchError for lists of numbers of several lengths: a table has one."""
    for i, sequence in enumerate(X):
        if len(sequence) != len(X[0]):
            raise LengthMismatchError(
                f"X[{i}] has {len(sequence)} numbers but X[0] has {len(X[0])}, so X is no table of "
                "numbers; a sequence of single numbers is an array of shape (n, 1), "
                "numpy.reshape(x, (-1, 1)), and one of symbols has strings, whole numbers or "
                "booleans alone"
            )
