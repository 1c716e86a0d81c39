"""Loops over components of mixtures: sums of their densities, and their shares of them.

``log_p`` is (n, K * M): the logarithms of what M components of each of K states say of n rows,
times their weights.
"""

from __future__ import annotations

import math

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["components_shares", "components_sums"]


@kernel
def components_sums(log_p: np.ndarray, out: np.ndarray) -> None:
    """The log-density (n, K) of each state: the logarithm of the sum of its components."""
    M = log_p.shape[1] // out.shape[1]
    for i in range(len(out)):
        for k in range(out.shape[1]):
            most = -math.inf
            for m in range(k * M, (k + 1) * M):
                most = max(most, log_p[i, m])
            total = 0.0
            for m in range(k * M, (k + 1) * M):
                total += math.exp(log_p[i, m] - most)
            out[i, k] = most + math.log(total)


@kernel
def components_shares(log_p: np.ndarray, posterior: np.ndarray) -> None:
    """Write into `log_p` the posterior of each component, which share those (n, K) of states."""
    M = log_p.shape[1] // posterior.shape[1]
    for i in range(len(posterior)):
        for k in range(posterior.shape[1]):
            most = -math.inf
            for m in range(k * M, (k + 1) * M):
                most = max(most, log_p[i, m])
            total = 0.0
            for m in range(k * M, (k + 1) * M):
                log_p[i, m] = math.exp(log_p[i, m] - most)
                total += log_p[i, m]
            for m in range(k * M, (k + 1) * M):
                log_p[i, m] *= posterior[i, k] / total
