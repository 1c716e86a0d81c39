"""The logarithm of the sum over all labellings, or over those that are allowed: half of a loss."""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.losses.base import Batch, Loss

__all__ = ["LogPartition"]


class LogPartition(Loss):
    """log Z of each example; its derivatives are marginals.

    No loss to be minimised: `MarginalLikelihood` is a difference of two of these, with which EM
    deals one by one.

    Parameters
    ----------
    inference : Inference
    among_allowed : bool, default=False
        Whether to sum over the labellings alone that the evidence allows.
    """

    twice_differentiable = True

    def __init__(self, inference: Inference, among_allowed: bool = False) -> None:
        self.inference = inference
        self.among_allowed = among_allowed

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative is marginals (P1 5.18 is the difference of two of these)."""
        self.inference.marginals(self._summed(batch), batch.structure, batch.weight, out, value)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """Cov(indicators, direction)."""
        mean = np.empty(len(batch.weight))
        self.inference.tangent(
            self._summed(batch), direction, batch.structure, batch.weight, out, mean
        )

    def _summed(self, batch: Batch) -> Potentials:
        if not self.among_allowed:
            return batch.potentials
        return forbid_labels(batch.potentials, batch.evidence.allowed_labels())
