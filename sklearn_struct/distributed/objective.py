"""The objective of data in partitions, each with weights of its own: that of all data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklearn_struct.distributed.partitions import hess_vec, value_and_grad
from sklearn_struct.distributed.shards import Shards
from sklearn_struct.objectives.patterns_of_parts import Place

__all__ = ["ShardedObjective"]


class ShardedObjective:
    """The sum of what partitions have of a mean loss, for batch solvers.

    To a partition go the weights of the features that it has, and from there come their
    derivatives. They are added in the order of the partitions, so the bits do not depend on who
    computes what.

    Parameters
    ----------
    shards : Shards
        Partitions whose states are shards.
    places : sequence of ndarray or slice
        For each partition where its weights are in w.
    size, n_free : int
        The number of all weights, and of those at the end that have no penalty.
    total_weight : float
        The sum of the weights of all examples.
    """

    def __init__(
        self, shards: Shards, places: Sequence[Place], size: int, n_free: int, total_weight: float
    ) -> None:
        self.shards = shards
        self.places = places
        self.size = size
        self.n_free = n_free
        self.total_weight = total_weight

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighted mean loss of all examples and its gradient."""
        value = 0.0
        grad = np.zeros(self.size)
        of_shards = self.shards.ask(value_and_grad, self.slices(w))
        for place, (of_shard, slope) in zip(self.places, of_shards, strict=True):
            value += of_shard
            grad[place] += slope
        return value, grad

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative of the weighted mean loss at w, times v."""
        product = np.zeros(self.size)
        of_shards = self.shards.ask(hess_vec, self.slices(w), self.slices(v))
        for place, of_shard in zip(self.places, of_shards, strict=True):
            product[place] += of_shard
        return product

    def slices(self, w: np.ndarray) -> list[np.ndarray]:
        """The entries of w that each partition has."""
        return [w[place] for place in self.places]
