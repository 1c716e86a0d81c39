"""Fits on clusters whose workers are killed, come later, or are not there: whether they end, and
with the same bits.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.tasks import corpus

from speed.partitions import cluster, delayed, model, objective_of

N_KILLS = 20
SURVIVED = f"fits of {N_KILLS} that survive a kill"
SAME = "of these, with the same bits"
ON_WORKERS = "fits on 1, 2 and 3 workers with the same bits"
AFTER_KILLS = "fits with three kills, with the same bits"
WITH_ANOTHER = "fits to which a worker came, with the same bits"
SLOWEST = "slowest fit, s"
WITHOUT = "seconds until a fit without workers ends in an error"


def short_fit(shards: Any, callback: Any = None) -> Any:
    """The weights after some iterations."""
    import numpy as np

    from sklearn_struct.solvers.lbfgs import lbfgs

    objective = objective_of(shards)
    options = {"l1": 0.0, "l2": 1e-3, "max_iter": 12, "tol": 0.0}
    return lbfgs(objective, np.zeros(objective.size), callback=callback, **options).w


def four_parts(watch: Stopwatch) -> list[tuple[Any, Any]]:
    X, y, _, _ = corpus(watch, "columns")
    return [(X[lo : lo + 200], y[lo : lo + 200]) for lo in range(0, 800, 200)]


def kill_one(client: Any, shards: Any) -> None:
    """Kill a worker that has partitions."""
    held = client.who_has(shards.states).values()
    victim = min(who for holders in held for who in holders)
    os.kill(client.run(os.getpid, workers=[victim])[victim], signal.SIGKILL)


def fit_with(client: Any, parts: list[tuple[Any, Any]], happens: Any = None) -> Any:
    """The weights of a fit on a cluster, after each iteration of which something may happen."""
    from sklearn_struct.dask.cluster import ClusterShards
    from sklearn_struct.dask.collections import futures_of

    shards = ClusterShards(client, futures_of(client, *delayed(parts), None))

    def callback(n_iter: int, w: Any, value: float) -> bool:
        if happens is not None:
            happens(n_iter, shards)
        return False

    return short_fit(shards, callback)


def kills(watch: Stopwatch) -> dict[str, float]:
    """Fits during each of which one of two workers is killed."""
    import numpy as np

    from sklearn_struct.dask.cluster import patient_cluster
    from sklearn_struct.distributed.shards import InMemory

    parts = four_parts(watch)
    expected = short_fit(InMemory(parts))
    survived = 0
    same = 0
    seconds = []
    with cluster(2) as (_, client), patient_cluster(client):

        def kill(n_iter: int, shards: Any) -> None:
            if n_iter == 5:
                kill_one(client, shards)

        for _ in range(N_KILLS):
            client.wait_for_workers(2)
            start = time.perf_counter()
            try:
                w = fit_with(client, parts, kill)
            except Exception as error:
                print(f"a fit failed: {error!r}")
                continue
            survived += 1
            same += int(np.array_equal(w, expected))
            seconds.append(time.perf_counter() - start)
    return {SURVIVED: survived, SAME: same, SLOWEST: max(seconds, default=0.0)}


def bits(watch: Stopwatch) -> dict[str, float]:
    """Fits on one to three workers, one with three kills, and one to which a worker comes."""
    import numpy as np

    from sklearn_struct.dask.cluster import patient_cluster
    from sklearn_struct.distributed.shards import InMemory

    parts = four_parts(watch)
    expected = short_fit(InMemory(parts))

    def is_same(n_workers: int, happening: Any = None) -> bool:
        with cluster(n_workers) as (workers, client), patient_cluster(client):
            client.wait_for_workers(n_workers)
            happens = None if happening is None else happening(workers, client)
            return bool(np.array_equal(fit_with(client, parts, happens), expected))

    return {
        ON_WORKERS: sum(map(is_same, (1, 2, 3))),
        AFTER_KILLS: float(is_same(2, three_kills)),
        WITH_ANOTHER: float(is_same(1, another_worker)),
    }


def three_kills(workers: Any, client: Any) -> Any:
    def happens(n_iter: int, shards: Any) -> None:
        if n_iter in (3, 6, 9):
            client.wait_for_workers(2)
            kill_one(client, shards)

    return happens


def another_worker(workers: Any, client: Any) -> Any:
    def happens(n_iter: int, shards: Any) -> None:
        if n_iter == 5:
            workers.scale(2)
            client.wait_for_workers(2)
            # a new worker gets nothing by itself
            client.replicate(shards.states, n=2)

    return happens


def no_workers(watch: Stopwatch) -> dict[str, float]:
    """Seconds until a fit that has no worker ends in an error."""
    from distributed import Client, LocalCluster
    from distributed.scheduler import NoWorkerError

    from sklearn_struct.dask import Distributed

    X, y, _, _ = corpus(watch, "columns")
    options = {"processes": False, "dashboard_address": ":0"}
    with LocalCluster(n_workers=0, **options) as none, Client(none) as client:
        start = time.perf_counter()
        try:
            Distributed(model(), client).fit(*delayed([(X[:20], y[:20])]))
        except NoWorkerError:
            return {WITHOUT: time.perf_counter() - start}
    raise AssertionError("a fit without workers came to an end")


def goals(medians: Medians) -> list[Goal]:
    return [
        Goal(f"partitions: {SURVIVED}", medians.figure("killed", SURVIVED), N_KILLS, N_KILLS),
        Goal(f"partitions: {SAME}", medians.figure("killed", SAME), N_KILLS, N_KILLS),
        Goal(f"partitions: {ON_WORKERS}", medians.figure("bits", ON_WORKERS), 3, 3),
        Goal(f"partitions: {AFTER_KILLS}", medians.figure("bits", AFTER_KILLS), 1, 1),
        Goal(f"partitions: {WITH_ANOTHER}", medians.figure("bits", WITH_ANOTHER), 1, 1),
        Goal(f"partitions: {WITHOUT}", medians.figure("none", WITHOUT), 60, 60, True),
    ]


BENCHMARKS = {
    "partitions-kills": Benchmark(
        "Workers that are killed, and a cluster without any",
        {"killed": kills, "bits": bits, "none": no_workers},
        goals,
        task="chunking",
    ),
}
