"""How long states last: distributions of durations from 1 to the longest one, and the most probable
ones given counts.

A duration is *ended* if its end was seen, and *cut* if its sequence ended before: of such a one a
lower bound is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, logsumexp

__all__ = ["KINDS", "DurationCounts", "Durations", "duration_prior", "fit_durations", "survivors"]

KINDS = ("categorical", "poisson", "negative-binomial")

# log-weights of 0, 1, ... of some parameters, and their slopes in these
Family = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Durations(NamedTuple):
    """``log_p`` (K, L) of lasting 1, ..., L tokens, and the parameters (K, n) of that."""

    log_p: np.ndarray
    parameters: np.ndarray


class DurationCounts(NamedTuple):
    """How often states (K, L) lasted 1, ..., L tokens, and how often at least so long."""

    ended: np.ndarray
    cut: np.ndarray


def survivors(log_p: np.ndarray) -> np.ndarray:
    """Log-probabilities (K, L) of lasting at least 1, ..., L tokens."""
    sums: np.ndarray = np.logaddexp.accumulate(log_p[:, ::-1], axis=1)[:, ::-1]
    return sums


def fit_durations(
    kind: str, counts: DurationCounts, smoothing: float, before: Durations | None = None
) -> Durations:
    """The most probable distributions given counts; never worse than those `before`.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    counts : DurationCounts
    smoothing : float
        Added to what has ended, for "categorical" alone.
    before : Durations, default=None
        Distributions of the same kind, where the search begins.
    """
    K, L = counts.ended.shape
    if kind == "categorical":
        raised = DurationCounts(counts.ended + smoothing, counts.cut)
        return Durations(_free(raised), np.empty((K, 0)))
    family, bounds = _FAMILIES[kind]
    x = np.arange(L, dtype=np.float64)
    log_p = np.empty((K, L))
    parameters = np.empty((K, len(bounds)))
    limits = np.array([(low, high * L) for low, high in bounds])
    for k in range(K):
        ended = counts.ended[k]
        cut = counts.cut[k]
        start = _guess(ended + cut, len(bounds)) if before is None else before.parameters[k]
        parameters[k] = _most_probable(family, limits, x, ended, cut, np.clip(start, *limits.T))
        weights, _ = family(np.log(parameters[k]), x)
        log_p[k] = weights - logsumexp(weights)
    return Durations(log_p, parameters)


def duration_prior(kind: str, log_p: np.ndarray, smoothing: float) -> float:
    """Log-density of the prior that smoothing stands for, up to a constant."""
    counts = kind == "categorical" and smoothing > 0
    return smoothing * float(np.sum(log_p)) if counts else 0.0


def _free(counts: DurationCounts) -> np.ndarray:
    """Any distribution: the product-limit estimate of Kaplan and Meier (1958).

    Its factors are the shares of those that last longer. Without cut durations these are ratios of
    counts.
    """
    ended, cut = counts
    L = ended.shape[1]
    longer = np.cumsum(ended[:, ::-1], axis=1)[:, ::-1]
    cut_later = np.zeros_like(cut)
    cut_later[:, :-1] = np.cumsum(cut[:, :0:-1], axis=1)[:, ::-1]
    at_risk = longer + cut_later
    goes_on = cut_later.copy()
    goes_on[:, :-1] += longer[:, 1:]
    # where nothing was seen, all that is left is alike
    unseen = at_risk <= 0
    ends = np.where(unseen, 1.0 / np.arange(L, 0, -1), ended / np.where(unseen, 1.0, at_risk))
    stays = np.where(unseen, 1.0 - ends, goes_on / np.where(unseen, 1.0, at_risk))
    # the longest duration cannot be passed
    ends[:, -1] = 1.0
    with np.errstate(divide="ignore"):
        until = np.cumsum(np.log(stays[:, :-1]), axis=1)
        log_p = np.log(ends)
    log_p[:, 1:] += until
    return log_p


def _guess(counts: np.ndarray, n: int) -> np.ndarray:
    """Parameters by moments: a mean and, if there are two, a size that says little."""
    x = np.arange(len(counts))
    mean = (counts @ x + 0.5) / (counts.sum() + 1.0)
    return np.array([mean, 1.0])[:n]


def _most_probable(
    family: Family,
    limits: np.ndarray,
    x: np.ndarray,
    ended: np.ndarray,
    cut: np.ndarray,
    start: np.ndarray,
) -> np.ndarray:
    """The parameters of highest likelihood within limits, `start` if the search finds none."""
    total = ended.sum() + cut.sum()
    if total <= 0:
        return start
    with np.errstate(divide="ignore"):
        log_cut = np.log(cut)

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        weights, slopes = family(logs, x)
        log_p = weights - logsumexp(weights)
        at_least = survivors(log_p[None])[0]
        # what cut durations are expected to be: each share of them that is at least as long
        whole = ended + np.exp(log_p + np.logaddexp.accumulate(log_cut - at_least))
        value = ended @ log_p + cut @ at_least
        slope = slopes @ (whole - total * np.exp(log_p))
        return -value / total, -slope / total

    first = np.log(start)
    tight = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 200}
    end = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=np.log(limits), options=tight)
    return np.exp(end.x) if end.fun < loss(first)[0] else start


def _poisson(logs: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a rate."""
    return x * logs[0] - gammaln(x + 1), x[None]


def _negative_binomial(logs: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a mean and a size; the variance is mean + mean**2 / size."""
    mean, size = np.exp(logs)
    log_p = logs[0] - np.log(mean + size)
    weights = gammaln(x + size) - gammaln(size) - gammaln(x + 1) + x * log_p
    by_mean = x * size / (mean + size)
    by_size = size * (digamma(x + size) - digamma(size)) - by_mean
    return weights, np.stack([by_mean, by_size])


# limits of parameters; the upper ones are multiplied by the longest duration
_FAMILIES: dict[str, tuple[Family, list[tuple[float, float]]]] = {
    "poisson": (_poisson, [(1e-4, 10.0)]),
    "negative-binomial": (_negative_binomial, [(1e-4, 10.0), (1e-2, 1e3)]),
}
