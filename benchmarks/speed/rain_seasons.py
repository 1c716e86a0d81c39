"""Rain on 30,000 days: hidden Markov models whose transitions the season drives, beside others.

Months of 28 days, each a sequence; a day is wet or dry. Models learn from the first 700 months and
are measured on the other 359. The season is the cosine and the sine of the day in the year.
"""

from __future__ import annotations

import gzip
import warnings
from functools import partial
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least
from papers.field_corpora import in_data_home

KNOWN = 700  # months
ITERATIONS = 5
STATES = (2, 3, 4)
HELD_OUT = "held-out log-likelihood"
TIME = "step and iteration, CPU ns"


def read(name: str) -> list[str]:
    """The lines of a file."""
    return gzip.decompress(in_data_home("rain", name).read_bytes()).decode().split("\n")[:-1]


def series(season: bool) -> list[list[tuple[Any, ...]]]:
    """Days of months, with the season or without."""
    import numpy as np

    months = []
    for line, month in zip(read("rain.txt.gz"), read("months.txt.gz"), strict=True):
        days = line.split()
        angle = 2 * np.pi * (int(month) - 1 + np.arange(len(days)) / len(days)) / 12
        columns = [days, np.cos(angle), np.sin(angle)] if season else [days]
        months.append(list(zip(*columns, strict=True)))
    return months


def measured(kind: str, n_states: int, watch: Stopwatch) -> dict[str, float]:
    """What one model learns."""
    from sklearn_struct import HMM, HSMM, NonHomogeneousHMM

    warnings.simplefilter("ignore")
    options: dict[str, Any] = {"n_states": n_states, "oov": None, "random_state": watch.run}
    options["transition_smoothing"] = 0.1
    make: Any = {
        "HMM": partial(HMM, stop=False, **options),
        "HSMM": partial(HSMM, max_length=28, **options),
        "season": partial(NonHomogeneousHMM, transition_inputs=[1, 2], **options),
    }[kind]
    X = series(kind == "season")
    known = X[: KNOWN // 10 if watch.quick else KNOWN]
    fitted = make(max_iter=1000, n_init=3).fit(known)
    # a start is what a fit of no further iteration takes
    one, more = (
        least(lambda n=n: make(max_iter=n, tol=0.0).fit(known, init=fitted), 3)
        for n in (1, 1 + ITERATIONS)
    )
    return {
        HELD_OUT: fitted.log_likelihood(X[KNOWN:]),
        "BIC": fitted.bic(known),
        "iterations": fitted.n_iter_,
        TIME: 1e9 * (more - one) / ITERATIONS / sum(map(len, known)),
    }


def goals(medians: Medians) -> list[Goal]:
    """Held-out log-likelihoods above those of plain models."""
    made = []
    for n in STATES:
        ours = medians.figure(f"season, {n} states", HELD_OUT)
        plain = medians.figure(f"HMM, {n} states", HELD_OUT)
        gain = None if ours is None or plain is None else ours - plain
        made.append(Goal(f"gain over HMM, {n} states", gain, 100.0, 0.0))
    return made


BENCHMARKS = {
    "rain-seasons": Benchmark(
        "Hidden Markov models of rain, whose transitions the season drives: held-out likelihood",
        {
            f"{kind}, {n} states": partial(measured, kind, n)
            for kind in ("HMM", "HSMM", "season")
            for n in STATES
        },
        goals,
        beside="HMM, HSMM",
    )
}
