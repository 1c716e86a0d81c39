"""The loss of single factors, against enumeration of labels and pairs (finite differences: the
contract).
"""

from __future__ import annotations

import contracts
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials, chain, columns_of
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.piecewise_factors import Factors

LOSS = Factors()

test_contract = contracts.loss(LOSS)
test_contract_of_second_order = contracts.loss(LOSS, order=2)


@pytest.mark.parametrize("scale", [0.0, 1.0, 300.0])
@pytest.mark.parametrize("shared", [True, False])
def test_by_enumeration(shared, scale):
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), shared)
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    weight = np.array([1.0, 2.0, 0.5, 3.0])
    value, out = contracts.evaluate(LOSS, potentials, y, structure, weight)
    family = structure.families[0]
    edge = np.broadcast_to(potentials.cliques[0], (len(family.nodes), 9))
    pairs = columns_of(y, family, 3)
    for i in range(4):
        cost = 0.0
        for table, codes, offsets in (
            (potentials.node, y, structure.offsets),
            (edge, pairs, family.offsets),
        ):
            for r in range(*offsets[i : i + 2]):
                cost += np.logaddexp.reduce(table[r].astype(np.longdouble)) - table[r, codes[r]]
        assert value[i] == pytest.approx(float(cost), rel=1e-12, abs=1e-12)
    p = np.exp(edge - np.logaddexp.reduce(edge, axis=1)[:, None])
    p[np.arange(len(pairs)), pairs] -= 1
    p *= np.repeat(weight, np.diff(family.offsets))[:, None]
    expected = p.sum(axis=0, keepdims=True) if shared else p
    np.testing.assert_allclose(out.cliques[0], expected, atol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_three_labels_by_enumeration(shared):
    """The first edge of a sequence is a pair, each later one a triple, of three labels with their
    last pair.
    """
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), shared, order=2)
    value, _ = contracts.evaluate(LOSS, potentials, y, structure, np.ones(4))
    edge, wider = (
        np.broadcast_to(table, (len(family.nodes), table.shape[1]))
        for table, family in zip(potentials.cliques, structure.families)
    )
    of_edges, of_triples = structure.families
    for i in range(4):
        first, stop = structure.offsets[i : i + 2]
        rows = [(potentials.node[t], y[t]) for t in range(first, stop)]
        for t in range(first + 1, stop):
            pair = edge[of_edges.offsets[i] + t - first - 1].reshape(3, 3)
            if t == first + 1:
                rows.append((pair, (y[t - 1], y[t])))
            else:
                triple = wider[of_triples.offsets[i] + t - first - 2].reshape(3, 3, 3)
                rows.append((pair + triple, (y[t - 2], y[t - 1], y[t])))
        cost = sum(
            np.logaddexp.reduce(scores.ravel().astype(np.longdouble)) - scores[k]
            for scores, k in rows
        )
        assert value[i] == pytest.approx(float(cost), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("order", [1, 2])
def test_it_bounds_the_likelihood(order, shared):
    """The sum of products is at most the product of sums."""
    for seed in range(20):
        potentials, y, structure = contracts.labelled_chains(
            np.random.default_rng(seed), shared, order
        )
        value, _ = contracts.evaluate(LOSS, potentials, y, structure, np.ones(4))
        likelihood, _ = contracts.evaluate(
            LogLikelihood(Chain()), potentials, y, structure, np.ones(4)
        )
        assert np.all(value >= likelihood - 1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_an_edge_table_for_all_and_derivatives_for_each(order):
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), True, order)
    weight = np.array([1.0, 1.0, 2.0, 0.5])
    _, out = contracts.evaluate(LOSS, potentials, y, structure, weight)
    shapes = contracts.clique_shapes(structure, 3, shared=False)
    each = Potentials(np.zeros(potentials.node.shape), tuple(map(np.zeros, shapes)))
    contracts.evaluate(LOSS, potentials, y, structure, weight, each)
    for table, sums in zip(each.cliques, out.cliques, strict=True):
        np.testing.assert_allclose(table.sum(axis=0), sums[0], atol=1e-12)


def test_no_edges_at_all():
    node = np.random.default_rng(0).normal(size=(3, 4))
    y = np.array([0, 3, 2], dtype=np.int32)
    value, _ = contracts.evaluate(
        LOSS, Potentials(node, (np.zeros((0, 16)),)), y, chain([0, 1, 2, 3]), np.ones(3)
    )
    np.testing.assert_allclose(
        value, np.logaddexp.reduce(node, axis=1) - node[np.arange(3), y], rtol=1e-12
    )
