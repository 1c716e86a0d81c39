"""Losses among allowed labellings, against enumeration (finite differences: the contract)."""

from __future__ import annotations

import contracts
import criteria
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import columns_of
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions, forbid
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.losses.max_margin import MaxMargin
from sklearn_struct.losses.pointwise import Pointwise

EVERYTHING = Transitions(
    np.ones(3, dtype=bool), np.ones((3, 3), dtype=bool), np.ones(3, dtype=bool)
)
SOME = Transitions(
    np.array([True, True, False]),
    np.array([[True, True, False], [False, True, True], [True, False, True]]),
    np.array([True, False, True]),
)

test_contract = contracts.loss(Constrained(LogLikelihood(Chain()), EVERYTHING))


def allowed_chains(rng, shared):
    """Potentials, and the best labelling that is allowed for other ones; no sequence has a single
    token.
    """
    potentials, y, structure = contracts.labelled_chains(rng, shared)
    other, _, _ = contracts.labelled_chains(rng, shared)
    Chain().argmax(forbid(other, structure, SOME), structure, y)
    return potentials, y, structure


@pytest.mark.parametrize("shared", [True, False])
def test_likelihood_among_allowed_labellings_by_enumeration(shared):
    potentials, y, structure = allowed_chains(np.random.default_rng(1), shared)
    value, out = contracts.evaluate(
        Constrained(LogLikelihood(Chain()), SOME), potentials, y, structure, np.ones(4)
    )
    twins = list(naive.twins(forbid(potentials, structure, SOME), structure))
    labellings = [tuple(part.tolist()) for part in np.split(y, structure.offsets[1:-1])]
    expected = [
        float(t.log_Z - t.scores[t.y.index(labels)]) for t, labels in zip(twins, labellings)
    ]
    np.testing.assert_allclose(value, expected, atol=1e-10)
    node = np.concatenate([t.node for t in twins])
    node[np.arange(len(y)), y] -= 1
    np.testing.assert_allclose(out.node, node, atol=1e-10)
    edge = np.concatenate([t.cliques[0] for t in twins])
    pairs = columns_of(y, structure.families[0], 3)
    edge[np.arange(len(pairs)), pairs] -= 1
    np.testing.assert_allclose(
        out.cliques[0], edge.sum(axis=0, keepdims=True) if shared else edge, atol=1e-10
    )
    assert np.all(out.cliques[0][:, ~SOME.pairs.ravel()] == 0)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_rivals_are_allowed(shared, margin):
    potentials, y, structure = allowed_chains(np.random.default_rng(2), shared)
    loss = Constrained(MaxMargin(Chain(), margin), SOME)
    value, _ = contracts.evaluate(loss, potentials, y, structure, np.ones(4))
    twins = naive.twins(forbid(potentials, structure, SOME), structure)
    for i, (twin, labels) in enumerate(zip(twins, np.split(y, structure.offsets[1:-1]))):
        wrong = np.array([np.sum(np.array(other) != labels) for other in twin.y])
        expected = (
            np.max(twin.scores + margin * wrong) - twin.scores[twin.y.index(tuple(labels.tolist()))]
        )
        assert value[i] == pytest.approx(float(expected), abs=1e-10)


@pytest.mark.parametrize(
    "loss",
    [
        LogLikelihood(Chain()),
        MarginalLikelihood(Chain()),
        MaxMargin(Chain()),
        Pointwise(Chain()),
        criteria.problem(0)[0],
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_flags_are_those_of_the_other_loss(loss):
    found = Constrained(loss, SOME)
    for name in ("convex", "token_weights", "twice_differentiable", "couples"):
        assert getattr(found, name) == getattr(loss, name)


def test_scaling_reaches_the_other_loss():
    expectation = criteria.problem(0)[0]
    found = Constrained(expectation, SOME).scaled(0.25)
    assert isinstance(found, Constrained)
    assert found.transitions is SOME
    assert found.loss.entropy_weight == 0.25 * expectation.entropy_weight
    np.testing.assert_array_equal(found.loss.node.weight, 0.25 * expectation.node.weight)
    np.testing.assert_array_equal(found.loss.edge.weight, 0.25 * expectation.edge.weight)
    labels = LogLikelihood(Chain())
    assert Constrained(labels, SOME).scaled(0.25).loss is labels
