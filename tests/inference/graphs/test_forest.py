"""Exact inference on forests: the contract on chains, and enumeration on trees of any shape."""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest
from graphs import Enumeration
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.rooted_trees import has_cycle, rooted

test_contract = contracts.inference(Forest())
test_tangent_contract = contracts.inference_tangent(Forest())


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_by_enumeration(seed, shared):
    rng = np.random.default_rng(seed)
    potentials, structure = graphs.random_forest(rng, shared=shared)
    potentials.node[rng.random(potentials.node.shape) < 0.1] = -np.inf
    reward = contracts.mapped(lambda table: rng.normal(size=table.shape), potentials)
    K = 3
    n_edges = len(structure.families[0].nodes)
    wide = Potentials(np.zeros(potentials.node.shape), (np.zeros((n_edges, K * K)),))
    out, log_Z = contracts.marginals(Forest(), potentials, structure, out=wide)
    wide = contracts.zeros(wide)
    slope, mean = contracts.tangent(Forest(), potentials, reward, structure, out=wide)
    best = np.zeros(len(potentials.node), np.int32)
    top = np.zeros(4)
    Forest().argmax(potentials, structure, best, top)
    for i in range(4):
        every = Enumeration(potentials, structure, i)
        assert log_Z[i] == pytest.approx(every.log_Z, abs=1e-10)
        assert top[i] == pytest.approx(every.scores.max(), abs=1e-10)
        gains = every.sums(reward)
        expected = every.p @ gains if every.p.any() else np.nan
        assert mean[i] == pytest.approx(expected, abs=1e-10, nan_ok=True)
        for found, numbers in ((out, every.p), (slope, every.p * (gains - every.p @ gains))):
            nodes, cliques = every.means(numbers, potentials)
            np.testing.assert_allclose(
                found.node[every.nodes], np.reshape(nodes, (-1, K)), atol=1e-10
            )
            for e, table in zip(every.cliques[0], cliques[0]):
                np.testing.assert_allclose(found.cliques[0][e], table, atol=1e-10)


@given(contracts.any_chains())
def test_of_chains_it_is_the_chain(batch):
    potentials, structure = batch
    expected, log_Z = contracts.marginals(Chain(), potentials, structure)
    out, same = contracts.marginals(Forest(), potentials, structure)
    np.testing.assert_allclose(same, log_Z, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-9)
    scores = np.zeros((2, structure.n_examples))
    labels = np.zeros(len(potentials.node), np.int32)
    for score, inference in zip(scores, (Chain(), Forest())):
        inference.argmax(potentials, structure, labels, score)
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-12, atol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_trees_have_parents_first(seed):
    _, structure = graphs.random_forest(np.random.default_rng(seed), (6, 0, 1, 9))
    order, parent, link = rooted(structure)
    edges = structure.families[0].nodes
    place = np.empty(len(order), int)
    place[order] = np.arange(len(order))
    assert sorted(order) == list(range(len(order)))
    for node in range(len(order)):
        if parent[node] < 0:
            assert link[node] == -1
        else:
            assert place[parent[node]] < place[node]
            assert sorted(edges[link[node]]) == sorted([node, parent[node]])
    assert not has_cycle(structure).any()
    assert np.count_nonzero(parent >= 0) == len(edges)


@pytest.mark.parametrize("edges", [[[0, 1], [1, 2], [2, 0]], [[0, 0]], [[0, 1], [1, 0]]])
def test_cycles_are_seen(edges):
    nodes = np.array([[0, 1], *(3 + np.array(edges))])
    structure = Structure(np.array([0, 3, 6]), (Family(nodes, np.array([0, 1, len(nodes)])),))
    assert has_cycle(structure).tolist() == [False, True]


@pytest.mark.parametrize("shared", [True, False])
def test_samples_have_the_probabilities_of_labellings(shared):
    rng = np.random.default_rng(1)
    potentials, structure = graphs.random_forest(rng, (4, 0, 1, 5), 2, shared)
    potentials.node[6, 0] = -np.inf
    n = 4000
    labels = np.zeros(10, np.int32)
    score = np.zeros(4)
    every = [Enumeration(potentials, structure, i) for i in range(4)]
    counts = [np.zeros(len(one.p)) for one in every]
    for uniform in rng.random((n, 10)):
        Forest().sample(potentials, structure, uniform, labels, score)
        for i, one in enumerate(every):
            number = int(labels[one.nodes] @ 2 ** np.arange(len(one.nodes))[::-1])
            counts[i][number] += 1
            assert score[i] == pytest.approx(one.scores[number], abs=1e-12)
    for count, one in zip(counts, every):
        assert not graphs.is_unlikely(count, one.p)


def test_samples_where_no_labelling_is_allowed():
    """Some labelling is drawn, and others of the batch are as ever."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_forest(rng, (4, 5), 3)
    potentials.node[2] = -np.inf
    labels = np.full(9, 7, np.int32)
    score = np.zeros(2)
    Forest().sample(potentials, structure, rng.random(9), labels, score)
    assert set(labels) <= {0, 1, 2}
    assert score[0] == -np.inf < score[1]


@pytest.mark.parametrize("number", [0.0, np.nextafter(1.0, 0.0)])
def test_samples_of_the_largest_and_smallest_numbers(number):
    """What rounding leaves over goes to a label that is allowed."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_forest(rng, (30,), 3)
    potentials.node[:, [0, 2]] = -np.inf
    labels = np.zeros(30, np.int32)
    Forest().sample(potentials, structure, np.full(30, number), labels, np.zeros(1))
    assert labels.tolist() == [1] * 30
