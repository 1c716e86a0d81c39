"""Any loss under constraints: forbidden transitions have probability 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.chains.forbidden import Transitions, forbid
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.latent_margin import LatentMargin

__all__ = ["Constrained"]


class Constrained(Loss):
    """Another loss under constraints: p(y | x) is normalised over allowed labellings.

    Scores of forbidden transitions become -inf. These have marginal 0, so the derivatives of the
    other loss need no change.

    Parameters
    ----------
    loss : Loss
        Labellings in the evidence must be allowed.
    transitions : Transitions
    """

    def __init__(self, loss: Loss, transitions: Transitions) -> None:
        self.loss = loss
        self.transitions = transitions
        self.convex = loss.convex
        self.smooth = loss.smooth
        self.token_weights = loss.token_weights
        self.twice_differentiable = loss.twice_differentiable
        self.couples = loss.couples
        self.has_parts = loss.has_parts

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """That of the other loss."""
        self.loss(self._forbid(batch), out, value)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """That of the other loss."""
        self.loss.hess_vec(self._forbid(batch), direction, out)

    def statistics(self, batch: Batch) -> np.ndarray:
        """Those of the other loss."""
        return self.loss.statistics(self._forbid(batch))

    def outer(self, statistics: np.ndarray) -> tuple[float, Loss]:
        """That of the other loss, with the single examples' loss constrained, too."""
        value, loss = self.loss.outer(statistics)
        return value, Constrained(loss, self.transitions)

    def settle(
        self, collect: Callable[[Loss], np.ndarray], start: Loss | None = None
    ) -> tuple[float, Loss]:
        """That of the other loss, whose statistics are collected under the constraints."""
        value, loss = self.loss.settle(
            lambda inner: collect(Constrained(inner, self.transitions)),
            start.loss if isinstance(start, Constrained) else None,
        )
        return value, Constrained(loss, self.transitions)

    def completed(self, batch: Batch) -> np.ndarray:
        """Those of the other loss, of labels that it completes: the best that are allowed."""
        loss: LatentMargin = self.loss  # type: ignore[assignment]
        return loss.completed(self._forbid(batch))

    def of_completed(self) -> Loss:
        """That of the other loss, constrained."""
        loss: LatentMargin = self.loss  # type: ignore[assignment]
        return Constrained(loss.of_completed(), self.transitions)

    def parts(self) -> tuple[Loss, Loss]:
        """Those of the other loss, constrained."""
        first, second = self.loss.parts()
        return Constrained(first, self.transitions), Constrained(second, self.transitions)

    def scaled(self, share: float) -> Loss:
        """The other loss scaled, constrained."""
        return Constrained(self.loss.scaled(share), self.transitions)

    def _forbid(self, batch: Batch) -> Batch:
        potentials = forbid(batch.potentials, batch.structure, self.transitions)
        return batch._replace(potentials=potentials)
