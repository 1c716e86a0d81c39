"""Read tokens (dicts, strings, lists or sets of strings) as columns and values, a few sequences at a time.

A chunk of sequences is read by one of the quick readers, whose loops run inside the interpreter. Whatever they do
not expect (nested values, several kinds of tokens, mistakes) sends the chunk to the careful reader, which knows
every rule and says where a mistake is. Both give the same columns and values.
"""

from __future__ import annotations

import math
import numbers
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, compress, islice, repeat
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import murmurhash3_32

from sklearn_struct.exceptions import InputTypeError, NonFiniteError

__all__ = ["Attributes", "Growing", "Hashed", "Known", "chunks", "read"]

_CHUNK = 50
_NUMBERS = (bool, int, float)
_NUMPY_NUMBERS = (np.floating, np.integer, np.bool_)
_NESTING = "X is a list of sequences and a sequence a list of tokens: [['a', 'b']] is one sequence of two tokens"


class Attributes(NamedTuple):
    """Attribute occurrences in reading order: a column (-1 = unknown) and a value each; `counts` per token."""

    columns: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray


class _Unexpected(Exception):  # noqa: N818 - a signal between the two readers, not an error
    """The quick reader met something that the careful reader must look at."""


class Growing:
    """Columns of names: a new name gets the next column."""

    def __init__(self) -> None:
        self.names: defaultdict[str, int] = defaultdict()
        self.names.default_factory = self.names.__len__
        self.one = self.names.__getitem__

    def many(self, groups: Iterable[Iterable[str]], n: int) -> np.ndarray:
        """The columns of the n names in `groups`, one group after the other."""
        names, before = self.names, len(self.names)
        try:
            found = np.fromiter(map(names.__getitem__, chain.from_iterable(groups)), np.int32, n)
            _require_strings(islice(reversed(names), len(names) - before))
        except (TypeError, _Unexpected):
            while len(names) > before:
                names.popitem()
            raise
        return found


class Known:
    """Columns of names in a vocabulary, -1 for all others."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self.get = vocabulary.get

    def one(self, name: str) -> int:
        return self.get(name, -1)

    def many(self, groups: Iterable[Iterable[str]], n: int) -> np.ndarray:
        """The columns of the n names in `groups`, one group after the other."""
        found = np.fromiter(map(self.get, chain.from_iterable(groups), repeat(-1)), np.int32, n)
        unknown = found < 0
        if unknown.any():
            _require_strings(compress(chain.from_iterable(groups), unknown.tolist()))
        return found


class Hashed(dict):
    """Columns of names by a hash that is the same in every process; remembers those it has seen."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def __missing__(self, name: str) -> int:
        if type(name) is not str:
            raise _Unexpected
        code = murmurhash3_32(name.encode("utf-8", "surrogatepass"), positive=True)
        self[name] = column = int(code) % self.n_features
        return column

    def one(self, name: str) -> int:
        return self[name]

    def many(self, groups: Iterable[Iterable[str]], n: int) -> np.ndarray:
        """The columns of the n names in `groups`, one group after the other."""
        return np.fromiter(map(self.__getitem__, chain.from_iterable(groups)), np.int32, n)


Columns = Growing | Known | Hashed


def _require_strings(names: Iterable[Any]) -> None:
    """Only names that are not in the table yet need this: what equals a string there is one, too."""
    if not set(map(type, names)) <= {str}:
        raise _Unexpected


def chunks(X: Any) -> Iterator[tuple[int, list[Any]]]:
    """The sequences of X in small lists, each with the number of its first sequence."""
    if isinstance(X, str | bytes | dict | set | frozenset) or not isinstance(X, Iterable):
        raise InputTypeError(f"X must be a list of sequences, got {type(X).__name__}")
    sequences, first = iter(X), 0
    while chunk := list(islice(sequences, _CHUNK)):
        yield first, chunk
        first += len(chunk)


def read(X: Any, columns: Columns, separator: str, dtype: Any) -> Attributes:
    """All attributes of all tokens of X.

    Raises
    ------
    InputTypeError
        If something cannot be read as a sequence, a token, a name or a value.
    NonFiniteError
        If a value is NaN or infinite, or becomes so in `dtype`.
    """
    keys = _Keys(columns, separator)
    parts: list[Attributes] = []
    for first, chunk in chunks(X):
        try:
            parts.append(_quick(chunk, columns, keys, dtype))
        except (_Unexpected, TypeError, OverflowError):
            parts.append(_careful(first, chunk, columns, separator, dtype))
    empty = Attributes(np.empty(0, np.int32), np.empty(0, dtype), np.empty(0, np.int64), np.empty(0, np.int64))
    found = Attributes(*map(np.concatenate, zip(*([empty, *parts]))))
    return found._replace(offsets=np.concatenate([[0], np.cumsum(found.offsets)]))


# The quick readers. `offsets` holds the lengths of sequences until `read` sums them up.


def _quick(chunk: list[Any], columns: Columns, keys: _Keys, dtype: Any) -> Attributes:
    if not set(map(type, chunk)) <= {list, tuple}:
        raise _Unexpected
    tokens = list(chain.from_iterable(chunk))
    kinds = set(map(type, tokens))
    if kinds == {str}:
        counts, groups = np.ones(len(tokens), np.int64), [tokens]
    elif kinds <= {list, tuple} or kinds == {dict}:
        counts, groups = _lengths(tokens), tokens
    elif kinds <= {set, frozenset}:
        counts, groups = _lengths(tokens), list(map(sorted, tokens))
    else:
        raise _Unexpected
    n = int(counts.sum())
    if kinds == {dict}:
        found, values = _from_dicts(tokens, n, columns, keys, dtype)
    else:
        found, values = columns.many(groups, n), np.ones(n, dtype)
    return Attributes(found, values, counts, _lengths(chunk))


