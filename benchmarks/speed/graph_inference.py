"""Time of inference on grids: of a message of belief propagation, of a number in the tables of a
junction tree.
"""

from __future__ import annotations

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
}
