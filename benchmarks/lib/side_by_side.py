"""Run contestants alternately, each run in a process of its own, and print medians side by side."""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lib.claims import Claim, no_claims
from lib.goals import Goal
from lib.sources import Source

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Stopwatch:
    """What one run of a contestant measures: CPU seconds of its parts, and a curve if it has one.

    Attributes
    ----------
    scratch : Path
        Folder that all processes of a benchmark call share.
    run : int
        Number of the run, from 0, a seed for what is random.
    quick : bool
        Whether the data are small, for a look at the benchmark itself.
    """

    def __init__(self, scratch: Path, run: int = 0, quick: bool = False) -> None:
        self.scratch = scratch
        self.run = run
        self.quick = quick
        self.figures: dict[str, float] = {}
        self.curve: list[tuple[float, float]] = []

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = time.process_time()
        yield
        self.figures[f"{name}, CPU s"] = time.process_time() - start

    def note_memory(self, name: str = "peak memory, MB") -> None:
        """Peak memory until the first call with this name; with the default one, without a call,
        until the run ends.
        """
        unit = 2**20 if sys.platform == "darwin" else 2**10
        self.figures.setdefault(name, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


Contestant = Callable[[Stopwatch], dict[str, float]]


class Run(NamedTuple):
    """What a process of a contestant answered."""

    figures: dict[str, float]
    curve: list[tuple[float, float]]


Runs = dict[str, list[Run]]


class Medians(dict[str, dict[str, float]]):
    """Medians of the figures of each contestant."""

    def figure(self, contestant: str, name: str) -> float | None:
        """None where the contestant failed, was not asked for, or has no such figure."""
        return self.get(contestant, {}).get(name)

    def ratio(self, above: tuple[str, str], below: tuple[str, str]) -> float | None:
        """One figure (contestant, name) over another."""
        a = self.figure(*above)
        b = self.figure(*below)
        return None if a is None or b is None else a / b if b else math.inf

    def points(self, better: str, worse: str, name: str) -> float | None:
        """By how many hundredths one contestant's figure is above another's."""
        a = self.figure(better, name)
        b = self.figure(worse, name)
        return None if a is None or b is None else 100 * (a - b)


class Picture(NamedTuple):
    """What a plot of a benchmark's curves shows; with `excess` how far values are above the lowest
    of all.
    """

    x: str = "CPU seconds"
    y: str = "objective above the lowest, relative"
    excess: bool = True


class Benchmark(NamedTuple):
    """Contestants at one thing.

    Those of `once` run a single time, before the others; `finish` may add figures that need all
    runs; `goals` and `claims` read the medians; `task` names the data that must be prepared;
    `picture` says what the curves are, if there are some; `beside` names the libraries and methods
    beside whose figures ours stand, `papers` what of papers is done again, first of the main one.
    """

    title: str
    contestants: dict[str, Contestant]
    goals: Callable[[Medians], list[Goal]]
    task: str = ""
    once: dict[str, Contestant] = {}  # noqa: RUF012 - never changed
    finish: Callable[[Runs], None] | None = None
    picture: Picture = Picture()
    beside: str = ""
    claims: Callable[[Medians], list[Claim]] = no_claims
    papers: tuple[Source, ...] = ()


class Options(NamedTuple):
    """How benchmarks are run."""

    runs: int
    quick: bool
    scratch: Path


def least(function: Callable[[], Any], repeats: int = 5) -> float:
    """Fewest CPU seconds of several calls."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


def work(contestant: Contestant, watch: Stopwatch) -> None:
    """The worker's side of a run: print what was measured as the last line."""
    figures = contestant(watch)
    watch.note_memory()
    print(json.dumps(Run(figures | watch.figures, watch.curve)))


def race(name: str, benchmark: Benchmark, options: Options) -> Runs:
    """Those of `once` first, then the contestants in turns; who fails says why and does not run
    again.
    """
    rounds = [(contestant, r) for r in range(options.runs) for contestant in benchmark.contestants]
    runs: Runs = {}
    failed = set()
    for contestant, r in [*((contestant, 0) for contestant in benchmark.once), *rounds]:
        if contestant in failed:
            continue
        print(f"{name}, run {r + 1}: {contestant}", file=sys.stderr, flush=True)
        run = in_process([name, contestant], r, options)
        if run is None:
            failed.add(contestant)
            runs.pop(contestant, None)
        else:
            runs.setdefault(contestant, []).append(run)
    if benchmark.finish:
        benchmark.finish(runs)
    return runs


def in_process(worker: list[str], run: int, options: Options) -> Run | None:
    """What a contestant answers from its own process; None, and its last words, if it fails."""
    command = [
        sys.executable,
        sys.argv[0],
        "--worker",
        *worker,
        "--run",
        str(run),
        "--scratch",
        str(options.scratch),
    ]
    command += ["--quick"] * options.quick
    answer = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | ONE_THREAD, check=False
    )
    sys.stderr.write(answer.stderr)
    if answer.returncode:
        print(
            f"FAILED: {', '.join(worker)}: {(answer.stderr.splitlines() or ['no message'])[-1]}",
            flush=True,
        )
        return None
    return Run(*json.loads(answer.stdout.splitlines()[-1]))


def medians(runs: Runs) -> Medians:
    """The median of each figure over the runs of each contestant."""
    return Medians(
        {
            name: {
                key: statistics.median(run.figures[key] for run in several)
                for key in several[0].figures
            }
            for name, several in runs.items()
        }
    )


def print_table(title: str, columns: dict[str, dict[str, float]]) -> None:
    """One row a figure, one column a contestant."""
    print(f"\n{title}", *table_lines(columns), sep="\n", flush=True)


def table_lines(columns: dict[str, dict[str, float]]) -> list[str]:
    """One row a figure, one column a contestant."""
    rows = list(dict.fromkeys(key for column in columns.values() for key in column))
    width = max(map(len, rows), default=0) + 2
    widths = [max(len(name), 10) + 2 for name in columns]
    lines = [" " * width + "".join(map(str.rjust, columns, widths))]
    for row in rows:
        cells = [_cell(column[row]) if row in column else "" for column in columns.values()]
        lines.append((f"{row:<{width}}" + "".join(map(str.rjust, cells, widths))).rstrip())
    return lines


def _cell(value: float) -> str:
    """Five digits; large numbers are whole, with commas."""
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e9 else f"{value:.5g}"
