"""All binary trees over a sentence under a weighted grammar: log Z, and the likely ones, packed.

p(tree | x) = exp(sum of scores of its rules, of its leaves at their tokens, and of its root) /
Z(x). A rule joins two symbols to a parent; a leaf is a symbol over one token. A score of -inf
forbids.

`chart_inside` sums over trees, bottom-up; `chart_outside` finds, top-down, what is probable.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.trees import Forest, Grammar, TreeScores
from sklearn_struct.inference.trees.chart_inside import Chart, cell, inside, relative
from sklearn_struct.inference.trees.chart_outside import Kept, descend, roots

__all__ = ["forest", "log_partition"]


def log_partition(grammar: Grammar, scores: TreeScores) -> float:
    """log Z of one sentence; -inf where there is no tree (an empty sentence has none)."""
    n = len(scores.leaf_indptr) - 1
    if n == 0:
        return -np.inf
    chart = inside(grammar, relative(scores.rule), scores)
    top = cell(n, 0, n)
    roots = slice(chart.first[top], chart.stop[top])
    # values of 0 are trees without probability
    with np.errstate(divide="ignore"):
        logs = np.log(chart.values[roots]) + scores.root[chart.symbols[roots]]
    if len(logs) == 0:
        return -np.inf
    return float(np.logaddexp.reduce(logs, initial=-np.inf) + chart.scale[top])


def forest(
    grammar: Grammar, scores: TreeScores, threshold: float
) -> tuple[Forest, np.ndarray, np.ndarray, float]:
    """The probable trees of one sentence, packed; posteriors of items and edges; log Z.

    An edge stays if its posterior probability is at least `threshold`, or if it is the most
    probable one below an item that stays: so each item has a tree. What has a posterior of 0 never
    stays. The mass of what is left out is not passed on, so posteriors are slightly too small where
    the threshold is large. log Z is that of all trees.
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
    log_Z = roots(n, scores.root, chart, share)
    if log_Z == -np.inf:
        return none, np.empty(0), np.empty(0), log_Z
    # forests have int32 numbers of items
    if len(share) > np.iinfo(np.int32).max:
        raise MemoryError(f"the chart of {n} words has {len(share)} items, more than have numbers")
    # the smallest float: what has a posterior of 0 is below it
    least = max(float(threshold), 5e-324)
    kept = descend(grammar, (*rules, least), n, chart, share)
    return *_packed(n, chart, share, kept, scores), log_Z


def _packed(
    n: int, chart: Chart, share: np.ndarray, kept: Kept, scores: TreeScores
) -> tuple[Forest, np.ndarray, np.ndarray]:
    """The forest of what stays, items of shorter spans first; posteriors of items and edges."""
    n_items = len(kept.items)
    n_edges = len(kept.edges)
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
    posterior = np.empty(n_items)
    number = np.empty(len(share), np.int32)
    candidates = scores.leaf_indptr, scores.leaf_symbol
    out = packed, posterior, number
    n_kept = _pack(n, chart, share, (kept.edges, kept.items), candidates, out)
    if n_kept < n_items:
        symbol, start, stop, leaf = (column[:n_kept] for column in (symbol, start, stop, leaf))
        posterior = posterior[:n_kept]
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
    return packed, posterior, kept.posterior[::-1]


@kernel
def _pack(
    n: int,
    chart: Chart,
    share: np.ndarray,
    kept: tuple[np.ndarray, np.ndarray],
    candidates: tuple[np.ndarray, np.ndarray],
    out: tuple[Forest, np.ndarray, np.ndarray],
) -> int:
    """Write the fields of a forest, and posteriors and numbers of items; how many items stay."""
    first, stop, _, symbols, values = chart
    edges, items = kept
    indptr, candidate = candidates
    packed, posterior, number = out
    n_kept = 0
    for f in range(len(items) - 1, -1, -1):
        p = items[f, 0]
        posterior[n_kept] = share[p] * values[p]
        number[p] = n_kept
        packed.symbol[n_kept] = symbols[p]
        packed.start[n_kept] = items[f, 1]
        packed.stop[n_kept] = items[f, 2]
        # those over one token get theirs below
        packed.leaf[n_kept] = -1
        n_kept += posterior[n_kept] > 0.0  # a root may have a share, and none of the mass
    # items of a token are those of its candidates that are possible, in the same order
    for i in range(n):  # items of a token are in the order of its candidates
        q = indptr[i]
        for p in range(first[cell(n, i, i + 1)], stop[cell(n, i, i + 1)]):
            while candidate[q] != symbols[p]:
                q += 1
            if share[p] * values[p] > 0.0:
                packed.leaf[number[p]] = q
    for e in range(len(edges)):
        f = len(edges) - 1 - e
        packed.left[e] = number[edges[f, 1]]
        packed.right[e] = number[edges[f, 2]]
        packed.rule[e] = edges[f, 3]
        packed.indptr[number[edges[f, 0]] + 1] += 1
    for p in range(n_kept):
        packed.indptr[p + 1] += packed.indptr[p]
    packed.offsets[1] = n_kept
    return n_kept
