"""Numbers that are missing (NaN) among others that are there: what is expected of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.row_pieces import row_pieces
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.row_densities import is_complete, patterns

__all__ = ["Incomplete", "is_incomplete"]

NUMBERS = 1 << 20  # that are expected at a time, in all states together


def is_incomplete(x: np.ndarray) -> bool:
    """Whether there is a row of which some numbers are missing and others are not."""
    missing = (np.isnan(x[rows]) for rows in row_pieces(x))
    return any(np.any(some.any(axis=1) & ~some.all(axis=1)) for some in missing)


class Incomplete(NamedTuple):
    """Which rows have all numbers, and for each set of missing columns which rows miss these.

    ``parts`` are pairs of the rows and of a mask of the columns that are there. Rows without any
    number are in none of them, since they say nothing.
    """

    complete: np.ndarray
    parts: list[tuple[np.ndarray, np.ndarray]]

    @classmethod
    def of(cls, x: np.ndarray) -> Incomplete | None:
        """None where no number is missing."""
        if is_complete(x):
            return None
        missing = np.isnan(x).any(axis=1)
        return cls(np.flatnonzero(~missing), patterns(x))

    def expected(
        self, x: np.ndarray, gaussians: Gaussians
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Some rows at a time; their numbers in each state (K, n, d): those that are there, and the
        means of the others given these; the covariances (K, d, d) of the others.
        """
        K, d = gaussians.mean.shape
        step = max(NUMBERS // (K * d), 1)
        for every, there in self.parts:
            slope = _slopes(gaussians, there)
            across = gaussians.covariance[:, ~there][:, :, there]
            rest = np.zeros((K, d, d))
            rest[np.ix_(np.ones(K, dtype=bool), ~there, ~there)] = (
                gaussians.covariance[:, ~there][:, :, ~there] - across @ slope
            )
            for first in range(0, len(every), step):
                rows = every[first : first + step]
                numbers = np.empty((K, len(rows), d))
                numbers[:, :, there] = x[rows][:, there]
                away = numbers[:, :, there] - gaussians.mean[:, None, there]
                numbers[:, :, ~there] = gaussians.mean[:, None, ~there] + away @ slope
                yield rows, numbers, rest


def _slopes(gaussians: Gaussians, there: np.ndarray) -> np.ndarray:
    """By how much missing numbers are expected to grow with those that are there: (K, n_there,
    n_missing), of covariances (K, d, d).
    """
    rows = gaussians.covariance[:, there]
    slope: np.ndarray = np.linalg.solve(rows[:, :, there], rows[:, :, ~there])
    return slope
