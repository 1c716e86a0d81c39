"""Which weights a model of segments has: what the tokens of positive weight show, or everything."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Structure, chain, columns_of, n_columns
from sklearn_struct.encoding.features.column_choice import Features, columns_named
from sklearn_struct.estimators.chains.observed_weights import WeightChoice
from sklearn_struct.objectives.linear_potentials import Inputs, clique_features
from sklearn_struct.objectives.weight_patterns import (
    CliquePattern,
    Pattern,
    all_pairs,
    each_pair,
    node_pairs,
    observed_pairs,
)

__all__ = ["Whole", "chosen_columns", "observe_segments", "of_lengths", "segment_inputs"]


class Whole(NamedTuple):
    """Features of the segments of y (n_segments, n_features), with their labels and weights."""

    rows: sp.csr_array
    labels: np.ndarray
    weight: np.ndarray


def of_lengths(longest: tuple[int, ...]) -> tuple[CliquePattern, ...]:
    """A family for each length from two tokens on, with a weight for each label that has it."""
    most = np.array(longest)
    return tuple(
        CliquePattern(1, 0, None, np.flatnonzero(most >= length))
        for length in range(2, max(longest) + 1)
    )


def chosen_columns(wanted: Features | None, X: SequenceArray, name: str) -> np.ndarray:
    """The columns of X that a parameter means."""
    if wanted is None:
        return np.arange(0)
    if isinstance(wanted, str) and wanted == "all":
        return np.arange(X.stored.shape[1])
    return columns_named(wanted, X, name)


def observe_segments(
    choice: WeightChoice,
    longest: tuple[int, ...],
    X: SequenceArray,
    codes: np.ndarray,
    weight: np.ndarray,
    end_columns: np.ndarray,
    whole: Whole | None = None,
) -> Pattern:
    """The pattern that the parameters give for segments of these codes, none longer than its
    label's may be; the features `end_columns` also have weights for both ends of segments, and
    `whole` segments have features of their own.
    """
    K = len(longest)
    labels = codes % K
    begins = codes < K
    columns = chosen_columns(choice.edge_features, X, "edge_features")
    (family,) = chain(X.offsets).families
    first, second = family.nodes.T
    # a pair of segments is where the second one begins
    of_pairs = np.minimum(weight[first], weight[second]) * begins[second]
    shown = columns_of(labels, family, K)
    width = n_columns(K, family.nodes.shape[1])
    seen = np.ones(width, dtype=bool)
    if choice.transition_features == "observed":
        counts = np.bincount(shown, weights=of_pairs, minlength=width)
        seen = counts >= max(choice.min_frequency, np.finfo(float).tiny)

    def weights_of(columns: np.ndarray, rows: np.ndarray, shown: np.ndarray, of: Any) -> Any:
        """Which pairs of features of some tokens and what these show have weights; None for all."""
        if not sp.issparse(X.tokens) or not len(columns):
            return None
        pairs = all_pairs if choice.feature_pairs == "all" else observed_pairs
        width = K if rows is not second else n_columns(K, 2)
        return pairs(X.tokens[:, columns][rows], shown, of, width, choice.min_frequency)

    of_edges = weights_of(columns, second, shown, of_pairs)
    families = [
        CliquePattern(2, len(columns), of_edges, np.flatnonzero(seen)),
        *of_lengths(longest),
    ]
    if len(end_columns):
        every = np.arange(len(codes))
        is_last = np.append(begins[1:], True)
        # the last token of a sequence ends a segment
        is_last[X.offsets[1:][X.offsets[1:] > 0] - 1] = True
        for there in (begins, is_last):
            of_ends = weights_of(end_columns, every, labels, weight * there)
            if there is is_last:
                of_ends = _of_longer(of_ends, len(end_columns), longest)
            families.append(CliquePattern(1, len(end_columns), of_ends, np.arange(0)))
    pairs = all_pairs if choice.feature_pairs == "all" else observed_pairs
    if whole is not None:
        of_whole = pairs(whole.rows, whole.labels, whole.weight, K, choice.min_frequency)
        families.append(CliquePattern(1, whole.rows.shape[1], of_whole, np.arange(0)))
    node = node_pairs(X.stored, pairs, labels, weight, K, choice.min_frequency)
    return Pattern(X.stored.shape[1], K, node, tuple(families), columns, choice.fit_intercept)


def _of_longer(pairs: CSR | None, n_features: int, longest: tuple[int, ...]) -> CSR | None:
    """The pairs with labels whose segments may have two tokens or more. The last token of other
    segments is the first one: weights of both would be the same twice, with half of the penalty.
    """
    is_longer = np.array(longest) > 1
    if np.all(is_longer):
        return pairs
    every = each_pair(n_features, len(longest)) if pairs is None else pairs
    kept = is_longer[every.indices]
    indptr = np.concatenate([[0], np.cumsum(kept)])[every.indptr]
    return CSR(indptr, every.indices[kept], np.empty(0, np.int32))


def segment_inputs(
    pattern: Pattern,
    structure: Structure,
    X: SequenceArray,
    end_columns: np.ndarray,
    whole: sp.csr_array | None = None,
) -> Inputs:
    """The features of transitions, of first and of last tokens, and of whole segments."""
    cliques: list[Any] = [None] * len(pattern.families)
    if len(pattern.edge_columns):
        (cliques[0],) = clique_features(X, structure.families[:1], pattern.edge_columns)
    if len(end_columns):
        rows = X.tokens[:, end_columns]
        last = len(cliques) - (1 if whole is None else 2)
        # of a dense X without the last tokens of some labels
        has_pairs = pattern.families[last].features is not None
        cliques[last - 1 : last + 1] = [rows, sp.csr_array(rows) if has_pairs else rows]
    if whole is not None:
        cliques[-1] = whole
    return Inputs(cliques)
