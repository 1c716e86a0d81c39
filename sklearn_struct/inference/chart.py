"""All binary trees over a sentence under a weighted grammar, sum-product: log Z and expected counts (CKY).

p(tree | x) = exp(sum of scores of its rules, of its leaves at their tokens, and of its root) / Z(x). A rule joins two
symbols to a parent; a leaf is a symbol over one token. A score of -inf forbids.

A cell is a span of tokens; its items are the symbols that can stand there. Numbers of a cell are relative to its
largest, whose logarithm is kept, so that sentences may have any length. Of each cell only the items are stored: memory
grows with what is possible, not with the number of symbols.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.kernel import kernel

__all__ = ["Grammar", "TreeScores", "cell", "longer", "marginals"]


class Grammar(NamedTuple):
    """Binary rules, ordered by left child: those of symbol b are ``indptr[b] : indptr[b + 1]`` (int64, int32)."""

    indptr: np.ndarray
    right: np.ndarray
    parent: np.ndarray


class TreeScores(NamedTuple):
    """Log-scores, or expected counts: of rules (n_rules,), of leaves (n_tokens, n_symbols), of roots (n_symbols,)."""

    rule: np.ndarray
    leaf: np.ndarray
    root: np.ndarray


def marginals(
    grammar: Grammar,
    scores: TreeScores,
    offsets: np.ndarray,
    weight: np.ndarray,
    out: TreeScores,
    log_Z: np.ndarray,
) -> None:
    """Add weighted expected counts to `out` and write log Z of each sentence.

    Parameters
    ----------
    grammar : Grammar
    scores : TreeScores
        float64, -inf allowed.
    offsets : ndarray of shape (n_sentences + 1,)
        Sentence i has the tokens ``offsets[i] : offsets[i + 1]``, the rows of ``scores.leaf``.
    weight : ndarray of shape (n_sentences,), float64
        ``out += weight[i] * counts_i``. Sentences of weight 0 are skipped, their log Z is written as 0.
    out : TreeScores
        float64.
    log_Z : ndarray of shape (n_sentences,), float64
        Written; -inf where there is no tree (an empty sentence has none), and then nothing is added.
    """
    log_Z[:] = 0.0
    top = float(np.max(scores.rule, initial=-np.inf))
    top = top if top > -np.inf else 0.0
    rule = np.exp(scores.rule - top)
    for i in np.flatnonzero(weight):
        leaf = scores.leaf[offsets[i] : offsets[i + 1]]
        log_Z[i] = -np.inf
        if len(leaf):
            items = inside(grammar, rule, top, leaf)
            found = TreeScores(out.rule, out.leaf[offsets[i] : offsets[i + 1]], out.root)
            log_Z[i] = outside(grammar, (rule, top), scores.root, items, weight[i], found)


@kernel
def inside(grammar, rule, top, leaf):
    """Items of all cells, bottom-up: (first item of each cell, symbols, values, log-scale of each cell).

    The cell of tokens i ... j - 1 is number i * (2 n - i + 1) // 2 + j - i - 1.
    """
    indptr, right, parent = grammar.indptr, grammar.right, grammar.parent
    n, S = leaf.shape
    n_cells, n_items = n * (n + 1) // 2, 0
    first, stop, scale = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64), np.full(n_cells, -np.inf)
    symbols, values = np.empty(16 * n_cells + S, np.int32), np.empty(16 * n_cells + S)
    room, beside, seen = np.zeros(S), np.zeros(S), np.empty(S, np.int32)
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            c, n_seen = cell(n, i, i + length), 0
            if length == 1:
                n_seen, scale[c] = _leaves(leaf, i, room, seen)
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
                            y = x * rule[r] * beside[right[r]]
                            if y > 0.0:
                                if room[parent[r]] == 0.0:
                                    seen[n_seen] = parent[r]
                                    n_seen += 1
                                room[parent[r]] += y
                    for q in range(first[b], stop[b]):
                        beside[symbols[q]] = 0.0
                scale[c] = largest + top
            if n_items + n_seen > len(symbols):
                symbols, values = longer(symbols, values, n_seen)
            first[c] = n_items
            peak = 0.0
            for q in range(n_seen):
                peak = max(peak, room[seen[q]])
            for q in range(n_seen):
                symbols[n_items], values[n_items] = seen[q], room[seen[q]] / peak
                room[seen[q]] = 0.0
                n_items += 1
            stop[c] = n_items
            scale[c] = scale[c] + np.log(peak) if n_seen else -np.inf
    return first, stop, symbols, values, scale


@kernel
def cell(n, i, j):
    """Number of the cell of tokens i ... j - 1."""
    return i * (2 * n - i + 1) // 2 + j - i - 1


@kernel
def _leaves(leaf, i, room, seen):
    """Exponentials of a token's scores, relative to the largest; their number and that score."""
    peak, n_seen = -np.inf, 0
    for s in range(leaf.shape[1]):
        peak = max(peak, leaf[i, s])
    for s in range(leaf.shape[1]):
        x = np.exp(leaf[i, s] - peak) if leaf[i, s] > -np.inf else 0.0
        if x > 0.0:
            room[s] = x
            seen[n_seen] = s
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
def outside(grammar, rules, root, items, weight, out):
    """Add weighted expected counts, top-down; return log Z. Items are as `inside` gives them."""
    indptr, right, parent = grammar.indptr, grammar.right, grammar.parent
    first, stop, symbols, values, scale = items
    rule, top = rules
    out_rule, out_leaf, out_root = out.rule, out.leaf, out.root
    n, S = out_leaf.shape
    share = np.zeros(stop.max())  # of each item: its outside times Z's inverse, relative to 1 / its cell's scale
    top_cell, peak, total = cell(n, 0, n), -np.inf, 0.0
    for p in range(first[top_cell], stop[top_cell]):
        peak = max(peak, root[symbols[p]])
    if peak == -np.inf:
        return -np.inf
    for p in range(first[top_cell], stop[top_cell]):
        share[p] = np.exp(root[symbols[p]] - peak)
        total += share[p] * values[p]
    for p in range(first[top_cell], stop[top_cell]):
        share[p] /= total
        out_root[symbols[p]] += weight * share[p] * values[p]
    above, beside, place = np.zeros(S), np.zeros(S), np.zeros(S, np.int64)
    for length in range(n, 1, -1):
        for i in range(n - length + 1):
            c = cell(n, i, i + length)
            for p in range(first[c], stop[c]):
                above[symbols[p]] = share[p]
            for k in range(i + 1, i + length):
                a, b = cell(n, i, k), cell(n, k, i + length)
                if first[c] == stop[c] or first[a] == stop[a] or first[b] == stop[b]:
                    continue
                factor = np.exp(scale[a] + scale[b] + top - scale[c])
                for q in range(first[b], stop[b]):
                    beside[symbols[q]], place[symbols[q]] = values[q], q
                for p in range(first[a], stop[a]):
                    for r in range(indptr[symbols[p]], indptr[symbols[p] + 1]):
                        x = factor * rule[r] * above[parent[r]]
                        y = beside[right[r]]
                        if x > 0.0 and y > 0.0:
                            share[p] += x * y
                            share[place[right[r]]] += x * values[p]
                            out_rule[r] += weight * x * y * values[p]
                for q in range(first[b], stop[b]):
                    beside[symbols[q]] = 0.0
            for p in range(first[c], stop[c]):
                above[symbols[p]] = 0.0
    for i in range(n):
        c = cell(n, i, i + 1)
        for p in range(first[c], stop[c]):
            out_leaf[i, symbols[p]] += weight * share[p] * values[p]
    return scale[top_cell] + peak + np.log(total)
