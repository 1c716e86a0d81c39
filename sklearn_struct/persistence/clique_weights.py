"""Weights of cliques in files: those of pairs and triples side by side, as format 2 keeps them.

There a feature of edges has one row of columns, K**2 of pairs and behind them K**3 of triples,
while a pattern has a table for each family.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.containers.structures import clique_sizes, n_columns
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern, every_clique_pair
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.plain_values import Arrays

__all__ = ["OF_CHAINS", "CliqueFiles", "EdgeTables", "Families", "joined", "parted"]

# families of cliques, and the columns of X that condition them
Families: TypeAlias = tuple[tuple[CliquePattern, ...], np.ndarray]
USUAL_ORDER = 1  # that of files which say nothing of it, as they are older than the order


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
    features: CSR | None, columns: np.ndarray, n_features: int, n_labels: int, order: int
) -> list[CliquePattern]:
    """The families that stand side by side in a file."""
    families = []
    first = 0
    for size in clique_sizes(order):
        width = n_columns(n_labels, size)
        here = (columns >= first) & (columns < first + width)
        of_family = None if features is None else _between(features, first, width)
        families.append(CliquePattern(size, n_features, of_family, columns[here] - first))
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


class CliqueFiles(NamedTuple):
    """How weights of cliques are filed.

    ``put(pattern, where, arrays)`` gives fields, ``kinds`` their types; ``read(estimator, stored,
    where, arrays)`` gives the families and `Pattern.edge_columns`; ``place(pattern)`` where each
    weight of the file stands in w.
    """

    put: Callable[[Pattern, str, Arrays], dict[str, Any]]
    kinds: dict[str, Any]
    read: Callable[[Any, dict[str, Any], str, Arrays], Families]
    place: Callable[[Pattern], np.ndarray]


def _put_pairs_and_triples(pattern: Pattern, where: str, arrays: Arrays) -> dict[str, Any]:
    edges = joined(pattern)
    if edges.features is not None:
        checks.put_pairs(arrays, where + "edge", edges.features)
    arrays[where + "edge_columns"] = np.asarray(pattern.edge_columns, np.int64)
    arrays[where + "transitions"] = np.asarray(edges.columns, np.int64)
    checks.put_number(arrays, where + "order", pattern.order, USUAL_ORDER)
    return {"edge": edges.features is not None}


def _read_pairs_and_triples(
    chain: Any, stored: dict[str, Any], where: str, arrays: Arrays
) -> Families:
    K = checks.n_rows(chain)
    columns = checks.ascending(arrays, where + "edge_columns", stored["n_features"])
    order = checks.number(arrays, where + "order", USUAL_ORDER, chain)
    # pairs, and behind them triples, as `clique_weights` says
    width = sum(n_columns(K, size) for size in clique_sizes(order))
    transitions = checks.ascending(arrays, where + "transitions", width)
    edge = checks.pairs(arrays, where + "edge", len(columns), width) if stored["edge"] else None
    return tuple(parted(edge, transitions, len(columns), K, order)), columns


def _place_of_pairs_and_triples(pattern: Pattern) -> np.ndarray:
    return joined(pattern).place


OF_CHAINS = CliqueFiles(
    _put_pairs_and_triples,
    {"edge": bool},
    _read_pairs_and_triples,
    _place_of_pairs_and_triples,
)
