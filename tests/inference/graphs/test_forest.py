"""Exact inference on forests: the contract on chains, and enumeration on trees of any shape."""

from __future__ import annotations

from itertools import pairwise, product

import contracts
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.rooted_trees import has_cycle, rooted

test_contract = contracts.inference(Forest())
test_tangent_contract = contracts.inference_tangent(Forest())


def random_forest(rng, sizes=(5, 0, 1, 4), K=3, shared=False):
    """A few examples, each some trees whose edges point anywhere."""
    offsets = np.cumsum([0, *sizes])
    edges = []
    bounds = [0]
    for first, n in zip(offsets, sizes):
        places = rng.permutation(n)
        for i in range(1, n):
            if rng.random() < 0.8:
                pair = [places[i], places[rng.integers(i)]]
                edges.append(first + rng.permutation(pair))
        bounds.append(len(edges))
    nodes = np.array(edges, dtype=np.int64).reshape(-1, 2)
    nodes = np.concatenate([rng.permutation(nodes[a:b]) for a, b in pairwise(bounds)])
    structure = Structure(offsets, (Family(nodes, np.array(bounds)),))
    table = rng.normal(size=(1 if shared else len(nodes), K * K))
    return Potentials(rng.normal(size=(offsets[-1], K)), (table,)), structure


def enumerated(potentials, structure, i, reward=None):
    """Labellings of example i with their scores (of a reward, too), and its edges."""
    K = potentials.node.shape[1]
    tokens = np.arange(*structure.offsets[i : i + 2])
    edges = np.arange(*structure.families[0].offsets[i : i + 2])
    labellings = np.array(list(product(range(K), repeat=len(tokens))), dtype=int)

    def scores(theta):
        table = theta.cliques[0]
        total = theta.node[tokens[None, :], labellings].sum(axis=1)
        for e in edges:
            a, b = structure.families[0].nodes[e] - structure.offsets[i]
            row = table[min(e, len(table) - 1)]
            total = total + row[labellings[:, a] * K + labellings[:, b]]
        return total

    return labellings, scores(potentials), None if reward is None else scores(reward), tokens, edges


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_by_enumeration(seed, shared):
    rng = np.random.default_rng(seed)
    potentials, structure = random_forest(rng, shared=shared)
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
        labellings, scores, gains, tokens, edges = enumerated(potentials, structure, i, reward)
        expected = np.logaddexp.reduce(scores)
        assert log_Z[i] == pytest.approx(expected, abs=1e-10)
        assert top[i] == pytest.approx(scores.max(), abs=1e-10)
        p = np.exp(scores - expected) if expected > -np.inf else np.zeros(len(scores))
        assert mean[i] == pytest.approx(p @ gains if p.any() else np.nan, abs=1e-10, nan_ok=True)
        gains = gains - p @ gains
        for t, token in enumerate(tokens):
            here = labellings[:, t] == np.arange(K)[:, None]
            np.testing.assert_allclose(out.node[token], here @ p, atol=1e-10)
            np.testing.assert_allclose(slope.node[token], here @ (p * gains), atol=1e-10)
        for e in edges:
            a, b = structure.families[0].nodes[e] - structure.offsets[i]
            here = labellings[:, a] * K + labellings[:, b] == np.arange(K * K)[:, None]
            np.testing.assert_allclose(out.cliques[0][e], here @ p, atol=1e-10)
            np.testing.assert_allclose(slope.cliques[0][e], here @ (p * gains), atol=1e-10)


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
    _, structure = random_forest(np.random.default_rng(seed), (6, 0, 1, 9))
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
