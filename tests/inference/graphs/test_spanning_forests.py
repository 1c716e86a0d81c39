"""Shares of forests: points of the spanning-tree polytope."""

from __future__ import annotations

from itertools import chain, combinations

import graphs
import numpy as np
import pytest
from graphs import PAIRS, TRIPLES

from sklearn_struct.containers.structures import Family, Structure, copies
from sklearn_struct.inference.graphs.flat_scores import cliques_of
from sklearn_struct.inference.graphs.spanning_forests import shares_of_cliques


def shares(structure):
    return shares_of_cliques(structure, cliques_of(structure))


def n_trees(nodes, cliques):
    """How many trees they make, by merging sets."""
    trees = [{v} for v in nodes]
    for clique in cliques:
        touched = [tree for tree in trees if tree & set(clique)]
        trees = [tree for tree in trees if not tree & set(clique)]
        trees.append(set().union(*touched))
    return len(trees)


def one_graph(n, edges):
    edges = np.array(edges, np.int64).reshape(-1, 2)
    return Structure(np.array([0, n]), (Family(edges, np.array([0, len(edges)])),))


@pytest.mark.parametrize("seed", range(4))
def test_they_are_in_the_spanning_tree_polytope(seed):
    """No set of nodes has more than its size less one of edges; all together have that."""
    rng = np.random.default_rng(seed)
    every = list(combinations(range(6), 2))
    edges = [every[e] for e in rng.permutation(len(every))[: rng.integers(3, len(every))]]
    share = shares(one_graph(6, edges))
    assert np.all((share > 0.0) & (share <= 1.0))
    assert share.sum() == pytest.approx(6 - n_trees(range(6), edges), abs=1e-12)
    for nodes in chain.from_iterable(combinations(range(6), n) for n in range(2, 7)):
        inside = [set(edge) <= set(nodes) for edge in edges]
        assert share[inside].sum() <= len(nodes) - 1 + 1e-12


def test_forests_have_all_of_their_edges():
    _, structure = graphs.random_forest(np.random.default_rng(0), (9, 0, 1, 12))
    share = shares(structure)
    assert len(share) > 5
    assert share.tolist() == [1.0] * len(share)


def test_bridges_are_in_all_forests():
    share = shares(one_graph(7, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]))
    assert share[3] == 1.0
    assert np.all(share[[0, 1, 2, 4, 5, 6]] < 0.75)


@pytest.mark.parametrize("n", [4, 5, 9, 20])
def test_alike_edges_have_nearly_equal_shares(n):
    """Of complete graphs 2 / n, of cycles 1 - 1 / n."""
    share = shares(one_graph(n, list(combinations(range(n), 2))))
    np.testing.assert_allclose(share, 2.0 / n, atol=0.04)
    share = shares(one_graph(n, [(i, (i + 1) % n) for i in range(n)]))
    np.testing.assert_allclose(share, 1.0 - 1.0 / n, atol=0.04)


def test_no_clique_is_left_out():
    """Of a hundred nodes, all joined, fifty trees are needed at least."""
    share = shares(one_graph(100, list(combinations(range(100), 2))))
    assert share.min() > 0.0
    assert share.sum() == pytest.approx(99.0)


def test_an_example_alone_has_the_same_shares():
    _, structure = graphs.random_graphs(np.random.default_rng(0), (7, 0, 9), 2, (PAIRS, TRIPLES))
    share = shares(structure)
    alone = copies(structure, np.array([2]))
    of_all = np.concatenate([alone.cliques[0], len(structure.families[0].nodes) + alone.cliques[1]])
    np.testing.assert_array_equal(shares(alone.structure), share[of_all])
