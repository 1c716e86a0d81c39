"""Parsers on the Penn Treebank sample: how fast, large and good they are.

They learn from the 3,139 trees of at most 40 words and parse the 260 such sentences of the
development set.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source
from lib.treebank import load_kernels, treebank

RATE = "sentences per CPU s"
F1 = "F1"
MEMORY = "peak memory until {}, MB"
LONG = "the longest sentence"
PLAINEST = "PCFG, h=1, v=1"
FAST = "EMLPCFG, m=8"
EM = "EMLPCFG, m=16"
FAST_SPECTRAL = "SpectralLPCFG, m=8"
SPECTRAL = "SpectralLPCFG, m=16"


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
    predicted = parser.predict(X_dev)
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
    return figures | {RATE: rate, F1: _f1(y_dev, predicted)}


def _f1(y: Any, predicted: Any) -> float:
    from sklearn_struct.metrics import bracket_f1_score

    return 100 * bracket_f1_score(y, predicted)


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
    "parsers": Benchmark(
        "Time, memory and F1 of parsers: treebank sample, at most 40 words",
        {name: partial(parsing, made) for name, made in PARSERS.items()},
        good_parsers,
        papers=(Source("cohen-2012", "section 6"), Source("smith-2007", "section 4.1.2")),
    )
}
