"""log Z as a loss, and losses that are differences of two of these."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.log_partition import LogPartition
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood

K = 3
RULE = Transitions(np.ones(K, bool), ~np.eye(K, k=2, dtype=bool), np.ones(K, bool))


def problem(seed, order=1):
    rng = np.random.default_rng(seed)
    potentials, structure = contracts.random_chains(rng, lengths=(4, 0, 1, 3), order=order)
    allowed = rng.random((len(potentials.node), K)) < 0.6
    allowed[:, 0] = True
    return potentials, structure, allowed, np.array([1.0, 1.0, 2.0, 0.5])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("among_allowed", [False, True])
def test_by_enumeration(among_allowed, order):
    potentials, structure, allowed, weight = problem(0, order)
    loss = LogPartition(Chain(), among_allowed)
    value, out = contracts.evaluate(loss, potentials, allowed, structure, weight)
    theta = forbid_labels(potentials, allowed) if among_allowed else potentials
    twins = list(naive.twins(theta, structure))
    np.testing.assert_allclose(value, [float(twin.log_Z) for twin in twins], atol=1e-10)
    node = np.concatenate([w * twin.node for w, twin in zip(weight, twins)])
    np.testing.assert_allclose(out.node, node.astype(float), atol=1e-10)


@pytest.mark.parametrize("constrained", [False, True])
def test_the_parts_of_a_marginal_likelihood_are_its_difference(constrained):
    potentials, structure, allowed, weight = problem(1)
    loss = MarginalLikelihood(Chain())
    loss = Constrained(loss, RULE) if constrained else loss
    assert loss.has_parts
    whole, *parts = (
        contracts.evaluate(one, potentials, allowed, structure, weight)
        for one in (loss, *loss.parts())
    )
    assert all(part.convex for part in loss.parts())
    np.testing.assert_allclose(whole[0], parts[0][0] - parts[1][0], atol=1e-12)
    difference = contracts.flat(parts[0][1]) - contracts.flat(parts[1][1])
    np.testing.assert_allclose(contracts.flat(whole[1]), difference, atol=1e-12)


@pytest.mark.parametrize("among_allowed", [False, True])
def test_second_derivatives_by_differences(among_allowed):
    potentials, structure, allowed, weight = problem(2)
    loss = LogPartition(Chain(), among_allowed)
    rng = np.random.default_rng(3)
    direction = contracts.mapped(lambda a: rng.normal(size=a.shape), potentials)
    step = 1e-5

    def gradient(sign):
        moved = contracts.mapped(lambda a, d: a + sign * step * d, potentials, direction)
        return contracts.flat(contracts.evaluate(loss, moved, allowed, structure, weight)[1])

    product = contracts.second_derivative(loss, potentials, direction, allowed, structure, weight)
    numeric = (gradient(1) - gradient(-1)) / (2 * step)
    np.testing.assert_allclose(contracts.flat(product), numeric, atol=1e-7)


def test_other_losses_have_no_parts():
    loss = LogLikelihood(Chain())
    assert not loss.has_parts
    with pytest.raises(NotImplementedError, match="LogLikelihood is no difference of convex"):
        loss.parts()
    assert not Constrained(loss, RULE).has_parts
    assert isinstance(problem(0)[0], Potentials)
