"""Columns of values as integers: read, shifted inside their sequences, combined, and numbered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, count, repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.containers.ragged import bounds
from sklearn_struct.encoding.features.attribute_reader import chunks
from sklearn_struct.encoding.features.string_numbers import Names, as_words
from sklearn_struct.encoding.labels.label_codes import is_itself
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError

__all__ = [
    "KeyIndex",
    "Table",
    "Values",
    "Windows",
    "combine",
    "end_keys",
    "fill_rows",
    "learn_keys",
    "merged_values",
    "read_table",
    "slot_of",
]

# products of two codes still fit int64
_KEY_LIMIT = 1 << 62
# minus 2**32 over the golden ratio, modulo 2**32: spreads neighbouring keys over the table
_MULTIPLIER = 0x61C88647
_LOW = 0xFFFFFFFF

# The values of a column. Strings, the common case, are numbered by compiled code.
Values: TypeAlias = Names | dict[Any, int]


class Table(NamedTuple):
    """Sequences of rows: for each column the codes of its values, -1 for values not in `values`."""

    codes: list[np.ndarray]
    offsets: np.ndarray
    values: list[Values]


def read_table(X: Iterable[Any], known: list[Values] | None = None, missing: bool = False) -> Table:
    """Read sequences of rows. Without `known` values, each column numbers its values as they
    appear.

    Raises
    ------
    InputTypeError
        If something is not a sequence, not a row, or not hashable, or if a value to be learnt is
        missing.
    LengthMismatchError
        If rows do not have the same number of columns, or not that of `known`.
    NonFiniteError
        If a value to be learnt is NaN, which equals nothing, and does not stand for a number that
        is `missing`.
    """
    values = list(known or ())
    parts: list[list[np.ndarray]] = [[] for _ in values]
    lengths: list[int] = []
    for first, chunk in chunks(X):
        columns = _columns(first, chunk, len(values))
        lengths += map(len, chunk)
        if not values:
            # the first rows say how many columns there are
            # strings first; a column gets a dict once it shows anything else
            values += [Names() for _ in columns]
            parts += [[] for _ in columns]
        for c, column in enumerate(columns):
            try:
                values[c], codes = _number(values[c], column, known is None)
            except TypeError:
                raise _unhashable(first, chunk, c) from None
            parts[c].append(codes)
    offsets = bounds(np.array(lengths, np.int64))
    if known is None:
        # a defaultdict would go on learning
        values = [column if isinstance(column, Names) else dict(column) for column in values]
    table = Table([_joined(part) for part in parts], offsets, values)
    if known is None:
        _refuse_missing(table, missing)
    return table


def _joined(codes: list[np.ndarray]) -> np.ndarray:
    """The codes of all chunks; of a single one without a copy."""
    if len(codes) == 1:
        return codes[0]
    return np.concatenate(codes) if codes else np.empty(0, np.int32)


def _number(values: Values, column: Sequence[Any], learn: bool) -> tuple[Values, np.ndarray]:
    """The codes of a column. A value that is no string turns the column's `Names` into a dict."""
    if isinstance(values, Names):
        try:
            words = as_words(column)
        except TypeError:
            # a dict that gives each new key the next number
            growing: defaultdict[Any, int] = defaultdict(None, zip(values, count()))
            growing.default_factory = growing.__len__
            values = growing
        else:
            return values, (values.learn if learn else values.find)(words, len(column))
    codes = map(values.__getitem__, column) if learn else map(values.get, column, repeat(-1))
    return values, np.fromiter(codes, np.int32, len(column))


def merged_values(parts: Sequence[Values]) -> tuple[Values, list[np.ndarray]]:
    """The values of a column in all parts of the data, numbered as they first appear in these, and
    the number (int32) of each value of each part.
    """
    of_strings = [part for part in parts if isinstance(part, Names)]
    if len(of_strings) == len(parts):
        names = Names()
        return names, [names.learn_names(part) for part in of_strings]
    known: dict[Any, int] = {}
    numbers = [
        np.fromiter((known.setdefault(value, len(known)) for value in part), np.int32, len(part))
        for part in parts
    ]
    return known, numbers


def _columns(first: int, chunk: list[Any], n_columns: int) -> list[tuple[Any, ...]]:
    """The columns of all rows of a chunk, none if there are no rows.

    There must be `n_columns` of them, or any number if that is 0.
    """
    if set(map(type, chunk)) <= {list, tuple}:
        rows = list(chain.from_iterable(chunk))
        if (
            rows
            and set(map(type, rows)) <= {list, tuple}
            and len(rows[0]) == (n_columns or len(rows[0]) or -1)
        ):
            try:
                return list(zip(*rows, strict=True))
            except ValueError:  # rows of several lengths: the slow way says which
                pass
    return list(zip(*_careful_rows(first, chunk, n_columns)))


