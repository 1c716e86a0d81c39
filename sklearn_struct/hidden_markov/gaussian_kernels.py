"""Loops over rows of numbers whose columns are independent: densities, sums and squares.

The last axis of each table is that of the states, which are done side by side, so that the
innermost loops run over memory that is contiguous. NaN is a number that is missing: it adds
nothing.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = [
    "add_masses",
    "add_squares",
    "add_sums",
    "diagonal_densities",
    "merge_moments",
]

# finite, as only what the model rules out may be -inf
LEAST = -1e300
TINY = float(np.finfo(np.float64).tiny)


@kernel
def diagonal_densities(
    x: np.ndarray, mean: np.ndarray, scale: np.ndarray, constant: np.ndarray, out: np.ndarray
) -> None:
    """Add to `out` (n, K) the log-densities of independent columns; tables are (d, K).

    ``scale`` are reciprocal standard deviations, ``constant`` the logarithms of the densities at
    the means.
    """
    K = out.shape[1]
    for i in range(len(x)):
        for c in range(x.shape[1]):
            value = x[i, c]
            if value != value:
                continue
            for k in range(K):
                distance = (value - mean[c, k]) * scale[c, k]
                out[i, k] += constant[c, k] - 0.5 * (distance * distance)
        for k in range(K):
            out[i, k] = max(out[i, k], LEAST)


@kernel
def add_masses(x: np.ndarray, weight: np.ndarray, mass: np.ndarray) -> None:
    """Add to `mass` (d, K) the weights (n, K) of the numbers that are there."""
    K = weight.shape[1]
    for i in range(len(x)):
        for c in range(x.shape[1]):
            if x[i, c] != x[i, c]:
                continue
            for k in range(K):
                mass[c, k] += weight[i, k]


@kernel
def add_sums(x: np.ndarray, weight: np.ndarray, sums: np.ndarray) -> None:
    """Add to `sums` (d, K) numbers times weights (n, K)."""
    K = weight.shape[1]
    for i in range(len(x)):
        for c in range(x.shape[1]):
            value = x[i, c]
            if value != value:
                continue
            for k in range(K):
                sums[c, k] += weight[i, k] * value


@kernel
def add_squares(
    x: np.ndarray, weight: np.ndarray, mean: np.ndarray, rest: np.ndarray, squares: np.ndarray
) -> None:
    """Add weights times distances from the means (d, K) to `rest`, and times their squares to
    `squares`.
    """
    K = weight.shape[1]
    for i in range(len(x)):
        for c in range(x.shape[1]):
            value = x[i, c]
            if value != value:
                continue
            for k in range(K):
                away = value - mean[c, k]
                rest[c, k] += weight[i, k] * away
                squares[c, k] += weight[i, k] * (away * away)


@kernel
def merge_moments(
    mass: np.ndarray,
    mean: np.ndarray,
    scatter: np.ndarray,
    other_mass: np.ndarray,
    other_mean: np.ndarray,
    other_scatter: np.ndarray,
) -> None:
    """Add to moments of rows of K states those of other rows (Chan, Golub & LeVeque, "Algorithms
    for computing the sample variance", 1983, eq. 2.1).

    ``mean`` is (K, d), ``mass`` (K, d) or (K, 1), and ``scatter`` (K, d), or products of columns
    (K, d * d). All terms are squares, so that nothing cancels.
    """
    K, d = mean.shape
    away = np.empty(d)
    between = np.empty(d)
    for k in range(K):
        for c in range(d):
            m = c if mass.shape[1] > 1 else 0
            here = mass[k, m]
            there = other_mass[k, m]
            total = max(here + there, TINY)
            away[c] = other_mean[k, c] - mean[k, c]
            between[c] = here * (there / total) * away[c]
            # from the heavier mean on: a far one without mass has lost the digits of the other
            if there > here:
                mean[k, c] = other_mean[k, c] - here / total * away[c]
            else:
                mean[k, c] += there / total * away[c]
        for m in range(mass.shape[1]):
            mass[k, m] += other_mass[k, m]
        if scatter.shape[1] == d:
            for c in range(d):
                scatter[k, c] += between[c] * away[c] + other_scatter[k, c]
        else:
            for c in range(d):
                for e in range(d):
                    pair = c * d + e
                    scatter[k, pair] += between[c] * away[e] + other_scatter[k, pair]
