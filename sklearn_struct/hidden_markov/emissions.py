"""Log-probabilities of what tokens emit, given each label."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov import multinomial, poisson
from sklearn_struct.hidden_markov.densities import add_values
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.observed import Observed

__all__ = ["Emissions"]


class Emissions:
    """Those of a model, some tokens at a time: what densities need is made once.

    Parameters
    ----------
    model : HiddenMarkov
    observed : Observed
    """

    def __init__(self, model: HiddenMarkov, observed: Observed) -> None:
        self.model = model
        self.observed = observed
        self._densities = model.gaussians.densities()

    def of_rows(self, rows: slice) -> np.ndarray:
        """Those (m, K) of some tokens, in memory of their own."""
        observed = self.observed
        log_p: np.ndarray = self._densities(observed.numbers, observed.offsets, rows)
        for codes, table in zip(observed.codes, self.model.tables, strict=True):
            add_values(codes[rows], table, log_p)
        if observed.events.numbers.shape[1]:
            events = observed.events.of_rows(rows)
            poisson.add_log_probabilities(events, self.model.rates, log_p)
        if observed.trials.numbers.shape[1]:
            trials = observed.trials.of_rows(rows)
            multinomial.add_log_probabilities(trials, self.model.outcomes, log_p)
        return log_p
