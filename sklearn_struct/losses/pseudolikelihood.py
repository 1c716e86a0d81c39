"""Minus the log-probabilities of single labels given those of all other nodes, on any structure."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import padded
from sklearn_struct.compiled.softmax import softmax
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.graphs.flat_scores import FlatScores, add_to, flat_scores
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.places_of_nodes import (
    Places,
    labelled_scores,
    places_of,
    scores_of_labels,
)

__all__ = ["Pseudolikelihood"]

EXP = 4  # an exponential takes as long as so many sums


class Pseudolikelihood(Loss):
    """Besag's pseudolikelihood (Statistician 1975; P1 5.23), sum_i -log p(y_i | y of the others).

    All that a label depends on are the labels in the cliques of its node, which may be of any size.
    The cost is linear in the number of labels and of these cliques. No inference is needed.

    `Conditionals` is the same for chains, where labels on one side alone may be given. It reads
    tables where they stand; copies of those of single edges would take eight times as long there
    (22 labels; a few ten per cent more where edges share one).
    """

    twice_differentiable = True

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative is probabilities minus indicators."""
        potentials, evidence, structure, weight = batch
        y = evidence.known_labels()
        scores = flat_scores(potentials)
        into = flat_scores(out, empty=True)
        places = places_of(structure, scores.node.shape[1])
        where = labelled_scores(scores, structure, y)
        where_out = labelled_scores(into, structure, y)
        examples = structure.offsets, weight
        patiently(
            lambda: _conditionals(scores, places, (y, where, where_out), examples, into, value),
            _n_steps(scores, places),
        )
        add_to(out, into)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """Covariances with the scores of the direction."""
        potentials, evidence, structure, weight = batch
        y = evidence.known_labels()
        scores = flat_scores(potentials)
        towards = flat_scores(direction)
        into = flat_scores(out, empty=True)
        places = places_of(structure, into.node.shape[1])
        where = labelled_scores(scores, structure, y), labelled_scores(towards, structure, y)
        labels = y, *where, labelled_scores(into, structure, y)
        examples = structure.offsets, weight
        patiently(
            lambda: _covariances((scores, towards), places, labels, examples, into),
            2 * _n_steps(into, places),
        )
        add_to(out, into)


def _n_steps(scores: FlatScores, places: Places) -> int:
    n_steps: int = EXP * scores.node.size + 2 * len(places.clique) * scores.node.shape[1]
    return n_steps


@kernel
def _conditionals(
    scores: FlatScores,
    places: Places,
    labels: tuple[np.ndarray, np.ndarray, np.ndarray],
    examples: tuple[np.ndarray, np.ndarray],
    out: FlatScores,
    value: np.ndarray,
) -> None:
    y, where, where_out = labels
    offsets, weight = examples
    row = np.empty(padded(scores.node.shape[1]))
    for i in range(len(weight)):
        loss = 0.0
        product = 1.0
        for v in range(offsets[i], offsets[i + 1] if weight[i] != 0.0 else offsets[i]):
            scores_of_labels(scores, places, (v, y[v]), where, -np.inf, row)
            score = row[y[v]]
            top, mass = softmax(row)
            if score > -np.inf:
                loss += top - score
                # at least 1 each, as the best label adds exp(0), so that the product can only grow
                product *= mass
            else:
                # a true label that is forbidden has probability 0; -inf - -inf would be nan
                loss = np.inf
            if not product < 1e100:  # a logarithm now and then instead of one a node
                loss = loss + np.log(product)
                product = 1.0
            _add(row, places, (v, y[v]), where_out, (weight[i], weight[i]), out)
        value[i] = loss + np.log(product)


@kernel
def _covariances(
    scores: tuple[FlatScores, FlatScores],
    places: Places,
    labels: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    examples: tuple[np.ndarray, np.ndarray],
    out: FlatScores,
) -> None:
    potentials, direction = scores
    y, where, where_direction, where_out = labels
    offsets, weight = examples
    row = np.empty(padded(out.node.shape[1]))
    slope = np.empty(len(row))
    for i in range(len(weight)):
        for v in range(offsets[i], offsets[i + 1] if weight[i] != 0.0 else offsets[i]):
            scores_of_labels(potentials, places, (v, y[v]), where, -np.inf, row)
            # in a direction -inf would be 0 times infinity
            scores_of_labels(direction, places, (v, y[v]), where_direction, 0.0, slope)
            softmax(row)
            mean = 0.0
            for k in range(len(row)):
                mean += row[k] * slope[k]
            for k in range(len(row)):
                row[k] *= slope[k] - mean
            _add(row, places, (v, y[v]), where_out, (weight[i], 0.0), out)


@kernel
def _add(
    row: np.ndarray,
    places: Places,
    node: tuple[int, int],
    where: np.ndarray,
    weights: tuple[float, float],
    out: FlatScores,
) -> None:
    """Add a weighted row to the sums of all scores that it is made of; take the labelling off."""
    tables = out.tables
    of_nodes = out.node
    v, label = node
    weight, of_labels = weights
    K = of_nodes.shape[1]
    for k in range(K):
        row[k] *= weight
    row[label] -= of_labels
    for k in range(K):
        of_nodes[v, k] += row[k]
    for e in range(places.bounds[v], places.bounds[v + 1]):
        stride = places.stride[e]
        first = where[places.clique[e]] - stride * label
        for k in range(K):
            tables[first + stride * k] += row[k]
