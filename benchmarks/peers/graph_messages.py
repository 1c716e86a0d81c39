"""Belief propagation on a grid with a table for each edge, by libDAI's C++ and by ours.

The environment variable SKLEARN_STRUCT_LIBDAI names a program that reads a pairwise model, runs
libDAI's three schedules until no belief changes by more than 1e-6, and prints of each its CPU
seconds and log Z, as in "SEQFIX 0.027 s 12 iterations, difference 3e-07, log Z 1234.5". The file
has n, K and m, then n * K numbers for the nodes, then for each edge its two nodes and K * K
numbers. Without the variable our own times are printed alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from lib.goals import Goal
from lib.grids import grid, marginals_of
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

VARIABLE = "SKLEARN_STRUCT_LIBDAI"
MISSING = (
    f"libDAI does not race: set {VARIABLE} to the program `race`, which is built from libDAI's "
    "source with g++, libboost-dev and libgmp-dev; see benchmarks/peers/graph_messages.py"
)
LINE = re.compile(r"(\w+) ([\d.]+) s (\d+) iterations, difference \S+, log Z (\S+)")

SIDE = 40
TOL = 1e-6
OURS = "ours, CPU s"
THEIRS = "libDAI's fastest schedule, CPU s"
DIFFERENCE = "relative difference of log Z"
# labels -> goal and least: how many times as quick
GOALS = {2: (20.0, 10.0), 5: (30.0, 18.0), 11: (20.0, 9.0)}


def both(n_labels: int, watch: Stopwatch) -> dict[str, float]:
    """Shortest times of several runs of both, in turns, as the machine may be busy."""
    from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation

    potentials, structure = grid(SIDE, SIDE, n_labels, shared=False)
    inference = BeliefPropagation(1000, TOL)
    call, log_Z = marginals_of(inference, potentials, structure)
    file = watch.scratch / f"grid_{n_labels}.txt"
    write(file, potentials, structure)
    ours = []
    theirs: dict[str, list[float]] = {}
    sums = []
    for _ in range(2 if watch.quick else 5):
        ours.append(least(call, 5))
        for schedule, seconds, log_sum in libdai(file):
            theirs.setdefault(schedule, []).append(seconds)
            sums.append(log_sum)
    figures = {OURS: min(ours), "our sweeps": float(inference.report.counts.most_sweeps)}
    if theirs:
        shortest = {name: min(seconds) for name, seconds in theirs.items()}
        figures |= {f"libDAI {name}, CPU s": seconds for name, seconds in shortest.items()}
        figures[THEIRS] = min(shortest.values())
        figures["libDAI / ours"] = figures[THEIRS] / figures[OURS]
        figures[DIFFERENCE] = max(abs(x / log_Z[0] - 1.0) for x in sums)
    return figures


def write(file: Path, potentials: Any, structure: Any) -> None:
    """The factors as text; each side divides rows as it likes, so large ones are no matter."""
    import numpy as np

    (family,) = structure.families
    n, K = potentials.node.shape
    rows = [" ".join(map(repr, row.tolist())) for row in np.exp(potentials.node)]
    tables = np.exp(potentials.cliques[0])
    rows += [
        f"{a} {b} " + " ".join(map(repr, table.tolist()))
        for (a, b), table in zip(family.nodes.tolist(), tables, strict=True)
    ]
    file.write_text("\n".join([f"{n} {K} {len(tables)}", *rows]) + "\n")


def libdai(file: Path) -> list[tuple[str, float, float]]:
    """Schedule, CPU seconds and log Z of each; nothing, and a message, without the program."""
    program = os.environ.get(VARIABLE)
    if not program:
        print(MISSING, file=sys.stderr, flush=True)
        return []
    answer = subprocess.run([program, file, "10000"], capture_output=True, text=True, check=True)
    return [
        (schedule, float(seconds), float(log_Z))
        for schedule, seconds, _, log_Z in LINE.findall(answer.stdout)
    ]


def goals(medians: Medians) -> list[Goal]:
    times_as_quick = [
        Goal(
            f"libDAI / ours, belief propagation, {K} labels",
            medians.ratio((f"{K} labels", THEIRS), (f"{K} labels", OURS)),
            *limits,
        )
        for K, limits in GOALS.items()
    ]
    known = [medians.figure(f"{K} labels", DIFFERENCE) for K in GOALS]
    largest = max((figure for figure in known if figure is not None), default=None)
    return [
        *times_as_quick,
        Goal("difference of log Z from libDAI's", largest, 1e-9, 1e-9, at_most=True),
    ]


BENCHMARKS = {
    "graph-peers": Benchmark(
        f"Belief propagation to 1e-6 on a grid of {SIDE} x {SIDE}, one table per edge",
        {f"{K} labels": partial(both, K) for K in GOALS},
        goals,
        beside="libDAI",
    ),
}
