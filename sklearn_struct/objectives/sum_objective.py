"""The objective of data in several shards: a weighted mean of theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklearn_struct.objectives.linear_objective import LinearObjective

__all__ = ["SumObjective"]


class SumObjective:
    """The weighted mean of the objectives of shards, for batch solvers.

        value = sum_s total_weight_s * value_s / sum_s total_weight_s

    which is the objective of all data, but for the order of sums.

    Parameters
    ----------
    shards : sequence of LinearObjective
        With the same pattern of weights.

    Raises
    ------
    ValueError
        If shards have other weights than the first, or a loss that couples examples across shards.
    """

    def __init__(self, shards: Sequence[LinearObjective]) -> None:
        if len({(shard.size, shard.n_free) for shard in shards}) != 1:
            raise ValueError("shards must be objectives of the same weights, and at least one")
        if any(shard.loss.couples for shard in shards):
            raise ValueError("the loss depends on all examples at once: it has no sum over shards")
        # one without weight has no mean
        self.shards = [shard for shard in shards if shard.total_weight > 0]
        self.size = shards[0].size
        self.n_free = shards[0].n_free
        self.total_weight = sum(shard.total_weight for shard in shards)

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighted mean loss of all shards and its gradient."""
        value = 0.0
        grad = np.zeros(self.size)
        for shard in self.shards:
            # values of shards are means: they count by their weights
            share = shard.total_weight / self.total_weight
            of_shard, slope = shard.value_and_grad(w)
            value += share * of_shard
            grad += share * slope
        return value, grad

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative of the weighted mean loss at w, times v."""
        product = np.zeros(self.size)
        for shard in self.shards:
            product += shard.total_weight / self.total_weight * shard.hess_vec(w, v)
        return product
