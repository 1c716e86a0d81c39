"""A treebank as arrays to learn a grammar from, and other trees in the codes of that grammar."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.trees import Forest, Grammar, Treebank, Trees, grammar
from sklearn_struct.encoding.trees import lexicon
from sklearn_struct.encoding.trees.binarization import Symbol, encode
from sklearn_struct.encoding.trees.brackets import Tree
from sklearn_struct.encoding.trees.lexicon import Emissions, Lexicon
from sklearn_struct.exceptions import UnknownLabelError

__all__ = ["TreeCodes", "TreeCorpus", "forest", "learn"]


class TreeCodes(NamedTuple):
    """What the numbers of a grammar stand for; a leaf's number is its entry in the lexicon.

    ``orders`` are the horizontal and the vertical order of the binary trees.
    """

    grammar: Grammar
    symbols: list[Symbol]
    lexicon: Lexicon
    orders: tuple[int, int]


class TreeCorpus(NamedTuple):
    """Binary trees, what their numbers stand for, and how tokens count for leaves."""

    treebank: Treebank
    codes: TreeCodes
    emissions: Emissions


def learn(
    X: Sequence[Sequence[str]],
    trees: Sequence[Tree],
    orders: tuple[int, int],
    min_frequency: int,
    unknown: float,
) -> TreeCorpus:
    """Encode stripped trees over these sentences.

    `min_frequency` and `unknown` are parameters of the lexicon.
    """
    binary, symbols = encode(trees, h=orders[0], v=orders[1])
    S = len(symbols)
    words, emissions, entry = lexicon.learn(
        X, binary.symbol[binary.left < 0], S, min_frequency, unknown
    )
    keys, rule = np.unique(_keys(binary, S), return_inverse=True)
    rules = grammar(keys // S // S, keys // S % S, keys % S, S)
    treebank = Treebank(rules, _forest(binary, rule, entry), words.symbol)
    return TreeCorpus(treebank, TreeCodes(rules, symbols, words, orders), emissions)


def forest(
    codes: TreeCodes, X: Sequence[Sequence[str]], trees: Sequence[Tree], name: str = "y"
) -> Forest:
    """Other stripped trees, with -1 for symbols, rules and leaves that are unknown.

    Raises
    ------
    UnknownLabelError
        If a label was never seen. A known label may still be part of a symbol that is unknown.
    """
    _refuse_unknown(codes, trees, name)
    binary, symbols = encode(trees, h=codes.orders[0], v=codes.orders[1], symbols=codes.symbols)
    S = len(symbols)
    rules = codes.grammar
    words = codes.lexicon
    leaf = binary.left < 0
    observed = np.array(
        list(chain.from_iterable(lexicon.observe(words, x) for x in X)), dtype=np.int64
    )
    entries = np.repeat(np.arange(len(words.indptr) - 1), np.diff(words.indptr)) * S + words.symbol
    known_rules = _rule_number(rules.left.astype(np.int64), rules.right, rules.parent, S)
    symbol = binary.symbol.astype(np.int64)
    inner = ~leaf
    whole = np.minimum(np.minimum(symbol[binary.left], symbol[binary.right]), symbol)[inner] >= 0
    rule = np.where(whole, _find(known_rules, _keys(binary, S)), -1)
    return _forest(
        binary, rule, np.where(symbol[leaf] >= 0, _find(entries, observed * S + symbol[leaf]), -1)
    )


def _refuse_unknown(codes: TreeCodes, trees: Sequence[Tree], name: str) -> None:
    known = {label for symbol in codes.symbols for label in symbol.chain} | {"ROOT"}
    for i, tree in enumerate(trees):
        for label, n in zip(tree.labels, tree.arity):
            if n and label not in known:
                raise UnknownLabelError(f"{name}[{i}]: the label {label!r} was not seen in fit")


def _keys(binary: Trees, n_symbols: int) -> np.ndarray:
    """A number for the rule of each node with children, ordered by left, right, parent symbol."""
    inner = np.flatnonzero(binary.left >= 0)
    symbol = binary.symbol.astype(np.int64)  # three symbols together need more than 32 bits
    return _rule_number(
        symbol[binary.left[inner]], symbol[binary.right[inner]], symbol[inner], n_symbols
    )


def _rule_number(
    left: np.ndarray, right: np.ndarray, parent: np.ndarray, n_symbols: int
) -> np.ndarray:
    children = left * n_symbols + right
    numbers: np.ndarray = children * n_symbols + parent
    return numbers


def _find(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Places among ascending values, -1 where they are missing."""
    at = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[at] == wanted, at, -1) if len(values) else np.full(len(wanted), -1)


def _forest(binary: Trees, rule: np.ndarray, entry: np.ndarray) -> Forest:
    is_leaf = binary.left < 0
    leaf = np.full(len(is_leaf), -1, np.int32)
    leaf[is_leaf] = entry
    indptr = np.concatenate([[0], np.cumsum(~is_leaf, dtype=np.int64)])
    children = binary.left[~is_leaf], binary.right[~is_leaf], rule.astype(np.int32)
    return Forest(binary.offsets, binary.symbol, binary.start, binary.stop, leaf, indptr, *children)
