"""What kernels receive: the tokens of all examples of a batch, one after the other, as NamedTuples of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

__all__ = [
    "CSR",
    "Block",
    "Potentials",
    "Structure",
    "Trees",
    "blocks",
    "chain",
    "csr",
    "cut",
    "ends",
    "object_array",
]


class CSR(NamedTuple):
    """Compressed rows: row r holds ``indices[indptr[r]:indptr[r + 1]]`` (int64 indptr, int32 indices)."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


class Structure(NamedTuple):
    """Who depends on whom, for a few consecutive examples.

    ``offsets`` (n + 1) bounds the nodes of example i, ``edge_offsets`` (n + 1) its edges, and
    ``edges`` (n_edges, r) names the r nodes of each clique. All int64.
    """

    offsets: np.ndarray
    edges: np.ndarray
    edge_offsets: np.ndarray


class Potentials(NamedTuple):
    """Log-potentials; marginals, gradients and rewards have the same shape.

    ``node`` (n_nodes, K); ``edge`` (n_edges, K**r), or (1, K**r) when all edges share one table. Edges of a chain of
    second order have K**3 more columns, for the triples that end with them.
    """

    node: np.ndarray
    edge: np.ndarray


class Trees(NamedTuple):
    """Binary trees, the nodes of all in post-order: the left child's nodes, the right child's, then the node itself.

    ``offsets`` (n + 1, int64) bounds the nodes of example i, whose root is the last. ``left``, ``right`` and ``parent``
    are numbers of nodes: -1, -1 where a node stands over one word, and parent -1 at a root. ``start`` and ``stop``
    bound the words below a node, counted from the first of the sentence. All but the offsets int32.
    """

    offsets: np.ndarray
    symbol: np.ndarray
    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    start: np.ndarray
    stop: np.ndarray


class Block(NamedTuple):
    """Consecutive examples that one kernel call works on, as ranges of the whole data."""

    examples: slice
    tokens: slice
    edges: slice
    structure: Structure


def csr(matrix: Any, dtype: Any = None, canonical: bool = True) -> CSR:
    """The CSR of a scipy sparse matrix in the index types of kernels; sorted and without duplicates if `canonical`."""
    if not sp.issparse(matrix) or matrix.format != "csr":
        matrix = sp.csr_array(matrix)
    if canonical and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return CSR(
        np.require(matrix.indptr, np.int64, ["C", "W"]),
        np.require(matrix.indices, np.int32, ["C", "W"]),
        np.require(matrix.data, dtype or matrix.dtype, ["C", "W"]),
    )


def chain(offsets: np.ndarray) -> Structure:
    """The structure of linear chains: an edge between each token and the next of the same sequence."""
    offsets = np.asarray(offsets, dtype=np.int64)
    lengths = np.diff(offsets)
    n_edges = np.maximum(lengths - 1, 0)
    edge_offsets = np.concatenate([[0], np.cumsum(n_edges)])
    is_left = np.ones(offsets[-1], dtype=bool)
    is_left[offsets[1:][lengths > 0] - 1] = False
    edges = np.empty((edge_offsets[-1], 2), dtype=np.int64)
    edges[:, 0] = np.flatnonzero(is_left)
    np.add(edges[:, 0], 1, out=edges[:, 1])
    return Structure(offsets, edges, edge_offsets)


def ends(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """First and last tokens of the sequences that are not empty."""
    first, stop = structure.offsets[:-1], structure.offsets[1:]
    return first[first < stop], stop[first < stop] - 1


def blocks(offsets: np.ndarray, n_labels: int, n_tokens: int = 3000, n_blocks: int = 64, order: int = 1) -> list[Block]:
    """Cut sequences into blocks of about `n_tokens` tokens.

    Fewer with many labels, to keep calls short, and with little data, to make `n_blocks` of it, so that many threads
    have work. The cuts depend on the data alone, never on the number of threads.
    """
    largest = 80_000_000 // n_labels**2 if order == 1 else 8_000_000 // n_labels**3
    size = max(1, min(n_tokens, max(1000, int(offsets[-1]) // n_blocks), largest))
    found = []
    first, n, (_, edges, n_edges) = 0, len(offsets) - 1, chain(offsets)
    while first < n:
        last = int(np.searchsorted(offsets, offsets[first] + size, side="left"))
        last = min(max(last, first + 1), n)
        tokens, of_edges = (slice(int(bounds[first]), int(bounds[last])) for bounds in (offsets, n_edges))
        structure = Structure(
            offsets[first : last + 1] - tokens.start,
            edges[of_edges] - tokens.start,
            n_edges[first : last + 1] - of_edges.start,
        )
        found.append(Block(slice(first, last), tokens, of_edges, structure))
        first = last
    return found


def cut(items: Any, offsets: np.ndarray) -> list[Any]:
    """The items of each sequence, of a list or an array of all."""
    return [items[lo:hi] for lo, hi in pairwise(offsets.tolist())]


def object_array(items: Sequence[Any]) -> np.ndarray:
    """One-dimensional object array of `items`; equal lengths never make it two-dimensional."""
    return np.fromiter(items, dtype=object, count=len(items))
