"""What Dask is told of states, and where partitions go."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import dask
import numpy as np
import pytest
from dask.sizeof import sizeof
from partitions import cut, data_of, in_memory

from sklearn_struct.dask import cluster
from sklearn_struct.dask.cluster import ClusterShards, keep_freed_memory
from sklearn_struct.dask.collections import futures_of, spread
from sklearn_struct.distributed.fitting import parts_of, pose


def test_dask_knows_how_large_a_shard_is():
    """Else it would take it for a few bytes, and move it to workers that have nothing to do."""
    estimator, X, y, _ = data_of("templates")
    encoder, model = parts_of(estimator)
    shards = in_memory(2, X, y)
    pose(model, encoder, shards)
    for shard in shards.states:
        of_X = shard.objective.potentials.node_map.entries.indices.nbytes
        assert sizeof(shard) > of_X + shard.model._pattern.node.indices.nbytes


def test_partitions_are_spread(client):
    counts = {}
    for who in spread(client, 7):
        counts[who] = counts.get(who, 0) + 1
    assert sorted(counts) == sorted(client.nthreads())
    assert sorted(counts.values()) == [2, 2, 3]


def test_all_workers_have_some(client):
    estimator, X, y, _ = data_of("templates")
    encoder, model = parts_of(estimator)
    delayed = [[dask.delayed(list)(part[c]) for part in cut(6, X, y)] for c in (0, 1)]
    shards = ClusterShards(client, futures_of(client, *delayed, None))
    objective = pose(model, encoder, shards).objective
    objective.value_and_grad(np.zeros(objective.size))
    holders = [who for place in client.who_has(shards.states).values() for who in place]
    assert sorted(map(holders.count, client.nthreads())) == [2, 2, 2]


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is of the GNU C library")
def test_freed_memory_is_kept_and_set_once(monkeypatch):
    calls = []
    library = SimpleNamespace(mallopt=lambda *setting: calls.append(setting))
    monkeypatch.setattr(cluster.ctypes, "CDLL", lambda name: library)
    keep_freed_memory.cache_clear()
    keep_freed_memory()
    keep_freed_memory()
    keep_freed_memory.cache_clear()
    assert calls == [
        (cluster.M_TRIM_THRESHOLD, cluster.KEPT),
        (cluster.M_MMAP_THRESHOLD, cluster.KEPT),
    ]


class WorkOfOthers(cluster.Work):
    """As a client with another version makes it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.version = "0.0.1"


def test_workers_have_the_version_of_the_client(client, monkeypatch):
    shards = ClusterShards(client, client.scatter([2, 3]))
    assert shards.ask(pow, [3, 2]) == [8, 9]
    monkeypatch.setattr(cluster, "Work", WorkOfOthers)
    with pytest.raises(RuntimeError, match=r"a worker has sklearn_struct .*the client has 0\.0\.1"):
        shards.ask(pow, [3, 2])
