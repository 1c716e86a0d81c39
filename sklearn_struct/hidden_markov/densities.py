"""Expected counts -> log-parameters of generative models."""

from __future__ import annotations

import numpy as np

__all__ = [
    "log_prior",
    "log_ratios",
    "n_parameters",
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


def n_parameters(table: np.ndarray) -> int:
    """How many numbers of a table are free: probabilities of a row sum to 1."""
    free: int = len(table) * max(table.shape[1] - 1, 0)
    return free
