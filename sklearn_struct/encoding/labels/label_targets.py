"""Labelled features -> target distributions over the sorted labels, and where they fire."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import n_columns
from sklearn_struct.containers.typing import Label
from sklearn_struct.encoding.labels.label_codes import is_hashable, is_itself
from sklearn_struct.exceptions import InputTypeError, NonFiniteError, UnknownLabelError

__all__ = [
    "Target",
    "TargetSpec",
    "checked_labels",
    "feature_columns",
    "firing",
    "firing_at",
    "firing_columns",
    "named_labels",
    "not_negative",
    "read_targets",
]

CLOSE = 1e-6  # by how much probabilities may miss a sum of 1


# What a person says of a feature: a label, or probabilities or counts of labels or label pairs.
TargetSpec: TypeAlias = Label | Mapping[Any, float]


class Target(NamedTuple):
    """A labelled feature: its name, and probabilities of all labels (K,) or label pairs (K * K,).

    Those that are `named`, with a probability, a count or alone, are asked for; the others share
    the rest.
    """

    feature: Label
    probability: np.ndarray
    named: np.ndarray


def named_labels(labeled_features: Mapping[Any, TargetSpec], known: set[Any]) -> list[Label]:
    """All labels that are named; a pair names two, unless it is itself among the `known` labels."""
    labels: list[Label] = []
    for feature, spec in labeled_features.items():
        for name in spec if isinstance(spec, Mapping) else [spec]:
            named: list[Label] = [name]
            if isinstance(name, tuple) and len(name) == 2 and name not in known:
                named = list(name)
            labels += checked_labels(named, f"labeled_features[{feature!r}]")
    return labels


def checked_labels(labels: list[Label], place: str) -> list[Label]:
    """The labels, after a check that each can be one."""
    for label in labels:
        if not is_hashable(label):
            raise InputTypeError(f"{place}: {label!r} cannot be a label")
        if label is None or not is_itself(label):
            raise UnknownLabelError(f"{place}: a label is missing ({label!r})")
    return labels


def read_targets(
    labeled_features: Mapping[Any, TargetSpec],
    classes: np.ndarray,
    majority: float,
    smoothing: float,
) -> list[Target]:
    """The target distribution of each feature.

    A label without a number gets the probability `majority`, all others share the rest. Whole
    numbers are counts c of annotated tokens, which give (c + smoothing) / (n + smoothing *
    n_labels). Other numbers are probabilities.

    Raises
    ------
    UnknownLabelError, InputTypeError, NonFiniteError, ValueError
        Naming the feature.
    """
    return [
        Target(
            feature,
            *_probability(
                spec, classes.tolist(), (majority, smoothing), f"labeled_features[{feature!r}]"
            ),
        )
        for feature, spec in labeled_features.items()
    ]


def _probability(
    spec: TargetSpec, labels: list[Label], options: tuple[float, float], place: str
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities, and which of them are named."""
    majority, smoothing = options
    code = {label: k for k, label in enumerate(labels)}
    names = list(spec) if isinstance(spec, Mapping) else [spec]
    if not names:
        raise ValueError(f"{place}: there are no labels")
    pairs = [isinstance(name, tuple) and len(name) == 2 and name not in code for name in names]
    # a distribution is of one or of the other
    if any(pairs) and not all(pairs):
        raise ValueError(f"{place}: labels and pairs of labels in one target")
    n = len(code)
    at = [_code(name, code, place) for name in names]
    size = n_columns(n, 2 if pairs[0] else 1)
    if not isinstance(spec, Mapping):
        named = np.arange(size) == at[0]
        # a single label has nothing to share with
        of_named = majority if size > 1 else 1.0
        return np.where(named, of_named, (1 - majority) / max(size - 1, 1)), named
    given = np.zeros(size)
    given[at] = [_number(value, place) for value in spec.values()]
    # also a single 1: as a probability it is to be written 1.0
    if all(isinstance(value, Integral) for value in spec.values()):
        if given.sum() == 0:
            raise ValueError(f"{place}: all counts are 0")
        return (given + smoothing) / (given.sum() + smoothing * size), given > 0
    if abs(given.sum() - 1) > CLOSE:
        hint = "; counts must be whole numbers" if given.sum() > 1 else ""
        raise ValueError(f"{place}: the probabilities sum to {given.sum():.6g}, not to 1{hint}")
    # exactly 1, as distances between distributions want it
    return given / given.sum(), given > 0


