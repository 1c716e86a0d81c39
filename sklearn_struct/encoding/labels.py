"""Labels <-> integer codes, for one batch of label sequences."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from sklearn_struct.batch import cut, object_array
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

__all__ = ["decode", "encode", "flatten", "unique_labels"]

_NO_SEQUENCE = (str, bytes, dict, set, frozenset)


def flatten(y: Any, offsets: np.ndarray) -> list[Any]:
    """All labels of y, one after the other, after a check that y has the lengths of X."""
    if isinstance(y, _NO_SEQUENCE) or not hasattr(y, "__len__"):
        raise InputTypeError(f"y must be a list of label sequences, got {type(y).__name__}")
    if len(y) != len(offsets) - 1:
        raise LengthMismatchError(f"X has {len(offsets) - 1} sequences but y has {len(y)}")
    parts = []
    for i, (labels, n) in enumerate(zip(y, np.diff(offsets).tolist(), strict=True)):
        if isinstance(labels, _NO_SEQUENCE) or not hasattr(labels, "__len__"):
            raise InputTypeError(f"y[{i}] must be a sequence of labels, got {type(labels).__name__}")
        if len(labels) != n:
            raise LengthMismatchError(f"X[{i}] has {n} tokens but y[{i}] has {len(labels)} labels")
        parts.append(labels.tolist() if isinstance(labels, np.ndarray) else labels)
    return list(chain.from_iterable(parts))


def unique_labels(labels: list[Any], offsets: np.ndarray) -> np.ndarray:
    """The distinct labels, sorted: ``classes_``."""
    try:
        distinct = set(labels)
    except TypeError:
        for position, label in enumerate(labels):
            if getattr(label, "__hash__", None) is None:
                raise InputTypeError(f"{_place(position, offsets)}: {label!r} cannot be a label") from None
        raise
    if None in distinct:
        raise UnknownLabelError(f"{_place(labels.index(None), offsets)}: the label is missing (None)")
    for label in distinct:
        if label != label:
            position = next(p for p, other in enumerate(labels) if other != other)
            raise UnknownLabelError(f"{_place(position, offsets)}: the label is not a number (NaN)")
    try:
        ordered = sorted(distinct)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in distinct})
        raise InputTypeError(f"labels of the types {', '.join(kinds)} cannot be sorted together") from error
    classes = np.array(ordered) if not any(isinstance(label, tuple) for label in ordered) else object_array(ordered)
    return classes if classes.ndim == 1 else object_array(ordered)


def encode(labels: list[Any], classes: np.ndarray, offsets: np.ndarray, unseen: int | None = None) -> np.ndarray:
    """Codes (int32) of labels in `classes`; of others that could be among them `unseen`, if it is given."""
    codes = {label: k for k, label in enumerate(classes.tolist())}
    try:
        return np.fromiter(map(codes.__getitem__, labels), dtype=np.int32, count=len(labels))
    except (KeyError, TypeError):
        kinds = {type(label) for label in codes}
        for position, label in enumerate(labels):
            plain = label.item() if isinstance(label, np.generic) else label
            if unseen is not None and type(plain) in kinds and plain == plain:
                codes.setdefault(label, unseen)
            if getattr(label, "__hash__", None) is None or label not in codes:
                known = ", ".join(map(repr, list(codes)[:20])) + (", ..." if len(codes) > 20 else "")
                place = _place(position, offsets)
                raise UnknownLabelError(f"{place}: label {label!r} was not seen in fit (known: {known})") from None
        return np.fromiter(map(codes.__getitem__, labels), dtype=np.int32, count=len(labels))


def decode(codes: np.ndarray, classes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Object array with one Python list of labels a sequence."""
    return object_array(cut(object_array(classes.tolist())[codes].tolist(), offsets))


def _place(position: int, offsets: np.ndarray) -> str:
    i = int(np.searchsorted(offsets, position, side="right")) - 1
    return f"y[{i}], token {position - offsets[i]}"
