"""What a fit tells the callbacks of scikit-learn (from 1.9 on): that it and its iterations begin
and end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.fitting.sample_weights import is_per_token

__all__ = ["Progress"]

# learned attributes with which a copy of the estimator is as if fit had stopped here
State = Callable[[], dict[str, Any]]


class Progress:
    """The task of one fit, and one after the other those of its iterations; nothing where there are
    no callbacks.

    Callbacks are set up before anything is learned, so that they are torn down whatever becomes of
    the fit. They get X and y in the form in which `fit` got them, and weights of sequences, which
    scorers take, but not those of tokens.
    """

    def __init__(self, estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any) -> None:
        self.stopped = False
        self._fit: Any = None
        self._iteration: Any = None
        self.data = X, y, sample_weight
        if getattr(estimator, "_skl_callbacks", None):
            # both of us read them
            X = as_list(X)
            y = as_list(y)
            sample_weight = as_list(sample_weight)
            self.data = X, y, sample_weight
            for_scorers = sample_weight is not None and not is_per_token(sample_weight)
            metadata = {"sample_weight": sample_weight} if for_scorers else None
            self._passed = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
            self._fit = estimator._init_callback_context(
                max_subtasks=getattr(estimator, "max_iter", None)
            )
            self._fit.call_on_fit_task_begin(**self._passed)

    @property
    def active(self) -> bool:
        """Whether there are callbacks."""
        return bool(self._fit)

    def begin_iteration(self, state: State) -> None:
        """An iteration begins in this state."""
        if self._fit:
            self._iteration = self._fit.subcontext(task_name="iteration")
            self._iteration.call_on_fit_task_begin(**self._passed, reconstruction_attributes=state)

    def end_iteration(self, state: State) -> bool:
        """The iteration has led to this state; return whether a callback asks to stop."""
        if self._fit:
            iteration = self._iteration
            self._iteration = None
            self.stopped = iteration.call_on_fit_task_end(
                **self._passed, reconstruction_attributes=state
            )
        return self.stopped

    def end_iterations(self) -> None:
        """There are no more; one that has begun had nothing left to do."""
        if self._iteration:
            self._iteration.call_on_fit_task_end(**self._passed)

    def end(self) -> None:
        """The estimator is fitted."""
        if self._fit:
            self._fit.call_on_fit_task_end(**self._passed, reconstruction_attributes={})
