"""Contrastive divergence: labellings that a few sweeps of Gibbs sampling make of the true one."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import padded
from sklearn_struct.compiled.softmax import softmax
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.graphs.flat_scores import FlatScores, flat_scores
from sklearn_struct.inference.labelling_scores import add_labelling
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.noise import key_of, uniform
from sklearn_struct.losses.places_of_nodes import (
    Places,
    labelled_scores,
    places_of,
    scores_of_labels,
)

__all__ = ["Contrastive"]

EXP = 4  # an exponential takes as long as so many sums


class Contrastive(Loss):
    """The rule of contrastive divergence (G. Hinton, Neural Computation 14, 2002; P1 5.4.3).

    The derivative is the indicators of a sampled labelling minus those of the true one, y. The
    sample is what `n_steps` sweeps of Gibbs sampling make of y, node after node. After many it is
    one of p(y | x), and the derivative that of -log p(y | x), with noise. No inference is needed.

    This derivative is not that of any function. The value is that of the pseudolikelihood, which
    one sweep goes down (A. Hyvarinen, IEEE Transactions on Neural Networks 18, 2007), to see how
    it goes.

    Parameters
    ----------
    n_steps : int, default=1
    seed : int, default=0
    """

    convex = False
    sampled = True

    def __init__(self, n_steps: int = 1, seed: int = 0) -> None:
        self.n_steps = n_steps
        self.seed = seed

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """Indicators of a sample minus those of the labels."""
        potentials, evidence, structure, weight = batch
        y = evidence.known_labels()
        scores = flat_scores(potentials)
        places = places_of(structure, scores.node.shape[1])
        where = labelled_scores(scores, structure, y)
        sample = y.copy()
        work = structure.offsets, weight, self.n_steps, np.uint64(self.seed)
        one_sweep = (EXP * scores.node.size) + 2 * len(places.clique) * scores.node.shape[1]
        # products of keys are meant to lose their highest bits
        with np.errstate(over="ignore"):
            patiently(
                lambda: _sample(scores, places, where, work, sample, value),
                (1 + self.n_steps) * one_sweep,
            )
        score = np.empty(len(weight))
        add_labelling(potentials, structure, sample, weight, out, score)
        add_labelling(potentials, structure, y, -weight, out, score)


@kernel
def _sample(
    scores: FlatScores,
    places: Places,
    where: np.ndarray,
    work: tuple[np.ndarray, np.ndarray, int, np.uint64],
    labels: np.ndarray,
    value: np.ndarray,
) -> None:
    """Sweep over the labels; the value is what they cost before."""
    offsets, weight, n_steps, seed = work
    K = scores.node.shape[1]
    bits = scores.node.view(np.uint64)
    table_bits = scores.tables.view(np.uint64)
    row = np.empty(padded(K))
    for i in range(len(weight)):
        lo = offsets[i]
        hi = offsets[i + 1] if weight[i] != 0.0 else lo
        key = seed
        loss = 0.0
        for v in range(lo, hi):
            key = key_of(key, bits[v])
            for e in range(places.bounds[v], places.bounds[v + 1]):
                o = where[places.clique[e]]
                key = key_of(key, table_bits[o : o + 1])
            scores_of_labels(scores, places, (v, labels[v]), where, -np.inf, row)
            score = row[labels[v]]
            top, mass = softmax(row)
            loss += top - score + np.log(mass) if score > -np.inf else np.inf
        value[i] = loss
        for s in range(n_steps):
            for v in range(lo, hi):
                scores_of_labels(scores, places, (v, labels[v]), where, -np.inf, row)
                softmax(row)
                left = uniform(key, s * (hi - lo) + v - lo)
                # rounding may leave something after the last label: then it stays
                old = labels[v]
                for k in range(K):
                    left -= row[k]
                    if left < 0.0:
                        labels[v] = k
                        break
                for e in range(places.bounds[v], places.bounds[v + 1]):
                    where[places.clique[e]] += places.stride[e] * (labels[v] - old)
