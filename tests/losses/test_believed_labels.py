"""Losses of probable labels: with certain ones those of known labels, and derivatives."""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, SHARED_PAIRS, TRIPLES, Enumeration

from sklearn_struct.containers.structures import zeros
from sklearn_struct.losses.base import Batch
from sklearn_struct.losses.believed_labels import BelievedLabels, BesideBeliefs
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.pseudolikelihood import Pseudolikelihood

K = 3
FAMILIES = [(PAIRS,), (SHARED_PAIRS, TRIPLES)]


def believed(seed, families):
    """Graphs with scores of nodes, beliefs in their labels, and weights of nodes."""
    rng = np.random.default_rng(seed)
    potentials, structure = graphs.random_graphs(rng, families=families)
    n = len(potentials.node)
    evidence = Evidence(
        weight=rng.random(n) * (rng.random(n) < 0.7),
        beliefs=rng.dirichlet(np.ones(K), n),
        scores=rng.normal(size=(n, K)),
    )
    return Batch(potentials, evidence, structure, np.array([1.0, 2.0, 0.5, 1.5]))


def evaluated(loss, batch):
    out = zeros(batch.potentials, shared=False)
    value = np.empty(len(batch.weight))
    loss(batch, out, value)
    return value, out


@pytest.mark.parametrize("families", FAMILIES, ids=["pairs", "triples"])
@pytest.mark.parametrize("loss", [BelievedLabels(), BesideBeliefs()], ids=["nodes", "cliques"])
def test_derivatives(loss, families):
    batch = believed(0, families)
    _, out = evaluated(loss, batch)
    rng = np.random.default_rng(1)
    tables = contracts.arrays_of(batch.potentials)
    for table, expected in zip(tables, contracts.arrays_of(out), strict=True):
        for index in contracts.some_entries(rng, table, 8):
            slope = contracts.derivative(
                lambda: batch.weight @ evaluated(loss, batch)[0], table, index
            )
            assert slope == pytest.approx(expected[index], abs=1e-6)


@pytest.mark.parametrize("families", FAMILIES, ids=["pairs", "triples"])
def test_certain_labels_beside_each_other_are_the_pseudolikelihood(families):
    batch = believed(2, families)
    labels = np.random.default_rng(3).integers(K, size=len(batch.potentials.node)).astype(np.int32)
    certain = Evidence(labels, beliefs=np.eye(K)[labels], scores=batch.potentials.node)
    batch = batch._replace(evidence=certain)
    value, out = evaluated(BesideBeliefs(), batch)
    expected, expected_out = evaluated(Pseudolikelihood(), batch)
    np.testing.assert_allclose(value, expected, atol=1e-12)
    for table, of_table in zip(out.cliques, expected_out.cliques, strict=True):
        np.testing.assert_allclose(table, of_table, atol=1e-12)
    assert not np.any(out.node)


def test_what_neighbours_tell_is_a_mean_over_their_labels():
    """By enumeration of the neighbours' labels, which are independent."""
    batch = believed(4, (SHARED_PAIRS, TRIPLES))
    evidence = batch.evidence
    value, _ = evaluated(BesideBeliefs(), batch)
    cliques = batch.potentials._replace(node=np.zeros_like(batch.potentials.node))
    for i in (0, 3):
        every = Enumeration(cliques, batch.structure, i)
        total = 0.0
        for t, node in enumerate(every.nodes):
            p = np.ones(len(every.scores))
            for s, other in enumerate(every.nodes):
                if s != t:
                    p *= evidence.beliefs[other][every.labellings[:, s]]
            # cliques without the node add the same to all of its labels
            row = np.bincount(every.labellings[:, t], p * every.scores, K) + evidence.scores[node]
            log_p = row - np.logaddexp.reduce(row)
            total -= evidence.weight[node] * evidence.beliefs[node] @ log_p
        assert value[i] == pytest.approx(total, abs=1e-10)


def test_what_is_impossible_is_not_believed():
    batch = believed(5, (PAIRS,))
    batch.potentials.node[:, 1] = -np.inf
    batch.evidence.beliefs[:, 1] = 0.0
    value, out = evaluated(BelievedLabels(), batch)
    assert np.all(np.isfinite(value))
    assert np.all(out.node[:, 1] == 0.0)


def test_it_says_what_is_missing():
    batch = believed(6, (PAIRS,))
    bare = batch._replace(evidence=Evidence(beliefs=batch.evidence.beliefs))
    with pytest.raises(TypeError, match="the evidence has no scores"):
        evaluated(BesideBeliefs(), bare)
    for loss in (BelievedLabels(), BesideBeliefs()):
        with pytest.raises(TypeError, match="the evidence has no beliefs"):
            evaluated(loss, batch._replace(evidence=Evidence()))
