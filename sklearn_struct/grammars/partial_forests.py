"""Packed trees of sentences of which some brackets are known (Pereira & Schabes, ACL 1992)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklearn_struct.containers.trees import Forest

__all__ = ["joined", "with_brackets"]


def with_brackets(packed: Forest, brackets: Sequence[tuple[int, int, np.ndarray]]) -> Forest:
    """The trees of one sentence that have a node over the tokens of each bracket, with a symbol of
    its mask; without items where there is none.

    A binary tree of which no node crosses a span has a node over it: above the span is a node that
    is split at one of its ends.
    """
    start = packed.start
    stop = packed.stop
    keep = np.ones(len(start), dtype=bool)
    for first, last, mask in brackets:
        crosses = (start < first) & (first < stop) & (stop < last)
        crosses |= (first < start) & (start < last) & (last < stop)
        elsewhere = (start != first) | (stop != last)
        keep &= ~crosses & (elsewhere | mask[packed.symbol])
    return _without_dead_ends(packed, keep)


def _without_dead_ends(packed: Forest, keep: np.ndarray) -> Forest:
    """The items to keep of which there are trees, and that are in a tree of the sentence."""
    n = len(keep)
    parent = np.repeat(np.arange(n), np.diff(packed.indptr))
    edge = np.zeros(len(parent), dtype=bool)
    alive = keep & (packed.leaf >= 0)
    for p in np.flatnonzero(keep & (packed.leaf < 0)).tolist():  # children come first
        below = slice(int(packed.indptr[p]), int(packed.indptr[p + 1]))
        edge[below] = alive[packed.left[below]] & alive[packed.right[below]]
        alive[p] = edge[below].any()
    used = np.zeros(n, dtype=bool)
    if n:
        used |= alive & (packed.start == packed.start[-1]) & (packed.stop == packed.stop[-1])
    for p in range(n - 1, -1, -1):
        below = slice(int(packed.indptr[p]), int(packed.indptr[p + 1]))
        edge[below] &= used[p]
        used[packed.left[below][edge[below]]] = True
        used[packed.right[below][edge[below]]] = True
    number = np.cumsum(used) - 1
    n_edges = np.bincount(parent[edge], minlength=n)[used]
    symbol, start, stop, leaf = (
        column[used] for column in (packed.symbol, packed.start, packed.stop, packed.leaf)
    )
    left, right = (number[column[edge]].astype(np.int32) for column in (packed.left, packed.right))
    return Forest(
        np.array([0, len(symbol)], np.int64),
        symbol,
        start,
        stop,
        leaf,
        np.concatenate([[0], np.cumsum(n_edges)]).astype(np.int64),
        left,
        right,
        packed.rule[edge],
    )


def joined(forests: Sequence[Forest]) -> Forest:
    """The examples of all of them, in their order."""
    items = np.cumsum([0, *(len(forest.symbol) for forest in forests)])
    edges = np.cumsum([0, *(len(forest.rule) for forest in forests)])

    def pointers(name: str, bounds: np.ndarray) -> np.ndarray:
        parts = [getattr(forest, name)[1:] + lo for forest, lo in zip(forests, bounds)]
        return np.concatenate([[0], *parts]).astype(np.int64)

    def column(name: str) -> np.ndarray:
        return np.concatenate([getattr(forest, name) for forest in forests])

    def children(name: str) -> np.ndarray:
        parts = [getattr(forest, name) + lo for forest, lo in zip(forests, items)]
        return np.concatenate(parts).astype(np.int32)

    return Forest(
        pointers("offsets", items),
        column("symbol"),
        column("start"),
        column("stop"),
        column("leaf"),
        pointers("indptr", edges),
        children("left"),
        children("right"),
        column("rule"),
    )
