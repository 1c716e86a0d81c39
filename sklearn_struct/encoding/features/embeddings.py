"""Embeddings in token dicts: vectors of floats as values, which become dense columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from sklearn_struct.encoding.features.string_numbers import Names, as_words
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError

__all__ = [
    "Embedding",
    "NamesWithNumbers",
    "check_length",
    "dense",
    "gathered",
    "is_embedding",
    "numbered",
    "read_vector",
    "refuse_whole_numbers",
    "with_numbers",
]

_FLOATS = (float, np.floating)


class Embedding(NamedTuple):
    """The vectors that some tokens have under one name: a row of `vectors` for each."""

    name: str
    tokens: np.ndarray
    vectors: np.ndarray


def is_embedding(value: object) -> bool:
    """Whether a value is meant as a vector: an array, or a list of numbers one of which is a float.

    Lists of strings are names. Lists of whole numbers alone could be either, so they are an error:
    see `refuse_whole_numbers`.
    """
    if isinstance(value, list | tuple):
        return any(isinstance(number, _FLOATS) for number in value)
    return hasattr(value, "__array__") and not isinstance(value, Real | np.generic)


def refuse_whole_numbers(value: object, place: str) -> None:
    """Raise InputTypeError for a list of whole numbers alone, such as [3, 17]: these may be the
    numbers of a vector, or names of what a token has.
    """
    if not isinstance(value, list | tuple) or not value:
        return
    if all(isinstance(number, Integral | np.bool_) for number in value):
        raise InputTypeError(
            f"{place}: a list of whole numbers may mean an embedding or names: write "
            "[float(i) for i in numbers] for an embedding, [str(i) for i in numbers] for names"
        )


def read_vector(value: Any, place: str, dtype: DTypeLike) -> np.ndarray:
    """One vector; `place` says where it stands.

    Raises
    ------
    InputTypeError
        If it is no one-dimensional array of floats.
    NonFiniteError
        If a number is NaN or infinite, or becomes so in `dtype`.
    """
    array = _as_array(value, place)
    if array.ndim != 1 or array.size == 0:
        raise InputTypeError(
            f"{place}: an embedding is a one-dimensional array of floats, got one of shape "
            f"{array.shape}"
        )
    with np.errstate(over="ignore"):
        vector: np.ndarray = array.astype(dtype)
    if not np.isfinite(vector).all():
        first = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise NonFiniteError(f"{place}, number {first}: not finite ({array[first]})")
    return vector


def _as_array(value: Any, place: str) -> np.ndarray:
    """An array of floats, whose shape is not checked."""
    if isinstance(value, list | tuple):
        for number in value:
            if not isinstance(number, Real | np.bool_):
                raise InputTypeError(
                    f"{place}: a list of numbers is an embedding, and has no {number!r} "
                    f"({type(number).__name__}) in it"
                )
    elif isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputTypeError(f"{place}: an embedding has no masked numbers; use zeros for them")
    try:
        array = np.asarray(value)
        if isinstance(value, list | tuple):
            array = array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputTypeError(f"{place}: cannot be read as an array of floats: {error}") from error
    if array.dtype.kind != "f":
        advice = "; array.astype(float) makes one of floats" if array.dtype.kind in "iubO" else ""
        raise InputTypeError(
            f"{place}: an embedding is an array of floats, got one of {array.dtype}{advice}"
        )
    return array


def gathered(
    values: list[tuple[str, int, Any]], lengths: dict[str, int], dtype: DTypeLike
) -> list[Embedding] | None:
    """The vectors of triples (name, token, value), by name; None if one of them is not as it should
    be, which `read_vector` or `check_length` tells.
    """
    by_name: dict[str, list[tuple[int, Any]]] = {}
    for name, token, value in values:
        by_name.setdefault(name, []).append((token, value))
    embeddings = []
    for name, pairs in by_name.items():
        vectors = [value for _, value in pairs]
        if not all(isinstance(v, list | tuple) or v.dtype.kind == "f" for v in vectors):
            return None
        try:
            block = np.array(vectors)
        except ValueError:
            return None
        if block.dtype.kind != "f" or block.ndim != 2 or block.shape[1] == 0:
            return None
        with np.errstate(over="ignore"):
            block = block.astype(dtype, copy=False)
        n = block.shape[1]
        if lengths.get(name, n) != n or not np.isfinite(block).all():
            return None
        embeddings.append(Embedding(name, np.array([token for token, _ in pairs]), block))
    for name, _, block in embeddings:
        lengths[name] = block.shape[1]
    return embeddings


def check_length(name: str, vector: np.ndarray, lengths: dict[str, int], place: str) -> None:
    """Learn how long the vectors of a name are, or raise LengthMismatchError for another length."""
    known = lengths.setdefault(name, len(vector))
    if known != len(vector):
        raise LengthMismatchError(
            f"{place}: an embedding of {len(vector)} numbers, but others of this name have {known}"
        )


def dense(
    embeddings: Iterable[Embedding], lengths: dict[str, int], n_tokens: int, dtype: DTypeLike
) -> np.ndarray:
    """The vectors of all tokens (n_tokens, n_numbers), zeros where there are none; those of names
    that have no length are left out.
    """
    ends = np.cumsum(list(lengths.values()))
    first = dict(zip(lengths, ends - list(lengths.values()), strict=True))
    table = np.zeros((n_tokens, int(ends[-1]) if len(ends) else 0), dtype)
    for name, tokens, vectors in embeddings:
        if name in lengths:
            columns = slice(first[name], first[name] + lengths[name])
            # a token is in each embedding once, but may have several of one name
            table[tokens, columns] += vectors
    return table


class NamesWithNumbers:
    """Names of attributes, then those of the numbers of embeddings: ``key:0``, ``key:1``, …

    Parameters
    ----------
    words : Names
        The attributes, which `find` knows.
    lengths : dict of str to int
        How many numbers each embedding has.
    separator : str
        Between the name and the number.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, words: Names, lengths: dict[str, int], separator: str) -> None:
        self.words = words
        self.lengths = lengths
        self.separator = separator
        self.find: Callable[[np.ndarray, int], np.ndarray] = words.find
        self._array: np.ndarray | None = None

    def __call__(self) -> np.ndarray:
        if self._array is None:
            self._array = np.concatenate([self.words(), numbered(self.lengths, self.separator)])
            self._array.flags.writeable = False  # all who ask share it
        return self._array

    def __len__(self) -> int:
        return len(self.words) + sum(self.lengths.values())

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, NamesWithNumbers)
            and (list(self.lengths.items()), self.separator)
            == (list(other.lengths.items()), other.separator)
            and self.words == other.words
        )


def with_numbers(words: Names, lengths: dict[str, int], separator: str) -> NamesWithNumbers:
    """Names of attributes and of the numbers of embeddings; ValueError if one is of both kinds."""
    numbers = numbered(lengths, separator)
    known = words.find(as_words(numbers.tolist()), len(numbers)) >= 0
    if np.any(known):
        raise ValueError(
            f"{numbers[np.argmax(known)]!r} is the name of an attribute and of a number of an "
            "embedding: rename one of their keys"
        )
    return NamesWithNumbers(words, lengths, separator)


def numbered(lengths: dict[str, int], separator: str) -> np.ndarray:
    """The names of all numbers of embeddings."""
    spelt = [f"{name}{separator}{j}" for name, n in lengths.items() for j in range(n)]
    return np.array(spelt, dtype=object)
