"""Whole numbers that tokens emit: what their log-probabilities need and no label changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

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
        return cls(numbers, -np.nansum(gammaln(numbers + 1), axis=1))

    @classmethod
    def of_trials(cls, numbers: np.ndarray) -> Counts:
        """Outcomes of trials: the number of orders in which a token's trials can have them."""
        if not numbers.shape[1]:
            return cls.none(len(numbers))
        trials = gammaln(numbers.sum(axis=1) + 1)
        return cls(numbers, trials - gammaln(numbers + 1).sum(axis=1))

    @classmethod
    def none(cls, n: int = 0) -> Counts:
        """No counts of n tokens."""
        return cls(np.empty((n, 0)), np.broadcast_to(0.0, (n,)))

    def of_rows(self, rows: slice) -> Counts:
        """Those of some tokens."""
        return Counts(self.numbers[rows], self.constant[rows])
