"""The best binary tree over a sentence under a weighted grammar (Viterbi)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Grammar, TreeScores
from sklearn_struct.inference.chart import cell, longer
from sklearn_struct.kernel import kernel

__all__ = ["Nodes", "argmax", "nodes"]


class Nodes(NamedTuple):
    """Nodes of one tree, children before parents, the root last; -1 for the children of a leaf."""

    symbol: np.ndarray
    left: np.ndarray
    right: np.ndarray
    start: np.ndarray
    stop: np.ndarray


def argmax(grammar: Grammar, scores: TreeScores) -> tuple[Nodes, float]:
    """The tree of the largest score over one sentence, and its score (Viterbi); no nodes and -inf if there is none."""
    n = len(scores.leaf_indptr) - 1
    none = Nodes(*(np.empty(0, np.int32) for _ in Nodes._fields))
    if n == 0:
        return none, -np.inf
    first, stop, symbols, best, back = _fill(grammar, scores)
    top = slice(first[cell(n, 0, n)], stop[cell(n, 0, n)])
    total = best[top] + scores.root[symbols[top]]
    if len(total) == 0 or total.max() == -np.inf:
        return none, -np.inf
    return Nodes(*nodes(n, symbols, back, top.start + int(np.argmax(total)))), float(total.max())


@kernel
def _fill(grammar, scores):
    """Items of all cells: (first and last of each cell, symbols, best scores, their children's items)."""
    indptr, right, parent = grammar.indptr, grammar.right, grammar.parent
    rule, leaf, n, S = scores.rule, scores.leaf, len(scores.leaf_indptr) - 1, len(indptr) - 1
    n_cells, n_items = n * (n + 1) // 2, 0
    first, stop = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
    symbols, best = np.empty(16 * n_cells + S, np.int32), np.empty(16 * n_cells + S)
    back = np.empty((len(best), 2), np.int64)
    room, children, seen = np.full(S, -np.inf), np.full((S, 2), -1), np.empty(S, np.int32)
    beside, place = np.full(S, -np.inf), np.zeros(S, np.int64)
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            c, n_seen = cell(n, i, i + length), 0
            for p in range(scores.leaf_indptr[i], scores.leaf_indptr[i + 1] if length == 1 else scores.leaf_indptr[i]):
                if leaf[p] > -np.inf:
                    s = scores.leaf_symbol[p]
                    room[s], seen[n_seen] = leaf[p], s
                    children[s, 0], children[s, 1] = -1, -1
                    n_seen += 1
            for k in range(i + 1, i + length):
                a, b = cell(n, i, k), cell(n, k, i + length)
                for q in range(first[b], stop[b]):
                    beside[symbols[q]], place[symbols[q]] = best[q], q
                for p in range(first[a] if first[b] < stop[b] else stop[a], stop[a]):
                    for r in range(indptr[symbols[p]], indptr[symbols[p] + 1]):
                        s, y = parent[r], best[p] + rule[r] + beside[right[r]]
                        if y > room[s]:
                            if room[s] == -np.inf:
                                seen[n_seen] = s
                                n_seen += 1
                            room[s], children[s, 0], children[s, 1] = y, p, place[right[r]]
                for q in range(first[b], stop[b]):
                    beside[symbols[q]] = -np.inf
            if n_items + n_seen > len(symbols):
                symbols, best = longer(symbols, best, n_seen)
                grown = np.empty((len(best), 2), np.int64)
                grown[: len(back)] = back
                back = grown
            first[c] = n_items
            for q in range(n_seen):
                s = seen[q]
                symbols[n_items], best[n_items] = s, room[s]
                back[n_items, 0], back[n_items, 1] = children[s, 0], children[s, 1]
                room[s] = -np.inf
                n_items += 1
            stop[c] = n_items
    return first, stop, symbols, best, back


@kernel
def nodes(n, symbols, back, root):
    """The tree below an item, `back` its children's, by a stack of its own: deep trees are no recursion."""
    m = 2 * n - 1
    symbol, left, right = np.empty(m, np.int32), np.full(m, -1, np.int32), np.full(m, -1, np.int32)
    start, stop = np.empty(m, np.int32), np.empty(m, np.int32)
    stack, done = np.empty(2 * m + 1, np.int64), np.empty(m + 1, np.int64)  # items, and nodes that are finished
    stack[0], depth, n_done, node, token = root, 1, 0, 0, 0
    while depth > 0:
        depth -= 1
        item = stack[depth]
        if item >= 0 and back[item, 0] >= 0:  # its children first; then itself, as a negative number
            stack[depth] = -item - 1
            stack[depth + 1], stack[depth + 2] = back[item, 1], back[item, 0]
            depth += 3
            continue
        if item >= 0:
            symbol[node], start[node], stop[node] = symbols[item], token, token + 1
            token += 1
        else:
            a, b = done[n_done - 2], done[n_done - 1]
            n_done -= 2
            symbol[node], left[node], right[node] = symbols[-item - 1], a, b
            start[node], stop[node] = start[a], stop[b]
        done[n_done] = node
        n_done += 1
        node += 1
    return symbol, left, right, start, stop
