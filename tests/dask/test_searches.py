"""Searches of the user guide outlive a worker that is killed."""

from __future__ import annotations

import dask
import pytest
from distributed import Client, LocalCluster
from partitions import as_lists, sentences

from sklearn_struct import LinearChainCRF
from sklearn_struct.dask import Distributed

CS = (0.01, 0.1, 1.0)


@pytest.fixture(scope="module")
def workers():
    """Two processes, one of which may be killed."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def reader(tmp_path):
    """A function that reads data on a worker, which dies meanwhile if a file says so: once."""
    X, y = sentences(40)
    data = as_lists(X), y
    armed = tmp_path / "armed"
    died = tmp_path / "died"

    def read(part):
        # travels by itself, as workers do not know this file
        import os
        import signal

        try:
            armed.rename(died)
        except FileNotFoundError:
            return [rows[part] for rows in data]
        return os.kill(os.getpid(), signal.SIGKILL)

    read.arm = armed.touch
    read.died = died
    return read


def expected(X, y, X_valid, y_valid):
    return {C: LinearChainCRF(C=C).fit(X, y).score(X_valid, y_valid) for C in CS}


def test_a_loop_over_fits(workers, reader):
    train = slice(0, 30)
    halves = [dask.delayed(reader)(part) for part in (slice(0, 15), slice(15, 30))]
    X, y = reader(train)
    X_valid, y_valid = reader(slice(30, 40))
    scores = {}
    for C in CS:
        if CS[1] == C:
            reader.arm()
        search = Distributed(LinearChainCRF(C=C), workers)
        fitted = search.fit([half[0] for half in halves], [half[1] for half in halves]).estimator_
        scores[C] = fitted.score(X_valid, y_valid)
    assert reader.died.exists()
    assert scores == pytest.approx(expected(X, y, X_valid, y_valid), abs=0.02)


def test_tasks_that_read_the_data(workers, reader):
    def score_of(C, reader):
        from sklearn_struct import LinearChainCRF

        X, y = reader(slice(0, 30))
        return LinearChainCRF(C=C).fit(X, y).score(*reader(slice(30, 40)))

    X, y = reader(slice(0, 30))
    X_valid, y_valid = reader(slice(30, 40))
    reader.arm()
    futures = workers.map(score_of, CS, reader=reader, pure=False)
    scores = dict(zip(CS, workers.gather(futures), strict=True))
    assert reader.died.exists()
    assert scores == pytest.approx(expected(X, y, X_valid, y_valid), rel=1e-12)
