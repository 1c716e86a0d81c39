"""What sequences emit, and what drives them, as arrays of all tokens."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sklearn_struct.hidden_markov.counts import Counts

__all__ = ["Observed"]


@dataclass(frozen=True)
class Observed:
    """What was emitted: codes (n,) of each categorical stream, all columns of measurements (n, d),
    bounds of sequences; counts of events, and of the outcomes of trials. ``inputs`` (n, p) are not
    emitted: those of a token drive the transition to it.
    """

    codes: list[np.ndarray]
    numbers: np.ndarray
    offsets: np.ndarray
    events: Counts = field(default_factory=Counts.none)
    trials: Counts = field(default_factory=Counts.none)
    inputs: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def without_constants(self) -> Observed:
        """The same, where only differences between labels matter."""
        events = self.events.without_constant
        return replace(self, events=events, trials=self.trials.without_constant)

    def constant(self, weight: np.ndarray) -> float:
        """What sequences of these weights add to a log-likelihood, whatever their labels are."""
        return sum(
            float(self._of_tokens(weight, rows) @ counts.constant(x))
            for counts in (self.events, self.trials)
            if counts.constant is not None and counts.numbers.shape[1]
            for rows, x in counts.pieces
        )

    def _of_tokens(self, weight: np.ndarray, rows: slice) -> np.ndarray:
        """The weights of the sequences of some tokens."""
        tokens = np.arange(*rows.indices(self.offsets[-1]))
        of_tokens: np.ndarray = weight[np.searchsorted(self.offsets, tokens, side="right") - 1]
        return of_tokens

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each sequence."""
        return np.diff(self.offsets)

    @property
    def n_measured(self) -> int:
        """How many columns `measured` has."""
        tables = (self.numbers, self.events.numbers, self.trials.numbers)
        return sum(int(table.shape[1]) for table in tables)

    @property
    def measured(self) -> np.ndarray:
        """All that is numeric (n, c), in units in which tokens that are alike are near each other.

        The variance of the root of a Poisson count, and of the root of a share, is nearly the same
        for all labels.
        """
        columns = [self.numbers]
        if self.events.numbers.shape[1]:
            columns.append(np.sqrt(self.events.numbers, dtype=np.float64))
        if self.trials.numbers.shape[1]:
            # whole numbers may overflow
            total = self.trials.numbers.sum(axis=1, keepdims=True, dtype=np.float64)
            columns.append(np.sqrt(self.trials.numbers / np.where(total == 0, np.nan, total)))
        return columns[0] if len(columns) == 1 else np.hstack(columns)

    @property
    def numeric(self) -> dict[str, np.ndarray]:
        """All numbers (n, c), by how they are distributed; inputs are given."""
        return {
            "gaussian": self.numbers,
            "poisson": self.events.numbers,
            "multinomial": self.trials.numbers,
            "input": self.inputs,
        }

    def __len__(self) -> int:
        return len(self.offsets) - 1