def _code(name: Label, code: dict[Label, int], place: str) -> int:
    """Code of a label, or of a pair of labels."""
    if is_hashable(name) and name in code:
        return code[name]
    if (
        isinstance(name, tuple)
        and len(name) == 2
        and all(is_hashable(label) and label in code for label in name)
    ):
        return code[name[0]] * len(code) + code[name[1]]
    known = ", ".join(map(repr, list(code)[:20])) + (", ..." if len(code) > 20 else "")
    raise UnknownLabelError(f"{place}: label {name!r} is unknown (known: {known})")


def _number(value: object, place: str) -> float:
    return not_negative(value, f"{place}: a probability or a count")


def not_negative(value: object, what: str) -> float:
    """A finite number, not negative."""
    # True is a number to Python, but says nothing of how probable or frequent a label is
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputTypeError(f"{what} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not 0 <= number < np.inf:
        raise NonFiniteError(f"{what} must be finite and not negative, got {number!r}")
    return number


def firing(X: SequenceArray, features: list[Label]) -> sp.csr_array:
    """The values of features at all tokens, (n_tokens, n_features).

    A feature is named, or given by its column; None is a feature that is always 1.

    Raises
    ------
    ValueError
        For a feature that X does not have, or one with a negative value.
    """
    return firing_at(X, firing_columns(X, features), features)


def firing_columns(X: SequenceArray, features: list[Label]) -> list[int]:
    """The column of each feature; the one that is always 1 is behind those of X."""
    others = iter(feature_columns(X, [f for f in features if f is not None]))
    return [X.tokens.shape[1] if feature is None else next(others) for feature in features]


def firing_at(X: SequenceArray, columns: list[int], features: list[Label]) -> sp.csr_array:
    """The same of features whose columns are known; -1 is one that no token of X has."""
    n_tokens, n_features = X.tokens.shape
    tokens = sp.csr_array(X.tokens, dtype=np.float64)
    more = {n_features: np.ones((n_tokens, 1)), -1: np.zeros((n_tokens, 1))}
    others = [column for column in more if column in columns]
    if others:
        tokens = sp.csr_array(sp.hstack([tokens, *(sp.csr_array(more[c]) for c in others)]))
    place = {column: n_features + i for i, column in enumerate(others)}
    fired = sp.csr_array(tokens[:, [place.get(column, column) for column in columns]])
    # a stored 0 does not fire
    fired.eliminate_zeros()
    if fired.nnz and fired.data.min() < 0:
        t, c = (int(index[np.argmin(fired.data)]) for index in fired.tocoo().coords)
        i = int(np.searchsorted(X.offsets, t, side="right")) - 1
        value = fired.data.min()
        raise ValueError(
            f"X[{i}], token {t - X.offsets[i]}: the labelled feature {features[c]!r} is negative "
            f"({value:g})"
        )
    return fired


def feature_columns(
    X: SequenceArray, features: list[Label], parameter: str = "labeled_features"
) -> list[int]:
    """The column of each feature, which is named, or given by its column.

    Raises
    ------
    ValueError
        For a feature that X does not have, with the parameter that names it.
    """
    n = X.tokens.shape[1]
    names = (
        None
        if X.feature_names is None
        else {name: c for c, name in enumerate(X.feature_names.tolist())}
    )
    return [_column(feature, names, n, parameter) for feature in features]


def _column(feature: Label, names: dict[Label, int] | None, n: int, parameter: str) -> int:
    if names is not None and feature in names:
        return names[feature]
    if isinstance(feature, Integral) and not isinstance(feature, bool) and int(feature) in range(n):
        return int(feature)
    what = f"{n} columns without names" if names is None else f"{n} features"
    kind = "a labelled feature" if parameter == "labeled_features" else "a prototype"
    raise ValueError(
        f"{parameter}: X, with {what}, has no feature {feature!r}; {kind} is one, "
        "by its name or column"
    )
