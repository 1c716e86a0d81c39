"""What a fitted chain has learned, as matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.structures import n_columns
from sklearn_struct.objectives.weight_patterns import Pattern, Segments, split

__all__ = ["BaseLearned"]


class BaseLearned(Published):
    """Properties that read ``_pattern`` (which weights exist) and ``_w`` (their values).

    They make arrays, which `Published` lets be read-only.
    """

    _pattern: Pattern

    @property
    def coef_(self) -> Any:
        """Weights of features: (n_labels, n_features), a csr_array if X was sparse."""
        pattern = self._fitted("_pattern")
        if pattern.n_scales:
            return np.diag(np.broadcast_to(self._segments().node, pattern.n_labels))
        return _matrix(pattern.node, self._segments().node, pattern.n_labels, pattern.n_features)

    @property
    def edge_coef_(self) -> Any:
        """Weights of the edge features: (n_labels**2, n_edge_features), row j * n_labels + k;
        triples behind pairs.
        """
        tables = self._tables_of_features()
        if not sp.issparse(tables[0]):
            return np.concatenate(tables)
        return sp.csr_array(sp.vstack(tables))

    def _tables_of_features(self) -> list[Any]:
        """For each family the weights of features of cliques: a row for each labelling."""
        pattern = self._fitted("_pattern")
        tables = []
        widths = pattern.tied_widths
        parts = zip(pattern.families, self._segments().features, widths, strict=True)
        for family, weights, width in parts:
            table = _matrix(family.features, weights, width, family.n_features)
            tied = family.ties(pattern.n_labels)
            if family.potts:
                table = table.toarray()  # of one column, which stands in many places
            tables.append(table if tied is None else table[tied.column])
        return tables

    @property
    def transition_(self) -> np.ndarray:
        """Weights of transitions (n_labels, n_labels), from row label to column label; 0 where
        there is none.
        """
        return self._moves(2)

    def _moves(self, size: int) -> np.ndarray:
        """The weights of all labellings of cliques of this size, with a dimension for each node."""
        pattern = self._fitted("_pattern")
        for family, weights in zip(pattern.families, self._segments().columns, strict=True):
            if family.size == size:
                table = np.zeros(n_columns(pattern.n_labels, size))
                tied = family.ties(pattern.n_labels)
                table[family.columns] = weights
                if tied is not None:
                    table = tied.spread(table)
                return table.reshape((pattern.n_labels,) * size)
        raise AttributeError(f"this {type(self).__name__} has no weights of {size} labels in a row")

    @property
    def intercept_(self) -> np.ndarray:
        """Unpenalised weight of each label (n_labels,); zeros with ``fit_intercept=False``."""
        intercept = self._segments().intercept
        # a copy, lest users write into the weights
        return intercept.copy() if len(intercept) else np.zeros(self._pattern.n_labels)

    def _segments(self) -> Segments:
        """The parts of the fitted parameter vector."""
        return split(self._fitted("_w"), self._pattern)

    def _fitted(self, name: str) -> Any:
        """A private learned attribute; its absence shows as that of the public one that was asked
        for.
        """
        if name not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return vars(self)[name]


def _matrix(pairs: CSR | None, weights: np.ndarray, n_rows: int, n_columns: int) -> Any:
    """Compact weights of pairs (column, row) as a matrix, dense if every pair has one."""
    if pairs is None:
        # weights are ordered by feature, matrices by label
        return weights.reshape(n_columns, n_rows).T.copy()
    return sp.csr_array(
        sp.csc_array((weights, pairs.indices, pairs.indptr), shape=(n_rows, n_columns))
    )
