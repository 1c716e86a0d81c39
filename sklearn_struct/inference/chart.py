"""All binary trees over a sentence under a weighted grammar: log Z, and the likely ones, packed.

p(tree | x) = exp(sum of scores of its rules, of its leaves at their tokens, and of its root) / Z(x). A rule joins two
symbols to a parent; a leaf is a symbol over one token. A score of -inf forbids.

A cell is a span of tokens; its items are the symbols that can stand there. Numbers of a cell are relative to its
largest, whose logarithm is kept, so that sentences may have any length. Of each cell only the items are stored: memory
grows with what is possible, not with the number of symbols.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.batch import Forest, Grammar, TreeScores
from sklearn_struct.kernel import kernel

__all__ = ["cell", "forest", "inside", "log_partition", "longer", "relative"]

LEAST = 1e-300  # of a cell's largest number, what is an item: posteriors are divided by these numbers


def log_partition(grammar: Grammar, scores: TreeScores) -> float:
    """log Z of one sentence; -inf where there is no tree (an empty sentence has none)."""
    n = len(scores.leaf_indptr) - 1
    if n == 0:
        return -np.inf
    rule, top = relative(scores.rule)
    first, stop, symbols, values, scale = inside(grammar, rule, top, scores)
    roots = slice(first[cell(n, 0, n)], stop[cell(n, 0, n)])
    with np.errstate(divide="ignore"):
        found = np.log(values[roots]) + scores.root[symbols[roots]]
    return float(np.logaddexp.reduce(found, initial=-np.inf) + scale[cell(n, 0, n)]) if len(found) else -np.inf


def forest(grammar: Grammar, scores: TreeScores, threshold: float) -> tuple[Forest, np.ndarray, np.ndarray, float]:
    """The trees of one sentence without what is improbable, packed; posteriors of items and edges; log Z of all trees.

    An edge stays if its posterior probability is at least `threshold`, or if it is the most probable one below an item
    that stays: so each item has a tree. What has a posterior of 0 never stays. The mass of what is left out is not
    passed on, so posteriors are slightly too small where the threshold is large.
    """
    n = len(scores.leaf_indptr) - 1
    none = Forest(
        np.zeros(2, np.int64), *(np.empty(0, np.int32),) * 4, np.zeros(1, np.int64), *(np.empty(0, np.int32),) * 3
    )
    if n == 0:
        return none, np.empty(0), np.empty(0), -np.inf
    rules = relative(scores.rule)
    items = inside(grammar, *rules, scores)
    share, log_Z = _roots(n, scores.root, items)
    if log_Z == -np.inf:
        return none, np.empty(0), np.empty(0), log_Z
    edges, posterior = _edges(grammar, rules, n, items, share, max(float(threshold), 5e-324))
    kept = share * items[3][: len(share)]
    packed = _packed(n, items, kept, edges, scores.leaf_indptr, scores.leaf_symbol)
    return Forest(*packed), kept[kept > 0.0], posterior[::-1], log_Z


def relative(rule: np.ndarray) -> tuple[np.ndarray, float]:
    """Exponentials of scores relative to the largest, and that."""
    top = float(np.max(rule, initial=-np.inf))
    top = top if top > -np.inf else 0.0
    return np.exp(rule - top), top


@kernel
def inside(grammar, rule, top, scores):
    """Items of all cells, bottom-up: (first item of each cell, last, symbols, values, log-scale of each cell).

    Items of single tokens are in the order of `scores.leaf`.
    """
    indptr, right, parent = grammar.indptr, grammar.right, grammar.parent
    n, S = len(scores.leaf_indptr) - 1, len(indptr) - 1
    n_cells, n_items = n * (n + 1) // 2, 0
    first, stop, scale = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64), np.full(n_cells, -np.inf)
    symbols, values = np.empty(16 * n_cells + S, np.int32), np.empty(16 * n_cells + S)
    room, beside, seen = np.zeros(S), np.zeros(S), np.empty(S, np.int32)
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            c, n_seen = cell(n, i, i + length), 0
            if length == 1:
                n_seen, scale[c] = _leaves(scores, i, room, seen)
            else:
                largest = -np.inf
                for k in range(i + 1, i + length):
                    largest = max(largest, scale[cell(n, i, k)] + scale[cell(n, k, i + length)])
                for k in range(i + 1, i + length):
                    a, b = cell(n, i, k), cell(n, k, i + length)
                    factor = np.exp(scale[a] + scale[b] - largest) if largest > -np.inf else 0.0
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
                for s in range(S):
                    if room[s] > 0.0:
                        seen[n_seen] = s
                        n_seen += 1
                scale[c] = largest + top
            if n_items + n_seen > len(symbols):
                symbols, values = longer(symbols, values, n_seen)
            first[c] = n_items
            peak = 0.0
            for q in range(n_seen):
                peak = max(peak, room[seen[q]])
            for q in range(n_seen):
                symbols[n_items], values[n_items] = seen[q], room[seen[q]] / peak
                n_items += values[n_items] > LEAST
                room[seen[q]] = 0.0
            stop[c] = n_items
            scale[c] = scale[c] + np.log(peak) if n_seen else -np.inf
    return first, stop, symbols, values, scale


@kernel
def cell(n, i, j):
    """Number of the cell of tokens i ... j - 1."""
    return i * (2 * n - i + 1) // 2 + j - i - 1


@kernel
def _leaves(scores, i, room, seen):
    """Exponentials of a token's scores, relative to the largest; their number and that score."""
    leaf, peak, n_seen = scores.leaf, -np.inf, 0
    lo, hi = scores.leaf_indptr[i], scores.leaf_indptr[i + 1]
    for p in range(lo, hi):
        peak = max(peak, leaf[p])
    for p in range(lo, hi):
        x = np.exp(leaf[p] - peak) if leaf[p] > -np.inf else 0.0
        if x > LEAST:
            room[scores.leaf_symbol[p]] = x
            seen[n_seen] = scores.leaf_symbol[p]
            n_seen += 1
    return n_seen, peak


