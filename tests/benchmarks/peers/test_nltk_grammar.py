"""A grammar that NLTK parses with, too."""

from __future__ import annotations

import pytest


def test_nltk_finds_the_best_parses_of_a_pcfg():
    from math import log

    from nltk.parse import ViterbiParser
    from peers.nltk_grammar import nltk_grammar, observations, with_one_root

    from sklearn_struct import PCFG
    from sklearn_struct.datasets import make_treebank

    X, y = make_treebank(60, random_state=0)
    parser = with_one_root(PCFG(vertical_order=1).fit(X, y))
    sentences = [
        ["the", "child", "sees", "Zyx"],
        ["some", "dogs", "met", "Ann", "with", "a", "red", "spoon"],
    ]
    grammar = nltk_grammar(parser, sentences)
    found = [next(ViterbiParser(grammar).parse(words)) for words in observations(parser, sentences)]
    expected = parser.log_joint(sentences, parser.predict(sentences))
    assert [log(tree.prob()) for tree in found] == pytest.approx(expected.tolist(), abs=1e-12)
    mass = {}
    for production in grammar.productions():
        mass[production.lhs()] = mass.get(production.lhs(), 0.0) + production.prob()
    assert len(mass) == len(parser.symbols_)
    assert list(mass.values()) == pytest.approx([1.0] * len(mass))
