"""Losses on chains of second order: contracts, enumeration, and agreement with the first order."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials
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
    edge = []
    for i, twin in enumerate(naive.twins(potentials, structure)):
        path = tuple(y[slice(*structure.offsets[i : i + 2])].tolist())
        assert value[i] == pytest.approx(
            float(twin.log_Z - twin.scores[twin.y.index(path)]), abs=1e-10
        )
        expected = twin.edge.copy()
        for move in naive.moves(path, 3, expected.shape[1]):
            expected[move] -= 1.0
        edge.append(weight[i] * expected)
    edge = np.concatenate(edge)
    np.testing.assert_allclose(out.edge, edge.sum(axis=0)[None] if shared else edge, atol=1e-10)


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
    wide = Potentials(
        potentials.node,
        np.concatenate([potentials.edge, np.zeros((len(structure.edges), 27))], axis=1),
    )
    value, out = contracts.evaluate(loss, potentials, y, structure, np.ones(4))
    wide_value, wide_out = contracts.evaluate(loss, wide, y, structure, np.ones(4))
    np.testing.assert_allclose(wide_value, value, atol=1e-10)
    np.testing.assert_allclose(wide_out.node, out.node, atol=1e-10)
    np.testing.assert_allclose(wide_out.edge[:, :9], out.edge, atol=1e-10)
