"""Losses on chains of second order: contracts, enumeration, and agreement with the first order."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.max_margin import MaxMargin
from sklearn_struct.losses.pointwise import Pointwise

test_likelihood_contract = contracts.loss(LogLikelihood(Chain()), order=2)
test_pointwise_contract = contracts.loss(Pointwise(Chain()), order=2)
test_margin_contract = contracts.loss(MaxMargin(Chain(), margin=1.0), order=2)


@pytest.mark.twins
@pytest.mark.parametrize("shared", [True, False])
def test_likelihood_by_enumeration(shared):
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), shared, order=2)
    weight = np.array([1.0, 1.0, 2.5, 0.5])
    value, out = contracts.evaluate(LogLikelihood(Chain()), potentials, y, structure, weight)
    expected = []
    for i, twin in enumerate(naive.twins(potentials, structure)):
        path = tuple(y[slice(*structure.offsets[i : i + 2])].tolist())
        assert value[i] == pytest.approx(
            float(twin.log_Z - twin.scores[twin.y.index(path)]), abs=1e-10
        )
        for f, clique, column in naive.moves(path, 3, 2):
            twin.cliques[f][clique, column] -= 1.0
        expected.append([weight[i] * table for table in twin.cliques])
    for table, parts in zip(out.cliques, zip(*expected), strict=True):
        cliques = np.concatenate(parts)
        cliques = cliques.sum(axis=0, keepdims=True) if shared else cliques
        np.testing.assert_allclose(table, cliques, atol=1e-10)


@pytest.mark.parametrize("shared", [True, False])
def test_margin_by_enumeration(shared):
    """The best rival, a point ahead for each label that differs."""
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), shared, order=2)
    value, _ = contracts.evaluate(
        MaxMargin(Chain(), margin=1.0), potentials, y, structure, np.ones(4)
    )
    for i, twin in enumerate(naive.twins(potentials, structure)):
        path = tuple(y[slice(*structure.offsets[i : i + 2])].tolist())
        ahead = [
            score + np.sum(np.array(rival) != path) for rival, score in zip(twin.y, twin.scores)
        ]
        assert value[i] == pytest.approx(
            float(max(ahead) - twin.scores[twin.y.index(path)]), abs=1e-10
        )


@pytest.mark.parametrize("loss", [LogLikelihood(Chain()), Pointwise(Chain()), MaxMargin(Chain())])
def test_triples_of_score_0_change_nothing(loss):
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), False)
    wide_structure = chain(structure.offsets, 2)
    triples = np.zeros((len(wide_structure.families[1].nodes), 27))
    wide = Potentials(potentials.node, (*potentials.cliques, triples))
    value, out = contracts.evaluate(loss, potentials, y, structure, np.ones(4))
    wide_value, wide_out = contracts.evaluate(loss, wide, y, wide_structure, np.ones(4))
    np.testing.assert_allclose(wide_value, value, atol=1e-10)
    np.testing.assert_allclose(wide_out.node, out.node, atol=1e-10)
    np.testing.assert_allclose(wide_out.cliques[0], out.cliques[0], atol=1e-10)


@pytest.mark.parametrize("margin", [0.0, 1.0])
@pytest.mark.parametrize("shared", [True, False])
def test_a_margin_that_is_kept_costs_exactly_nothing(shared, margin):
    """Where the rival is y, however scores round when they are added up in another order."""
    potentials, structure = contracts.random_chains(
        np.random.default_rng(0), (9, 0, 1, 2, 30), 4, shared, order=2
    )
    potentials = contracts.mapped(lambda table: 1e3 * table + 0.1, potentials)
    y = np.empty(42, dtype=np.int32)
    Chain().argmax(potentials, structure, y)
    potentials.node[np.arange(42), y] += 2 * margin  # ahead of every other one
    value, out = contracts.evaluate(
        MaxMargin(Chain(), margin), potentials, y, structure, np.arange(1.0, 6.0)
    )
    assert value.tolist() == [0.0] * 5
    assert not contracts.flat(out).any()
