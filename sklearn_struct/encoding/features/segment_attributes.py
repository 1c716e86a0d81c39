"""Attributes of whole segments, from functions of (tokens, start, end), as sparse rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.exceptions import InputTypeError

__all__ = [
    "SegmentFunction",
    "Spans",
    "candidates",
    "encode",
    "functions_of",
    "places",
    "spans_of",
]

SegmentFunction: TypeAlias = Callable[[Sequence[Any], int, int], Any]
PLACE = re.compile(r"X\[(\d+)\], token (\d+)")


class Spans(NamedTuple):
    """Segments: ``offsets`` (n + 1,) bounds those of sequence i, which have the tokens of it from
    ``start`` to before ``stop``.
    """

    offsets: np.ndarray
    start: np.ndarray
    stop: np.ndarray

    def words(self, c: int) -> str:
        """A segment for errors, which say that its last token is the one before ``stop``."""
        start = int(self.start[c])
        stop = int(self.stop[c])
        return f"the segment ({start}, {stop}), tokens {start} up to but not including {stop}"


def functions_of(wanted: Any) -> tuple[SegmentFunction, ...]:
    """The functions that a parameter has: none, one, or a list of them."""
    functions = () if wanted is None else (wanted,) if callable(wanted) else tuple(wanted)
    for function in functions:
        if not callable(function):
            raise InputTypeError(
                "segment_features must be a function of (tokens, start, end), a Lexicon, or a list "
                f"of these; got {function!r}"
            )
    return functions


def spans_of(begins: np.ndarray, offsets: np.ndarray) -> Spans:
    """Segments that begin at some tokens, and go on to the next ones or the end."""
    start = np.flatnonzero(begins)
    stop = np.append(start, len(begins))[1:]
    bounds = np.concatenate([[0], np.cumsum(begins)])[offsets]
    first = np.repeat(offsets[:-1], np.diff(bounds))
    return Spans(bounds, start - first, stop - first)


def candidates(offsets: np.ndarray, n_lengths: int) -> Spans:
    """All segments of at most `n_lengths` tokens, in the order of their last tokens, and then of
    their lengths.
    """
    stop, bounds = _by_last_token(offsets, n_lengths)
    counts = np.diff(bounds)
    shorter = np.arange(bounds[-1]) - np.repeat(bounds[:-1], counts)
    stop = np.repeat(stop, counts)
    return Spans(bounds[offsets], stop - 1 - shorter, stop)


def places(spans: Spans, offsets: np.ndarray, n_lengths: int) -> np.ndarray:
    """Where segments stand among `candidates`."""
    _, bounds = _by_last_token(offsets, n_lengths)
    last = np.repeat(offsets[:-1], np.diff(spans.offsets)) + spans.stop - 1
    where: np.ndarray = bounds[last] + spans.stop - spans.start - 1
    return where


def _by_last_token(offsets: np.ndarray, n_lengths: int) -> tuple[np.ndarray, np.ndarray]:
    """Where segments stop that end with each token, and bounds (n + 1,) of these segments."""
    stop = np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], np.diff(offsets))
    return stop, np.concatenate([[0], np.cumsum(np.minimum(stop, n_lengths))])


def encode(
    vectorizer: SequenceVectorizer,
    functions: tuple[SegmentFunction, ...],
    X: Sequence[Any],
    spans: Spans,
    learn: bool,
) -> sp.csr_array:
    """The attributes that functions give to segments, a row for each; with `learn`, the vectorizer
    learns which there are. Of several functions values are added up.
    """
    read = vectorizer.fit_transform if learn else vectorizer.transform
    try:
        rows = read(_results(functions, X, spans)).tokens
    except (TypeError, ValueError) as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (_with_place(error.args[0], functions, spans), *error.args[1:])
        raise
    # the results of all functions for a segment stand one after the other
    n = len(functions)
    merged = sp.csr_array(
        (rows.data, rows.indices, rows.indptr[::n]), shape=(rows.shape[0] // n, rows.shape[1])
    )
    merged.sum_duplicates()
    return merged


def _results(
    functions: tuple[SegmentFunction, ...], X: Sequence[Any], spans: Spans
) -> Iterator[list[Any]]:
    """For each sequence what functions give to its segments."""
    for i in range(len(spans.offsets) - 1):
        here = slice(*spans.offsets[i : i + 2])
        tokens = X[i]
        yield [
            _as_dict(function(tokens, start, stop))
            for start, stop in zip(spans.start[here].tolist(), spans.stop[here].tolist())
            for function in functions
        ]


def _as_dict(attributes: Any) -> Any:
    """Attributes as a dict, since dicts alone are read quickly; what is no attributes stays."""
    if attributes is None:
        return {}
    if isinstance(attributes, str):
        return {attributes: 1.0}
    if not isinstance(attributes, list | tuple | set | frozenset):
        return attributes
    if not all(isinstance(name, str) for name in attributes):
        return attributes
    # sets have no order that is the same in each process
    is_set = isinstance(attributes, set | frozenset)
    return dict(Counter(sorted(attributes) if is_set else attributes))


def _with_place(text: str, functions: tuple[SegmentFunction, ...], spans: Spans) -> str:
    """An error of the vectorizer, in words of segments."""
    match = PLACE.match(text)
    if match is None:
        return text
    i = int(match[1])
    place = int(match[2])
    c = int(spans.offsets[i]) + place // len(functions)
    function = functions[place % len(functions)]
    name = getattr(function, "__name__", type(function).__name__)
    rest = text[match.end() :].replace("a token is", "attributes are")
    return f"X[{i}], {spans.words(c)}: segment_features, {name}{rest}"
