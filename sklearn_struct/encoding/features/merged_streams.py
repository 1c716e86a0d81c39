"""Vocabularies of streams of symbols in data that lie in parts: what a fit on all data learns.

A value's first occurrence, which may stand for what is out of vocabulary, is in the first part that
has the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.encoding.features.observation_streams import Column, refuse_missing
from sklearn_struct.encoding.features.stream_vocabularies import (
    OOV,
    coded,
    encode,
    first_occurrences,
)
from sklearn_struct.encoding.features.symbol_sequences import is_boolean
from sklearn_struct.exceptions import InputTypeError

__all__ = ["StreamPart", "encoded_stream", "merged_stream", "stream_part"]


class StreamPart(NamedTuple):
    """The values of a column of a part, in their order, and how many tokens have each."""

    values: list[Any]
    counts: np.ndarray


def stream_part(column: Column, used: np.ndarray, offsets: np.ndarray, c: int) -> StreamPart:
    """What a part says of its column c; tokens count where they are `used`.

    Raises
    ------
    NonFiniteError
        If a symbol is NaN.
    """
    refuse_missing(column, offsets, c)
    values, codes = coded(column)
    return StreamPart(values, np.bincount(codes[used], minlength=len(values)))


def merged_stream(
    parts: Sequence[StreamPart], oov: str | None
) -> tuple[dict[Any, int], list[set[Any]]]:
    """The vocabulary of all parts, and for each of these the values that it has first.

    Raises
    ------
    InputTypeError
        If booleans and equal numbers are among the values.
    """
    counts: dict[Any, int] = {}
    firsts: list[set[Any]] = []
    names: dict[Any, Any] = {}
    for part in parts:
        first = set()
        for value, count in zip(part.values, part.counts.tolist(), strict=True):
            _refuse_equal(names.setdefault(value, value), value)
            before = counts.get(value, 0)
            # a value that X itself writes so is none of the vocabulary
            new = 0 if oov is not None and value == OOV else count
            if before == 0 and new > 0:
                first.add(value)
            counts[value] = before + new
        firsts.append(first)
    least = 2 if oov == "first" else 1
    kept = [value for value, count in counts.items() if count >= least]
    with suppress(TypeError):  # several types stay in the order of their appearance
        kept.sort()
    return {value: code for code, value in enumerate(kept)}, firsts


def _refuse_equal(one: Any, other: Any) -> None:
    """Raise InputTypeError if only one of two equal values is a boolean: the first would say what
    both are.
    """
    if is_boolean(type(one)) != is_boolean(type(other)):
        raise InputTypeError(
            f"partitions have the symbols {one!r} and {other!r}, which are equal: write numbers, "
            "as by int(value), or booleans alone"
        )


def encoded_stream(
    column: Column,
    vocabulary: dict[Any, int],
    firsts: set[Any],
    used: np.ndarray,
    oov: str | None,
    offsets: np.ndarray,
    c: int,
) -> np.ndarray:
    """The codes of the tokens of a part that has some values first."""
    values, codes = coded(column)
    new = encode(column, vocabulary, "smoothing", offsets, c)
    # nobody reads the codes of other tokens; without OOV there is none for them
    new[~used] = 0 if oov is None else len(vocabulary)
    if oov == "first":
        is_first = np.array([value in firsts for value in values], dtype=bool)
        new[first_occurrences(np.where(used & is_first[codes], codes, -1))] = len(vocabulary)
    return new
