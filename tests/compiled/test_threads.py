"""The pool: joblib's meaning of n_jobs, results in order, errors, and one thread for BLAS."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextvars import ContextVar

import numpy as np
import pytest
from joblib import Parallel, cpu_count, delayed, parallel_config, register_parallel_backend
from joblib.parallel import BACKENDS, ParallelBackendBase
from threadpoolctl import ThreadpoolController, threadpool_info

from sklearn_struct.compiled import threads
from sklearn_struct.compiled.kernel import STEPS
from sklearn_struct.compiled.threads import _LOCAL_BACKENDS, ONE_BLAS_THREAD, Pool, go_on, patiently


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 1), (1, 1), (2, 2), (5, 5), (-1, cpu_count())]
)
def test_n_jobs(n_jobs, expected):
    assert Pool(n_jobs).n_threads == expected


def test_n_jobs_of_the_context():
    """None takes what the context says, a number does not."""
    with parallel_config(n_jobs=3):
        assert Pool(None).n_threads == 3
        assert Pool(2).n_threads == 2
    with parallel_config(backend="threading", n_jobs=2):
        assert Pool(None).n_threads == 2


def test_zero_jobs_are_an_error():
    with pytest.raises(ValueError, match="n_jobs"):
        Pool(0)


def test_inside_a_worker_process_none_is_serial():
    """As in GridSearchCV(n_jobs=2): searches and fits do not multiply their threads."""
    inner = Parallel(n_jobs=2, backend="loky")(
        delayed(lambda: Pool(None).n_threads)() for _ in range(2)
    )
    assert inner == [1, 1]


class Cluster(ParallelBackendBase):
    """A backend that counts workers as that of dask does: all of the cluster, whoever asks."""

    def effective_n_jobs(self, n_jobs):
        return 1000


@pytest.fixture
def cluster():
    register_parallel_backend("cluster", Cluster)
    yield "cluster"
    del BACKENDS["cluster"]


@pytest.mark.parametrize("inside", [{}, {"n_jobs": -1}, {"n_jobs": 500}])
def test_the_workers_of_a_cluster_are_no_threads(cluster, inside):
    """Each of its tasks would open as many threads as the whole cluster has."""
    with parallel_config(backend=cluster, **inside):
        assert Pool(None).n_threads == 1
        assert Pool(3).n_threads == 3
        assert Pool(-1).n_threads == cpu_count()
        assert Pool(-1000).n_threads == 1
        with pytest.raises(ValueError, match="n_jobs"):
            Pool(0)


def test_all_backends_of_joblib_are_local():
    """Their counts are used; "dask" is registered when it is asked for."""
    assert {"threading", "loky", "multiprocessing", "sequential"} <= set(BACKENDS)
    for name in ("threading", "loky", "multiprocessing", "sequential"):
        assert BACKENDS[name].__module__ == _LOCAL_BACKENDS


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_map_keeps_the_order(n_jobs):
    with Pool(n_jobs) as pool:
        assert pool.map(lambda i: i * i, 50) == [i * i for i in range(50)]
        assert pool.map(str, 0) == []


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_fold_keeps_the_order_and_few_results(n_jobs, n):
    waiting = set()

    def piece(i):
        time.sleep(0.001 * (i % 3))
        waiting.add(i)
        return [i]

    def both(a, b):
        waiting.difference_update(a, b)
        return [*a, *b]

    with Pool(n_jobs) as pool:
        assert pool.fold(piece, both, n) == list(range(n))
    assert len(waiting) <= 1


def test_pieces_of_work():
    assert [Pool(n).n_pieces for n in (1, 2, 3, 9)] == [1, 8, 12, 16]


def test_an_error_in_fold_reaches_the_caller():
    def both(a, b):
        raise ValueError("no sum")

    with Pool(2) as pool, pytest.raises(ValueError, match="no sum"):
        pool.fold(lambda i: i, both, 5)


def test_threads_work_at_the_same_time():
    """Both must be inside the function for either to leave it."""
    barrier = threading.Barrier(2, timeout=60)
    with Pool(2) as pool:
        assert sorted(pool.map(lambda i: barrier.wait(), 2)) == [0, 1]


def test_one_job_stays_in_the_thread_of_the_caller():
    with Pool(1) as pool:
        assert pool.map(lambda i: threading.current_thread(), 2) == [threading.current_thread()] * 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_reach_the_caller_and_the_pool_goes_on(n_jobs):
    def fail(i):
        if i == 3:
            raise ZeroDivisionError("at 3")
        return i

    with Pool(n_jobs) as pool:
        with pytest.raises(ZeroDivisionError, match="at 3"):
            pool.map(fail, 6)
        assert pool.map(fail, 3) == [0, 1, 2]


def test_threads_end_with_the_context():
    before = threading.active_count()
    pool = Pool(3)
    with pool:
        pool.map(str, 10)
        assert threading.active_count() > before
    assert threading.active_count() == before
    assert pool.map(str, 2) == ["0", "1"]  # without threads it still works


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return [
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    ]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blas_keeps_to_one_thread_meanwhile(n_jobs):
    before = blas_threads()
    with Pool(n_jobs) as pool:
        assert set(blas_threads()) <= {1}
        assert all(set(found) <= {1} for found in pool.map(lambda i: blas_threads(), 4))
    assert blas_threads() == before


def test_blas_is_freed_after_an_error():
    before = blas_threads()
    with pytest.raises(KeyError), Pool(2) as pool:
        pool.map({}.__getitem__, 3)
    assert blas_threads() == before


def test_pools_that_overlap_leave_blas_as_it_was():
    def blas():
        return [
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        ]

    before = blas()
    first = Pool(1)
    second = Pool(1)
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert set(blas()) == {1}
    second.__exit__()
    assert blas() == before


def test_an_error_ends_the_work_of_all_threads():
    """Also what has begun, where it asks; what has not begun does not begin."""
    begun = []
    ended = []
    both = threading.Barrier(2, timeout=60)

    def work(i):
        begun.append(i)
        if i < 2:
            both.wait()
        if i == 0:
            raise KeyboardInterrupt
        try:
            while True:
                go_on()
        finally:
            ended.append(i)

    with pytest.raises(KeyboardInterrupt), Pool(2) as pool:
        pool.map(work, 50)
    assert 1 in ended
    # the thread that raised may have taken one more before the caller heard of it
    assert len(begun) <= 3
    go_on()  # nothing is stopped here
    with Pool(2) as pool:
        assert pool.map(lambda i: go_on(), 4) == [None] * 4


# ---- calls that take long


def test_a_short_call_stays_in_its_thread():
    seen = []
    patiently(lambda: seen.append(threading.current_thread()), STEPS)
    assert seen == [threading.current_thread()]


def test_a_long_call_sees_the_context_and_gives_its_error():
    seen = []
    context = ContextVar("context")
    token = context.set("here")
    patiently(lambda: seen.append((context.get(), threading.current_thread())), STEPS + 1)
    context.reset(token)
    assert seen[0][0] == "here"
    assert seen[0][1] is not threading.current_thread()
    with pytest.raises(ZeroDivisionError):
        patiently(lambda: 1 // 0, STEPS + 1)


def test_where_no_thread_can_be_started(monkeypatch):
    def refuse(*args, **options):
        raise RuntimeError("can't start new thread")

    seen = []
    monkeypatch.setattr(threads.Thread, "start", refuse)
    patiently(lambda: seen.append(threading.current_thread()), STEPS + 1)
    assert seen == [threading.current_thread()]


def interrupted(function):
    """Make a call, to which Ctrl-C comes while it is in `waited`; what it waits for comes only
    after that.
    """
    free = threading.Event()
    begun = threading.Event()

    def work():
        begun.set()
        assert free.wait(60)

    def send():
        if begun.wait(60):
            os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of xdist ignore it
    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            function(work)
    finally:
        sender.join()
        signal.signal(signal.SIGINT, handler)
    return free


POSIX = pytest.mark.skipif(
    os.name != "posix", reason="elsewhere a process cannot send itself Ctrl-C"
)


@POSIX
def test_ctrl_c_waits_for_no_long_call():
    """The next one waits for what goes on alone."""
    free = interrupted(lambda work: patiently(work, STEPS + 1))
    assert len(threads._LEFT_BEHIND) == 1
    done = []
    other = threading.Thread(target=lambda: patiently(lambda: done.append(True), STEPS + 1))
    other.start()
    other.join(0.2)
    assert not done
    free.set()
    other.join(60)
    assert done
    assert not threads._LEFT_BEHIND


@POSIX
def test_nor_do_the_threads_of_a_pool():
    def run(work):
        with Pool(2) as pool:
            pool.map(lambda i: patiently(work, STEPS + 1), 2)

    interrupted(run).set()
    patiently(lambda: None, STEPS + 1)
    assert not threads._LEFT_BEHIND


def test_a_pool_waits_for_a_thread_that_starts_while_ctrl_c_comes(monkeypatch):
    begun = threading.Semaphore(0)
    start = threading.Thread.start
    started = []
    ended = []

    def work(i):
        begun.release()
        try:
            while True:
                time.sleep(0.01)
                go_on()
        finally:
            time.sleep(0.2 + 0.5 * i)
            ended.append(i)

    def interrupted_start(thread):
        start(thread)
        started.append(thread)
        if len(started) == 2:
            # now both work, of which the executor knows one
            for _ in started:
                assert begun.acquire(timeout=60)
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted_start)
    with pytest.raises(KeyboardInterrupt), Pool(2) as pool:
        pool.map(work, 2)
    assert sorted(ended) == [0, 1]


def test_longest_range():
    assert threads.longest([slice(0, 3), slice(3, 10), slice(10, 12)]) == 7
    assert threads.longest([]) == 0


def test_a_limit_is_undone_once():
    """The next pool finds one thread already, and must not undo the limit before."""
    blas = ThreadpoolController().select(user_api="blas")
    with blas.limit(limits=2), ONE_BLAS_THREAD:
        pass
    with blas.limit(limits=1):
        with ONE_BLAS_THREAD:
            pass
        assert {library["num_threads"] for library in blas.info()} == {1}
