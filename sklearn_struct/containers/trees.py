"""Trees, grammars and forests, as kernels receive them: NamedTuples of arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

__all__ = [
    "Forest",
    "Grammar",
    "Tensors",
    "TreeScores",
    "Treebank",
    "Trees",
    "examples",
    "grammar",
    "split",
    "tensors",
]


class Trees(NamedTuple):
    """Binary trees, the nodes of all in post-order: the left child's nodes, the right child's, then
    the node itself.

    ``offsets`` (n + 1, int64) bounds the nodes of example i, whose root is the last. ``left``,
    ``right`` and ``parent`` are numbers of nodes: -1, -1 where a node stands over one word, and
    parent -1 at a root. ``start`` and ``stop`` bound the words below a node, counted from the first
    of the sentence. All but the offsets int32.
    """

    offsets: np.ndarray
    symbol: np.ndarray
    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    start: np.ndarray
    stop: np.ndarray


class Grammar(NamedTuple):
    """Binary rules in the order of their left children: those of symbol b are ``indptr[b] :
    indptr[b + 1]``.

    Those below symbol a are ``down[down_indptr[a] : down_indptr[a + 1]]``. Index pointers int64,
    the others int32.
    """

    indptr: np.ndarray
    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    down_indptr: np.ndarray
    down: np.ndarray


class TreeScores(NamedTuple):
    """Log-scores of one sentence: of rules, of roots (n_symbols,), and of leaves.

    Token t may be one of the symbols ``leaf_symbol[leaf_indptr[t] : leaf_indptr[t + 1]]`` (int32,
    int64), all different, whose scores are the same part of ``leaf``.
    """

    rule: np.ndarray
    root: np.ndarray
    leaf_indptr: np.ndarray
    leaf_symbol: np.ndarray
    leaf: np.ndarray


class Forest(NamedTuple):
    """Trees over sentences, packed: items, children before parents, and the edges below them, in
    their order.

    Example i has the items ``offsets[i] : offsets[i + 1]``; its roots are those over the same
    tokens as the last. Item p is a symbol over the tokens ``start[p] : stop[p]`` of its sentence.
    Its edges ``indptr[p] : indptr[p + 1]`` join a ``left`` and a ``right`` item by a ``rule`` each;
    an item without is a ``leaf``, the number of a vector, else -1. Index pointers int64, the others
    int32.
    """

    offsets: np.ndarray
    symbol: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    leaf: np.ndarray
    indptr: np.ndarray
    left: np.ndarray
    right: np.ndarray
    rule: np.ndarray


class Treebank(NamedTuple):
    """Trees from which a grammar is learned: an example each, in which items have one edge or are
    leaves.

    ``leaf`` of an item is the number of what is emitted there, by the symbol ``leaf_symbol`` of
    that number.
    """

    grammar: Grammar
    forest: Forest
    leaf_symbol: np.ndarray


class Tensors(NamedTuple):
    """Numbers of a grammar whose symbols have states: of rules, leaves and roots, one behind the
    other.

    Symbol s has ``n_states[s]`` states; rows of numbers by state are padded with zeros to whole
    vectors. Rule r, at ``rule[rule_start[r]]``, has such a row of the parent's states for each
    state of the left child and, within it, of the right one. Leaf f, a row, is at
    ``leaf[leaf_start[f]]``, the row of roots s at ``root[root_start[s]]``. The starts have one more
    element than there are rows. Starts int64, n_states int32, numbers float64.
    """

    n_states: np.ndarray
    rule_start: np.ndarray
    rule: np.ndarray
    leaf_start: np.ndarray
    leaf: np.ndarray
    root_start: np.ndarray
    root: np.ndarray


def grammar(left: np.ndarray, right: np.ndarray, parent: np.ndarray, n_symbols: int) -> Grammar:
    """The Grammar of rules, given in the order of their left children."""
    bounds = np.arange(n_symbols + 1)
    down = np.argsort(parent, kind="stable").astype(np.int32)
    left, right, parent = (column.astype(np.int32) for column in (left, right, parent))
    return Grammar(
        np.searchsorted(left, bounds).astype(np.int64),
        left,
        right,
        parent,
        np.searchsorted(parent[down], bounds).astype(np.int64),
        down,
    )


def tensors(grammar: Grammar, n_states: np.ndarray, leaf_symbol: np.ndarray) -> Tensors:
    """Zeros for the rules of a grammar, for leaves of these symbols, and for roots."""
    n_states = n_states.astype(np.int32)
    width = (n_states.astype(np.int64) + 7) // 8 * 8
    sizes = (
        n_states[grammar.left] * n_states[grammar.right] * width[grammar.parent],
        width[leaf_symbol],
        width,
    )
    starts = [np.concatenate([[0], np.cumsum(size, dtype=np.int64)]) for size in sizes]
    of_rules, of_leaves, of_roots = ((start, np.zeros(start[-1])) for start in starts)
    return Tensors(n_states, *of_rules, *of_leaves, *of_roots)


def split(forest: Forest, n_parts: int) -> list[Forest]:
    """Consecutive examples with about equally many items."""
    bounds = np.searchsorted(forest.offsets, np.linspace(0, forest.offsets[-1], n_parts + 1))
    return [examples(forest, first, last) for first, last in pairwise(np.unique(bounds).tolist())]


def examples(forest: Forest, first: int, last: int) -> Forest:
    """The examples ``first : last``."""
    offsets = forest.offsets[first : last + 1]
    items = slice(int(offsets[0]), int(offsets[-1]))
    indptr = forest.indptr[items.start : items.stop + 1]
    edges = slice(int(indptr[0]), int(indptr[-1]))
    left, right = (
        (column[edges] - items.start).astype(np.int32) for column in (forest.left, forest.right)
    )
    symbol, start, stop, leaf = (
        column[items] for column in (forest.symbol, forest.start, forest.stop, forest.leaf)
    )
    rule = forest.rule[edges]
    indptr = indptr - edges.start
    return Forest(offsets - items.start, symbol, start, stop, leaf, indptr, left, right, rule)
