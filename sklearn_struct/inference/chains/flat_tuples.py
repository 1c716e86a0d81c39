"""Structures and potentials of chains as kernels take them: flat tuples of arrays.

A call of a compiled kernel costs three microseconds more for nested tuples, of eighteen for a short
sequence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR, as_matrix
from sklearn_struct.containers.structures import Potentials, Structure

__all__ = [
    "NO_ROWS",
    "Links",
    "PairRows",
    "Pairs",
    "TripleLinks",
    "Triples",
    "links",
    "rows_of_pairs",
    "tables",
    "with_triple_links",
    "with_triples",
]


class Pairs(NamedTuple):
    """Scores of labels (n, K) and of pairs (n_edges or 1, K * K), column j * K + k for (j, k)."""

    node: np.ndarray
    edge: np.ndarray


class PairRows(NamedTuple):
    """Rows of a table (n_rows, K * K) that pairs combine: the pair that ends at token t has
    ``data[p]`` times row ``indices[p]``, for p from ``indptr[t]`` to before ``indptr[t + 1]``.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    table: np.ndarray


NO_ROWS = PairRows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros((0, 1)))


class Triples(NamedTuple):
    """The same, and those of three in a row (n_triples or 1, K ** 3), (i * K + j) * K + k."""

    node: np.ndarray
    edge: np.ndarray
    triple: np.ndarray


class Links(NamedTuple):
    """Tokens, edges, and which edges a sequence has."""

    offsets: np.ndarray
    edges: np.ndarray
    edge_offsets: np.ndarray


class TripleLinks(NamedTuple):
    """The same, and which three tokens in a row a sequence has."""

    offsets: np.ndarray
    edges: np.ndarray
    edge_offsets: np.ndarray
    triple_offsets: np.ndarray


def tables(potentials: Potentials) -> Pairs | Triples:
    """The tables of potentials side by side."""
    node, cliques = potentials
    return Pairs(node, cliques[0]) if len(cliques) == 1 else Triples(node, *cliques)


def links(structure: Structure) -> Links | TripleLinks:
    """The arrays of a structure of `chain` side by side."""
    offsets, families, _ = structure
    if len(families) == 1:
        return Links(offsets, *families[0])
    return TripleLinks(offsets, *families[0], families[1].offsets)


def rows_of_pairs(rows: PairRows, structure: Links) -> sp.csr_array:
    """How strongly each pair has each row, (n_edges, n_rows)."""
    strength = as_matrix(CSR(rows.indptr, rows.indices, rows.data), len(rows.table))
    return strength[structure.edges[:, 1]]


def with_triples(potentials: Potentials) -> Triples:
    """Tables for kernels of both orders: where there are no triples, their table has no columns."""
    node, cliques = potentials
    triple = cliques[1] if len(cliques) == 2 else np.zeros((1, 0), cliques[0].dtype)
    return Triples(node, cliques[0], triple)


def with_triple_links(structure: Structure) -> TripleLinks:
    """Tokens, edges and triples for kernels of both orders."""
    offsets, families, _ = structure
    triple_offsets = families[1].offsets if len(families) == 2 else np.zeros_like(offsets)
    return TripleLinks(offsets, *families[0], triple_offsets)
