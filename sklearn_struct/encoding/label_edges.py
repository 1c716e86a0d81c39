"""Which pairs of labels score each other: all, those of a tree, or those that a user gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import xlogy

from sklearn_struct.exceptions import InputTypeError

__all__ = ["label_edges", "mutual_information"]

KINDS = ("full", "tree")


def label_edges(edges: Any, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Pairs (n_edges, 2) of numbers of labels, of codes (n_rows, n_labels) with weights of rows.

    Raises
    ------
    InputTypeError, ValueError
        With the number of the pair, if one is given that is none of two labels, or twice.
    """
    n = codes.shape[1]
    if not isinstance(edges, str):
        return _checked(edges, n)
    if edges == "full":
        return np.column_stack(np.triu_indices(n, 1)).astype(np.int64)
    return _tree(mutual_information(codes, weight))


def mutual_information(codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The mutual information (n_labels, n_labels) of each two labels among weighted rows."""
    share = weight / weight.sum()
    ones = (codes == 1).astype(np.float64)
    both = ones.T @ (ones * share[:, None])
    one = both.diagonal()
    information = np.zeros_like(both)
    # of the four cells of each table of two labels
    for joint, first, second in (
        (both, one, one),
        (one[:, None] - both, one, 1 - one),
        (one[None, :] - both, 1 - one, one),
        (1 - one[:, None] - one[None, :] + both, 1 - one, 1 - one),
    ):
        cell = np.maximum(joint, 0.0)
        apart = np.outer(first, second)
        information += xlogy(cell, cell) - xlogy(cell, np.where(cell > 0, apart, 1.0))
    positive: np.ndarray = np.maximum(information, 0.0)
    return positive


def _tree(information: np.ndarray) -> np.ndarray:
    """The edges of the spanning tree with the most mutual information (Chow and Liu 1968)."""
    # scipy takes a distance of 0 for no edge
    distance = np.triu(1.0 + information.max(initial=0.0) - information, 1)
    tree = minimum_spanning_tree(distance).tocoo()
    edges = np.column_stack([tree.row, tree.col]).astype(np.int64)
    return edges[np.lexsort(edges.T[::-1])]


def _checked(edges: Any, n: int) -> np.ndarray:
    """Pairs that were given, each with its smaller number first."""
    try:
        table = np.asarray(edges)
    except ValueError:
        raise InputTypeError("edges are no table, as rows differ in length") from None
    if table.size == 0:
        return np.zeros((0, 2), np.int64)
    if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu":
        raise InputTypeError(
            "edges must be 'full', 'tree' or an array (n_edges, 2) of numbers of labels, got an "
            f"array of {table.dtype} of shape {table.shape}"
        )
    outside = np.argwhere((table < 0) | (table >= n))
    if len(outside):
        row, end = outside[0]
        raise ValueError(
            f"edges[{row}] has label {table[row, end]}, but y has {n} columns, from 0 to {n - 1}"
        )
    pairs = np.sort(table.astype(np.int64), axis=1)
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(loops):
        raise ValueError(f"edges[{loops[0]}] leads from label {pairs[loops[0], 0]} to itself")
    _, first = np.unique(pairs, axis=0, return_index=True)
    again = np.setdiff1d(np.arange(len(pairs)), first)
    if len(again):
        row = again[0]
        raise ValueError(
            f"edges[{row}]: labels {pairs[row, 0]} and {pairs[row, 1]} are there twice"
        )
    return pairs
