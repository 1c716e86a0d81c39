"""Labelled and unlabelled examples in one loss: each kind has its own, which sees only its kind."""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from criteria import K, problem, whole

from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions, forbid
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.evidence import Fired
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.losses.semi_supervised import SemiSupervised, is_labelled

WEIGHT = np.array([1.0, 1.0, 2.0, 0.5, 0.5])
LABELLED = np.array([False, False, False, True, True])


def mixture(seed=0):
    """The last two of five chains are labelled, one of them in part."""
    expectation, potentials, structure, evidence = problem(seed)
    allowed = np.ones(potentials.node.shape, dtype=bool)
    allowed[7:11] = np.eye(K, dtype=bool)[[0, 2, 1, 1]]
    allowed[13] = [True, False, True, False]
    loss = SemiSupervised(MarginalLikelihood(Chain()), expectation)
    return loss, potentials, structure, evidence._replace(allowed=allowed)


def test_which_examples_are_labelled():
    _, _, structure, y = mixture()
    np.testing.assert_array_equal(is_labelled(y.allowed, structure.offsets), LABELLED)
    assert not is_labelled(np.ones((0, 3), dtype=bool), np.array([0, 0])).any()


def test_is_the_sum_of_both():
    loss, potentials, structure, y = mixture()
    value, out = whole(loss, potentials, structure, y, WEIGHT)
    free = np.where(LABELLED, 0.0, WEIGHT)
    expected, expected_out = whole(loss.of_unlabelled, potentials, structure, y, free)
    known = np.where(LABELLED, WEIGHT, 0.0)
    values, _ = contracts.evaluate(
        loss.of_labelled, potentials, y.allowed, structure, known, expected_out
    )
    assert value == pytest.approx(expected + known @ values, abs=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected_out), atol=1e-12)


def test_derivative():
    loss, potentials, structure, y = mixture(1)
    out = whole(loss, potentials, structure, y, WEIGHT)[1]
    for table, expected in zip(*map(contracts.arrays_of, (potentials, out)), strict=True):
        for index in contracts.some_entries(np.random.default_rng(0), table, 20):
            slope = contracts.derivative(
                lambda: whole(loss, potentials, structure, y, WEIGHT)[0], table, index
            )
            assert slope == pytest.approx(expected[index], abs=1e-6)


def test_among_allowed_labellings():
    loss, potentials, structure, y = mixture(2)
    pairs = np.ones((K, K), dtype=bool)
    pairs[1, 0] = False
    rule = Transitions(np.ones(K, dtype=bool), pairs, np.ones(K, dtype=bool))
    found = whole(Constrained(loss, rule), potentials, structure, y, WEIGHT)
    expected = whole(loss, forbid(potentials, structure, rule), structure, y, WEIGHT)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(contracts.flat(found[1]), contracts.flat(expected[1]))
    assert Constrained(loss, rule).couples


def test_evidence_is_cut_and_the_loss_is_scaled():
    loss, _, _, y = mixture()
    part = y.part(slice(2, 6))
    assert len(part.allowed) == 4
    np.testing.assert_array_equal(part.allowed, y.allowed[2:6])
    rows = slice(y.fired.node.indptr[2], y.fired.node.indptr[6])
    np.testing.assert_array_equal(part.fired.node.indptr, y.fired.node.indptr[2:7])
    np.testing.assert_array_equal(part.fired.node.data[rows], y.fired.node.data[rows])
    assert isinstance(part.fired, Fired)
    half = loss.scaled(0.5)
    assert half.of_labelled is loss.of_labelled
    assert half.of_unlabelled.entropy_weight == 0.15
    criteria = loss.of_unlabelled.node
    np.testing.assert_array_equal(half.of_unlabelled.node.weight, criteria.weight / 2)
    criteria = loss.of_unlabelled.edge
    np.testing.assert_array_equal(half.of_unlabelled.edge.weight, criteria.weight / 2)
    np.testing.assert_array_equal(half.of_unlabelled.edge.target, criteria.target)


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_only_what_is_asked_of_unlabelled_examples_is_scaled(share):
    loss, potentials, structure, y = mixture(3)
    free = np.where(LABELLED, 0.0, WEIGHT)
    known = np.where(LABELLED, WEIGHT, 0.0)
    found, out = whole(loss.scaled(share), potentials, structure, y, WEIGHT)
    of_free, free_out = whole(loss.of_unlabelled, potentials, structure, y, free)
    of_known, known_out = contracts.evaluate(loss.of_labelled, potentials, y, structure, known)
    assert found == pytest.approx(share * of_free + known @ of_known, abs=1e-12)
    expected = share * contracts.flat(free_out) + contracts.flat(known_out)
    np.testing.assert_allclose(contracts.flat(out), expected, atol=1e-12)
