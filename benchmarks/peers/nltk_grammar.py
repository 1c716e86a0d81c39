"""The grammar of a fitted PCFG as nltk has them, with the same probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

REST = "<other words>"


def with_one_root(parser: Any) -> Any:
    """The parser itself, but that all trees have its most probable root: nltk's grammars have one
    start symbol.
    """
    root = parser._model.plain.root
    only = np.where(np.arange(len(root)) == np.argmax(root), 0.0, -np.inf)
    parser._model = parser._model._replace(plain=parser._model.plain._replace(root=only))
    return parser


def observations(parser: Any, X: Sequence[Sequence[str]]) -> list[list[str]]:
    """What the words of sentences are taken for, as the terminals of nltk's grammar."""
    from sklearn_struct.encoding.trees.lexicon import observe

    return [[f"word {code}" for code in observe(parser._codes.lexicon, sentence)] for sentence in X]


def nltk_grammar(parser: Any, X: Sequence[Sequence[str]]) -> Any:
    """An nltk PCFG: all rules, and of the words those of these sentences.

    Probabilities given a left side must sum to 1, or nltk refuses them. So the words that are left
    out are one more terminal, which no sentence has.
    """
    from nltk.grammar import PCFG, Nonterminal, ProbabilisticProduction

    from sklearn_struct.encoding.trees.lexicon import entries, observe

    grammar, symbol, (rule, root, leaf), _ = parser._model
    names = [Nonterminal(f"{code} {name}") for code, name in enumerate(parser.symbols_)]
    sides = zip(
        grammar.parent.tolist(),
        grammar.left.tolist(),
        grammar.right.tolist(),
        np.exp(rule).tolist(),
    )
    productions = [
        ProbabilisticProduction(names[a], [names[b], names[c]], prob=p) for a, b, c, p in sides
    ]
    missing = dict.fromkeys(symbol.tolist(), 1.0)  # mass of each tag's other words
    for code in sorted(
        {code for sentence in X for code in observe(parser._codes.lexicon, sentence)}
    ):
        for entry in entries(parser._codes.lexicon, code).tolist():
            tag = int(symbol[entry])
            p = float(np.exp(leaf[entry]))
            productions.append(ProbabilisticProduction(names[tag], [f"word {code}"], prob=p))
            missing[tag] -= p
    productions += [
        ProbabilisticProduction(names[tag], [REST], prob=max(p, 0.0)) for tag, p in missing.items()
    ]
    return PCFG(names[int(np.argmax(root))], productions, calculate_leftcorners=False)
