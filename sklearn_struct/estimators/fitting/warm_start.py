"""Weights of one fitted chain as the start of another, matched by label and by feature."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from sklearn_struct._whole_fits import as_published
from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.typing import Matrix
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.objectives.weight_patterns import Pattern, every_clique_pair, every_node_pair

__all__ = ["Target", "transfer"]

# of each family, the attribute that has the weights of its columns
MOVES = ("transition_", "transition2_")


class FittedChain(Protocol):
    """What is read of an estimator from which another one starts."""

    classes_: np.ndarray
    n_features_in_: int
    coef_: Matrix
    edge_coef_: Matrix
    intercept_: np.ndarray


class Target(NamedTuple):
    """Which weights are to be set, for which labels and features, and these features' names."""

    pattern: Pattern
    classes: np.ndarray
    n_features: int
    names: np.ndarray | None


def transfer(source: FittedChain, target: Target) -> np.ndarray:
    """The compact parameters of `target` with the weights that `source` has for them, else 0.

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
    label = _positions(source.classes_.tolist(), target.classes.tolist())
    feature = _features(source, target)
    pattern = target.pattern
    K = len(label)
    node = _lookup(source.coef_, every_node_pair(pattern), feature, label)
    columns = _edge_features(source, pattern, feature)
    features = []
    moves = []
    first = 0
    place = label
    for f, (family, name) in enumerate(zip(pattern.families, MOVES)):
        place = _further(place, label, len(source.classes_))
        table = np.ravel(getattr(source, name, []))  # a chain of first order knows no triples
        tied = family.ties(K)
        of_columns = place if tied is None else place[tied.first]
        rows = np.where(of_columns < len(table), of_columns, -1)
        of_features = np.where(rows >= 0, first + rows, -1)
        pairs = every_clique_pair(pattern, f)
        features.append(_lookup(source.edge_coef_, pairs, columns, of_features))
        known = np.zeros(len(rows))
        known[rows >= 0] = table[rows[rows >= 0]]
        moves.append(known[family.columns])
        first += len(table)
    intercept = (
        np.where(label >= 0, source.intercept_[label], 0.0)
        if pattern.fit_intercept
        else np.zeros(0)
    )
    return np.concatenate([node, *features, *moves, intercept[:K]])


def _positions(old: list[Any], new: list[Any]) -> np.ndarray:
    """Where each new item stands among the old ones; -1 where it does not."""
    where = {item: i for i, item in enumerate(old)}
    return np.fromiter((where.get(item, -1) for item in new), dtype=np.int64, count=len(new))


def _further(before: np.ndarray, label: np.ndarray, n: int) -> np.ndarray:
    """Columns of cliques with one more node, among those of n labels, whose codes are given; -1 for
    nowhere.
    """
    known = (before[:, None] >= 0) & (label >= 0)
    return np.where(known, before[:, None] * n + label, -1).ravel()


def _features(source: FittedChain, target: Target) -> np.ndarray:
    """The column of `source` for each column of `target`, or -1."""
    names = getattr(source, "feature_names_in_", None)
    if names is not None and target.names is not None:
        return _positions(names.tolist(), target.names.tolist())
    if source.n_features_in_ != target.n_features:
        raise LengthMismatchError(
            f"init has {source.n_features_in_} features but X has {target.n_features}, and not "
            "both have names"
        )
    return np.arange(target.n_features)


def _edge_features(source: FittedChain, pattern: Pattern, feature: np.ndarray) -> np.ndarray:
    """The edge feature of `source` for each of the target's, or -1; ``feature[f]`` is the source's
    column of X for column f.
    """
    n = pattern.families[0].n_features
    own = getattr(source, "edge_features_", None)
    if own is not None:
        # those of a chain are columns of X
        columns = feature[pattern.edge_columns].tolist()
        return _positions(own.tolist(), columns) if columns else np.full(n, -1)
    known = source.edge_coef_.shape[1]
    if n and known and not len(pattern.edge_columns):
        if n != known:
            raise LengthMismatchError(f"init has {known} features of edges, but X has {n}")
        return np.arange(n)
    return np.full(n, -1)


def _lookup(matrix: Matrix, pairs: CSR, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """matrix[rows[k], columns[f]] for all pairs (f, k); 0 where either is unknown."""
    f = np.repeat(columns, np.diff(pairs.indptr))
    k = rows[pairs.indices]
    # what either model lacks starts from 0
    known = (f >= 0) & (k >= 0)
    values = np.zeros(len(f))
    if np.any(known):
        picked = (
            sp.csr_matrix(matrix)[k[known], f[known]]
            if sp.issparse(matrix)
            else matrix[k[known], f[known]]
        )
        values[known] = np.asarray(picked).ravel()
    return values
