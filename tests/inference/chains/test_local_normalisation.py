"""Chains that are normalised token by token, as plain chains."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import Family, Potentials, Structure, chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.local_normalisation import locally_normalised

inference = Chain()


def log_p(node, cliques, labels):
    """sum_t log p(y_t | y_{t-1}), at order 2 given two labels, one softmax after the other."""
    K = node.shape[1]
    found = 0.0
    for t, k in enumerate(labels):
        row = node[t]
        for r, table in enumerate(cliques, 1):
            if t >= r:
                scores = table[min(t - r, len(table) - 1)].reshape((K,) * (r + 1))
                row = row + scores[tuple(labels[t - r : t])]
        found += row[k] - np.logaddexp.reduce(row)
    return found


@pytest.mark.parametrize("by_edge", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("order", [1, 2])
def test_scores_are_log_probabilities(order, scale, shared, by_edge):
    potentials, structure = contracts.random_chains(
        np.random.default_rng(0), (4, 0, 1, 2), shared=shared, order=order
    )
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    local = locally_normalised(potentials, structure, by_edge)
    _, log_Z = contracts.marginals(inference, local, structure)
    np.testing.assert_allclose(log_Z, 0.0, atol=1e-10)
    for i, (twin, same) in enumerate(
        zip(naive.twins(local, structure), naive.twins(potentials, structure))
    ):
        part, _, _ = contracts.select(potentials, structure, [i])
        expected = [log_p(*part, y) for y in same.y]
        np.testing.assert_allclose(
            twin.scores.astype(float), np.array(expected, float), rtol=1e-12, atol=1e-10
        )


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("order", [1, 2])
def test_sums_over_first_tokens(order, shared):
    """by_edge: a chain cut short has the log-probabilities of what is left."""
    potentials, structure = contracts.random_chains(
        np.random.default_rng(0), (4,), shared=shared, order=order
    )
    local = locally_normalised(potentials, structure, by_edge=True)
    for n in (1, 2, 3):
        counts = [max(n - r, 0) for r in range(1, order + 1)]
        families = tuple(
            Family(family.nodes[:m], np.array([0, m]))
            for family, m in zip(structure.families, counts, strict=True)
        )
        short = Structure(np.array([0, n]), families)
        cliques = tuple(table[:m] for table, m in zip(local.cliques, counts, strict=True))
        _, log_Z = contracts.marginals(inference, Potentials(local.node[:n], cliques), short)
        np.testing.assert_allclose(log_Z, 0.0, atol=1e-12)


@pytest.mark.parametrize("by_edge", [True, False])
def test_labels_after_which_nothing_may_come(by_edge):
    node = np.zeros((2, 2))
    edge = np.array([[-np.inf, -np.inf, 0.0, 0.0]])
    potentials, structure = contracts.single(node, edge)
    [twin] = naive.twins(locally_normalised(potentials, structure, by_edge), structure)
    scores = dict(zip(twin.y, twin.scores))
    assert scores[0, 0] == scores[0, 1] == -np.inf
    assert scores[1, 0] == scores[1, 1] == pytest.approx(2 * np.log(0.5))


@pytest.mark.parametrize("by_edge", [True, False])
def test_two_labels_after_which_nothing_may_come(by_edge):
    """At order 2 a label may be a dead end after one label and not after another."""
    triple = np.zeros((2, 2, 2))
    triple[0, 1] = -np.inf
    structure = chain([0, 3], 2)
    potentials = Potentials(np.zeros((3, 2)), (np.zeros((1, 4)), triple.reshape(1, 8)))
    [twin] = naive.twins(locally_normalised(potentials, structure, by_edge), structure)
    for y, score in zip(twin.y, twin.scores):
        assert score == (-np.inf if y[:2] == (0, 1) else pytest.approx(3 * np.log(0.5)))


@pytest.mark.parametrize("by_edge", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("order", [1, 2])
def test_no_edges_at_all(order, shared, by_edge):
    potentials, structure = contracts.random_chains(
        np.random.default_rng(0), (1, 0, 1), shared=shared, order=order
    )
    local = locally_normalised(potentials, structure, by_edge)
    np.testing.assert_allclose(np.logaddexp.reduce(local.node, axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_float_type_and_inputs_stay(order):
    potentials, structure = contracts.random_chains(np.random.default_rng(0), order=order)
    single = contracts.mapped(lambda table: table.astype(np.float32), potentials)
    before = contracts.copies(*contracts.arrays_of(single))
    for by_edge in (True, False):
        local = locally_normalised(single, structure, by_edge)
        assert {table.dtype for table in contracts.arrays_of(local)} == {np.dtype(np.float32)}
        exact = locally_normalised(potentials, structure, by_edge)
        np.testing.assert_allclose(contracts.flat(local), contracts.flat(exact), atol=1e-5)
    for table, kept in zip(contracts.arrays_of(single), before, strict=True):
        np.testing.assert_array_equal(table, kept)