def _careful_rows(first: int, chunk: list[Any], n_columns: int) -> list[Any]:
    """The rows of a chunk, read one by one: for sequences that are arrays, and to find mistakes."""
    rows: list[Any] = []
    for i, sequence in enumerate(chunk, first):
        is_array = isinstance(sequence, np.ndarray) and sequence.ndim > 0
        if not is_array and not isinstance(sequence, list | tuple):
            raise InputTypeError(
                f"X[{i}]: a sequence is a list of tuples of values, got {type(sequence).__name__}"
            )
        for t, row in enumerate(sequence.tolist() if is_array else sequence):
            if isinstance(row, np.ndarray) and row.ndim == 1:
                row = row.tolist()
            if not isinstance(row, list | tuple):
                kind = type(row).__name__
                raise InputTypeError(
                    f"X[{i}], token {t}: a token is a tuple of column values, got {kind}"
                )
            n_columns = n_columns or len(row)
            if not row or len(row) != n_columns:
                expected = n_columns or "at least 1"
                raise LengthMismatchError(
                    f"X[{i}], token {t}: {len(row)} columns, expected {expected}"
                )
            rows.append(row)
    return rows


def _unhashable(first: int, chunk: list[Any], c: int) -> InputTypeError:
    for i, sequence in enumerate(chunk, first):
        for t, row in enumerate(sequence):
            try:
                hash(row[c])
            except TypeError:
                kind = type(row[c]).__name__
                return InputTypeError(
                    f"X[{i}], token {t}, column {c}: values must be hashable, got {kind}"
                )
    return InputTypeError(f"X[{first}:{first + len(chunk)}], column {c}: values cannot be compared")


def _refuse_missing(table: Table, missing: bool) -> None:
    for c, values in enumerate(table.values):
        for code, value in enumerate(values if isinstance(values, dict) else ()):
            if not is_itself(value):
                token = int(np.argmax(table.codes[c] == code))
                i = int(np.searchsorted(table.offsets, token, side="right")) - 1
                where = f"X[{i}], token {token - table.offsets[i]}, column {c}"
                if isinstance(value, float | np.floating):
                    if missing:
                        continue
                    raise NonFiniteError(f"{where}: not finite ({value})")
                raise InputTypeError(f"{where}: the value is missing ({value!r})")


class Windows:
    """Codes of the columns at other rows of the same sequence.

    Each sequence has free cells around it, as many as `reach` = (before, after) says. They hold -1
    or, if `special`, codes of their own: d - 1 for the position d before the first row, before +
    d - 1 for the one d after the last. The codes of ordinary values then begin at before + after.
    """

    def __init__(self, table: Table, reach: tuple[int, int], special: bool) -> None:
        lengths = np.diff(table.offsets)
        # cells of -1 further away than the longest sequence would only take memory
        self._reach = before, after = (
            reach if special else tuple(np.minimum(reach, lengths.max(initial=0)).tolist())
        )
        begins = table.offsets[:-1] + before + np.arange(len(lengths)) * (before + after)
        # each sequence has room on both sides, so that windows need no test for its ends
        self._rows = np.arange(table.offsets[-1]) + np.repeat(begins - table.offsets[:-1], lengths)
        n_cells = table.offsets[-1] + len(lengths) * (before + after)
        self._cells = np.full((len(table.codes), n_cells), -1, np.int64)
        for cells, codes in zip(self._cells, table.codes):
            cells[self._rows] = (
                np.where(codes < 0, -1, codes + before + after) if special else codes
            )
        for d in range(before * special):
            self._cells[:, begins - 1 - d] = d
        for d in range(after * special):
            self._cells[:, begins + lengths + d] = before + d

    def at(self, offset: int, column: int) -> np.ndarray:
        """The code of row ``t + offset`` for each row t."""
        before, after = self._reach
        # beyond the reach all cells are alike
        codes: np.ndarray = self._cells[column, self._rows + min(max(offset, -before), after)]
        return codes


def end_keys(offsets: np.ndarray, last: bool) -> np.ndarray:
    """Key 0 at the first (last) token of each sequence, -1 elsewhere."""
    keys = np.full(offsets[-1], -1, np.int64)
    filled = np.diff(offsets) > 0
    keys[(offsets[1:] - 1 if last else offsets[:-1])[filled]] = 0
    return keys


