"""A worker that is killed costs time, and no bit."""

from __future__ import annotations

import os
import signal

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.scheduler import NoWorkerError
from partitions import cut, data_of, in_memory

from sklearn_struct.dask import Distributed
from sklearn_struct.dask.cluster import ClusterShards, patient_cluster
from sklearn_struct.dask.collections import futures_of
from sklearn_struct.distributed.fitting import parts_of, pose
from sklearn_struct.solvers.lbfgs import lbfgs


def delayed_of(n_parts, *arrays):
    parts = cut(n_parts, *arrays)
    return [[dask.delayed(list)(part[c]) for part in parts] for c in (0, 1)]


@pytest.mark.slow
def test_a_fit_during_which_a_worker_is_killed():
    estimator, X, y, _ = data_of("templates")
    encoder, model = parts_of(estimator)
    here = pose(model, encoder, in_memory(4, X, y)).objective
    options = {"l1": 0.0, "l2": 0.02, "max_iter": 12, "tol": 0.0}
    expected = lbfgs(here, np.zeros(here.size), **options)
    killed = []
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        patient_cluster(client),
    ):
        shards = ClusterShards(client, futures_of(client, *delayed_of(4, X, y), None))
        there = pose(model, encoder, shards).objective

        def kill(n_iter, w, value):
            if n_iter == 5:
                # one that has something to lose
                holders = {who for place in client.who_has(shards.states).values() for who in place}
                killed.append(client.run(os.getpid, workers=[min(holders)])[min(holders)])
                os.kill(killed[0], signal.SIGKILL)
            return False

        result = lbfgs(there, np.zeros(there.size), callback=kill, **options)
        pids = client.run(os.getpid)
    assert len(killed) == 1
    assert killed[0] not in pids.values()
    assert result.n_iter == expected.n_iter
    np.testing.assert_array_equal(result.w, expected.w)


def test_a_fit_without_workers_ends_in_an_error():
    estimator, X, y, _ = data_of("templates")
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "500ms"}),
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        pytest.raises(NoWorkerError),
    ):
        Distributed(estimator, client).fit(*delayed_of(2, X, y))
