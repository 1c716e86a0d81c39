"""Weights of cliques in files: those of pairs and triples side by side, as format 2 keeps them.

There a feature of edges has one row of columns, K**2 of pairs and behind them K**3 of triples,
while a pattern has a table for each family.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.containers.structures import clique_sizes, n_columns
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern, every_clique_pair

__all__ = ["EdgeTables", "joined", "parted"]


class EdgeTables(NamedTuple):
    """What a file says of edges: pairs (feature, column), None for all; columns with a weight; and
    ``place``, where each weight of the file stands in w.
    """

    features: CSR | None
    columns: np.ndarray
    place: np.ndarray


def joined(pattern: Pattern) -> EdgeTables:
    """The families of a pattern, side by side."""
    shifts = np.cumsum([0, *pattern.widths])
    columns = np.concatenate(
        [first + family.columns for first, family in zip(shifts, pattern.families)]
    )
    first, of_cliques, rest = _parts_of_w(pattern)
    pairs = [every_clique_pair(pattern, f) for f in range(len(pattern.families))]
    tables = []
    n = 0
    for of_family, width in zip(pairs, pattern.widths, strict=True):
        # the numbers of weights in w go through scipy's stack, and come out in the file's order
        number = np.arange(n, n + len(of_family.indices), dtype=np.float64) + 1  # 0 is no number
        shape = (len(of_family.indptr) - 1, width)
        tables.append(sp.csr_array((number, of_family.indices, of_family.indptr), shape=shape))
        n += len(number)
    table = csr(sp.csr_array(sp.hstack(tables)))
    place = np.concatenate([first, of_cliques[table.data.astype(np.int64) - 1], rest])
    every = all(family.features is None for family in pattern.families)
    features = None if every else CSR(table.indptr, table.indices, np.empty(0, np.int32))
    return EdgeTables(features, columns, place)


def parted(
    features: CSR | None, columns: np.ndarray, n_labels: int, order: int
) -> list[CliquePattern]:
    """The families that stand side by side in a file."""
    families = []
    first = 0
    for size in clique_sizes(order):
        width = n_columns(n_labels, size)
        here = (columns >= first) & (columns < first + width)
        of_family = None if features is None else _between(features, first, width)
        families.append(CliquePattern(size, of_family, columns[here] - first))
        first += width
    return families


def _between(pairs: CSR, first: int, width: int) -> CSR:
    """The pairs with some consecutive columns, counted from the first of these."""
    here = (pairs.indices >= first) & (pairs.indices < first + width)
    indptr = np.concatenate([[0], np.cumsum(here)])[pairs.indptr]
    return CSR(indptr, (pairs.indices[here] - first).astype(np.int32), np.empty(0, np.int32))


def _parts_of_w(pattern: Pattern) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the weights of nodes, of clique features, and of the rest."""
    sizes = pattern.sizes
    n = len(pattern.families)
    first = sizes[0]
    rest = first + sum(sizes[1 : n + 1])
    every = np.arange(pattern.size)
    return every[:first], every[first:rest], every[rest:]
