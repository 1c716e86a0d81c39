"""Accuracy of tokens and of whole sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.typing import Sequences
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.metrics.spans import paired

__all__ = ["sequence_accuracy_score", "token_accuracy_score"]


def token_accuracy_score(
    y_true: Sequences, y_pred: Sequences, *, sample_weight: ArrayLike | None = None
) -> float:
    """Fraction of tokens with the right label.

    Read more in :doc:`/user_guide/scores`.

    Parameters
    ----------
    y_true, y_pred : list, object array or SequenceArray of label sequences
        True and predicted labels, of any type.
    sample_weight : array-like of shape (n_sequences,), default=None
        Weight of each sequence. Each token has the weight of its sequence.

    Returns
    -------
    score : float
        Between 0 and 1; 0.0 if there is nothing to count.

    Raises
    ------
    LengthMismatchError
        If the lengths of `y_true`, `y_pred` and `sample_weight` differ, or those of a true and a
        predicted sequence.
    InputTypeError
        If something is not a sequence, or a label of `y_true` is missing (None) or a set.

    See Also
    --------
    sequence_accuracy_score : Counts whole sequences.
    span_f1_score : Counts spans.

    Examples
    --------
    >>> from sklearn_struct.metrics import token_accuracy_score
    >>> token_accuracy_score([["O", "B"], ["O", "O"]], [["O", "B"], ["O", "B"]])
    0.75
    """
    pairs = paired(y_true, y_pred)
    hits = [_n_hits(true, pred, f"y_true[{i}]") for i, (true, pred) in enumerate(pairs)]
    return _weighted_fraction(hits, [len(true) for true, _ in pairs], sample_weight)


def sequence_accuracy_score(
    y_true: Sequences, y_pred: Sequences, *, sample_weight: ArrayLike | None = None
) -> float:
    """Fraction of sequences in which every label is right. An empty sequence is right.

    Read more in :doc:`/user_guide/scores`.

    Parameters
    ----------
    y_true, y_pred : list, object array or SequenceArray of label sequences
        True and predicted labels, of any type.
    sample_weight : array-like of shape (n_sequences,), default=None
        Weight of each sequence.

    Returns
    -------
    score : float
        Between 0 and 1; 0.0 if there are no sequences.

    Raises
    ------
    LengthMismatchError
        If the lengths of `y_true`, `y_pred` and `sample_weight` differ, or those of a true and a
        predicted sequence.
    InputTypeError
        If something is not a sequence, or a label of `y_true` is missing (None) or a set.

    See Also
    --------
    token_accuracy_score : Counts single labels.

    Examples
    --------
    >>> from sklearn_struct.metrics import sequence_accuracy_score
    >>> sequence_accuracy_score([["O", "B"], ["O", "O"]], [["O", "B"], ["O", "B"]])
    0.5
    """
    pairs = paired(y_true, y_pred)
    hits = [
        _n_hits(true, pred, f"y_true[{i}]") == len(true) for i, (true, pred) in enumerate(pairs)
    ]
    return _weighted_fraction(hits, [1] * len(pairs), sample_weight)


def _n_hits(true: list[Any], pred: list[Any], place: str) -> int:
    hits = 0
    for t, (label, predicted) in enumerate(zip(true, pred)):
        try:
            right = bool(label == predicted)
        # arrays, and values for what is missing such as pandas.NA, are neither equal nor different
        except (TypeError, ValueError):
            raise InputTypeError(f"{place}, token {t}: {label!r} is no label") from None
        if right:
            hits += 1
        elif label is None or isinstance(label, set | frozenset):
            raise InputTypeError(
                f"{place}, token {t}: {label!r} is no single label, so it cannot be right or wrong"
            )
    return hits


def _weighted_fraction(hits: list[Any], sizes: list[int], sample_weight: ArrayLike | None) -> float:
    weight = (
        np.ones(len(hits)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    )
    if weight.shape != (len(hits),):
        raise LengthMismatchError(
            f"sample_weight has shape {weight.shape}, but there are {len(hits)} sequences"
        )
    if not np.isfinite(weight).all():
        i = int(np.flatnonzero(~np.isfinite(weight))[0])
        raise NonFiniteError(f"sample_weight[{i}] is {weight[i]}")
    if (weight < 0).any():
        i = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(f"sample_weight[{i}] is negative: {weight[i]}")
    total = float(weight @ np.asarray(sizes, dtype=np.float64))
    return float(weight @ np.asarray(hits, dtype=np.float64)) / total if total > 0 else 0.0
