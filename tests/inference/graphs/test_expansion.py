"""Labellings of Potts's model by expansion moves."""

from __future__ import annotations

from itertools import product

import graphs
import numpy as np
import pytest

from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.inference.graphs.decoded import decode, score_bound
from sklearn_struct.inference.graphs.expansion import best_by_moves, room_for_moves
from sklearn_struct.inference.graphs.flat_scores import flat_scores
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.search_order import ordered
from sklearn_struct.inference.graphs.search_scores import like_equal_labels, search_scores
from sklearn_struct.inference.graphs.trw_s import labelling_score

SCORES = JunctionTree()


def potts(rng, sizes, K, *, shared, strength=1.0):
    """A grid whose edges like equal labels, some labels more than others."""
    potentials, structure = graphs.grid(rng, *sizes, K)
    n_rows = 1 if shared else len(structure.families[0].nodes)
    labels = np.arange(K)
    table = np.repeat(rng.normal(size=(n_rows, 1, 1)), K, axis=1).repeat(K, axis=2)
    table[:, labels, labels] += strength * rng.random((n_rows, K))
    return Potentials(potentials.node, (table.reshape(n_rows, -1),)), structure


def moved(potentials, structure, labels):
    """Labels after moves from given ones, in the order of nodes."""
    order, cliques, graph = ordered(potentials, structure)
    scores = flat_scores(potentials)
    scores = search_scores(scores._replace(node=scores.node[order]), cliques)
    now = labels[order]
    n = len(now)
    best_by_moves(scores, cliques, graph, (0, 0, n), room_for_moves(scores, cliques), now)
    assert labelling_score(scores, cliques, 0, 0, now) >= (
        labelling_score(scores, cliques, 0, 0, labels[order]) - 1e-9
    )
    after = np.empty_like(now)
    after[order] = now
    return after


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_of_two_labels_it_is_the_best(shared, seed):
    potentials, structure = potts(np.random.default_rng(seed), (5, 6), 2, shared=shared)
    expected = np.empty(1)
    JunctionTree().argmax(potentials, structure, np.zeros(30, np.int32), expected)
    labels = np.zeros(30, np.int32)
    decode(potentials, structure, labels)
    score = SCORES.scores(potentials, structure, labels)
    np.testing.assert_allclose(score, expected, atol=1e-9)
    np.testing.assert_allclose(score_bound(potentials, structure), expected, atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_no_other_move_is_better(shared, seed):
    """From what moves have led to, no change of any nodes to one label is better."""
    rng = np.random.default_rng(seed)
    potentials, structure = potts(rng, (3, 3), 3, shared=shared, strength=3.0)
    labels = moved(potentials, structure, rng.integers(0, 3, 9).astype(np.int32))
    best = SCORES.scores(potentials, structure, labels)[0]
    for label, changed in product(range(3), product([False, True], repeat=9)):
        other = np.where(changed, label, labels).astype(np.int32)
        assert SCORES.scores(potentials, structure, other)[0] <= best + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_rounds_go_on_until_no_move_is_better(seed):
    """Of a small grid; what moves have led to, they leave as it is."""
    potentials, structure = potts(np.random.default_rng(seed), (6, 6), 4, shared=True)
    labels = moved(potentials, structure, np.zeros(36, np.int32))
    again = moved(potentials, structure, labels)
    assert SCORES.scores(potentials, structure, again) == pytest.approx(
        SCORES.scores(potentials, structure, labels), abs=1e-9
    )


def test_labels_that_cannot_be_best_change_nothing():
    """Scores of nodes that differ by more than all their edges leave few cuts to be made."""
    rng = np.random.default_rng(0)
    potentials, structure = potts(rng, (4, 4), 4, shared=False)
    potentials = potentials._replace(node=5.0 * potentials.node)
    expected = np.empty(1)
    JunctionTree().argmax(potentials, structure, np.zeros(16, np.int32), expected)
    _order, _cliques, _ = ordered(potentials, structure)
    labels = moved(potentials, structure, np.zeros(16, np.int32))
    np.testing.assert_allclose(SCORES.scores(potentials, structure, labels), expected, atol=1e-9)


def test_which_examples_like_equal_labels():
    """One edge that likes different ones, or has scores of its own, is enough against it."""
    family = Family(np.array([[0, 1], [2, 3], [4, 5], [6, 7]]), np.arange(5))
    structure = Structure(np.arange(0, 9, 2), (family,))
    tables = np.array([[1.0, 0, 0, 0.5], [1.0, 0, 0, -0.5], [1.0, 0, 0.1, 1.0], [0.0, 0, 0, 0]])
    potentials = Potentials(np.zeros((8, 2)), (tables,))
    assert like_equal_labels(potentials, structure).tolist() == [True, False, False, True]
    tables[0, 1:3] = -np.inf
    assert like_equal_labels(potentials, structure).tolist() == [False, False, False, True]
    triples = Family(np.array([[0, 1, 2]]), np.array([0, 1]))
    potentials = Potentials(np.zeros((3, 2)), (np.zeros((1, 8)),))
    assert not like_equal_labels(potentials, Structure(np.array([0, 3]), (triples,)))[0]


@pytest.mark.parametrize("unlike", [0, 1, 2])
def test_all_kinds_of_edges_must_like_equal_labels(unlike):
    """One kind of three that likes different labels is enough, whichever it is."""
    pairs = [[[0, 1], [2, 3]], [[1, 2]], [[0, 2]]]
    families = tuple(Family(np.array(nodes), np.array([0, len(nodes)])) for nodes in pairs)
    structure = Structure(np.array([0, 4]), families)
    alike = [np.eye(2).reshape(1, -1)] * 3
    assert like_equal_labels(Potentials(np.zeros((4, 2)), tuple(alike)), structure).all()
    alike[unlike] = -alike[unlike]
    assert not like_equal_labels(Potentials(np.zeros((4, 2)), tuple(alike)), structure).any()


@pytest.mark.parametrize("K", [2, 3, 5])
def test_an_example_is_searched_alike_among_others(K):
    """Also beside examples that are searched by max-product."""
    rng = np.random.default_rng(K)
    family = Family(np.array([[0, 1], [1, 2], [2, 0]]), np.array([0, 3]))
    alone = Structure(np.array([0, 3]), (family,))
    nodes = np.concatenate([family.nodes, family.nodes + 3])
    both = Structure(np.array([0, 3, 6]), (Family(nodes, np.array([0, 3, 6])),))
    for _ in range(30):
        node = np.round(rng.normal(size=(6, K)))
        tables = np.zeros((6, K, K))
        tables[:3] = rng.normal(size=(3, K, K))
        tables[3:, np.arange(K), np.arange(K)] = 1.0
        tables = tables.reshape(6, -1)
        labels = np.zeros(6, np.int32)
        start = np.zeros(6, np.int32)
        decode(Potentials(node, (tables,)), both, labels, start)
        for rows in (slice(3), slice(3, 6)):
            own = np.zeros(3, np.int32)
            decode(Potentials(node[rows], (tables[rows],)), alone, own, start[:3])
            assert labels[rows].tolist() == own.tolist()


def test_strong_edges_are_searched_better_than_by_messages_alone():
    """Edges that outweigh nodes make a few large areas, which no single label can change."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.grid(rng, 30, 30, 8)
    potentials = Potentials(potentials.node, (2.0 * np.eye(8).reshape(1, -1),))
    labels = np.zeros(900, np.int32)
    decode(potentials, structure, labels)
    score = SCORES.scores(potentials, structure, labels)
    bound = score_bound(potentials, structure)
    assert score <= bound
    assert bound - score < 0.005 * bound
