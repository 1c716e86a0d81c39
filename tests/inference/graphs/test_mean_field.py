"""Mean field: a lower bound of log Z, which rises, and whose derivatives the marginals are."""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, SHARED_PAIRS, SHARED_TRIPLES, TRIPLES, Enumeration

from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.mean_field import MeanField

SETTLED = MeanField(10_000, 1e-14)

test_contract = contracts.inference(SETTLED)
test_tangent_contract = contracts.inference_tangent(SETTLED)


@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS, SHARED_TRIPLES), (TRIPLES,)])
def test_it_is_a_lower_bound_that_rises(families):
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (5, 0, 1, 7), 3, families)
    exact = [Enumeration(potentials, structure, i).log_Z for i in range(4)]
    before = np.full(4, -np.inf)
    for sweeps in (0, 1, 2, 3, 5, 10, 20, 21, 22, 25, 30, 100):
        _, value = contracts.marginals(MeanField(sweeps, 0.0), potentials, structure)
        # the first ten of twenty and more sweeps are the same: nodes that move together may fall
        assert sweeps <= 20 or np.all(value >= before - 1e-12)
        assert np.all(value <= np.array(exact) + 1e-12)
        before = value
    assert before[1] == 0.0
    assert before[2] == pytest.approx(exact[2], abs=1e-12)


def test_without_cliques_it_is_exact():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (5, 3), 3, (PAIRS,), density=0.0)
    expected, log_Z = contracts.marginals(JunctionTree(), potentials, structure)
    out, same = contracts.marginals(SETTLED, potentials, structure)
    np.testing.assert_allclose(same, log_Z, rtol=1e-13)
    np.testing.assert_allclose(out.node, expected.node, atol=1e-13)


@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS, SHARED_TRIPLES), (TRIPLES,)])
def test_marginals_are_the_derivative_of_the_value(families):
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6, 8), 2, families)
    potentials = contracts.mapped(lambda table: 0.5 * table, potentials)
    out, _ = contracts.marginals(SETTLED, potentials, structure)
    assert SETTLED.report.counts.n_unconverged == 0
    for table, expected in zip(contracts.arrays_of(potentials), contracts.arrays_of(out)):
        for index in contracts.some_entries(rng, table):
            slope = contracts.derivative(
                lambda: contracts.marginals(SETTLED, potentials, structure)[1].sum(), table, index
            )
            assert slope == pytest.approx(expected[index], abs=1e-7)


def test_marginals_of_cliques_are_products():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6,), 3, (PAIRS, TRIPLES))
    out, _ = contracts.marginals(SETTLED, potentials, structure)
    for nodes, row in zip(structure.families[0].nodes, out.cliques[0], strict=True):
        a, b = out.node[nodes]
        np.testing.assert_allclose(row, np.outer(a, b).ravel(), atol=1e-13)
    for nodes, row in zip(structure.families[1].nodes, out.cliques[1], strict=True):
        a, b, c = out.node[nodes]
        np.testing.assert_allclose(row, np.einsum("i,j,k", a, b, c).ravel(), atol=1e-13)


def test_forbidden_labels_and_pairs():
    """What is forbidden has no probability; where all is, nothing is added."""
    rng = np.random.default_rng(0)
    n_allowed = 0
    n_met = 0
    for _ in range(60):
        potentials, structure = graphs.random_graphs(rng, (6, 3), 3, (PAIRS,), density=1.2)
        for table in contracts.arrays_of(potentials):
            table[rng.random(table.shape) < 0.25] = -np.inf
        out, value = contracts.marginals(SETTLED, potentials, structure)
        first = len(structure.families[0].nodes[: structure.families[0].offsets[1]])
        parts = (out.node[:6], out.cliques[0][:first]), (out.node[6:], out.cliques[0][first:])
        for i in range(2):
            log_Z = Enumeration(potentials, structure, i).log_Z
            assert value[i] <= log_Z + 1e-12
            for table in parts[i]:
                expected = 1.0 if value[i] > -np.inf else 0.0
                np.testing.assert_allclose(table.sum(axis=1), expected, atol=1e-12)
            n_allowed += log_Z > -np.inf
            n_met += value[i] > -np.inf
        for table, sums in zip(contracts.arrays_of(potentials), contracts.arrays_of(out)):
            assert not sums[table == -np.inf].any()
    assert n_allowed > 40
    assert n_met > 0.95 * n_allowed


def test_labellings_are_those_of_the_searches():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6, 7), 3, (PAIRS,))
    labels = np.zeros(13, np.int32)
    score = np.empty(2)
    SETTLED.argmax(potentials, structure, labels, score)
    expected = [Enumeration(potentials, structure, i).scores.max() for i in range(2)]
    np.testing.assert_allclose(score, expected, atol=1e-10)
