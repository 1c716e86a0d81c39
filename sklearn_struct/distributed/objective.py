"""The objective of data in partitions, each with weights of its own: that of all data."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sklearn_struct.distributed.partitions import (
    hess_vec,
    settled_value_and_grad,
    statistics,
    value_and_grad,
)
from sklearn_struct.distributed.shards import Shards
from sklearn_struct.losses.base import Loss
from sklearn_struct.objectives.patterns_of_parts import Place

__all__ = ["CoupledObjective", "ShardedObjective", "TiltedObjective"]


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
        return self.added(self.shards.each(value_and_grad, self.slices(w)))

    def added(self, of_shards: Iterable[tuple[float, np.ndarray]]) -> tuple[float, np.ndarray]:
        """The sum of values and gradients of partitions."""
        value = 0.0
        grad = np.zeros(self.size)
        for place, (of_shard, slope) in zip(self.places, of_shards, strict=True):
            value += of_shard
            grad[place] += slope
        return value, grad

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative of the weighted mean loss at w, times v."""
        product = np.zeros(self.size)
        of_shards = self.shards.each(hess_vec, self.slices(w), self.slices(v))
        for place, of_shard in zip(self.places, of_shards, strict=True):
            product[place] += of_shard
        return product

    def slices(self, w: np.ndarray) -> Iterator[np.ndarray]:
        """The entries of w that each partition has: together they may be several times as long."""
        return (w[place] for place in self.places)


class TiltedObjective(ShardedObjective):
    """The same plus a linear function of the weights, which needs no data.

    Parameters
    ----------
    plain : ShardedObjective
    linear : ndarray of shape (size,)
        Coefficients of the linear function.
    """

    def __init__(self, plain: ShardedObjective, linear: np.ndarray) -> None:
        super().__init__(plain.shards, plain.places, plain.size, plain.n_free, plain.total_weight)
        self.linear = linear

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient."""
        value, grad = super().value_and_grad(w)
        return value + float(np.dot(self.linear, w)), grad + self.linear


class CoupledObjective(ShardedObjective):
    """The same of a loss of examples that depend on each other by sums over all of them.

    Partitions first send these sums. From the total follows a loss of single examples, of which
    they then send value and gradient.

    Parameters
    ----------
    plain : ShardedObjective
        The same data.
    loss : Loss
    """

    def __init__(self, plain: ShardedObjective, loss: Loss) -> None:
        super().__init__(plain.shards, plain.places, plain.size, plain.n_free, plain.total_weight)
        self.loss = loss
        # of the last evaluation: what couples examples is near to what it was there
        self._settled: Loss | None = None

    def with_loss(self, loss: Loss) -> CoupledObjective:
        """The objective of another loss of the same data."""
        objective = copy.copy(self)
        objective.loss = loss
        objective._settled = None
        return objective

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighted mean loss of all examples and its gradient."""
        n = len(self.shards)
        loss = self.loss
        value = 0.0
        if loss.couples:

            def collect(asked: Loss) -> np.ndarray:
                parts = self.shards.ask(statistics, self.slices(w), [asked] * n)
                total: np.ndarray = np.sum([part for part in parts if part is not None], axis=0)
                return total

            value, loss = loss.settle(collect, self._settled)
            self._settled = loss
        of_shards = self.shards.each(settled_value_and_grad, self.slices(w), [loss] * n)
        of_examples, grad = self.added(of_shards)
        return value / self.total_weight + of_examples, grad
