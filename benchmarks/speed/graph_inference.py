"""Time of inference on grids: of a message of belief propagation, of a number in the tables of a
junction tree; and what a second thread gains on one large graph, by wall-clock time.
"""

from __future__ import annotations

import math
import time
from functools import partial

from lib.goals import Goal
from lib.grids import grid, seconds
from lib.side_by_side import Benchmark, Medians, Stopwatch

MESSAGE = "a message, CPU ns"
REST = "all else, CPU ns an edge"
NUMBER = "a table number, CPU ns"
# labels -> goal and least in nanoseconds a message, for edges that share a table
GOALS = {2: (15.0, 40.0), 11: (50.0, 140.0), 22: (120.0, 360.0)}
SIDE = 60
# height, width and labels of grids whose junction trees have many numbers
TREES = {"16 x 8, 2 labels": (16, 8, 2), "14 x 14, 2": (14, 14, 2), "40 x 3, 9": (40, 3, 9)}
# a grid of a million edges
LARGE_SIDE = 708
LARGE_LABELS = (2, 5, 11)
GAIN = "gain of two threads"
SAME = "same bits"
# both numbers of sweeps take all else once
SWEEPS = (4, 24)


def messages(n_labels: int, shared: bool, watch: Stopwatch) -> dict[str, float]:
    """The difference of two numbers of sweeps; a tolerance below 0 is never reached, so that both
    tries take all their sweeps.
    """
    from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
    from sklearn_struct.inference.graphs.pair_inference import LONGER

    potentials, structure = grid(SIDE, SIDE, n_labels, shared)
    few, many = (
        seconds(BeliefPropagation(n, -1.0), potentials, structure, 2 if watch.quick else 7)
        for n in SWEEPS
    )
    n_edges = len(structure.families[0].nodes)
    n_messages = 2 * n_edges * (1 + LONGER)
    a_sweep = (many - few) / (SWEEPS[1] - SWEEPS[0])
    return {
        MESSAGE: 1e9 * a_sweep / n_messages,
        REST: 1e9 * (few - SWEEPS[0] * a_sweep) / n_edges,
    }


def tables(height: int, width: int, n_labels: int, watch: Stopwatch) -> dict[str, float]:
    from sklearn_struct.inference.graphs.buckets import n_numbers
    from sklearn_struct.inference.graphs.junction_tree import JunctionTree

    potentials, structure = grid(height, width, n_labels, shared=True)
    inference = JunctionTree()
    n = n_numbers(structure, n_labels, inference.most)[0]
    taken = seconds(inference, potentials, structure, 2 if watch.quick else 5)
    return {"numbers": float(n), NUMBER: 1e9 * taken / n}


def million_edges(n_labels: int, watch: Stopwatch) -> dict[str, float]:
    """Marginals of one grid on one thread and on two in turns, since the machine may be busy."""
    import numpy as np

    from sklearn_struct.compiled.threads import Pool
    from sklearn_struct.containers.structures import zeros
    from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation

    side = 250 if watch.quick else LARGE_SIDE
    potentials, structure = grid(side, side, n_labels, shared=True)
    inference = BeliefPropagation(1000, 1e-6)
    shortest = {1: math.inf, 2: math.inf}
    results = []
    # the first calls compile kernels and colour the graph
    for n_jobs in (1, 2, *(1, 2) * (2 if watch.quick else 10)):
        out = zeros(potentials)
        log_Z = np.empty(1)
        arguments = potentials, structure, np.ones(1), out, log_Z
        with Pool(n_jobs) as pool:
            start = time.perf_counter()
            pool.map(lambda _, given=arguments: inference.marginals(*given), 1)
            taken = time.perf_counter() - start
        if len(results) >= 2:
            shortest[n_jobs] = min(shortest[n_jobs], taken)
        results.append((out.node.tobytes(), log_Z[0]))
    return {
        "edges": float(len(structure.families[0].nodes)),
        "sweeps": float(inference.report.counts.most_sweeps),
        "one thread, wall s": shortest[1],
        "two threads, wall s": shortest[2],
        GAIN: shortest[1] / shortest[2],
        SAME: float(len(set(results)) == 1),
    }


def gains(medians: Medians) -> list[Goal]:
    named = [f"{K} labels" for K in LARGE_LABELS]
    same = [medians.figure(name, SAME) for name in named]
    return [
        *(
            Goal(f"two threads, a million edges, {name}", medians.figure(name, GAIN), 1.8, 1.6)
            for name in named
        ),
        Goal("share of grids with the same bits", _share(same), 1.0, 1.0),
    ]


def _share(same: list[float | None]) -> float | None:
    known = [figure for figure in same if figure is not None]
    return sum(known) / len(known) if known else None


def goals(medians: Medians) -> list[Goal]:
    of_messages = [
        Goal(f"ns a message, {K} labels", medians.figure(f"{K} labels", MESSAGE), *limits, True)
        for K, limits in GOALS.items()
    ]
    of_tables = [
        Goal(f"ns a table number, {name}", medians.figure(name, NUMBER), 5.0, 15.0, True)
        for name in TREES
    ]
    return [*of_messages, *of_tables]


LABELS = (2, 3, 5, 11, 22)
BENCHMARKS = {
    "graph-inference": Benchmark(
        f"Belief propagation on a grid of {SIDE} x {SIDE}, and junction trees",
        {
            **{f"{K} labels": partial(messages, K, True) for K in LABELS},
            **{f"{K} labels, a table an edge": partial(messages, K, False) for K in LABELS},
            **{name: partial(tables, *shape) for name, shape in TREES.items()},
        },
        goals,
    ),
    "graph-threads": Benchmark(
        f"Belief propagation on one grid of {LARGE_SIDE} x {LARGE_SIDE}, by one thread and by two",
        {f"{K} labels": partial(million_edges, K) for K in LARGE_LABELS},
        gains,
    ),
}
