"""Several runs of a solver from random starts, of which the lowest objective counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from sklearn_struct.containers.typing import Seed
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.solving import Minimisation, ended, minimise, solve
from sklearn_struct.objectives.shared_weights import SharedWeights
from sklearn_struct.solvers.objective_protocols import BatchObjective
from sklearn_struct.solvers.result import Callback, Result

__all__ = ["Run", "Start", "best_run", "seeds", "solve_alike", "solve_from"]

START_TOL = 1e-2  # of a start, which need not be exact


class Start(NamedTuple):
    """Weights to begin with, and the seed of what a stochastic solver draws on its way."""

    w: np.ndarray
    seed: int


class Run(NamedTuple):
    """Where a run began, what it came to, and its values on the way."""

    start: Start
    result: Result
    values: list[float]


Solve: TypeAlias = Callable[[Start, Callback], Result]


def seeds(random_state: Seed, n: int) -> list[int]:
    """A seed for each of n starts; more starts leave the first seeds as they are."""
    rng = check_random_state(random_state)
    drawn: list[int] = rng.randint(np.iinfo(np.int32).max, size=n).tolist()
    return drawn


def best_run(starts: Iterable[Start], run: Solve) -> Run:
    """The run that comes to the lowest value, the first one of equals.

    Values that are no numbers count as infinite.
    """
    best: Run | None = None
    lowest = np.inf
    for start in starts:
        values: list[float] = []
        result = run(start, _remember(values))
        value = result.value if np.isfinite(result.value) else np.inf
        if best is None or value < lowest:
            best = Run(start, result, values)
            lowest = value
    if best is None:
        raise ValueError("there must be a start")
    return best


def _remember(values: list[float]) -> Callback:
    def callback(n_iter: int, w: np.ndarray, value: float) -> bool:
        values.append(value)
        return False

    return callback


def solve_from(
    settings: Minimisation,
    solver: str,
    objective: BatchObjective,
    starts: list[Start],
    iterations: Iterations,
) -> dict[str, Any]:
    """As `solve`, from the one of several starts that leads to the lowest objective.

    Callbacks see the iterations of that run alone. If there are any, it is done twice, as nobody
    knows before the end which run that is.
    """
    if len(starts) > 1:

        def run(start: Start, callback: Callback) -> Result:
            seeded = settings._replace(random_state=start.seed)
            return minimise(seeded, solver, objective, start.w, iterations.scale, callback)

        best = best_run(starts, run)
        if not iterations.watched:
            iterations.replay(best.values)
            return ended(settings, solver, objective, best.result, iterations)
        starts = [best.start]
    seeded = settings._replace(random_state=starts[0].seed)
    return solve(seeded, solver, objective, starts[0].w, iterations)


def solve_alike(
    settings: Minimisation, objective: BatchObjective, place: np.ndarray, scale: float
) -> np.ndarray:
    """The weights of labels whose states are alike, as `place` says, for which the objective is
    convex.
    """
    alike = SharedWeights(objective, place)
    near = settings._replace(tol=max(settings.tol, START_TOL))
    solver = "owlqn" if settings.l1_ratio > 0 else "lbfgs"
    return alike.spread(minimise(near, solver, alike, np.zeros(alike.size), scale).w)
