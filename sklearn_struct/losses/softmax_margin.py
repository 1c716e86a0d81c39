"""Softmax-margin: the log-likelihood with the costs of wrong labels added to the scores while
training.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.base import Inference
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.log_likelihood import LogLikelihood

__all__ = ["SoftmaxMargin"]


class SoftmaxMargin(Loss):
    """The loss log sum_y' exp(score(y') + sum_t cost[y_t, y'_t]) - score(y) (Gimpel & Smith, NAACL
    2010).

    It bounds from above the log-likelihood's loss, and the expected cost of a drawn labelling.

    Parameters
    ----------
    inference : Inference
    cost : ndarray of shape (n_labels, n_labels), default=None
        Cost of each label (column) where another one (row) is right, with zeros for right ones.
        None is the Hamming cost, 1 for each wrong label.
    """

    twice_differentiable = True

    def __init__(self, inference: Inference, cost: np.ndarray | None = None) -> None:
        # costs only move the scores: its derivatives are those of the likelihood there
        self.likelihood = LogLikelihood(inference)
        self.cost = cost

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative is marginals under scores with costs, minus indicators."""
        self.likelihood(self._with_costs(batch), out, value)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """Cov(indicators, direction), under scores with costs."""
        self.likelihood.hess_vec(self._with_costs(batch), direction, out)

    def _with_costs(self, batch: Batch) -> Batch:
        """The labelling itself costs nothing, so its score stays."""
        node, cliques = batch.potentials
        labels = batch.evidence.known_labels()
        cost = 1.0 - np.eye(node.shape[1]) if self.cost is None else self.cost
        # float64 costs would make float64 of float32 potentials, which take other kernels
        raised = node + cost[labels].astype(node.dtype)
        return batch._replace(potentials=Potentials(raised, cliques))
