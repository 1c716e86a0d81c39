"""Labellings of a clique that share a weight: those that differ by the order of its nodes alone, or
all in which its nodes agree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.structures import n_columns
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["TiedMap", "Ties", "equal_labels", "ties"]


class Ties(NamedTuple):
    """Which column each labelling has.

    ``column`` (width,) is that of each labelling; ``first`` (n,) a labelling of each column. The
    labellings ``order`` stand column by column, from ``bounds`` (n,) on.
    """

    column: np.ndarray
    first: np.ndarray
    order: np.ndarray
    bounds: np.ndarray

    @property
    def n(self) -> int:
        """The number of columns."""
        return len(self.first)

    def spread(self, table: np.ndarray) -> np.ndarray:
        """A number for each labelling (..., width), from those of columns (..., n)."""
        return table[..., self.column]

    def gather(self, table: np.ndarray) -> np.ndarray:
        """The sum over the labellings of each column."""
        return np.add.reduceat(table[..., self.order], self.bounds, axis=-1)


def ties(n_labels: int, size: int) -> Ties:
    """Those of `size` nodes whose order does not matter: columns stand in the order of their
    labellings with ascending labels.
    """
    labels = np.indices((n_labels,) * size).reshape(size, -1)
    ascending = np.sort(labels, axis=0)
    place = np.ravel_multi_index(tuple(ascending), (n_labels,) * size)
    assert len(place) == n_columns(n_labels, size)
    return _of_numbers(place)


def equal_labels(n_labels: int, size: int) -> Ties:
    """Column 0 are the labellings in which all nodes have the same label, column 1 all others, of
    which one label has none.
    """
    differ = np.ones(n_columns(n_labels, size), np.int64)
    differ[:: max(int(np.sum(n_labels ** np.arange(size))), 1)] = 0
    return _of_numbers(differ)


def _of_numbers(number: np.ndarray) -> Ties:
    """Labellings with the same number share a column."""
    _, first, column = np.unique(number, return_index=True, return_inverse=True)
    order = np.argsort(column, kind="stable")
    bounds = np.searchsorted(column[order], np.arange(len(first)))
    return Ties(column, first, order, bounds)


class TiedMap:
    """A map of features to columns, as one to labellings."""

    def __init__(self, to_columns: Any, tied: Ties) -> None:
        self.to_columns = to_columns
        self.tied = tied
        self.size = to_columns.size
        self.expanded_size = to_columns.expanded_size

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        self.to_columns.expand(w, W)

    def compress(self, W: np.ndarray) -> np.ndarray:
        w: np.ndarray = self.to_columns.compress(W)
        return w

    @property
    def grains(self) -> Grains:
        grains: Grains = self.to_columns.grains
        return grains

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """As the map itself, for labellings."""
        columns = np.empty((len(out), self.tied.n), out.dtype)
        self.to_columns.forward(W, rows, columns, scales)
        out[:] = self.tied.spread(columns)

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """As the map itself, for derivatives in the scores of labellings."""
        self.to_columns.scatter(self.tied.gather(R), rows, scales, W)
