"""All binary trees over a sentence under a weighted grammar: log Z, and the likely ones, packed.

p(tree | x) = exp(sum of scores of its rules, of its leaves at their tokens, and of its root) /
Z(x). A rule joins two symbols to a parent; a leaf is a symbol over one token. A score of -inf
forbids.

`chart_cells` sums over trees, bottom-up; here follows, top-down, what of it is probable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import STEPS, inlined, kernel
from sklearn_struct.compiled.threads import go_on
from sklearn_struct.containers.memory import longer
from sklearn_struct.containers.trees import Forest, Grammar, TreeScores
from sklearn_struct.inference.trees.chart_cells import SPLIT, Chart, cell, inside, relative

__all__ = ["forest", "log_partition"]


def log_partition(grammar: Grammar, scores: TreeScores) -> float:
    """log Z of one sentence; -inf where there is no tree (an empty sentence has none)."""
    n = len(scores.leaf_indptr) - 1
    if n == 0:
        return -np.inf
    chart = inside(grammar, relative(scores.rule), scores)
    top = cell(n, 0, n)
    roots = slice(chart.first[top], chart.stop[top])
    with np.errstate(divide="ignore"):
        logs = np.log(chart.values[roots]) + scores.root[chart.symbols[roots]]
    return (
        float(np.logaddexp.reduce(logs, initial=-np.inf) + chart.scale[top])
        if len(logs)
        else -np.inf
    )


def forest(
    grammar: Grammar, scores: TreeScores, threshold: float
) -> tuple[Forest, np.ndarray, np.ndarray, float]:
    """The trees of one sentence without what is improbable, packed; posteriors of items and edges;
    log Z of all trees.

    An edge stays if its posterior probability is at least `threshold`, or if it is the most
    probable one below an item that stays: so each item has a tree. What has a posterior of 0 never
    stays. The mass of what is left out is not passed on, so posteriors are slightly too small where
    the threshold is large.
    """
    n = len(scores.leaf_indptr) - 1
    none = Forest(
        np.zeros(2, np.int64),
        *(np.empty(0, np.int32),) * 4,
        np.zeros(1, np.int64),
        *(np.empty(0, np.int32),) * 3,
    )
    if n == 0:
        return none, np.empty(0), np.empty(0), -np.inf
    rules = relative(scores.rule)
    chart = inside(grammar, rules, scores)
    share = np.zeros(len(chart.values))
    log_Z = _roots(n, scores.root, chart, share)
    if log_Z == -np.inf:
        return none, np.empty(0), np.empty(0), log_Z
    if len(share) > np.iinfo(np.int32).max:
        raise MemoryError(f"the chart of {n} words has {len(share)} items, more than have numbers")
    found = _descended(grammar, (*rules, max(float(threshold), 5e-324)), n, chart, share)
    return *_packed(n, chart, share, found, scores), log_Z


@kernel
def _roots(n, root, chart, share):
    """Write outside values of roots, divided by Z and relative to 1 / their cell's scale; log Z."""
    first, stop, scale, symbols, values = chart
    top = cell(n, 0, n)
    peak = -np.inf
    total = 0.0
    for p in range(first[top], stop[top]):
        peak = max(peak, root[symbols[p]])
    if peak == -np.inf:
        return -np.inf
    for p in range(first[top], stop[top]):
        share[p] = np.exp(root[symbols[p]] - peak)
        total += share[p] * values[p]
    for p in range(first[top], stop[top]):
        share[p] /= total
    return scale[top] + peak + np.log(total)


class _Found(NamedTuple):
    """What stays, the last first: edges (parent, left, right item; rule), their posteriors, items
    (number, tokens).
    """

    edges: np.ndarray
    posterior: np.ndarray
    items: np.ndarray


def _descended(
    grammar: Grammar,
    rules: tuple[np.ndarray, float, float],
    n: int,
    chart: Chart,
    share: np.ndarray,
) -> _Found:
    """All that stays; `share`, outside values, has those of roots and is filled in."""
    n_symbols = len(grammar.indptr) - 1
    what = f"the forest of {n} words"
    # of left and right children, by split: values, to the left times what joins both cells; and the
    # largest of them
    tables = (
        np.zeros((2, n_symbols, n)),
        np.empty((2, n_symbols, n), np.int32),
        np.zeros((2, n_symbols)),
    )
    found = _Found(
        np.empty((256 * n, 4), np.int32),
        np.empty(256 * n),
        np.empty((64 * n + n_symbols, 3), np.int32),
    )
    state = np.array([n, 0, -1, -1, 0, 0, 0, 0])
    while not _descend(grammar, rules, chart, (share, *tables), (*found, state), STEPS):
        go_on()
        if state[6] + n > len(found.edges):
            edges, posterior = longer((found.edges, found.posterior), int(state[6]), n, what)
            found = found._replace(edges=edges, posterior=posterior)
        if state[7] + n_symbols > len(found.items):
            found = found._replace(items=longer((found.items,), int(state[7]), n_symbols, what)[0])
    return _Found(found.edges[: state[6]], found.posterior[: state[6]], found.items[: state[7]])


