"""Clusters of rows of numbers, of which some may be missing."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from sklearn_struct.containers.row_pieces import first_row
from sklearn_struct.hidden_markov.gaussian_moments import fit_gaussians

__all__ = ["clusters"]


def clusters(
    numbers: np.ndarray, weight: np.ndarray, n: int, rng: np.random.RandomState
) -> np.ndarray:
    """The cluster of each row by k-means, one of `n` at most; -1 for a row without numbers."""
    from sklearn.cluster import KMeans  # slow to import, and seldom needed

    is_complete = first_row(numbers, np.isnan) is None
    empty = None
    if not is_complete:
        missing = np.isnan(numbers)
        empty = missing.all(axis=1)
        means = fit_gaussians(numbers, weight[:, None], np.zeros(numbers.shape[1])).mean
        numbers = np.where(missing, means, numbers)
        weight = np.where(empty, 0.0, weight)
    n_rows = np.count_nonzero(weight)
    if n_rows == 0:
        return np.full(len(numbers), -1)
    with threadpool_limits(1):  # sums of several threads have no fixed order
        # it writes to its rows, for which a copy is needed unless nobody else has these
        k_means = KMeans(min(n, n_rows), n_init=3, random_state=rng, copy_x=is_complete)
        k_means.fit(numbers, sample_weight=weight)
    labels: np.ndarray = k_means.labels_
    return labels if empty is None else np.where(empty, -1, labels)
