"""The outside pass over a chart, top-down: which items and edges are probable."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import STEPS, inlined, kernel
from sklearn_struct.compiled.threads import go_on
from sklearn_struct.containers.memory_checks import longer
from sklearn_struct.containers.trees import Grammar
from sklearn_struct.inference.trees.chart_inside import SPLIT, Chart, cell

__all__ = ["Kept", "descend", "roots"]

# Outside values of items. Then, of left and right children, by symbol and split: their inside
# values, to the left times what joins both cells; their items; and the largest of the values.
_ChildTables: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
# edges, their posteriors, items, state
_Progress: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@kernel
def roots(n: int, root: np.ndarray, chart: Chart, share: np.ndarray) -> float:
    """Write the outside values of roots; log Z.

    Outside values are divided by Z, and relative to 1 / the scale of their cell.
    """
    first, stop, scale, symbols, values = chart
    top = cell(n, 0, n)
    peak = -np.inf
    total = 0.0
    for p in range(first[top], stop[top]):
        peak = max(peak, root[symbols[p]])
    if peak == -np.inf:
        return -np.inf
    for p in range(first[top], stop[top]):
        # relative to the best root, so that none of the probable ones underflows
        share[p] = np.exp(root[symbols[p]] - peak)
        total += share[p] * values[p]
    for p in range(first[top], stop[top]):
        share[p] /= total
    log_Z: float = scale[top] + peak + np.log(total)
    return log_Z


class Kept(NamedTuple):
    """What stays, the last first.

    Edges are (parent, left, right item; rule), items (number in the chart, first token, token
    behind the last).
    """

    edges: np.ndarray
    posterior: np.ndarray
    items: np.ndarray


def descend(
    grammar: Grammar,
    rules: tuple[np.ndarray, float, float],
    n: int,
    chart: Chart,
    share: np.ndarray,
) -> Kept:
    """Items and edges that stay; `share` has outside values of roots, and gets all others.

    `rules` are exponentials of scores relative to the largest, that, and the least posterior of an
    edge that stays.
    """
    n_symbols = len(grammar.indptr) - 1
    what = f"the forest of {n} words"
    tables = (
        np.zeros((2, n_symbols, n)),
        np.empty((2, n_symbols, n), np.int32),
        np.zeros((2, n_symbols)),
    )
    kept = Kept(
        # a guess from treebanks; more are made room for on the way
        np.empty((256 * n, 4), np.int32),
        np.empty(256 * n),
        np.empty((64 * n + n_symbols, 3), np.int32),
    )
    state = np.array([n, 0, -1, -1, 0, 0, 0, 0])
    while not _descend(grammar, rules, chart, (share, *tables), (*kept, state), STEPS):
        go_on()
        if state[6] + n > len(kept.edges):
            edges, posterior = longer((kept.edges, kept.posterior), int(state[6]), n, what)
            kept = kept._replace(edges=edges, posterior=posterior)
        if state[7] + n_symbols > len(kept.items):
            (items,) = longer((kept.items,), int(state[7]), n_symbols, what)
            kept = kept._replace(items=items)
    return Kept(kept.edges[: state[6]], kept.posterior[: state[6]], kept.items[: state[7]])


@kernel
def _descend(
    grammar: Grammar,
    rules: tuple[np.ndarray, float, float],
    chart: Chart,
    tables: _ChildTables,
    progress: _Progress,
    steps: int,
) -> bool:
    """Go on top-down from `state`; whether all is done.

    The state is: length; first token; item, -1 for a cell that is not begun; place among the rules
    below the item, -1 for an item that is not begun; whether only the best edge is looked for;
    number of edges before this item, and now; number of items.
    """
    first, _, _, symbols, values = chart
    share = tables[0]
    edges, posterior, items, state = progress
    last = state[2]
    d = state[3]
    only = state[4]
    begun = state[5]
    n_edges = state[6]
    n_items = state[7]
    S, n = tables[1].shape[1:]
    for length in range(state[0], 0, -1):
        # backwards, as the forest reverses all that is kept: shorter spans first, from the left
        for i in range(state[1], -1, -1):
            c = cell(n, i, i + length)
            if last < 0:
                if steps <= 0 or n_items + S > len(items):
                    return _leave(state, (length, i, -1), (-1, 0, begun, n_edges, n_items))
                last, cost = _begin(n, (i, length), rules[1], chart, tables)
                steps -= cost
            for p in range(last, first[c] - 1 if last >= 0 else last, -1):
                if share[p] > 0.0:
                    item = p, symbols[p], share[p], length - 1
                    if length > 1 and only == 0:
                        d, n_edges, steps = _below(
                            grammar,
                            rules,
                            item,
                            tables,
                            progress,
                            (d, begun, n_edges, steps),
                            False,
                        )
                        only = d < 0 and n_edges == begun
                    if length > 1 and only:
                        d, n_edges, steps = _below(
                            grammar, rules, item, tables, progress, (d, begun, n_edges, steps), True
                        )
                    if d >= 0:
                        return _leave(state, (length, i, p), (d, only, begun, n_edges, n_items))
                    for e in range(begun, n_edges):  # what an edge has, its children have
                        share[edges[e, 1]] += posterior[e] / values[edges[e, 1]]
                        share[edges[e, 2]] += posterior[e] / values[edges[e, 2]]
                    items[n_items, 0] = p
                    items[n_items, 1] = i
                    items[n_items, 2] = i + length
                    only = 0
                    begun = n_edges
                    n_items = n_items + 1
            if last >= 0:
                _clear(n, (i, length), chart, tables)
            last = -1
        state[1] = n - length + 1
    state[6] = n_edges
    state[7] = n_items
    return True


@inlined
def _leave(
    state: np.ndarray, place: tuple[int, int, int], numbers: tuple[int, int, int, int, int]
) -> bool:
    """Note where to go on; return False, for "not done"."""
    state[0], state[1], state[2] = place
    state[3], state[4], state[5], state[6], state[7] = numbers
    return False


@inlined
def _begin(
    n: int, span: tuple[int, int], top: float, chart: Chart, tables: _ChildTables
) -> tuple[int, int]:
    """Write the tables for what is below a cell; its last item, and the steps that this took.

    The item is -1 if no item of the cell stays.
    """
    first, stop, scale, symbols, values = chart
    share, value, place, most = tables
    i, length = span
    c = cell(n, i, i + length)
    kept = False
    for p in range(first[c], stop[c]):
        kept = kept or share[p] > 0.0
    cost = SPLIT + stop[c] - first[c]
    for k in range(length - 1 if kept else 0):
        a = cell(n, i, i + k + 1)
        b = cell(n, i + k + 1, i + length)
        # about 1 at most, as scale[c] is not below that of its best split
        factor = np.exp(scale[a] + scale[b] + top - scale[c])
        cost += SPLIT + 4 * (stop[a] - first[a] + stop[b] - first[b])
        for side, children in enumerate((a, b)):
            for q in range(first[children], stop[children]):
                s = symbols[q]
                x = values[q] * factor
                value[side, s, k] = x
                place[side, s, k] = q
                most[side, s] = max(most[side, s], x)
            factor = 1.0  # it is in the left child's values already
    return stop[c] - 1 if kept else -1, cost


@inlined
def _clear(n: int, span: tuple[int, int], chart: Chart, tables: _ChildTables) -> None:
    """Set tables back to zeros."""
    first, stop, _, symbols, _ = chart
    _, value, _, most = tables
    i, length = span
    for k in range(length - 1):
        a = cell(n, i, i + k + 1)
        b = cell(n, i + k + 1, i + length)
        for side, children in enumerate((a, b)):
            for q in range(first[children], stop[children]):
                value[side, symbols[q], k] = 0.0
                most[side, symbols[q]] = 0.0


@inlined
def _below(
    grammar: Grammar,
    rules: tuple[np.ndarray, float, float],
    item: tuple[int, int, float, int],
    tables: _ChildTables,
    progress: _Progress,
    at: tuple[int, int, int, int],
    best_only: bool,
) -> tuple[int, int, int]:
    """Append the edges below an item that stay, with their posteriors, or only the best one.

    Return where in the rules it stopped, for want of steps or of room, else -1; the number of
    edges; the steps left.
    """
    rule, _, threshold = rules
    p, symbol, share, n_splits = item
    _, value, place, most = tables
    edges, posterior, _, _ = progress
    d, begun, n_edges, steps = at
    begin = max(d, grammar.down_indptr[symbol])
    best = threshold
    stop = -1
    if best_only:
        best = posterior[n_edges - 1] if n_edges > begun else 0.0
    for d in range(begin, grammar.down_indptr[symbol + 1]):
        if steps <= 0 or n_edges + n_splits > len(edges):
            stop = d
            break
        r = grammar.down[d]
        left = grammar.left[r]
        right = grammar.right[r]
        x = share * rule[r]
        # most rules can be passed over: no split makes more of them than this
        bound = x * most[0, left] * most[1, right]
        steps -= 2
        if bound < best or bound == 0.0:
            continue
        steps -= n_splits
        for k in range(n_splits):
            y = x * value[0, left, k] * value[1, right, k]
            if y >= best and y > 0.0:
                if best_only:
                    n_edges = begun
                    best = y
                edges[n_edges, 0] = p
                edges[n_edges, 1] = place[0, left, k]
                edges[n_edges, 2] = place[1, right, k]
                edges[n_edges, 3] = r
                posterior[n_edges] = y
                n_edges += 1
    return stop, n_edges, steps
