"""Generalized expectation criteria and entropy: what unlabelled examples should look like on the
whole (P3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import Potentials, zeros
from sklearn_struct.inference.base import CliqueRows, Inference
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Fired
from sklearn_struct.losses.fired_criteria import expected, fired_of, fires, spread

__all__ = ["DISTANCES", "Criteria", "Expectation"]

DISTANCES = ("kl", "squared")


class Criteria(NamedTuple):
    """Target distributions, a row a criterion, over labels or over label pairs, and the weights of
    their distances.
    """

    target: np.ndarray
    weight: np.ndarray
    distance: str

    def outer(self, expected: np.ndarray) -> tuple[float, np.ndarray]:
        """Weighted sum of distances of `expected` (unnormalised) from the targets, and its
        derivative.

        KL: D = sum p log(p / q), dD / d expected = -p / expected. The sum of a row is given by the
        data, not by the model, so it counts as a constant. Infinite where something that a target
        asks for is impossible.
        """
        total = expected.sum(axis=1, keepdims=True)
        p = self.target
        q = expected / total
        weight = self.weight[:, None]
        if self.distance == "squared":
            return float(np.sum(weight * (p - q) ** 2)), 2 * weight * (q - p) / total
        # the divergence is infinite, and has no slope
        if np.any((p > 0) & (q == 0)):
            return np.inf, np.zeros(p.shape)
        # 0 log 0 is 0: where a target asks for nothing, the logarithm taken is that of 1
        ratio = np.divide(p, q, where=p > 0, out=np.ones(p.shape))
        return float(np.sum(weight * p * np.log(ratio))), -weight * np.where(
            p > 0, ratio, 0.0
        ) / total


class Expectation(Loss):
    """Distances of expected label distributions from targets, plus `entropy_weight` times the
    entropy of p(y | x).

    A criterion m fires at some tokens; the expected distribution is q_m(l) ~ sum_t f_m(t) p(y_t = l
    | x), over all examples. What couples them are the sums alone: `statistics` gives those of a
    block, and `outer` turns their total into the value and a loss of single examples whose
    derivative is that of the whole:

        sum_t r_t(y_t) expected,   r_t(l) = sum_m f_m(t) dD / d expected_m(l)

    Its derivative is a covariance with that reward (P3 4; the paper has a lattice for each label),
    and so is the entropy's, with the scores as reward. One sweep serves both, whatever the number
    of criteria.

    Parameters
    ----------
    inference : Inference
    node, edge : Criteria
        On labels, and on label pairs.
    entropy_weight : float
    slopes : tuple of ndarray, default=None
        The derivatives in the sums; None where there are no criteria.
    """

    convex = False

    def __init__(
        self,
        inference: Inference,
        node: Criteria,
        edge: Criteria,
        entropy_weight: float = 0.0,
        slopes: tuple[np.ndarray, ...] | None = None,
    ) -> None:
        self.inference = inference
        self.node = node
        self.edge = edge
        self.entropy_weight = entropy_weight
        self.slopes = slopes
        self.couples = len(node.target) + len(edge.target) > 0

    def scaled(self, share: float) -> Expectation:
        """With a share of the weights of distances and of the entropy."""
        node, edge = (
            criteria._replace(weight=share * criteria.weight) for criteria in (self.node, self.edge)
        )
        return Expectation(self.inference, node, edge, share * self.entropy_weight, self.slopes)

    def statistics(self, batch: Batch) -> np.ndarray:
        """Unnormalised expected distributions of all criteria, one after the other."""
        potentials, evidence, structure, weight = batch
        fired = fired_of(evidence)
        used = np.where(fires(fired, structure), weight, 0.0)
        shapes = (self.node.target.shape, self.edge.target.shape)
        log_Z = np.empty(len(weight))
        return expected(self.inference, potentials, structure, used, fired, shapes, log_Z)

    def outer(self, statistics: np.ndarray) -> tuple[float, Expectation]:
        """Sum of weighted distances, less what the loss of examples that comes with it already
        counts.
        """
        value = 0.0
        slopes = []
        cuts = np.split(statistics, [self.node.target.size])
        for criteria, part in zip((self.node, self.edge), cuts, strict=True):
            counts = part.reshape(criteria.target.shape)
            distance, slope = criteria.outer(counts)
            # the losses of examples sum to <slope, expected>; this makes the whole the distance
            value += distance - float(np.sum(slope * counts))
            slopes.append(slope)
        return value, Expectation(
            self.inference, self.node, self.edge, self.entropy_weight, tuple(slopes)
        )

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The expected reward plus the weighted entropy; the derivative is a covariance."""
        potentials, evidence, structure, weight = batch
        fired = fired_of(evidence)
        value[:] = 0.0
        # examples on which nothing fires need no inference
        used = np.where(fires(fired, structure), weight, 0.0)
        reward = self._reward(potentials, fired)
        if self.entropy_weight:
            self.inference.marginals(potentials, structure, weight, zeros(potentials), value)
            value *= self.entropy_weight
            used = weight
        mean = np.empty(len(weight))
        if self.slopes is not None and fired.has_edges:
            rows = CliqueRows(fired.edge, self.slopes[1])
            self.inference.tangent_by_row(potentials, reward, rows, structure, used, out, mean)
        else:
            self.inference.tangent(potentials, reward, structure, used, out, mean)
        value += mean

    def _reward(self, potentials: Potentials, fired: Fired) -> Potentials:
        """What labels add to the value, the criteria's slopes, less the scores for the entropy."""
        node, cliques = zeros(potentials)
        if self.slopes is not None:
            spread(fired.node, self.slopes[0], node)
        if self.entropy_weight:
            # rewards of what is forbidden are infinite then, and inference ignores them
            node = node - self.entropy_weight * potentials.node
            cliques = tuple(
                reward - self.entropy_weight * table
                for reward, table in zip(cliques, potentials.cliques, strict=True)
            )
        return Potentials(node, cliques)
