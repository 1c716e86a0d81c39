"""Run contestants alternately, each run in a process of its own, and print medians side by side."""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any


class Stopwatch:
    """CPU and wall seconds of named parts of a run."""

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.figures[f"{name}, wall s"] = time.perf_counter() - wall
        self.figures[f"{name}, CPU s"] = time.process_time() - cpu


def main(
    contestants: dict[str, Callable[[Stopwatch], dict[str, float]]], description: str
) -> dict[str, dict[str, float]]:
    """Command line of a benchmark: the medians of each contestant's figures, after they are printed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=3, help="runs of each contestant (default 3)")
    parser.add_argument("--only", nargs="*", default=list(contestants), choices=list(contestants))
    parser.add_argument("--worker", choices=list(contestants), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        watch = Stopwatch()
        figures = contestants[options.worker](watch)
        figures["peak memory, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(watch.figures | figures))
        sys.exit()
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in options.only}
    for r in range(options.runs):
        for name in options.only:
            print(f"run {r + 1} of {options.runs}: {name}", file=sys.stderr, flush=True)
            command = [sys.executable, sys.argv[0], "--worker", name]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            runs[name].append(json.loads(answer.splitlines()[-1]))
    medians = {
        name: {key: statistics.median(run[key] for run in results) for key in results[0]}
        for name, results in runs.items()
    }
    print_table(medians)
    return medians


def print_table(columns: dict[str, dict[str, float]]) -> None:
    """One row a figure, one column a contestant."""
    rows = list(dict.fromkeys(key for column in columns.values() for key in column))
    width = max(map(len, rows)) + 2
    print(" " * width + "".join(f"{name:>18}" for name in columns))
    for row in rows:
        cells = (f"{column[row]:18.4g}" if row in column else f"{'':18}" for column in columns.values())
        print(f"{row:<{width}}" + "".join(cells))
