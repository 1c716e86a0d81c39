"""Belief propagation: exact on forests; elsewhere what it gives is a derivative of its value."""

from __future__ import annotations

import pickle

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, SHARED_PAIRS, SHARED_TRIPLES, TRIPLES, Enumeration

from sklearn_struct.containers.structures import Family, Potentials, Structure
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
