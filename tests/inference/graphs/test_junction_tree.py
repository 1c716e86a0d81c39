"""Exact inference on any graph: the contract on chains, and enumeration elsewhere."""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, QUADS, SHARED_PAIRS, SHARED_TRIPLES, TRIPLES, Enumeration
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.graphs import junction_tree
from sklearn_struct.inference.graphs.bucket_sums import sum_out
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.junction_tree import JunctionTree

EXACT = JunctionTree()

test_contract = contracts.inference(EXACT)
test_second_order_contract = contracts.inference(EXACT, order=2)
test_tangent_contract = contracts.inference_tangent(EXACT)

FAMILIES = {
    "pairs": (PAIRS,),
    "shared pairs": (SHARED_PAIRS,),
    "pairs and triples": (PAIRS, SHARED_TRIPLES),
    "two kinds of pairs, and triples": (SHARED_PAIRS, PAIRS, TRIPLES),
    "four nodes": (QUADS,),
    "no cliques": (),
}


def wide(potentials, structure):
    """Zeros with a row for each clique."""
    tables = [
        np.zeros((len(family.nodes), table.shape[1]))
        for table, family in zip(potentials.cliques, structure.families)
    ]
    return Potentials(np.zeros(potentials.node.shape), tuple(tables))


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("forbidden", ["nothing", "labels", "labels and cliques"])
@pytest.mark.parametrize("families", FAMILIES.values(), ids=FAMILIES)
def test_by_enumeration(families, forbidden, scale):
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (5, 0, 1, 6), families=families, density=1.5)
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    if forbidden != "nothing":
        potentials.node[rng.random(potentials.node.shape) < 0.15] = -np.inf
    if forbidden == "labels and cliques":
        for table in potentials.cliques:
            table[rng.random(table.shape) < 0.15] = -np.inf
    reward = contracts.mapped(lambda table: rng.normal(size=table.shape), potentials)
    out, log_Z = contracts.marginals(EXACT, potentials, structure, out=wide(potentials, structure))
    slope, mean = contracts.tangent(
        EXACT, potentials, reward, structure, out=wide(potentials, structure)
    )
    best = np.zeros(len(potentials.node), np.int32)
    top = np.zeros(structure.n_examples)
    EXACT.argmax(potentials, structure, best, top)
    for i in range(structure.n_examples):
        every = Enumeration(potentials, structure, i)
        assert log_Z[i] == pytest.approx(every.log_Z, rel=1e-13, abs=1e-10)
        assert top[i] == pytest.approx(every.scores.max(), rel=1e-13, abs=1e-10)
        gains = every.sums(reward)
        expected = every.p @ gains if every.p.any() else np.nan
        assert mean[i] == pytest.approx(expected, abs=1e-9, nan_ok=True)
        gains = gains - every.p @ gains
        for found, numbers in ((out, every.p), (slope, every.p * gains)):
            nodes, cliques = every.means(numbers, potentials)
            for node, table in zip(every.nodes, nodes):
                np.testing.assert_allclose(found.node[node], table, atol=1e-9)
            for f, rows in enumerate(every.cliques):
                for c, table in zip(rows, cliques[f]):
                    np.testing.assert_allclose(found.cliques[f][c], table, atol=1e-9)


@pytest.mark.parametrize("shared", [True, False])
def test_of_paths_it_is_the_forest(shared):
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (30, 0, 1, 50), 4, shared)
    expected, log_Z = contracts.marginals(Forest(), potentials, structure)
    out, same = contracts.marginals(EXACT, potentials, structure)
    np.testing.assert_allclose(same, log_Z, rtol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)


def test_logarithms_are_the_same_as_numbers():
    potentials, structure = graphs.grid(np.random.default_rng(0), 5, 6, 3)
    work = junction_tree._Work(potentials, structure, 2.0**20)
    linear, taken = work.linear()
    shift = junction_tree._total(taken, work.buckets, 0)
    tables = []
    for scores, logs in ((linear, False), (work.logs, True)):
        log_Z = sum_out(scores, work.labels, work.buckets, 0, work.room, logs)
        tables.append((log_Z + (not logs) * shift, work.room.tables.copy()))
    assert tables[0][0] == pytest.approx(tables[1][0], rel=1e-13)
    np.testing.assert_allclose(tables[0][1], tables[1][1], atol=1e-13)


