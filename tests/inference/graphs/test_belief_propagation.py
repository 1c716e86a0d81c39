"""Belief propagation: exact on forests; elsewhere what it gives is a derivative of its value."""

from __future__ import annotations

import pickle

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, SHARED_PAIRS, SHARED_TRIPLES, TRIPLES, Enumeration

from sklearn_struct.containers.structures import Family, Potentials, Structure, zeros
from sklearn_struct.inference.graphs import message_passing
from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.junction_tree import JunctionTree

SETTLED = BeliefPropagation(1000, 1e-13)

test_contract = contracts.inference(SETTLED)
test_tangent_contract = contracts.inference_tangent(SETTLED)


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_of_forests_it_is_exact(seed, shared, scale):
    rng = np.random.default_rng(seed)
    potentials, structure = graphs.random_forest(rng, (9, 0, 1, 12), shared=shared)
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    potentials.node[rng.random(potentials.node.shape) < 0.1] = -np.inf
    reward = contracts.mapped(lambda table: rng.normal(size=table.shape), potentials)
    expected, log_Z = contracts.marginals(Forest(), potentials, structure)
    out, same = contracts.marginals(SETTLED, potentials, structure)
    np.testing.assert_allclose(same, log_Z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)
    expected, mean = contracts.tangent(Forest(), potentials, reward, structure)
    out, same = contracts.tangent(SETTLED, potentials, reward, structure)
    np.testing.assert_allclose(same, mean, atol=1e-9)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-9)


def test_of_trees_of_cliques_it_is_exact():
    """Three nodes each, which share one with another."""
    rng = np.random.default_rng(0)
    nodes = np.array([[0, 1, 2], [4, 2, 3], [5, 6, 1]])
    structure = Structure(np.array([0, 7]), (Family(nodes, np.array([0, 3])),))
    potentials = Potentials(rng.normal(size=(7, 3)), (rng.normal(size=(3, 27)),))
    expected, log_Z = contracts.marginals(JunctionTree(), potentials, structure)
    out, same = contracts.marginals(SETTLED, potentials, structure)
    np.testing.assert_allclose(same, log_Z, rtol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)


@pytest.mark.parametrize("K", [2, 3, 8, 9, 17])
@pytest.mark.parametrize("sweeps", [1, 3, 1000])
def test_logarithms_are_the_same_as_numbers(monkeypatch, sweeps, K):
    """Also where it stops early, as both send the same messages in the same order."""
    rng = np.random.default_rng(0)
    batch = graphs.random_graphs(rng, (9, 0, 1, 14), K, (SHARED_PAIRS, PAIRS), density=1.0)
    subject = BeliefPropagation(sweeps, 1e-12)
    expected, log_Z = contracts.marginals(subject, *batch)
    monkeypatch.setattr(
        message_passing, "are_small", lambda p, structure, c: np.zeros(4, dtype=bool)
    )
    out, same = contracts.marginals(subject, *batch)
    np.testing.assert_allclose(same, log_Z, rtol=1e-11)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-10)


