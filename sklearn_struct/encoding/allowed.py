"""The labels that a caller allows at each token -> a mask over the sorted labels."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

__all__ = ["label_masks"]

_NO_LIST = (str, bytes, dict, set, frozenset)


def label_masks(allowed: Any, classes: np.ndarray, offsets: np.ndarray, flat: bool) -> np.ndarray:
    """Mask (n_tokens, n_labels) of a list (per sequence) of lists (per token) of None, a label, or several labels.

    None allows everything, also in the place of a whole sequence. With `flat` there is one entry a sequence.

    Raises
    ------
    LengthMismatchError, InputTypeError, UnknownLabelError
        With the place, ``allowed[3], token 7``.
    """
    allowed = _listed(as_list(allowed), "allowed", "sequences", len(offsets) - 1)
    codes = {label: k for k, label in enumerate(classes.tolist())}
    masks = np.ones((offsets[-1], len(classes)), dtype=bool)
    for i, entries in enumerate(allowed):
        if entries is None:
            continue
        n = int(offsets[i + 1] - offsets[i])
        for t, entry in enumerate([entries] if flat else _listed(entries, f"allowed[{i}]", "tokens", n)):
            if entry is not None:
                masks[offsets[i] + t] = False
                masks[offsets[i] + t, _codes(entry, codes, f"allowed[{i}], token {t}")] = True
    return masks


def _listed(entries: Any, place: str, kind: str, n: int) -> Any:
    """`entries` themselves, after a check that they are a list of n."""
    if isinstance(entries, _NO_LIST) or not hasattr(entries, "__len__"):
        raise InputTypeError(f"{place} must be a list with an entry for each of the {kind}, got {entries!r}")
    if len(entries) != n:
        raise LengthMismatchError(f"{place} has {len(entries)} entries for {n} {kind}")
    return entries


def _codes(entry: Any, codes: dict[Any, int], place: str) -> list[int]:
    """Codes of one label or of several; a tuple that is itself a label is that label."""
    if isinstance(entry, Hashable) and entry in codes:
        return [codes[entry]]
    found = []
    for label in entry if isinstance(entry, list | tuple | set | frozenset | np.ndarray) else [entry]:
        if not isinstance(label, Hashable) or label not in codes:
            known = ", ".join(map(repr, list(codes)[:20])) + (", ..." if len(codes) > 20 else "")
            raise UnknownLabelError(f"{place}: label {label!r} was not seen in fit (known: {known})")
        found.append(codes[label])
    return found
