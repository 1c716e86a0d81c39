"""The structured hinge where labels are known in part: how far the best rival is ahead of the best
labelling that is allowed.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.max_margin import MaxMargin, hinge

__all__ = ["LatentMargin"]


class LatentMargin(Loss):
    """The loss max_y' (score(y') + cost(y')) - max_(y allowed) score(y) of the latent structured
    support vector machine (C.-N. Yu and T. Joachims, ICML 2009, eq. 5).

    The evidence says which labels are ``allowed``: the hidden states of a known label, or all where
    nothing is known. These cost nothing. The loss is a difference of two largest ones of planes, so
    it is not convex. If the best allowed labelling is held fast it becomes `MaxMargin`, which is
    convex, never lower, and equal where that labelling was looked for.

    Parameters
    ----------
    inference : Inference
    cost : ndarray of shape (n_labels, n_labels), default=None
        As in `MaxMargin`; None: 1 for each wrong label.
    """

    convex = False
    smooth = False

    def __init__(self, inference: Inference, cost: np.ndarray | None = None) -> None:
        self.inference = inference
        self.cost = cost

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """A derivative is that of the best rival less that of the best allowed labelling."""
        evidence = batch.evidence._replace(labels=self.completed(batch))
        self.of_completed()(batch._replace(evidence=evidence), out, value)

    def completed(self, batch: Batch) -> np.ndarray:
        """The best allowed labels (n,)."""
        allowed = batch.evidence.allowed_labels()
        labels = np.empty(len(allowed), np.int32)
        among_allowed = forbid_labels(batch.potentials, allowed)
        self.inference.argmax(among_allowed, batch.structure, labels)
        return labels

    def of_completed(self) -> MaxMargin:
        """The loss of labels that were completed."""
        return hinge(self.inference, self.cost)