@pytest.mark.parametrize("K", [2, 3, 17])
def test_weights_of_examples(K):
    """Labels of two, of a few and of many have kernels of their own."""
    rng = np.random.default_rng(1)
    potentials, structure = graphs.random_graphs(rng, (9, 1, 14), K, (SHARED_PAIRS, PAIRS))
    weight = np.array([0.5, 3.0, 2.0])
    out = zeros(potentials)
    SETTLED.marginals(potentials, structure, weight, out, np.empty(3))
    expected = zeros(potentials)
    for i in range(3):
        alone = zeros(potentials)
        SETTLED.marginals(potentials, structure, 1.0 * (np.arange(3) == i), alone, np.empty(3))
        for total, table in zip(
            contracts.arrays_of(expected), contracts.arrays_of(alone), strict=True
        ):
            total += weight[i] * table
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(("strong", "pull"), [(30.0, 20.0), (45.0, 30.0), (60.0, 50.0)])
def test_damping_keeps_small_probabilities(K, strong, pull):
    """Five nodes that no labels please, so that messages are damped, and two apart from them: of
    these what the one says and what the other wants are strong, and against each other.
    """
    rng = np.random.default_rng(0)
    five = [(i + 1, j + 1) for i in range(5) for j in range(i)]
    edges = np.array([*five, (0, 6)])
    node = np.zeros((7, K))
    node[1:6, :2] = rng.normal(size=(5, 2)) / 2
    node[1:6, 2:] = -20.0
    node[6, 0] = strong
    node[0, 1] = pull
    table = np.zeros((11, K, K))
    table[:10, 0, 1] = table[:10, 1, 0] = 4.0
    table[10] = strong * np.eye(K)
    structure = Structure(np.array([0, 7]), (Family(edges, np.array([0, 11])),))
    potentials = Potentials(node, (table.reshape(11, K * K),))
    subject = BeliefPropagation(100, 1e-6)
    out, _ = contracts.marginals(subject, potentials, structure)
    assert subject.report.counts.n_unconverged == 0
    assert subject.report.counts.most_sweeps > 100  # no one without damping
    p = np.exp(node[0][:, None] + node[6] + table[10])
    p /= p.sum()
    np.testing.assert_allclose(out.node[0], p.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(out.cliques[0][10].reshape(K, K), p, rtol=1e-5)


@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS, SHARED_TRIPLES), (TRIPLES,)])
def test_beliefs_are_the_derivative_of_the_value(families):
    """P1 5.27 is 5.28 where messages have settled."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6, 8), 2, families)
    potentials = contracts.mapped(lambda table: 0.3 * table, potentials)
    out, _ = contracts.marginals(SETTLED, potentials, structure)
    assert SETTLED.report.counts.n_unconverged == 0
    for table, expected in zip(contracts.arrays_of(potentials), contracts.arrays_of(out)):
        for index in contracts.some_entries(rng, table):
            slope = contracts.derivative(
                lambda: contracts.marginals(SETTLED, potentials, structure)[1].sum(), table, index
            )
            assert slope == pytest.approx(expected[index], abs=1e-7)


def test_weak_edges_make_it_nearly_exact():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.grid(rng, 6, 6, 3, strength=0.1)
    expected, log_Z = contracts.marginals(JunctionTree(), potentials, structure)
    out, near = contracts.marginals(SETTLED, potentials, structure)
    np.testing.assert_allclose(near, log_Z, atol=1e-3)
    np.testing.assert_allclose(out.node, expected.node, atol=1e-3)


def test_one_node_of_many_edges():
    """The product of a thousand messages is no number."""
    n = 1001
    rng = np.random.default_rng(0)
    edges = np.column_stack([np.zeros(n - 1, int), np.arange(1, n)])
    structure = Structure(np.array([0, n]), (Family(edges, np.array([0, n - 1])),))
    for K in (2, 30):
        potentials = Potentials(0.1 * rng.normal(size=(n, K)), (0.1 * rng.normal(size=(1, K * K)),))
        expected, log_Z = contracts.marginals(Forest(), potentials, structure)
        out, same = contracts.marginals(SETTLED, potentials, structure)
        np.testing.assert_allclose(same, log_Z, rtol=1e-11)
        np.testing.assert_allclose(out.node, expected.node, atol=1e-10)


def test_what_does_not_settle_is_counted():
    """Strong edges, of which some want equal labels and others different ones."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.grid(rng, 10, 10, 2, shared=False)
    signs = np.array([1.0, -1.0, -1.0, 1.0])
    potentials = potentials._replace(cliques=(5.0 * potentials.cliques[0][:, :1] * signs,))
    subject = BeliefPropagation(20, 1e-6)
    out, log_Z = contracts.marginals(subject, potentials, structure)
    counts = subject.report.counts
    assert counts.n_calls == counts.n_unconverged == 1
    assert counts.most_sweeps == 80  # after 20 without damping
    assert counts.largest_change > 1e-6
    assert np.isfinite(log_Z[0])
    np.testing.assert_allclose(out.node.sum(axis=1), 1.0, atol=1e-9)
    # it is a value without state, but for what it has counted
    again = pickle.loads(pickle.dumps(subject))
    assert again == subject
    assert again.report.counts.n_calls == 0


def test_a_labelling_that_no_single_label_makes_better():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6, 7), 3, (PAIRS, TRIPLES))
    labels = np.zeros(13, np.int32)
    score = np.zeros(2)
    SETTLED.argmax(potentials, structure, labels, score)
    np.testing.assert_allclose(score, SETTLED.scores(potentials, structure, labels))
    for v in range(13):
        for k in range(3):
            other = labels.copy()
            other[v] = k
            assert np.all(SETTLED.scores(potentials, structure, other) <= score + 1e-12)


def test_forbidden_pairs():
    """Where no labelling of a graph is allowed it has no mass, and others go on."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (3, 4), 2, (PAIRS,), density=1.0)
    table = potentials.cliques[0]
    table[rng.random(table.shape) < 0.3] = -np.inf
    table[0] = -np.inf
    out, log_Z = contracts.marginals(SETTLED, potentials, structure)
    assert log_Z[0] == -np.inf
    assert not out.node[:3].any()
    every = Enumeration(potentials, structure, 1)
    assert (log_Z[1] == -np.inf) == (every.log_Z == -np.inf)
