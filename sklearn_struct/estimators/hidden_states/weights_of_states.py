"""Weights of hidden states: which are shared, which may stand, and whether states are alike."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.labels.label_states import LabelStates
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.objectives.weight_patterns import (
    CliquePattern,
    Pattern,
    every_clique_pair,
    every_node_pair,
    split,
)

__all__ = [
    "are_alike",
    "by_states",
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
        # labels of ascending states ascend, too: of nodes without order they have one column
        labels = states.label[_labels(pattern, family)]
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
        columns[:] = np.any(which[_labels(pattern, family)], axis=0)[family.columns]
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
        labels = _labels(pattern, family)
        may = np.ones(n_columns(pattern.n_labels, family.size), dtype=bool)
        for before, after in pairwise(labels):
            may &= allowed.pairs[before, after]
        families.append(family._replace(columns=family.columns[may[family.columns]]))
    return pattern._replace(families=tuple(families))


def by_states(pattern: Pattern, states: LabelStates) -> Pattern:
    """The pattern of labels as that of their states, each of which has the weights of its label.

    States of several labels that are shared have what any of these has.
    """
    n = len(states.label)
    same = states.group[:, None] == states.group
    wider = pattern._replace(n_labels=n)
    families = []
    for family in pattern.families:
        labels = states.label[_labels(wider, family)]
        column = np.ravel_multi_index(tuple(labels), (pattern.n_labels,) * family.size)
        tied = family.ties(pattern.n_labels)
        column = column if tied is None else tied.column[column]
        features = family.features
        if features is not None:
            features = _spread(features, column)
        columns = np.flatnonzero(np.isin(column, family.columns))
        families.append(family._replace(features=features, columns=columns))
    node = pattern.node
    if node is not None:
        node = _spread(node, states.label, same if states.shared else None)
    return wider._replace(node=node, families=tuple(families))


def _spread(pairs: CSR, old: np.ndarray, same: np.ndarray | None = None) -> CSR:
    """Pairs (feature, column) of new columns, each of which has those of an old one, and of new
    ones that are the `same`.
    """
    n_old = max(int(old.max(initial=-1)), int(pairs.indices.max(initial=-1))) + 1
    data = np.ones(len(pairs.indices))
    there = sp.csr_array((data, pairs.indices, pairs.indptr), (len(pairs.indptr) - 1, n_old))
    new = sp.csr_array((np.ones(len(old)), (old, np.arange(len(old)))), (n_old, len(old)))
    spread = there @ new
    return csr(sp.csr_array(spread if same is None else spread @ same.astype(float)))


def _labels(pattern: Pattern, family: CliquePattern) -> np.ndarray:
    """The labels (size, n) of each column of cliques; ascending ones if their nodes have no
    order.
    """
    labels = np.indices((pattern.n_labels,) * family.size).reshape(family.size, -1)
    tied = family.ties(pattern.n_labels)
    return labels if tied is None else labels[:, tied.first]
