"""The features of a model over a base distribution: made of what the base sees of X."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.encoding.sequences import as_list, check_numbers, pack_arrays
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["choose_features", "features_of", "shown_to"]


def choose_features(features: Any, base: Any) -> Any:
    """The encoder that the parameter `features` stands for, not fitted; None for columns of numbers
    as they are.
    """
    if features is None:
        return base.default_features()
    return (
        FeatureTemplates(features) if isinstance(features, str | list | tuple) else clone(features)
    )


def features_of(
    encoder: Any, base: Any, X: Any, observed: Any, used: np.ndarray | None = None
) -> SequenceArray:
    """The features of X; in training, where `used` says which tokens have weight, `encoder` learns
    them.

    Raises
    ------
    InputTypeError, LengthMismatchError
        If the encoder does not give numbers, as many rows as there are tokens.
    """
    if encoder is None:
        return SequenceArray(observed.numbers, observed.offsets, getattr(X, "names", None))
    shown = shown_to(encoder, base, X, observed, used)
    features = encoder.transform(shown) if used is None else encoder.fit_transform(shown)
    if not isinstance(features, SequenceArray):
        features = pack_arrays(as_list(features), np.dtype(np.float64))
    if features.tokens.dtype.kind not in "fiub":
        raise InputTypeError(f"features must be numbers, got dtype {features.tokens.dtype}")
    if not np.array_equal(features.offsets, observed.offsets):
        raise LengthMismatchError("features must have a row for each token of X")
    check_numbers(features)
    return features


def shown_to(
    encoder: Any,
    base: Any,
    X: Any,
    observed: Any,
    used: np.ndarray | None,
    firsts: list[np.ndarray] | None = None,
) -> Any:
    """What an encoder gets of X; of a part of the data `firsts` are the codes that it has first."""
    shown = base.shown(X, observed, used, firsts)
    return (
        [_rows(sequence) for sequence in shown] if isinstance(encoder, FeatureTemplates) else shown
    )


def _rows(sequence: Any) -> Any:
    """Single values as rows of one column."""
    single = len(sequence) > 0 and not isinstance(sequence[0], list | tuple | np.ndarray)
    return [(value,) for value in sequence] if single else sequence
