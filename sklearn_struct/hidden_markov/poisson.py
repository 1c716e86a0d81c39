"""Poisson distributions of counts, one of each label and stream: their rates (K, c)."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov.counts import Counts
from sklearn_struct.hidden_markov.gaussian_moments import weighted_sums

__all__ = [
    "add_log_probabilities",
    "draw_counts",
    "fit_rates",
    "least_rates",
    "n_parameters",
    "random_rates",
]

TINY = np.finfo(float).tiny


def add_log_probabilities(counts: Counts, rates: np.ndarray, log_p: np.ndarray) -> None:
    """Add to `log_p` (n, K) the log-probabilities of counts; one that is missing (NaN) adds 0."""
    if counts.numbers.shape[1] == 0:
        return
    x = counts.numbers
    missing = np.isnan(x)
    if np.any(missing):
        log_p += np.where(missing, 0.0, x) @ np.log(rates).T
        log_p -= (~missing).astype(np.float64) @ rates.T
    else:
        log_p += x @ np.log(rates).T
        log_p -= rates.sum(axis=1)
    log_p += counts.constant[:, None]


def fit_rates(
    counts: Counts,
    posterior: np.ndarray,
    floor: np.ndarray,
    spare: np.ndarray,
    imagined: float = 0.0,
) -> np.ndarray:
    """The most probable rates that are nowhere below `floor` (c,): weighted means of counts.

    `imagined` tokens of each label have the mean count of all. A label without mass has this mean
    alone; if no label has any, the weights of tokens are `spare`.
    """
    x = counts.numbers
    if x.shape[1] == 0:
        return np.empty((posterior.shape[1], 0))
    mass, sums = weighted_sums(x, posterior)
    mean = _mean(x, posterior.sum(axis=1), spare)[:, None]
    mass = mass + imagined
    rates = np.where(mass < TINY, mean, (sums + imagined * mean) / np.maximum(mass, TINY))
    raised: np.ndarray = np.maximum(rates.T, floor)
    return raised


def _mean(x: np.ndarray, weight: np.ndarray, spare: np.ndarray) -> np.ndarray:
    mass, sums = weighted_sums(x, weight[:, None])
    if np.any(mass < TINY):
        mass, sums = weighted_sums(x, spare[:, None])
    mean: np.ndarray = (sums / np.maximum(mass, TINY))[:, 0]
    return mean


def least_rates(counts: Counts, weight: np.ndarray, share: float) -> np.ndarray:
    """A share of the mean of each stream; `share` itself for one that is 0 throughout."""
    if counts.numbers.shape[1] == 0:
        return np.empty(0)
    # weights that are all the same may come without memory of their own, which kernels want
    weight = np.ascontiguousarray(weight)
    mean = _mean(counts.numbers, weight, weight)
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
    mean = _mean(counts.numbers, share, share)
    at = counts.numbers[rng.choice(len(share), size=K, p=share)]
    rates: np.ndarray = np.maximum((mean + np.where(np.isnan(at), mean, at)) / 2, floor)
    return rates


def draw_counts(rates: np.ndarray, states: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Counts (n, c) of states (n,)."""
    drawn: np.ndarray = rng.poisson(rates[states]).astype(np.float64)
    return drawn


def n_parameters(rates: np.ndarray) -> int:
    """How many numbers are free: all of them."""
    return rates.size
