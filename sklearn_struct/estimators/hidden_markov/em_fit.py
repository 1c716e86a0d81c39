"""From the start to fitted parameters of a generative model: by counting, or by expectation
maximisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.exceptions import ForbiddenLabelError
from sklearn_struct.hidden_markov.em_starts import labelled_start, random_start
from sklearn_struct.hidden_markov.em_steps import HiddenMarkov, Training
from sklearn_struct.hidden_markov.gaussian_moments import fit_gaussians
from sklearn_struct.solvers.em import Maximum, em

__all__ = ["learn", "start"]


def start(init: str, training: Training, rng: np.random.RandomState) -> HiddenMarkov:
    """From labels as far as they are known, else from clusters of tokens, or at random."""
    if np.any(training.codes >= 0):
        return labelled_start(training, training.codes, rng)
    numeric = training.observed.measured.shape[1] > 0
    if init == "random" or (init == "auto" and not numeric):
        return random_start(training, rng)
    if not numeric:
        raise ValueError("init='kmeans' needs numeric columns; use init='random'")
    # clusters are as good as labels that somebody has guessed
    return labelled_start(training, _clusters(training, rng), rng)


def _clusters(training: Training, rng: np.random.RandomState) -> np.ndarray:
    from sklearn.cluster import KMeans  # slow to import, and seldom needed

    numbers = training.observed.measured
    weight = training.token_weight
    missing = np.isnan(numbers)
    empty = missing.all(axis=1)
    if np.any(missing):
        means = fit_gaussians(numbers, weight[:, None], np.zeros(numbers.shape[1])).mean
        numbers = np.where(missing, means, numbers)
        weight = np.where(empty, 0.0, weight)
    with threadpool_limits(1):  # sums of several threads have no fixed order
        k_means = KMeans(training.n_labels, n_init=3, random_state=rng)
        k_means.fit(numbers, sample_weight=weight)
    # a token without numbers is in no cluster
    labels: np.ndarray = np.where(empty, -1, k_means.labels_)
    return labels


def learn(
    training: Training,
    begin: Callable[[], HiddenMarkov],
    iterations: Iterations,
    *,
    max_iter: int,
    tol: float,
) -> dict[str, Any]:
    """Return what was learned, by name; warn where EM has not reached `tol` and nobody asked to
    stop before.
    """
    if training.is_counted:
        model: Any = training.maximise(training.counted(training.codes))
        value = training.value(model)
        iterations.begin(model)
        iterations(1, model, value)
        result = Maximum(model, value, 1, True)
    else:
        model = begin()
        iterations.begin(model)
        # the gain over -inf is infinite or NaN, by which EM could not tell when to end
        if training.expect(model)[1] == -np.inf:
            raise ForbiddenLabelError(
                "a sequence is impossible where EM starts; smooth the model given by `init`"
            )
        options: dict[str, Any] = {
            "max_iter": max_iter,
            # EM compares sums over all tokens, of which `tol` is the share of one
            "tol": tol * float(training.token_weight.sum()),
            "callback": iterations,
        }
        result = em(training.expect, training.maximise, model, **options)
    advice = "allow more iterations or accept a larger tol"
    return iterations.end(result, f"EM stopped after {result.n_iter} iterations", advice)
