"""Weights of one fitted chain as the start of another, matched by label and by feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from sklearn_struct._whole_fits import as_published
from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.typing import Matrix
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.objectives.weight_patterns import Pattern, every_clique_pair, every_node_pair

__all__ = ["Start", "Target", "positions", "transfer"]

# of each family, the attribute that has the weights of its columns
MOVES = ("transition_", "transition2_")


class FittedChain(Protocol):
    """What is read of an estimator from which another one starts."""

    classes_: np.ndarray
    n_features_in_: int
    coef_: Matrix
    edge_coef_: Matrix
    edge_features_: np.ndarray
    intercept_: np.ndarray


class Target(NamedTuple):
    """Which weights are to be set, for which labels and features, and these features' names."""

    pattern: Pattern
    classes: np.ndarray
    n_features: int
    names: np.ndarray | None


class Start(NamedTuple):
    """Weights of a family of the source: of its labellings, ``table`` (width,), and of features,
    ``coef`` (width, n). ``columns`` are the source's features for each of the target's; -1 is none.
    """

    table: np.ndarray
    coef: Matrix
    columns: np.ndarray


# source, pattern, the source's column of X for each column -> the start of each family
CliqueStarts: TypeAlias = Callable[[Any, Pattern, np.ndarray], list[Start]]


def of_chain(source: FittedChain, pattern: Pattern, feature: np.ndarray) -> list[Start]:
    """The weights of a chain's pairs and triples."""
    # edges of graphs have features of their own
    known = getattr(source, "edge_features_", np.arange(0))
    columns = positions(known.tolist(), feature[pattern.edge_columns].tolist())
    starts = []
    first = 0
    for name, _ in zip(MOVES, pattern.families):
        table = np.ravel(getattr(source, name, []))  # a chain of first order knows no triples
        # triples stand behind pairs
        starts.append(Start(table, source.edge_coef_[first : first + len(table)], columns))
        first += len(table)
    return starts


def transfer(source: FittedChain, target: Target, cliques: CliqueStarts = of_chain) -> np.ndarray:
    """The compact parameters of `target` with the weights that `source` has for them, else 0.

    Raises
    ------
    InputTypeError
        If `source` is no fitted chain estimator or GraphCRF.
    LengthMismatchError
        If features can be matched neither by name nor by position.
    """
    of_cliques = "clique_transition_" if hasattr(source, "clique_transition_") else "transition_"
    names = ("coef_", of_cliques, "intercept_", "classes_")
    missing = [name for name in names if not hasattr(source, name)]
    if missing:
        raise InputTypeError(
            f"init must be a fitted chain estimator or GraphCRF; this {type(source).__name__} has "
            f"no {missing[0]}"
        )
    source = as_published(source)
    # of hidden states, where labels have some
    rows = getattr(source, "states_", source.classes_).tolist()
    label = positions(rows, target.classes.tolist())
    feature = _features(source, target)
    pattern = target.pattern
    K = len(label)
    node = _lookup(source.coef_, every_node_pair(pattern), feature, label)
    if pattern.n_scales == 1:
        node = np.mean(node, keepdims=True)
    features = []
    moves = []
    for f, start in enumerate(cliques(source, pattern, feature)):
        family = pattern.families[f]
        place = _labellings(label, len(rows), family.size)
        tied = family.ties(K)
        of_columns = place if tied is None else place[tied.first]
        there = np.where(of_columns < len(start.table), of_columns, -1)
        pairs = every_clique_pair(pattern, f)
        features.append(_lookup(start.coef, pairs, start.columns, there))
        known = np.zeros(len(there))
        known[there >= 0] = start.table[there[there >= 0]]
        moves.append(known[family.columns])
    intercept = (
        np.where(label >= 0, source.intercept_[label], 0.0)
        if pattern.fit_intercept
        else np.zeros(0)
    )
    return np.concatenate([node, *features, *moves, intercept[:K]])


def positions(old: list[Any], new: list[Any]) -> np.ndarray:
    """Where each new item stands among the old ones; -1 where it does not."""
    where = {item: i for i, item in enumerate(old)}
    return np.fromiter((where.get(item, -1) for item in new), dtype=np.int64, count=len(new))


def _labellings(label: np.ndarray, n: int, size: int) -> np.ndarray:
    """The columns of cliques of `size` nodes among those of n labels, whose codes are given; -1 for
    nowhere.
    """
    place = label
    for _ in range(size - 1):
        known = (place[:, None] >= 0) & (label >= 0)
        place = np.where(known, place[:, None] * n + label, -1).ravel()
    return place


def _features(source: FittedChain, target: Target) -> np.ndarray:
    """The column of `source` for each column of `target`, or -1."""
    names = getattr(source, "feature_names_in_", None)
    if names is not None and target.names is not None:
        return positions(names.tolist(), target.names.tolist())
    if source.n_features_in_ != target.n_features:
        raise LengthMismatchError(
            f"init has {source.n_features_in_} features but X has {target.n_features}, and not "
            "both have names"
        )
    return np.arange(target.n_features)


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
