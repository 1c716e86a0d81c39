"""Threads that work on blocks of the data: a pool that lives as long as a fit.

`n_jobs` means what it means to joblib.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from functools import cache
from itertools import pairwise
from threading import Event, Lock, Thread, local
from time import sleep
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from sklearn_struct.compiled.kernel import STEPS

__all__ = [
    "N_PARTS",
    "ONE_BLAS_THREAD",
    "Pool",
    "even_parts",
    "go_on",
    "in_parts",
    "longest",
    "parts",
    "patiently",
    "spare_threads",
]

T = TypeVar("T")

N_PARTS = 16  # pieces of work; fixed, so that sums do not depend on the number of threads
PIECES = 4  # of a thread, where their number does not matter
MANY = 50_000  # rows that are worth a second thread
PAUSE = 0.05  # seconds after which who waits for a thread looks whether it should go on
# joblib's own classes, whose jobs are of this machine
_LOCAL_BACKENDS = "joblib._parallel_backends"
_LEFT_BEHIND: set[Thread] = set()  # those for which nobody waits any more
# of a thread that works for a pool: the event that ends its work, `stop`; of one that does the only
# piece of work of a pool: that pool, `lender`
_HERE = local()


def go_on() -> None:
    """Raise CancelledError in a thread whose pool was ended by Ctrl-C or by an error.

    Call it now and then in long loops: Ctrl-C reaches the main thread alone, which waits for the
    others before it goes on.
    """
    stop = getattr(_HERE, "stop", None)
    if stop is not None and stop.is_set():
        raise CancelledError


def patiently(call: Callable[[], None], n_steps: int) -> None:
    """Call kernels that take about `n_steps` steps, in a thread of their own if these are many.

    Ctrl-C does not wait for this thread. It goes on to the end of its call, and writes into arrays
    that nobody reads any more. The next such call waits for it: else calls that are made and ended
    again and again would fill the memory.
    """
    # starting a thread costs more than a short call
    if n_steps <= STEPS:
        call()
        return
    # they may still write into arrays, and need the processor
    for other in list(_LEFT_BEHIND):
        while other.is_alive():
            other.join(PAUSE)
            go_on()
        _LEFT_BEHIND.discard(other)
    # numpy's error state and the like are those of the caller
    context = copy_context()
    ended = Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            context.run(call)
        except BaseException as error:  # for whoever waits
            errors.append(error)
        finally:
            ended.set()

    thread = Thread(target=run)
    try:
        try:
            thread.start()
        except RuntimeError:  # no more threads may be started
            run()
        while not ended.wait(PAUSE):
            go_on()
    except BaseException:
        _LEFT_BEHIND.add(thread)
        raise
    if errors:
        raise errors[0]


class Pool:
    """Context in which `map` runs a function on several threads.

    joblib decides how many (``n_jobs=None``, ``parallel_config`` and nesting mean what they mean
    there), but its own calls poll for 10 ms, so inside a solver loop the work runs on threads of
    our own. BLAS keeps to one thread meanwhile: its products then have the same bits for any
    `n_jobs`.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_threads = _n_threads(n_jobs)
        self._executor: ThreadPoolExecutor | None = None
        self._stack = ExitStack()

    @property
    def n_pieces(self) -> int:
        """Into how many pieces work is cut whose results do not depend on that: some for each of
        several threads let them end at the same time, and each takes time to begin.
        """
        return min(N_PARTS, PIECES * self.n_threads) if self.n_threads > 1 else 1

    def __enter__(self) -> Pool:
        self._stack.enter_context(ONE_BLAS_THREAD)
        if self.n_threads > 1:
            self._executor = self._stack.enter_context(ThreadPoolExecutor(self.n_threads))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        self._executor = None

    def map(self, function: Callable[[int], T], n: int) -> list[T]:
        """``[function(0), ..., function(n - 1)]``, in this order whichever thread does what."""
        if self._executor is None:
            return [function(i) for i in range(n)]
        if n == 1:
            # one piece of work has all threads for itself
            lender = getattr(_HERE, "lender", None)
            _HERE.lender = self
            try:
                return [function(0)]
            finally:
                _HERE.lender = lender
        stop = Event()
        under_way: set[int] = set()
        results: dict[int, T] = {}
        errors: dict[int, BaseException] = {}
        pieces = iter(range(n))

        def work(_: int) -> None:
            # a thread takes the next piece by itself: to hand each one over takes as long as a
            # short piece of work
            for i in pieces:
                if errors:
                    break
                under_way.add(i)
                try:
                    _HERE.stop = stop
                    go_on()
                    results[i] = function(i)
                except BaseException as error:  # for who waits
                    errors[i] = error
                finally:
                    under_way.discard(i)
                    # what began before a failure may fail itself, and then that counts
                    if errors and not any(earlier < min(errors) for earlier in list(under_way)):
                        stop.set()

        try:
            list(self._executor.map(work, range(min(self.n_threads, n))))
        except BaseException:
            stop.set()
            # if Ctrl-C comes while a thread starts, the executor does not know that one, and does
            # not wait for it
            while under_way:
                sleep(PAUSE)
            raise
        if errors:
            failed = [i for i, e in errors.items() if not isinstance(e, CancelledError)]
            raise errors[min(failed or errors)]
        # in the order of the work, whoever has done it: sums of the results have one order
        return [results[i] for i in range(n)]

    def fold(self, function: Callable[[int], T], both: Callable[[T, T], T], n: int) -> T:
        """What `both` makes of the results of `map` and those before, in the order of the work: a
        result is kept only until all before it are there. n is at least 1.
        """
        waiting: dict[int, T] = {}
        folded: dict[int, T] = {}  # by how many results there are in it
        lock = Lock()

        def work(i: int) -> None:
            result = function(i)
            with lock:
                waiting[i] = result
                done = next(iter(folded), 0)
                while done in waiting:
                    following = waiting.pop(done)
                    value = both(folded.pop(done), following) if done else following
                    done += 1
                    folded[done] = value

        self.map(work, n)
        return folded[n]