def test_numbers_that_would_be_lost_are_seen():
    """Scores that lie far apart, but not along good labellings: their numbers are 0."""
    node = np.array([[0.0, -2000.0], [-2000.0, 0.0], [0.0, 0.0]])
    table = np.array([[0.0, -3000.0, -3000.0, 0.0]])
    edges = Family(np.array([[0, 1], [1, 2]]), np.array([0, 2]))
    potentials = Potentials(node, (table,))
    structure = Structure(np.array([0, 3]), (edges,))
    work = junction_tree._Work(potentials, structure, 2.0**20)
    linear, _ = work.linear()
    assert np.isnan(sum_out(linear, work.labels, work.buckets, 0, work.room, False))
    out, log_Z = contracts.marginals(EXACT, potentials, structure)
    every = Enumeration(potentials, structure, 0)
    assert log_Z[0] == pytest.approx(every.log_Z, rel=1e-14)
    np.testing.assert_allclose(out.node, every.means(every.p, potentials)[0], atol=1e-12)


def test_numbers_that_are_all_small_keep_their_digits():
    """Scores that agree nowhere: each sum is as small as the others, and has few bits."""
    potentials = Potentials(
        np.array([[0.0, -740.0], [0.0, 0.0]]), (np.array([[-740.0, -740.0, 0.0, 0.0]]),)
    )
    edges = Family(np.array([[0, 1]]), np.array([0, 1]))
    _, log_Z = contracts.marginals(EXACT, potentials, Structure(np.array([0, 2]), (edges,)))
    assert log_Z[0] == pytest.approx(np.log(4) - 740, rel=1e-14)


@given(st.integers(0, 2**32 - 1))
def test_numbering_nodes_otherwise_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    potentials, structure = graphs.random_graphs(rng, (7,), 2, (PAIRS, TRIPLES))
    order = rng.permutation(7)
    node = np.empty_like(potentials.node)
    node[order] = potentials.node
    families = tuple(Family(order[family.nodes], family.offsets) for family in structure.families)
    moved = potentials._replace(node=node)
    out, log_Z = contracts.marginals(EXACT, potentials, structure)
    same, again = contracts.marginals(EXACT, moved, Structure(structure.offsets, families))
    np.testing.assert_allclose(again, log_Z, rtol=1e-12)
    np.testing.assert_allclose(same.node[order], out.node, atol=1e-12)


def test_a_known_label_takes_no_room():
    """A star of ten nodes around one, all linked: its table would have 2 ** 11 numbers."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (11,), 2, (PAIRS,), density=10)
    free = JunctionTree(2.0**9)
    with pytest.raises(ValueError, match="tables of more than 512 numbers"):
        contracts.marginals(free, potentials, structure)
    potentials.node[:6, 1] = -np.inf
    _, log_Z = contracts.marginals(free, potentials, structure)
    assert log_Z[0] == pytest.approx(Enumeration(potentials, structure, 0).log_Z, abs=1e-10)


def test_samples_have_the_probabilities_of_labellings():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (4,), 2, (PAIRS, SHARED_TRIPLES))
    every = Enumeration(potentials, structure, 0)
    n = 4000
    counts = np.zeros(len(every.p))
    labels = np.zeros(4, np.int32)
    score = np.zeros(1)
    for uniform in rng.random((n, 4)):
        EXACT.sample(potentials, structure, uniform, labels, score)
        number = int(labels @ 2 ** np.arange(4)[::-1])
        counts[number] += 1
        assert score[0] == pytest.approx(every.scores[number], abs=1e-12)
    # Pearson's statistic has 15 degrees of freedom; above 60 it is as rare as 1 in a million
    assert np.sum((counts - n * every.p) ** 2 / (n * every.p)) < 60


def test_where_no_labelling_is_allowed():
    """Some labelling is chosen, and others of the batch are as ever."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (4, 5), 3, (PAIRS, TRIPLES))
    for forbid in (lambda: potentials.node.__setitem__(2, -np.inf), lambda: None):
        forbid()
        labels = np.full(9, 7, np.int32)
        score = np.zeros(2)
        EXACT.argmax(potentials, structure, labels, score)
        assert score[0] == -np.inf
        assert score[1] == pytest.approx(Enumeration(potentials, structure, 1).scores.max())
        EXACT.sample(potentials, structure, rng.random(9), labels, score)
        assert set(labels) <= {0, 1, 2}
        assert score[0] == -np.inf < score[1]
        potentials.node[2] = 0.0
        potentials.cliques[0][0] = -np.inf


def test_ties_go_to_the_smaller_label():
    _, structure = graphs.grid(np.random.default_rng(0), 3, 3, 3)
    labels = np.full(9, 7, np.int32)
    EXACT.argmax(Potentials(np.zeros((9, 3)), (np.zeros((1, 9)),)), structure, labels)
    assert labels.tolist() == [0] * 9
