"""Parameters of hidden Markov models."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.structures import Blocks
from sklearn_struct.hidden_markov import poisson
from sklearn_struct.hidden_markov.densities import n_parameters
from sklearn_struct.hidden_markov.driven_transitions import Logits
from sklearn_struct.hidden_markov.markov_chain import Markov
from sklearn_struct.inference.chains.chain import Chain

__all__ = ["HiddenMarkov"]


class HiddenMarkov(NamedTuple):
    """Log-parameters: the chain, a table (K, n_values) of each categorical stream, the columns of
    measurements; rates (K, c) of events, and a table (K, c) of the outcomes of trials. ``slopes``
    (K, K, p) say how inputs drive transitions; those of the chain are then those without inputs.

    ``gaussians`` are Gaussians, or what has the same methods, as `NumberSteps` learn it.
    """

    markov: Markov
    tables: list[np.ndarray]
    gaussians: Any
    rates: np.ndarray = np.empty((0, 0))
    outcomes: np.ndarray = np.empty((0, 0))
    slopes: np.ndarray = np.empty((0, 0, 0))

    @property
    def logits(self) -> Logits:
        """How transitions depend on inputs."""
        return Logits(self.markov.transition, self.slopes)

    @property
    def n_labels(self) -> int:
        return len(self.markov.start)

    @property
    def order(self) -> int:
        return 1 if len(self.markov.stop) == self.n_labels else 2

    @property
    def inference(self) -> Chain:
        """Exact inference on chains of this order."""
        return Chain(self.order)

    @property
    def n_emission_parameters(self) -> int:
        """How many numbers of the emissions are free; chains have others."""
        tables = sum(n_parameters(table) for table in [*self.tables, self.outcomes])
        free: int = tables + self.gaussians.n_parameters + poisson.n_parameters(self.rates)
        return free

    def blocks(self, offsets: np.ndarray, n_blocks: int = 64) -> Blocks:
        """Sequences cut into blocks."""
        inference = self.inference
        return inference.blocks(inference.structure(offsets), self.n_labels, n_blocks=n_blocks)
