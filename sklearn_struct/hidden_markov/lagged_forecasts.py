"""Means and variances of numbers to come that depend on the tokens before them.

A label at a step ahead is reached by many paths of labels, and each path has a normal distribution
of its own. Their moments need no sum over paths: for each context, the mean and the covariance of
the last numbers, given that context, follow from those one step before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_struct.hidden_markov.autoregression import Autoregressive
from sklearn_struct.hidden_markov.gaussians import of_kind
from sklearn_struct.hidden_markov.markov_chain import Steps, steps
from sklearn_struct.hidden_markov.online import Progressed

__all__ = ["lagged_moments"]


class Moments(NamedTuple):
    """Of a sequence in each context: its probability (C,), and the means (C, q) and covariances
    (C, q, q) of the last numbers, the nearest token first.
    """

    share: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray


def lagged_moments(
    model: Any, at: Progressed, last: list[np.ndarray], n_steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (n_sequences, n_steps, d) of the numbers to come after the rows `last`.

    NaN for sequences with fewer rows than there are lags: of their next tokens, the model says
    nothing.
    """
    gaussians: Autoregressive = model.gaussians
    p, d = gaussians.coefficient.shape[1:3]
    mean = np.full((len(last), n_steps, d), np.nan)
    variance = np.full((len(last), n_steps, d), np.nan)
    chain = steps(model.markov)
    weights = _steps(chain, chain.weight)
    anywhere = _steps(chain, np.ones_like(chain.weight))
    matrix, constant, noise = _of_labels(gaussians)
    C = at.alpha.shape[1]
    label = np.arange(C) % len(matrix)
    for i, rows in enumerate(last):
        if len(rows) < p:
            continue
        z = np.tile(rows[::-1].ravel(), (C, 1))
        now = Moments(np.exp(at.alpha[i]), z, np.zeros((C, z.shape[1], z.shape[1])))
        for h in range(n_steps):
            before = _merged(now, weights, anywhere)
            A = matrix[label]
            z = (A @ before.mean[:, :, None])[:, :, 0] + constant[label]
            spread = A @ before.covariance @ np.swapaxes(A, 1, 2) + noise[label]
            now = Moments(before.share, z, spread)
            mean[i, h] = now.share @ z[:, :d]
            away = z[:, :d] - mean[i, h]
            within = np.diagonal(spread, axis1=1, axis2=2)[:, :d]
            variance[i, h] = now.share @ (within + away**2)
    return mean, variance


def _of_labels(gaussians: Autoregressive) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What each label does to the last numbers: matrices (K, q, q), what is added (K, q), and the
    covariances of the noise (K, q, q).
    """
    K, p, d, _ = gaussians.coefficient.shape
    matrix = np.zeros((K, p * d, p * d))
    matrix[:, :d] = gaussians.slope.transpose(0, 2, 1)
    # the other rows move on by one token
    matrix[:, d:] = np.eye(p * d)[: (p - 1) * d]
    constant = np.zeros((K, p * d))
    constant[:, :d] = gaussians.rest.mean
    noise = np.zeros((K, p * d, p * d))
    noise[:, :d, :d] = of_kind(gaussians.rest, "full").covariance
    return matrix, constant, noise


def _merged(now: Moments, weights: csr_array, anywhere: csr_array) -> Moments:
    """The moments of the same numbers, given the contexts one token later."""
    share = weights @ now.share
    if share.sum() == 0:
        # no step is possible: filtering then takes all steps as equally improbable
        weights = anywhere
        share = weights @ now.share
    # differences from a common mean, as squares of large numbers would cancel
    middle = now.share @ now.mean
    away = now.mean - middle
    second = now.covariance + away[:, :, None] * away[:, None, :]
    there = np.where(share > 0, share, 1.0)[:, None]
    first = weights @ (now.share[:, None] * away) / there
    square = weights @ (now.share[:, None] * second.reshape(len(share), -1)) / there
    spread = square.reshape(second.shape) - first[:, :, None] * first[:, None, :]
    return Moments(share / share.sum(), middle + first, spread)


def _steps(chain: Steps, weight: np.ndarray) -> csr_array:
    """Weights (C, K) of the steps from each context, as a matrix that leads to contexts."""
    C, K = weight.shape
    target = chain.first[:, None] + np.arange(K)
    source = np.repeat(np.arange(C), K)
    return csr_array((weight.ravel(), (target.ravel(), source)), shape=(C, C))
