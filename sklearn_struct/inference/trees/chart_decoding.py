"""The best binary tree over a sentence under a weighted grammar (Viterbi)."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import STEPS, inlined, kernel
from sklearn_struct.compiled.threads import go_on
from sklearn_struct.containers.memory_checks import longer, reserve, zeros
from sklearn_struct.containers.trees import Grammar, TreeScores
from sklearn_struct.inference.trees.chart_inside import SPLIT, affordable, cell, leave, room

__all__ = ["Nodes", "argmax", "no_nodes", "nodes"]

# first and last item of each cell; of items: symbols, best scores, and their children's items
_Items: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
# of symbols: best scores of this cell and of the right one; items of the best children, symbols
# seen, items of the right cell; of first tokens: numbers of rules
_Work: TypeAlias = tuple[
    tuple[np.ndarray, np.ndarray],
    tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    np.ndarray,
]


class Nodes(NamedTuple):
    """Nodes of one tree, children before parents, the root last; -1 for the children of a leaf."""

    symbol: np.ndarray
    left: np.ndarray
    right: np.ndarray
    start: np.ndarray
    stop: np.ndarray


def argmax(grammar: Grammar, scores: TreeScores) -> tuple[Nodes, float]:
    """The tree with the largest score over one sentence, and this score.

    Without any tree: no nodes, and -inf.
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
    """The tree below an item, where `back` has the two items below each, or -1."""
    out = Nodes(*np.empty((len(Nodes._fields), 2 * n - 1), np.int32))
    _write_nodes(symbols, back, root, out)
    return out


def _best(grammar: Grammar, scores: TreeScores, n: int) -> _Items:
    """Items of all cells, with their best scores."""
    n_symbols = len(grammar.indptr) - 1
    n_cells = n * (n + 1) // 2
    what = f"the chart of {n} words"
    size = room(n_cells, n_symbols)
    # bytes of all arrays below; memory that is not there should not be found out in the middle of a
    # chart
    reserve(16 * n_cells + 28 * size, what)
    first = zeros(n_cells, np.int64)
    stop = zeros(n_cells, np.int64)
    symbols = np.empty(size, np.int32)
    best = np.empty(size)
    back = np.empty((size, 2), np.int64)
    numbers = np.full(n_symbols, -np.inf), np.full(n_symbols, -np.inf)
    left, right, seen, place = (np.empty(n_symbols, np.int64) for _ in range(4))
    work = numbers, (left, right, seen, place), np.zeros(n, np.int64)
    state = np.array([1, 0, 0, 0, 0])
    # a kernel comes back after so many steps, so that Ctrl-C is heard
    while not _fill(grammar, scores, (first, stop, symbols, best, back), work, state, STEPS):
        go_on()
        n_items = int(state[3])
        if n_items + n_symbols > len(symbols):
            symbols, best, back = longer((symbols, best, back), n_items, n_symbols, what)
    return first, stop, symbols, best, back


@kernel
def _fill(
    grammar: Grammar, scores: TreeScores, chart: _Items, work: _Work, state: np.ndarray, steps: int
) -> bool:
    """Go on from `state`: (length, first token, split, number of items, symbols seen in the cell).

    Return whether all is done.
    """
    indptr = grammar.indptr
    right = grammar.right
    parent = grammar.parent
    rule = scores.rule
    n = len(scores.leaf_indptr) - 1
    S = len(indptr) - 1
    first, stop, symbols, best, _ = chart
    numbers, codes, n_rules = work
    room, beside = numbers
    left_item, right_item, seen, place = codes
    n_items = state[3]
    n_seen = state[4]
    for length in range(state[0], n + 1):
        for i in range(state[1], n - length + 1):
            # a cell has at most one item for each symbol; arrays grow in Python alone
            if n_items + S > len(symbols):
                state[4] = n_seen
                return leave(state, length, i, state[2], n_items)
            if length == 1:
                n_seen = _leaves(scores, i, room, codes)
            begin = max(i + 1, state[2])
            end = affordable(begin, i + length, steps, SPLIT * length + n_rules[i])
            steps -= (SPLIT * length + n_rules[i]) * (end - begin) // length + SPLIT
            for k in range(begin, end):
                a = cell(n, i, k)
                b = cell(n, k, i + length)
                # the right cell by symbol, so that each rule of a left item is one look-up
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
                            beneath = place[right[r]]  # read before anything is written
                            room[s] = y
                            left_item[s] = p
                            right_item[s] = beneath
                # only what was set is cleared: most symbols are in few cells
                for q in range(first[b], stop[b]):
                    beside[symbols[q]] = -np.inf
            if end < i + length:
                state[4] = n_seen
                return leave(state, length, i, end, n_items)
            c = cell(n, i, i + length)
            first[c] = n_items
            n_items = _store(chart, room, codes, n_seen, n_items)
            for q in range(first[c], n_items):
                n_rules[i] += indptr[symbols[q] + 1] - indptr[symbols[q]]
            stop[c] = n_items
            state[2] = 0
            n_seen = 0
        state[1] = 0
    return True


@kernel
def _store(
    chart: _Items,
    room: np.ndarray,
    codes: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    n_seen: int,
    n_items: int,
) -> int:
    """Make items of the best scores of a cell; their number, with those before."""
    _, _, symbols, best, back = chart
    left_item, right_item, seen, _ = codes
    for q in range(n_seen):
        s = seen[q]
        symbols[n_items] = s
        best[n_items] = room[s]
        back[n_items, 0] = left_item[s]
        back[n_items, 1] = right_item[s]
        room[s] = -np.inf
        n_items += 1
    return n_items


@inlined
def _leaves(
    scores: TreeScores,
    i: int,
    room: np.ndarray,
    codes: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> int:
    """Write the scores of a token's symbols, which have no children; the number of symbols."""
    left_item, right_item, seen, _ = codes
    n_seen = 0
    for p in range(scores.leaf_indptr[i], scores.leaf_indptr[i + 1]):
        if scores.leaf[p] > -np.inf:
            s = scores.leaf_symbol[p]
            room[s] = scores.leaf[p]
            seen[n_seen] = s
            left_item[s] = -1
            right_item[s] = -1
            n_seen += 1
    return n_seen


@kernel
def _write_nodes(symbols: np.ndarray, back: np.ndarray, root: int, out: Nodes) -> None:
    """Write the nodes below `root` in post-order, by a stack: deep trees would end a recursion."""
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
            # no recursion: a chain of a thousand words is a thousand levels
            stack[depth] = -item - 1
            stack[depth + 1] = back[item, 1]
            stack[depth + 2] = back[item, 0]
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
            start[node] = start[a]
            stop[node] = stop[b]
        done[n_done] = node
        n_done += 1
        node += 1
