"""From the start to fitted parameters of a generative model: by counting, or by expectation
maximisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.hidden_markov.clusters import clusters
from sklearn_struct.exceptions import ForbiddenLabelError
from sklearn_struct.hidden_markov.em_starts import labelled_start, random_start
from sklearn_struct.hidden_markov.em_steps import HiddenMarkov, Training
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
    # clusters are as good as labels that somebody has guessed; a token without numbers is in none
    codes = clusters(training.observed.measured, training.token_weight, training.n_labels, rng)
    return labelled_start(training, codes, rng)


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
