"""Spans (chunks, named entities, fields) in a sequence of labels such as ``B-NP I-NP O``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sklearn_struct._warning import warn
from sklearn_struct.containers.data_frames import is_frame
from sklearn_struct.containers.typing import Sequences
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

__all__ = ["check_scheme", "extract_spans", "paired", "spans_at", "warn_of_plain"]

Span = tuple[str, int, int]
Tag = tuple[str, str]  # (letter, type)

_SCHEMES = {"IO": "IO", "IOB1": "BIO", "IOB2": "BIO", "IOBES": "BIOES"}
# BILOU has L for E and U for S
_LETTERS = {"B": "B", "I": "I", "O": "O", "E": "E", "L": "E", "S": "S", "U": "S"}


def extract_spans(labels: Sequence[str], scheme: str | None = None) -> list[Span]:
    """Find the spans that a sequence of labels marks.

    A label is a letter, a hyphen and a type (``B-NP``), or ``O`` outside of spans. The type starts
    after the first hyphen and may be missing.

    Read more in :doc:`/user_guide/scores`.

    Parameters
    ----------
    labels : sequence of str
        The labels of one sequence.
    scheme : {"IO", "IOB1", "IOB2", "IOBES"}, default=None
        None reads any labels in the lenient way of conlleval. Each token that is not O is in a
        span. A new span starts after O, where the type changes, at ``B`` or ``S``, and after ``E``
        or ``S``. The BILOU letters L and U are read as E and S. Other letters with a type (the M of
        BMES) continue a span. Labels without a letter and a hyphen (``NOUN``) are outside of spans,
        with a warning.

        "IO" is for labels that are types, with or without ``I-`` before them. Each run of the same
        label is a span, so two neighbouring spans of one type are read as one.

        The other schemes are strict: spans that are not well formed are left out, and a letter of
        another scheme is an error. In IOB1, unlike in seqeval, a ``B`` that does not follow a span
        of its type is not well formed.

    Returns
    -------
    spans : list of tuple (type, start, stop)
        Each span covers ``labels[start:stop]``. Spans are sorted by `start`.

    Raises
    ------
    ValueError
        If `scheme` is unknown, or a label has a letter that is not in it.
    InputTypeError
        If `labels` is not a sequence, or a label is not a string.

    Warns
    -----
    UserWarning
        If there is no `scheme` and labels do not begin with a letter and a hyphen.

    See Also
    --------
    span_f1_score : Compares the spans of true and predicted labels.

    Examples
    --------
    >>> from sklearn_struct.metrics import extract_spans
    >>> extract_spans(["B-NP", "I-NP", "O", "I-VP"])
    [('NP', 0, 2), ('VP', 3, 4)]
    >>> extract_spans(["B-NP", "I-NP", "O", "I-VP"], scheme="IOB2")
    [('NP', 0, 2)]
    >>> extract_spans(["RENT", "RENT", "O", "SIZE"], scheme="IO")
    [('RENT', 0, 2), ('SIZE', 3, 4)]
    """
    check_scheme(scheme)
    checked = _label_list(labels, "labels")
    spans = spans_at("labels", checked, scheme)
    warn_of_plain(checked, scheme)
    return spans


def check_scheme(scheme: str | None) -> None:
    """Raise ValueError unless `scheme` is None or a known scheme."""
    if scheme is not None and (not isinstance(scheme, str) or scheme not in _SCHEMES):
        raise ValueError(
            f"scheme must be None or one of {', '.join(map(repr, _SCHEMES))}, got {scheme!r}"
        )


def warn_of_plain(labels: Iterable[str], scheme: str | None) -> None:
    """Warn if the lenient reading gets labels without a letter, which mark no spans."""
    plain = (
        sorted({label for label in set(labels) if not _has_letter(label)}) if scheme is None else []
    )
    if plain:
        shown = ", ".join(map(repr, plain[:5])) + (", ..." if len(plain) > 5 else "")
        warn(
            f"labels of spans begin with a letter and a hyphen, as B-NP; {shown} do not, and are "
            "read as outside of spans, or by what follows a hyphen. scheme='IO' reads each run of "
            "the same label as a span"
        )


def _has_letter(label: str) -> bool:
    letter, hyphen, _ = label.partition("-")
    return len(letter) == 1 and (bool(hyphen) or letter in _LETTERS)


def _label_list(sequence: object, place: str) -> list[Any]:
    """The labels of one sequence as a list; `place` names the sequence in errors."""
    if isinstance(sequence, np.ndarray) and sequence.ndim == 1:
        return list(sequence.tolist())
    unordered = (str, bytes, dict, set, frozenset, np.ndarray)
    if not isinstance(sequence, Iterable) or isinstance(sequence, unordered) or is_frame(sequence):
        raise InputTypeError(
            f"{place} is a {type(sequence).__name__}, expected a sequence of labels"
        )
    return list(sequence)


def paired(y_true: Sequences, y_pred: Sequences) -> list[tuple[list[Any], list[Any]]]:
    """Both sides as lists of label lists of the same lengths."""
    both = []
    for name, y in (("y_true", y_true), ("y_pred", y_pred)):
        sequences = list(y) if isinstance(y, np.ndarray) and y.ndim > 1 else _label_list(y, name)
        both.append([_label_list(sequence, f"{name}[{i}]") for i, sequence in enumerate(sequences)])
    if len(both[0]) != len(both[1]):
        raise LengthMismatchError(
            f"y_true has {len(both[0])} sequences but y_pred has {len(both[1])}"
        )
    pairs = list(zip(*both))
    for i, (true, pred) in enumerate(pairs):
        if len(true) != len(pred):
            raise LengthMismatchError(
                f"y_true[{i}] has {len(true)} labels but y_pred[{i}] has {len(pred)}"
            )
    return pairs


def spans_at(place: str, labels: list[Any], scheme: str | None) -> list[Span]:
    """`extract_spans` for checked arguments; `place` names the sequence in errors."""
    tags = []
    for t, label in enumerate(labels):
        if not isinstance(label, str):
            kind = type(label).__name__
            raise InputTypeError(
                f"{place}, token {t}: label {label!r} is a {kind}, but labels of spans are strings"
            )
        tag = _tag(label, scheme)
        if tag is None:
            hint = "" if _has_letter(label) else "; labels without letters are of the scheme 'IO'"
            raise UnknownLabelError(
                f"{place}, token {t}: label {label!r} has none of the letters of {scheme}{hint}"
            )
        tags.append(tag)
    spans = _lenient_spans(tags)
    return (
        spans
        if scheme in (None, "IO")
        else [span for span in spans if _is_well_formed(span, tags, scheme)]
    )


# labels are few, and tokens many
@lru_cache(maxsize=10_000)
def _tag(label: str, scheme: str | None) -> Tag | None:
    """Letter and type of a label, or None if the scheme does not have the letter."""
    # at the first hyphen, as types may have hyphens of their own
    letter, hyphen, kind = label.partition("-")
    if scheme == "IO":
        if label == "O" or not hyphen or letter not in _LETTERS:
            return ("O" if label == "O" else "I"), label
        return ("I", kind) if letter == "I" else None
    if scheme is not None:
        return (letter, kind) if letter in tuple(_SCHEMES[scheme]) else None
    # as the evaluation script of CoNLL reads labels of other letters
    return _LETTERS.get(letter, "I" if kind else "O"), kind


def _lenient_spans(tags: list[Tag]) -> list[Span]:
    """The spans by conlleval's reading: each token that is not O is in exactly one span."""
    spans: list[Span] = []
    start = -1
    kind = ""
    before = "O"
    for t, (letter, kind_here) in enumerate(tags):
        # the rules of conlleval, which also ends a span where the type changes
        if start >= 0 and (letter in "OBS" or before in "ES" or kind_here != kind):
            spans.append((kind, start, t))
            start = -1
        if start < 0 and letter != "O":
            start = t
            kind = kind_here
        before = letter
    if start >= 0:
        spans.append((kind, start, len(tags)))
    return spans


def _is_well_formed(span: Span, tags: list[Tag], scheme: str) -> bool:
    """Whether the lenient span is written as the scheme would write it."""
    kind, start, stop = span
    first = tags[start][0]
    if scheme == "IOB2":
        return first == "B"
    if scheme == "IOB1":  # B parts a span from one of the same type right before it, no more
        return first == "I" or (
            start > 0 and tags[start - 1][0] != "O" and tags[start - 1][1] == kind
        )
    return first == "S" or (first == "B" and tags[stop - 1][0] == "E")
