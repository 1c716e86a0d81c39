"""Which labellings of cliques there are if nodes are of several types."""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.structures import Family, columns_of
from sklearn_struct.encoding.graphs import CALLED, EDGES
from sklearn_struct.encoding.labels.typed_labels import TypedLabels
from sklearn_struct.objectives.weight_patterns import CliquePattern

__all__ = ["possible", "unseen"]


def possible(
    pattern: CliquePattern, family: Family, types: np.ndarray, typed: TypedLabels
) -> CliquePattern:
    """A pattern without weights of labellings that no clique of the family can have."""
    K = len(typed.type_of)
    slices = list(typed.slices.values())
    can_be = np.zeros((K,) * pattern.size, bool)
    for types_of_clique in np.unique(types[family.nodes], axis=0).tolist():
        can_be[tuple(slices[number] for number in types_of_clique)] = True
    tied = pattern.ties(K)
    columns = np.flatnonzero(can_be)
    if tied is not None:
        columns = np.unique(tied.column[columns])
    features = pattern.features
    if features is not None:
        features = _with_columns(features, columns)
    return pattern._replace(columns=columns, features=features)


def _with_columns(pairs: CSR, columns: np.ndarray) -> CSR:
    """The pairs (feature, column) with one of the columns."""
    here = np.isin(pairs.indices, columns)
    indptr = np.concatenate([[0], np.cumsum(here)])[pairs.indptr]
    return CSR(indptr, pairs.indices[here], pairs.data)


def unseen(
    name: str, pattern: CliquePattern, family: Family, types: np.ndarray, typed: TypedLabels
) -> str | None:
    """Where the first clique is whose nodes are of types for which the pattern has no weights."""
    K = len(typed.type_of)
    firsts = np.array([codes.start for codes in typed.slices.values()])
    # all labellings of such types have weights, or none has
    column = columns_of(firsts[types], family, K)
    tied = pattern.ties(K)
    if tied is not None:
        column = tied.column[column]
    rows = np.flatnonzero(~np.isin(column, pattern.columns))
    if not len(rows):
        return None
    row = rows[0]
    i = int(np.searchsorted(family.offsets, row, side="right")) - 1
    kinds = [list(typed.classes)[number] for number in types[family.nodes[row]].tolist()]
    what = CALLED.get(pattern.size, "clique")
    if name != EDGES:
        what = f"{what} of {name!r}"
    turned = "" if pattern.symmetric else " in this order"
    return (
        f"X[{i}], {what} {row - family.offsets[i]}: its nodes are of the types "
        f"{', '.join(map(repr, kinds))}, and fit has seen none between these{turned}"
    )
