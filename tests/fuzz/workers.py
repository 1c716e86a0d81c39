"""Many cases in worker processes, where a crash or an endless loop is counted and does no more
harm.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol


class Kind(Protocol):
    """A module of this folder with cases that follow from their numbers.

    A verdict in `GOOD` is as it should be. Any other is printed, and counted by what stands before
    its first colon. An exception out of `case` is a verdict of its own, and not a good one.
    """

    GOOD: set[str]
    PATIENCE: float  # seconds after which a case counts as hung

    def prepare(self) -> None:
        """Do what all cases share: fit originals, load kernels. Called once, before processes."""

    def family(self, number: int) -> str:
        """What a case is counted under. Called where the case is not run, so it must be quick."""

    def case(self, number: int) -> str:
        """Do what the case is, and say what came of it."""


class Outcome(NamedTuple):
    """What became of one case."""

    number: int
    verdict: str
    seconds: float


def verdict(kind: Kind, number: int) -> str:
    """Of one case, in this process."""
    try:
        return kind.case(number)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def outcomes(kind: Kind, numbers: range, jobs: int, gigabytes: int) -> Iterator[Outcome]:
    """All cases, in about their order; the process of one that crashes or hangs is replaced."""
    kind.prepare()
    workers = [Worker(kind, numbers[job::jobs], gigabytes) for job in range(jobs)]
    workers = [worker for worker in workers if worker.left]
    while workers:
        ready = wait([worker.connection for worker in workers], timeout=0.2)
        for worker in workers:
            outcome = worker.outcome(worker.connection in ready)
            if outcome is not None:
                yield outcome
        workers = [worker for worker in workers if worker.left]


class Worker:
    """A process with its part of the numbers, and a new one for the rest if it dies or does not
    end.
    """

    def __init__(self, kind: Kind, numbers: range, gigabytes: int) -> None:
        self.kind = kind
        self.left = numbers
        self.gigabytes = gigabytes
        if numbers:
            self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe(duplex=False)
        arguments = theirs, self.kind, self.left, self.gigabytes
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.since = time.monotonic()

    def outcome(self, ready: bool) -> Outcome | None:
        """The next outcome, if there is one by now."""
        late = time.monotonic() - self.since > self.kind.PATIENCE
        if not ready and not late:
            return None
        number = self.left[0]
        self.left = self.left[1:]
        failed = "hung"
        if ready:
            try:
                outcome = self.connection.recv()
                self.since = time.monotonic()
                if not self.left:
                    self.process.join()
                return outcome
            except EOFError:
                self.process.join()
                failed = f"crashed: exit code {self.process.exitcode}"
        self._replace()
        return Outcome(number, failed, self.kind.PATIENCE)

    def _replace(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()
        if self.left:
            self._start()


def _work(connection: Connection, kind: Kind, numbers: range, gigabytes: int) -> None:
    _limit_memory(gigabytes)
    faulthandler.enable()
    for number in numbers:
        begin = time.perf_counter()
        said = verdict(kind, number)
        connection.send(Outcome(number, said, time.perf_counter() - begin))


def _limit_memory(gigabytes: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))
    except (ImportError, ValueError):
        print("memory is not limited here", file=sys.stderr)


def report(kind: Kind, numbers: range, *, jobs: int, gigabytes: int) -> int:
    """Print each bad case and a table of all; return how many are bad."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    slowest: dict[str, Any] = {}
    n_bad = 0
    begin = time.monotonic()
    for outcome in outcomes(kind, numbers, jobs, gigabytes):
        family = kind.family(outcome.number)
        if outcome.verdict not in kind.GOOD:
            n_bad += 1
            print(f"case {outcome.number} ({family}): {outcome.verdict}", flush=True)
        counts[family][outcome.verdict.split(":")[0]] += 1
        slowest[family] = max(slowest.get(family, outcome), outcome, key=lambda one: one.seconds)
    seconds = time.monotonic() - begin
    width = max(map(len, counts), default=0)
    for family, by_verdict in sorted(counts.items()):
        row = ", ".join(f"{n} {verdict}" for verdict, n in sorted(by_verdict.items()))
        slow = slowest[family]
        print(f"{family:{width}}  {row}; slowest {slow.seconds:.3f} s (case {slow.number})")
    print(f"{len(numbers)} cases, {n_bad} bad, {seconds:.0f} s")
    return n_bad
