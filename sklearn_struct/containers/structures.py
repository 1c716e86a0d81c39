"""Examples of a batch, one after the other: who depends on whom, the scores of that, and blocks of
them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Block", "Potentials", "Structure", "blocks", "chain", "ends"]


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

    ``node`` (n_nodes, K); ``edge`` (n_edges, K**r), or (1, K**r) when all edges share one table.
    Edges of a chain of second order have K**3 more columns, for the triples that end with them.
    """

    node: np.ndarray
    edge: np.ndarray


class Block(NamedTuple):
    """Consecutive examples that one kernel call works on, as ranges of the whole data."""

    examples: slice
    tokens: slice
    edges: slice
    structure: Structure


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
    first = structure.offsets[:-1]
    stop = structure.offsets[1:]
    return first[first < stop], stop[first < stop] - 1


def blocks(
    offsets: np.ndarray, n_labels: int, n_tokens: int = 3000, n_blocks: int = 64, order: int = 1
) -> list[Block]:
    """Cut sequences into blocks of about `n_tokens` tokens.

    Fewer with many labels, to keep calls short, and with little data, to make `n_blocks` of it, so
    that many threads have work. The cuts depend on the data alone, never on the number of threads.
    """
    largest = 80_000_000 // n_labels**2 if order == 1 else 8_000_000 // n_labels**3
    size = max(1, min(n_tokens, max(1000, int(offsets[-1]) // n_blocks), largest))
    found = []
    first = 0
    n = len(offsets) - 1
    _, edges, n_edges = chain(offsets)
    while first < n:
        last = int(np.searchsorted(offsets, offsets[first] + size, side="left"))
        last = min(max(last, first + 1), n)
        tokens, of_edges = (
            slice(int(bounds[first]), int(bounds[last])) for bounds in (offsets, n_edges)
        )
        structure = Structure(
            offsets[first : last + 1] - tokens.start,
            edges[of_edges] - tokens.start,
            n_edges[first : last + 1] - of_edges.start,
        )
        found.append(Block(slice(first, last), tokens, of_edges, structure))
        first = last
    return found
