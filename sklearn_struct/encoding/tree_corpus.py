"""A treebank as arrays to learn a grammar from: binary trees, their rules, and what their tags emit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Forest, Treebank, grammar
from sklearn_struct.encoding import lexicon
from sklearn_struct.encoding.brackets import Tree
from sklearn_struct.encoding.lexicon import Emissions, Lexicon
from sklearn_struct.encoding.treebank import Symbol, encode

__all__ = ["TreeCorpus", "learn"]


class TreeCorpus(NamedTuple):
    """Binary trees, and what their symbols and leaves are; a leaf's number is its entry in the lexicon."""

    treebank: Treebank
    symbols: list[Symbol]
    lexicon: Lexicon
    emissions: Emissions


def learn(
    X: Sequence[Sequence[str]], trees: Sequence[Tree], orders: tuple[int, int], min_count: int, unknown: float
) -> TreeCorpus:
    """Encode stripped trees over these sentences; `orders` are the horizontal and the vertical one.

    `min_count` and `unknown` are parameters of the lexicon.
    """
    binary, symbols = encode(trees, h=orders[0], v=orders[1])
    is_leaf, S = binary.left < 0, len(symbols)
    words, emissions, entry = lexicon.learn(X, binary.symbol[is_leaf], S, min_count, unknown)
    leaf = np.full(len(is_leaf), -1, np.int32)
    leaf[is_leaf] = entry
    inner = np.flatnonzero(~is_leaf)
    left, right = binary.left[inner], binary.right[inner]
    rule = (binary.symbol[left].astype(np.int64) * S + binary.symbol[right]) * S + binary.symbol[inner]
    keys, number = np.unique(rule, return_inverse=True)
    forest = Forest(
        binary.offsets,
        binary.symbol,
        binary.start,
        binary.stop,
        leaf,
        np.concatenate([[0], np.cumsum(~is_leaf)]),
        left,
        right,
        number.astype(np.int32),
    )
    rules = grammar(keys // S // S, keys // S % S, keys % S, S)
    return TreeCorpus(Treebank(rules, forest, words.symbol), symbols, words, emissions)
