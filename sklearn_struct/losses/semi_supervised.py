"""A loss of examples that are labelled, as far as they are, plus one of those that are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.losses.base import Batch, Loss

__all__ = ["SemiSupervised", "is_labelled"]


def is_labelled(allowed: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Whether anything is known of each example: a token where not every label may stand."""
    known = np.concatenate([[0], np.cumsum(~allowed.all(axis=1))])
    more: np.ndarray = known[offsets[1:]] > known[offsets[:-1]]
    return more


class SemiSupervised(Loss):
    """One loss of the examples of which something is known, and another one of the rest.

    Parameters
    ----------
    of_labelled : Loss
        Such as `MarginalLikelihood`; it reads which labels the evidence allows.
    of_unlabelled : Loss
        Such as `Expectation`.
    """

    convex = False

    def __init__(self, of_labelled: Loss, of_unlabelled: Loss) -> None:
        self.of_labelled = of_labelled
        self.of_unlabelled = of_unlabelled
        self.couples = of_unlabelled.couples
        self.has_parts = of_labelled.has_parts and of_unlabelled.has_parts

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """Each example has the value and the derivative of its own loss."""
        weight = batch.weight
        known = self._known(batch)
        cost = np.zeros(len(weight))
        # many blocks have no labelled sequence
        if np.any(known):
            self.of_labelled(batch._replace(weight=np.where(known, weight, 0.0)), out, cost)
        self.of_unlabelled(batch._replace(weight=np.where(known, 0.0, weight)), out, value)
        value += cost

    def statistics(self, batch: Batch) -> np.ndarray:
        """Those of the unlabelled examples."""
        free = np.where(self._known(batch), 0.0, batch.weight)
        return self.of_unlabelled.statistics(batch._replace(weight=free))

    def outer(self, statistics: np.ndarray) -> tuple[float, Loss]:
        """That of the unlabelled examples."""
        value, of_unlabelled = self.of_unlabelled.outer(statistics)
        return value, SemiSupervised(self.of_labelled, of_unlabelled)

    def settle(
        self, collect: Callable[[Loss], np.ndarray], start: Loss | None = None
    ) -> tuple[float, Loss]:
        """That of the unlabelled examples."""
        value, of_unlabelled = self.of_unlabelled.settle(
            lambda loss: collect(SemiSupervised(self.of_labelled, loss)),
            start.of_unlabelled if isinstance(start, SemiSupervised) else None,
        )
        return value, SemiSupervised(self.of_labelled, of_unlabelled)

    def parts(self) -> tuple[Loss, Loss]:
        """Those of the labelled examples, beside those of the unlabelled ones."""
        pairs = zip(self.of_labelled.parts(), self.of_unlabelled.parts(), strict=True)
        first, second = (SemiSupervised(*pair) for pair in pairs)
        return first, second

    def scaled(self, share: float) -> Loss:
        """With a share of the weights of what is asked of unlabelled examples."""
        return SemiSupervised(self.of_labelled, self.of_unlabelled.scaled(share))

    @staticmethod
    def _known(batch: Batch) -> np.ndarray:
        return is_labelled(batch.evidence.allowed_labels(), batch.structure.offsets)
