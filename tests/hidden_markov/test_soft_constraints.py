"""Soft constraints against enumeration."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import zeros
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.soft_constraints import SoftConstraints, Wanted
from sklearn_struct.inference.chains.chain import Chain

LENGTHS = (4, 1, 0, 3)
WANTED = np.array([-1, 2, -1, 0, 1, -1, -1, 2])


@pytest.fixture(params=[True, False], ids=["shared", "per_edge"])
def batch(request):
    rng = np.random.default_rng(3)
    return contracts.random_chains(rng, LENGTHS, 3, shared=request.param)


def twins(batch, constraints):
    """Of each chain the labellings and their scores less penalties."""
    potentials, structure = batch
    for i, twin in enumerate(naive.twins(potentials, structure)):
        wanted = WANTED[slice(*structure.offsets[i : i + 2])]
        count = [naive.broken(y, wanted, constraints.min_length) for y in twin.y]
        yield twin.y, twin.scores - constraints.penalty * np.array(count)


@pytest.mark.parametrize("min_length", [1, 2, 3, 6])
@pytest.mark.parametrize("penalty", [0.0, 0.7, 50.0])
def test_scores_of_all_labellings(batch, min_length, penalty):
    constraints = SoftConstraints(penalty, min_length)
    potentials, structure = batch
    before = potentials.node.copy()
    under = constraints.of(potentials, structure, WANTED)
    np.testing.assert_array_equal(potentials.node, before)
    n = 81
    states = np.zeros((n, len(WANTED)), np.int32)
    score = np.full((n, 4), np.nan)
    Chain().nbest(under, structure, states, score)
    labels = constraints.labels(states)
    for i, (y, scores) in enumerate(twins(batch, constraints)):
        tokens = slice(*structure.offsets[i : i + 2])
        expected = np.sort(scores)[::-1].astype(float)
        np.testing.assert_allclose(score[: len(y), i], expected, atol=1e-9)
        # states say no more than labels do
        assert np.all(score[len(y) :, i] == -np.inf)
        assert {tuple(row) for row in labels[: len(y), tokens].tolist()} == set(y)


@pytest.mark.parametrize("min_length", [1, 2, 3])
def test_probabilities_of_labels(batch, min_length):
    constraints = SoftConstraints(1.3, min_length)
    potentials, structure = batch
    under = constraints.of(potentials, structure, WANTED)
    out = zeros(under)
    log_Z = np.empty(4)
    Chain().marginals(under, structure, np.ones(4), out, log_Z)
    proba = constraints.proba(out.node)
    for i, (y, scores) in enumerate(twins(batch, constraints)):
        total = np.logaddexp.reduce(scores)
        assert log_Z[i] == pytest.approx(float(total))
        expected = np.zeros((LENGTHS[i], 3))
        for labels, score in zip(y, scores, strict=True):
            expected[np.arange(LENGTHS[i]), list(labels)] += np.exp(score - total)
        np.testing.assert_allclose(
            proba[structure.offsets[i] : structure.offsets[i + 1]], expected, atol=1e-12
        )


def test_what_is_forbidden_stays_so(batch):
    potentials, structure = batch
    potentials.cliques[0][:, 1] = potentials.node[0, 2] = -np.inf
    constraints = SoftConstraints(2.0, 2)
    under = constraints.of(potentials, structure, WANTED)
    states = np.zeros((1, len(WANTED)), np.int32)
    score = np.empty((1, 4))
    Chain().nbest(under, structure, states, score)
    for i, (_, scores) in enumerate(twins(batch, constraints)):
        assert score[0, i] == pytest.approx(float(scores.max()))


def test_wanted_labels_beside_what_was_emitted():
    observed = Observed([np.array([0, 1])], np.empty((2, 0)), np.array([0, 2]))
    wanted = Wanted.of(observed, np.array([1, -1]))
    assert wanted.offsets is observed.offsets
    assert wanted.codes is observed.codes
    assert wanted.wanted.tolist() == [1, -1]
