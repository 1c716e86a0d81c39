"""What weighted least squares need of rows, of a few or of all: those of parts are merged."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

__all__ = ["Regressors", "regressors_of"]

TINY = np.finfo(float).tiny
ROUNDING = 1e-13  # singular values of a root, as a share of the largest


class Regressors(NamedTuple):
    """Of each state the weight of its rows of q numbers, their means, and a root of the sums of
    products of distances from these: ``root[k].T @ root[k]``.

    Roots keep the digits that products lose where numbers nearly depend on each other.
    """

    mass: np.ndarray
    mean: np.ndarray
    root: np.ndarray

    @property
    def of_all(self) -> Regressors:
        """Those of all states together, as of one."""
        parts = (Regressors(*(table[k : k + 1] for table in self)) for k in range(len(self.mass)))
        return reduce(Regressors.merged, parts)

    def with_states_of(self, one: Regressors, states: np.ndarray) -> Regressors:
        """One state in the place of some."""
        return Regressors(
            np.where(states, one.mass, self.mass),
            np.where(states[:, None], one.mean, self.mean),
            np.where(states[:, None, None], one.root, self.root),
        )

    def merged(self, other: Regressors) -> Regressors:
        """Those of the rows of both: one more row is what their means are apart (Chan, Golub &
        LeVeque, "Algorithms for computing the sample variance", 1983, eq. 2.1).
        """
        masses = self.mass[:, None], other.mass[:, None]
        total, mean = _merged_means(masses[0], self.mean, masses[1], other.mean)
        mass = total[:, 0]
        away = other.mean - self.mean
        between = np.sqrt(self.mass * (other.mass / np.maximum(mass, TINY)))[:, None] * away
        rows = np.concatenate([self.root, other.root, between[:, None]], axis=1)
        root = np.asarray(np.linalg.qr(rows, mode="r"))
        return Regressors(mass, mean, root)

    def regressions(self, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slopes (K, q - d, d) and constants (K, d) of the regressions of the last d numbers on the
        others, and the covariances (K, d, d) of what is left.

        If the others do not tell the slopes, they are the smallest ones.
        """
        K, q = self.mean.shape
        slope = np.empty((K, q - d, d))
        left = np.empty((K, q, d))
        for k, root in enumerate(self.root):
            given = root[:, : q - d]
            slope[k] = np.linalg.lstsq(given, root[:, q - d :], rcond=ROUNDING)[0]
            left[k] = root[:, q - d :] - given @ slope[k]
        middle = self.mean[:, : q - d]
        constant = self.mean[:, q - d :] - (middle[:, None] @ slope)[:, 0]
        mass = np.maximum(self.mass, TINY)[:, None, None]
        return slope, constant, np.swapaxes(left, 1, 2) @ left / mass


def _merged_means(
    mass: np.ndarray, mean: np.ndarray, other_mass: np.ndarray, other_mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The masses of both, and their means: from the heavier one on, as the difference from a far
    one without mass has lost the digits of the other.
    """
    total = mass + other_mass
    is_heavier = other_mass > mass
    share = np.where(is_heavier, mass, other_mass) / np.maximum(total, TINY)
    away = other_mean - mean
    return total, np.where(is_heavier, other_mean - share * away, mean + share * away)


def regressors_of(rows: np.ndarray, weight: np.ndarray) -> Regressors:
    """Those of rows (n, q), where `weight` is (n, K)."""
    K = weight.shape[1]
    q = rows.shape[1]
    mean = np.zeros((K, q))
    root = np.zeros((K, q, q))
    for k in range(K):
        used = np.flatnonzero(weight[:, k] > 0)
        if not len(used):
            continue
        of_rows = weight[used, k]
        mean[k] = np.average(rows[used], axis=0, weights=of_rows)
        away = np.sqrt(of_rows)[:, None] * (rows[used] - mean[k])
        triangle = np.asarray(np.linalg.qr(away, mode="r"))
        root[k, : len(triangle)] = triangle
    return Regressors(weight.sum(axis=0), mean, root)
