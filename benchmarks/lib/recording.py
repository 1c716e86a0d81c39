"""What a fit of ours does on the way: seconds of evaluations, and the objective after each
iteration.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
from numba.core import event

Probe = Callable[[np.ndarray, float], float]  # (parameter vector, objective) -> another figure


class Compiling(event.Listener):
    """CPU seconds and number of compilations since it was made, nested ones within the outer one's
    seconds.
    """

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self._depth = 0
        self._start = 0.0
        event.register("numba:compile", self)

    def on_start(self, event: Any) -> None:
        self._start = self._start if self._depth else time.process_time()
        self._depth = self._depth + 1
        self.count = self.count + 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        self.seconds += 0.0 if self._depth else time.process_time() - self._start


@contextmanager
def evaluation_seconds(
    clock: Callable[[], float] = time.process_time,
) -> Iterator[list[float]]:
    """Seconds of each evaluation of objective and gradient while it is entered."""
    from sklearn_struct.objectives.linear_objective import LinearObjective

    original = LinearObjective.value_and_grad
    seconds: list[float] = []

    @wraps(original)
    def value_and_grad(self: Any, w: np.ndarray) -> tuple[float, np.ndarray]:
        start = clock()
        result = original(self, w)
        seconds.append(clock() - start)
        return result

    LinearObjective.value_and_grad = value_and_grad
    try:
        yield seconds
    finally:
        LinearObjective.value_and_grad = original


@contextmanager
def iterations(probe: Probe | None, exact: bool) -> Iterator[list[tuple[float, float, float]]]:
    """Of each iteration of fits: CPU seconds since it was entered, the objective in CRFsuite's
    units, the probe.

    With `exact` the objective is evaluated at the parameters, for solvers whose own value is an
    estimate. Neither that nor the probe counts as time, nor does compiling what no small fit needs.
    """
    from sklearn_struct.estimators.fitting.solving import SOLVERS

    originals = dict(SOLVERS)
    noted: list[tuple[float, float, float]] = []
    compiling = Compiling()
    start = time.process_time()

    def noting(solver: Callable[..., Any]) -> Callable[..., Any]:
        def solve(
            objective: Any, w0: np.ndarray, *, callback: Callable[..., bool], **options: Any
        ) -> Any:
            at = _objective(objective, options["l1"], options["l2"]) if exact else None

            def note(n_iter: int, w: np.ndarray, value: float) -> bool:
                nonlocal start
                now = time.process_time() - compiling.seconds
                total = (at(w) if at else value) * objective.total_weight
                noted.append((now - start, total, probe(w, total) if probe else -math.inf))
                start += time.process_time() - compiling.seconds - now
                return callback(n_iter, w, value)

            return solver(objective, w0, callback=note, **options)

        return solve

    SOLVERS.update({name: noting(solver) for name, solver in originals.items()})
    try:
        yield noted
    finally:
        SOLVERS.update(originals)
        event.unregister("numba:compile", compiling)


def _objective(objective: Any, l1: float, l2: float) -> Callable[[np.ndarray], float]:
    """The penalised objective, with buffers of its own so that a solver's are left alone."""
    from sklearn_struct.objectives.linear_objective import LinearObjective

    own = LinearObjective(objective.potentials, objective.loss, objective.inference, objective.data)
    if objective.pool is not None:
        own = own.on(objective.pool)
    evaluate = LinearObjective.__dict__["value_and_grad"]
    evaluate = getattr(evaluate, "__wrapped__", evaluate)  # not one more evaluation of the fit

    def at(w: np.ndarray) -> float:
        penalised = w[: own.size - own.n_free]
        penalty = l2 / 2 * float(np.dot(penalised, penalised)) + l1 * float(
            np.sum(np.abs(penalised))
        )
        return evaluate(own, w)[0] + penalty

    return at
