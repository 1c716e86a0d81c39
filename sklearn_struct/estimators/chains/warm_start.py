"""Weights of one fitted chain as the start of another, matched by label and by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct._published import as_published
from sklearn_struct.containers.csr import CSR
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.objectives.parameters import every_edge_pair, every_node_pair

__all__ = ["transfer"]


def transfer(source: Any, target: Any) -> np.ndarray:
    """The compact parameters of `target` (its pattern is known) with the weights that `source` has
    for them, else 0.

    Raises
    ------
    InputTypeError
        If `source` is no fitted chain estimator.
    LengthMismatchError
        If features can be matched neither by name nor by position.
    """
    missing = [
        name
        for name in ("coef_", "transition_", "intercept_", "classes_")
        if not hasattr(source, name)
    ]
    if missing:
        raise InputTypeError(
            f"init must be a fitted chain estimator; this {type(source).__name__} has no "
            f"{missing[0]}"
        )
    source = as_published(source)
    label = _positions(source.classes_.tolist(), target.classes_.tolist())
    feature = _features(source, target)
    pattern = target._pattern
    K = len(label)
    pair = _columns(label, len(source.classes_), pattern.order)
    table = np.concatenate(
        [np.ravel(getattr(source, name, [])) for name in ("transition_", "transition2_")]
    )
    pair[pair >= len(table)] = -1  # a chain of first order knows no triples
    node = _lookup(source.coef_, every_node_pair(pattern), feature, label)
    columns = _positions(source.edge_features_.tolist(), feature[pattern.edge_columns].tolist())
    edge = _lookup(source.edge_coef_, every_edge_pair(pattern), columns, pair)
    moves = np.where(pair >= 0, table[pair], 0.0)[pattern.transitions]
    intercept = (
        np.where(label >= 0, source.intercept_[label], 0.0)
        if pattern.fit_intercept
        else np.zeros(0)
    )
    return np.concatenate([node, edge, moves, intercept[:K]])


def _positions(old: list[Any], new: list[Any]) -> np.ndarray:
    """Where each new item stands among the old ones; -1 where it does not."""
    where = {item: i for i, item in enumerate(old)}
    return np.fromiter((where.get(item, -1) for item in new), dtype=np.int64, count=len(new))


def _columns(label: np.ndarray, n: int, order: int) -> np.ndarray:
    """Where each column of an edge stands among those of a chain of n labels, whose codes are
    given; -1 for nowhere.
    """
    before = label
    found = []
    for power in range(1, order + 1):
        known = (before[:, None] >= 0) & (label >= 0)
        before = np.where(known, before[:, None] * n + label, -1).ravel()
        found.append(np.where(before >= 0, before + (n * n if power == 2 else 0), -1))
    return np.concatenate(found)


def _features(source: Any, target: Any) -> np.ndarray:
    """The column of `source` for each column of `target`, or -1."""
    names = [getattr(estimator, "feature_names_in_", None) for estimator in (source, target)]
    if names[0] is not None and names[1] is not None:
        return _positions(names[0].tolist(), names[1].tolist())
    if source.n_features_in_ != target.n_features_in_:
        raise LengthMismatchError(
            f"init has {source.n_features_in_} features but X has {target.n_features_in_}, and not "
            "both have names"
        )
    return np.arange(target.n_features_in_)


def _lookup(matrix: Any, pairs: CSR, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """matrix[rows[k], columns[f]] for all pairs (f, k); 0 where either is unknown."""
    f = np.repeat(columns, np.diff(pairs.indptr))
    k = rows[pairs.indices]
    known = (f >= 0) & (k >= 0)
    found = np.zeros(len(f))
    if np.any(known):
        picked = (
            sp.csr_matrix(matrix)[k[known], f[known]]
            if sp.issparse(matrix)
            else matrix[k[known], f[known]]
        )
        found[known] = np.asarray(picked).ravel()
    return found
