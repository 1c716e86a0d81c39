"""Which weights a chain has: what the tokens of positive weight show, or everything."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import chain
from sklearn_struct.encoding.features.column_choice import columns_named
from sklearn_struct.objectives.parameters import (
    Pattern,
    all_pairs,
    edge_features,
    masked_pairs,
    observed_pairs,
)

__all__ = ["observe"]


class _Cliques(NamedTuple):
    """Neighbours that depend on each other: codes of their labels, weights, and the edges that end
    with them.
    """

    codes: np.ndarray
    weight: np.ndarray
    edges: np.ndarray
    width: int  # number of codes


def observe(estimator: Any, X: SequenceArray, codes: np.ndarray, weight: np.ndarray) -> Pattern:
    """The pattern that the parameters of a chain estimator give for these tokens; `order` is 1
    where it has none.
    """
    if codes.ndim == 2:
        return _observe_masks(estimator, X, codes, weight)
    K = len(estimator.classes_)
    order = getattr(estimator, "order", 1)
    least = estimator.min_frequency
    columns = _edge_columns(estimator, X)
    cliques = _cliques(X.offsets, codes, weight, K)[:order]
    node = edge = None
    if sp.issparse(X.tokens):
        pairs = all_pairs if estimator.feature_pairs == "all" else observed_pairs
        node = pairs(X.tokens, codes, weight, K, least)
        if len(columns):
            edge_X = edge_features(X, columns)
            found = [pairs(edge_X[c.edges], c.codes, c.weight, c.width, least) for c in cliques]
            edge = found[0] if order == 1 else _side_by_side(found, [c.width for c in cliques])
    transitions = []
    first = 0
    for c in cliques:
        seen = np.ones(c.width, dtype=bool)
        if estimator.transition_features == "observed":
            counts = np.bincount(c.codes, weights=c.weight, minlength=c.width)
            seen = counts >= least if least > 1 else counts > 0
        transitions.append(first + np.flatnonzero(seen))
        first += c.width
    every = np.concatenate(transitions)
    return Pattern(X.tokens.shape[1], K, node, edge, columns, every, estimator.fit_intercept, order)


def _edge_columns(estimator: Any, X: SequenceArray) -> np.ndarray:
    """The columns that the parameter `edge_features` means."""
    wanted = estimator.edge_features
    if wanted is None:
        return np.arange(0)
    if isinstance(wanted, str) and wanted == "all":
        return np.arange(X.tokens.shape[1])
    return columns_named(wanted, X, "edge_features")


def _observe_masks(
    estimator: Any, X: SequenceArray, masks: np.ndarray, weight: np.ndarray
) -> Pattern:
    """The same where a token may have several labels (masks): it shows each of them; edge features
    get all pairs.
    """
    K = len(estimator.classes_)
    order = getattr(estimator, "order", 1)
    least = estimator.min_frequency
    columns = _edge_columns(estimator, X)
    node = edge = None
    if sp.issparse(X.tokens):
        pick = all_pairs if estimator.feature_pairs == "all" else masked_pairs
        node = pick(X.tokens, masks, weight, K, least)
        if len(columns):
            edges = chain(X.offsets).edges
            width = K**2 if order == 1 else K**2 + K**3
            edge = all_pairs(
                edge_features(X, columns), masks, weight[edges].min(axis=1), width, least
            )
    every = np.arange(K**2 if order == 1 else K**2 + K**3)
    if estimator.transition_features == "observed":
        counts = _counts_of_moves(X.offsets, masks, weight, order)
        every = every[counts >= least if least > 1 else counts > 0]
    return Pattern(X.tokens.shape[1], K, node, edge, columns, every, estimator.fit_intercept, order)


def _counts_of_moves(
    offsets: np.ndarray, masks: np.ndarray, weight: np.ndarray, order: int
) -> np.ndarray:
    """Weight of the pairs of neighbours, and of the triples, that may have each two or three
    labels.
    """
    edges = chain(offsets).edges
    m = masks.astype(np.float64)
    left = m[edges[:, 0]]
    right = m[edges[:, 1]]
    w = weight[edges].min(axis=1)
    pairs = (left * w[:, None]).T @ right
    if order == 1:
        return pairs.ravel()
    second = 1 + np.flatnonzero(edges[:-1, 1] == edges[1:, 0])
    w = np.minimum(w[second - 1], w[second])
    K = masks.shape[1]
    two = (left[second - 1] * w[:, None])[:, :, None] * left[second][:, None, :]
    return np.concatenate([pairs.ravel(), (two.reshape(-1, K * K).T @ right[second]).ravel()])


def _cliques(offsets: np.ndarray, codes: np.ndarray, weight: np.ndarray, K: int) -> list[_Cliques]:
    """Pairs of neighbours, and triples; what has a token of weight 0 has weight 0."""
    edges = chain(offsets).edges
    second = 1 + np.flatnonzero(edges[:-1, 1] == edges[1:, 0])  # edges that end triples
    triples = np.column_stack([edges[second - 1, 0], edges[second]])
    pair_codes = codes[edges[:, 0]] * K + codes[edges[:, 1]]
    pair_weight = weight[edges].min(axis=1)
    triple_codes = codes[triples[:, 0]].astype(np.int64) * K * K + pair_codes[second]
    return [
        _Cliques(pair_codes, pair_weight, np.arange(len(edges)), K**2),
        _Cliques(triple_codes, weight[triples].min(axis=1), second, K**3),
    ]


def _side_by_side(parts: list[CSR], widths: list[int]) -> CSR:
    """Pairs (row, column) of several tables whose columns follow each other."""
    tables = [
        sp.csr_array(
            (np.ones(len(part.indices)), part.indices, part.indptr),
            shape=(len(part.indptr) - 1, width),
        )
        for part, width in zip(parts, widths, strict=True)
    ]
    every = csr(sp.csr_array(sp.hstack(tables)))
    return CSR(every.indptr, every.indices, np.empty(0, np.int32))
