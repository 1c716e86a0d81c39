"""Packed trees with scores of pairs of productions, one below the other: the best tree, and posterior probabilities.

A production is an edge, or an item without edges. What stands below an item is then not the same for whatever stands
above, so an item has as many states as productions: the states of an edge's children are the productions below them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Forest
from sklearn_struct.inference.chart_decoding import Nodes, nodes
from sklearn_struct.kernel import kernel

__all__ = ["Pairs", "argmax", "pairs", "posteriors"]


class Pairs(NamedTuple):
    """Which productions may stand below which edge.

    Those of its left child are ``start[2 * e] : start[2 * e + 1]``, those of its right child the next ones. ``edge``
    and ``side`` (0 left, 1 right) are the upper production and the child, ``item``; ``below`` is the child's edge, or
    -1 if it has none. ``start`` int64, the others int32.
    """

    start: np.ndarray
    edge: np.ndarray
    side: np.ndarray
    item: np.ndarray
    below: np.ndarray


def pairs(forest: Forest) -> Pairs:
    """All pairs of a forest."""
    n_below = np.diff(forest.indptr)
    child = np.stack([forest.left, forest.right], axis=1).ravel()
    size = np.maximum(n_below[child], 1)
    start = np.concatenate([[0], np.cumsum(size, dtype=np.int64)])
    place = np.repeat(np.arange(len(child)), size)
    item = child[place]
    below = forest.indptr[item] + np.arange(len(place)) - start[place]
    below[n_below[item] == 0] = -1
    return Pairs(start, *(column.astype(np.int32) for column in (place // 2, place % 2, item, below)))


def argmax(
    forest: Forest, start: np.ndarray, item: np.ndarray, edge: np.ndarray, pair: np.ndarray
) -> tuple[Nodes, float]:
    """The tree, of a forest of one sentence, whose items, edges and pairs have the largest sum of scores; -inf forbids.

    `start` is that of `Pairs`. Of equal trees the first; no nodes and -inf if there is none.
    """
    none = Nodes(*(np.empty(0, np.int32) for _ in Nodes._fields))
    if len(forest.symbol) == 0:
        return none, -np.inf
    best, back = _best(forest, start, item, edge, pair)
    roots = _roots(forest)
    root = int(roots[np.argmax(best[roots])])
    if best[root] == -np.inf:
        return none, -np.inf
    symbols = np.concatenate([np.repeat(forest.symbol, np.diff(forest.indptr)), forest.symbol])
    return Nodes(*nodes(forest.stop[-1], symbols, back, root)), float(best[root])


def posteriors(
    forest: Forest, start: np.ndarray, item: np.ndarray, edge: np.ndarray, pair: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Posterior probabilities of items and edges by the same scores, and log Z; zeros and -inf if there is no tree."""
    if len(forest.symbol) == 0:
        return np.zeros(0), np.zeros(0), -np.inf
    inner, sums = _inside(forest, start, item, edge, pair)
    roots = _roots(forest)
    log_Z = float(np.logaddexp.reduce(inner[roots]))
    share = np.zeros(len(inner))
    if log_Z > -np.inf:
        share[roots] = np.exp(inner[roots] - log_Z)
        _share(forest, inner, sums, start, pair, share)
    of_edges, alone = np.split(share, [len(edge)])
    of_items = np.bincount(np.repeat(np.arange(len(item)), np.diff(forest.indptr)), of_edges, len(item)) + alone
    return of_items, of_edges, log_Z


def _roots(forest: Forest) -> np.ndarray:
    """The productions over all tokens: an edge's own number, or that of an item behind all edges."""
    n_items, n_edges = len(forest.symbol), len(forest.rule)
    first = n_items - int(np.sum((forest.start == forest.start[-1]) & (forest.stop == forest.stop[-1])))
    alone = first + np.flatnonzero(np.diff(forest.indptr)[first:] == 0)
    return np.concatenate([np.arange(forest.indptr[first], n_edges), n_edges + alone])


@kernel
def _best(forest, start, item, edge, pair):
    """Best score of the trees below each production, and the productions of its children."""
    indptr, n_edges = forest.indptr, len(edge)
    best, back = np.full(n_edges + len(item), -np.inf), np.full((n_edges + len(item), 2), -1, np.int64)
    for p in range(len(item)):
        if indptr[p] == indptr[p + 1]:
            best[n_edges + p] = item[p]
        for e in range(indptr[p], indptr[p + 1]):
            best[e] = item[p] + edge[e]
            for side in range(2):
                child = forest.right[e] if side else forest.left[e]
                first, peak = _first(indptr, n_edges, child), -np.inf
                for t in range(start[2 * e + side], start[2 * e + side + 1]):
                    q = first + t - start[2 * e + side]
                    if best[q] + pair[t] > peak:
                        peak, back[e, side] = best[q] + pair[t], q
                best[e] += peak
    return best, back


@kernel
def _first(indptr, n_edges, item):
    """The first production of an item; the others follow."""
    return n_edges + item if indptr[item] == indptr[item + 1] else indptr[item]


@kernel
def _inside(forest, start, item, edge, pair):
    """Log-sums over the trees below each production, and below each child of an edge."""
    indptr, n_edges = forest.indptr, len(edge)
    inner, sums = np.full(n_edges + len(item), -np.inf), np.full(2 * n_edges, -np.inf)
    for p in range(len(item)):
        if indptr[p] == indptr[p + 1]:
            inner[n_edges + p] = item[p]
        for e in range(indptr[p], indptr[p + 1]):
            inner[e] = item[p] + edge[e]
            for side in range(2):
                child, s = forest.right[e] if side else forest.left[e], 2 * e + side
                first, peak, total = _first(indptr, n_edges, child), -np.inf, 0.0
                for t in range(start[s], start[s + 1]):
                    peak = max(peak, inner[first + t - start[s]] + pair[t])
                for t in range(start[s], start[s + 1] if peak > -np.inf else start[s]):
                    total += np.exp(inner[first + t - start[s]] + pair[t] - peak)
                sums[s] = peak + np.log(total) if total > 0.0 else -np.inf
                inner[e] += sums[s]
    return inner, sums


@kernel
def _share(forest, inner, sums, start, pair, share):
    """Pass the posterior probabilities of the roots' productions on to those below, from the top down."""
    indptr, n_edges = forest.indptr, len(sums) // 2
    for e in range(n_edges - 1, -1, -1):
        for side in range(2 if share[e] > 0.0 else 0):
            child, s = forest.right[e] if side else forest.left[e], 2 * e + side
            first = _first(indptr, n_edges, child)
            for t in range(start[s], start[s + 1]):
                q = first + t - start[s]
                share[q] += share[e] * np.exp(inner[q] + pair[t] - sums[s])