def _lengths(items: list[Any]) -> np.ndarray:
    return np.fromiter(map(len, items), np.int64, len(items))


def _from_dicts(tokens: list[dict], n: int, columns: Columns, keys: _Keys, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    if all(map(_is_number, map(type, tokens[0].values()))):
        values = list(chain.from_iterable(map(dict.values, tokens)))
        if all(map(_is_number, set(map(type, values)))):
            return columns.many(tokens, n), _finite(values, dtype)
    keys.numbers.clear()
    groups = map(keys.__getitem__, chain.from_iterable(tokens))
    found = np.fromiter(map(getitem, groups, chain.from_iterable(map(dict.values, tokens))), np.int32, n)
    if not keys.numbers:
        return found, np.ones(n, dtype)
    values = [1.0 if type(value) is str else value for token in tokens for value in token.values()]
    return found, _finite(values, dtype)


def _is_number(kind: type) -> bool:
    return kind in _NUMBERS or issubclass(kind, _NUMPY_NUMBERS)


def _finite(values: list[Any], dtype: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        array = np.fromiter(values, np.float64, len(values)).astype(dtype)
    if not np.isfinite(array).all():
        raise _Unexpected
    return array


class _Keys(dict):
    """From a key of dict tokens to the columns of its values."""

    def __init__(self, columns: Columns, separator: str) -> None:
        self.column = columns.one
        self.separator = separator
        self.numbers: list[Any] = []  # those of the present chunk that are neither 0 nor 1

    def __missing__(self, key: str) -> _Values:
        if type(key) is not str:
            raise _Unexpected
        self[key] = values = _Values(self, key)
        return values


class _Values(dict):
    """From a value of one key to its column: of its own for a string, of the key for a number, none for zero."""

    __slots__ = ("column", "key", "numbers", "prefix")

    def __init__(self, keys: _Keys, key: str) -> None:
        self.key, self.prefix = key, key + keys.separator
        self.column, self.numbers = keys.column, keys.numbers
        self[False] = -1

    def __missing__(self, value: Any) -> int:
        kind = type(value)
        if kind is str:
            self[value] = column = self.column(self.prefix + value)
            return column
        if not _is_number(kind):
            raise _Unexpected
        column = self.column(self.key)
        if value == 1:
            self[value] = column
        else:  # too many to remember
            self.numbers.append(value)
        return column


# The careful reader


def _careful(first: int, chunk: list[Any], columns: Columns, separator: str, dtype: Any) -> Attributes:
    found: list[int] = []
    values: list[float] = []
    counts: list[int] = []
    for i, sequence in enumerate(chunk, first):
        if not isinstance(sequence, list | tuple) and not _holds_objects(sequence):
            raise InputTypeError(f"X[{i}]: a sequence is a list of tokens, got {type(sequence).__name__}. {_NESTING}")
        for t, token in enumerate(sequence):
            before = len(found)
            for name, value in _attributes(token, separator, f"X[{i}], token {t}", dtype):
                found.append(columns.one(name) if value else -1)
                values.append(value)
            counts.append(len(found) - before)
    return Attributes(np.array(found, np.int32), np.array(values, dtype), np.array(counts, np.int64), _lengths(chunk))


def _holds_objects(sequence: Any) -> bool:
    return isinstance(sequence, np.ndarray) and sequence.ndim == 1 and sequence.dtype.kind in "OU"


def _attributes(token: Any, separator: str, place: str, dtype: Any) -> Iterator[tuple[str, float]]:
    """Names and values of one token."""
    if isinstance(token, str):
        yield _text(token, place), 1.0
    elif isinstance(token, dict):
        yield from _flatten(token, "", separator, place, dtype)
    elif isinstance(token, list | tuple | set | frozenset):
        for name in _texts(token, place):
            yield name, 1.0
    else:
        kind = type(token).__name__
        raise InputTypeError(f"{place}: a token is a dict, a string, or a list or set of strings; got {kind}")


def _flatten(token: dict, prefix: str, separator: str, place: str, dtype: Any) -> Iterator[tuple[str, float]]:
    for key, value in token.items():
        name = prefix + _text(key, place)
        here = f"{place}, feature {name!r}"
        if isinstance(value, str):
            yield name + separator + _text(value, here), 1.0
        elif isinstance(value, numbers.Number | np.bool_):
            yield name, _number(value, here, dtype)
        elif isinstance(value, dict):
            yield from _flatten(value, name + separator, separator, place, dtype)
        elif isinstance(value, list | tuple | set | frozenset):
            for text in _texts(value, here):
                yield name + separator + text, 1.0
        else:
            expected = "a value is a number, a string, a list or set of strings, or a dict of values"
            raise InputTypeError(f"{here}: {expected}; got {type(value).__name__}")


def _text(name: Any, place: str) -> str:
    if not isinstance(name, str):
        raise InputTypeError(f"{place}: names of features must be strings, got {name!r} ({type(name).__name__})")
    return str.__str__(name)  # a plain string, whatever a subclass makes of str()


def _texts(names: Iterable[Any], place: str) -> list[str]:
    """Strings of a list in its order; those of a set sorted, as their own order differs between processes."""
    texts = [_text(name, place) for name in names]
    return sorted(texts) if isinstance(names, set | frozenset) else texts


def _number(value: Any, place: str, dtype: Any) -> float:
    try:
        number = float(value)
    except TypeError:
        raise InputTypeError(f"{place}: a value must be a real number, got {value!r}") from None
    except OverflowError:
        number = math.inf
    with np.errstate(over="ignore"):
        rounded = float(dtype(number))
    if not math.isfinite(rounded):
        raise NonFiniteError(f"{place}: not finite ({number})")
    return rounded
