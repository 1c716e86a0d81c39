"""-log p(y_i | y of the other nodes) and its derivatives, against enumeration (finite differences:
the contract).
"""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from graphs import PAIRS, QUADS, SHARED_TRIPLES, Enumeration, four_graphs, grid, random_graphs

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.losses.conditionals import Conditionals
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.pseudolikelihood import Pseudolikelihood

LOSS = Pseudolikelihood()

test_contract = contracts.loss(LOSS)
test_contract_of_second_order = contracts.loss(LOSS, order=2)
test_contract_on_graphs = contracts.loss(LOSS, four_graphs)


def by_enumeration(potentials, structure, y, i):
    """The value of an example, from the scores of all its labellings."""
    every = Enumeration(potentials, structure, i)
    labels = y[every.nodes]
    cost = 0.0
    for t in range(len(labels)):
        others = np.delete(np.arange(len(labels)), t)
        alike = np.all(every.labellings[:, others] == labels[others], axis=1)
        right = alike & (every.labellings[:, t] == labels[t])
        cost += np.logaddexp.reduce(every.scores[alike]) - every.scores[right][0]
    return cost


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_by_enumeration(scale):
    """With cliques of two, three and four nodes, whose tables are their own or shared."""
    rng = np.random.default_rng(0)
    families = (PAIRS, SHARED_TRIPLES, QUADS)
    potentials, structure = random_graphs(rng, families=families)
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    y = rng.integers(3, size=len(potentials.node)).astype(np.int32)
    value, _ = contracts.evaluate(LOSS, potentials, y, structure, np.ones(structure.n_examples))
    for i in range(structure.n_examples):
        expected = by_enumeration(potentials, structure, y, i)
        assert value[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("K", [1, 3, 9])
def test_on_chains_it_is_that_of_chains(K, shared, order):
    rng = np.random.default_rng(K)
    lengths = (5, 0, 1, 2, 7)
    weight = np.array([1.0, 2.0, 0.5, 0.0, 3.0])
    potentials, structure = contracts.random_chains(rng, lengths, K, shared, order)
    direction, _ = contracts.random_chains(rng, lengths, K, shared, order)
    y = rng.integers(K, size=15).astype(np.int32)
    value, out = contracts.evaluate(LOSS, potentials, y, structure, weight)
    same_value, same = contracts.evaluate(Conditionals(), potentials, y, structure, weight)
    np.testing.assert_allclose(value, same_value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(same), atol=1e-12)
    out, same = (
        contracts.second_derivative(loss, potentials, direction, y, structure, weight)
        for loss in (LOSS, Conditionals())
    )
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(same), atol=1e-12)


def test_nodes_without_neighbours_are_the_likelihood():
    rng = np.random.default_rng(0)
    potentials, structure = random_graphs(rng, families=(), sizes=(3, 0, 2))
    y = rng.integers(3, size=5).astype(np.int32)
    weight = np.array([1.0, 1.0, 2.0])
    value, out = contracts.evaluate(LOSS, potentials, y, structure, weight)
    likelihood = LogLikelihood(JunctionTree())
    same_value, same = contracts.evaluate(likelihood, potentials, y, structure, weight)
    np.testing.assert_allclose(value, same_value, rtol=1e-12)
    np.testing.assert_allclose(out.node, same.node, atol=1e-14)


def test_large_graphs():
    """Where the product of the normalisers would leave the range of floats: 3**2500."""
    potentials, structure = grid(np.random.default_rng(0), 50, 50, 3)
    potentials = contracts.mapped(lambda table: 0.01 * table, potentials)
    y = np.zeros(2500, np.int32)
    value, _ = contracts.evaluate(LOSS, potentials, y, structure, np.ones(1))
    assert value[0] == pytest.approx(2500 * np.log(3), rel=0.01)


def test_float32_potentials():
    rng = np.random.default_rng(0)
    potentials, y, structure = contracts.labelled_chains(rng, True, four_graphs)
    single = contracts.mapped(lambda table: table.astype(np.float32), potentials)
    double = contracts.mapped(lambda table: table.astype(np.float64), single)
    value, out = contracts.evaluate(LOSS, single, y, structure, np.ones(4))
    same_value, same = contracts.evaluate(LOSS, double, y, structure, np.ones(4))
    np.testing.assert_array_equal(value, same_value)
    np.testing.assert_array_equal(contracts.flat(out), contracts.flat(same))


@pytest.mark.parametrize("shared", [True, False])
def test_a_table_for_all_and_derivatives_for_each(shared):
    """What is shared in the scores need not be so in the derivatives, and the reverse."""
    potentials, y, structure = contracts.labelled_chains(
        np.random.default_rng(0), shared, four_graphs
    )
    weight = np.array([1.0, 1.0, 2.0, 0.5])
    _, out = contracts.evaluate(LOSS, potentials, y, structure, weight)
    other = Potentials(
        np.zeros(potentials.node.shape),
        tuple(
            np.zeros((len(family.nodes) if shared else 1, table.shape[1]))
            for family, table in zip(structure.families, potentials.cliques)
        ),
    )
    contracts.evaluate(LOSS, potentials, y, structure, weight, other)
    for table, sums in zip(out.cliques, other.cliques, strict=True):
        np.testing.assert_allclose(table.sum(axis=0), sums.sum(axis=0), atol=1e-12)


def test_certain_and_forbidden_labels():
    """0 for the only possible label, +inf for one that cannot be; where no label can be, too."""
    node = np.array([[0.0, -np.inf], [-np.inf, 0.0]] * 2 + [[-np.inf] * 2])
    y = np.array([0, 1, 1, 1, 0], dtype=np.int32)
    _, structure = random_graphs(np.random.default_rng(0), sizes=(2, 2, 1), K=2, density=0.5)
    potentials = Potentials(node, (np.zeros((1, 4)),))
    value, out = contracts.evaluate(LOSS, potentials, y, structure, np.ones(3))
    assert value.tolist() == [0.0, np.inf, np.inf]
    assert not out.node[:2].any()
    assert not np.isnan(contracts.flat(out)).any()
