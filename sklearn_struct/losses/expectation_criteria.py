"""Generalized expectation criteria and entropy: what unlabelled examples should look like on the
whole (P3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.structures import Potentials, Structure

__all__ = ["DISTANCES", "Criteria", "Expectation", "Fired"]

DISTANCES = ("kl", "squared")


class Fired(NamedTuple):
    """How strongly each criterion fires at each token, a row a token, non-negative.

    ``edge`` are those of criteria on label pairs: they fire at the second token of a pair.
    """

    node: CSR
    edge: CSR

    def of(self, tokens: slice) -> Fired:
        """Those of some tokens, without a copy."""
        rows = slice(tokens.start, tokens.stop + 1)
        return Fired(*(table._replace(indptr=table.indptr[rows]) for table in self))

    @property
    def has_edges(self) -> bool:
        """Whether a criterion on label pairs fires."""
        return bool(self.edge.indptr[-1] > self.edge.indptr[0])


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
        if np.any((p > 0) & (q == 0)):
            return np.inf, np.zeros(p.shape)
        ratio = np.divide(p, q, where=p > 0, out=np.ones(p.shape))
        return float(np.sum(weight * p * np.log(ratio))), -weight * np.where(
            p > 0, ratio, 0.0
        ) / total


class Expectation:
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
    inference : module or object with ``marginals`` and ``tangent``
    node, edge : Criteria
        On labels, and on label pairs.
    entropy_weight : float
    slopes : tuple of ndarray, default=None
        The derivatives in the sums; None where there are no criteria.
    """

    def __init__(
        self,
        inference: Any,
        node: Criteria,
        edge: Criteria,
        entropy_weight: float = 0.0,
        slopes: Any = None,
    ) -> None:
        self.inference = inference
        self.node = node
        self.edge = edge
        self.entropy_weight = entropy_weight
        self.slopes = slopes

    @property
    def couples(self) -> bool:
        """Whether examples depend on each other: `outer` is to be asked first."""
        return len(self.node.target) + len(self.edge.target) > 0

    def statistics(
        self, potentials: Potentials, y: Fired, structure: Structure, weight: np.ndarray
    ) -> np.ndarray:
        """Unnormalised expected distributions of all criteria, one after the other."""
        n_edges = len(structure.edges) if y.has_edges else 1
        marginals = Potentials(
            np.zeros(potentials.node.shape), np.zeros((n_edges, potentials.edge.shape[1]))
        )
        used = np.where(_fires(y, structure), weight, 0.0)
        self.inference.marginals(potentials, structure, used, marginals, np.empty(len(weight)))
        node = np.zeros(self.node.target.shape)
        edge = np.zeros(self.edge.target.shape)
        _collect(y.node, np.arange(len(marginals.node)), marginals.node, node)
        if y.has_edges:
            _collect(y.edge, structure.edges[:, 1], marginals.edge, edge)
        return np.concatenate([node.ravel(), edge.ravel()])

    def outer(self, statistics: np.ndarray) -> tuple[float, Expectation]:
        """Sum of weighted distances, less what the loss of examples that comes with it already
        counts.
        """
        value = 0.0
        slopes = []
        cuts = np.split(statistics, [self.node.target.size])
        for criteria, part in zip((self.node, self.edge), cuts, strict=True):
            expected = part.reshape(criteria.target.shape)
            distance, slope = criteria.outer(expected)
            value += distance - float(np.sum(slope * expected))
            slopes.append(slope)
        return value, Expectation(
            self.inference, self.node, self.edge, self.entropy_weight, tuple(slopes)
        )

    def __call__(
        self,
        potentials: Potentials,
        y: Fired,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]``, the expected reward plus the weighted entropy; add ``weight[i]``
        times its derivative.
        """
        value[:] = 0.0
        used = np.where(_fires(y, structure), weight, 0.0)
        reward = self._reward(potentials, y, structure)
        if self.entropy_weight:
            scratch = Potentials(
                np.zeros(potentials.node.shape), np.zeros((1, potentials.edge.shape[1]))
            )
            self.inference.marginals(potentials, structure, weight, scratch, value)
            value *= self.entropy_weight
            used = weight
        mean = np.empty(len(weight))
        self.inference.tangent(potentials, reward, structure, used, out, mean)
        value += mean

    def _reward(self, potentials: Potentials, y: Fired, structure: Structure) -> Potentials:
        """What labels and label pairs add to the value: the criteria's slopes, less the scores for
        the entropy.
        """
        node = np.zeros(potentials.node.shape)
        edge = np.zeros((1, potentials.edge.shape[1]))
        if self.slopes is not None:
            _spread(y.node, np.arange(len(node)), self.slopes[0], node)
            if y.has_edges:
                edge = np.zeros((len(structure.edges), potentials.edge.shape[1]))
                _spread(y.edge, structure.edges[:, 1], self.slopes[1], edge)
        if self.entropy_weight:
            node = node - self.entropy_weight * potentials.node
            edge = edge - self.entropy_weight * potentials.edge
        return Potentials(node, edge)


def _fires(y: Fired, structure: Structure) -> np.ndarray:
    """Whether a criterion fires anywhere in each example."""
    counts = [
        table.indptr[structure.offsets[1:]] > table.indptr[structure.offsets[:-1]] for table in y
    ]
    return counts[0] | counts[1]


@kernel
def _collect(fired, rows, table, out):
    """out[m] += f_m(t) * table[r] for the token t = rows[r] of each row; of `table` as many columns
    as `out` has.
    """
    indptr = fired.indptr
    indices = fired.indices
    data = fired.data
    K = out.shape[1]
    for r in range(len(rows)):
        for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
            m = indices[p]
            f = data[p]
            for k in range(K):
                out[m, k] += f * table[r, k]


@kernel
def _spread(fired, rows, slopes, out):
    """out[r] += f_m(t) * slopes[m] for the token t = rows[r] of each row."""
    indptr = fired.indptr
    indices = fired.indices
    data = fired.data
    K = slopes.shape[1]
    for r in range(len(rows)):
        for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
            m = indices[p]
            f = data[p]
            for k in range(K):
                out[r, k] += f * slopes[m, k]
