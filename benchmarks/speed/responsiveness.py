"""How long other Python threads stall while we work, and how soon Ctrl-C ends the work; wall-clock
time, the worst.
"""

from __future__ import annotations

import gc
import math
import signal
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Contestant, Medians, Stopwatch
from lib.tasks import corpus, packed

STALL = "longest stall, wall ms"
WITH_COLLECTIONS = "with Python's garbage collections, wall ms"
DELAY = "Ctrl-C to KeyboardInterrupt, wall ms"
FITS = {
    "fit, lbfgs": {"solver": "lbfgs"},
    "fit, sag": {"solver": "sag", "random_state": 0},
    "fit, two threads": {"solver": "lbfgs", "n_jobs": 2},
}
PREDICTIONS = ("predict", "predict_proba")
ENCODERS = ("columns", "strings", "dicts")
IDLE = "nothing"


def _job(name: str, watch: Stopwatch) -> Callable[[], Any]:
    """The work called so, its kernels loaded."""
    from sklearn_struct import FeatureTemplates, LinearChainCRF, SequenceVectorizer

    warnings.simplefilter("ignore")
    if name == IDLE:
        return partial(time.sleep, 1.0)
    if name in ENCODERS:
        X = corpus(watch, name)[0]
        encoder = (
            FeatureTemplates("chunking", add_bos_eos=True)
            if name == "columns"
            else SequenceVectorizer()
        )
        encoder.fit(X[:50])
        return partial(encoder.fit_transform, X)
    X, y, *_ = packed("chunking", watch)
    crf = LinearChainCRF(C=0.5, fit_intercept=False, max_iter=30).set_params(**FITS.get(name, {}))
    crf.fit(X[:50], y[:50])
    if name in FITS:
        return partial(crf.fit, X, y)
    work = getattr(crf.fit(X, y), name)
    work(X[:5])
    return partial(work, X)


def _repeat(job: Callable[[], Any], seconds: float = 1.0) -> None:
    """Do it again and again, for at least so long."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        job()


def stall(name: str, watch: Stopwatch) -> dict[str, float]:
    """The longest that a thread which wants to run every millisecond has to wait.

    Without and with the time of Python's garbage collector, which looks at all objects of the
    process now and then, the corpus and the loaded modules, whoever makes the next one.
    """
    job = _job(name, watch)
    ticks = [time.perf_counter()]
    done = threading.Event()
    collections: dict[str, list[float]] = {"start": [], "stop": []}

    def collected(phase: str, info: dict[str, int]) -> None:
        collections[phase].append(time.perf_counter())

    def tick() -> None:
        while not done.is_set():
            time.sleep(0.001)
            ticks.append(time.perf_counter())

    ticking = threading.Thread(target=tick)
    ticking.start()
    gc.callbacks.append(collected)
    _repeat(job)
    gc.callbacks.remove(collected)
    done.set()
    ticking.join()
    longest = with_collections = 0.0
    for begin, end in pairwise(ticks):
        spans = zip(collections["start"], collections["stop"], strict=True)
        collecting = sum(max(0.0, min(end, stop) - max(begin, start)) for start, stop in spans)
        longest = max(longest, end - begin - collecting)
        with_collections = max(with_collections, end - begin)
    return {STALL: 1000 * longest, WITH_COLLECTIONS: 1000 * with_collections}


def interrupt(name: str, watch: Stopwatch) -> dict[str, float]:
    """The longest time from the signal to the exception, at several moments of the work."""
    job = _job(name, watch)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    start = time.perf_counter()
    job()
    duration = time.perf_counter() - start
    return {
        DELAY: 1000
        * max(_delay(job, 0.05 + duration * share) for share in (0.0, 0.1, 0.3, 0.5, 0.7))
    }


def _delay(job: Callable[[], Any], after: float) -> float:
    sent = []

    def send() -> None:
        sent.append(time.perf_counter())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    try:
        threading.Timer(after, send).start()
        _repeat(job, math.inf)
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    raise AssertionError("unreachable")


def _worst(medians: Medians, names: tuple[str, ...], figure: str) -> float | None:
    """The largest figure; None if one is missing."""
    figures = [medians.figure(name, figure) for name in names]
    return None if None in figures else max(f for f in figures if f is not None)


def stall_goals(medians: Medians) -> list[Goal]:
    fitting, encoding = (
        _worst(medians, names, STALL) for names in ((*FITS, *PREDICTIONS), ENCODERS)
    )
    return [
        Goal("4. longest stall of other threads: fit and predict, ms", fitting, 50, 50, True),
        Goal("4. longest stall of other threads: encoding, ms", encoding, 50, 50, True),
    ]


def interrupt_goals(medians: Medians) -> list[Goal]:
    fitting, encoding = (
        _worst(medians, names, DELAY) for names in ((*FITS, *PREDICTIONS), ENCODERS)
    )
    return [
        Goal("4. Ctrl-C: fit and predict, ms", fitting, 200, 200, True),
        Goal("4. Ctrl-C: encoding, ms", encoding, 200, 200, True),
    ]


def _contestants(
    measure: Callable[[str, Stopwatch], dict[str, float]], *names: str
) -> dict[str, Contestant]:
    return {name: partial(measure, name) for name in names}


WORK = (*FITS, *PREDICTIONS, *ENCODERS)
BENCHMARKS = {
    "stalls": Benchmark(
        "Longest time that other threads must wait: CoNLL-2000 chunking",
        _contestants(stall, IDLE, *WORK),
        stall_goals,
        "chunking",
    ),
    "interrupt": Benchmark(
        "How soon Ctrl-C ends the work: CoNLL-2000 chunking",
        _contestants(interrupt, *WORK),
        interrupt_goals,
        "chunking",
    ),
}
