"""The loss of cliques with shares of their nodes, against enumeration (finite differences: the
contract).
"""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from graphs import PAIRS, QUADS, SHARED_TRIPLES, four_graphs, random_forest, random_graphs

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.pieces import Pieces
from sklearn_struct.losses.piecewise_factors import Factors

LOSS = Pieces()
BOTH = pytest.mark.parametrize("loss", [LOSS, Pieces(share_nodes=False)], ids=["shared", "alone"])

test_contract = contracts.loss(LOSS)
test_contract_on_graphs = contracts.loss(LOSS, four_graphs)
test_contract_of_nodes_alone = contracts.loss(Pieces(share_nodes=False), four_graphs)


@BOTH
@pytest.mark.parametrize("scale", [0.0, 1.0, 300.0])
def test_by_enumeration(loss, scale):
    rng = np.random.default_rng(0)
    potentials, structure = random_graphs(rng, families=(PAIRS, SHARED_TRIPLES, QUADS), density=0.6)
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    n, K = potentials.node.shape
    y = rng.integers(K, size=n).astype(np.int32)
    degree = sum(np.bincount(f.nodes.ravel(), minlength=n) for f in structure.families)
    alone = (degree == 0) | (not loss.share_nodes)
    assert 0 < np.sum(degree == 0) < n
    share = np.where(alone, 0.0, 1 / np.maximum(degree, 1))
    expected = np.zeros(structure.n_examples)
    for i in range(structure.n_examples):
        for v in range(*structure.offsets[i : i + 2]):
            row = potentials.node[v]
            expected[i] += alone[v] * (np.logaddexp.reduce(row) - row[y[v]])
        for family, table in zip(structure.families, potentials.cliques):
            for c in range(*family.offsets[i : i + 2]):
                nodes = family.nodes[c]
                piece = table[min(c, len(table) - 1)].reshape((K,) * len(nodes)).copy()
                for p, v in enumerate(nodes):
                    axes = [1] * len(nodes)
                    axes[p] = K
                    piece += share[v] * potentials.node[v].reshape(axes)
                expected[i] += np.logaddexp.reduce(piece.ravel()) - piece[tuple(y[nodes])]
    value, _ = contracts.evaluate(loss, potentials, y, structure, np.ones(structure.n_examples))
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


@BOTH
def test_it_bounds_the_likelihood(loss):
    """The sum of products is at most the product of sums."""
    likelihood = LogLikelihood(JunctionTree())
    for seed in range(10):
        potentials, y, structure = contracts.labelled_chains(
            np.random.default_rng(seed), seed % 2 == 0, four_graphs
        )
        value, least = (
            contracts.evaluate(one, potentials, y, structure, np.ones(4))[0]
            for one in (loss, likelihood)
        )
        assert np.all(value >= least - 1e-12)
        assert value[0] > least[0]


def test_of_single_edges_and_nodes_it_is_the_likelihood():
    """Where no two cliques share a node, pieces do not overlap."""
    rng = np.random.default_rng(0)
    potentials, structure = random_graphs(rng, sizes=(2, 1, 2), density=0.5)
    y = rng.integers(3, size=5).astype(np.int32)
    weight = np.array([1.0, 2.0, 0.5])
    value, out = contracts.evaluate(LOSS, potentials, y, structure, weight)
    likelihood = LogLikelihood(JunctionTree())
    same_value, same = contracts.evaluate(likelihood, potentials, y, structure, weight)
    np.testing.assert_allclose(value, same_value, rtol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(same), atol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_nodes_alone_are_the_factors_of_chains(shared):
    rng = np.random.default_rng(0)
    potentials, y, structure = contracts.labelled_chains(rng, shared)
    weight = np.array([1.0, 2.0, 0.5, 3.0])
    value, out = contracts.evaluate(Pieces(False), potentials, y, structure, weight)
    same_value, same = contracts.evaluate(Factors(), potentials, y, structure, weight)
    np.testing.assert_allclose(value, same_value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(same), atol=1e-12)


def test_where_scores_stand_does_not_matter():
    """Half of each clique's share of node scores in its table: the same loss."""
    rng = np.random.default_rng(1)
    potentials, structure = random_forest(rng)
    y = rng.integers(3, size=len(potentials.node)).astype(np.int32)
    edges = structure.families[0].nodes
    degree = np.bincount(edges.ravel(), minlength=len(y))
    share = 0.5 / np.maximum(degree, 1)[:, None] * potentials.node
    table = potentials.cliques[0].reshape(-1, 3, 3)
    table = table + share[edges[:, 0], :, None] + share[edges[:, 1], None]
    node = np.where(degree[:, None] > 0, 0.5, 1.0) * potentials.node
    moved = Potentials(node, (table.reshape(-1, 9),))
    value, same = (
        contracts.evaluate(LOSS, one, y, structure, np.ones(structure.n_examples))[0]
        for one in (potentials, moved)
    )
    np.testing.assert_allclose(value, same, rtol=1e-12, atol=1e-12)


@BOTH
def test_certain_and_forbidden_labels(loss):
    node = np.array([[0.0, -np.inf], [-np.inf, 0.0]] * 2 + [[-np.inf] * 2])
    y = np.array([0, 1, 1, 1, 0], dtype=np.int32)
    _, structure = random_graphs(np.random.default_rng(0), sizes=(2, 2, 1), K=2, density=0.5)
    table = np.zeros((1, 4))
    if loss.share_nodes:
        edges = structure.families[0].nodes
        table = np.full((2, 4), -np.inf)
        table[np.arange(2), 2 * y[edges[:, 0]] + y[edges[:, 1]]] = 0.0
    value, out = contracts.evaluate(loss, Potentials(node, (table,)), y, structure, np.ones(3))
    certain = 0.0 if loss.share_nodes else np.log(4)
    assert value[0] == pytest.approx(certain)
    assert value[1:].tolist() == [np.inf, np.inf]
    assert not np.isnan(contracts.flat(out)).any()
