"""Negative log-likelihood of labellings: log Z - score(y) (P1 5.4 and 5.8 without the penalty)."""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.base import Inference
from sklearn_struct.losses.base import Batch, Loss

__all__ = ["LogLikelihood"]


class LogLikelihood(Loss):
    """The loss -log p(y | x) of each example, for any structure whose marginals `inference`
    computes.

    Parameters
    ----------
    inference : Inference
    """

    twice_differentiable = True

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative is marginals minus indicators (P1 5.9)."""
        potentials, evidence, structure, weight = batch
        labels = evidence.known_labels()
        score = np.empty(len(weight))
        self.inference.marginals(potentials, structure, weight, out, value)
        # marginals less the true labelling: the gradient, in one array
        self.inference.add_labelling(potentials, structure, labels, -weight, out, score)
        value -= score

    def write_value(self, batch: Batch, room: Potentials, value: np.ndarray) -> None:
        """The same without marginals."""
        potentials, evidence, structure, weight = batch
        labels = evidence.known_labels()
        score = np.empty(len(weight))
        value[:] = self.inference.log_partition(potentials, structure, weight)
        self.inference.add_labelling(potentials, structure, labels, -weight, room, score)
        value -= score

    @property
    def writes_float32(self) -> bool:
        """As its inference does."""
        return self.inference.writes_float32

    def read_of(self, structure: Structure) -> Structure:
        """What inference and its labellings read."""
        return self.inference.read_of(structure)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """Cov(indicators, direction)."""
        potentials, _, structure, weight = batch
        mean = np.empty(len(weight))
        self.inference.tangent(potentials, direction, structure, weight, out, mean)
