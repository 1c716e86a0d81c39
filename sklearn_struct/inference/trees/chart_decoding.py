"""The best binary tree over a sentence under a weighted grammar (Viterbi)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import STEPS, kernel
from sklearn_struct.compiled.threads import go_on
from sklearn_struct.containers.memory import longer, reserve, zeros
from sklearn_struct.containers.trees import Grammar, TreeScores
from sklearn_struct.inference.trees.chart_cells import SPLIT, affordable, cell, leave, room

__all__ = ["Nodes", "argmax", "no_nodes", "nodes"]


class Nodes(NamedTuple):
    """Nodes of one tree, children before parents, the root last; -1 for the children of a leaf."""

    symbol: np.ndarray
    left: np.ndarray
    right: np.ndarray
    start: np.ndarray
    stop: np.ndarray


def argmax(grammar: Grammar, scores: TreeScores) -> tuple[Nodes, float]:
    """The tree of the largest score over one sentence, and its score (Viterbi); no nodes and -inf
    if there is none.
    """
    n = len(scores.leaf_indptr) - 1
    if n == 0:
        return no_nodes(), -np.inf
    first, stop, symbols, best, back = _best(grammar, scores, n)
    top = slice(first[cell(n, 0, n)], stop[cell(n, 0, n)])
    total = best[top] + scores.root[symbols[top]]
    if len(total) == 0 or total.max() == -np.inf:
        return no_nodes(), -np.inf
    return nodes(n, symbols, back, top.start + int(np.argmax(total))), float(total.max())


def no_nodes() -> Nodes:
    """No tree."""
    return Nodes(*(np.empty(0, np.int32) for _ in Nodes._fields))


def nodes(n: int, symbols: np.ndarray, back: np.ndarray, root: int) -> Nodes:
    """The tree below an item, `back` its children's."""
    out = Nodes(*np.empty((len(Nodes._fields), 2 * n - 1), np.int32))
    _write_nodes(symbols, back, root, out)
    return out


def _best(grammar: Grammar, scores: TreeScores, n: int) -> tuple[np.ndarray, ...]:
    """Items of all cells: (first and last of each cell, symbols, best scores, their children's
    items).
    """
    n_symbols = len(grammar.indptr) - 1
    n_cells = n * (n + 1) // 2
    what = f"the chart of {n} words"
    size = room(n_cells, n_symbols)
    reserve(16 * n_cells + 28 * size, what)
    first = zeros(n_cells, np.int64)
    stop = zeros(n_cells, np.int64)
    items: list[np.ndarray] = [
        np.empty(size, np.int32),
        np.empty(size),
        np.empty((size, 2), np.int64),
    ]
    numbers = np.empty(n_symbols), np.empty(n_symbols)
    numbers[0].fill(-np.inf)
    numbers[1].fill(-np.inf)
    codes = tuple(np.empty(n_symbols, np.int64) for _ in range(4))
    n_rules = np.zeros(n, np.int64)
    state = np.array([1, 0, 0, 0, 0])
    while not _fill(
        grammar, scores, (first, stop, *items), (numbers, codes, n_rules), state, STEPS
    ):
        go_on()
        if state[3] + n_symbols > len(items[0]):
            items = longer(items, int(state[3]), n_symbols, what)
    return first, stop, *items


@kernel
def _fill(grammar, scores, chart, work, state, steps):
    """Go on from where `state` is: (length, first token, split, items, symbols of the cell);
    whether all is done.
    """
    indptr = grammar.indptr
    right = grammar.right
    parent = grammar.parent
    rule = scores.rule
    leaf = scores.leaf
    n = len(scores.leaf_indptr) - 1
    S = len(indptr) - 1
    first, stop, symbols, best, back = chart
    numbers, codes, n_rules = work
    room, beside = numbers
    left_item, right_item, seen, place = codes
    n_items = state[3]
    n_seen = state[4]
    for length in range(state[0], n + 1):
        for i in range(state[1], n - length + 1):
            if n_items + S > len(symbols):
                state[4] = n_seen
                return leave(state, length, i, state[2], n_items)
            for p in range(
                scores.leaf_indptr[i],
                scores.leaf_indptr[i + 1] if length == 1 else scores.leaf_indptr[i],
            ):
                if leaf[p] > -np.inf:
                    s = scores.leaf_symbol[p]
                    room[s] = leaf[p]
                    seen[n_seen] = s
                    left_item[s] = -1
                    right_item[s] = -1
                    n_seen += 1
            begin = max(i + 1, state[2])
            end = affordable(begin, i + length, steps, SPLIT * length + n_rules[i])
            steps -= (SPLIT * length + n_rules[i]) * (end - begin) // length + SPLIT
            for k in range(begin, end):
                a = cell(n, i, k)
                b = cell(n, k, i + length)
                for q in range(first[b], stop[b]):
                    beside[symbols[q]] = best[q]
                    place[symbols[q]] = q
                for p in range(first[a] if first[b] < stop[b] else stop[a], stop[a]):
                    for r in range(indptr[symbols[p]], indptr[symbols[p] + 1]):
                        s = parent[r]
                        y = best[p] + rule[r] + beside[right[r]]
                        if y > room[s]:
                            if room[s] == -np.inf:
                                seen[n_seen] = s
                                n_seen += 1
                            room[s], left_item[s], right_item[s] = y, p, place[right[r]]
                for q in range(first[b], stop[b]):
                    beside[symbols[q]] = -np.inf
            if end < i + length:
                state[4] = n_seen
                return leave(state, length, i, end, n_items)
            c = cell(n, i, i + length)
            first[c] = n_items
            for q in range(n_seen):
                s = seen[q]
                symbols[n_items], best[n_items] = s, room[s]
                back[n_items, 0], back[n_items, 1] = left_item[s], right_item[s]
                room[s] = -np.inf
                n_items += 1
            for q in range(first[c], n_items):
                n_rules[i] += indptr[symbols[q] + 1] - indptr[symbols[q]]
            stop[c] = n_items
            state[2] = 0
            n_seen = 0
        state[1] = 0
    return True


@kernel
def _write_nodes(symbols, back, root, out):
    """The same by a stack of its own: deep trees are no recursion."""
    symbol, left, right, start, stop = out
    m = len(symbol)
    # items, and nodes that are finished
    stack = np.empty(2 * m + 1, np.int64)
    done = np.empty(m + 1, np.int64)
    stack[0] = root
    depth = 1
    n_done = 0
    node = 0
    token = 0
    while depth > 0:
        depth -= 1
        item = stack[depth]
        # its children first; then itself, as a negative number
        if item >= 0 and back[item, 0] >= 0:
            stack[depth] = -item - 1
            stack[depth + 1], stack[depth + 2] = back[item, 1], back[item, 0]
            depth += 3
            continue
        if item >= 0:
            symbol[node] = symbols[item]
            start[node] = token
            stop[node] = token + 1
            left[node] = right[node] = -1
            token += 1
        else:
            a = done[n_done - 2]
            b = done[n_done - 1]
            n_done -= 2
            symbol[node] = symbols[-item - 1]
            left[node] = a
            right[node] = b
            start[node], stop[node] = start[a], stop[b]
        done[n_done] = node
        n_done += 1
        node += 1
