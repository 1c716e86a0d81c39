"""Weights of hidden states of classes: which there are, which are the same, and where they start."""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.labels.state_moves import of_classes
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern, split

__all__ = ["pattern_of", "tied_places"]


def pattern_of(n_features: int, n_classes: int, moves: Transitions, fit_intercept: bool) -> Pattern:
    """Weights of features of all states of all classes, and of the moves that are allowed within a
    class.
    """
    n_labels = n_classes * len(moves.start)
    # tables of parts and blocks have room for moves between classes, too
    reserve(32 * 8 * n_columns(n_labels, 2), f"a model of {n_labels} states of all classes")
    columns = np.flatnonzero(of_classes(moves, n_classes).pairs)
    family = CliquePattern(2, 0, None, columns)
    return Pattern(n_features, n_labels, None, (family,), np.arange(0), fit_intercept)


def tied_places(pattern: Pattern, n_classes: int, features: bool, moves: bool) -> np.ndarray:
    """For each weight its place among those that differ, where classes share weights of features of
    their states, or of moves between them, or both.
    """
    n_states = pattern.n_labels // n_classes
    places = split(np.arange(pattern.size), pattern)
    same = np.arange(pattern.size)
    first_class = np.arange(pattern.n_labels) % n_states
    if features:
        node = places.node.reshape(-1, pattern.n_labels)
        node[:] = node[:, first_class]
        same[: node.size] = node.ravel()
    if moves:
        columns = places.columns[0]
        start = pattern.sizes[0] + pattern.sizes[1]
        same[start : start + len(columns)] = np.tile(columns[: len(columns) // n_classes], n_classes)
    return np.unique(same, return_inverse=True)[1]
