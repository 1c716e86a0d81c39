"""Labels <-> integer codes, for one batch of label sequences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import chain, count
from numbers import Number
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.typing import SequenceInput
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

__all__ = [
    "Numbered",
    "as_labels",
    "classes_and_codes",
    "decode",
    "encode",
    "flatten",
    "is_hashable",
    "is_itself",
    "numbered",
    "place",
    "unique_labels",
]

FEW = 200  # labels that are quicker taken one by one than by arrays


def flatten(y: SequenceInput, offsets: np.ndarray) -> list[Any]:
    """All labels of y, one after the other, after a check that y has the lengths of X."""
    if not is_list(y):
        raise InputTypeError(f"y must be a list of label sequences, got {type(y).__name__}")
    if len(y) != len(offsets) - 1:
        raise LengthMismatchError(f"X has {len(offsets) - 1} sequences but y has {len(y)}")
    lengths = np.diff(offsets).tolist()
    # plain lists are the rule, and looked at all at once
    if set(map(type, y)) <= {list, tuple} and list(map(len, y)) == lengths:
        return list(chain.from_iterable(y))
    parts = []
    for i, (labels, n) in enumerate(zip(y, lengths, strict=True)):
        if not is_list(labels):
            raise InputTypeError(
                f"y[{i}] must be a sequence of labels, got {type(labels).__name__}"
            )
        if len(labels) != n:
            raise LengthMismatchError(f"X[{i}] has {n} tokens but y[{i}] has {len(labels)} labels")
        parts.append(as_labels(labels) if isinstance(labels, np.ndarray) else labels)
    return list(chain.from_iterable(parts))


def as_labels(labels: np.ndarray) -> list[Any]:
    """The items of an array as Python objects, dates as numpy's."""
    # Python's dates end at microseconds
    return list(labels) if labels.dtype.kind in "mM" else labels.tolist()


class Numbered(NamedTuple):
    """The distinct labels, as they first occur, and which of them each label is (int32)."""

    distinct: list[Any]
    which: np.ndarray


def numbered(labels: list[Any]) -> Numbered | None:
    """The labels with numbers; None where some cannot be hashed."""
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    try:
        # one look at each of many labels: they are far apart in memory
        which = np.fromiter(map(numbers.__getitem__, labels), np.int32, len(labels))
    except TypeError:
        return None
    return Numbered(list(numbers), which)


