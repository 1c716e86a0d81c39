"""SampleRank: of two labellings that a walk compares, the better one shall score higher."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.graphs.flat_scores import FlatScores, add_to, flat_scores
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.noise import key_of, uniform
from sklearn_struct.losses.places_of_nodes import Places, labelled_scores, places_of

__all__ = ["SampleRank"]


class SampleRank(Loss):
    """The rule of SampleRank (M. Wick et al., ICML 2011; P1 5.4.3), with Hamming's metric.

    A walk begins at the true labelling. At each node it proposes another label, all equally
    probable, and takes it with probability min(1, exp(the score that is gained)), as Metropolis
    and Hastings do. Of the two labellings that differ in this label, one may have the true one. If
    its score is not higher by 1, the pair costs what is missing; the derivative is the indicators
    of the worse labelling minus those of the better one. All steps are at equal scores, as those of
    an example are added up. No inference is needed.

    The value is the sum of these costs: that of one walk, which other scores change.

    Parameters
    ----------
    n_steps : int, default=1
        Proposals at each node.
    seed : int, default=0
    """

    convex = False
    sampled = True

    def __init__(self, n_steps: int = 1, seed: int = 0) -> None:
        self.n_steps = n_steps
        self.seed = seed

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The sums over all steps of a walk."""
        potentials, evidence, structure, weight = batch
        y = evidence.known_labels()
        scores = flat_scores(potentials)
        into = flat_scores(out, empty=True)
        places = places_of(structure, scores.node.shape[1])
        where = labelled_scores(scores, structure, y), labelled_scores(into, structure, y)
        work = structure.offsets, weight, self.n_steps, np.uint64(self.seed)
        labels = y, y.copy()
        # products of keys are meant to lose their highest bits
        with np.errstate(over="ignore"):
            patiently(
                lambda: _walk(scores, places, where, work, labels, into, value),
                self.n_steps * (20 * len(y) + 4 * len(places.clique)) + scores.node.size,
            )
        add_to(out, into)


@kernel
def _walk(
    scores: FlatScores,
    places: Places,
    where: tuple[np.ndarray, np.ndarray],
    work: tuple[np.ndarray, np.ndarray, int, np.uint64],
    labels: tuple[np.ndarray, np.ndarray],
    out: FlatScores,
    value: np.ndarray,
) -> None:
    here, here_out = where
    offsets, weight, n_steps, seed = work
    y, now = labels
    K = scores.node.shape[1]
    bits = scores.node.view(np.uint64)
    table_bits = scores.tables.view(np.uint64)
    for i in range(len(weight)):
        lo = offsets[i]
        # with one label there is nothing to propose
        hi = offsets[i + 1] if weight[i] != 0.0 and K > 1 else lo
        key = seed
        for v in range(lo, hi):
            key = key_of(key, bits[v])
            for e in range(places.bounds[v], places.bounds[v + 1]):
                o = here[places.clique[e]]
                key = key_of(key, table_bits[o : o + 1])
        cost = 0.0
        for s in range(n_steps):
            for v in range(lo, hi):
                step = 2 * (s * (hi - lo) + v - lo)
                old = now[v]
                other = min(int(uniform(key, step) * (K - 1)), K - 2)
                other += other >= old
                gain = _gain(scores, places, v, (old, other), here)
                if y[v] == old or y[v] == other:
                    worth = gain if y[v] == other else -gain
                    # also where a forbidden label makes it inf - inf
                    if not worth >= 1.0:
                        cost += 1.0 - worth
                        better = weight[i] if y[v] == old else -weight[i]
                        _add(out, places, v, (old, other), here_out, better)
                if gain >= 0.0 or uniform(key, step + 1) < np.exp(gain):
                    now[v] = other
                    for e in range(places.bounds[v], places.bounds[v + 1]):
                        moved = places.stride[e] * (other - old)
                        here[places.clique[e]] += moved
                        here_out[places.clique[e]] += moved
        value[i] = cost


@kernel
def _gain(
    scores: FlatScores, places: Places, v: int, labels: tuple[int, int], where: np.ndarray
) -> float:
    """By how much the score is higher with the other label of a node."""
    tables = scores.tables
    old, other = labels
    gain: float = scores.node[v, other] - scores.node[v, old]
    for e in range(places.bounds[v], places.bounds[v + 1]):
        o = where[places.clique[e]]
        gain += tables[o + places.stride[e] * (other - old)] - tables[o]
    return gain


@kernel
def _add(
    out: FlatScores,
    places: Places,
    v: int,
    labels: tuple[int, int],
    where: np.ndarray,
    weight: float,
) -> None:
    """Add a weight to the indicators of the other label of a node, and take it from the old one."""
    tables = out.tables
    old, other = labels
    out.node[v, other] += weight
    out.node[v, old] -= weight
    for e in range(places.bounds[v], places.bounds[v + 1]):
        o = where[places.clique[e]]
        tables[o + places.stride[e] * (other - old)] += weight
        tables[o] -= weight
