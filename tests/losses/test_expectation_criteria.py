"""Expectation criteria and entropy, against enumeration and finite differences."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
import scipy.sparse as sp
from criteria import dense, problem, whole

from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Evidence, Fired
from sklearn_struct.losses.expectation_criteria import DISTANCES, Criteria, Expectation


def enumerated(loss, potentials, structure, evidence, weight):
    fired = evidence.fired
    twins = list(naive.twins(potentials, structure))
    node = np.concatenate([w * t.node for w, t in zip(weight, twins)])
    edge = np.concatenate([w * t.cliques[0] for w, t in zip(weight, twins)])
    total = loss.entropy_weight * sum(w * t.entropy() for w, t in zip(weight, twins))
    second = dense(fired.edge, 2)[structure.families[0].nodes[:, 1]]
    for criteria, q in ((loss.node, dense(fired.node, 3).T @ node), (loss.edge, second.T @ edge)):
        for p, row, strength in zip(
            criteria.target, q / q.sum(axis=1, keepdims=True), criteria.weight
        ):
            if criteria.distance == "kl":
                total += strength * sum(a * np.log(a / b) for a, b in zip(p, row) if a > 0)
            else:
                total += strength * sum((a - b) ** 2 for a, b in zip(p, row))
    return float(total)


def covariances(loss, potentials, structure, evidence, weight):
    """The derivative by enumeration: covariances with the rewards."""
    fired = evidence.fired
    twins = list(naive.twins(potentials, structure))
    node = sum_of = dense(fired.node, 3)
    q = [node.T @ np.concatenate([w * t.node for w, t in zip(weight, twins)])]
    second = dense(fired.edge, 2)[structure.families[0].nodes[:, 1]]
    q.append(second.T @ np.concatenate([w * t.cliques[0] for w, t in zip(weight, twins)]))
    slopes = []
    for criteria, expected in zip((loss.node, loss.edge), q):
        n = expected.sum(axis=1, keepdims=True)
        w = criteria.weight[:, None]
        kl = criteria.distance == "kl"
        slopes.append(
            -w * criteria.target / expected if kl else 2 * w * (expected / n - criteria.target) / n
        )
    reward_node = sum_of @ slopes[0] - loss.entropy_weight * potentials.node
    rewards = [
        np.zeros((len(family.nodes), table.shape[1]), np.longdouble) - loss.entropy_weight * table
        for family, table in zip(structure.families, potentials.cliques, strict=True)
    ]
    rewards[0] += second @ slopes[1]
    found = []
    for i, t in enumerate(twins):
        of_cliques = [
            table[slice(*family.offsets[i : i + 2])]
            for family, table in zip(structure.families, rewards, strict=True)
        ]
        tokens = slice(*structure.offsets[i : i + 2])
        *parts, _ = t.covariances(reward_node[tokens], *of_cliques)
        found.append([weight[i] * part for part in parts])
    node, *cliques = (np.concatenate(parts).astype(float) for parts in zip(*found, strict=True))
    return Potentials(node, tuple(cliques))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_by_enumeration(seed, shared, distance, order):
    loss, potentials, structure, evidence = problem(seed, distance, shared=shared, order=order)
    weight = np.array([1.0, 1.0, 2.0, 0.0, 0.5])
    value, out = whole(loss, potentials, structure, evidence, weight)
    assert value == pytest.approx(
        enumerated(loss, potentials, structure, evidence, weight), abs=1e-10
    )
    expected = covariances(loss, potentials, structure, evidence, weight)
    np.testing.assert_allclose(out.node, expected.node, atol=1e-10)
    for found, table in zip(out.cliques, expected.cliques, strict=True):
        cliques = table.sum(axis=0, keepdims=True) if shared else table
        np.testing.assert_allclose(found, cliques, atol=1e-10)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("entropy_weight", [0.0, 0.3])
def test_derivative_of_the_whole(distance, entropy_weight):
    loss, potentials, structure, evidence = problem(7, distance, entropy_weight)
    weight = np.array([1.0, 1.0, 2.0, 0.0, 0.5])
    out = whole(loss, potentials, structure, evidence, weight)[1]
    for table, expected in zip(*map(contracts.arrays_of, (potentials, out)), strict=True):
        for index in contracts.some_entries(np.random.default_rng(0), table, 20):
            slope = contracts.derivative(
                lambda: whole(loss, potentials, structure, evidence, weight)[0], table, index
            )
            assert slope == pytest.approx(expected[index], abs=1e-6)


class OfExamples(Loss):
    """The loss of examples that `outer` gives, with an entropy; fixed slopes, and criteria that
    fire by code.
    """

    convex = False

    def __init__(self, order=1):
        loss, potentials, structure, evidence = problem(3, order=order)
        batch = Batch(potentials, evidence, structure, np.ones(5))
        inner = loss.outer(loss.statistics(batch))[1]
        self.loss = Expectation(
            Chain(), inner.node, inner.edge, 0.3, [s[:, :m] for s, m in zip(inner.slopes, (3, 9))]
        )
        self.loss.edge = inner.edge._replace(target=inner.edge.target[:, :9])
        self.fires = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 2.0]])

    def __call__(self, batch, out, value):
        strengths = self.fires[batch.evidence.known_labels()]
        fired = Fired(csr(sp.csr_array(strengths)), csr(sp.csr_array(strengths[:, :2])))
        self.loss(batch._replace(evidence=Evidence(fired=fired)), out, value)


test_contract = contracts.loss(OfExamples())
test_contract_of_second_order = contracts.loss(OfExamples(2), order=2)


def test_what_cannot_be_costs_infinitely_much():
    """A target that asks for a forbidden label: no division by zero, and no derivative that is not
    a number.
    """
    criteria = Criteria(np.array([[0.5, 0.5]]), np.ones(1), "kl")
    loss = Expectation(Chain(), criteria, Criteria(np.zeros((0, 4)), np.zeros(0), "kl"))
    potentials = Potentials(np.array([[0.0, -np.inf], [0.0, -np.inf]]), (np.zeros((1, 4)),))
    fired = Fired(csr(sp.csr_array(np.ones((2, 1)))), csr(sp.csr_array((2, 0))))
    evidence = Evidence(fired=fired)
    value, out = whole(loss, potentials, chain([0, 2]), evidence, np.ones(1))
    assert value == np.inf
    assert np.all(np.isfinite(out.node))
