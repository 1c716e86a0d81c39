"""Training on two worker processes (section 5.3 of Sutton and McCallum, over machines).

The sequences are cut into two halves, of which each process holds one, with all weights in shared
memory. *Synchronous L-BFGS* adds the gradients of the halves. *Local SGD* makes a pass over each
half and averages the weights (iterative parameter mixing). *Delayed SGD* takes steps down gradients
of small batches that were computed at older weights, by whichever process is ready first (Langford,
Smola and Zinkevich, 2009). *Lock-free threads* write into the same weights, each from its half,
without waiting for each other (Hogwild). The rival is `sag`, the package's own solver for such
data, on one of the cores.

Seconds are CPU seconds along the critical path, as on cores that nobody else uses: of each round
the process that takes longest, and what the master does between rounds; of delayed SGD whichever is
more, a worker's total or the master's. Sending messages, waiting, and evaluations for the curve do
not count. A rival would have to be 1.3 times as quick as `sag` to become part of the package. None
is; one run had

                         to 1 %    to 0.1 %
    sag, one thread      3.0 s     4.6 s
    lbfgs, one thread    9.7 s     13.1 s
    synchronous L-BFGS   6.7 s     9.3 s
    local SGD            10.1 s    not in 40 passes
    lock-free threads    5.1 s     not in 30 passes
    delayed SGD          never     (49 % above the lowest after 30 passes and 18 s)

so the package has none of them: `sag` remembers a gradient of each term, and needs so few passes
that a second process does not make up for it.
"""

from __future__ import annotations

import math
import multiprocessing as mp
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Runs, Stopwatch
from lib.sources import Source
from lib.tasks import packed

TASK = "chunking"
C = 0.5
N_WORKERS = 2
PASSES = 30
BATCH = 50  # terms of a step of delayed SGD; a step of fewer would be spent on sending all weights
ROUND = 200  # steps of a lock-free thread between two looks at all weights
EXCESS = {"to 1 %, s": 1e-2, "to 0.1 %, s": 1e-3}
RIVAL = "sag"
GAIN = 1.3
Curve = list[tuple[float, float]]


class Problem(NamedTuple):
    """The objective of all sequences as a sum of terms, those of the halves, and the penalty.

    Weights that no sequence of a half touches have no place in that half's layout of weights.
    """

    whole: Any
    shards: list[Any]
    l2: float

    def value(self, w: np.ndarray) -> float:
        """What is minimised, in units of the sum over sequences."""
        penalty = self.l2 / 2 * float(np.dot(w, w))
        return (self.whole.value_and_grad(w)[0] + penalty) * self.whole.total_weight


def problem(watch: Stopwatch) -> Problem:
    from sklearn_struct import LinearChainCRF
    from sklearn_struct.inference.chains.chain import Chain
    from sklearn_struct.losses.evidence import Evidence
    from sklearn_struct.losses.log_likelihood import LogLikelihood
    from sklearn_struct.objectives.linear_objective import TrainingData
    from sklearn_struct.objectives.linear_potentials import bind
    from sklearn_struct.objectives.linear_terms import LinearTerms

    warnings.simplefilter("ignore")
    X, y, *_ = packed(TASK, watch)
    # which weights exist is learned from all sequences
    known = LinearChainCRF(C=C, fit_intercept=False, max_iter=1, solver="lbfgs").fit(X, y)
    labels = {label: k for k, label in enumerate(known.classes_.tolist())}
    codes = np.array([labels[label] for labelling in y for label in labelling], np.int32)
    chain = Chain(1)

    def objective(lo: int, hi: int) -> Any:
        part = X[lo:hi]
        evidence = Evidence(codes[X.offsets[lo] : X.offsets[hi]])
        structure = chain.structure(part.offsets)
        data = TrainingData(structure, evidence, np.ones(hi - lo))
        potentials = bind(known._pattern, part, structure, np.dtype(float))
        return LinearTerms(potentials, LogLikelihood(chain), chain, data)

    cuts = np.linspace(0, len(X), N_WORKERS + 1).astype(int)
    shards = [objective(*cuts[i : i + 2]) for i in range(N_WORKERS)]
    return Problem(objective(0, len(X)), shards, 1.0 / (C * len(X)))


