"""Expected counts -> log-parameters of generative models."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov.value_kernels import add_scores_of_values, add_weights_of_values

__all__ = [
    "add_values",
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


def add_values(codes: np.ndarray, table: np.ndarray, log_p: np.ndarray) -> None:
    """Add to `log_p` (n, K) the log-probabilities of values (n,), of a table (K, n_values)."""
    add_scores_of_values(_for_kernels(codes), np.ascontiguousarray(table, np.float64), log_p)


def value_counts(codes: np.ndarray, posterior: np.ndarray, n_values: int) -> np.ndarray:
    """How often each state is expected to emit each value: (K, n_values) of posteriors (n, K)."""
    # values first, so that the weights of a token are added side by side
    counts = np.zeros((n_values, posterior.shape[1]))
    add_weights_of_values(_for_kernels(codes), np.ascontiguousarray(posterior, np.float64), counts)
    return np.ascontiguousarray(counts.T)


def _for_kernels(codes: np.ndarray) -> np.ndarray:
    """Codes in the one type for which kernels are compiled."""
    return np.ascontiguousarray(codes, np.int32)


def n_parameters(table: np.ndarray) -> int:
    """How many numbers of a table are free: probabilities of a row sum to 1."""
    free: int = len(table) * max(table.shape[1] - 1, 0)
    return free
