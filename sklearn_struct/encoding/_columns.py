"""Columns of values as integers: read, shifted inside their sequences, combined, and numbered."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.encoding._attributes import chunks
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.kernel import kernel

__all__ = ["KeyIndex", "Table", "combine", "end_keys", "fill_rows", "read_table", "shift"]

_KEY_LIMIT = 1 << 62
_DIRECT_SIZE = 1 << 16  # a table this large is cheaper than hashing, however few keys there are …
_DIRECT_RATIO = 8  # … and so is one of this many slots a key
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: spreads neighbouring keys


class Table(NamedTuple):
    """Sequences of rows: for each column the codes of its values, -1 for values not in `values`."""

    codes: list[np.ndarray]
    offsets: np.ndarray
    values: list[dict[Any, int]]


def read_table(X: Any, values: list[dict[Any, int]] | None = None) -> Table:
    """Read sequences of rows. Without `values`, each column numbers its values as they appear.

    Raises
    ------
    InputTypeError
        If something is not a sequence, not a row, or not hashable.
    LengthMismatchError
        If rows do not have the same number of columns, or not that of `values`.
    NonFiniteError
        If a value to be learnt is NaN, which equals nothing.
    """
    tables: list[Any] = values or []
    parts: list[list[np.ndarray]] = [[np.empty(0, np.int32)] for _ in tables]
    lengths: list[int] = []
    for first, chunk in chunks(X):
        rows = _rows(first, chunk, len(tables))
        lengths += map(len, chunk)
        if rows and not tables:
            tables = [defaultdict() for _ in rows[0]]
            for table in tables:
                table.default_factory = table.__len__
            parts = [[] for _ in tables]
        for c, table in enumerate(tables):
            column = map(itemgetter(c), rows)
            codes = map(table.__getitem__, column) if values is None else map(table.get, column, repeat(-1))
            try:
                parts[c].append(np.fromiter(codes, np.int32, len(rows)))
            except TypeError:
                raise _unhashable(first, chunk, c) from None
    found = Table(
        [np.concatenate(part) for part in parts],
        np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))]),
        [dict(table) for table in tables] if values is None else values,
    )
    if values is None:
        _refuse_nan(found)
    return found


def _rows(first: int, chunk: list[Any], n_columns: int) -> list[Any]:
    """The rows of all sequences of a chunk, of `n_columns` columns if there are any yet."""
    if set(map(type, chunk)) <= {list, tuple}:
        rows = list(chain.from_iterable(chunk))
        if set(map(type, rows)) <= {list, tuple}:
            width = n_columns or max(map(len, rows), default=0)
            if set(map(len, rows)) <= {width or -1}:
                return rows
    return _careful_rows(first, chunk, n_columns)


def _careful_rows(first: int, chunk: list[Any], n_columns: int) -> list[Any]:
    """The same row by row, for sequences that are arrays and for messages about mistakes."""
    rows: list[Any] = []
    for i, sequence in enumerate(chunk, first):
        is_array = isinstance(sequence, np.ndarray) and sequence.ndim > 0
        if not is_array and not isinstance(sequence, list | tuple):
            raise InputTypeError(f"X[{i}]: a sequence is a list of tuples of values, got {type(sequence).__name__}")
        for t, row in enumerate(sequence.tolist() if is_array else sequence):
            if isinstance(row, np.ndarray) and row.ndim == 1:
                row = row.tolist()
            if not isinstance(row, list | tuple):
                kind = type(row).__name__
                raise InputTypeError(f"X[{i}], token {t}: a token is a tuple of column values, got {kind}")
            n_columns = n_columns or len(row)
            if not row or len(row) != n_columns:
                expected = n_columns or "at least 1"
                raise LengthMismatchError(f"X[{i}], token {t}: {len(row)} columns, expected {expected}")
            rows.append(row)
    return rows


def _unhashable(first: int, chunk: list[Any], c: int) -> InputTypeError:
    for i, sequence in enumerate(chunk, first):
        for t, row in enumerate(sequence):
            try:
                hash(row[c])
            except TypeError:
                kind = type(row[c]).__name__
                return InputTypeError(f"X[{i}], token {t}, column {c}: values must be hashable, got {kind}")
    return InputTypeError(f"X[{first}:{first + len(chunk)}], column {c}: values cannot be compared")


def _refuse_nan(table: Table) -> None:
    for c, values in enumerate(table.values):
        for value, code in values.items():
            if isinstance(value, float | np.floating) and value != value:
                token = int(np.argmax(table.codes[c] == code))
                i = int(np.searchsorted(table.offsets, token, side="right")) - 1
                raise NonFiniteError(f"X[{i}], token {token - table.offsets[i]}, column {c}: not finite ({value})")


def shift(codes: np.ndarray, offsets: np.ndarray, offset: int, pads: tuple[int, int] | None) -> np.ndarray:
    """Row t gets the code of row ``t + offset`` of the same sequence.

    Outside the sequence there is -1, or with `pads`, the numbers (before, after) of special values of the column,
    code d - 1 for a position d before the first row, and before + d - 1 for one d after the last; the codes of
    ordinary values follow them.
    """
    n_pads = sum(pads) if pads else 0
    shifted = np.full(len(codes), -1, np.int64)
    distance = min(abs(offset), len(codes))
    source = codes[: len(codes) - distance] if offset < 0 else codes[distance:]
    target = shifted[distance:] if offset < 0 else shifted[: len(codes) - distance]
    target[:] = source if not n_pads else np.where(source < 0, -1, source + n_pads)
    lengths = np.diff(offsets)
    ends = offsets[:-1] if offset < 0 else offsets[1:] - 1
    for j in range(min(abs(offset), int(lengths.max(initial=0)))):
        rows = ends[lengths > j] + (j if offset < 0 else -j)
        shifted[rows] = -1 if pads is None else abs(offset) - j - 1 + (0 if offset < 0 else pads[0])
    return shifted


def end_keys(offsets: np.ndarray, last: bool) -> np.ndarray:
    """Key 0 at the first (last) token of each sequence, -1 elsewhere."""
    keys = np.full(offsets[-1], -1, np.int64)
    filled = np.diff(offsets) > 0
    keys[(offsets[1:] - 1 if last else offsets[:-1])[filled]] = 0
    return keys


def combine(
    codes: list[np.ndarray], sizes: list[int], stages: dict[int, KeyIndex] | None = None
) -> tuple[np.ndarray, int, dict[int, KeyIndex]]:
    """One key for several codes by mixed radix, -1 where one of them is; the number of possible keys.

    Where keys would outgrow 64 bits, those so far are numbered anew: ``stages[p]`` did so before code p.
    """
    learnt = {} if stages is None else stages
    keys, radix = codes[0], sizes[0]
    for p in range(1, len(codes)):
        if radix * sizes[p] > _KEY_LIMIT and stages is None:
            learnt[p] = KeyIndex(keys, radix)
        if p in learnt:
            keys, radix = learnt[p].find(keys).astype(np.int64), len(learnt[p])
        keys = np.where((keys | codes[p]) < 0, -1, keys * sizes[p] + codes[p])
        radix *= sizes[p]
    return keys, radix, learnt


class KeyIndex:
    """Numbers 0, 1, … for the distinct non-negative keys that were learnt; -1 for all others.

    Where the range of keys is small, a table over the range; else a hash table with linear probing.

    Parameters
    ----------
    keys : ndarray of int64
        The keys to number, negative ones excepted.
    radix : int
        Keys lie below it.
    min_frequency : int
        Keys that occur less often get no number.
    """

    def __init__(self, keys: np.ndarray, radix: int, min_frequency: int = 1) -> None:
        self.direct = radix <= max(_DIRECT_SIZE, _DIRECT_RATIO * len(keys))
        if self.direct:
            counts = np.bincount(keys[keys >= 0], minlength=radix)
            self.keys = np.flatnonzero(counts >= min_frequency)
            self.slots = np.full(radix + 1, -1, np.int32)  # the last one answers for key -1
            self.slots[self.keys] = np.arange(len(self.keys), dtype=np.int32)
        else:
            _, distinct, numbers = _learn(keys)
            counts = np.bincount(numbers[numbers >= 0], minlength=len(distinct))
            self.keys = distinct[counts >= min_frequency]
            self.slots = _learn(self.keys)[0]

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The number of each key (int32), -1 for keys that have none."""
        if self.direct:
            return self.slots[keys]
        numbers = np.empty(len(keys), np.int32)
        find_keys(keys, _homes(keys, len(self.slots)), self.slots, self.keys, numbers)
        return numbers