class Workers:
    """Processes that each hold a shard, and read the weights from memory that they share.

    A job is a function (shard, weights, room for an answer, arguments) -> number.
    """

    def __init__(self, shards: list[Any], n_vectors: int = 1) -> None:
        context = mp.get_context("fork")  # they read the data of this process
        size = n_vectors * shards[0].size
        self.w = _shared(size)
        self.answers = [_shared(size) for _ in shards]
        self.pipes = []
        self.processes = []
        for shard, answer in zip(shards, self.answers, strict=True):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, shard, self.w, answer))
            process.start()
            self.pipes.append(ours)
            self.processes.append(process)

    def send(self, i: int, job: Callable[..., float], *arguments: Any) -> None:
        self.pipes[i].send((job, arguments))

    def receive(self, i: int) -> tuple[float, float]:
        """What the job returned, and its CPU seconds."""
        number, seconds = self.pipes[i].recv()
        return number, seconds

    def together(self, job: Callable[..., float], *arguments: Any) -> tuple[list[float], float]:
        """A job for all of them: its numbers, and the seconds of the slowest."""
        for i in range(len(self.pipes)):
            self.send(i, job, *arguments)
        numbers, seconds = zip(*map(self.receive, range(len(self.pipes))), strict=True)
        return list(numbers), max(seconds)

    def ready(self) -> list[int]:
        """Those that have an answer; it waits for one."""
        first = mp.connection.wait(self.pipes)
        return [i for i, pipe in enumerate(self.pipes) if pipe in first]

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join()


def _shared(size: int) -> np.ndarray:
    return np.frombuffer(mp.RawArray("d", size), np.float64)


def _serve(pipe: Any, shard: Any, w: np.ndarray, answer: np.ndarray) -> None:
    while (job := pipe.recv()) is not None:
        start = time.process_time()
        number = job[0](shard, w, answer, *job[1])
        pipe.send((number, time.process_time() - start))


# ---- jobs of workers


def gradient(shard: Any, w: np.ndarray, answer: np.ndarray) -> float:
    value, answer[:] = shard.value_and_grad(w)
    return float(value)


def local_pass(
    shard: Any, w: np.ndarray, answer: np.ndarray, l2: float, m: int, step: float, seed: int
) -> float:
    """A pass of SGD from the first half of w, whose second half is the mean of what was before; the
    answer has the same halves.
    """
    from sklearn_struct.solvers.result import Stream
    from sklearn_struct.solvers.sgd import sgd_pass

    last, mean = w.reshape(2, -1)
    stream = Stream(last.copy(), mean.copy(), m, step)
    after = sgd_pass(shard, stream, l2=l2, rng=np.random.RandomState(seed))
    answer[:] = np.concatenate([after.w, after.mean])
    return float(after.step)


def batch_gradient(shard: Any, w: np.ndarray, answer: np.ndarray, terms: np.ndarray) -> float:
    """The mean gradient of some terms."""
    W = shard.expand(w)
    total = np.zeros_like(W)
    for i in terms:
        slope = shard.term(shard.forward(W, i, 1.0), i)[1]
        shard.add(slope, i, total, 1.0 / len(terms))
    answer[:] = shard.compress(total)
    return 0.0


# ---- contestants: each yields seconds along the critical path, and weights


def synchronous(given: Problem, seed: int) -> Iterator[tuple[float, np.ndarray]]:
    """L-BFGS with the gradients of both processes."""
    from sklearn_struct.solvers.lbfgs import lbfgs

    workers = Workers(given.shards)
    total = sum(shard.total_weight for shard in given.shards)
    shares = [shard.total_weight / total for shard in given.shards]
    noted: list[tuple[float, np.ndarray]] = []
    waited = 0.0

    class Sum:
        size = given.whole.size
        n_free = 0

        def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal waited
            workers.w[:] = w
            values, seconds = workers.together(gradient)
            waited += seconds
            slope = sum(share * part for share, part in zip(shares, workers.answers, strict=True))
            return sum(map(float.__mul__, shares, values)), slope

    start = time.process_time()

    def note(n_iter: int, w: np.ndarray, value: float) -> bool:
        noted.append((time.process_time() - start + waited, w.copy()))
        return False

    lbfgs(Sum(), np.zeros(Sum.size), l1=0.0, l2=given.l2, max_iter=200, tol=1e-5, callback=note)
    workers.close()
    yield from noted


