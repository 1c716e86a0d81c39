"""-log p(block | all other labels) and its derivatives, against enumeration (finite differences:
the contract).
"""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from graphs import (
    PAIRS,
    QUADS,
    SHARED_TRIPLES,
    Cliques,
    Enumeration,
    four_graphs,
    grid,
    random_forest,
    random_graphs,
)

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.graphs.chosen import ChosenByGraph
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.losses.base import Batch
from sklearn_struct.losses.blocks import Blocks
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.grown_blocks import blocks_of, given_blocks
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.max_margin import MaxMargin
from sklearn_struct.losses.pseudolikelihood import Pseudolikelihood

LIKELIHOOD = LogLikelihood(ChosenByGraph(JunctionTree()))
LOSS = Blocks(LIKELIHOOD, 2)
FAMILIES = (PAIRS, SHARED_TRIPLES, QUADS)

test_contract = contracts.loss(LOSS)
test_contract_on_graphs = contracts.loss(LOSS, four_graphs)
test_contract_of_three = contracts.loss(Blocks(LIKELIHOOD, 3), four_graphs)


def problem(seed, families=FAMILIES, K=3, density=0.7):
    rng = np.random.default_rng(seed)
    potentials, structure = random_graphs(rng, families=families, K=K, density=density)
    y = rng.integers(K, size=len(potentials.node)).astype(np.int32)
    weight = rng.choice([0.5, 1.0, 2.0], size=structure.n_examples)
    return potentials, y, structure, weight


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_by_enumeration(size, seed):
    """With cliques of two, three and four nodes, any of whose nodes are outside."""
    potentials, y, structure, weight = problem(seed)
    value, _ = contracts.evaluate(Blocks(LIKELIHOOD, size), potentials, y, structure, weight)
    blocks = blocks_of(structure, size)
    expected = np.zeros(structure.n_examples)
    of_blocks = np.split(blocks.tokens, blocks.structure.offsets[1:-1])
    for nodes, i in zip(of_blocks, blocks.example, strict=True):
        every = Enumeration(potentials, structure, i)
        labels = y[every.nodes]
        outside = ~np.isin(every.nodes, nodes)
        alike = np.all(every.labellings[:, outside] == labels[outside], axis=1)
        right = np.all(every.labellings == labels, axis=1)
        expected[i] += np.logaddexp.reduce(every.scores[alike]) - every.scores[right][0]
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("of_all", [True, False], ids=["whole graphs", "single nodes"])
@pytest.mark.parametrize("shared", [True, False])
def test_the_largest_and_the_smallest_blocks(of_all, shared):
    """The likelihood, and the pseudolikelihood: value, derivative and second derivative."""
    families = (Cliques(2, shared), Cliques(3, shared), Cliques(2, not shared))
    potentials, y, structure, weight = problem(0, families)
    direction, _, _, _ = problem(1, families)
    loss, same = (
        (Blocks(LIKELIHOOD, 6), LIKELIHOOD)
        if of_all
        else (Blocks(LIKELIHOOD, 1), Pseudolikelihood())
    )
    value, out = contracts.evaluate(loss, potentials, y, structure, weight)
    expected_value, expected = contracts.evaluate(same, potentials, y, structure, weight)
    np.testing.assert_allclose(value, expected_value, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-10)
    out, expected = (
        contracts.second_derivative(one, potentials, direction, y, structure, weight)
        for one in (loss, same)
    )
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-10)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_blocks_are_connected_and_part_the_nodes(size):
    _, structure = random_forest(np.random.default_rng(0), sizes=(9, 0, 1, 12))
    blocks = blocks_of(structure, size)
    assert sorted(blocks.tokens.tolist()) == list(range(22))
    offsets = blocks.structure.offsets
    assert np.diff(offsets).min() >= 1
    assert np.diff(offsets).max() <= size
    # a tree has one edge less than nodes
    assert len(blocks.structure.families[0].nodes) == 22 - len(blocks.example)
    for i, first, stop in zip(blocks.example, offsets[:-1], offsets[1:]):
        nodes = blocks.tokens[first:stop]
        assert structure.offsets[i] <= nodes.min()
        assert nodes.max() < structure.offsets[i + 1]
        assert np.all(np.diff(nodes) > 0)
    assert blocks_of(structure, size) is blocks


