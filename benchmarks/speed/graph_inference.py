"""Time of inference on grids: of a message of belief propagation, of a number in the tables of a
junction tree.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

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


def grid(height: int, width: int, n_labels: int, shared: bool) -> tuple[Any, Any]:
    """Random potentials and structure of a grid."""
    import numpy as np

    from sklearn_struct.containers.structures import Family, Potentials, Structure

    rng = np.random.default_rng(0)
    number = np.arange(height * width).reshape(height, width)
    across = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    edges = np.concatenate([across, down])
    node = rng.normal(size=(number.size, n_labels))
    table = 0.5 * rng.normal(size=(1 if shared else len(edges), n_labels**2))
    structure = Structure(np.array([0, number.size]), (Family(edges, np.array([0, len(edges)])),))
    return Potentials(node, (table,)), structure


def seconds(inference: Any, potentials: Any, structure: Any, repeats: int) -> float:
    """Shortest CPU seconds of a call for marginals; the first call compiles kernels."""
    import numpy as np

    from sklearn_struct.containers.structures import zeros

    out = zeros(potentials)
    log_Z = np.empty(1)
    arguments = potentials, structure, np.ones(1), out, log_Z
    inference.marginals(*arguments)
    return least(lambda: inference.marginals(*arguments), repeats)


def messages(n_labels: int, shared: bool, watch: Stopwatch) -> dict[str, float]:
    """The difference of two numbers of sweeps; a tolerance below 0 is never reached, so that both
    tries take all their sweeps.
    """
    from sklearn_struct.inference.graphs.belief_propagation import LONGER, BeliefPropagation

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
