"""The inside pass over a chart (CKY), bottom-up: how much of Z is below each symbol over each span.

A cell is a span of tokens; its items are the symbols that can stand there. Numbers of a cell are
relative to its largest, whose logarithm is kept, so that sentences may have any length. Of each
cell only the items are stored: memory grows with what is possible, not with the number of symbols.

Time grows with the cube of a sentence's length. Kernels of charts therefore take a number of steps,
come back when these are done, and are called again: a `state` says where they were. Between two
calls Ctrl-C is heard, and room is made.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import STEPS, inlined, kernel
from sklearn_struct.compiled.threads import go_on
from sklearn_struct.containers.memory_checks import longer, reserve, zeros
from sklearn_struct.containers.trees import Grammar, TreeScores

__all__ = ["SPLIT", "Chart", "affordable", "cell", "inside", "leave", "relative", "room"]

# steps for a split besides those for its rules: in a long sentence the two cells that it joins are
# far away in memory
SPLIT = 100
# An item has at least this share of its cell's largest number: posteriors are divided by it.
LEAST = 1e-300

# of symbols: sums, values of the right cell, those seen; of first tokens: numbers of rules; state
_Work: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Chart(NamedTuple):
    """Items of all cells: those of cell c are ``first[c] : stop[c]``.

    ``values`` are relative to ``exp(scale[c])``. Cells of short spans come first. Items of single
    tokens are in the order of `scores.leaf`.
    """

    first: np.ndarray
    stop: np.ndarray
    scale: np.ndarray
    symbols: np.ndarray
    values: np.ndarray


def relative(rule: np.ndarray) -> tuple[np.ndarray, float]:
    """Exponentials of scores relative to the largest, and that."""
    top = float(np.max(rule, initial=-np.inf))
    # a grammar without any possible rule: no difference of infinities
    top = top if top > -np.inf else 0.0
    return np.exp(rule - top), top


def room(n_cells: int, n_symbols: int) -> int:
    """How many items to make room for at first. Memory that is not used costs nothing."""
    # most cells have few symbols: begin with sixteen a cell, and grow
    return min(n_symbols * n_cells, max(16 * n_cells, 1 << 16)) + n_symbols


def inside(grammar: Grammar, rules: tuple[np.ndarray, float], scores: TreeScores) -> Chart:
    """Items of all cells."""
    n = len(scores.leaf_indptr) - 1
    n_symbols = len(grammar.indptr) - 1
    n_cells = n * (n + 1) // 2
    what = f"the chart of {n} words"
    size = room(n_cells, n_symbols)
    # bytes: three numbers of eight a cell; a symbol of four and a value of eight an item
    reserve(24 * n_cells + 12 * size, what)
    cells = zeros(n_cells, np.int64), zeros(n_cells, np.int64), zeros(n_cells)
    chart = Chart(*cells, np.empty(size, np.int32), np.empty(size))
    work = (
        np.zeros(n_symbols),
        np.zeros(n_symbols),
        np.empty(n_symbols, np.int32),
        np.zeros(n, np.int64),
    )
    state = np.array([1, 0, 0, 0])
    while not _ascend(grammar, rules, scores, chart, (*work, state), STEPS):
        go_on()
        n_items = int(state[3])
        if n_items + n_symbols > len(chart.symbols):
            symbols, values = longer((chart.symbols, chart.values), n_items, n_symbols, what)
            chart = chart._replace(symbols=symbols, values=values)
    return chart._replace(symbols=chart.symbols[: state[3]], values=chart.values[: state[3]])


@kernel
def _ascend(
    grammar: Grammar,
    rules: tuple[np.ndarray, float],
    scores: TreeScores,
    chart: Chart,
    work: _Work,
    steps: int,
) -> bool:
    """Go on bottom-up from `state`: (length, first token, split, number of items).

    Return whether all is done. `n_rules` counts the rules whose left child is an item of a cell
    that begins with a token: they are what a further split of it costs.
    """
    indptr = grammar.indptr
    right = grammar.right
    parent = grammar.parent
    rule, top = rules
    first, stop, scale, symbols, values = chart
    room, beside, seen, n_rules, state = work
    n = len(scores.leaf_indptr) - 1
    S = len(indptr) - 1
    n_items = state[3]
    for length in range(state[0], n + 1):
        for i in range(state[1], n - length + 1):
            c = cell(n, i, i + length)
            n_seen = 0
            largest = -np.inf
            if n_items + S > len(symbols):
                return leave(state, length, i, state[2], n_items)
            begin = max(i + 1, state[2])
            end = affordable(begin, i + length, steps, SPLIT * length + n_rules[i])
            steps -= (SPLIT * length + n_rules[i]) * (end - begin) // length + SPLIT + S
            # over all splits, also those done before a pause: what is in `room` is relative to the
            # same number
            for k in range(i + 1, i + length):
                largest = max(largest, scale[cell(n, i, k)] + scale[cell(n, k, i + length)])
            for k in range(begin, end):
                a = cell(n, i, k)
                b = cell(n, k, i + length)
                # relative to the best split: where both parts are small, this one would underflow
                factor = np.exp(scale[a] + scale[b] - largest) if largest > -np.inf else 0.0
                # so improbable beside the best split that nothing of it would be left in the sums
                if factor == 0.0:
                    continue
                for q in range(first[b], stop[b]):
                    beside[symbols[q]] = values[q]
                for p in range(first[a], stop[a]):
                    x = factor * values[p]
                    for r in range(indptr[symbols[p]], indptr[symbols[p] + 1]):
                        room[parent[r]] += x * rule[r] * beside[right[r]]
                for q in range(first[b], stop[b]):
                    beside[symbols[q]] = 0.0
            if end < i + length:
                return leave(state, length, i, end, n_items)
            state[2] = 0
            if length == 1:
                n_seen, scale[c] = _leaves(scores, i, room, seen)
            else:
                for s in range(S):
                    if room[s] > 0.0:
                        seen[n_seen] = s
                        n_seen += 1
                scale[c] = largest + top
            first[c] = n_items
            n_items = _store(chart, c, room, seen[:n_seen], n_items)
            for q in range(first[c], n_items):
                n_rules[i] += indptr[symbols[q] + 1] - indptr[symbols[q]]
        state[1] = 0
    state[3] = n_items
    return True


@kernel
def _store(chart: Chart, c: int, room: np.ndarray, seen: np.ndarray, n_items: int) -> int:
    """Make items of the sums of a cell, relative to the largest; their number, with those before.

    The sums are set back to 0.
    """
    _, stop, scale, symbols, values = chart
    peak = 0.0
    for s in seen:
        peak = max(peak, room[s])
    for s in seen:
        symbols[n_items] = s
        # relative to the largest: no sentence is too long, as scales are kept in logarithms
        values[n_items] = room[s] / peak
        n_items += values[n_items] > LEAST
        room[s] = 0.0
    stop[c] = n_items
    scale[c] = scale[c] + np.log(peak) if len(seen) else -np.inf
    return n_items


@inlined
def affordable(begin: int, end: int, steps: int, cost: int) -> int:
    """The split before which to stop, where a whole cell costs `cost` steps.

    If any steps are left it is one further at least, so that long sentences come to an end.
    """
    if cost <= steps:
        return end
    return min(end, begin + max(1, (end - begin) * steps // cost)) if steps > 0 else begin


@inlined
def leave(state: np.ndarray, length: int, i: int, k: int, n_items: np.ndarray) -> bool:
    """Note where to go on; return False, for "not done"."""
    state[0] = length
    state[1] = i
    state[2] = k
    state[3] = n_items
    return False


@kernel
def cell(n: int, i: int, j: int) -> int:
    """Number of the cell of tokens i ... j - 1."""
    return i * (2 * n - i + 1) // 2 + j - i - 1


@kernel
def _leaves(scores: TreeScores, i: int, room: np.ndarray, seen: np.ndarray) -> tuple[int, float]:
    """Exponentials of a token's scores, relative to the largest; their number and that score."""
    leaf = scores.leaf
    peak = -np.inf
    n_seen = 0
    lo = scores.leaf_indptr[i]
    hi = scores.leaf_indptr[i + 1]
    for p in range(lo, hi):
        peak = max(peak, leaf[p])
    for p in range(lo, hi):
        x = np.exp(leaf[p] - peak) if leaf[p] > -np.inf else 0.0
        if x > LEAST:
            room[scores.leaf_symbol[p]] = x
            seen[n_seen] = scores.leaf_symbol[p]
            n_seen += 1
    return n_seen, peak
