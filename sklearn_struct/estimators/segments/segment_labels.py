"""Tags and labelled spans to segments with labels, and back.

A segment is what the code k of its first token and K + k of the others says, of K labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.metrics.spans import spans_at

__all__ = ["Form", "Segments", "are_spans", "form_of", "read_spans", "read_tags", "write"]

OUTSIDE = "O"


class Form(NamedTuple):
    """How y says what its segments are: by the tags of a `scheme`, or by ``spans``.

    Of the label `outside` each token is a segment, as all are if segments are ``single`` tokens.
    """

    scheme: str
    outside: Any = OUTSIDE
    spans: bool = False
    single: bool = False


class Segments(NamedTuple):
    """The label of each token, and whether a segment begins there (n,)."""

    labels: list[Any]
    begins: np.ndarray

    def lengths(self) -> np.ndarray:
        """How many tokens each segment has."""
        starts = np.append(np.flatnonzero(self.begins), len(self.begins))
        return np.diff(starts)


def are_spans(y: Any, offsets: np.ndarray) -> bool:
    """Whether y has lists of (start, stop, label), no tags."""
    if not is_list(y) or len(y) != len(offsets) - 1 or not all(map(is_list, y)):
        return False
    given = [spans for spans in y if len(spans)]
    if not given:
        return bool(offsets[-1] > 0)
    first = given[0][0]
    is_triple = isinstance(first, tuple | list) and len(first) == 3
    return is_triple and all(_is_place(place) for place in first[:2])


def _is_place(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def form_of(tags: Sequence[Any], scheme: str | None, outside: Any) -> Form:
    """The form of these tags; where no scheme is given it is seen from their letters."""
    if scheme is not None:
        return Form(scheme, outside if scheme == "IO" else OUTSIDE)
    distinct = set(tags) - {OUTSIDE}
    letters = {tag[0] if isinstance(tag, str) and tag[1:2] == "-" else "" for tag in distinct}
    if not letters or not letters <= set("BIESLU"):
        return Form("IO", outside)
    if letters <= set("BI"):
        # who begins a span after a token outside says which of the two schemes it is
        pairs = zip([OUTSIDE, *tags], tags)
        first = [tag[0] for before, tag in pairs if before == OUTSIDE and tag != OUTSIDE]
        return Form("IOB1" if 2 * first.count("I") > len(first) else "IOB2")
    return Form("IOBES")


def read_tags(tags: list[Any], offsets: np.ndarray, form: Form) -> Segments:
    """The segments that tags mark. Tags with letters are read in the lenient way of conlleval."""
    first = np.zeros(len(tags) + 1, bool)
    first[offsets[:-1]] = True
    first = first[:-1]
    if form.single:
        return Segments(tags, np.ones(len(tags), bool))
    if form.scheme == "IO":
        differs = [a != b or b == form.outside for a, b in zip([None, *tags], tags)]
        return Segments(tags, first | np.array(differs, bool))
    labels: list[Any] = [OUTSIDE] * len(tags)
    begins = np.ones(len(tags), bool)
    for i, of_sequence in enumerate(cut(tags, offsets)):
        for label, start, stop in spans_at(f"y[{i}]", of_sequence, None):
            t = int(offsets[i]) + start
            labels[t : t + stop - start] = [label] * (stop - start)
            begins[t + 1 : t + stop - start] = False
    return Segments(labels, begins)


def read_spans(y: Any, offsets: np.ndarray, outside: Any) -> Segments:
    """The segments of lists of (start, stop, label); other tokens are `outside`."""
    if len(y) != len(offsets) - 1:
        raise LengthMismatchError(f"X has {len(offsets) - 1} sequences but y has {len(y)}")
    n = int(offsets[-1])
    labels: list[Any] = [outside] * n
    begins = np.ones(n, bool)
    for i, spans in enumerate(y):
        taken = 0
        n_tokens = int(offsets[i + 1] - offsets[i])
        for span in sorted((_span(i, span) for span in spans), key=lambda span: span[0]):
            start, stop, label = span
            if not 0 <= start < stop <= n_tokens:
                raise ValueError(
                    f"y[{i}]: the span {span!r} is not within X[{i}], which has {n_tokens} tokens; "
                    "(start, stop, label) has the tokens from start up to but not including stop"
                )
            if start < taken:
                raise ValueError(
                    f"y[{i}]: the span {span!r} overlaps the one before it, which has the tokens "
                    f"up to but not including {taken}"
                )
            taken = stop
            t = int(offsets[i]) + start
            labels[t : t + stop - start] = [label] * (stop - start)
            begins[t + 1 : t + stop - start] = False
    return Segments(labels, begins)


def _span(i: int, span: Any) -> tuple[int, int, Any]:
    is_triple = isinstance(span, tuple | list) and len(span) == 3
    if not is_triple or not all(_is_place(place) for place in span[:2]):
        raise InputTypeError(f"y[{i}]: {span!r} is no span (start, stop, label)")
    return int(span[0]), int(span[1]), span[2]


def write(codes: np.ndarray, offsets: np.ndarray, classes: np.ndarray, form: Form) -> np.ndarray:
    """Codes in a form: for each sequence a list of tags, or of (start, stop, label)."""
    K = len(classes)
    labels = classes.tolist()
    if form.spans:
        return _spans(codes, offsets, labels, form.outside)
    if form.single or form.scheme == "IO":
        return label_codes.decode(codes % K, classes, offsets)
    return object_array(cut(_tags(codes, offsets, labels, form.scheme), offsets))


def _spans(codes: np.ndarray, offsets: np.ndarray, labels: list[Any], outside: Any) -> np.ndarray:
    """Lists of (start, stop, label), without those outside."""
    starts = np.flatnonzero(codes < len(labels))
    stops = np.append(starts, len(codes))[1:]
    lists: list[list[tuple[int, int, Any]]] = [[] for _ in range(len(offsets) - 1)]
    sequence = np.searchsorted(offsets, starts, side="right") - 1
    for i, start, stop in zip(sequence.tolist(), starts.tolist(), stops.tolist(), strict=True):
        label = labels[codes[start]]
        if label != outside:
            lists[i].append((start - int(offsets[i]), stop - int(offsets[i]), label))
    return object_array(lists)


def _tags(codes: np.ndarray, offsets: np.ndarray, labels: list[Any], scheme: str) -> list[str]:
    """Tags with letters of all tokens."""
    K = len(labels)
    is_first = np.append(codes < K, True)
    is_first[offsets] = True
    before = np.append(-1, codes[:-1] % K)
    before[offsets[:-1][offsets[:-1] < len(codes)]] = -1
    tags = []
    for t, k in enumerate((codes % K).tolist()):
        letter = "B" if is_first[t] else "I"
        if scheme == "IOB1" and before[t] != k:
            letter = "I"
        if scheme == "IOBES" and is_first[t + 1]:
            letter = "S" if letter == "B" else "E"
        tags.append(OUTSIDE if labels[k] == OUTSIDE else f"{letter}-{labels[k]}")
    return tags
