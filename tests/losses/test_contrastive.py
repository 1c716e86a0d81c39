"""Contrastive divergence: means over many seeds against enumeration."""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from graphs import PAIRS, SHARED_TRIPLES, Enumeration, four_graphs, random_graphs

from sklearn_struct.containers.structures import Potentials, columns_of
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.losses.contrastive import Contrastive
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.pseudolikelihood import Pseudolikelihood

N_SEEDS = 4000

# all but what asks that derivatives are those of values
CHECKS = [check for check in contracts.LOSS_CHECKS if check is not contracts.check_derivative]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("check", CHECKS)
def test_contract(check, shared):
    check(Contrastive(2, seed=3), np.random.default_rng(0), shared, four_graphs)


def problem():
    rng = np.random.default_rng(0)
    potentials, structure = random_graphs(rng, (4,), families=(PAIRS, SHARED_TRIPLES), density=1.0)
    potentials = contracts.mapped(lambda table: 0.5 * table, potentials)  # sweeps mix quickly
    return potentials, rng.integers(3, size=4).astype(np.int32), structure


def mean_and_error(potentials, y, structure, n_steps):
    """The mean derivative over many seeds, and its standard error."""
    every = []
    for seed in range(N_SEEDS):
        loss = Contrastive(n_steps, seed)
        every.append(
            contracts.flat(contracts.evaluate(loss, potentials, y, structure, np.ones(1))[1])
        )
    return np.mean(every, axis=0), np.std(every, axis=0) / np.sqrt(N_SEEDS)


def after_sweeps(potentials, y, structure, n_steps):
    """The distribution of what sweeps make of a labelling, over all labellings."""
    every = Enumeration(potentials, structure, 0)
    p = np.all(every.labellings == y, axis=1).astype(float)
    for _ in range(n_steps):
        for v in range(len(y)):
            rest = np.delete(every.labellings, v, axis=1)
            moved = np.zeros(len(p))
            for m in np.flatnonzero(p):
                alike = np.flatnonzero(np.all(rest == rest[m], axis=1))
                q = np.exp(every.scores[alike] - every.scores[alike].max())
                moved[alike] += p[m] * q / q.sum()
            p = moved
    return every, p


@pytest.mark.parametrize("n_steps", [1, 2])
def test_the_mean_derivative_by_enumeration(n_steps):
    potentials, y, structure = problem()
    every, p = after_sweeps(potentials, y, structure, n_steps)
    assert p.sum() == pytest.approx(1.0)
    nodes, cliques = every.means(p, potentials)
    expected = np.array(nodes)
    expected[np.arange(4), y] -= 1.0
    tables = []
    for table, means, family in zip(potentials.cliques, cliques, structure.families):
        rows = np.array(means)
        rows[np.arange(len(rows)), columns_of(y, family, 3)] -= 1.0
        tables.append(rows.sum(axis=0) if len(table) == 1 else rows)
    expected = np.concatenate([expected.ravel(), *(table.ravel() for table in tables)])
    mean, error = mean_and_error(potentials, y, structure, n_steps)
    assert np.all(np.abs(mean - expected) <= 5 * error + 10 / N_SEEDS)
    assert np.max(np.abs(expected)) > 0.2


def test_many_sweeps_are_the_likelihood():
    """What is left of the start is less than the noise; after one sweep it is not."""
    potentials, y, structure = problem()
    likelihood = LogLikelihood(JunctionTree())
    _, out = contracts.evaluate(likelihood, potentials, y, structure, np.ones(1))
    expected = contracts.flat(out)
    mean, error = mean_and_error(potentials, y, structure, 30)
    assert np.all(np.abs(mean - expected) <= 5 * error + 10 / N_SEEDS)
    mean, error = mean_and_error(potentials, y, structure, 1)
    assert np.any(np.abs(mean - expected) > 5 * error + 10 / N_SEEDS)


def test_the_value_is_that_of_the_pseudolikelihood():
    potentials, y, structure = contracts.labelled_chains(
        np.random.default_rng(0), True, four_graphs
    )
    value, _ = contracts.evaluate(Contrastive(), potentials, y, structure, np.ones(4))
    same, _ = contracts.evaluate(Pseudolikelihood(), potentials, y, structure, np.ones(4))
    np.testing.assert_allclose(value, same, rtol=1e-12)


def test_numbers_hang_on_the_seed_and_the_scores():
    """Another seed, node score or clique score gives other samples; equal arguments equal ones."""
    potentials, y, structure = problem()

    def sums(seed=0, node=0.0, table=0.0):
        moved = Potentials(
            potentials.node + node, (potentials.cliques[0] + table, potentials.cliques[1])
        )
        loss = Contrastive(40, seed)
        return contracts.flat(contracts.evaluate(loss, moved, y, structure, np.ones(1))[1])

    np.testing.assert_array_equal(sums(), sums())
    assert np.any(sums() != sums(seed=1))
    # constants change no probability
    assert any(np.any(sums() != sums(node=c)) for c in (1e-9, 2e-9, 3e-9))
    assert any(np.any(sums() != sums(table=c)) for c in (1e-9, 2e-9, 3e-9))


def test_forbidden_labels():
    """They are never drawn, and cost an infinity where they are true."""
    _, structure = random_graphs(np.random.default_rng(0), (2, 2), K=2, density=0.5)
    node = np.array([[0.0, -np.inf]] * 4)
    y = np.array([0, 0, 1, 0], np.int32)
    potentials = Potentials(node, (np.zeros((1, 4)),))
    value, out = contracts.evaluate(Contrastive(), potentials, y, structure, np.ones(2))
    assert value.tolist() == [0.0, np.inf]
    assert out.node.tolist() == [[0, 0], [0, 0], [1, -1], [0, 0]]