def _n_threads(n_jobs: int | None) -> int:
    """As many as joblib would start jobs here.

    Backends of other packages count the workers of a whole cluster, whatever `n_jobs` is, also
    inside each of the tasks that already keep all of these busy. None is 1 there, and a number
    means threads, as in ``backend="threading"``.
    """
    if n_jobs is not None and n_jobs == 1:
        return 1
    backend, n_jobs_of_context = get_active_backend()
    # n_jobs of a cluster's backend says nothing of this machine's cores
    if type(backend).__module__ == _LOCAL_BACKENDS:
        # as `effective_n_jobs`, which would look for the backend once more
        n = n_jobs_of_context if n_jobs is None else n_jobs
        return 1 if n == 1 else int(backend.effective_n_jobs(n_jobs=n))
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; use None, or a number of threads")
    return n_jobs if n_jobs > 0 else max(cpu_count() + 1 + n_jobs, 1)


class _OneBlasThread:
    """BLAS keeps to one thread while any pool is open.

    Pools share one limit: limits of their own, where pools overlap, would be undone in the wrong
    order.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_open = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            # where all have one thread already, limits would change nothing, and take as long as
            # the rest of a short prediction
            if self._n_open == 0 and any(n() != 1 for n in _numbers_of_threads()):
                self._limit = _blas().limit(limits=1)
                self._limit.__enter__()
            self._n_open += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_open -= 1
            if self._n_open == 0 and self._limit is not None:
                limit = self._limit
                self._limit = None
                limit.__exit__(*error)


ONE_BLAS_THREAD = _OneBlasThread()


@cache
def _blas() -> ThreadpoolController:
    """The libraries that numpy has loaded.

    They are looked for once: that takes as long as to predict hundreds of sentences.
    """
    return ThreadpoolController().select(user_api="blas")


@cache
def _numbers_of_threads() -> list[Callable[[], int | None]]:
    """What says how many threads each of the libraries has now."""
    return [library.get_num_threads for library in _blas().lib_controllers]


def spare_threads() -> Pool:
    """The pool whose only piece of work is done here, as its threads have nothing else to do; else
    one of this thread alone.
    """
    return getattr(_HERE, "lender", None) or Pool(1)


def in_parts(work: Callable[[int, int], object], n: int) -> None:
    """Call ``work(first, last)`` for ranges of 0 ... n - 1, on spare threads where these are long.
    What is written of a number must not depend on others.
    """
    if n < MANY:
        work(0, n)
        return
    pool = spare_threads()
    ranges = parts(n, pool.n_pieces)
    pool.map(lambda i: work(ranges[i].start, ranges[i].stop), len(ranges))


def parts(n: int, n_parts: int = N_PARTS) -> list[slice]:
    """Consecutive ranges of 0 ... n - 1, N_PARTS by default: sums of theirs must not depend on how
    many threads there are.
    """
    bounds = np.linspace(0, n, n_parts + 1).astype(int).tolist()
    return [slice(*pair) for pair in pairwise(bounds)]


def longest(ranges: list[slice]) -> int:
    """How many numbers the longest of some ranges has: 0 without any."""
    return max((part.stop - part.start for part in ranges), default=0)


def even_parts(indptr: np.ndarray, n_parts: int = N_PARTS) -> np.ndarray:
    """Bounds (n_parts, 2) of ranges of rows with about equally many stored values."""
    # by stored values: rows are of very different length
    bounds = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_parts + 1)).clip(
        0, len(indptr) - 1
    )
    # rows without values at the beginning and at the end belong to a range, too
    bounds[0] = 0
    bounds[-1] = len(indptr) - 1
    return np.column_stack([bounds[:-1], bounds[1:]])
