"""Poisson distributions of counts, one of each label and stream: their rates (K, c)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_struct.hidden_markov.counts import Counts
from sklearn_struct.hidden_markov.moments import Sums, sums_of_all

__all__ = [
    "add_log_probabilities",
    "draw_counts",
    "fit_rates",
    "least_rates",
    "n_parameters",
    "of_mean",
    "random_rates",
    "rates_near",
]

TINY = np.finfo(float).tiny


def add_log_probabilities(counts: Counts, rates: np.ndarray, log_p: np.ndarray) -> None:
    """Add to `log_p` (n, K) the log-probabilities of counts; one that is missing (NaN) adds 0."""
    if counts.numbers.shape[1] == 0:
        return
    log_rates = np.log(rates).T
    of_all = rates.sum(axis=1)
    for rows, x in counts.pieces:
        missing = np.isnan(x)
        if np.any(missing):
            log_p[rows] += np.where(missing, 0.0, x) @ log_rates
            log_p[rows] -= (~missing).astype(np.float64) @ rates.T
        else:
            log_p[rows] += x @ log_rates
            log_p[rows] -= of_all
        if counts.constant is not None:
            log_p[rows] += counts.constant(x)[:, None]


def fit_rates(
    sums: Sums, floor: np.ndarray, spare: Callable[[], Sums], imagined: float = 0.0
) -> np.ndarray:
    """The most probable rates that are nowhere below `floor` (c,): weighted means of counts.

    `imagined` tokens of each label have the mean count of all. A label without mass has this mean
    alone. In a column of which no label has any mass, it is that of `spare` sums.
    """
    of_all = Sums(*(table.sum(axis=1, keepdims=True) for table in sums))
    if np.any(of_all.mass < TINY):
        of_all = of_all.with_columns_of(spare())
    mean = _mean(of_all)
    mass = sums.mass + imagined
    rates = np.where(mass < TINY, mean, (sums.total + imagined * mean) / np.maximum(mass, TINY))
    raised: np.ndarray = np.maximum(rates.T, floor)
    return raised


def _mean(sums: Sums) -> np.ndarray:
    mean: np.ndarray = sums.total / np.maximum(sums.mass, TINY)
    return mean


def least_rates(counts: Counts, weight: np.ndarray, share: float) -> np.ndarray:
    """A share of the mean of each stream; `share` itself for one that is 0 throughout."""
    return of_mean(sums_of_all(counts.numbers, weight), share)


def of_mean(of_all: Sums, share: float) -> np.ndarray:
    """A share of the mean of all; `share` itself where it is 0."""
    mean = _mean(of_all)[:, 0]
    floor: np.ndarray = share * np.where(mean == 0, 1.0, mean)
    return floor


def random_rates(
    counts: Counts, share: np.ndarray, K: int, floor: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Rates in the middle between the mean and the counts of random tokens, which are drawn in
    proportion to `share`.
    """
    if counts.numbers.shape[1] == 0:
        return np.empty((K, 0))
    of_all = sums_of_all(counts.numbers, share)
    return rates_near(of_all, counts.numbers[rng.choice(len(share), size=K, p=share)], floor)


def rates_near(of_all: Sums, at: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Rates in the middle between the mean of all and some counts (K, c)."""
    mean = _mean(of_all)[:, 0]
    rates: np.ndarray = np.maximum((mean + np.where(np.isnan(at), mean, at)) / 2, floor)
    return rates


def draw_counts(rates: np.ndarray, states: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Counts (n, c) of states (n,)."""
    drawn: np.ndarray = rng.poisson(rates[states]).astype(np.float64)
    return drawn


def n_parameters(rates: np.ndarray) -> int:
    """How many numbers are free: all of them."""
    return rates.size
