"""From the start to fitted parameters of a generative model: by counting, or by expectation maximisation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklearn_struct.estimators.progress import Progress
from sklearn_struct.exceptions import ForbiddenLabelError
from sklearn_struct.hidden_markov import HiddenMarkov, Training
from sklearn_struct.hidden_starts import labelled_start, random_start
from sklearn_struct.solvers.em import em

__all__ = ["learn", "start"]


def start(estimator: Any, training: Training, rng: np.random.RandomState) -> HiddenMarkov:
    """From labels as far as they are known, else from clusters of tokens, or at random."""
    if np.any(training.codes >= 0):
        return labelled_start(training, training.codes, rng)
    numeric = training.observed.numbers.shape[1] > 0
    if estimator.start == "random" or (estimator.start == "auto" and not numeric):
        return random_start(training, rng)
    if not numeric:
        raise ValueError("start='kmeans' needs numeric columns; use start='random'")
    return labelled_start(training, _clusters(training, rng), rng)


def _clusters(training: Training, rng: np.random.RandomState) -> np.ndarray:
    from sklearn.cluster import KMeans  # slow to import, and seldom needed

    with threadpool_limits(1):  # sums of several threads have no fixed order
        found = KMeans(training.n_labels, n_init=3, random_state=rng)
        return found.fit(training.observed.numbers, sample_weight=training.token_weight).labels_


def learn(estimator: Any, training: Training, begin: Callable[[], HiddenMarkov], progress: Progress) -> None:
    """Set what was learned; warn where EM has not reached `tol` and nobody asked to stop before."""
    curve: list[float] = []

    def state(model: HiddenMarkov) -> dict[str, Any]:
        return estimator._learned(model) | {"n_iter_": len(curve), "loss_curve_": list(curve)}

    def callback(n_iter: int, model: HiddenMarkov, value: float) -> bool:
        curve.append(-value)
        if estimator.verbose:
            print(f"[{type(estimator).__name__}] iteration {n_iter}, objective {-value:.6f}", flush=True)
        stop = progress.end_iteration(partial(state, model))
        if not stop and n_iter < estimator.max_iter:
            progress.begin_iteration(partial(state, model))
        return stop

    if np.all(training.codes[training.token_weight > 0] >= 0):
        model = training.maximise(training.counted(training.codes))
        progress.begin_iteration(partial(state, model))
        callback(1, model, training.value(model))
    else:
        model = begin()
        progress.begin_iteration(partial(state, model))
        if training.expect(model)[1] == -np.inf:
            raise ForbiddenLabelError("a sequence is impossible where EM starts; smooth the model given by `init`")
        tol = estimator.tol * float(training.token_weight.sum())
        options = {"max_iter": estimator.max_iter, "tol": tol, "callback": callback}
        result: Any = em(training.expect, training.maximise, model, **options)
        model = result.w
        if not result.converged and not progress.stopped:
            advice = "allow more iterations or accept a larger tol"
            message = f"EM stopped after {estimator.max_iter} iterations without reaching tol={estimator.tol}; {advice}"
            warnings.warn(message, ConvergenceWarning, stacklevel=5)
    progress.end_iterations()
    vars(estimator).update(state(model))
