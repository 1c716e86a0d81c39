"""Scores of nodes and edges as numbers in the layout that messages read; and whether numbers hold
them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.simd import LANES, padded, workspace
from sklearn_struct.containers.structures import Potentials, Structure, has_only_edges
from sklearn_struct.inference.graphs.flat_scores import by_example, scaled

__all__ = ["PairScores", "are_small", "pair_scores"]

# by how much scores of a node, with those of all its edges, may differ: the square of its
# exponential, and what many labels add to that, are numbers
LARGEST_RANGE = 300.0


class PairScores(NamedTuple):
    """Exponentials of scores, each row divided by its largest.

    ``node`` (n, P), padded with zeros to whole vectors. What comes from place p of an edge is
    multiplied by the table that begins at ``tables[start[p]]``, with a row each ``stride[p]``
    numbers; ``turned[p]`` says that it is that of the other direction. Tables that edges share are
    padded, too, and stand there in both directions, once for each share; those of single edges
    once, and not padded, as it takes long to read them. A vector of zeros stands at the end.
    ``taken`` (n_examples) is what the divisions took from log Z. ``share`` is that of each edge;
    `shared_out` says that some are not 1.
    """

    node: np.ndarray
    tables: np.ndarray
    start: np.ndarray
    stride: np.ndarray
    turned: np.ndarray
    taken: np.ndarray
    share: np.ndarray
    shared_out: bool


def are_small(potentials: Potentials, structure: Structure, share: np.ndarray) -> np.ndarray:
    """Whether numbers can stand for the scores of each example: all its cliques are edges, nothing
    is forbidden in tables, some label is allowed at each node, and ranges, divided by shares of
    edges, are small.
    """
    if not has_only_edges(structure, of_one_kind=False):
        return np.zeros(structure.n_examples, bool)
    node = potentials.node
    lowest = np.where(node > -np.inf, node, np.inf).min(axis=1, initial=np.inf)
    highest = node.max(axis=1, initial=-np.inf)
    # of nodes without allowed labels inf
    spread = np.where(highest > -np.inf, highest - lowest, np.inf)
    first = 0
    for table, family in zip(potentials.cliques, structure.families, strict=True):
        of_family = share[first : first + len(family.nodes)]
        first += len(family.nodes)
        # -inf - -inf would be nan
        least = table.min(axis=1)
        finite = np.where(least > -np.inf, least, 0.0)
        of_rows = np.where(least > -np.inf, table.max(axis=1) - finite, np.inf)
        for end in family.nodes.T:
            spread += np.bincount(end, of_rows / of_family, minlength=len(node))
    wide = np.concatenate([[0], np.cumsum(~(spread <= LARGEST_RANGE))])
    small: np.ndarray = np.diff(wide[structure.offsets]) == 0
    return small


def pair_scores(potentials: Potentials, structure: Structure, share: np.ndarray) -> PairScores:
    """The scores of structures whose cliques are edges; those of edges divided by their shares."""
    n, K = potentials.node.shape
    P = padded(K)
    node = workspace((n, P), np.float64)
    node[:, K:] = 0.0
    node[:, :K], top = scaled(potentials.node)
    taken = by_example(top, structure.offsets)
    parts = []
    places = []
    size = 0
    first = 0
    for table, family in zip(potentials.cliques, structure.families, strict=True):
        n_edges = len(family.nodes)
        of_family = share[first : first + n_edges]
        first += n_edges
        if len(table) == 1:
            values, number = np.unique(of_family, return_inverse=True)
            numbers, top = _in_both_directions(table, values)
            start = size + 2 * K * P * np.repeat(number, 2) + np.tile([0, K * P], n_edges)
            places.append((start, np.full(2 * n_edges, P), np.zeros(2 * n_edges, bool)))
        else:
            numbers, top = _divided(table, of_family)
            start = np.repeat(size + np.arange(n_edges) * table.shape[1], 2)
            turned = np.tile([False, True], n_edges)
            places.append((start, np.full(2 * n_edges, K), turned))
        # one for all edges, or one for each
        taken += by_example(np.broadcast_to(top, n_edges), family.offsets)
        parts.append(numbers.ravel())
        size += numbers.size
    tables = workspace((size + LANES,), np.float64)
    np.concatenate([*parts, np.zeros(LANES)], out=tables)
    start, stride, turned = (np.concatenate(part) for part in zip(*places, strict=True))
    some = bool(np.any(share != 1.0))
    return PairScores(node, tables, start, stride, turned, taken, share, some)


def _in_both_directions(table: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A padded table (K, P) and its transpose for each share, and the largest score."""
    K = math.isqrt(table.shape[1])
    both = np.zeros((len(shares), 2, K, padded(K)))
    numbers, top = _divided(np.repeat(table, len(shares), axis=0), shares)
    numbers = numbers.reshape(-1, K, K)
    both[:, 0, :, :K] = numbers
    both[:, 1, :, :K] = numbers.swapaxes(1, 2)
    return both, top[:1]


def _divided(tables: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """exp((row - largest of the row) / share), and the largest."""
    if np.all(shares == 1.0):
        return scaled(tables)
    top = tables.max(axis=1, initial=-np.inf).astype(np.float64)
    top[top == -np.inf] = 0.0
    return np.exp((tables - top[:, None]) / shares[:, None]), top
