"""Weights of hidden states: which are shared, which may stand, and whether states are alike."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.labels.label_states import LabelStates
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.objectives.weight_patterns import (
    Pattern,
    every_clique_pair,
    every_node_pair,
    split,
)

__all__ = [
    "are_alike",
    "of_alike",
    "of_several",
    "places",
    "places_of_labels",
    "places_of_moves",
    "within_labels",
    "without_forbidden",
]


def places(pattern: Pattern, group: np.ndarray) -> np.ndarray:
    """For each weight its place in a shorter vector, in which states of one group have the same
    weights of features.
    """
    pairs = every_node_pair(pattern)
    feature = np.repeat(np.arange(pattern.n_features), np.diff(pairs.indptr))
    n_groups = int(group.max()) + 1
    _, of_nodes = np.unique(feature * n_groups + group[pairs.indices], return_inverse=True)
    n = int(of_nodes.max(initial=-1)) + 1
    rest = np.arange(pattern.size - len(of_nodes)) + n
    return np.concatenate([of_nodes, rest])


def places_of_moves(pattern: Pattern, place: np.ndarray, states: LabelStates) -> np.ndarray:
    """The same places, where moves from a number of a state to another are one weight, whatever
    the label.
    """
    place = place.copy()
    before, after = np.divmod(pattern.families[0].columns, pattern.n_labels)
    number = np.arange(pattern.n_labels) - states.first[states.label]
    _, first, which = np.unique(
        number[before] * pattern.n_labels + number[after], return_index=True, return_inverse=True
    )
    moves = split(place, pattern).columns[0]
    moves[:] = moves[first][which]
    return np.unique(place, return_inverse=True)[1]


def within_labels(states: LabelStates) -> Transitions:
    """States that may follow each other where all of a sequence have the same label."""
    same = states.label[:, None] == states.label
    every = np.ones(len(states.label), dtype=bool)
    return Transitions(every, same, every)


def places_of_labels(pattern: Pattern, states: LabelStates) -> np.ndarray:
    """The same where the states of each label have all their weights in common."""
    pairs = every_node_pair(pattern)
    feature = np.repeat(np.arange(pattern.n_features), np.diff(pairs.indptr))
    n_labels = len(states.counts)
    segments = [feature * n_labels + states.label[pairs.indices]]
    for f, family in enumerate(pattern.families):
        labels = states.label[_labels(pattern, family.size)]
        column = np.ravel_multi_index(tuple(labels), (n_labels,) * family.size)
        pairs = every_clique_pair(pattern, f)
        feature = np.repeat(np.arange(family.n_features), np.diff(pairs.indptr))
        segments.insert(1 + f, feature * n_columns(n_labels, family.size) + column[pairs.indices])
        segments.append(column[family.columns])
    if pattern.fit_intercept:
        segments.append(states.label)
    start = 0
    numbered = []
    for segment in segments:
        _, place = np.unique(segment, return_inverse=True)
        numbered.append(place + start)
        start += int(place.max(initial=-1)) + 1
    return np.concatenate(numbered)


def of_several(pattern: Pattern, states: LabelStates) -> np.ndarray:
    """Which weights are those of labels with more than one state, where noise tells states apart:
    a mask.
    """
    return _of_states(pattern, states.counts[states.label] > 1)


def of_alike(w: np.ndarray, pattern: Pattern, states: LabelStates) -> np.ndarray:
    """Of these weights a mask of those of labels whose states have the same weights of features and
    the same intercepts, such as labels that are new.
    """
    place = places(pattern, states.label)
    first = np.zeros(place.max(initial=-1) + 1)
    first[place] = w
    parts = split(first[place] != w, pattern)
    differ = np.zeros(len(states.label), dtype=bool)
    differ[every_node_pair(pattern).indices[parts.node]] = True
    intercept = split(w, pattern).intercept
    if len(intercept):
        differ |= intercept != intercept[states.first[states.label]]
    told_apart = np.isin(states.label, states.label[differ])
    return _of_states(pattern, (states.counts[states.label] > 1) & ~told_apart)


def _of_states(pattern: Pattern, which: np.ndarray) -> np.ndarray:
    """Which weights are those of some states, a mask, or of moves from or to these."""
    chosen = np.zeros(pattern.size, dtype=bool)
    parts = split(chosen, pattern)
    parts.node[:] = which[every_node_pair(pattern).indices]
    for family, columns in zip(pattern.families, parts.columns, strict=True):
        columns[:] = np.any(which[_labels(pattern, family.size)], axis=0)[family.columns]
    parts.intercept[:] = which[: len(parts.intercept)]
    return chosen


def are_alike(w: np.ndarray, pattern: Pattern, states: LabelStates) -> bool:
    """Whether the states of each label have the same weights of features, and the same intercept.

    Then nothing but chance can tell them apart.
    """
    place = places(pattern, states.label)
    first = np.zeros(place.max(initial=-1) + 1)
    first[place] = w
    intercept = split(w, pattern).intercept
    of_labels = intercept[states.first[states.label]] if len(intercept) else intercept
    return bool(np.array_equal(first[place], w) and np.array_equal(of_labels, intercept))


def without_forbidden(pattern: Pattern, allowed: Transitions | None) -> Pattern:
    """The pattern without weights of cliques in which a state follows one that it may not follow.

    Nothing would teach these weights.
    """
    if allowed is None:
        return pattern
    families = []
    for family in pattern.families:
        labels = _labels(pattern, family.size)
        may = np.ones(n_columns(pattern.n_labels, family.size), dtype=bool)
        for before, after in pairwise(labels):
            may &= allowed.pairs[before, after]
        families.append(family._replace(columns=family.columns[may[family.columns]]))
    return pattern._replace(families=tuple(families))


def _labels(pattern: Pattern, size: int) -> np.ndarray:
    """The labels (size, n) of each column of cliques."""
    return np.indices((pattern.n_labels,) * size).reshape(size, -1)