@pytest.mark.parametrize("number", [[0, 1, 0, 2, 1, 0, 0, 0, 1, 1, 0, 0], [3] * 12, range(12)])
def test_given_blocks_by_enumeration(number):
    """Connected or not; whole graphs are the likelihood, single nodes the pseudolikelihood."""
    number = np.array(number)
    potentials, y, structure, weight = problem(0)
    given = Evidence(y, block=number)
    value = np.empty(structure.n_examples)
    out = contracts.zeros(potentials)
    LOSS(Batch(potentials, given, structure, weight), out, value)
    expected = np.zeros(structure.n_examples)
    for i in range(structure.n_examples):
        every = Enumeration(potentials, structure, i)
        labels = y[every.nodes]
        own = number[every.nodes]
        right = np.all(every.labellings == labels, axis=1)
        for block in set(own.tolist()):
            outside = own != block
            alike = np.all(every.labellings[:, outside] == labels[outside], axis=1)
            expected[i] += np.logaddexp.reduce(every.scores[alike]) - every.scores[right][0]
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    if len(set(number.tolist())) in (1, 12):
        same = LIKELIHOOD if number[0] == 3 else Pseudolikelihood()
        _, least = contracts.evaluate(same, potentials, y, structure, weight)
        np.testing.assert_allclose(contracts.flat(out), contracts.flat(least), atol=1e-10)


def test_given_blocks_are_made_once():
    _, y, structure, _ = problem(0)
    number = np.arange(12) % 3
    blocks = given_blocks(structure, number)
    assert given_blocks(structure, number.copy()) is blocks
    assert given_blocks(structure, 2 - number) is not blocks
    assert Evidence(y, block=number).part(slice(3, 5)).block.tolist() == [0, 1]


def test_blocks_of_a_grid_are_round():
    """Squares of four, which have four edges; all but few of them on a grid of even sides."""
    _, structure = grid(np.random.default_rng(0), 6, 6, 2)
    blocks = blocks_of(structure, 4)
    assert len(blocks.example) == 9
    np.testing.assert_array_equal(np.diff(blocks.structure.families[0].offsets), 4)


def test_larger_blocks_are_nearer_to_the_likelihood():
    """The gradient at the weights that made the labels: its noise shrinks to that of the
    likelihood.
    """
    rng = np.random.default_rng(0)
    potentials, structure = grid(rng, 3, 4, 2)
    labels = np.empty(12, np.int32)
    noise = dict.fromkeys([1, 4, 12], 0.0)
    for _ in range(300):
        JunctionTree().sample(potentials, structure, rng.random(12), labels, np.empty(1))
        for size in noise:
            loss = Blocks(LIKELIHOOD, size)
            _, out = contracts.evaluate(loss, potentials, labels, structure, np.ones(1))
            # relative to its own scale, the inverse of a curvature
            direction = potentials._replace(node=np.zeros((12, 2)))
            H = contracts.second_derivative(
                loss, potentials, direction, labels, structure, np.ones(1)
            )
            curvature = np.sum(H.cliques[0] * direction.cliques[0])
            slope = np.sum(out.cliques[0] * direction.cliques[0])
            noise[size] += slope**2 / curvature**2
    assert noise[1] > noise[4] > noise[12]


def test_another_loss_of_blocks():
    """Flags are those of the loss inside."""
    hinge = Blocks(MaxMargin(JunctionTree(), margin=1.0), 2)
    assert hinge.convex
    assert not hinge.twice_differentiable
    contracts.check_derivative(hinge, np.random.default_rng(0), True, four_graphs)


def test_float32_potentials():
    potentials, y, structure, weight = problem(0)
    single = contracts.mapped(lambda table: table.astype(np.float32), potentials)
    double = contracts.mapped(lambda table: table.astype(np.float64), single)
    value, out = contracts.evaluate(LOSS, single, y, structure, weight)
    same_value, same = contracts.evaluate(LOSS, double, y, structure, weight)
    np.testing.assert_allclose(value, same_value, rtol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(same), atol=1e-12)


def test_a_table_for_all_and_derivatives_for_each():
    potentials, y, structure, weight = problem(0, (Cliques(2, True), Cliques(3, True)))
    _, out = contracts.evaluate(LOSS, potentials, y, structure, weight)
    each = Potentials(
        np.zeros(potentials.node.shape),
        tuple(
            np.zeros((len(family.nodes), table.shape[1]))
            for family, table in zip(structure.families, potentials.cliques)
        ),
    )
    contracts.evaluate(LOSS, potentials, y, structure, weight, each)
    for table, sums in zip(each.cliques, out.cliques, strict=True):
        np.testing.assert_allclose(table.sum(axis=0), sums[0], atol=1e-12)


def test_certain_and_forbidden_labels():
    node = np.array([[0.0, -np.inf], [-np.inf, 0.0]] * 2)
    y = np.array([0, 1, 1, 1], dtype=np.int32)
    _, structure = random_graphs(np.random.default_rng(0), sizes=(2, 2), K=2, density=0.5)
    potentials = Potentials(node, (np.zeros((1, 4)),))
    for size in (1, 2):
        loss = Blocks(LIKELIHOOD, size)
        value, out = contracts.evaluate(loss, potentials, y, structure, np.ones(2))
        assert value.tolist() == [0.0, np.inf]
        assert not np.isnan(contracts.flat(out)).any()
