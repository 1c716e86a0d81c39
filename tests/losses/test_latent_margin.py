"""The hinge of labels that are known in part, against enumeration of all labellings."""

from __future__ import annotations

from itertools import product

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS

from sklearn_struct.containers.structures import Potentials, zeros
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.losses.base import Batch
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.latent_margin import LatentMargin
from sklearn_struct.losses.max_margin import MaxMargin

N = 4
K = 3
COST = np.array([[0.0, 2.0, 1.0], [0.5, 0.0, 3.0], [1.0, 0.25, 0.0]])


def example(seed):
    """A graph with a cycle; masks that allow at least one label."""
    rng = np.random.default_rng(seed)
    potentials, structure = graphs.random_graphs(rng, (N,), K, (PAIRS,), density=1.5)
    allowed = rng.random((N, K)) < 0.5
    allowed[np.arange(N), rng.integers(0, K, N)] = True
    return potentials, structure, allowed


def evaluated(loss, potentials, structure, evidence):
    out = zeros(potentials, shared=False)
    value = np.empty(1)
    loss(Batch(potentials, evidence, structure, np.ones(1)), out, value)
    return value[0], out


def enumerated(potentials, structure, allowed, cost):
    """The best score with costs among all labellings, less the best one of allowed ones."""
    inference = JunctionTree()
    best = -np.inf
    best_allowed = -np.inf
    for labels in product(range(K), repeat=N):
        y = np.array(labels, np.int32)
        score = inference.scores(potentials, structure, y)[0]
        of_nodes = [min(cost[t, y[i]] for t in np.flatnonzero(allowed[i])) for i in range(N)]
        best = max(best, score + sum(of_nodes))
        if all(allowed[i, y[i]] for i in range(N)):
            best_allowed = max(best_allowed, score)
    return best - best_allowed


@pytest.mark.parametrize("cost", [None, COST], ids=["hamming", "matrix"])
@pytest.mark.parametrize("seed", range(8))
def test_value_by_enumeration(cost, seed):
    potentials, structure, allowed = example(seed)
    loss = LatentMargin(JunctionTree(), cost)
    value, _ = evaluated(loss, potentials, structure, Evidence(allowed=allowed))
    costs = 1.0 - np.eye(K) if cost is None else cost
    assert value == pytest.approx(enumerated(potentials, structure, allowed, costs), abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_derivative_is_that_of_differences(seed):
    potentials, structure, allowed = example(seed)
    loss = LatentMargin(JunctionTree(), COST)
    evidence = Evidence(allowed=allowed)
    _, slope = evaluated(loss, potentials, structure, evidence)
    rng = np.random.default_rng(seed)
    direction = contracts.mapped(lambda table: rng.normal(size=table.shape), potentials)
    step = 1e-6
    values = []
    for sign in (1, -1):
        tables = zip(potentials.cliques, direction.cliques, strict=True)
        moved = Potentials(
            potentials.node + sign * step * direction.node,
            tuple(table + sign * step * way for table, way in tables),
        )
        values.append(evaluated(loss, moved, structure, evidence)[0])
    along = sum(
        np.sum(a * b)
        for a, b in zip(contracts.arrays_of(slope), contracts.arrays_of(direction), strict=True)
    )
    assert along == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-6)


def test_of_known_labels_it_is_the_hinge():
    potentials, structure, _ = example(0)
    y = np.array([0, 2, 1, 1], np.int32)
    allowed = np.eye(K, dtype=bool)[y]
    latent = LatentMargin(JunctionTree(), COST)
    value, slope = evaluated(latent, potentials, structure, Evidence(allowed=allowed))
    hinge = MaxMargin(JunctionTree(), 1.0, COST)
    expected, of_hinge = evaluated(hinge, potentials, structure, Evidence(y))
    assert value == pytest.approx(expected, abs=1e-12)
    for a, b in zip(contracts.arrays_of(slope), contracts.arrays_of(of_hinge), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_any_completion_lies_above_and_the_best_one_touches(seed):
    potentials, structure, allowed = example(seed)
    loss = LatentMargin(JunctionTree(), COST)
    evidence = Evidence(allowed=allowed)
    value, _ = evaluated(loss, potentials, structure, evidence)
    batch = Batch(potentials, evidence, structure, np.ones(1))
    best = loss.completed(batch)
    assert np.all(allowed[np.arange(N), best])
    for labels in product(range(K), repeat=N):
        y = np.array(labels, np.int32)
        if np.all(allowed[np.arange(N), y]):
            completed = evidence._replace(labels=y)
            above, _ = evaluated(loss.of_completed(), potentials, structure, completed)
            assert above >= value - 1e-10
            if np.array_equal(y, best):
                assert above == pytest.approx(value, abs=1e-10)
