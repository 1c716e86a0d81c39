"""Whole numbers that tokens emit: what their log-probabilities need and no label changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sklearn_struct.containers.row_pieces import row_pieces

__all__ = ["Counts"]


class Counts(NamedTuple):
    """Counts of tokens (n, c) of any type, NaN where one is missing.

    ``constant`` says of rows of floats (n, c) which part (n,) of their log-probabilities is the
    same for all labels; None where that is left out.
    """

    numbers: np.ndarray
    constant: Callable[[np.ndarray], np.ndarray] | None = None

    @classmethod
    def of_events(cls, numbers: np.ndarray) -> Counts:
        """Counts that do not depend on each other: 1 over the product of their factorials."""
        return cls(numbers, _event_constant)

    @classmethod
    def of_trials(cls, numbers: np.ndarray) -> Counts:
        """Outcomes of trials: the number of orders in which a token's trials can have them."""
        return cls(numbers, _trial_constant)

    @classmethod
    def none(cls, n: int = 0) -> Counts:
        """No counts of n tokens."""
        return cls(np.empty((n, 0)))

    @property
    def without_constant(self) -> Counts:
        """These, where only differences between labels matter."""
        return Counts(self.numbers)

    def of_rows(self, rows: slice) -> Counts:
        """Those of some tokens."""
        return Counts(self.numbers[rows], self.constant)

    @property
    def pieces(self) -> Iterator[tuple[slice, np.ndarray]]:
        """A few tokens at a time: which these are, and their counts as floats.

        Floats of all would be as large as X, and so would be logarithms of their factorials.
        """
        for rows in row_pieces(self.numbers, share=4):
            yield rows, np.ascontiguousarray(self.numbers[rows], np.float64)


def _event_constant(numbers: np.ndarray) -> np.ndarray:
    logarithms = _log_factorials(numbers)
    missing = np.isnan(logarithms)
    if missing.any():
        logarithms[missing] = 0.0
    constant: np.ndarray = -logarithms.sum(axis=1)
    return constant


def _trial_constant(numbers: np.ndarray) -> np.ndarray:
    constant: np.ndarray = _log_factorials(numbers.sum(axis=1))
    constant -= _log_factorials(numbers).sum(axis=1)
    return constant


def _log_factorials(numbers: np.ndarray) -> np.ndarray:
    raised = numbers + 1
    logarithms: np.ndarray = gammaln(raised, out=raised)
    return logarithms
