"""How often the features of a joint model occur in labelled sequences: a row of counts for each
sequence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import chain, columns_of
from sklearn_struct.linear.places_of_pairs import places
from sklearn_struct.objectives.linear_potentials import clique_features
from sklearn_struct.objectives.weight_patterns import Pattern, every_clique_pair, every_node_pair

__all__ = ["Layout", "counted_features"]


class Layout(NamedTuple):
    """Weights of a joint model: perhaps one for each column of X, those of a chain, those of
    `n_distant` pairs of tokens at any distance, perhaps that of a constant 1.
    """

    pattern: Pattern
    inputs: bool
    constant: bool
    n_distant: int = 0

    @property
    def size(self) -> int:
        return int(self._bounds[-1]) + self.constant

    @property
    def _bounds(self) -> np.ndarray:
        sizes = [self.pattern.n_features * self.inputs, self.pattern.size, self.n_distant]
        return np.cumsum(sizes)

    def split(self, w: np.ndarray) -> list[np.ndarray]:
        """The four parts of a parameter vector."""
        return np.split(w, self._bounds)

    def join(
        self,
        inputs: np.ndarray,
        chain: np.ndarray,
        constant: float,
        distant: np.ndarray | None = None,
    ) -> np.ndarray:
        """A vector of the parts that there are; without `distant` there are zeros in its place."""
        return np.concatenate(
            [
                inputs[: self.pattern.n_features * self.inputs],
                chain,
                np.zeros(self.n_distant) if distant is None else distant,
                [constant] * self.constant,
            ]
        )


def counted_features(
    layout: Layout, X: SequenceArray, codes: np.ndarray, distant: sp.csr_array | None = None
) -> sp.csr_array:
    """The matrix (n_sequences, n_weights) whose product with w is the score of each sequence with
    its labels.

    What has no weight is not counted. The counts of pairs of tokens at any distance, `distant`, are
    taken as they are.
    """
    parts = [_chain_counts(layout.pattern, X, codes)]
    if layout.inputs:
        n = X.offsets[-1]
        of_sequences = sp.csr_array((np.ones(n), np.arange(n), X.offsets), shape=(len(X), n))
        parts.insert(0, of_sequences @ sp.csr_array(X.tokens))
    if layout.n_distant:
        parts.append(distant)
    if layout.constant:
        parts.append(sp.csr_array(np.ones((len(X), 1))))
    return sp.csr_array(sp.hstack(parts))


def _chain_counts(pattern: Pattern, X: SequenceArray, codes: np.ndarray) -> sp.csr_array:
    K = pattern.n_labels
    structure = chain(X.offsets, pattern.order)
    owner = np.repeat(np.arange(len(X)), X.lengths)
    first = np.cumsum([0, *pattern.sizes])
    of_features = first[1:]
    of_columns = of_features[len(pattern.families) :]
    parts = [(_places(X.tokens, codes, every_node_pair(pattern)), owner, 0)]
    for f, family in enumerate(structure.families):
        columns = columns_of(codes, family, K)
        clique_owner = owner[family.nodes[:, 0]]
        if pattern.families[f].n_features:
            (features,) = clique_features(X, [family], pattern.edge_columns)
            where = _places(features, columns, every_clique_pair(pattern, f))
            parts.append((where, clique_owner, of_features[f]))
        # columns without a weight stay at -1 and are left out
        place = np.full(pattern.widths[f], -1)
        place[pattern.families[f].columns] = np.arange(len(pattern.families[f].columns))
        parts.append((_once(place[columns]), clique_owner, of_columns[f]))
    if pattern.fit_intercept:
        parts.append((_once(codes), owner, pattern.size - K))
    return _stacked(parts, (len(X), pattern.size))


def _once(places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, place and value where each row counts once."""
    return np.arange(len(places)), places, np.ones(len(places))


def _places(X: Any, codes: np.ndarray, pairs: CSR) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, place among `pairs` and value of each stored value of X, paired with the code of its
    row; -1 for nowhere.
    """
    stored = csr(X)
    return (
        np.repeat(np.arange(len(codes)), np.diff(stored.indptr)),
        places(stored, codes, pairs),
        stored.data,
    )


def _stacked(parts: list[Any], shape: tuple[int, int]) -> sp.csr_array:
    """Parts ((row, place, value), sequence of each row, first column) as one matrix of sums."""
    rows = []
    columns = []
    values = []
    for (row, place, value), owner, first in parts:
        has = place >= 0
        rows.append(owner[row[has]])
        columns.append(first + place[has])
        values.append(value[has].astype(np.float64))
    where = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_array(sp.coo_array((np.concatenate(values), where), shape=shape))
