"""Expected counts -> log-parameters of generative models, and log-densities of numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = [
    "Gaussians",
    "fit_gaussians",
    "least_variances",
    "log_densities",
    "log_prior",
    "log_ratios",
    "value_counts",
]


def log_ratios(counts: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """Logarithms of the rows of ``counts + smoothing``, each divided by its sum.

    A row of zeros becomes uniform.
    """
    # as many imagined observations of each outcome, which is what a Dirichlet prior amounts to
    raised = counts + smoothing
    total = raised.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        # a state that was never seen is as ignorant as possible
        logs: np.ndarray = np.where(total > 0, np.log(raised / total), -np.log(counts.shape[-1]))
    return logs


def log_prior(log_p: np.ndarray, smoothing: float) -> float:
    """Log-density, up to a constant, of the Dirichlet prior under which `log_ratios` is the most
    probable.
    """
    return smoothing * float(np.sum(log_p)) if smoothing > 0 else 0.0


def value_counts(codes: np.ndarray, posterior: np.ndarray, n_values: int) -> np.ndarray:
    """How often each state is expected to emit each value: (K, n_values) of posteriors (n, K)."""
    return np.stack(
        [np.bincount(codes, weights=weight, minlength=n_values) for weight in posterior.T]
    )


class Gaussians(NamedTuple):
    """Of each state a normal distribution of independent columns: both (K, n_columns)."""

    mean: np.ndarray
    variance: np.ndarray


def fit_gaussians(x: np.ndarray, posterior: np.ndarray, floor: np.ndarray) -> Gaussians:
    """Weighted means and variances, the latter not below `floor` (a value a column).

    Given the mean, the likelihood rises with a variance up to its estimate and falls beyond, so
    that the floor is the best that it allows. A state without mass gets the moments of all.
    """
    everything = posterior.sum(axis=1, keepdims=True)
    K = posterior.shape[1]
    mean, variance = np.empty((2, K, x.shape[1]))
    for k in range(K if x.shape[1] else 0):
        # a label without tokens gets the moments of all
        weight = posterior[:, [k]] if np.any(posterior[:, k] > 0) else everything
        # all weights may be 0, which must not be 0 / 0
        share = weight / max(float(weight.sum()), np.finfo(float).tiny)
        mean[k] = np.sum(share * x, axis=0)
        # two passes: the mean of squares less the square of the mean would cancel
        variance[k] = np.sum(share * (x - mean[k]) ** 2, axis=0)
    return Gaussians(mean, np.maximum(variance, floor))


def least_variances(x: np.ndarray, weight: np.ndarray, share: float) -> np.ndarray:
    """A share of the weighted variance of each column; `share` itself for one that has none."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = fit_gaussians(x, weight[:, None], np.zeros(x.shape[1])).variance[0]
    # a constant column has no scale of its own
    return share * np.where(variance == 0, 1.0, variance)


def log_densities(x: np.ndarray, gaussians: Gaussians) -> np.ndarray:
    """Log-density of each row of x in each state: (n, K). None is -inf: however far away, nothing
    is impossible.
    """
    # without numeric columns nothing is said about any state, which is the logarithm of 1
    log_p = np.zeros((len(x), len(gaussians.mean)))
    if x.shape[1] == 0:
        return log_p
    with np.errstate(over="ignore"):
        for k, (mean, variance) in enumerate(zip(*gaussians, strict=True)):
            log_p[:, k] = -0.5 * np.sum(
                (x - mean) ** 2 / variance + np.log(2 * np.pi * variance), axis=1
            )
    # finite, as only what the model rules out may be -inf
    return np.maximum(log_p, -1e300)
