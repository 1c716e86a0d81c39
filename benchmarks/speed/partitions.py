"""Fits on data in partitions: what it costs to cut the data, to keep them in files, and to send
weights to a cluster.

Larger corpora are sentences of CoNLL-2000, drawn again and again. Rare words get another name in
each copy, so that the vocabulary grows.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.tasks import corpus

RARE = 2  # occurrences of words that are renamed
COPIES = 10
# of 200,000 tokens each
N_COST = 4
N_EVALUATIONS = 30
WALL = "evaluation, wall s"
MEMORY = "peak of a fit above the start, MB"
ONE = "one place"
CUT = f"{N_COST} partitions"
FILES = f"{COPIES} files"
ENGINE = "client and scheduler, CPU ms an evaluation"
WORKERS = "two workers of one core"


def copies(watch: Stopwatch) -> Callable[[int], tuple[Any, Any]]:
    """A function that makes the copy of a number: as many sentences as the corpus has."""
    import numpy as np

    X, y, _, _ = corpus(watch, "columns")
    counts = Counter(token[0] for x in X for token in x)

    def copy(k: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(k)
        chosen = rng.integers(len(X), size=len(X)).tolist()
        sentences = [
            [(f"{word}~{k}" if counts[word] <= RARE else word, *others) for word, *others in X[i]]
            for i in chosen
        ]
        return sentences, [y[i] for i in chosen]

    return copy


def together(parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    return [x for X, _ in parts for x in X], [labels for _, y in parts for labels in y]


def model(**options: Any) -> Any:
    from sklearn.pipeline import make_pipeline

    from sklearn_struct import FeatureTemplates, LinearChainCRF

    return make_pipeline(FeatureTemplates("chunking"), LinearChainCRF(solver="lbfgs", **options))


def objective_of(shards: Any) -> Any:
    from sklearn.base import clone

    from sklearn_struct.distributed.fitting import parts_of, pose

    encoder, chain = parts_of(model())
    return pose(clone(chain), encoder, shards).objective


def cost(in_files: bool, watch: Stopwatch) -> dict[str, float]:
    """Evaluations of the same data in one partition and in several, by turns."""
    import numpy as np

    from sklearn_struct.distributed import FileShards
    from sklearn_struct.distributed.shards import InMemory

    copy = copies(watch)
    name = FILES if in_files else CUT
    parts = [copy(k) for k in range(COPIES if in_files else N_COST)]
    objectives = {ONE: objective_of(InMemory([together(parts)]))}
    cut = FileShards(watch.scratch, parts) if in_files else InMemory(parts)
    del parts
    objectives[name] = objective_of(cut)
    w = np.random.default_rng(0).normal(scale=0.1, size=objectives[ONE].size)
    seconds: dict[str, list[float]] = {ONE: [], name: []}
    for _ in range(7):
        for name, objective in objectives.items():
            start = time.process_time()
            objective.value_and_grad(w)
            seconds[name].append(time.process_time() - start)
    return {f"{name}, CPU s": min(times) for name, times in seconds.items()} | {
        "ratio": min(seconds[name]) / min(seconds[ONE])
    }


def memory_now() -> float:
    """MB that this process has in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def out_of_core(in_files: bool, watch: Stopwatch) -> dict[str, float]:
    """The peak of a fit of some iterations above what was in memory when it began."""
    from sklearn_struct.distributed import FileShards, fit_partitions

    warnings.simplefilter("ignore")
    copy = copies(watch)
    X, y = copy(0)
    # kernels are loaded before the clock starts
    model(max_iter=2).fit(X[:50], y[:50])
    estimator = model(max_iter=8, tol=0)
    if in_files:
        shards = FileShards(watch.scratch, [partial(copy, k) for k in range(COPIES)])
        fit = partial(fit_partitions, estimator, shards)
    else:
        fit = partial(estimator.fit, *together([copy(k) for k in range(COPIES)]))
    before = memory_now()
    fitted = fit()
    watch.note_memory()
    return {
        MEMORY: watch.figures["peak memory, MB"] - before,
        "objective": fitted[-1].loss_curve_[-1],
    }


