"""Labelled sequences as trees that branch to the right.

A grammar with states over such trees is a hidden Markov model. The symbol of node t is the label at
t. Its left child is the word at t. Its right child is what follows: node t + 1 or, at the end, a
leaf of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.trees import Forest, Grammar, Treebank, Trees, grammar
from sklearn_struct.encoding.trees import lexicon
from sklearn_struct.encoding.trees.lexicon import Emissions, Lexicon

__all__ = ["LabelCodes", "LabelTrees", "forest", "labelled", "learn", "observe", "rules_of"]


class LabelCodes(NamedTuple):
    """What the numbers of symbols, leaves and rules stand for.

    Symbols 0 ... K - 1 are labels over words, K is the end, and K + 1 + k are nodes of label k.
    Leaves are the entries of the lexicon, and behind these the end. ``rule[j, k]`` is the number of
    the rule by which label k, or the end if k is K, follows label j; -1 if it never did.
    """

    grammar: Grammar
    lexicon: Lexicon
    rule: np.ndarray


class LabelTrees(NamedTuple):
    """Training data: the trees in both forms, the meaning of their numbers, and leaf counts."""

    treebank: Treebank
    trees: Trees
    codes: LabelCodes
    emissions: Emissions

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Sums over the leaves of the trees, a row of numbers each, by number of the leaf."""
        symbol = self.trees.symbol[self.trees.left < 0]
        is_end = symbol == len(self.codes.rule)
        return np.concatenate(
            [self.emissions.sums(rows[~is_end]), rows[is_end].sum(axis=0, keepdims=True)]
        )