def combine(
    codes: list[np.ndarray], sizes: list[int], stages: dict[int, KeyIndex] | None
) -> tuple[np.ndarray, int, dict[int, KeyIndex]]:
    """One key for several codes by mixed radix, -1 where one of them is -1.

    Where keys would outgrow 64 bits, those so far are numbered anew. The index that did so before
    code p is ``stages[p]``; without `stages` they are learned.

    Returns
    -------
    keys : ndarray of int64
    radix : int
        Number of possible keys.
    stages : dict of int to KeyIndex
    """
    learnt = {} if stages is None else stages
    keys = codes[0]
    radix = sizes[0]
    for p in range(1, len(codes)):
        # numbers instead of keys, as few as occur, leave room for the next code
        if radix * sizes[p] > _KEY_LIMIT and stages is None:
            learnt[p], _ = learn_keys(keys, radix)
        if p in learnt:
            keys = learnt[p].find(keys).astype(np.int64)
            radix = len(learnt[p])
        missing = (keys | codes[p]) < 0  # the sign bit of either
        keys = keys * sizes[p] + codes[p]
        keys[missing] = -1
        radix *= sizes[p]
    return keys, radix, learnt


class KeyIndex:
    """Numbers 0, 1, … for distinct non-negative keys, -1 for all others.

    A hash table with linear probing.

    Parameters
    ----------
    keys : ndarray of int64
        The distinct keys, in the order of their numbers.
    """

    def __init__(self, keys: np.ndarray) -> None:
        self.keys, self.slots, _ = _fill(keys, len(keys))

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        # slots follow from keys
        return self is other or (
            isinstance(other, KeyIndex) and np.array_equal(self.keys, other.keys)
        )

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The number of each key (int32), -1 for keys that have none."""
        numbers = np.empty(len(keys), np.int32)
        number_keys(keys, self.slots, self.keys, len(self.keys), numbers)
        return numbers


def learn_keys(keys: np.ndarray, radix: int, min_frequency: int = 1) -> tuple[KeyIndex, np.ndarray]:
    """An index of those keys, all below `radix`, that occur often enough; each key's number."""
    distinct, _, numbers = _fill(keys, min(len(keys), radix))
    if min_frequency == 1:
        return KeyIndex(distinct), numbers
    counts = np.bincount(numbers[numbers >= 0], minlength=len(distinct))
    index = KeyIndex(distinct[counts >= min_frequency])
    return index, index.find(keys)


def _fill(keys: np.ndarray, n_distinct: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first `n_distinct` distinct keys, their hash table, and the number of each key."""
    # half of the slots stay empty, so that searches end soon; one more, so that they end at all
    slots = np.full(2 * n_distinct + 1, -1, np.int32)
    distinct = np.empty(n_distinct, np.int64)
    numbers = np.empty(len(keys), np.int32)
    n = number_keys(keys, slots, distinct, 0, numbers)
    return distinct[:n].copy(), slots, numbers


@inlined
def slot_of(key: int, n_slots: int) -> int:
    """Where the search for a key begins."""
    # the hash times the number of slots, over 2**32: a range without a division
    return ((((key ^ (key >> 32)) & _LOW) * _MULTIPLIER & _LOW) * n_slots) >> 32


@kernel
def number_keys(
    keys: np.ndarray, slots: np.ndarray, distinct: np.ndarray, n: int, numbers: np.ndarray
) -> int:
    """Number the keys; return n, how many distinct ones are known now.

    A new key gets the next number, and is stored in `distinct`; it gets -1 if that is full.
    Negative keys get -1.
    """
    for t in range(len(keys)):
        key = keys[t]
        number = -1
        if key >= 0:
            slot = slot_of(key, len(slots))
            number = slots[slot]
            while number >= 0 and distinct[number] != key:
                slot = slot + 1 if slot + 1 < len(slots) else 0
                number = slots[slot]
            # with a full table keys are only looked up
            if number < 0 and n < len(distinct):
                slots[slot] = number = n
                distinct[n] = key
                n += 1
        numbers[t] = number
    return n


@kernel
def fill_rows(
    numbers: np.ndarray, first: np.ndarray, indptr: np.ndarray, columns: np.ndarray
) -> None:
    """Write CSR rows: row t has column ``first[j] + numbers[j, t]`` for every j with a number."""
    stop = 0
    for t in range(numbers.shape[1]):
        for j in range(numbers.shape[0]):
            if numbers[j, t] >= 0:
                columns[stop] = first[j] + numbers[j, t]
                stop += 1
        indptr[t + 1] = stop
