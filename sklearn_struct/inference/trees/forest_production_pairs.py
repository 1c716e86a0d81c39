"""Packed trees with scores of pairs of productions, one below the other: best tree and posteriors.

A production is an edge, or an item without edges; those are numbered behind the edges: item p is
n_edges + p. The best below an item depends on what stands above it, so an item has as many states
as productions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import STEPS, kernel
from sklearn_struct.compiled.threads import go_on
from sklearn_struct.containers.trees import Forest
from sklearn_struct.inference.trees.chart_decoding import Nodes, no_nodes, nodes

__all__ = ["Pairs", "argmax", "pairs", "posteriors", "roots"]


class Pairs(NamedTuple):
    """Which productions may stand below which edge, on its left (``side`` 0) or on its right (1).

    Those on the left of edge e are ``start[2 * e] : start[2 * e + 1]``, those on its right the next
    ones. All int64.
    """

    start: np.ndarray
    above: np.ndarray
    side: np.ndarray
    below: np.ndarray


def pairs(forest: Forest) -> Pairs:
    """All pairs of a forest."""
    n_edges = len(forest.rule)
    n_below = np.diff(forest.indptr)
    child = np.stack([forest.left, forest.right], axis=1).ravel()
    # an item without edges is a production itself
    size = np.maximum(n_below[child], 1)
    start = np.concatenate([[0], np.cumsum(size, dtype=np.int64)])
    first = np.where(n_below == 0, n_edges + np.arange(len(n_below)), forest.indptr[:-1])
    place = np.repeat(np.arange(len(child)), size)
    below = first[child][place] + np.arange(len(place)) - start[place]
    return Pairs(start, place // 2, place % 2, below)


def roots(forest: Forest) -> np.ndarray:
    """The productions over all tokens of the only sentence."""
    whole = (forest.start == 0) & (forest.stop == np.max(forest.stop, initial=0))
    alone = len(forest.rule) + np.flatnonzero(whole & (np.diff(forest.indptr) == 0))
    return np.concatenate([np.flatnonzero(np.repeat(whole, np.diff(forest.indptr))), alone])


def argmax(
    forest: Forest, start: np.ndarray, score: np.ndarray, pair: np.ndarray
) -> tuple[Nodes, float]:
    """The tree of one sentence with the largest sum of scores of productions and pairs.

    `start` is that of `Pairs`. A score of -inf forbids. Of equal trees it is the first; no nodes
    and -inf if there is none.
    """
    best = score.copy()
    back = np.full((len(score), 2), -1, np.int64)
    done = 0
    while done < len(forest.rule):
        go_on()
        done = _best(forest, start, pair, (best, back), done, STEPS)
    top = roots(forest)
    if np.max(best[top], initial=-np.inf) == -np.inf:
        return no_nodes(), -np.inf
    root = int(top[np.argmax(best[top])])
    symbols = np.concatenate([np.repeat(forest.symbol, np.diff(forest.indptr)), forest.symbol])
    return nodes(int(forest.stop[-1]), symbols, back, root), float(best[root])


def posteriors(
    forest: Forest, start: np.ndarray, score: np.ndarray, pair: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Posterior probabilities of items and edges by the same scores, and log Z.

    Zeros and -inf if there is no tree.
    """
    inner = score.copy()
    sums = np.full(2 * len(forest.rule), -np.inf)
    done = 0
    while done < len(forest.rule):
        go_on()
        done = _inside(forest, start, pair, (inner, sums), done, STEPS)
    top = roots(forest)
    share = np.zeros(len(inner))
    log_Z = float(np.logaddexp.reduce(inner[top], initial=-np.inf))
    if log_Z > -np.inf:
        share[top] = np.exp(inner[top] - log_Z)
        while done > 0:
            go_on()
            done = _share(forest, start, pair, (inner, sums, share), done, STEPS)
    of_edges, alone = np.split(share, [len(forest.rule)])
    parent = np.repeat(np.arange(len(alone)), np.diff(forest.indptr))
    return np.bincount(parent, of_edges, len(alone)) + alone, of_edges, log_Z


@kernel
def _best(
    forest: Forest,
    start: np.ndarray,
    pair: np.ndarray,
    out: tuple[np.ndarray, np.ndarray],
    begin: int,
    steps: int,
) -> int:
    """Write the best score of the trees below each edge from `begin` on, and its children.

    Return the edge before which it stopped.
    """
    indptr = forest.indptr
    n_edges = len(forest.rule)
    best, back = out
    for e in range(begin, n_edges):
        if steps <= 0:
            return e
        for side in range(2):
            first = _first(indptr, n_edges, forest.right[e] if side else forest.left[e])
            peak = -np.inf
            for t in range(start[2 * e + side], start[2 * e + side + 1]):
                q = first + t - start[2 * e + side]
                if best[q] + pair[t] > peak:
                    peak = best[q] + pair[t]
                    back[e, side] = q
            # children are before their parents, so one pass from below does
            best[e] += peak
        steps -= 4 + start[2 * e + 2] - start[2 * e]
    return n_edges


@kernel
def _first(indptr: np.ndarray, n_edges: int, item: int) -> int:
    """The first production of an item; the others follow."""
    return n_edges + item if indptr[item] == indptr[item + 1] else indptr[item]


@kernel
def _inside(
    forest: Forest,
    start: np.ndarray,
    pair: np.ndarray,
    out: tuple[np.ndarray, np.ndarray],
    begin: int,
    steps: int,
) -> int:
    """Write log-sums over the trees below each edge from `begin` on, and below each child.

    Return the edge before which it stopped.
    """
    indptr = forest.indptr
    n_edges = len(forest.rule)
    inner, sums = out
    for e in range(begin, n_edges):
        if steps <= 0:
            return e
        for side in range(2):
            s = 2 * e + side
            peak = -np.inf
            total = 0.0
            first = _first(indptr, n_edges, forest.right[e] if side else forest.left[e])
            for t in range(start[s], start[s + 1]):
                peak = max(peak, inner[first + t - start[s]] + pair[t])
            for t in range(start[s], start[s + 1] if peak > -np.inf else start[s]):
                # in logarithms: weights of pieces have no bound, so scores may differ by any amount
                total += np.exp(inner[first + t - start[s]] + pair[t] - peak)
            sums[s] = peak + np.log(total) if total > 0.0 else -np.inf
            inner[e] += sums[s]
        steps -= 10 + 5 * (start[2 * e + 2] - start[2 * e])
    return n_edges


@kernel
def _share(
    forest: Forest,
    start: np.ndarray,
    pair: np.ndarray,
    given: tuple[np.ndarray, np.ndarray, np.ndarray],
    end: int,
    steps: int,
) -> int:
    """Pass posterior probabilities of productions on to those below, top-down.

    Return the last edge for which that is done.
    """
    indptr = forest.indptr
    n_edges = len(forest.rule)
    inner, sums, share = given
    for e in range(end - 1, -1, -1):
        if steps <= 0:
            return e + 1
        for side in range(2 if share[e] > 0.0 else 0):
            s = 2 * e + side
            first = _first(indptr, n_edges, forest.right[e] if side else forest.left[e])
            for t in range(start[s], start[s + 1]):
                q = first + t - start[s]
                share[q] += share[e] * np.exp(inner[q] + pair[t] - sums[s])
        steps -= 4 + 5 * (start[2 * e + 2] - start[2 * e])
    return 0
