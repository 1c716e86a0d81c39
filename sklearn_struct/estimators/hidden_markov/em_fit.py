"""From the start to fitted parameters of a generative model: by counting, or by expectation
maximisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.hidden_markov.clusters import clusters
from sklearn_struct.exceptions import ForbiddenLabelError
from sklearn_struct.hidden_markov.base_training import BaseTraining, Expectation
from sklearn_struct.hidden_markov.em_starts import labelled_start, random_start
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.solvers.em import Maximum, em

__all__ = ["learn", "spread_out", "start"]


def start(init: str, training: BaseTraining, rng: np.random.RandomState) -> HiddenMarkov:
    """From labels as far as they are known, else from clusters of tokens, or at random."""
    if training.any_known:
        return labelled_start(training, training.known, rng)
    numeric = training.n_measured > 0
    if init == "random" or (init == "auto" and not numeric):
        return random_start(training, rng)
    if not numeric:
        raise ValueError("init='kmeans' needs numeric columns; use init='random'")
    # clusters are as good as labels that somebody has guessed; a token without numbers is in none
    return labelled_start(training, training.clustered(clusters, rng), rng)


def spread_out(training: Training) -> np.ndarray:
    """A label for each token (n,): in each sequence all labels in their order, equally long."""
    n = np.diff(training.observed.offsets)
    position = np.arange(len(training.codes)) - np.repeat(training.observed.offsets[:-1], n)
    labels: np.ndarray = position * training.n_labels // np.maximum(np.repeat(n, n), 1)
    return labels


def learn(
    training: Training,
    begins: Sequence[Callable[[], HiddenMarkov]],
    iterations: Iterations,
    *,
    max_iter: int,
    tol: float,
) -> dict[str, Any]:
    """Return what was learned, by name; warn where EM has not reached `tol` and nobody asked to
    stop before.

    EM begins in each of the places that functions make, and the best run counts: callbacks see that
    one alone.
    """
    options: dict[str, Any] = {
        "max_iter": max_iter,
        # EM compares sums over all tokens, of which `tol` is the share of one
        "tol": tol * training.total_weight,
    }
    if training.is_counted:
        model: Any = training.maximise(training.counted(training.known))
        value = training.value(model)
        iterations.begin(model)
        iterations(1, model, value)
        result = Maximum(model, value, 1, True)
    else:
        result = _from_best(training, begins, iterations, options)
    advice = "allow more iterations or accept a larger tol"
    return iterations.end(result, f"EM stopped after {result.n_iter} iterations", advice)


def _from_best(
    training: Training,
    begins: Sequence[Callable[[], HiddenMarkov]],
    iterations: Iterations,
    options: dict[str, Any],
) -> Maximum[HiddenMarkov]:
    """The run that comes to the highest value."""
    begin = begins[0]
    if len(begins) > 1:
        begin, result, values = _best(training, begins, options)
        # nobody knows before the end which run is the best, so one that is watched is done again
        if not iterations.watched:
            iterations.replay(values)
            return result
    model = begin()
    iterations.begin(model)
    expect = partial(_expect, training)
    return em(expect, training.maximise, model, callback=iterations, **options)


def _best(
    training: Training, begins: Sequence[Callable[[], HiddenMarkov]], options: dict[str, Any]
) -> tuple[Callable[[], HiddenMarkov], Maximum[HiddenMarkov], list[float]]:
    """Where the run began that came to the highest value, the first of equals; its result and its
    values.
    """
    runs = []
    for begin in begins:
        values: list[float] = []

        def remember(
            n_iter: int, model: HiddenMarkov, value: float, values: list[float] = values
        ) -> bool:
            values.append(value)
            return False

        expect = partial(_expect, training)
        result = em(expect, training.maximise, begin(), callback=remember, **options)
        runs.append((begin, result, values))
    return max(runs, key=lambda run: run[1].value)


def _expect(training: Training, model: HiddenMarkov) -> tuple[Expectation, float]:
    """An E-step, or ForbiddenLabelError. As no later value is lower, that can only be the first."""
    expectation, value = training.expect(model)
    # the gain over -inf is infinite or NaN, by which EM could not tell when to end
    if value == -np.inf:
        raise ForbiddenLabelError(
            "a sequence is impossible where EM starts; smooth the model given by `init`"
        )
    return expectation, value
