"""How many numbers of a hidden Markov model data can choose."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov, reachable
from sklearn_struct.hidden_markov.semi_markov import SemiMarkov

__all__ = ["n_parameters", "with_durations"]


def n_parameters(
    model: HiddenMarkov,
    stop: bool,
    allowed: Markov | None = None,
    fixed: frozenset[str] = frozenset(),
) -> int:
    """The free parameters of a model.

    A distribution over m outcomes that are `allowed` (tables of booleans) has m - 1. What is
    `fixed` has none; the names are those of `HMM`.
    """
    possible = allowed or Markov(*(np.ones(table.shape, dtype=bool) for table in model.markov))
    total = 0 if "start" in fixed else _free(possible.start[None])
    if "transition" not in fixed:
        # the end is one of the outcomes, but leaves no choice where it is fixed
        last = possible.stop[:, None] & stop & ("stop" not in fixed)
        rows = np.column_stack([possible.transition, last])
        total += _free(rows[reachable(possible)])
        # slopes of a row are relative to each other
        total += model.slopes[:, 1:].size
    numbers = model.gaussians
    total += numbers.n_parameters if "emission" in fixed else model.n_emission_parameters
    if "means" in fixed:
        total -= numbers.mean.size
    if "covariances" in fixed:
        total -= numbers.n_parameters - numbers.mean.size
    return total


def with_durations(model: SemiMarkov) -> int:
    """The free parameters of a model whose states have durations, and never follow themselves."""
    log_p, parameters = model.durations
    K = len(log_p)
    # of a table the probabilities, which sum to 1
    of_durations = parameters.size or log_p.size - K
    of_chain = _free(np.ones((1, K), dtype=bool)) + _free(~np.eye(K, dtype=bool))
    return of_chain + of_durations + model.hidden.n_emission_parameters


def _free(outcomes: np.ndarray) -> int:
    """Of distributions, one a row, over the outcomes that are marked."""
    return int(np.sum(np.maximum(outcomes.sum(axis=1) - 1, 0)))
