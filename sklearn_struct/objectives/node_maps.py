"""The map from features of nodes to their scores: which one serves for X."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.sparse_and_dense import number_of_dense
from sklearn_struct.linear.dense import DenseMap
from sklearn_struct.linear.lookup_for_prediction import Lookup, LookupMap
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.scaled_scores import ScaleMap
from sklearn_struct.linear.sparse_beside_dense import SumMap, first_rows
from sklearn_struct.objectives.weight_patterns import Pattern, every_node_pair

__all__ = ["NodeMap", "by_matrix", "dense_columns", "lookup", "node_map_of", "without_zeros"]

NodeMap: TypeAlias = DenseMap | RowsMap | LookupMap | SumMap | ScaleMap

# share of other values than 0 below which loops over them are faster than matrix products
SPARSE = 0.25


def by_matrix(pattern: Pattern, X: SequenceArray) -> bool:
    """Whether tokens and weights are multiplied as dense matrices."""
    return pattern.node is None and isinstance(X.stored, np.ndarray)


def dense_columns(pattern: Pattern, X: SequenceArray) -> int:
    """How many columns of X, the last ones, are multiplied as a matrix beside sparse ones: none
    unless each of them has a weight for every label.
    """
    n = number_of_dense(X.stored)
    if n == 0 or pattern.n_scales or pattern.node is None:
        return 0 if pattern.n_scales else n
    n_pairs = np.diff(pattern.node.indptr[-n - 1 :])
    return n if np.all(n_pairs == pattern.n_scores) else 0


def without_zeros(X: SequenceArray) -> SequenceArray:
    """X itself, or, if it is a matrix of mostly zeros, the same as a sparse one."""
    # a fit reads X hundreds of times, so a copy without zeros pays
    if not isinstance(X.stored, np.ndarray):
        return X
    if np.count_nonzero(X.tokens) >= SPARSE * X.tokens.size:
        return X
    return SequenceArray(sp.csr_array(X.tokens), X.offsets)


def lookup(pattern: Pattern, n_dense: int = 0) -> Lookup:
    """What `bind` takes to predict, for any X that is not multiplied as a matrix, but for the last
    `n_dense` columns.
    """
    n_sparse = pattern.n_features - n_dense
    return Lookup(first_rows(every_node_pair(pattern), n_sparse), pattern.n_scores)


def node_map_of(
    pattern: Pattern, X: SequenceArray, dtype: np.dtype, table: Lookup | None
) -> NodeMap:
    """The map of X; with `table` for a single pass, forward."""
    if pattern.n_scales:
        scores = X.tokens.toarray() if sp.issparse(X.tokens) else X.tokens
        return ScaleMap(np.asarray(scores, dtype=dtype), pattern.n_scales)
    if by_matrix(pattern, X):
        return DenseMap(np.ascontiguousarray(X.tokens, dtype=dtype), pattern.n_scores)
    if not dense_columns(pattern, X):
        # of ones that are not written out `tokens` would be a copy
        rows = X.stored if sp.issparse(X.stored) else X.tokens
        return _sparse_map(pattern, rows, dtype, table)
    sparse = _sparse_map(pattern, X.stored.sparse, dtype, table)
    dense = np.ascontiguousarray(X.stored.dense, dtype=dtype)
    return SumMap(sparse, DenseMap(dense, pattern.n_scores))


def _sparse_map(
    pattern: Pattern, rows: sp.csr_array, dtype: np.dtype, table: Lookup | None
) -> RowsMap | LookupMap:
    """The map of rows that have the first features of the pattern, or all of them."""
    if table is not None:
        # a single pass: sorting its indices would cost more than it saves
        return LookupMap(csr(rows, dtype, canonical=False, single=True), table)
    pairs = first_rows(every_node_pair(pattern), rows.shape[1])
    return RowsMap(csr(rows, dtype, single=True), pairs, pattern.n_scores)
