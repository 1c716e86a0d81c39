"""Whole numbers that tokens emit: what their log-probabilities need and no label changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sklearn_struct.containers.row_pieces import row_pieces

__all__ = ["Counts"]


class Counts(NamedTuple):
    """Counts of tokens (n, c), NaN where one is missing, and the part (n,) of the log-probability
    of each token that is the same for all labels.
    """

    numbers: np.ndarray
    constant: np.ndarray

    @classmethod
    def of_events(cls, numbers: np.ndarray) -> Counts:
        """Counts that do not depend on each other: 1 over the product of their factorials."""
        if not numbers.shape[1]:
            return cls.none(len(numbers))
        return cls(numbers, _of_rows(numbers, _event_constant))

    @classmethod
    def of_trials(cls, numbers: np.ndarray) -> Counts:
        """Outcomes of trials: the number of orders in which a token's trials can have them."""
        if not numbers.shape[1]:
            return cls.none(len(numbers))
        return cls(numbers, _of_rows(numbers, _trial_constant))

    @classmethod
    def none(cls, n: int = 0) -> Counts:
        """No counts of n tokens."""
        return cls(np.empty((n, 0)), np.broadcast_to(0.0, (n,)))

    def of_rows(self, rows: slice) -> Counts:
        """Those of some tokens."""
        return Counts(self.numbers[rows], self.constant[rows])


def _of_rows(numbers: np.ndarray, constant: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """What is computed of each row, of some rows at a time: logarithms of all factorials would be
    as large as the numbers.
    """
    of_tokens = np.empty(len(numbers))
    for rows in row_pieces(numbers):
        of_tokens[rows] = constant(numbers[rows])
    return of_tokens


def _event_constant(numbers: np.ndarray) -> np.ndarray:
    constant: np.ndarray = -np.nansum(gammaln(numbers + 1), axis=1)
    return constant


def _trial_constant(numbers: np.ndarray) -> np.ndarray:
    constant: np.ndarray = gammaln(numbers.sum(axis=1) + 1) - gammaln(numbers + 1).sum(axis=1)
    return constant
