"""Names of pieces of trees."""

from __future__ import annotations

import numpy as np

from sklearn_struct import PCFG
from sklearn_struct.encoding.trees import binarization, tree_corpus
from sklearn_struct.encoding.trees.fragment_names import names
from sklearn_struct.grammars.fragments import TEMPLATES, Fragments, observed, places

X = [["the", "dog", "sleeps"], ["the", "man", "sees", "Smithers"]]
Y = [
    "(S (NP (D the) (N dog)) (VP (V sleeps)))",
    "(S (NP (D the) (N man)) (VP (V sees) (NP (N Smithers))))",
]


def test_names():
    parser = PCFG(vertical_order=1).fit(X, Y)
    seen = places(
        tree_corpus.forest(parser._codes, X, binarization.read(Y)), len(parser._model.plain.rule)
    )
    fragments = observed(TEMPLATES, parser._model, seen)
    found = names(fragments, parser._model, parser._codes)
    assert len(set(found)) == len(found) == fragments.size
    assert {
        "rule: S -> NP VP",
        "word: D -> the",
        "word: NP+N -> UNK-CAPS-s",
        "symbol: VP+V",
        "parent-rule: root | S -> NP VP",
        "parent-word: S | right | VP+V -> UNK-LC-s",
        "sibling-symbol: NP | right | VP",
        "rule-symbol: VP -> V NP+N | left | V",
        "rule-rule: S -> NP VP | left | NP -> D N",
        "rule-rule: root | S -> NP VP",
        "rule-word: NP -> D N | left | D -> the",
    } <= set(found)
    assert all(name.split(":")[0] in TEMPLATES for name in found)


def test_a_word_like_no_other():
    parser = PCFG(vertical_order=1).fit(X, Y)
    last = len(parser._model.plain.rule) + len(parser._model.plain.leaf) - 1
    [name] = names(Fragments(("word",), (np.array([last]),)), parser._model, parser._codes)
    assert name.endswith("-> any other word")
