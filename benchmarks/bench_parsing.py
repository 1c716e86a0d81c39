"""Parsers on the Penn Treebank sample: against NLTK with the same grammar, and how fast, large and good they are.

NLTK's ViterbiParser gets the rules of a fitted PCFG, of the words those of the sentences, and for words what the PCFG
takes them for. It needs half a minute for a sentence, so both parse a few of 5 to 25 words; its best parses must have
the same log-probabilities. The others learn from the 3,139 trees of at most 40 words and parse the 260 such sentences
of the development set.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from goals import Goal
from side_by_side import Benchmark, Medians, Stopwatch, least

NLTK, PLAIN = "NLTK ViterbiParser", "PCFG"
RATE, DIFFERENCE = "sentences per CPU s", "largest difference of log-probabilities"
F1, MEMORY, LONG = "F1", "peak memory until {}, MB", "the longest sentence"
EVERY = 19  # of the 171 sentences of 5 to 25 words


def treebank(
    subset: str, longest: int | None, watch: Stopwatch
) -> tuple[list[list[str]], list[str]]:
    from sklearn_struct.datasets import fetch_treebank_sample

    X, y = fetch_treebank_sample(subset=subset, max_length=longest, return_X_y=True)
    n = len(X) if not watch.quick else 500 if subset == "train" else 30
    return X[:n], y[:n]


def load_kernels(parser: Any, **limits: int) -> None:
    """Learn and parse a little, so that compiling or loading kernels is not counted."""
    from sklearn.base import clone

    from sklearn_struct.datasets import make_treebank

    X, y = make_treebank(20, random_state=0)
    small = clone(parser).set_params(**limits).fit(X, y)
    small.predict(X[:2])
    small.log_joint(X[:2], y[:2])


# ---- against NLTK


def grammar_and_sentences(watch: Stopwatch) -> tuple[Any, list[list[str]]]:
    from treebank_grammar import with_one_root

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
    from treebank_grammar import nltk_grammar, observations

    parser, X = grammar_and_sentences(watch)
    grammar = nltk_grammar(parser, X)
    expected, found = json.loads((watch.scratch / "viterbi.json").read_text()), []
    with watch.part("parsing"):
        for sentence in observations(parser, X):
            rival = ViterbiParser(grammar)
            rival._max_time = None  # newer versions give up after 5 s
            found += [math.log(tree.prob()) for tree in rival.parse(sentence)]
    figures = {
        "sentences": len(X),
        "words": sum(map(len, X)),
        "productions": len(grammar.productions()),
    }
    figures[RATE] = len(X) / watch.figures["parsing, CPU s"]
    return figures | {DIFFERENCE: max(abs(a - b) for a, b in zip(found, expected, strict=True))}


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


# ---- time, memory and F1


def make(name: str, **options: Any) -> Any:
    """The parser of this name; it imports the package only in the process that uses it."""
    import sklearn_struct

    return getattr(sklearn_struct, name)(**options)


def parsing(made: Callable[[], Any], watch: Stopwatch) -> dict[str, float]:
    """Peaks of memory are those of the process so far."""
    warnings.simplefilter("ignore")  # EM stops after its iterations; some sentences get flat trees
    parser = made()
    load_kernels(parser, **{"max_iter": 2} if "max_iter" in parser.get_params() else {})
    X, y = treebank("train", 40, watch)
    X_dev, y_dev = treebank("dev", 40, watch)
    watch.note_memory(MEMORY.format("data and kernels are loaded"))
    with watch.part("fit"):
        parser.fit(X, y)
    watch.note_memory(MEMORY.format("it is trained"))
    start = time.process_time()
    found = parser.predict(X_dev)
    rate = len(X_dev) / (time.process_time() - start)
    watch.note_memory(MEMORY.format("all is parsed"))
    long = max(treebank("train", None, watch)[0], key=len)
    with watch.part(LONG):
        parser.predict([long])
    watch.note_memory(MEMORY.format(f"{LONG} is parsed"))
    figures = {
        "sentences to learn from": len(X),
        "sentences to parse": len(X_dev),
        "words of " + LONG: len(long),
    }
    return figures | {RATE: rate, F1: _f1(y_dev, found)}


def _f1(y: Any, found: Any) -> float:
    from sklearn_struct.metrics import bracket_f1_score

    return 100 * bracket_f1_score(y, found)


PLAINEST = "PCFG, h=1, v=1"
FAST, EM = "EMLPCFG, m=8", "EMLPCFG, m=16"
FAST_SPECTRAL, SPECTRAL = "SpectralLPCFG, m=8", "SpectralLPCFG, m=16"
PARSERS: dict[str, Callable[[], Any]] = {
    PLAINEST: partial(make, "PCFG", horizontal_order=1, vertical_order=1),
    "PCFG, h=1, v=2": partial(make, "PCFG", horizontal_order=1, vertical_order=2),
    FAST: partial(make, "EMLPCFG", n_states=8, random_state=0),
    EM: partial(make, "EMLPCFG", n_states=16, random_state=0),
    FAST_SPECTRAL: partial(make, "SpectralLPCFG", n_states=8),
    SPECTRAL: partial(make, "SpectralLPCFG", n_states=16),
}


def good_parsers(medians: Medians) -> list[Goal]:
    least_f1 = {PLAINEST: 73, SPECTRAL: 84, EM: 85.5}
    return [
        *(
            Goal(f"trees: F1 of {name}", medians.figure(name, F1), f1, f1)
            for name, f1 in least_f1.items()
        ),
        *(
            Goal(f"trees: {m}, sentences per CPU s", medians.figure(m, RATE), 100, 100)
            for m in (FAST, FAST_SPECTRAL)
        ),
        Goal(
            f"trees: fit of {SPECTRAL}, CPU s", medians.figure(SPECTRAL, "fit, CPU s"), 3, 3, True
        ),
    ]


BENCHMARKS = {
    "parsing-nltk": Benchmark(
        "Best parses under one PCFG: treebank sample, sentences of 5 to 25 words",
        {},
        faster_than_nltk,
        once={PLAIN: viterbi, NLTK: nltk_viterbi},
    ),
    "parsers": Benchmark(
        "Parsers: treebank sample, sentences of at most 40 words, development set",
        {name: partial(parsing, made) for name, made in PARSERS.items()},
        good_parsers,
    ),
}
