"""Labels that are known in part: None for a token, a sequence or all; a set of possible labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from sklearn_struct.containers.typing import Label, SequenceInput
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, UnknownLabelError

__all__ = ["encode", "flatten", "gather", "is_partial", "known_labels", "masks", "options"]


# A label, None, or a set of labels.
Entry: TypeAlias = Label | set[Label] | frozenset[Label]


def flatten(y: SequenceInput | None, offsets: np.ndarray) -> list[Any]:
    """All labels of y, None where there is none, after a check that y has the lengths of X, and
    that no set is empty or has None.
    """
    labels = gather(y, offsets)
    for position, entry in enumerate(labels if is_partial(labels) else ()):
        if _is_set(type(entry)) and (not entry or None in entry):
            what = "has None" if entry else "is empty"
            raise UnknownLabelError(
                f"{label_codes.place(position, offsets)}: the set of labels {what}"
            )
    return labels


def gather(y: SequenceInput | None, offsets: np.ndarray) -> list[Any]:
    """The same, without a look at the labels."""
    lengths = np.diff(offsets).tolist()
    if y is None:
        return [None] * sum(lengths)
    if is_list(y) and len(y) == len(lengths):
        y = [[None] * n if labels is None else labels for labels, n in zip(y, lengths)]
    return label_codes.flatten(y, offsets)


def is_partial(labels: list[Any]) -> bool:
    """Whether there is a None or a set."""
    # the few types of many labels are looked at once
    return any(kind is type(None) or _is_set(kind) for kind in set(map(type, labels)))


def _is_set(kind: type) -> bool:
    return issubclass(kind, set | frozenset)


def _layers(labels: list[Any], spare: Label) -> Iterator[list[Any]]:
    """Lists with one label of each token, so many that each label of each set is in one.

    A token without a label has `spare`.
    """
    chosen = [
        list(entry) if _is_set(type(entry)) else [spare if entry is None else entry]
        for entry in labels
    ]
    for r in range(max(map(len, chosen), default=0)):
        # short sets begin again, so that each layer has a label for each token
        yield [entry[r % len(entry)] for entry in chosen]


def known_labels(labels: list[Any], offsets: np.ndarray) -> np.ndarray:
    """The distinct labels, sorted, with those in sets; there must be one."""
    # any label that occurs: in the place of missing ones it adds none to the classes
    spare = next((label for entry in labels if entry is not None for label in options(entry)), None)
    if spare is None:
        raise EmptyDataError("y has no labels")
    distinct = [label_codes.unique_labels(layer, offsets) for layer in _layers(labels, spare)]
    if len(distinct) == 1:
        return distinct[0]
    together = [label for layer in distinct for label in layer.tolist()]
    return label_codes.unique_labels(together, np.array([0, len(together)]))


def options(entry: Any) -> Iterable[Any]:
    """The labels that an entry allows."""
    return entry if _is_set(type(entry)) else [entry]


def encode(labels: list[Any], classes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Codes (int32) of labels in `classes`, -1 for None; sets of labels have none."""
    if labels.count(None) == len(labels):
        return np.full(len(labels), -1, np.int32)
    for position, label in enumerate(labels if any(map(_is_set, set(map(type, labels)))) else ()):
        if _is_set(type(label)):
            raise InputTypeError(
                f"{label_codes.place(position, offsets)}: a set of labels, where one or None is "
                "wanted"
            )
    missing = np.fromiter((label is None for label in labels), bool, len(labels))
    spare = classes.tolist()[0]
    codes = label_codes.encode(
        [spare if label is None else label for label in labels], classes, offsets
    )
    # they were encoded as some label, as the encoder knows no missing ones
    codes[missing] = -1
    return codes


def masks(
    labels: list[Any], classes: np.ndarray, offsets: np.ndarray, unseen: int | None = None
) -> np.ndarray:
    """Which labels may stand at each token (n_tokens, n_labels): one, those of a set, or all for
    None.

    Raises
    ------
    UnknownLabelError
        For a label that is not among `classes`, unless `unseen` is given.
    """
    allowed = np.zeros((len(labels), len(classes)), dtype=bool)
    for layer in _layers(labels, classes.tolist()[0]):
        codes = label_codes.encode(layer, classes, offsets, unseen)
        allowed[np.flatnonzero(codes >= 0), codes[codes >= 0]] = True
    # so far they have the spare label alone
    allowed[[entry is None for entry in labels]] = True
    return allowed
