"""Nodes that never have a label: their types, and where a fit of such a model begins."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from sklearn_struct.encoding.labels.typed_labels import TypedLabels
from sklearn_struct.estimators.hidden_states.random_starts import with_noise
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.objectives.weight_patterns import (
    CliquePattern,
    Pattern,
    every_clique_pair,
    every_node_pair,
    split,
)

__all__ = ["broken_symmetry", "checked_hidden"]


def checked_hidden(hidden: Any, names: list[str]) -> dict[str, int]:
    """The parameter `hidden`, of which X has all types.

    Raises
    ------
    InputTypeError, ValueError
        If it is no dict of names and numbers of states, or X has no nodes of a type.
    """
    if hidden is None:
        return {}
    for name, n in hidden.items():
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise InputTypeError(
                f"hidden: the number of states of {name!r} must be a whole number from 1 on, got "
                f"{n!r}"
            )
        if name not in names:
            known = (
                ", ".join(map(repr, names))
                or "none: a graph is (TypedNodes(features, types), edges)"
            )
            raise ValueError(f"hidden: X has no nodes of the type {name!r}; it has {known}")
    return {name: int(n) for name, n in hidden.items()}


def broken_symmetry(
    w: np.ndarray, pattern: Pattern, typed: TypedLabels, rng: np.random.RandomState
) -> np.ndarray:
    """w with random weights of hidden states, where all of these are 0.

    There states are alike, and the loss has no slope that would tell them apart.
    """
    chosen = _of_states(pattern, typed)
    if np.any(w[chosen]) or not np.any(chosen):
        return w
    return with_noise(w, chosen, rng)


def _of_states(pattern: Pattern, typed: TypedLabels) -> np.ndarray:
    """Which weights are those of hidden states, alone or with labels."""
    K = pattern.n_labels
    hidden = np.array([name in typed.hidden for name in typed.classes])[typed.type_of]
    chosen = np.zeros(pattern.size, bool)
    parts = split(chosen, pattern)
    parts.node[:] = hidden[every_node_pair(pattern).indices]
    for f, family in enumerate(pattern.families):
        of_columns = _columns_of(family, hidden, K)
        # dense features have weights of what cannot be, which stay 0
        can_be = np.zeros(len(of_columns), bool)
        can_be[family.columns] = True
        parts.features[f][:] = (of_columns & can_be)[every_clique_pair(pattern, f).indices]
        parts.columns[f][:] = of_columns[family.columns]
    parts.intercept[:] = hidden[: len(parts.intercept)]
    return chosen


def _columns_of(family: CliquePattern, hidden: np.ndarray, K: int) -> np.ndarray:
    """Which columns have a hidden state."""
    labels = np.indices((K,) * family.size).reshape(family.size, -1)
    with_state: np.ndarray = np.any(hidden[labels], axis=0)
    tied = family.ties(K)
    return with_state if tied is None else with_state[tied.first]