def local(given: Problem, seed: int) -> Iterator[tuple[float, np.ndarray]]:
    """Passes of SGD, each from the mean of what the passes before have found; what counts are the
    means of all iterates.
    """
    workers = Workers(given.shards, 2)
    step, seconds = calibrated(given, seed)
    n = min(shard.n_terms for shard in given.shards)
    for p in range(PASSES):
        # from the number of terms on at which a pass would calibrate its step by itself
        m = n * p + 1000
        seconds += workers.together(local_pass, given.l2, m, step, seed + p)[1]
        start = time.process_time()
        workers.w[:] = sum(workers.answers) / len(workers.answers)
        seconds += time.process_time() - start
        yield seconds, workers.w[given.whole.size :].copy()
    workers.close()


def delayed(given: Problem, seed: int) -> Iterator[tuple[float, np.ndarray]]:
    """Steps down gradients of small batches, as they come."""
    workers = Workers(given.shards)
    rng = np.random.RandomState(seed)
    step, first = calibrated(given, seed)
    # the mean of some terms is less noisy, so steps may be longer
    size = min(BATCH, *(shard.n_terms // 2 for shard in given.shards))
    step *= math.sqrt(size)
    spent = [0.0] * len(given.shards)
    own = 0.0
    orders = [_batches(shard.n_terms, size, rng) for shard in given.shards]
    per_pass = sum(shard.n_terms for shard in given.shards) // size
    for i in range(len(spent)):
        workers.send(i, batch_gradient, next(orders[i]))
    mean = np.zeros(given.whole.size)
    m = 0
    for _ in range(PASSES):
        begun = m
        while m < begun + per_pass:
            for i in workers.ready():
                spent[i] += workers.receive(i)[1]
                start = time.process_time()
                eta = step / (1.0 + step * given.l2 * m * size) ** 0.75
                workers.w[:] -= eta * (workers.answers[i] + given.l2 * workers.w)
                mean += (workers.w - mean) / (m - begun + 1)
                own += time.process_time() - start
                workers.send(i, batch_gradient, next(orders[i]))
                m += 1
        yield first + max(own, *spent), mean.copy()
    for i in range(len(spent)):
        workers.receive(i)
    workers.close()


def _batches(n_terms: int, size: int, rng: np.random.RandomState) -> Iterator[np.ndarray]:
    while True:
        order = rng.permutation(n_terms)
        for lo in range(0, n_terms - size + 1, size):
            yield order[lo : lo + size]


def calibrated(given: Problem, seed: int) -> tuple[float, float]:
    """The step that is best on a sample of the first half, and the seconds to find it."""
    from sklearn_struct.solvers.sgd import _calibrate

    start = time.process_time()
    zeros = np.zeros(given.whole.size)
    step = _calibrate(given.shards[0], zeros, given.l2, np.random.RandomState(seed))
    return step, time.process_time() - start


class LockFree:
    """Weights in which threads step without waiting for each other, and their mean in a pass."""

    def __init__(self, given: Problem, step: float) -> None:
        self.given = given
        self.step = step
        self.W = np.array(given.whole.expand(np.zeros(given.whole.size)))
        self.mean = self.W.copy()
        self.m = 0

    def visit(self, i: int, order: np.ndarray, spent: list[float]) -> None:
        """Some of the terms. The first thread shrinks all weights for the steps of all threads,
        and takes the mean.
        """
        own = self.given.whole
        start = time.thread_time()
        n_looks = 0
        for n, term in enumerate(order):
            eta = self.step / (1.0 + self.step * self.given.l2 * (self.m + N_WORKERS * n)) ** 0.75
            slope = own.term(own.forward(self.W, term, 1.0), term)[1]
            own.add(slope, term, self.W, -eta)
            if i == 0 and (n % ROUND == ROUND - 1 or n + 1 == len(order)):
                self.W *= (1.0 - eta * self.given.l2) ** (N_WORKERS * (n % ROUND + 1))
                n_looks += 1
                self.mean += (self.W - self.mean) / n_looks
        spent[i] = time.thread_time() - start


def lock_free(given: Problem, seed: int) -> Iterator[tuple[float, np.ndarray]]:
    """Threads that step in the same weights; of each pass the one that takes longest counts."""
    step, seconds = calibrated(given, seed)
    shared = LockFree(given, step)
    rng = np.random.RandomState(seed)
    for _ in range(PASSES):
        spent = [0.0] * N_WORKERS
        orders = np.array_split(rng.permutation(given.whole.n_terms), N_WORKERS)
        threads = [
            threading.Thread(target=shared.visit, args=(i, orders[i], spent))
            for i in range(N_WORKERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shared.m += sum(map(len, orders))
        seconds += max(spent)
        yield seconds, given.whole.compress(shared.mean)


def in_processes(
    way: Callable[[Problem, int], Iterator[tuple[float, np.ndarray]]], watch: Stopwatch
) -> dict[str, float]:
    given = problem(watch)
    for shard in given.shards:  # kernels are loaded before the clock starts
        local_pass(shard, *np.zeros((2, 2 * shard.size)), given.l2, 1000, 1e-9, 0)
        gradient(shard, np.zeros(shard.size), np.zeros(shard.size))
    for seconds, w in way(given, watch.run):
        watch.curve.append((seconds, given.value(w)))
    return {"objective at the end": watch.curve[-1][1], "rounds": len(watch.curve)}


def in_one(solver: str, watch: Stopwatch) -> dict[str, float]:
    """A solver of the package on one thread."""
    from lib.fitting import load_kernels
    from lib.recording import iterations

    from sklearn_struct import LinearChainCRF

    warnings.simplefilter("ignore")
    X, y, *_ = packed(TASK, watch)
    crf = LinearChainCRF(C=C, fit_intercept=False, solver=solver, random_state=watch.run)
    crf.set_params(tol=1e-5, max_iter=400) if solver == "lbfgs" else None
    load_kernels(crf, X, y, max_iter=2)
    with iterations(None, exact=solver != "lbfgs") as noted:
        crf.fit(X, y)
    watch.curve = [(at, value) for at, value, _ in noted]
    return {"objective at the end": noted[-1][1], "rounds": len(noted)}


def finish(runs: Runs) -> None:
    """Seconds to near the lowest objective that any of them has reached."""
    reached = [value for several in runs.values() for run in several for _, value in run.curve]
    lowest = min(reached, default=math.nan)
    for several in runs.values():
        for run in several:
            run.figures["above the lowest at the end, %"] = 100 * (run.curve[-1][1] / lowest - 1)
            for what, excess in EXCESS.items():
                run.figures[what] = seconds_to(run.curve, lowest * (1 + excess))


def seconds_to(curve: Curve, value: float) -> float:
    """When a curve first is at `value` or below; inf for never."""
    return next((at for at, reached in curve if reached <= value), math.inf)


WAYS = {
    "synchronous L-BFGS": synchronous,
    "local SGD": local,
    "delayed SGD": delayed,
    "lock-free threads": lock_free,
}


def goals(medians: Medians) -> list[Goal]:
    return [
        Goal(f"{what}: {RIVAL} / {name}", medians.ratio((RIVAL, what), (name, what)), GAIN, GAIN)
        for what in EXCESS
        for name in WAYS
    ]


BENCHMARKS = {
    "training-processes": Benchmark(
        "Training on two processes, seconds of the slower one: CoNLL-2000 chunking",
        {RIVAL: partial(in_one, RIVAL), "lbfgs": partial(in_one, "lbfgs")}
        | {name: partial(in_processes, way) for name, way in WAYS.items()},
        goals,
        TASK,
        finish=finish,
        papers=(Source("sutton-2012", "section 5.3"),),
    )
}
