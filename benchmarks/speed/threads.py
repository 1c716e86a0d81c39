"""What a second thread gains: wall-clock time of an evaluation, the shortest of several."""

from __future__ import annotations

import math
import time
import warnings

from lib.fitting import load_kernels
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source
from lib.tasks import packed

GAIN = "gain of two threads"


def evaluations(watch: Stopwatch) -> dict[str, float]:
    """On one thread and on two in turns, since the machine may be busy with other things."""
    from lib.recording import evaluation_seconds

    from sklearn_struct import LinearChainCRF

    warnings.simplefilter("ignore")
    X, y, *_ = packed("chunking", watch)
    crf = LinearChainCRF(C=0.5, fit_intercept=False, solver="lbfgs", max_iter=5)
    load_kernels(crf, X, y, max_iter=2)
    shortest = {1: math.inf, 2: math.inf}
    for _ in range(6):
        for n_jobs in shortest:
            with evaluation_seconds(time.perf_counter) as seconds:
                crf.set_params(n_jobs=n_jobs).fit(X, y)
            shortest[n_jobs] = min(shortest[n_jobs], *seconds)
    times = {f"one evaluation on {n} threads, wall s": seconds for n, seconds in shortest.items()}
    return times | {GAIN: shortest[1] / shortest[2]}


def goals(medians: Medians) -> list[Goal]:
    return [
        Goal("4. two threads on an evaluation: gain (wall)", medians.figure("ours", GAIN), 1.7, 1.7)
    ]


BENCHMARKS = {
    "threads": Benchmark(
        "Gain of a second thread: CoNLL-2000 chunking, 22 labels",
        {"ours": evaluations},
        goals,
        "chunking",
        papers=(Source("sutton-2012", "section 5.3"),),
    )
}