@contextmanager
def cluster(n_workers: int) -> Iterator[tuple[Any, Any]]:
    """A cluster of processes on this machine, with its client."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(n_workers=n_workers, **options) as workers, Client(workers) as client:
        yield workers, client


def delayed(parts: list[tuple[Any, Any]]) -> list[list[Any]]:
    """X and y as lists of delayed values."""
    import dask

    return [[dask.delayed(part[c], traverse=False) for part in parts] for c in (0, 1)]


def nothing(shard: Any, w: Any) -> tuple[float, Any]:
    """An evaluation that costs a partition nothing."""
    import numpy as np

    return 0.0, np.zeros(len(w))


def engine(watch: Stopwatch) -> dict[str, float]:
    """What an evaluation costs client and scheduler, on a corpus in four partitions."""
    import numpy as np

    from sklearn_struct.dask.cluster import ClusterShards, patient_cluster
    from sklearn_struct.dask.collections import futures_of
    from sklearn_struct.distributed import objective as module

    X, y, _, _ = corpus(watch, "columns")
    bounds = np.linspace(0, len(X), 5).astype(int).tolist()
    parts = [(X[lo:hi], y[lo:hi]) for lo, hi in pairwise(bounds)]
    with cluster(2) as (_, client), patient_cluster(client):
        # the corpus is read on workers, as the graph has it only once
        shards = ClusterShards(client, futures_of(client, *delayed(parts), None))
        objective = objective_of(shards)
        w = np.random.default_rng(0).normal(scale=0.1, size=objective.size)
        objective.value_and_grad(w)
        module.value_and_grad = nothing
        cpu = []
        wall = []
        for _ in range(N_EVALUATIONS):
            start = time.process_time()
            begin = time.perf_counter()
            objective.value_and_grad(w)
            cpu.append(time.process_time() - start)
            wall.append(time.perf_counter() - begin)
    return {
        ENGINE: 1000 * median(cpu),
        "wall, ms an evaluation": 1000 * median(wall),
        "weights": objective.size,
    }


def workers(n: int, watch: Stopwatch) -> dict[str, float]:
    """Wall time of an evaluation of a larger corpus: here, or on workers."""
    import numpy as np

    from sklearn_struct.dask.cluster import ClusterShards, patient_cluster
    from sklearn_struct.dask.collections import futures_of
    from sklearn_struct.distributed.shards import InMemory

    copy = copies(watch)
    every = range(COPIES)

    def wall(objective: Any) -> float:
        w = np.random.default_rng(0).normal(scale=0.1, size=objective.size)
        objective.value_and_grad(w)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            objective.value_and_grad(w)
            times.append(time.perf_counter() - start)
        return min(times)

    if n == 0:
        return {WALL: wall(objective_of(InMemory([together([copy(k) for k in every])])))}
    with cluster(n) as (_, client), patient_cluster(client):
        pairs = [together([copy(k) for k in every if k % n == i]) for i in range(n)]
        shards = ClusterShards(client, futures_of(client, *delayed(pairs), None))
        return {WALL: wall(objective_of(shards))}


def goals_of_cost(medians: Medians) -> list[Goal]:
    ratio = medians.figure("by turns", "ratio")
    return [Goal(f"partitions: evaluation, {CUT} / {ONE}", ratio, 1.05, 1.15, True)]


def goals_of_files(medians: Medians) -> list[Goal]:
    seconds = medians.figure("by turns", "ratio")
    memory = medians.ratio((FILES, MEMORY), (ONE, MEMORY))
    return [
        Goal(f"partitions: evaluation, {FILES} / {ONE}", seconds, 1.2, 1.5, True),
        Goal(f"partitions: memory of a fit, {FILES} / {ONE}", memory, 0.3, 0.4, True),
    ]


def goals_of_cluster(medians: Medians) -> list[Goal]:
    speedup = medians.ratio((ONE, WALL), (WORKERS, WALL))
    return [
        Goal(f"partitions: {ENGINE}", medians.figure("engine", ENGINE), 50, 70, True),
        Goal(f"partitions: {ONE} / {WORKERS}, wall", speedup, 1.7, 1.5),
    ]


BENCHMARKS = {
    "partitions-cost": Benchmark(
        f"One evaluation of the same data in one place and in {CUT} of 200,000 tokens",
        {"by turns": partial(cost, False)},
        goals_of_cost,
        task="chunking",
    ),
    "partitions-files": Benchmark(
        f"Out of core: {COPIES} x CoNLL-2000 in files, one in memory at a time",
        {
            ONE: partial(out_of_core, False),
            FILES: partial(out_of_core, True),
            "by turns": partial(cost, True),
        },
        goals_of_files,
        task="chunking",
    ),
    "partitions-cluster": Benchmark(
        f"A Dask cluster of this machine: what it costs, and {WORKERS}",
        {"engine": engine, ONE: partial(workers, 0), WORKERS: partial(workers, 2)},
        goals_of_cluster,
        task="chunking",
    ),
}
