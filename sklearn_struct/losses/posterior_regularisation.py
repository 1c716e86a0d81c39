"""Posterior regularisation: how far a model is from the nearest distribution of labellings that
keeps what is known of unlabelled examples on the whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from sklearn_struct.containers.structures import Potentials, zeros
from sklearn_struct.inference.base import CliqueRows, Inference
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.expectation_criteria import Criteria
from sklearn_struct.losses.fired_criteria import expected, fired_of, fires, spread
from sklearn_struct.losses.log_partition import LogPartition

__all__ = ["NearestLabellings", "PosteriorRegularisation"]

TOL = 1e-7  # by how much of all that fires an expectation may miss its bound
MAX_ITER = 200


class NearestLabellings(Loss):
    """log Z of the nearest distribution of labellings: of p(y | x) exp(multipliers . counts).

    Among all distributions q of labellings of all examples, it is the one that makes KL(q || p)
    plus a penalty least: criterion m, which fires f_m(t) at token t, expects at least target_m(l)
    sum_t f_m(t) labels l, and each that is missing costs the criterion's weight. The dual problem
    is that of the multipliers (Ganchev, Graca, Gillenwater and Taskar, JMLR 2010, section 2)

        min over 0 <= multipliers <= weights  of  sum_i w_i log Z_i(multipliers) - multipliers . b

    with b the least counts. As log Z is convex in scores and multipliers together, this minimum is
    convex in the scores.

    Parameters
    ----------
    inference : Inference
    node, edge : Criteria
        On labels, and on label pairs; a target of 0 asks for nothing.
    multipliers : ndarray, default=None
        Of all targets, one after the other; None before they are settled, which are zeros.
    """

    couples = True

    def __init__(
        self,
        inference: Inference,
        node: Criteria,
        edge: Criteria,
        multipliers: np.ndarray | None = None,
    ) -> None:
        self.inference = inference
        self.node = node
        self.edge = edge
        size = node.target.size + edge.target.size
        self.multipliers = np.zeros(size) if multipliers is None else multipliers

    def with_multipliers(self, multipliers: np.ndarray) -> NearestLabellings:
        """The same, settled at these."""
        return NearestLabellings(self.inference, self.node, self.edge, multipliers)

    def statistics(self, batch: Batch) -> np.ndarray:
        """Weighted sum of log Z, and expected counts of all criteria."""
        used = self.used(batch)
        log_Z = np.empty(len(used))
        shapes = (self.node.target.shape, self.edge.target.shape)
        fired = fired_of(batch.evidence)
        theta = self.tilted(batch)
        counts = expected(self.inference, theta, batch.structure, used, fired, shapes, log_Z)
        return np.concatenate([[used @ log_Z], counts])

    def settle(
        self, collect: Callable[[Loss], np.ndarray], start: Loss | None = None
    ) -> tuple[float, NearestLabellings]:
        """Minus the multipliers times the least counts, and log Z with these multipliers."""
        targets = np.concatenate([self.node.target.ravel(), self.edge.target.ravel()])
        asked = np.flatnonzero(targets > 0)
        most = np.concatenate([np.repeat(c.weight, c.target.shape[1]) for c in self._criteria])
        given = start if isinstance(start, NearestLabellings) else self
        multipliers = np.where(targets > 0, np.clip(given.multipliers, 0.0, most), 0.0)
        least = targets * self._totals(collect(self.with_multipliers(multipliers))[1:])
        scale = max(float(least.sum()), np.finfo(float).tiny)

        def dual(chosen: np.ndarray) -> tuple[float, np.ndarray]:
            multipliers[asked] = chosen
            log_Z, *counts = collect(self.with_multipliers(multipliers.copy()))
            slope = np.array(counts)[asked] - least[asked]
            return (log_Z - float(chosen @ least[asked])) / scale, slope / scale

        if len(asked):
            options = {"maxiter": MAX_ITER, "gtol": TOL, "ftol": 0.0}
            bounds = np.column_stack([np.zeros(len(asked)), most[asked]])
            x0 = multipliers[asked]
            best = minimize(dual, x0, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            multipliers[asked] = best.x
        return -float(multipliers @ least), self.with_multipliers(multipliers)

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """log Z where criteria fire, else 0; derivatives are marginals."""
        self.inference.marginals(self.tilted(batch), batch.structure, self.used(batch), out, value)

    def scaled(self, share: float) -> NearestLabellings:
        """With a share of the price of what is missing."""
        node, edge = (c._replace(weight=share * c.weight) for c in self._criteria)
        return NearestLabellings(self.inference, node, edge)

    def used(self, batch: Batch) -> np.ndarray:
        """Weights of the examples in which criteria fire; elsewhere the nearest is the model."""
        where = fires(fired_of(batch.evidence), batch.structure)
        used: np.ndarray = np.where(where, batch.weight, 0.0)
        return used

    def tilted(self, batch: Batch) -> Potentials:
        """The potentials with the multipliers of what fires."""
        potentials, evidence, structure, _ = batch
        fired = fired_of(evidence)
        node, edge = np.split(self.multipliers, [self.node.target.size])
        of_nodes = zeros(potentials).node
        spread(fired.node, node.reshape(self.node.target.shape), of_nodes)
        tilted = potentials._replace(node=_sum(potentials.node, of_nodes))
        if fired.has_edges:
            rows = CliqueRows(fired.edge, edge.reshape(self.edge.target.shape))
            first, *wider = potentials.cliques
            tilted = tilted._replace(cliques=(_sum(first, rows.by_clique(structure)), *wider))
        return tilted

    @property
    def _criteria(self) -> tuple[Criteria, Criteria]:
        return self.node, self.edge

    def _totals(self, counts: np.ndarray) -> np.ndarray:
        """How often each criterion fires, in the place of each of its counts."""
        parts = np.split(counts, [self.node.target.size])
        totals = []
        for part, criteria in zip(parts, self._criteria, strict=True):
            size = criteria.target.shape[1]
            totals.append(np.repeat(part.reshape(-1, size).sum(axis=1), size))
        return np.concatenate(totals)


class PosteriorRegularisation(Loss):
    """The least KL(q || p) plus penalty of a distribution q of labellings: log Z of the model less
    that of the nearest one.

    Its derivative is a difference of marginals, since the multipliers are those of a minimum. It is
    a difference of convex functions, too, and expectation maximisation is then the algorithm of the
    paper: find q, then move p towards it.

    Parameters
    ----------
    nearest : NearestLabellings
    """

    convex = False
    couples = True
    has_parts = True

    def __init__(self, nearest: NearestLabellings) -> None:
        self.nearest = nearest

    def statistics(self, batch: Batch) -> np.ndarray:
        """Those of the nearest labellings."""
        return self.nearest.statistics(batch)

    def settle(
        self, collect: Callable[[Loss], np.ndarray], start: Loss | None = None
    ) -> tuple[float, Loss]:
        """With the multipliers that are best for these potentials."""
        before = start.nearest if isinstance(start, PosteriorRegularisation) else None
        value, nearest = self.nearest.settle(collect, before)
        return -value, PosteriorRegularisation(nearest)

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """KL(q || p) and penalty, less what the multipliers make of the least counts."""
        log_Z = np.empty(len(value))
        _OfFired(self.nearest)(batch, out, value)
        self.nearest(batch._replace(weight=-batch.weight), out, log_Z)
        value -= log_Z

    def parts(self) -> tuple[Loss, Loss]:
        """log Z of the model and of the nearest labellings."""
        return _OfFired(self.nearest), self.nearest

    def scaled(self, share: float) -> PosteriorRegularisation:
        """With a share of the price of what is missing."""
        return PosteriorRegularisation(self.nearest.scaled(share))


class _OfFired(Loss):
    """log Z of the model in the examples in which criteria fire, else 0."""

    def __init__(self, nearest: NearestLabellings) -> None:
        self.nearest = nearest

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        used = self.nearest.used(batch)
        LogPartition(self.nearest.inference)(batch._replace(weight=used), out, value)


def _sum(scores: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """In the type of the scores, since all tables of potentials have the same."""
    total: np.ndarray = (scores + rewards).astype(scores.dtype, copy=False)
    return total
