"""Vocabularies of streams of symbols: values -> codes, with a code for unknown values."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from sklearn_struct.containers.row_pieces import row_pieces
from sklearn_struct.encoding.features.observation_streams import Column, place
from sklearn_struct.exceptions import UnknownValueError

__all__ = ["OOV", "coded", "encode", "first_occurrences", "learn_values", "look_up"]

OOV = "<OOV>"  # stands for all values out of vocabulary; X may have it, too
LARGEST_TABLE = 1 << 15  # of the codes of whole numbers


def coded(column: Column) -> tuple[list[Any], np.ndarray]:
    """The values of a column, in their order, and the code of each token among them."""
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
    values, codes = coded(column)
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
    values, codes = coded(column)
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
        values, codes = coded(column)
        t = int(np.argmax(unknown))
        raise UnknownValueError(
            f"{place(t, offsets)}, column {c}: {values[codes[t]]!r} was not seen in fit; set `oov`"
        )
    new[unknown] = len(vocabulary)
    return new
