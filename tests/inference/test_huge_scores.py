"""Scores as large as estimators let through: a labelling is certain or impossible, and all
inferences agree on it.
"""

from __future__ import annotations

import contracts
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials, chain, zeros
from sklearn_struct.estimators.fitting.finite_scores import TERMS
from sklearn_struct.inference.chains.beam import beam
from sklearn_struct.inference.chains.chain import Chain

LENGTHS = [1, 2, 3, 9, 30]

exact = Chain()


def potentials(rng, K, order, shared, dtype=np.float64):
    """Of both signs, each a random share of the largest, and a structure."""
    structure = chain(np.cumsum([0, *LENGTHS]), order)
    largest = np.finfo(dtype).max / TERMS
    shapes = (sum(LENGTHS), K), *contracts.clique_shapes(structure, K, shared)
    node, *cliques = ((rng.uniform(-1, 1, size=s) * largest).astype(dtype) for s in shapes)
    return Potentials(node, tuple(cliques)), structure


def scaled_down(theta):
    """The same with numbers of usual size: the best labelling stays, as this is exact."""
    exponent = {8: -1015, 4: -118}[theta.node.dtype.itemsize]
    return contracts.mapped(lambda table: np.ldexp(table.astype(np.float64), exponent), theta)


def best(theta, structure):
    labels = np.empty(len(theta.node), np.int32)
    exact.argmax(theta, structure, labels)
    return labels


CASES = [(K, order, shared) for K in (2, 3, 9) for order in (1, 2) for shared in (True, False)]


@pytest.mark.parametrize(("K", "order", "shared"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_best_labelling(K, order, shared, dtype):
    rng = np.random.default_rng(K)
    for _ in range(5):
        theta, structure = potentials(rng, K, order, shared, dtype)
        expected = best(scaled_down(theta), structure)
        np.testing.assert_array_equal(best(theta, structure), expected)
        found = np.empty_like(expected)
        beam(theta, structure, K * K, found)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("K", "order", "shared"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_marginals_are_certain(K, order, shared, dtype):
    rng = np.random.default_rng(K)
    theta, structure = potentials(rng, K, order, shared, dtype)
    out = zeros(theta)
    n = len(LENGTHS)
    with np.errstate(over="ignore"):
        exact.marginals(theta, structure, np.ones(n), out, np.empty(n))
    expected = np.eye(K)[best(scaled_down(theta), structure)]
    np.testing.assert_array_equal(out.node, expected)


@pytest.mark.parametrize(("K", "order", "shared"), CASES)
def test_the_first_of_n_best_and_a_sample(K, order, shared):
    rng = np.random.default_rng(K)
    theta, structure = potentials(rng, K, order, shared)
    expected = best(scaled_down(theta), structure)
    labels = np.empty((2, len(expected)), np.int32)
    score = np.empty((2, len(LENGTHS)))
    exact.nbest(theta, structure, labels, score)
    np.testing.assert_array_equal(labels[0], expected)
    exact.sample(theta, structure, rng.random(len(expected)), labels[1], score[1])
    np.testing.assert_array_equal(labels[1], expected)


@pytest.mark.parametrize(("K", "order", "shared"), CASES)
def test_whatever_the_scores_are_labels_are_labels(K, order, shared):
    """Estimators let no such scores through; if some came here all the same, no index would lead
    out of an array.
    """
    rng = np.random.default_rng(K)
    for _ in range(30):
        theta, structure = potentials(rng, K, order, shared)
        for table in contracts.arrays_of(theta):
            strange = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308], size=table.shape)
            table[:] = np.where(
                rng.random(table.shape) < rng.choice([0.05, 0.5, 1.0]), strange, table
            )
        n = len(theta.node)
        labels = np.zeros((2, n), np.int32)
        score = np.empty((2, len(LENGTHS)))
        decodings = [
            lambda: exact.argmax(theta, structure, labels[0]),  # noqa: B023 - called at once
            lambda: beam(theta, structure, 2, labels[0]),  # noqa: B023
            lambda: beam(theta, structure, K * K, labels[0]),  # noqa: B023
            lambda: exact.nbest(theta, structure, labels, score),  # noqa: B023
            lambda: exact.sample(theta, structure, rng.random(n), labels[0], score[0]),  # noqa: B023
        ]
        for decode in decodings:
            labels[:] = 0
            decode()
            assert np.all((labels >= 0) & (labels < K))
