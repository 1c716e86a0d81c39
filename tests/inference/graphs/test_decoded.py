"""Labellings by sequential tree-reweighted messages and by damped max-product."""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, SHARED_PAIRS, SHARED_TRIPLES, TRIPLES, Enumeration

from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.graphs.adjacency import read
from sklearn_struct.inference.graphs.decoded import decode, score_bound
from sklearn_struct.inference.graphs.flat_scores import flat_scores
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.max_product import best_by_max_product
from sklearn_struct.inference.graphs.search_order import ordered
from sklearn_struct.inference.graphs.search_scores import search_scores
from sklearn_struct.inference.graphs.trw_s import labelling_score, sweep_of_trees

SCORES = JunctionTree()


def decoded(potentials, structure, start=None):
    labels = np.zeros(len(potentials.node), np.int32)
    decode(potentials, structure, labels, start)
    bound = score_bound(potentials, structure)
    return labels, SCORES.scores(potentials, structure, labels), bound


def best(potentials, structure):
    labels = np.zeros(len(potentials.node), np.int32)
    score = np.empty(structure.n_examples)
    SCORES.argmax(potentials, structure, labels, score)
    return score


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("whole", [True, False], ids=["ties", "no ties"])
def test_of_forests_it_is_the_best(shared, whole):
    """Also where many labellings are equally good, as with small whole numbers."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        potentials, structure = graphs.random_forest(rng, (9, 0, 1, 30), shared=shared)
        if whole:
            potentials = contracts.mapped(np.round, potentials)
        _, score, bound = decoded(potentials, structure)
        expected = np.empty(4)
        Forest().argmax(potentials, structure, np.zeros(40, np.int32), expected)
        np.testing.assert_allclose(score, expected, atol=1e-10)
        assert np.all(bound >= expected - 1e-9)


@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS, SHARED_TRIPLES), (TRIPLES,)])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_and_few_labellings_are_better(families, seed):
    rng = np.random.default_rng(seed)
    sizes = [5, 0, 1, *[7] * 30]
    potentials, structure = graphs.random_graphs(rng, sizes, 3, families)
    _, score, bound = decoded(potentials, structure)
    expected = best(potentials, structure)
    assert np.all(score <= expected + 1e-10)
    assert np.all(bound >= expected - 1e-9)
    n_best = np.sum(score > expected - 1e-9)
    if families == (PAIRS,):
        assert np.all(np.isfinite(bound))
        assert n_best > 0.9 * len(sizes)
    else:
        assert n_best > 0.5 * len(sizes)


@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_the_bound_never_rises(K, strength):
    rng = np.random.default_rng(0)
    potentials, structure = graphs.grid(rng, 8, 7, K, shared=False, strength=strength)
    cliques, graph = read(structure)
    scores = search_scores(flat_scores(potentials), cliques)
    messages = np.zeros((len(graph.places) // 2, K))
    labels = np.zeros(56, np.int32)
    before = np.inf
    for s in range(40):
        bound = sweep_of_trees(scores, cliques, graph, (0, 56), s % 2 == 0, messages, labels)
        assert bound <= before + 1e-10
        assert bound >= labelling_score(scores, cliques, 0, 0, labels) - 1e-10
        before = bound


def test_strong_and_alike_edges_are_solved():
    """Potts's model of two labels is no problem for tree-reweighted messages."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.grid(rng, 6, 6, 2)
    potentials = Potentials(potentials.node, (np.array([[1.0, 0.0, 0.0, 1.0]]),))
    _, score, bound = decoded(potentials, structure)
    np.testing.assert_allclose(score, best(potentials, structure), atol=1e-9)
    np.testing.assert_allclose(score, bound, atol=1e-6)


def test_of_no_nodes_nothing_is_written():
    potentials, structure = graphs.random_graphs(np.random.default_rng(0), (0, 0), 3, (PAIRS,))
    labels, score, bound = decoded(potentials, structure, np.zeros(0, np.int32))
    assert len(labels) == 0
    assert score.tolist() == bound.tolist() == [0.0, 0.0]


def test_a_start_is_never_made_worse():
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (9, 8, 9), 3, (PAIRS, TRIPLES))
    expected = best(potentials, structure)
    exact = np.zeros(26, np.int32)
    JunctionTree().argmax(potentials, structure, exact)
    _, score, _ = decoded(potentials, structure, exact)
    np.testing.assert_allclose(score, expected, atol=1e-12)


def test_of_trees_of_cliques_max_product_is_exact():
    rng = np.random.default_rng(0)
    nodes = np.array([[4, 0, 7], [2, 7, 3], [1, 3, 8], [5, 6, 0]])
    structure = Structure(np.array([0, 9]), (Family(nodes, np.array([0, 4])),))
    potentials = Potentials(rng.normal(size=(9, 3)), (rng.normal(size=(4, 27)),))
    order, cliques, graph = ordered(potentials, structure)
    assert sorted(order) == list(range(9))
    messages = np.zeros((12, 3)), np.zeros((12, 3))
    labels = np.zeros(9, np.int32)
    scores = flat_scores(potentials)
    scores = search_scores(scores._replace(node=scores.node[order]), cliques)
    score = best_by_max_product(scores, cliques, graph, (0, 0, 9, 5), messages, labels)
    assert score == pytest.approx(best(potentials, structure)[0], abs=1e-10)


def test_forbidden_labels_and_pairs():
    """Of small graphs an allowed labelling is met nearly wherever there is one."""
    rng = np.random.default_rng(0)
    n_allowed = 0
    n_met = 0
    for _ in range(60):
        potentials, structure = graphs.random_graphs(rng, (6,), 3, (PAIRS,), density=1.2)
        for table in contracts.arrays_of(potentials):
            table[rng.random(table.shape) < 0.25] = -np.inf
        allowed = Enumeration(potentials, structure, 0).log_Z > -np.inf
        _, score, _ = decoded(potentials, structure)
        assert allowed or score[0] == -np.inf
        n_allowed += allowed
        n_met += score[0] > -np.inf
    assert n_allowed > 20
    assert n_met > 0.95 * n_allowed
