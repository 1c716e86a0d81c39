"""Which weights a chain has: what the tokens of positive weight show, or everything."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Family, chain, columns_of, n_columns
from sklearn_struct.encoding.features.column_choice import Features, columns_named
from sklearn_struct.objectives.linear_potentials import clique_features
from sklearn_struct.objectives.weight_patterns import (
    CliquePattern,
    Pattern,
    all_pairs,
    masked_pairs,
    node_pairs,
    observed_pairs,
)

__all__ = ["WeightChoice", "count_transitions", "edge_columns", "observe"]


class WeightChoice(NamedTuple):
    """What the parameters of a chain say of its weights: which there are of features, and which of
    transitions.
    """

    order: int
    feature_pairs: str
    transition_features: str
    edge_features: Features | None
    min_frequency: int
    fit_intercept: bool


class _Tokens(NamedTuple):
    """Tokens with their labels, codes or masks, and weights; ``columns`` are cliques' features."""

    X: SequenceArray
    labels: np.ndarray
    weight: np.ndarray
    columns: np.ndarray


def observe(
    choice: WeightChoice, K: int, X: SequenceArray, codes: np.ndarray, weight: np.ndarray
) -> Pattern:
    """The pattern that the parameters of a chain with K labels give for these tokens.

    Tokens may have several labels each: then `codes` are masks (n_tokens, n_labels).
    """
    columns = edge_columns(choice.edge_features, X)
    structure = chain(X.offsets, choice.order)
    of_family = _of_codes if codes.ndim == 1 else _of_masks
    tokens = _Tokens(X, codes, weight, columns)
    rows: list[Any] = [None] * len(structure.families)
    if not isinstance(X.stored, np.ndarray) and len(columns):
        rows = clique_features(X, structure.families, columns)
    parts = zip(structure.families, rows, strict=True)
    families = tuple(of_family(choice, K, tokens, family, part) for family, part in parts)
    few = observed_pairs if codes.ndim == 1 else masked_pairs
    pairs = all_pairs if choice.feature_pairs == "all" else few
    node = node_pairs(X.stored, pairs, codes, weight, K, choice.min_frequency)
    return Pattern(X.stored.shape[1], K, node, families, columns, choice.fit_intercept)


def edge_columns(wanted: Features | None, X: SequenceArray) -> np.ndarray:
    """The columns that the parameter `edge_features` means."""
    if wanted is None:
        return np.arange(0)
    if isinstance(wanted, str) and wanted == "all":
        return np.arange(X.stored.shape[1])
    return columns_named(wanted, X, "edge_features")


def _of_codes(
    choice: WeightChoice, K: int, tokens: _Tokens, family: Family, rows: sp.csr_array | None
) -> CliquePattern:
    """Which weights the cliques of a family have, that show their labels; what has a token of
    weight 0 has weight 0.
    """
    _, codes, weight, columns = tokens
    size = family.nodes.shape[1]
    width = n_columns(K, size)
    least = choice.min_frequency
    shown = columns_of(codes, family, K)
    # all tokens of a sequence have its weight, unless tokens have their own: the least
    of_cliques = weight[family.nodes].min(axis=1)
    features = None
    if rows is not None:
        pairs = all_pairs if choice.feature_pairs == "all" else observed_pairs
        features = pairs(rows, shown, of_cliques, width, least)
    seen = np.ones(width, dtype=bool)
    if choice.transition_features == "observed":
        counts = _counts_of_columns(codes, weight, family, K)
        seen = counts >= least if least > 1 else counts > 0
    return CliquePattern(size, len(columns), features, np.flatnonzero(seen))


def _counts_of_columns(codes: np.ndarray, weight: np.ndarray, family: Family, K: int) -> np.ndarray:
    """Weight of the cliques that have each labelling, or that may have it."""
    of_cliques = weight[family.nodes].min(axis=1)
    if codes.ndim == 2:
        return _counts_of_moves(codes.astype(np.float64), of_cliques, family)
    width = n_columns(K, family.nodes.shape[1])
    return np.bincount(columns_of(codes, family, K), weights=of_cliques, minlength=width)


def count_transitions(
    choice: WeightChoice, K: int, X: SequenceArray, codes: np.ndarray, weight: np.ndarray
) -> list[np.ndarray]:
    """For each family by what weight its columns are seen."""
    families = chain(X.offsets, choice.order).families
    return [_counts_of_columns(codes, weight, family, K) for family in families]


def _of_masks(
    choice: WeightChoice, K: int, tokens: _Tokens, family: Family, rows: sp.csr_array | None
) -> CliquePattern:
    """The same where a token may have several labels: it shows each of them; clique features get
    all pairs.
    """
    _, masks, weight, columns = tokens
    size = family.nodes.shape[1]
    width = n_columns(K, size)
    least = choice.min_frequency
    of_cliques = weight[family.nodes].min(axis=1)
    features = None
    if rows is not None:
        features = all_pairs(rows, masks, of_cliques, width, least)
    every = np.arange(width)
    if choice.transition_features == "observed":
        counts = _counts_of_columns(masks, weight, family, K)
        every = every[counts >= least if least > 1 else counts > 0]
    return CliquePattern(size, len(columns), features, every)


def _counts_of_moves(masks: np.ndarray, weight: np.ndarray, family: Family) -> np.ndarray:
    """Weight of the cliques that may have each labelling."""
    first, *inner, last = family.nodes.T
    before = masks[first] * weight[:, None]
    for nodes in inner:
        width = before.shape[1] * masks.shape[1]
        before = (before[:, :, None] * masks[nodes][:, None, :]).reshape(len(nodes), width)
    counts: np.ndarray = before.T @ masks[last]
    return counts.ravel()