def _homes(keys: np.ndarray, size: int) -> np.ndarray:
    """Where in a table of `size` slots (a power of two) the search for each key starts."""
    shift = np.uint64(65 - size.bit_length())
    return ((keys.view(np.uint64) * _MULTIPLIER) >> shift).astype(np.int64)


def _learn(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hash table, distinct keys in order of appearance, and the number of each key."""
    slots = np.full(1 << (2 * len(keys) + 1).bit_length(), -1, np.int32)
    distinct = np.empty(len(keys), np.int64)
    numbers = np.empty(len(keys), np.int32)
    n = insert_keys(keys, _homes(keys, len(slots)), slots, distinct, numbers)
    return slots, distinct[:n].copy(), numbers


@kernel
def insert_keys(keys, homes, slots, distinct, numbers):
    """Number the keys by first appearance, -1 for negative ones; returns how many numbers there are."""
    n = 0
    last = len(slots) - 1
    for t in range(len(keys)):
        key = keys[t]
        if key < 0:
            numbers[t] = -1
            continue
        slot = homes[t]
        while slots[slot] >= 0 and distinct[slots[slot]] != key:
            slot = (slot + 1) & last
        if slots[slot] < 0:
            slots[slot] = n
            distinct[n] = key
            n += 1
        numbers[t] = slots[slot]
    return n


@kernel
def find_keys(keys, homes, slots, distinct, numbers):
    """The number of each key, -1 where it is not among the distinct keys."""
    last = len(slots) - 1
    for t in range(len(keys)):
        key = keys[t]
        number = -1
        if key >= 0:
            slot = homes[t]
            number = slots[slot]
            while number >= 0 and distinct[number] != key:
                slot = (slot + 1) & last
                number = slots[slot]
        numbers[t] = number


@kernel
def fill_rows(numbers, first, indptr, columns):
    """Rows of a CSR matrix: column ``first[j] + numbers[j, t]`` in row t for every j with a number."""
    stop = 0
    for t in range(numbers.shape[1]):
        for j in range(numbers.shape[0]):
            if numbers[j, t] >= 0:
                columns[stop] = first[j] + numbers[j, t]
                stop += 1
        indptr[t + 1] = stop
