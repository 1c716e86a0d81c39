"""sum_t -omega_t log p(y_t | x) and its gradient, against enumeration (finite differences: the
contract).
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from graphs import PAIRS, four_graphs, random_graphs

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.pointwise import TINY, Pointwise

LOSS = Pointwise(Chain())
LIKELIHOOD = LogLikelihood(Chain())


class Weighing(Loss):
    """The loss with weights that belong to labels, for contracts, which know labels only."""

    convex = False

    def __call__(self, batch, out, value):
        y = batch.evidence.known_labels()
        evidence = weighted(y, np.array([0.0, 0.7, 2.5])[y])
        LOSS(batch._replace(evidence=evidence), out, value)


def weighted(y, omega):
    return Evidence(y, weight=omega)


test_contract = contracts.loss(LOSS)
test_weighted_contract = contracts.loss(Weighing())
test_contract_on_graphs = contracts.loss(Pointwise(JunctionTree()), four_graphs)


def expected(twins, y, omega, structure):
    """Values, and derivatives of nodes and edges: sum_t omega_t * (p(. | x) - p(. | x, y_t)), in
    long doubles.
    """
    values = []
    nodes = []
    edges = []
    for twin, labels, weights in zip(
        twins, *(np.split(a, structure.offsets[1:-1]) for a in (y, omega))
    ):
        value = np.longdouble(0)
        node = np.zeros_like(twin.node)
        edge = np.zeros_like(twin.cliques[0])
        log_p = twin.scores - twin.log_Z
        paths = np.array(twin.y, dtype=int).reshape(len(twin.y), len(labels))
        for t, (k, weight) in enumerate(zip(labels, weights)):
            given = log_p[paths[:, t] == k]
            log_p_t = given.max() + np.log(np.exp(given - given.max()).sum())
            value -= weight * log_p_t
            conditional = np.where(paths[:, t] == k, np.exp(log_p - log_p_t), 0)
            for q, path in zip(weight * (twin.p - conditional), twin.y):
                node[np.arange(len(path)), path] += q
                for s in range(len(path) - 1):
                    edge[s, path[s] * twin.K + path[s + 1]] += q
        values = [*values, value]
        nodes = [*nodes, node]
        edges = [*edges, edge]
    return np.array(values), np.concatenate(nodes), np.concatenate(edges)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0, 50.0, 700.0])
@pytest.mark.parametrize("shared", [True, False])
def test_by_enumeration(shared, scale, seed):
    """Also where labels have probabilities that are no floats."""
    rng = np.random.default_rng(seed)
    potentials, y, structure = contracts.labelled_chains(rng, shared)
    potentials = contracts.mapped(lambda a: scale * np.sign(a) * np.minimum(abs(a), 1), potentials)
    omega = rng.choice([0.0, 0.3, 1.0, 20.0], size=len(y))
    weight = rng.choice([0.5, 1.0, 3.0], size=4)
    value, out = contracts.evaluate(LOSS, potentials, weighted(y, omega), structure, weight)
    values, node, edge = expected(list(naive.twins(potentials, structure)), y, omega, structure)
    node *= np.repeat(weight, np.diff(structure.offsets))[:, None]
    edge *= np.repeat(weight, np.diff(structure.families[0].offsets))[:, None]
    np.testing.assert_allclose(value, values.astype(float), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(out.node, node.astype(float), atol=1e-10)
    edge = edge.sum(axis=0, keepdims=True) if shared else edge
    np.testing.assert_allclose(out.cliques[0], edge.astype(float), atol=1e-10)


def test_digits_of_small_losses():
    """-log p has its digits where p is nearly 1, too."""
    node = np.array([[30.0, 0.0], [700.0, 0.0], [0.0, 0.0]])
    y = np.zeros(3, dtype=np.int32)
    value, _ = contracts.evaluate(
        LOSS, Potentials(node, (np.zeros((1, 4)),)), y, chain([0, 1, 2, 3]), np.ones(3)
    )
    np.testing.assert_allclose(
        value, [np.log1p(np.exp(-30.0)), np.exp(-700.0), np.log(2)], rtol=1e-14
    )


@pytest.mark.parametrize("gap", [1e-3, 1e-9, -1e-9, -1e-3])
def test_both_ways_meet_at_the_limit(gap):
    """Just above and below the probability from which on chains are clamped."""
    low = np.log(TINY) + gap
    node = np.array([[0.0, low, -2.0], [0.3, -0.2, 0.1]])
    y = np.array([1, 2], dtype=np.int32)
    structure = chain([0, 2])
    potentials = Potentials(node, (np.linspace(-0.1, 0.2, 9)[None],))
    value, out = contracts.evaluate(LOSS, potentials, y, structure, np.ones(1))
    values, of_node, of_edge = expected(
        list(naive.twins(potentials, structure)), y, np.ones(2), structure
    )
    np.testing.assert_allclose(value, values.astype(float), rtol=1e-13)
    np.testing.assert_allclose(out.node, of_node.astype(float), atol=1e-12)
    np.testing.assert_allclose(out.cliques[0], of_edge.astype(float), atol=1e-12)


def test_one_token_is_the_likelihood():
    """Examples of length 1: the same values and derivatives, with the weight of a token as that of
    its example.
    """
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, lengths=(1,) * 20)
    y = rng.integers(3, size=20).astype(np.int32)
    omega = rng.uniform(0, 2, size=20)
    value, out = contracts.evaluate(LOSS, potentials, weighted(y, omega), structure, np.ones(20))
    same_value, same = contracts.evaluate(LIKELIHOOD, potentials, y, structure, omega)
    np.testing.assert_allclose(value, omega * same_value, rtol=1e-12)
    np.testing.assert_allclose(out.node, same.node, atol=1e-13)


def test_a_label_of_weight_zero_is_not_read():
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), True)
    omega = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    value, out = contracts.evaluate(LOSS, potentials, weighted(y, omega), structure, np.ones(4))
    other = np.where(omega > 0, y, (y + 1) % 3)
    same_value, same = contracts.evaluate(
        LOSS, potentials, weighted(other, omega), structure, np.ones(4)
    )
    np.testing.assert_array_equal(value, same_value)
    np.testing.assert_array_equal(out.node, same.node)
    assert out.node[3].any() == (omega[3] > 0)  # an example of one token, without a weight


@pytest.mark.parametrize("shared", [True, False])
def test_float32_is_computed_in_float64(shared):
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), shared)
    single = contracts.mapped(lambda table: table.astype(np.float32), potentials)
    double = contracts.mapped(lambda table: table.astype(np.float64), single)
    value, out = contracts.evaluate(LOSS, single, y, structure, np.ones(4))
    same_value, same = contracts.evaluate(LOSS, double, y, structure, np.ones(4))
    np.testing.assert_array_equal(value, same_value)
    np.testing.assert_array_equal(contracts.flat(out), contracts.flat(same))


def test_certain_and_forbidden_labels():
    """0 for the only possible label, +inf for one that cannot be, or if there is no labelling."""
    node = np.array([[0.0, -np.inf], [-np.inf, 0.0]] * 2 + [[-np.inf] * 2])
    y = np.array([0, 1, 1, 1, 0], dtype=np.int32)
    value, out = contracts.evaluate(
        LOSS, Potentials(node, (np.zeros((1, 4)),)), y, chain([0, 2, 4, 5]), np.ones(3)
    )
    assert value.tolist() == [0.0, np.inf, np.inf]
    assert not out.node.any()


@pytest.mark.parametrize("shared", [True, False])
def test_its_derivative_is_that_of_belief_propagation(shared):
    """Of approximate probabilities, where these are: the derivative of the value, all the same."""
    loss = Pointwise(BeliefPropagation(1000, 1e-12))

    def graphs(rng, shared):
        return random_graphs(rng, (5, 0, 1, 4), families=(PAIRS._replace(shared=shared),))

    contracts.check_derivative(loss, np.random.default_rng(0), shared, graphs)
    contracts.check_weight_scales_the_derivative_alone(
        loss, np.random.default_rng(0), shared, graphs
    )