def classes_and_codes(
    labels: list[Any], offsets: np.ndarray, several: Numbered | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """``classes_`` and codes (int32), of labels that may be `numbered` already."""
    several = several or numbered(labels)
    if several is None:
        position = next(p for p, label in enumerate(labels) if not is_hashable(label))
        hint = "; of a row of 0 and 1 take numpy.argmax" if is_list(labels[position]) else ""
        raise InputTypeError(
            f"{place(position, offsets)}: {labels[position]!r} cannot be a label{hint}"
        )
    classes = _sorted(several.distinct, labels, offsets)
    return classes, encode(several.distinct, classes, offsets)[several.which]


def unique_labels(labels: list[Any], offsets: np.ndarray) -> np.ndarray:
    """The distinct labels, sorted: ``classes_``."""
    classes, _ = classes_and_codes(labels, offsets)
    return classes


def _sorted(distinct: list[Any], labels: list[Any], offsets: np.ndarray) -> np.ndarray:
    """The distinct labels, sorted; all labels tell the place of those that are missing."""
    # by identity: labels may refuse to be compared with None
    if any(label is None for label in distinct):
        position = next(p for p, label in enumerate(labels) if label is None)
        raise UnknownLabelError(f"{place(position, offsets)}: the label is missing (None)")
    # nan and pandas' NA differ from themselves, or refuse to compare
    if not all(map(is_itself, distinct)):
        position = next(p for p, label in enumerate(labels) if not is_itself(label))
        what = (
            "not a number (NaN)"
            if isinstance(labels[position], Number)
            else f"missing ({labels[position]!r})"
        )
        raise UnknownLabelError(f"{place(position, offsets)}: the label is {what}")
    try:
        ordered = sorted(distinct)
    except (TypeError, ValueError) as error:
        kinds = sorted({type(label).__name__ for label in distinct})
        raise InputTypeError(
            f"labels of the types {', '.join(kinds)} cannot be sorted together"
        ) from error
    return _as_array(ordered)


def _as_array(labels: list[Any]) -> np.ndarray:
    """An array of the labels; of dtype object where another one would hold other labels."""
    # of tuples of one length numpy would make a table
    if any(isinstance(label, tuple) for label in labels):
        return object_array(labels)
    # numpy may change labels on the way: 1 and "a" both become strings
    array = np.array(labels)
    same = array.ndim == 1 and all(map(_is_same, array.tolist(), labels))
    return array if same else object_array(labels)


def _is_same(item: object, label: object) -> bool:
    """Whether the item that an array gives back is the label that went in.

    It may be a Python number where the label is numpy's, or a float where it is a whole number.
    """
    # `tolist` makes Python's dates of them, or whole numbers of those with nanoseconds
    if isinstance(label, np.datetime64 | np.timedelta64):
        return False
    kinds = type(item), type(label)
    return bool(item == label) and (
        # beside 0.5 numpy makes 1.0 of 1, which is equal and has the same hash
        kinds[0] is kinds[1] or isinstance(label, np.generic) or kinds == (float, int)
    )


def is_hashable(label: object) -> TypeGuard[Hashable]:
    """Whether a value can be a label; isinstance says so of tuples that hold lists, too."""
    try:
        hash(label)
    except TypeError:
        return False
    return True


def is_itself(label: object) -> bool:
    """Whether a value is equal to itself; NaN and other values for what is missing are not."""
    try:
        return bool(label == label)
    except (TypeError, ValueError):
        return False


def encode(
    labels: Sequence[Any], classes: np.ndarray, offsets: np.ndarray, unseen: int | None = None
) -> np.ndarray:
    """Codes (int32) of labels in `classes`.

    With `unseen`, that is the code of other labels, if they are of the same types as the classes.
    """
    codes = {label: k for k, label in enumerate(classes.tolist())}
    try:
        return np.fromiter(map(codes.__getitem__, labels), dtype=np.int32, count=len(labels))
    except (KeyError, TypeError):  # the slow way finds the place, and learns unseen labels
        kinds = {type(label) for label in codes}
        for position, label in enumerate(labels):
            plain = label.item() if isinstance(label, np.generic) else label
            hashable = is_hashable(label)
            # a label of another type was not unseen but mistaken, such as "1" for 1
            if unseen is not None and hashable and type(plain) in kinds and is_itself(plain):
                codes.setdefault(label, unseen)
            if not hashable or label not in codes:
                known = ", ".join(map(repr, list(codes)[:20])) + (
                    ", ..." if len(codes) > 20 else ""
                )
                where = place(position, offsets)
                raise UnknownLabelError(
                    f"{where}: label {label!r} was not seen in fit (known: {known})"
                ) from None
        return np.fromiter(map(codes.__getitem__, labels), dtype=np.int32, count=len(labels))


def decode(codes: np.ndarray, classes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Object array with one Python list of labels a sequence."""
    # Python's objects, as y had them, not the numbers and strings of numpy
    if len(codes) < FEW:
        labels = list(map(classes.tolist().__getitem__, codes.tolist()))
        return object_array(cut(labels, offsets))
    return object_array(cut(object_array(classes.tolist())[codes].tolist(), offsets))


def place(position: int, offsets: np.ndarray) -> str:
    """Where a token stands, in words."""
    i = int(np.searchsorted(offsets, position, side="right")) - 1
    return f"y[{i}], token {position - offsets[i]}"