def learn(
    X: Sequence[Sequence[str]],
    labels: np.ndarray,
    n_labels: int,
    min_frequency: int,
    unknown: float,
) -> LabelTrees:
    """Encode sequences of at least one word each.

    `min_frequency` and `unknown` are parameters of the lexicon.
    """
    # words and rules are numbered as `tree_corpus.learn` would number them in these trees
    K = n_labels
    n = np.array([len(x) for x in X])
    words, emissions, entry = lexicon.learn(X, labels, K, min_frequency, unknown)
    trees = _trees(labels, n, K)
    inner = np.flatnonzero(trees.left >= 0)
    keys = _keys(trees.symbol[trees.left[inner]], trees.symbol[trees.right[inner]], K)
    known, number = np.unique(keys, return_inverse=True)
    rules, table = rules_of(known // (K + 1), known % (K + 1), K)
    leaf = np.full(len(trees.symbol), -1, np.int32)
    # the end of each sequence is a word of its own
    leaf[trees.left < 0] = len(words.symbol)
    leaf[(trees.left < 0) & (trees.symbol < K)] = entry
    indptr = np.concatenate([[0], np.cumsum(trees.left >= 0, dtype=np.int64)])
    children = trees.left[inner], trees.right[inner], number.astype(np.int32)
    packed = Forest(trees.offsets, trees.symbol, trees.start, trees.stop, leaf, indptr, *children)
    treebank = Treebank(rules, packed, np.append(words.symbol, K).astype(np.int32))
    return LabelTrees(treebank, trees, LabelCodes(rules, words, table), emissions)


def rules_of(first: np.ndarray, second: np.ndarray, K: int) -> tuple[Grammar, np.ndarray]:
    """The grammar by which label ``first[i]`` is followed by ``second[i]``, and the table `rule`.

    As a second label K is the end.
    """
    rules = grammar(first, np.where(second < K, K + 1 + second, K), K + 1 + first, 2 * K + 1)
    table = np.full((K, K + 1), -1)
    table[first, second] = np.arange(len(first))
    return rules, table


def _keys(left: np.ndarray, right: np.ndarray, K: int) -> np.ndarray:
    """A number for each rule, in the order of left and right symbols."""
    return left.astype(np.int64) * (K + 1) + np.where(right > K, right - K - 1, K)


def _trees(labels: np.ndarray, n: np.ndarray, K: int) -> Trees:
    """The trees of sequences of n words each: leaves, the end, and nodes from the last one back."""
    offsets = np.concatenate([[0], np.cumsum(2 * n + 1)])
    example = np.repeat(np.arange(len(n)), 2 * n + 1)
    place = np.arange(offsets[-1]) - offsets[example]
    length = n[example]
    is_node = place > length
    # the token of a leaf or a node; the end stands behind the last token
    t = np.where(is_node, 2 * length - place, place)
    label = np.concatenate([[0], labels])[
        np.where(t < length, 1 + (np.cumsum(n) - n)[example] + t, 0)
    ]
    symbol = np.where(is_node, K + 1 + label, np.where(t < length, label, K))
    number = np.arange(offsets[-1])
    left = np.where(is_node, number - place + t, -1)
    right = np.where(is_node, number - 1, -1)
    # the parent of a leaf is its node, that of a node the one behind it, and that of the end the
    # first node behind
    parent = np.where(is_node | (t == length), number + 1, number - place + 2 * length - t)
    parent[offsets[1:] - 1] = -1
    stop = np.where(is_node, length + 1, t + 1)
    columns = (column.astype(np.int32) for column in (symbol, left, right, parent, t, stop))
    return Trees(offsets, *columns)


def observe(codes: LabelCodes, sentence: Sequence[str], relaxed: bool = False) -> list[np.ndarray]:
    """The entries of each word: the labels that it may have."""
    return [
        lexicon.entries(codes.lexicon, o, None, relaxed)
        for o in lexicon.observe(codes.lexicon, sentence)
    ]


def labelled(codes: LabelCodes, sentence: Sequence[str], labels: np.ndarray) -> Forest | None:
    """The tree of a sequence with one labelling.

    None if a word never had its label in training, or a label never followed the one before it.
    """
    entries = observe(codes, sentence)
    own = [rows[codes.lexicon.symbol[rows] == label] for rows, label in zip(entries, labels)]
    packed = forest(codes, own)
    # a transition that was never seen has no rule
    return packed if len(packed.rule) == len(sentence) else None


def forest(codes: LabelCodes, entries: Sequence[np.ndarray]) -> Forest:
    """All labellings of a sequence, packed: leaves, the end, and nodes from the last one back.

    The leaf of the p-th entry of the sequence is item p, its node is item ``2 * n_entries - p``.
    """
    K = len(codes.rule)
    n = len(entries)
    leaf = np.concatenate([np.empty(0, np.int64), *entries])
    label = codes.lexicon.symbol[leaf].astype(np.int64)
    m = len(leaf)
    bounds = np.cumsum([0, *map(len, entries)])
    token = np.repeat(np.arange(n), np.diff(bounds))
    pairs = []
    for t in range(n - 1, -1, -1):
        here = np.arange(bounds[t + 1] - 1, bounds[t] - 1, -1)
        behind = np.arange(bounds[t + 1], bounds[t + 2]) if t < n - 1 else np.array([m])
        first, second = (side.ravel() for side in np.meshgrid(here, behind, indexing="ij"))
        rule = codes.rule[label[first], np.append(label, K)[second]]
        pairs.append(np.stack([first, np.where(second < m, 2 * m - second, m), rule])[:, rule >= 0])
    left, right, rule = np.concatenate([np.empty((3, 0), np.int64), *pairs], axis=1).astype(
        np.int32
    )
    n_edges = np.bincount(2 * m - left, minlength=2 * m + 1)
    symbol = np.concatenate([label, [K], K + 1 + label[::-1]])
    start = np.concatenate([token, [n], token[::-1]])
    stop = np.concatenate([token + 1, [n + 1], np.full(m, n + 1)])
    leaf = np.concatenate([leaf, [len(codes.lexicon.symbol)], np.full(m, -1)])
    symbol, start, stop, leaf = (column.astype(np.int32) for column in (symbol, start, stop, leaf))
    indptr = np.concatenate([[0], np.cumsum(n_edges)])
    return Forest(np.array([0, 2 * m + 1]), symbol, start, stop, leaf, indptr, left, right, rule)