@kernel
def _descend(grammar, rules, chart, tables, found, steps):
    """Go on top-down from where `state` is; whether all is done.

    It is (length; first token; item, -1 for a cell that is not begun; place among the rules below
    the item, -1 for an item that is not begun; whether only the best edge is looked for; number of
    edges before this item, and now; number of items).
    """
    first, _, _, symbols, values = chart
    share = tables[0]
    edges, posterior, items, state = found
    last = state[2]
    d = state[3]
    only = state[4]
    begun = state[5]
    n_edges = state[6]
    n_items = state[7]
    S, n = tables[1].shape[1:]
    for length in range(state[0], 0, -1):
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
                            grammar, rules, item, tables, found, (d, begun, n_edges, steps), False
                        )
                        only = d < 0 and n_edges == begun
                    if length > 1 and only:
                        d, n_edges, steps = _below(
                            grammar, rules, item, tables, found, (d, begun, n_edges, steps), True
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
def _leave(state, place, numbers):
    """Note where to go on; False."""
    state[0], state[1], state[2] = place
    state[3], state[4], state[5], state[6], state[7] = numbers
    return False


@inlined
def _begin(n, span, top, chart, tables):
    """Write the tables for what is below a cell; its last item, or -1 if none of its items stays,
    and the steps.
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
        factor = np.exp(scale[a] + scale[b] + top - scale[c])
        cost += SPLIT + 4 * (stop[a] - first[a] + stop[b] - first[b])
        for side, children in enumerate((a, b)):
            for q in range(first[children], stop[children]):
                s = symbols[q]
                x = values[q] * factor
                value[side, s, k] = x
                place[side, s, k] = q
                most[side, s] = max(most[side, s], x)
            factor = 1.0
    return stop[c] - 1 if kept else -1, cost


@inlined
def _clear(n, span, chart, tables):
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
def _below(grammar, rules, item, tables, found, at, best_only):
    """Append the edges below an item that stay, with their posteriors, or only the best one.

    Until there are no more steps, or no room: where in the rules that is, else -1; the number of
    edges; steps left.
    """
    rule, _, threshold = rules
    p, symbol, share, n_splits = item
    _, value, place, most = tables
    edges, posterior, _, _ = found
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
                edges[n_edges, 3] = r
                posterior[n_edges] = y
                edges[n_edges, 1], edges[n_edges, 2] = place[0, left, k], place[1, right, k]
                n_edges += 1
    return stop, n_edges, steps


# ---- and what is left of it


def _packed(
    n: int, chart: Chart, share: np.ndarray, found: _Found, scores: TreeScores
) -> tuple[Forest, np.ndarray, np.ndarray]:
    """The items that stay, those of shorter spans first, and the edges below them; posteriors of
    both.
    """
    n_items = len(found.items)
    n_edges = len(found.edges)
    symbol, start, stop, leaf = np.empty((4, n_items), np.int32)
    left, right, rule = np.empty((3, n_edges), np.int32)
    packed = Forest(
        np.zeros(2, np.int64),
        symbol,
        start,
        stop,
        leaf,
        np.zeros(n_items + 1, np.int64),
        left,
        right,
        rule,
    )
    kept = np.empty(n_items)
    number = np.empty(len(share), np.int32)
    candidates = scores.leaf_indptr, scores.leaf_symbol
    n_kept = _pack(n, chart, share, (found.edges, found.items), candidates, (packed, kept, number))
    if n_kept < n_items:
        symbol, start, stop, leaf = (column[:n_kept] for column in (symbol, start, stop, leaf))
        kept = kept[:n_kept]
        packed = Forest(
            packed.offsets,
            symbol,
            start,
            stop,
            leaf,
            packed.indptr[: n_kept + 1],
            left,
            right,
            rule,
        )
    return packed, kept, found.posterior[::-1]


@kernel
def _pack(n, chart, share, found, candidates, out):
    """Write the fields of a forest, and the posterior probability and number of each item; how many
    stay.
    """
    first, stop, _, symbols, values = chart
    edges, items = found
    indptr, candidate = candidates
    packed, kept, number = out
    n_kept = 0
    for f in range(len(items) - 1, -1, -1):
        p = items[f, 0]
        kept[n_kept] = share[p] * values[p]
        number[p] = n_kept
        packed.symbol[n_kept], packed.start[n_kept], packed.stop[n_kept] = (
            symbols[p],
            items[f, 1],
            items[f, 2],
        )
        packed.leaf[n_kept] = -1
        n_kept += kept[n_kept] > 0.0  # a root may have a share, and none of the mass
    for i in range(n):  # items of a token are in the order of its candidates
        q = indptr[i]
        for p in range(first[cell(n, i, i + 1)], stop[cell(n, i, i + 1)]):
            while candidate[q] != symbols[p]:
                q += 1
            if share[p] * values[p] > 0.0:
                packed.leaf[number[p]] = q
    for e in range(len(edges)):
        f = len(edges) - 1 - e
        packed.left[e], packed.right[e], packed.rule[e] = (
            number[edges[f, 1]],
            number[edges[f, 2]],
            edges[f, 3],
        )
        packed.indptr[number[edges[f, 0]] + 1] += 1
    for p in range(n_kept):
        packed.indptr[p + 1] += packed.indptr[p]
    packed.offsets[1] = n_kept
    return n_kept
