"""Which weights exist where data lie in parts that number their features by themselves.

``columns`` of a part say where its features are among all: feature j of the part is feature
``columns[j]`` of all data, or none of them if that is -1. None means that the part has the features
of all data, by the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.containers.csr import CSR
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern

__all__ = ["Columns", "Place", "Restricted", "edge_columns_of", "restricted", "union"]

Columns: TypeAlias = np.ndarray | None
# where the weights of a part are in the vector of all
Place: TypeAlias = np.ndarray | slice


class Restricted(NamedTuple):
    """The weights that a part touches, and where they are in the vector of all."""

    pattern: Pattern
    place: Place


def union(
    parts: Sequence[tuple[Pattern, Columns]],
    n_features: int,
    edges: np.ndarray,
    min_frequency: int = 1,
) -> Pattern:
    """The weights that one of the parts has, for data of `n_features`, of which `edges` condition
    cliques.

    That is the pattern of all data, as a pair exists where it was seen. With a `min_frequency` of
    more than 1 it exists if its frequencies, which pairs of parts have as their data, sum to that.
    """
    first = parts[0][0]
    least = min_frequency
    node = _all_pairs(
        [(pattern.node, columns) for pattern, columns in parts], n_features, first.n_labels, least
    )
    families = []
    for f, family in enumerate(first.families):
        of_parts = [
            (pattern.families[f].features, _edge_numbers(pattern.edge_columns, columns, edges))
            for pattern, columns in parts
            if len(pattern.edge_columns)
        ]
        features = None
        if of_parts:
            features = _all_pairs(of_parts, len(edges), first.widths[f], least)
        shown = np.unique(np.concatenate([pattern.families[f].columns for pattern, _ in parts]))
        families.append(CliquePattern(family.size, len(edges), features, shown))
    return Pattern(n_features, first.n_labels, node, tuple(families), edges, first.fit_intercept)


def restricted(pattern: Pattern, columns: Columns) -> Restricted:
    """The pattern of a part, of that of all data."""
    if columns is None or pattern.node is None:
        return Restricted(pattern, slice(None))
    edges = edge_columns_of(pattern.edge_columns, columns)
    node, of_nodes = _rows(pattern.node, columns)
    places = [of_nodes]
    families = []
    sizes = pattern.sizes
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n_families = len(pattern.families)
    numbers = _edge_numbers(edges, columns, pattern.edge_columns)
    for f, family in enumerate(pattern.families):
        features = None
        if len(edges) and family.features is not None:
            features, of_features = _rows(family.features, numbers)
            places.append(starts[1 + f] + of_features)
        families.append(family._replace(n_features=len(edges), features=features))
    # tables of columns and the intercept, of which each part has all
    places.append(np.arange(starts[1 + n_families], starts[-1]))
    part = pattern._replace(
        n_features=len(columns), node=node, families=tuple(families), edge_columns=edges
    )
    # a few parts have most of the weights each: their places would take more than the weights
    kind = np.int32 if starts[-1] < 2**31 else np.int64
    return Restricted(part, np.concatenate(places, dtype=kind, casting="same_kind"))


def edge_columns_of(edges: np.ndarray, columns: Columns) -> np.ndarray:
    """The features of a part that condition cliques, of those of all data that do."""
    return edges if columns is None else np.flatnonzero(np.isin(columns, edges))


def _edge_numbers(of_part: np.ndarray, columns: Columns, edges: np.ndarray) -> np.ndarray:
    """Which of the `edges` of all data each of those of a part is."""
    return np.searchsorted(edges, of_part if columns is None else columns[of_part])


def _all_pairs(
    parts: Sequence[tuple[CSR | None, Columns]], n_features: int, width: int, least: int
) -> CSR | None:
    """The pairs of all parts that are frequent enough, ordered by feature, then label; None where
    parts have every one.
    """
    keys = np.empty(0, np.int64)
    counts: np.ndarray = np.empty(0)
    for pairs, columns in parts:
        if pairs is None:
            return None
        feature = np.repeat(np.arange(len(pairs.indptr) - 1), np.diff(pairs.indptr))
        if columns is not None:
            feature = columns[feature].astype(np.int64)
        is_known = feature >= 0
        of_part = (feature * width + pairs.indices)[is_known]
        # part by part: no more than two lists of keys are there at once
        if least == 1:
            keys = np.union1d(keys, of_part)
            continue
        keys, places = np.unique(np.concatenate([keys, of_part]), return_inverse=True)
        counts = np.bincount(places, weights=np.concatenate([counts, pairs.data[is_known]]))
    if least > 1:
        keys = keys[counts >= least]
    feature, label = np.divmod(keys, width)
    indptr = np.zeros(n_features + 1, np.int64)
    np.cumsum(np.bincount(feature, minlength=n_features), out=indptr[1:])
    return CSR(indptr, label.astype(np.int32), np.empty(0, np.int32))


def _rows(pairs: CSR, columns: np.ndarray) -> tuple[CSR, np.ndarray]:
    """The pairs of some features, none of those with -1, and which of all pairs they are."""
    bounds = pairs.indptr
    start = bounds[columns]
    n_pairs = np.where(columns < 0, 0, bounds[columns + 1] - start)
    indptr = np.concatenate([[0], np.cumsum(n_pairs)]).astype(np.int64)
    places = np.repeat(start - indptr[:-1], n_pairs) + np.arange(indptr[-1])
    return CSR(indptr, pairs.indices[places], np.empty(0, np.int32)), places
