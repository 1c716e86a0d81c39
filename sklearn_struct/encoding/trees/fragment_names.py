"""Names of features that count pieces of trees, for people."""

from __future__ import annotations

from sklearn_struct.encoding.trees.lexicon import observations
from sklearn_struct.encoding.trees.tree_corpus import TreeCodes
from sklearn_struct.grammars.fragments import ROOT, Fragments, parts
from sklearn_struct.grammars.parsing import TreeModel

__all__ = ["names"]

SIDES = "left", "right"


def names(fragments: Fragments, model: TreeModel, codes: TreeCodes) -> list[str]:
    """Template, what is above, the side, and what is below.

    An example is ``rule-rule: S -> NP VP | left | NP -> D N``.
    """
    symbols = [str(symbol) for symbol in codes.symbols]
    productions = _productions(codes, symbols)
    names_of_features = []
    for template, above, side, below in parts(fragments, model):
        upper, _, lower = template.rpartition("-")
        of_above = productions if upper == "rule" else symbols
        of_below = symbols if lower == "symbol" else productions
        for a, s, b in zip(above.tolist(), side.tolist(), below.tolist()):
            context = f"{of_above[a]} | {SIDES[s]} | " if s != ROOT else "root | "
            names_of_features.append(f"{template}: {context if upper else ''}{of_below[b]}")
    return names_of_features


def _productions(codes: TreeCodes, symbols: list[str]) -> list[str]:
    rules = codes.grammar
    lexicon = codes.lexicon
    children = zip(rules.parent.tolist(), rules.left.tolist(), rules.right.tolist())
    words = zip(lexicon.symbol.tolist(), observations(lexicon, "any other word"))
    return [f"{symbols[a]} -> {symbols[b]} {symbols[c]}" for a, b, c in children] + [
        f"{symbols[s]} -> {shown}" for s, shown in words
    ]
