"""Weights of sequences, of tokens and of labels -> the weights that objective and loss take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.sequences import as_list, is_list
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence

__all__ = [
    "LabelWeights",
    "Weights",
    "balanced",
    "by_sequence",
    "check_sum",
    "check_total",
    "class_weights",
    "flatten",
    "is_per_token",
    "of_examples",
    "of_tokens",
    "read",
    "repeated",
    "used_tokens",
]

SMALLEST_SUM = 1e-290  # its inverse must be a float


class Weights(NamedTuple):
    """Of each sequence's loss; what is known of tokens; and how often a token counts as seen."""

    sequence: np.ndarray
    evidence: Evidence
    token: np.ndarray


class LabelWeights(NamedTuple):
    """The labels, and the parameter `class_weight`."""

    classes: np.ndarray
    class_weight: Mapping[Any, float] | str | None


def is_per_token(sample_weight: Any) -> bool:
    """Whether weights are given for each token: as sequences, not as numbers."""
    if isinstance(sample_weight, SequenceArray):
        return True
    if isinstance(sample_weight, np.ndarray) and sample_weight.dtype.kind != "O":
        return sample_weight.ndim > 1
    return is_list(sample_weight) and any(map(is_list, sample_weight))


def of_examples(sample_weight: Any, n: int, what: str) -> np.ndarray:
    """One weight for each of n examples, whatever these are called, all 1 for None."""
    if sample_weight is not None:
        try:
            # scikit-learn takes a single number for all examples
            one = isinstance(sample_weight, Real)
            sample_weight = (
                float(sample_weight) if one else np.asarray(sample_weight, dtype=np.float64)
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise InputTypeError(f"sample_weight must hold real numbers: {error}") from None
    # of the X that it wants only the number of rows is read
    weight: np.ndarray = _check_sample_weight(
        sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True
    )
    if not np.any(weight > 0):
        raise EmptyDataError(f"no {what} has a positive weight")
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise NonFiniteError("the sum of sample_weight is not finite")
    return weight


def flatten(sample_weight: Any, offsets: np.ndarray) -> np.ndarray:
    """Weights of all tokens, one after the other, after a check that they have the lengths of X."""
    if len(sample_weight) != len(offsets) - 1:
        raise LengthMismatchError(
            f"X has {len(offsets) - 1} sequences but sample_weight has {len(sample_weight)}"
        )
    parts = [np.empty(0)]
    for i, (weights, n) in enumerate(zip(sample_weight, np.diff(offsets).tolist(), strict=True)):
        try:
            part = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputTypeError(f"sample_weight[{i}]: weights must be real numbers") from None
        if part.shape != (n,):
            size = f"{len(part)} weights" if part.ndim == 1 else f"the shape {part.shape}"
            raise LengthMismatchError(f"X[{i}] has {n} tokens but sample_weight[{i}] has {size}")
        wrong = np.flatnonzero(~(np.isfinite(part) & (part >= 0)))
        if len(wrong):
            error, what = (
                (ValueError, "negative") if part[wrong[0]] < 0 else (NonFiniteError, "not finite")
            )
            raise error(f"sample_weight[{i}], token {wrong[0]}: {what} ({part[wrong[0]]})")
        parts.append(part)
    return np.concatenate(parts)


def of_tokens(sample_weight: Any, X: SequenceArray, flat: bool) -> np.ndarray:
    """Weights of all tokens: their own, or those of their sequences."""
    if not flat and is_per_token(sample_weight):
        return check_total(flatten(sample_weight, X.offsets))
    weight = of_examples(sample_weight, len(X), "sequence")
    return check_total(np.repeat(weight, X.lengths))


def check_total(weight: np.ndarray) -> np.ndarray:
    """The weights of tokens, after a check that they can be added up."""
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise NonFiniteError("the sum of sample_weight over all tokens is not finite")
    return weight


def repeated(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """What sequences have, for each of their tokens; read-only and without memory of its own where
    it is the same for all.
    """
    n = int(lengths.sum())
    # one number would be an array as any other, but for kernels, which tell read-only ones apart
    if n < 2 or np.any(values != values[0]):
        return np.repeat(values, lengths)
    return np.broadcast_to(values[0], (n,))


def used_tokens(weight: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Which tokens are those of sequences with positive weights, after a check that the weights of
    all tokens can be added up.
    """
    with np.errstate(over="ignore"):
        check_total(weight * lengths)
    return repeated(weight > 0, lengths)


def check_sum(weight: np.ndarray) -> np.ndarray:
    """The weights of a fit, after a check that they can be divided by their sum."""
    if weight.sum() < SMALLEST_SUM:
        raise ValueError(
            f"the sum of sample_weight, {weight.sum():.3g}, is below {SMALLEST_SUM}: multiply the "
            "weights, as their "
            "ratios to it are no numbers"
        )
    return weight


def class_weights(
    class_weight: Mapping[Any, float] | str,
    classes: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:
    """The weight of each label; "balanced" gives all labels the same sum of weights, without
    changing that of all.
    """
    labels = classes.tolist()
    if isinstance(class_weight, str):  # "balanced"
        return balanced(np.bincount(codes, weights=weight, minlength=len(labels)))
    of_labels = np.array([_number(label, class_weight.get(label, 1.0)) for label in labels])
    unknown = [label for label in class_weight if label not in labels]
    # else it only has more than this y
    if unknown and len(class_weight) - len(unknown) < len(labels):
        raise ValueError(f"class_weight: {unknown[0]!r} is no label of y, which has {labels[:20]}")
    for label, value in zip(labels, of_labels.tolist(), strict=True):
        if not 0 <= value < np.inf:
            raise ValueError(
                f"class_weight[{label!r}]: a weight must be finite and not negative, got {value}"
            )
    return of_labels


def balanced(seen: np.ndarray) -> np.ndarray:
    """The weights of labels that give all of those `seen` the same share of their sum."""
    weights = np.zeros(len(seen))
    np.divide(seen.sum() / np.count_nonzero(seen), seen, where=seen > 0, out=weights)
    return weights


def _number(label: Any, value: Any) -> float:
    try:
        # `float` would read numbers out of text
        if isinstance(value, str | bytes):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputTypeError(
            f"class_weight[{label!r}]: a weight must be a real number, got {value!r}"
        ) from None


def by_sequence(weight: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of tokens as means of the sequences, and as multiples of them; 0 for empty ones."""
    lengths = np.diff(offsets)
    n = len(lengths)
    # losses weigh sequences; tokens count relatively to their sequence's mean
    mean = np.bincount(np.repeat(np.arange(n), lengths), weights=weight, minlength=n) / np.maximum(
        lengths, 1
    )
    of_tokens = np.repeat(mean, lengths)
    return mean, np.divide(weight, of_tokens, where=of_tokens > 0, out=np.zeros(len(weight)))


def read(
    sample_weight: Any,
    X: SequenceArray,
    codes: np.ndarray,
    *,
    flat: bool,
    of_labels: LabelWeights,
    loss: Callable[[], Loss],
) -> Weights:
    """Weights for `fit`.

    ValueError if tokens have weights, or labels in sequences that are not `flat`, and the `loss`
    gives these no meaning.
    """
    sample_weight = as_list(sample_weight)
    classes, class_weight = of_labels
    per_token = not flat and is_per_token(sample_weight)
    if (per_token or (class_weight is not None and not flat)) and not loss().token_weights:
        what = "a sample_weight for each token" if per_token else "class_weight"
        raise ValueError(
            f"{what} needs a loss of single tokens, such as LinearChainCRF(loss='pointwise'): this "
            "loss is of a labelling as a whole, in which single tokens have no weight (in a "
            "two-dimensional X, where each is a sequence, labels may have weights)"
        )
    if codes.ndim == 2 and (per_token or class_weight is not None):
        raise ValueError("weights of tokens and of labels need labels that are all known")
    token = of_tokens(sample_weight, X, flat)
    if not per_token and class_weight is None:
        weight = check_sum(of_examples(sample_weight, len(X), "sequence"))
        evidence = Evidence(codes) if codes.ndim == 1 else Evidence(allowed=codes)
        return Weights(weight, evidence, token)
    omega = (
        token
        if class_weight is None
        else token * class_weights(class_weight, classes, codes, token)[codes]
    )
    if not np.any(omega > 0):
        raise EmptyDataError("no token has a positive weight")
    sequence, share = by_sequence(omega, X.offsets)
    # in sequences of one token its weight is that of the sequence
    evidence = Evidence(codes, weight=None if flat else share)
    return Weights(check_sum(sequence), evidence, token)
