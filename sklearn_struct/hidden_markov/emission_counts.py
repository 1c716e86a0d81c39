"""Expected counts of what labels emit: all that is needed of posteriors to learn emissions."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.hidden_markov.base_number_steps import NumberSteps
from sklearn_struct.hidden_markov.densities import value_counts
from sklearn_struct.hidden_markov.moments import Sums, sums_of
from sklearn_struct.hidden_markov.observed import Observed

__all__ = ["EmissionCounts", "emission_counts"]


class EmissionCounts(NamedTuple):
    """Expected counts of some tokens, or of all.

    ``values`` has a table (K, n_values) for each categorical stream, ``numbers`` is what
    `NumberSteps` count, ``events`` and ``trials`` are sums of whole numbers.
    """

    values: list[np.ndarray]
    numbers: Any
    events: Sums
    trials: Sums

    def merged(self, other: EmissionCounts) -> EmissionCounts:
        """Those of the tokens of both."""
        return EmissionCounts(
            [a + b for a, b in zip(self.values, other.values, strict=True)],
            self.numbers.merged(other.numbers),
            self.events.merged(other.events),
            self.trials.merged(other.trials),
        )


def emission_counts(
    observed: Observed,
    rows: slice,
    posterior: np.ndarray,
    n_values: list[int],
    numbers: NumberSteps,
    before: Any,
) -> EmissionCounts:
    """Counts of some tokens, given weighted posteriors (n, K) of their labels, and the
    distributions `before` under which missing numbers are expected.
    """
    return EmissionCounts(
        [
            value_counts(codes[rows], posterior, n)
            for codes, n in zip(observed.codes, n_values, strict=True)
        ],
        numbers.counts(observed.numbers, observed.offsets, rows, posterior, before),
        _sums(observed.events.numbers, rows, posterior),
        _sums(observed.trials.numbers, rows, posterior),
    )


def _sums(x: np.ndarray, rows: slice, posterior: np.ndarray) -> Sums:
    """Those of some rows; most models have no columns of such numbers."""
    return sums_of(x[rows], posterior) if x.shape[1] else _nothing(posterior.shape[1])


@cache
def _nothing(K: int) -> Sums:
    return Sums(np.zeros((0, K)), np.zeros((0, K)))