@kernel
def longer(symbols, values, more):
    """Copies with at least as much room again."""
    n = len(symbols)
    grown, numbers = np.empty(2 * n + more, np.int32), np.empty(2 * n + more)
    grown[:n], numbers[:n] = symbols, values
    return grown, numbers


@kernel
def _roots(n, root, items):
    """Outside values of items, so far of roots, divided by Z and relative to 1 / their cell's scale; and log Z."""
    first, stop, symbols, values, scale = items
    share = np.zeros(stop.max())
    top, peak, total = cell(n, 0, n), -np.inf, 0.0
    for p in range(first[top], stop[top]):
        peak = max(peak, root[symbols[p]])
    if peak == -np.inf:
        return share, -np.inf
    for p in range(first[top], stop[top]):
        share[p] = np.exp(root[symbols[p]] - peak)
        total += share[p] * values[p]
    for p in range(first[top], stop[top]):
        share[p] /= total
    return share, scale[top] + peak + np.log(total)


@kernel
def _edges(grammar, rules, n, items, share, threshold):
    """Edges (parent, left, right item; rule) that stay, of the last item first; top-down, `share` is filled in."""
    first, stop, symbols, values, scale = items
    S, found, posterior, n_edges = len(grammar.indptr) - 1, np.empty((64 * n, 4), np.int32), np.empty(64 * n), 0
    # of left and right children, by split: values, to the left times what joins both cells; and the largest of them
    value, place, most = np.zeros((2, S, n)), np.empty((2, S, n), np.int32), np.zeros((2, S))
    for length in range(n, 1, -1):
        for i in range(n - length, -1, -1):
            c, kept = cell(n, i, i + length), False
            for p in range(first[c], stop[c]):
                kept = kept or share[p] > 0.0
            for k in range(length - 1 if kept else 0):
                a, b = cell(n, i, i + k + 1), cell(n, i + k + 1, i + length)
                factor = np.exp(scale[a] + scale[b] + rules[1] - scale[c])
                for side, children in enumerate((a, b)):
                    for q in range(first[children], stop[children]):
                        s, x = symbols[q], values[q] * factor
                        value[side, s, k], place[side, s, k] = x, q
                        most[side, s] = max(most[side, s], x)
                    factor = 1.0
            for p in range(stop[c] - 1, first[c] - 1 if kept else stop[c] - 1, -1):
                if share[p] > 0.0:
                    item, tables = (p, symbols[p], share[p]), (value, place, most)
                    begun, n_rules = n_edges, grammar.down_indptr[symbols[p] + 1] - grammar.down_indptr[symbols[p]]
                    if n_edges + n_rules * (length - 1) > len(found):
                        found, posterior = _longer(found, posterior, n_rules * (length - 1))
                    for least in (threshold, 0.0):  # if nothing stays, the most probable edge
                        if n_edges == begun:
                            edges = found, posterior, n_edges
                            n_edges = _below(grammar, rules[0], item, length, tables, edges, least)
                    for e in range(begun, n_edges):  # what an edge has, its children have
                        share[found[e, 1]] += posterior[e] / values[found[e, 1]]
                        share[found[e, 2]] += posterior[e] / values[found[e, 2]]
            for k in range(length - 1 if kept else 0):
                a, b = cell(n, i, i + k + 1), cell(n, i + k + 1, i + length)
                for side, children in enumerate((a, b)):
                    for q in range(first[children], stop[children]):
                        value[side, symbols[q], k], most[side, symbols[q]] = 0.0, 0.0
    return found[:n_edges], posterior[:n_edges]


