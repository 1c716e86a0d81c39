"""Labels of which some are missing: None for a token, for a sequence, or for all."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.encoding import labels as label_codes

__all__ = ["encode", "flatten", "known_labels"]


def flatten(y: Any, offsets: np.ndarray) -> list[Any]:
    """All labels of y, None where there is none, after a check that y has the lengths of X."""
    lengths = np.diff(offsets).tolist()
    if y is None:
        return [None] * sum(lengths)
    if hasattr(y, "__len__") and len(y) == len(lengths) and not isinstance(y, str | bytes | dict | set | frozenset):
        y = [[None] * n if labels is None else labels for labels, n in zip(y, lengths)]
    return label_codes.flatten(y, offsets)


def known_labels(labels: list[Any], offsets: np.ndarray) -> np.ndarray:
    """The distinct labels, sorted; there must be one."""
    spare = next(label for label in labels if label is not None)
    return label_codes.unique_labels([spare if label is None else label for label in labels], offsets)


def encode(labels: list[Any], classes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Codes (int32) of labels in `classes`, -1 for None."""
    missing = np.fromiter((label is None for label in labels), bool, len(labels))
    spare = classes.tolist()[0]
    codes = label_codes.encode([spare if label is None else label for label in labels], classes, offsets)
    codes[missing] = -1
    return codes
