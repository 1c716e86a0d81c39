"""The protocol of losses: what each is asked, and what it may leave out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.losses.evidence import Evidence

__all__ = ["Batch", "Loss"]


class Batch(NamedTuple):
    """A few consecutive examples: their scores, what is known of their labels, who depends on whom,
    and a weight (n_examples,) of each.
    """

    potentials: Potentials
    evidence: Evidence
    structure: Structure
    weight: np.ndarray


class Loss(ABC):
    """A loss of potentials, example by example, and its derivatives in them.

    Losses see potentials, never features or weights of a model. They are values that pickle.

    Attributes
    ----------
    convex : bool
        In the potentials.
    smooth : bool
        Whether it has no kinks, at which there is no derivative.
    token_weights : bool
        Whether it reads weights of tokens.
    twice_differentiable : bool
        Whether there is `hess_vec`.
    couples : bool
        Whether examples depend on each other: then `statistics` of all batches are added up, and
        `outer` turns the sum into a loss of single examples.
    sampled : bool
        Whether it draws labellings, so that derivatives are estimates, and not those of the value.
    has_parts : bool
        Whether it is the difference of two convex losses, its `parts`.
    """

    convex: bool = True
    smooth: bool = True
    token_weights: bool = False
    twice_differentiable: bool = False
    couples: bool = False
    sampled: bool = False
    has_parts: bool = False

    @abstractmethod
    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """Write the loss ``value[i]`` of each example; add ``weight[i]`` times its derivative in
        the potentials to `out`.

        Weight 0 skips an example. A table of `out` with one row takes the sum over its family.
        """

    def write_value(self, batch: Batch, room: Potentials, value: np.ndarray) -> None:
        """Write the loss of each example alone, to the last digit as a call does.

        Here by a call, whose derivatives are added to `room` and forgotten.
        """
        self(batch, room, value)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """Add ``weight[i]`` times the second derivative in a direction to `out`."""
        raise NotImplementedError(f"{type(self).__name__} has no second derivative")

    def statistics(self, batch: Batch) -> np.ndarray:
        """Sums over the examples on which the whole depends, if examples are coupled."""
        raise NotImplementedError(f"examples of {type(self).__name__} do not depend on each other")

    def outer(self, statistics: np.ndarray) -> tuple[float, Loss]:
        """What the sums of `statistics` cost, and the loss of single examples that has the whole's
        derivative.
        """
        raise NotImplementedError(f"examples of {type(self).__name__} do not depend on each other")

    def settle(
        self, collect: Callable[[Loss], np.ndarray], start: Loss | None = None
    ) -> tuple[float, Loss]:
        """What `outer` gives, where `collect` sums the statistics of a loss over all batches.

        A loss that has to look for something may collect several times; `start` is what it came to
        for other potentials that are near.
        """
        return self.outer(collect(self))

    def parts(self) -> tuple[Loss, Loss]:
        """Two convex losses, of which it is the difference: what is convex, and what is subtracted
        from it.
        """
        raise NotImplementedError(f"{type(self).__name__} is no difference of convex losses")

    @property
    def writes_float32(self) -> bool:
        """Whether the derivative in node potentials may be float32, as these are then."""
        return False

    def read_of(self, structure: Structure) -> Structure:
        """The structure without lists that this loss does not read; here with all of them."""
        return structure

    def scaled(self, share: float) -> Loss:
        """The same loss with a share of the weights of what it asks of unlabelled examples; a loss
        of labels asks nothing of them.
        """
        return self
