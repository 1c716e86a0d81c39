"""Prototypes, features with the labels that their tokens have, as columns and masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Label
from sklearn_struct.encoding.labels import label_targets, partial_labels
from sklearn_struct.encoding.labels.label_codes import is_hashable
from sklearn_struct.exceptions import UnknownLabelError

__all__ = ["Prototypes", "boundary_code", "joined", "prototype_labels", "read_prototypes"]


class Prototypes(NamedTuple):
    """Columns of X, ascending, and which labels (n_prototypes, n_labels) their tokens may have."""

    columns: np.ndarray
    labels: np.ndarray

    def allowed(self, X: SequenceArray, known: np.ndarray | None = None) -> np.ndarray:
        """Which labels may stand at each token (n_tokens, n_labels): those of its prototypes, all
        where it has none. What is known of a token goes before its prototypes.
        """
        # sparse, as most tokens are no prototypes
        fired = sp.csr_array(X.tokens[:, self.columns] != 0).astype(np.int32)
        masks: np.ndarray = fired @ self.labels.astype(np.int32) > 0
        masks[np.diff(fired.indptr) == 0] = True
        if known is None:
            return masks
        both = masks & known
        return np.where(both.any(axis=1, keepdims=True), both, known)


def prototype_labels(prototypes: Mapping[Any, Any]) -> list[Label]:
    """All labels that prototypes have, checked.

    Raises
    ------
    ValueError
        For a prototype without a label.
    """
    labels = []
    for feature, entry in prototypes.items():
        options = list(partial_labels.options(entry))
        if not options:
            raise ValueError(f"prototypes[{feature!r}]: there are no labels")
        labels += label_targets.checked_labels(options, f"prototypes[{feature!r}]")
    return labels


def read_prototypes(
    prototypes: Mapping[Any, Any], X: SequenceArray, classes: np.ndarray
) -> Prototypes:
    """The prototypes of the features of X, whose labels are among `classes`.

    Raises
    ------
    ValueError
        For a feature that X does not have.
    """
    features = list(prototypes)
    columns = label_targets.feature_columns(X, features, "prototypes")
    masks = partial_labels.masks(
        list(prototypes.values()), classes, np.array([0, len(features)], dtype=np.int64)
    )
    # a feature may be given by its name and by its column
    distinct, place = np.unique(np.array(columns, dtype=np.int64), return_inverse=True)
    labels = np.zeros((len(distinct), len(classes)), dtype=bool)
    np.logical_or.at(labels, place.ravel(), masks)
    return Prototypes(distinct, labels)


def boundary_code(boundary: Label, classes: np.ndarray) -> int:
    """The code of the label of boundaries.

    Raises
    ------
    UnknownLabelError
        If no token and no prototype has it.
    """
    # not a list, which would ask whether numbers of numpy equal labels that are tuples
    codes = {label: k for k, label in enumerate(classes.tolist())}
    if not is_hashable(boundary) or boundary not in codes:
        known = ", ".join(map(repr, list(codes)[:20])) + (", ..." if len(codes) > 20 else "")
        raise UnknownLabelError(f"boundary: label {boundary!r} is unknown (known: {known})")
    return codes[boundary]


def joined(codes: np.ndarray, boundary: int, offsets: np.ndarray) -> np.ndarray:
    """Codes of labels, where that of boundaries gives way to that of the token before.

    At the beginning of a sequence it is that of the first other token; of boundaries alone it
    stays.
    """
    n = len(codes)
    lengths = np.diff(offsets)
    start = np.repeat(offsets[:-1], lengths)
    at = np.arange(n)
    is_other = codes != boundary
    # where the last other token stands, before the sequence if there is none
    last = np.maximum.accumulate(np.where(is_other, at, -1)) if n else at
    following = np.minimum.accumulate(np.where(is_other, at, n)[::-1])[::-1] if n else at
    stop = np.repeat(offsets[1:], lengths)
    source = np.where(last >= start, last, np.where(following < stop, following, at))
    given: np.ndarray = codes[source]
    return given