@kernel
def _below(grammar, rule, item, length, tables, edges, threshold):
    """Append the edges below an item that stay, with their posteriors; with threshold 0 only the best. Their number.

    There is room for all: a loop in which arrays may be replaced by longer ones is ten times slower.
    """
    (value, place, most), (p, symbol, share) = tables, item
    found, posterior, n_edges = edges
    begun, best = n_edges, threshold
    for d in range(grammar.down_indptr[symbol], grammar.down_indptr[symbol + 1]):
        r = grammar.down[d]
        left, right, x = grammar.left[r], grammar.right[r], share * rule[grammar.down[d]]
        bound = x * most[0, left] * most[1, right]
        if bound < best or bound == 0.0:
            continue
        for k in range(length - 1):
            y = x * value[0, left, k] * value[1, right, k]
            if y >= best and y > 0.0:
                if threshold == 0.0:
                    n_edges, best = begun, y
                found[n_edges, 0], found[n_edges, 3], posterior[n_edges] = p, r, y
                found[n_edges, 1], found[n_edges, 2] = place[0, left, k], place[1, right, k]
                n_edges += 1
    return n_edges


@kernel
def _longer(found, posterior, more):
    """Copies with at least as much room again."""
    n = len(found)
    edges, numbers = np.empty((2 * n + more, 4), np.int32), np.empty(2 * n + more)
    edges[:n], numbers[:n] = found, posterior
    return edges, numbers


@kernel
def _packed(n, items, kept, edges, leaf_indptr, leaf_symbol):
    """The items that stay, those of shorter spans first, and the edges below them: the fields of a Forest."""
    first, stop, symbols, _, _ = items
    number, n_kept = np.full(len(kept), -1, np.int32), 0
    for p in range(len(kept)):
        if kept[p] > 0.0:
            number[p] = n_kept
            n_kept += 1
    symbol, start, end = np.empty(n_kept, np.int32), np.empty(n_kept, np.int32), np.empty(n_kept, np.int32)
    leaf, indptr = np.full(n_kept, -1, np.int32), np.zeros(n_kept + 1, np.int64)
    left, right, rule = np.empty((3, len(edges)), np.int32)
    for i in range(n):
        for j in range(i + 1, n + 1):
            for p in range(first[cell(n, i, j)], stop[cell(n, i, j)]):
                if number[p] >= 0:
                    symbol[number[p]], start[number[p]], end[number[p]] = symbols[p], i, j
        for q in range(leaf_indptr[i], leaf_indptr[i + 1]):
            for p in range(first[cell(n, i, i + 1)], stop[cell(n, i, i + 1)]):
                if number[p] >= 0 and symbols[p] == leaf_symbol[q]:
                    leaf[number[p]] = q
    for e in range(len(edges)):
        p = edges[len(edges) - 1 - e]
        left[e], right[e], rule[e] = number[p[1]], number[p[2]], p[3]
        indptr[number[p[0]] + 1] += 1
    for p in range(n_kept):
        indptr[p + 1] += indptr[p]
    return np.array([0, n_kept]), symbol, start, end, leaf, indptr, left, right, rule
