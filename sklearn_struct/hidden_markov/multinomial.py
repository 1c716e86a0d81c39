"""Multinomial distributions of vectors of counts, one of each label: a table (K, c) of logarithms
of the probabilities of outcomes. How many trials a token has is given, not modelled.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov.counts import Counts
from sklearn_struct.hidden_markov.densities import log_ratios
from sklearn_struct.hidden_markov.moments import Sums, sums_of_all

__all__ = [
    "add_log_probabilities",
    "draw_outcomes",
    "fit_outcomes",
    "outcomes_near",
    "random_outcomes",
]


def add_log_probabilities(counts: Counts, table: np.ndarray, log_p: np.ndarray) -> None:
    """Add to `log_p` (n, K) the log-probabilities of vectors of counts."""
    if counts.numbers.shape[1] == 0:
        return
    never = table == -np.inf
    some_never = np.any(never)
    # 0 times -inf would be NaN
    finite = np.where(never, 0.0, table).T
    for rows, x in counts.pieces:
        log_p[rows] += x @ finite
        if some_never:
            log_p[rows][x @ never.T.astype(np.float64) > 0] = -np.inf
        if counts.constant is not None:
            log_p[rows] += counts.constant(x)[:, None]


def fit_outcomes(sums: Sums, smoothing: float) -> np.ndarray:
    """The most probable table; `smoothing` is added to the expected count of each outcome."""
    table = sums.total.T
    return log_ratios(table, smoothing) if table.size else table


def random_outcomes(
    counts: Counts, weight: np.ndarray, K: int, smoothing: float, rng: np.random.RandomState
) -> np.ndarray:
    """Random probabilities in proportion to the frequencies of outcomes."""
    if counts.numbers.shape[1] == 0:
        return np.empty((K, 0))
    return outcomes_near(sums_of_all(counts.numbers, weight), K, smoothing, rng)


def outcomes_near(of_all: Sums, K: int, smoothing: float, rng: np.random.RandomState) -> np.ndarray:
    """Random probabilities in proportion to the frequencies that sums of all tokens have."""
    frequency = of_all.total[:, 0] + smoothing
    return log_ratios(frequency * rng.exponential(size=(K, len(frequency))))


def draw_outcomes(
    table: np.ndarray, states: np.ndarray, trials: int, rng: np.random.RandomState
) -> np.ndarray:
    """Counts (n, c) of states (n,), with so many trials each."""
    drawn = np.zeros((len(states), table.shape[1]))
    if table.shape[1] == 0:
        return drawn
    for k in np.unique(states):
        here = states == k
        p = np.exp(table[k])
        drawn[here] = rng.multinomial(trials, p / p.sum(), size=int(here.sum()))
    return drawn
