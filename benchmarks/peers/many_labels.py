"""An evaluation with hundreds of labels, beside CRFsuite's, and beside what the multiplications of
pairs of labels alone take at the rate of BLAS.

Forward, backward and the sums over pairs multiply as often as three products of tokens x labels by
labels x labels. A matrix product of this size says how many of them a core makes in a second.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from lib.fitting import load_kernels
from lib.goals import Goal
from lib.large_tasks import relations, tags_of_trees
from lib.side_by_side import Benchmark, Contestant, Medians, Stopwatch

from peers.crfsuite import loaded_trainer, seconds_per_evaluation, train

EVALUATION = "one evaluation, CPU s"
PRODUCTS = "its products of pairs at the rate of BLAS, CPU s"
PEER = "python-crfsuite"
ITERATIONS = 5  # of CRFsuite
REPEATS = 7
GOALS = {"float64": (15.0, 10.0), "float32": (15.0, 10.0)}

Data = Callable[[Stopwatch], tuple[Any, Any]]
CASES: dict[str, Data] = {"342 labels": relations, "450 labels": tags_of_trees}


def ours(data: Data, dtype: str, watch: Stopwatch) -> dict[str, float]:
    from lib.recording import evaluation_seconds

    from sklearn_struct import LinearChainCRF

    warnings.simplefilter("ignore")
    X, y = data(watch)
    crf = LinearChainCRF(
        solver="lbfgs", fit_intercept=False, dtype=dtype, max_iter=REPEATS, tol=0.0
    )
    load_kernels(crf, X[:50], y[:50], max_iter=2)
    with evaluation_seconds() as seconds:
        crf.fit(X, y)
    n_tokens = sum(map(len, y))
    n_labels = len(crf.classes_)
    rate = products_a_second(n_labels, dtype)
    return {
        EVALUATION: statistics.median(seconds),
        PRODUCTS: 3 * n_tokens * n_labels**2 / rate,
    }


def products_a_second(n: int, dtype: str) -> float:
    """Multiplications with an addition in a product of two (n, n) matrices; the most of several
    runs.
    """
    import numpy as np

    A = np.random.default_rng(0).normal(size=(n, n)).astype(dtype)
    out = np.empty_like(A)
    times = []
    for _ in range(40):
        start = time.process_time()
        np.matmul(A, A, out=out)
        times.append(time.process_time() - start)
    return n**3 / min(times)


def peer(data: Data, watch: Stopwatch) -> dict[str, float]:
    X, y = data(watch)
    noted = train(loaded_trainer(X, y), watch.scratch / "peer.model", ITERATIONS)
    return {EVALUATION: seconds_per_evaluation(noted)}


def goals(medians: Medians) -> list[Goal]:
    promises = []
    for name in CASES:
        for dtype, wanted in GOALS.items():
            ours = f"{name}, {dtype}"
            ratio = medians.ratio((f"{name}, {PEER}", EVALUATION), (ours, EVALUATION))
            promises.append(Goal(f"{ours}: CRFsuite / ours", ratio, *wanted))
    return promises


CONTESTANTS: dict[str, Contestant] = {}
for _name, _data in CASES.items():
    for _dtype in GOALS:
        CONTESTANTS[f"{_name}, {_dtype}"] = partial(ours, _data, _dtype)
    CONTESTANTS[f"{_name}, {PEER}"] = partial(peer, _data)

BENCHMARKS = {
    "many-labels": Benchmark(
        "Time of an evaluation with hundreds of labels", CONTESTANTS, goals, beside=PEER
    )
}
