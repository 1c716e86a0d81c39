"""A loss among the labellings that are allowed: any loss on potentials, with -inf for what is
forbidden.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.chains.forbidden import Transitions, forbid

__all__ = ["Constrained"]


class Constrained:
    """Another loss, of potentials in which transitions are forbidden; so probabilities are among
    allowed labellings.

    What is forbidden has no marginal, so derivatives in the given potentials are those of the other
    loss.

    Parameters
    ----------
    loss : callable
        Another loss; labellings y must be allowed.
    transitions : Transitions
    """

    def __init__(self, loss: Any, transitions: Transitions) -> None:
        self.loss = loss
        self.transitions = transitions

    @property
    def couples(self) -> bool:
        """Whether examples depend on each other."""
        return getattr(self.loss, "couples", False)

    def statistics(
        self, potentials: Potentials, y: Any, structure: Structure, weight: np.ndarray
    ) -> np.ndarray:
        """Those of the other loss."""
        return self.loss.statistics(
            forbid(potentials, structure, self.transitions), y, structure, weight
        )

    def outer(self, statistics: np.ndarray) -> tuple[float, Constrained]:
        """What the sums of `statistics` cost, and the loss of single examples that has the whole's
        derivative.
        """
        value, loss = self.loss.outer(statistics)
        return value, Constrained(loss, self.transitions)

    def __call__(
        self,
        potentials: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]``; add ``weight[i]`` times its derivative to `out`."""
        self.loss(forbid(potentials, structure, self.transitions), y, structure, weight, out, value)

    def hess_vec(
        self,
        potentials: Potentials,
        direction: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
    ) -> None:
        """Add ``weight[i]`` times the second derivative in a direction to `out`."""
        self.loss.hess_vec(
            forbid(potentials, structure, self.transitions), direction, y, structure, weight, out
        )
