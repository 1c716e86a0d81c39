"""The labels that a caller allows at each token -> a mask over the sorted labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sklearn_struct.containers.typing import SequenceInput, Sequences
from sklearn_struct.encoding.labels.label_codes import is_hashable
from sklearn_struct.encoding.sequences import as_list, is_list
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

__all__ = ["label_masks"]


def label_masks(
    allowed: SequenceInput, classes: np.ndarray, offsets: np.ndarray, flat: bool
) -> np.ndarray:
    """Which labels are allowed at each token: a mask (n_tokens, n_labels).

    `allowed` has a list for each sequence, with an entry for each token: None, a label, or several
    labels. None allows everything, also in the place of a whole sequence. With `flat` a sequence
    has one token, and one entry instead of a list.

    Raises
    ------
    LengthMismatchError, InputTypeError, UnknownLabelError
        With the place, ``allowed[3], token 7``.
    """
    sequences = _listed(as_list(allowed), "allowed", "sequences", len(offsets) - 1)
    codes = {label: k for k, label in enumerate(classes.tolist())}
    masks = np.ones((offsets[-1], len(classes)), dtype=bool)
    for i, entries in enumerate(sequences):
        if entries is None:
            continue
        n = int(offsets[i + 1] - offsets[i])
        for t, entry in enumerate(
            [entries] if flat else _listed(entries, f"allowed[{i}]", "tokens", n)
        ):
            if entry is not None:
                masks[offsets[i] + t] = False
                masks[offsets[i] + t, _codes(entry, codes, f"allowed[{i}], token {t}")] = True
    return masks


def _listed(entries: object, place: str, kind: str, n: int) -> Sequences:
    """`entries` themselves, after a check that they are a list of n."""
    if not is_list(entries):
        raise InputTypeError(
            f"{place} must be a list with an entry for each of the {kind}, got {entries!r}"
        )
    if len(entries) != n:
        raise LengthMismatchError(f"{place} has {len(entries)} entries for {n} {kind}")
    return entries


def _codes(entry: Any, codes: Mapping[Any, int], place: str) -> list[int]:
    """Codes of one label or of several; a tuple that is itself a label is that label."""
    # a tuple that is a label is that label, not a list of labels
    if is_hashable(entry) and entry in codes:
        return [codes[entry]]
    allowed = []
    for label in entry if is_list(entry) or isinstance(entry, set | frozenset) else [entry]:
        if not is_hashable(label) or label not in codes:
            known = ", ".join(map(repr, list(codes)[:20])) + (", ..." if len(codes) > 20 else "")
            raise UnknownLabelError(
                f"{place}: label {label!r} was not seen in fit (known: {known})"
            )
        allowed.append(codes[label])
    return allowed
