"""What happens after each iteration of a solver, and after the last: curve, lines, callbacks, a
warning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct._warning import warn
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.solvers.em import Maximum
from sklearn_struct.solvers.result import Result

__all__ = ["IterationSettings", "Iterations"]


class IterationSettings(NamedTuple):
    """What an estimator says of the iterations of its fit.

    Attributes
    ----------
    max_iter : int
        After so many no further one begins.
    tol : float
        What a warning says has not been reached.
    speaker : str
        The name before the lines that are printed, one for each iteration; "" for no lines.
    warns : bool
        Whether an end before `tol` is one to warn of; not where `max_iter` says when, as in other
        tools.
    """

    max_iter: int
    tol: float
    speaker: str = ""
    warns: bool = True


class Iterations:
    """The iterations of one fit; an instance is what a solver takes as its callback.

    Learned attributes are those that `learned` makes of the solver's w, with ``n_iter_`` and
    ``loss_curve_``. The curve has the solver's values times `scale`.
    """

    def __init__(
        self,
        learned: Callable[[Any], dict[str, Any]],
        progress: Progress,
        settings: IterationSettings,
        scale: float = 1.0,
    ) -> None:
        self.learned = learned
        self.progress = progress
        self.settings = settings
        self.scale = scale
        self.curve: list[float] = []
        self.start = perf_counter()

    @property
    def watched(self) -> bool:
        """Whether anybody sees iterations while they are made."""
        return bool(self.settings.speaker) or self.progress.active

    def replay(self, values: list[float]) -> None:
        """Iterations that nobody watched have come to these values of the solver."""
        self.curve = [value * self.scale for value in values]

    def _state(self, n_iter: int, w: Any) -> dict[str, Any]:
        return self.learned(w) | {"n_iter_": n_iter, "loss_curve_": list(self.curve)}

    def begin(self, w: Any) -> None:
        """The solver starts here."""
        self.progress.begin_iteration(partial(self._state, 0, w))

    def __call__(self, n_iter: int, w: Any, value: float) -> bool:
        """An iteration has led to w; return whether a callback asks to stop."""
        value *= self.scale
        self.curve.append(value)
        if self.settings.speaker:
            print(
                f"[{self.settings.speaker}] iteration {n_iter}, objective {value:.6f}",
                # at once, as who watches a long fit through a pipe would else see nothing until the
                # buffer is full
                flush=True,
            )
        # made only if a callback asks: it copies the weights
        state = partial(self._state, n_iter, w)
        stop = self.progress.end_iteration(state)
        if not stop and n_iter < self.settings.max_iter:
            self.progress.begin_iteration(state)
        return stop

    def end(self, result: Result | Maximum[Any], stopped: str, advice: str) -> dict[str, Any]:
        """Return what was learned; warn where `tol` is not reached and nobody asked to stop
        before.
        """
        self.progress.end_iterations()
        if self.settings.speaker:
            self._say_why(result, stopped)
        if not result.converged and not self.progress.stopped and self.settings.warns:
            message = f"{stopped} without reaching tol={self.settings.tol}; {advice}"
            warn(message, ConvergenceWarning)
        if not self.curve:
            # without iterations the start was the optimum
            self.curve.append(result.value * self.scale)
        return self._state(result.n_iter, result.w)

    def _say_why(self, result: Result | Maximum[Any], stopped: str) -> None:
        """Print why the solver stopped, how large its gradient or its gap is, if it knows, and its
        time.
        """
        reason = f"tol={self.settings.tol} is{'' if result.converged else ' not'} reached"
        if self.progress.stopped:
            reason = "a callback asked to stop"
        if isinstance(result, Result) and not np.isnan(result.steepest):
            reason += f", the largest entry of the gradient is {result.steepest:.3g}"
        if isinstance(result, Result) and not np.isnan(result.gap):
            reason += f", the gap is {result.gap * self.scale:.3g}"
        seconds = perf_counter() - self.start
        print(f"[{self.settings.speaker}] {stopped}: {reason}; {seconds:.1f} s", flush=True)
