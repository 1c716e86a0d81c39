"""Minus the log-probability of what is known of a labelling: log Z - log Z(allowed) (P3, "expected
gradient").
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.log_partition import LogPartition

__all__ = ["MarginalLikelihood"]


class MarginalLikelihood(Loss):
    """The loss -log p(y is allowed | x) of each example, summed over all labellings that its sets
    of labels allow.

    The evidence says which labels are ``allowed``. The gradient is the marginals minus those among
    the allowed labellings (Salakhutdinov, Roweis and Ghahramani, ICML 2003). Not convex, but where
    each token has one label it is the likelihood.

    Parameters
    ----------
    inference : Inference
    """

    convex = False
    twice_differentiable = True
    has_parts = True

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative is a difference of marginals."""
        potentials, evidence, structure, weight = batch
        allowed = evidence.allowed_labels()
        self.inference.marginals_less_allowed(potentials, allowed, structure, weight, out, value)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """A difference of covariances."""
        potentials, evidence, structure, weight = batch
        among_allowed = forbid_labels(potentials, evidence.allowed_labels())
        mean = np.empty(len(weight))
        self.inference.tangent(potentials, direction, structure, weight, out, mean)
        self.inference.tangent(among_allowed, direction, structure, -weight, out, mean)

    def parts(self) -> tuple[Loss, Loss]:
        """log Z, and log Z of the allowed labellings."""
        return LogPartition(self.inference), LogPartition(self.inference, among_allowed=True)
