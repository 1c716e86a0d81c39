"""Read tokens (dicts, strings, lists or sets of strings) as columns and values.

A few sequences, a chunk, are read at a time. The quick reader's loops run inside the interpreter or
are compiled. Whatever it does not expect (nested values, several kinds of tokens, mistakes) sends
the chunk to the careful reader, which knows every rule and says where a mistake is. Both give the
same columns and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.ragged import bounds
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features.dict_texts import key_texts, value_texts
from sklearn_struct.encoding.features.embeddings import (
    Embedding,
    check_length,
    gathered,
    is_embedding,
)
from sklearn_struct.encoding.features.string_numbers import as_words, join_pairs
from sklearn_struct.encoding.features.token_attributes import FloatType, attributes_of
from sklearn_struct.encoding.sequences import has_items, refuse_frame
from sklearn_struct.exceptions import InputTypeError

__all__ = ["Attributes", "chunks", "read"]

_CHUNK = 25  # so few that their temporary objects seldom start the garbage collector
_WAITING = 1 << 22  # bytes of names that wait to be numbered
_ONE = {dtype: dtype(1).tobytes() for dtype in (np.float32, np.float64)}
_VECTORS = {np.ndarray, list, tuple}
_NUMBERS = (bool, int, float)
_NUMPY_NUMBERS = (np.floating, np.integer, np.bool_)
_NESTING = (
    "X is a list of sequences and a sequence a list of tokens: [['a', 'b']] is one sequence of two "
    "tokens"
)

Numberer: TypeAlias = Callable[[np.ndarray, int], np.ndarray]  # words, how many -> columns


class Attributes(NamedTuple):
    """The attributes of all tokens in reading order, each with a column (-1: none) and a value.

    `counts` says how many a token has. `kind` says how tokens are written: "strings", "lists" (of
    strings), "others", "mixed", or "none" if there are none. `embeddings` are no attributes, though
    each may count as one without a column.
    """

    columns: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray
    kind: str = "none"
    embeddings: Sequence[Embedding] = ()


class _Manner(NamedTuple):
    """How to read: the columns of names (`Names.learn` or `Names.find`), three parameters, and how
    long the embeddings of each name are, as far as it is known.
    """

    number: Numberer
    separator: str
    dtype: FloatType
    keep_zeros: bool
    lengths: dict[str, int]


class _Unnumbered(NamedTuple):
    """The attributes of a chunk before they have columns: the words of the names of those that are
    `stored` (None: all), and all else of `Attributes`.
    """

    names: np.ndarray
    stored: np.ndarray | None
    values: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray
    kind: str
    embeddings: Sequence[Embedding] = ()


class _Unexpected(Exception):  # noqa: N818 - a signal between the two readers, not an error
    """The quick reader met something that the careful reader must look at."""


def chunks(X: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    """The sequences of X in small lists, each with the number of its first sequence."""
    refuse_frame(X)
    if not has_items(X):
        raise InputTypeError(f"X must be a list of sequences, got {type(X).__name__}")
    if isinstance(X, SequenceArray) and sp.issparse(X.tokens):
        raise InputTypeError("X is a SequenceArray of sparse numbers, which are encoded already")
    sequences = iter(X)
    first = 0
    while chunk := list(islice(sequences, _CHUNK)):
        yield first, chunk
        first += len(chunk)


def read(
    X: Iterable[Any],
    number: Numberer,
    separator: str,
    dtype: FloatType,
    keep_zeros: bool = False,
    lengths: dict[str, int] | None = None,
) -> Attributes:
    """All attributes of all tokens of X. Zeros have no column, unless they are kept.

    The embeddings of a name have as many numbers as `lengths` says, or as the first one has, which
    is then written there.

    Raises
    ------
    InputTypeError
        If something cannot be read as a sequence, a token, a name or a value.
    NonFiniteError
        If a value is NaN or infinite, or becomes so in `dtype`.
    LengthMismatchError
        If two embeddings of one name are not of the same length.
    """
    lengths = {} if lengths is None else lengths
    manner = _Manner(number, separator, dtype, bool(keep_zeros), lengths)
    parts: list[Attributes] = []
    waiting: list[_Unnumbered] = []
    for first, chunk in chunks(_as_dicts(X) if _is_table(X) else X):
        try:
            waiting.append(_quick(chunk, manner))
        except (_Unexpected, TypeError, ValueError, OverflowError):
            parts += _numbered(waiting, number)
            # the same chunk again: this reader is slow, but says where what is wrong
            parts.append(_careful(first, chunk, manner))
        # Tokens and the table of names are both larger than caches: by turns each would drive out
        # the other, so names of many chunks are numbered together.
        if sum(len(part.names) for part in waiting) > _WAITING:
            parts += _numbered(waiting, number)
    parts += _numbered(waiting, number)
    return _joined(parts or [_careful(0, [], manner)])


def _numbered(waiting: list[_Unnumbered], number: Numberer) -> list[Attributes]:
    """The attributes with their columns, in the order of the chunks; none wait any longer."""
    parts = []
    for names, stored, values, counts, lengths, kind, embeddings in waiting:
        if stored is None:
            columns = number(names, len(values))
        else:
            columns = np.full(len(values), -1, np.int32)
            columns[stored] = number(names, len(stored))
        parts.append(Attributes(columns, values, counts, lengths, kind, embeddings))
    waiting.clear()
    return parts


def _joined(parts: list[Attributes]) -> Attributes:
    """The attributes of all chunks; `offsets` are lengths before, and bounds afterwards."""
    if len(parts) == 1:  # nothing to copy, as of a single sentence
        return parts[0]._replace(offsets=bounds(parts[0].offsets))
    columns, counts, lengths = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("columns", "counts", "offsets")
    )
    number_of = [part.values for part in parts]
    if any(values.flags.writeable for values in number_of):
        values = np.concatenate(number_of)
    else:
        values = np.broadcast_to(number_of[0].dtype.type(1), len(columns))
    kind = _together({part.kind for part in parts})
    return Attributes(columns, values, counts, bounds(lengths), kind, _numbered_through(parts))


def _numbered_through(parts: list[Attributes]) -> list[Embedding]:
    """The embeddings of all chunks, whose tokens are numbered from the first chunk on."""
    embeddings = []
    n = 0
    for part in parts:
        embeddings += [e._replace(tokens=e.tokens + n) for e in part.embeddings]
        n += len(part.counts)
    return embeddings


def _together(kinds: set[str]) -> str:
    """The kind of a batch whose chunks have these kinds."""
    kinds = kinds - {"none"}
    return "mixed" if len(kinds) > 1 else next(iter(kinds), "none")


def _is_table(X: object) -> TypeGuard[SequenceArray]:
    return isinstance(X, SequenceArray) and not sp.issparse(X.tokens)


def _as_dicts(X: SequenceArray) -> Iterator[list[dict[str, Any]]]:
    """The tokens of named columns as dicts."""
    if X.feature_names is None:
        raise InputTypeError(
            "tokens of a SequenceArray are read as attributes only if their columns have names"
        )
    names = X.feature_names.tolist()
    return ([dict(zip(names, token)) for token in sequence.tolist()] for sequence in X)


# The quick reader. `offsets` holds the lengths of sequences until `read` sums them up.


def _quick(chunk: list[Any], manner: _Manner) -> _Unnumbered:
    # exact types, as subclasses may iterate as they like
    if not set(map(type, chunk)) <= {list, tuple}:
        raise _Unexpected
    tokens = list(chain.from_iterable(chunk))
    kinds = set(map(type, tokens))
    if kinds == {dict}:
        return _from_dicts(tokens, _lengths(chunk), manner)
    if kinds == {str}:
        kind = "strings"
        counts = np.ones(len(tokens), np.int64)
        texts = tokens
    elif kinds <= {list, tuple}:
        kind = "lists"
        counts = _lengths(tokens)
        texts = list(chain.from_iterable(tokens))
    elif kinds <= {set, frozenset}:
        kind = "others"
        counts = _lengths(tokens)
        # sets have no order that is the same in each process
        texts = list(chain.from_iterable(map(sorted, tokens)))
    else:
        raise _Unexpected
    ones = _ones(len(texts), manner)
    kind = kind if tokens else "none"
    return _Unnumbered(as_words(texts), None, ones, counts, _lengths(chunk), kind)


def _lengths(items: list[Any]) -> np.ndarray:
    return np.fromiter(map(len, items), np.int64, len(items))


def _from_dicts(tokens: list[dict[str, Any]], lengths: np.ndarray, manner: _Manner) -> _Unnumbered:
    counts = _lengths(tokens)
    n = int(counts.sum())
    filled = list(filter(None, tokens))
    keys = key_texts(filled)
    texts, others = value_texts(filled)
    values = _ones(n, manner)  # of texts
    kinds = np.full(n, 2, np.uint8)  # of `join_pairs`: 0 for a zero, 1 for a number, 2 for a text
    stored = None
    embeddings: list[Embedding] = []
    if others:
        kinds[list(others)] = 0
        embeddings = _taken_vectors(others, tokens, counts, manner)
        at = list(others)
        given = _finite(list(others.values()), manner.dtype)
        kinds[at] = 1 if manner.keep_zeros else given != 0
        stored = None if kinds.all() else np.flatnonzero(kinds)
        if (given != 1).any():
            values = values.copy()
            values[at] = given
    names = join_pairs(as_words(keys, n), _word(manner.separator), as_words(texts, n), kinds)
    return _Unnumbered(names, stored, values, counts, lengths, "others", embeddings)


@lru_cache(maxsize=16)
def _word(text: str) -> np.ndarray:
    """The words of a single text, which nobody writes to."""
    return as_words([text])


def _looks_like_vector(value: object) -> bool:
    kind = type(value)
    return kind is np.ndarray or ((kind is list or kind is tuple) and is_embedding(value))


def _taken_vectors(
    others: dict[int, Any], tokens: list[dict[str, Any]], counts: np.ndarray, manner: _Manner
) -> list[Embedding]:
    """The embeddings among the values of tokens that are no texts, which are left without them."""
    if _VECTORS.isdisjoint(map(type, others.values())):
        return []
    at = [p for p, value in others.items() if _looks_like_vector(value)]
    keys = list(chain.from_iterable(tokens))
    # others have names that only the careful reader makes of them
    if set(map(type, keys)) != {str}:
        raise _Unexpected
    token_of = np.repeat(np.arange(len(tokens)), counts)[at].tolist()
    values = [(keys[p], t, others.pop(p)) for p, t in zip(at, token_of, strict=True)]
    embeddings = gathered(values, manner.lengths, manner.dtype)
    if embeddings is None:
        raise _Unexpected
    return embeddings


def _ones(n: int, manner: _Manner) -> np.ndarray:
    """Ones that take no memory until all chunks are put together."""
    # one number in memory: in text all values are 1
    # as np.broadcast_to does, which takes longer than to read a token
    return np.ndarray(n, manner.dtype, _ONE[manner.dtype], strides=(0,))


def _finite(values: list[Any], dtype: FloatType) -> np.ndarray:
    """The values as an array; _Unexpected if there is something else than finite numbers."""
    kinds = set(map(type, values))
    if kinds <= {bool}:
        return np.array(values, dtype)
    if not all(kind in _NUMBERS or issubclass(kind, _NUMPY_NUMBERS) for kind in kinds):
        raise _Unexpected
    with np.errstate(over="ignore"):
        # by float64, so that what overflows in float32 is inf, and noticed
        array = np.fromiter(values, np.float64, len(values)).astype(dtype)
    if not np.isfinite(array).all():
        raise _Unexpected
    return array


# The careful reader


def _careful(first: int, chunk: list[Any], manner: _Manner) -> Attributes:
    names: list[str] = []
    values: list[float] = []
    counts: list[int] = []
    embeddings: list[Embedding] = []
    for i, sequence in enumerate(chunk, first):
        if not isinstance(sequence, list | tuple) and not _holds_objects(sequence):
            raise InputTypeError(
                f"X[{i}]: a sequence is a list of tokens, got {type(sequence).__name__}. {_NESTING}"
            )
        for t, token in enumerate(sequence):
            before = len(values)
            place = f"X[{i}], token {t}"
            for name, value in attributes_of(token, manner.separator, place, manner.dtype):
                if isinstance(value, np.ndarray):
                    check_length(name, value, manner.lengths, f"{place}, feature {name!r}")
                    embeddings.append(Embedding(name, np.array([len(counts)]), value[None]))
                    continue
                values.append(value)
                if value or manner.keep_zeros:
                    names.append(name)
            counts.append(len(values) - before)
    array = np.array(values, manner.dtype)
    columns = np.full(len(values), -1, np.int32)
    columns[(array != 0) | manner.keep_zeros] = manner.number(as_words(names), len(names))
    kind = _together({_kind(token) for sequence in chunk for token in sequence})
    lengths = _lengths(chunk)
    return Attributes(columns, array, np.array(counts, np.int64), lengths, kind, embeddings)


def _kind(token: object) -> str:
    if isinstance(token, str):
        return "strings"
    return "lists" if isinstance(token, list | tuple) else "others"


def _holds_objects(sequence: object) -> bool:
    return isinstance(sequence, np.ndarray) and sequence.ndim == 1 and sequence.dtype.kind in "OU"
