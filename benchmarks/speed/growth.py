"""How the cost of an evaluation grows with the number of sequences, their length, labels and
features a token.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

from lib.curves import slope
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch

SLOPE = "slope (log-log)"
VOCABULARY = 5000


class Size(NamedTuple):
    """Made-up data: random features of random tokens; each feature occurs with every label."""

    sequences: int = 8000
    length: int = 25
    labels: int = 22
    features: int = 10


GROWTH = {
    "sequences": (4000, 8000, 16000, 32000),
    "length": (12, 25, 50, 100),
    "labels": (4, 8, 16, 32, 64),
    "features": (5, 10, 20, 40),
}


def make(size: Size, seed: int) -> tuple[Any, Any]:
    """X and y."""
    import numpy as np
    import scipy.sparse as sp

    from sklearn_struct import SequenceArray

    rng = np.random.RandomState(seed)
    n = size.sequences * size.length
    columns = np.sort(rng.randint(0, VOCABULARY, (n, size.features), dtype=np.int32), axis=1)
    indptr = np.arange(0, columns.size + 1, size.features)
    X = sp.csr_array((np.ones(columns.size), columns.ravel(), indptr), shape=(n, VOCABULARY))
    X.sum_duplicates()
    X.data[:] = 1.0
    offsets = np.arange(0, n + 1, size.length)
    return SequenceArray(X, offsets), SequenceArray(rng.randint(0, size.labels, n), offsets)


def seconds(size: Size, seed: int) -> float:
    """The shortest of several evaluations, CPU s."""
    from lib.recording import evaluation_seconds

    from sklearn_struct import LinearChainCRF

    crf = LinearChainCRF(solver="lbfgs", fit_intercept=False, max_iter=5, tol=0)
    with evaluation_seconds() as noted:
        crf.fit(*make(size, seed))
    return min(noted)


def growth(what: str, watch: Stopwatch) -> dict[str, float]:
    """Seconds for each size, and the slope of the least-squares line through their logarithms."""
    warnings.simplefilter("ignore")
    base = Size(sequences=800) if watch.quick else Size()
    sizes = [
        value // 10 if watch.quick and what == "sequences" else value for value in GROWTH[what]
    ]
    seconds(Size(sequences=40), 0)  # loads the kernels
    times = [seconds(base._replace(**{what: value}), watch.run) for value in sizes]
    return {f"{value:,}, CPU s": time for value, time in zip(sizes, times, strict=True)} | {
        SLOPE: slope(sizes, times)
    }


def goals(medians: Medians) -> list[Goal]:
    promises = []
    for what in ("sequences", "length"):
        value = medians.figure(what, SLOPE)
        off = None if value is None else abs(value - 1)
        promises.append(Goal(f"4. growth with {what}: |slope - 1|", off, 0.05, 0.05, True))
    return promises


CONTESTANTS = {what: partial(growth, what) for what in GROWTH}
BENCHMARKS = {
    "growth": Benchmark(
        "Growth of the time of an evaluation with sequences, length, labels, features",
        CONTESTANTS,
        goals,
    )
}
