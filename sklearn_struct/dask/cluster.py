"""Partitions on the workers of a Dask cluster."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import dask
from dask.sizeof import sizeof
from dask.utils import parse_timedelta
from distributed import Client

import sklearn_struct
from sklearn_struct.distributed.arrays_of_states import memory_of
from sklearn_struct.distributed.based_partitions import Based
from sklearn_struct.distributed.partitions import Reading, Shard
from sklearn_struct.distributed.shards import at_partition
from sklearn_struct.distributed.stream_partitions import ColumnsOfPart, HiddenShard, StreamsOfPart

__all__ = ["ClusterShards", "Work", "patient_cluster"]

# seconds without any worker after which a fit ends in an error; a worker that was killed is started
# again within a few
NO_WORKERS = 50.0
# seconds after which a cluster gives up a worker that it starts again: less than the import of
# this package may take on a busy machine, with 15 by default
LOST_WORKER = 600.0
# of malloc.h, and bytes: the largest that the library would choose by itself
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
KEPT = 1 << 25
# slices of the weights go with the tasks that read them
LARGE_GRAPH = "10GB"


@sizeof.register(Reading)
@sizeof.register(Shard)
@sizeof.register(ColumnsOfPart)
@sizeof.register(StreamsOfPart)
@sizeof.register(HiddenShard)
@sizeof.register(Based)
def _size(state: Any) -> int:
    """Bytes of a state. By itself Dask takes it for small, and hands it to idle workers, which
    takes longer than any evaluation.
    """
    return memory_of(state)


class Work:
    """What is to be done with the state of a partition: a value that Dask hands on as it is, and
    in which it looks for no futures.
    """

    version = "an older one"  # of clients that did not say which

    def __init__(self, number: int, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        self.number = number
        self.function = function
        self.arguments = arguments
        self.version = sklearn_struct.__version__


@cache
def keep_freed_memory() -> None:
    """Let this process use again what it has freed, where its memory is that of the GNU C library.

    Dask has its workers return memory to the system at once. An evaluation frees hundreds of
    megabytes in small pieces, and would get each page anew, which takes as long as all else.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, KEPT)
        mallopt(M_MMAP_THRESHOLD, KEPT)


def check_version(of_client: str) -> None:
    """Raise RuntimeError if this worker has another version than its client: it may learn or
    predict something else. Workers may come at any time, so they look themselves.
    """
    version = sklearn_struct.__version__
    if of_client != version:
        raise RuntimeError(
            f"a worker has sklearn_struct {version}, the client has {of_client}: install the same "
            "version on all machines"
        )


def done(state: Any, work: Work) -> Any:
    """The task of a worker."""
    check_version(work.version)
    keep_freed_memory()
    return at_partition(work.number, work.function, state, *work.arguments)


class ClusterShards:
    """Partitions whose states are on the workers of a cluster.

    A state that is lost with its worker is made again from the collections that were given, as Dask
    knows of each what it was made of. It has the same bits.

    Parameters
    ----------
    client : Client
    partitions : list of Future
        Of tuples (X, y, sample_weight).
    """

    def __init__(self, client: Client, partitions: Sequence[Any]) -> None:
        self.client = client
        self.states = list(partitions)

    def __len__(self) -> int:
        return len(self.states)

    def advance(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> None:
        """Replace each state by ``function(state, *arguments)``, which stays with a worker."""
        # the scheduler keeps what the earlier states were made of, and forgets these themselves
        self.states = self._submitted(function, arguments)

    def ask(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """What ``function(state, *arguments)`` gives for each state."""
        results: list[Any] = self.client.gather(self._submitted(function, arguments))
        return results

    def each(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
        """The same; workers compute at the same time, so all results are there at once."""
        return iter(self.ask(function, *arguments))

    def fork(self) -> ClusterShards:
        """The same partitions, which advance by themselves from here on."""
        return ClusterShards(self.client, self.states)

    def _submitted(
        self, function: Callable[..., Any], arguments: Sequence[Iterable[Any]]
    ) -> list[Any]:
        every = zip(*arguments, strict=True) if arguments else ((),) * len(self)
        work = [Work(i, function, of_partition) for i, of_partition in enumerate(every)]
        # one call for all: a submit a partition costs half as much again
        futures: list[Any] = self.client.map(
            done, self.states, work, pure=False, key=function.__name__
        )
        return futures


@contextmanager
def patient_cluster(client: Client) -> Iterator[None]:
    """While it lasts, a cluster waits for workers that were killed, and without any worker tasks
    end in an error; by default it closes the former, and waits for ever.

    What a user has set for workers that are missing stays.
    """

    # inside of this function it travels as it is, to schedulers that do not have this package
    def change(seconds: float | None, dask_scheduler: Any = None) -> float | None:
        before: float | None = dask_scheduler.no_workers_timeout
        if before is None or seconds is None:
            dask_scheduler.no_workers_timeout = seconds
        return before

    name = "distributed.deploy.lost-worker-timeout"
    lost = max(parse_timedelta(dask.config.get(name)), LOST_WORKER)
    settings = {name: lost, "distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}
    # the former is read by a cluster of this process when it loses a worker
    with dask.config.set(settings):
        before = client.run_on_scheduler(change, NO_WORKERS)
        try:
            yield
        finally:
            if before is None:
                client.run_on_scheduler(change, None)
