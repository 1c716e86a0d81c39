"""Best parses of the Penn Treebank sample, by NLTK's ViterbiParser and by ours with the same
grammar.

It gets the rules of a fitted PCFG, of the words those of the sentences, and for words what the PCFG
takes them for. It needs half a minute for a sentence, so both parse a few of 5 to 25 words; its
best parses must have the same log-probabilities.
"""

from __future__ import annotations

import json
import math
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least
from lib.treebank import load_kernels, treebank

NLTK = "NLTK ViterbiParser"
PLAIN = "PCFG"
RATE = "sentences per CPU s"
DIFFERENCE = "largest difference of log-probabilities"
EVERY = 19  # of the 171 sentences of 5 to 25 words


def grammar_and_sentences(watch: Stopwatch) -> tuple[Any, list[list[str]]]:
    from peers.nltk_grammar import with_one_root
    from sklearn_struct import PCFG

    longest, every = (8, 4) if watch.quick else (25, EVERY)
    parser = PCFG(vertical_order=1)
    load_kernels(parser)
    parser.fit(*treebank("train", None, watch))
    X = [sentence for sentence in treebank("dev", longest, watch)[0] if len(sentence) >= 5]
    return with_one_root(parser), X[::every]


def viterbi(watch: Stopwatch) -> dict[str, float]:
    """From words to nltk's trees; the shortest of several times."""
    parser, X = grammar_and_sentences(watch)
    seconds = least(lambda: parser.predict(X))
    (watch.scratch / "viterbi.json").write_text(
        json.dumps(parser.log_joint(X, parser.predict(X)).tolist())
    )
    return {"sentences": len(X), "words": sum(map(len, X)), RATE: len(X) / seconds}


def nltk_viterbi(watch: Stopwatch) -> dict[str, float]:
    """From what words are taken for to trees."""
    from nltk.parse import ViterbiParser

    from peers.nltk_grammar import nltk_grammar, observations

    parser, X = grammar_and_sentences(watch)
    grammar = nltk_grammar(parser, X)
    expected = json.loads((watch.scratch / "viterbi.json").read_text())
    scores = []
    with watch.part("parsing"):
        for sentence in observations(parser, X):
            rival = ViterbiParser(grammar)
            rival._max_time = None  # newer versions give up after 5 s
            scores += [math.log(tree.prob()) for tree in rival.parse(sentence)]
    figures = {
        "sentences": len(X),
        "words": sum(map(len, X)),
        "productions": len(grammar.productions()),
    }
    figures[RATE] = len(X) / watch.figures["parsing, CPU s"]
    return figures | {DIFFERENCE: max(abs(a - b) for a, b in zip(scores, expected, strict=True))}


def faster_than_nltk(medians: Medians) -> list[Goal]:
    ratio = medians.ratio((PLAIN, RATE), (NLTK, RATE))
    return [
        Goal("trees: best parses / NLTK's, sentences per second", ratio, 1000, 1000),
        Goal(
            "trees: difference of log-probabilities from NLTK's",
            medians.figure(NLTK, DIFFERENCE),
            1e-9,
            1e-9,
            True,
        ),
    ]


BENCHMARKS = {
    "parsing-nltk": Benchmark(
        "Sentences parsed per second with the same PCFG: treebank sample, 5 to 25 words",
        {},
        faster_than_nltk,
        once={PLAIN: viterbi, NLTK: nltk_viterbi},
        beside="NLTK",
    )
}
