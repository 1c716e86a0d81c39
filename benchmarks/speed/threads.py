"""What a second thread gains: wall-clock time of an evaluation, the shortest of several; and what
it gains where two threads do the same thing on arrays of their own, which a machine whose cores
share their way to memory does not do at twice the rate.
"""

from __future__ import annotations

import math
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

from lib.fitting import load_kernels
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source
from lib.tasks import packed

from speed.roofline import PRODUCT, TRIAD, loads

GAIN = "gain of two threads"
MACHINE = "the machine"
OF_LOADS = {
    TRIAD: "gain of two threads, memory",
    PRODUCT: "gain of two threads, matrix product",
}


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


def machine(watch: Stopwatch) -> dict[str, float]:
    """How much more of a load is done in a second where two threads do it."""
    of_threads = loads("float64"), loads("float64")
    gains = {}
    for name, gain in OF_LOADS.items():
        works = [of_thread[name].do for of_thread in of_threads]
        alone = math.inf
        both = math.inf
        with ThreadPoolExecutor(2) as pool:
            for _ in range(9):
                start = time.perf_counter()
                works[0]()
                between = time.perf_counter()
                list(pool.map(lambda work: work(), works))
                alone = min(alone, between - start)
                both = min(both, time.perf_counter() - between)
        gains[gain] = 2 * alone / both
    return gains


def goals(medians: Medians) -> list[Goal]:
    gain = medians.figure("ours", GAIN)
    of_memory = medians.figure(MACHINE, OF_LOADS[TRIAD])
    # where memory is as fast for one thread as for two, no more is to be had
    least = 1.75 if of_memory is None else min(1.75, of_memory)
    return [Goal("4. two threads on an evaluation: gain (wall)", gain, 1.85, least)]


BENCHMARKS = {
    "threads": Benchmark(
        "Gain of a second thread: CoNLL-2000 chunking, 22 labels",
        {"ours": evaluations, MACHINE: machine},
        goals,
        "chunking",
        papers=(Source("sutton-2012", "section 5.3"),),
    )
}
