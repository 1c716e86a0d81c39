"""Shares of forests: the most even points of the spanning-tree polytope, and a little below."""

from __future__ import annotations

from itertools import chain, combinations, pairwise

import graphs
import networkx as nx
import numpy as np
import pytest
from graphs import PAIRS, TRIPLES

from sklearn_struct.containers.structures import Family, Structure, copies
from sklearn_struct.inference.graphs.flat_scores import cliques_of
from sklearn_struct.inference.graphs.forest_shares import SLACK, shares_of_cliques
from sklearn_struct.inference.graphs.spanning_forests import join


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


def random_edges(rng, n, least=3):
    """Some of the edges of n nodes."""
    every = list(combinations(range(n), 2))
    return [every[e] for e in rng.permutation(len(every))[: rng.integers(least, len(every))]]


def most_even(n, edges):
    """The shares of the most even point, sorted: slopes below the least number of joins that so
    many edges make.
    """
    n_joins = [
        min(n - n_trees(range(n), chosen) for chosen in combinations(edges, size))
        for size in range(len(edges) + 1)
    ]
    corners = [0]
    while corners[-1] < len(edges):
        a = corners[-1]
        slopes = {b: (n_joins[b] - n_joins[a]) / (b - a) for b in range(a + 1, len(edges) + 1)}
        corners.append(max(b for b in slopes if slopes[b] == min(slopes.values())))
    return [(n_joins[b] - n_joins[a]) / (b - a) for a, b in pairwise(corners) for _ in range(a, b)]


@pytest.mark.parametrize("seed", range(4))
def test_they_are_in_the_spanning_tree_polytope(seed):
    """No set of nodes has more than its size less one of edges; all together nearly have that."""
    rng = np.random.default_rng(seed)
    edges = random_edges(rng, 6)
    share = shares(one_graph(6, edges))
    assert np.all((share > 0.0) & (share <= 1.0))
    n_joins = 6 - n_trees(range(6), edges)
    assert (1.0 - SLACK) * n_joins - 1e-12 <= share.sum() <= n_joins
    for nodes in chain.from_iterable(combinations(range(6), n) for n in range(2, 7)):
        inside = [set(edge) <= set(nodes) for edge in edges]
        assert share[inside].sum() <= len(nodes) - 1 + 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_they_are_the_most_even_ones_but_for_the_slack(seed):
    rng = np.random.default_rng(seed)
    edges = random_edges(rng, 6, 5)[:11]
    share = np.sort(shares(one_graph(6, edges)))
    expected = np.array(most_even(6, edges))
    expected[expected < 1.0] *= 1.0 - SLACK
    np.testing.assert_allclose(share, expected, rtol=1e-15)


@pytest.mark.parametrize(("n", "n_edges"), [(7, 13), (30, 60), (200, 300), (500, 2000)])
def test_numbers_of_nodes_and_edges_do_not_matter(n, n_edges):
    """Each edge has the very same number."""
    rng = np.random.default_rng(n)
    every = np.array(list(combinations(range(n), 2)))
    edges = every[np.sort(rng.permutation(len(every))[:n_edges])]
    share = shares(one_graph(n, edges))
    assert len(np.unique(share)) > 1
    for _ in range(3):
        order = rng.permutation(n_edges)
        moved = rng.permutation(n)[edges[order]]
        np.testing.assert_array_equal(shares(one_graph(n, moved)), share[order])


def test_sets_that_are_nearly_as_dense_are_told_apart():
    """Few forests make one set of them. Each node has joined two of those before it."""
    graph = nx.barabasi_albert_graph(100, 2, seed=5)
    edges = np.array(graph.edges)
    share = shares(one_graph(100, edges))
    rng = np.random.default_rng(0)
    for _ in range(10):
        order = rng.permutation(len(edges))
        moved = rng.permutation(100)[edges[order]]
        np.testing.assert_array_equal(shares(one_graph(100, moved)), share[order])


def test_where_forests_are_few_for_the_edges_there_is_more_slack():
    """Else shares could be above those of the forests that were made."""
    share = shares(one_graph(300, list(combinations(range(300), 2))))
    assert np.ptp(share) == 0.0
    assert 0.49 * 2.0 / 300 < share[0] < (1.0 - 1.5 * SLACK) * 2.0 / 300


def test_counts_of_forests_are_nowhere_below_them():
    """What makes them those of forests where sets of nodes are too many to try."""
    rng = np.random.default_rng(0)
    n = 40
    edges = np.array(random_edges(rng, n)[:90])
    structure = one_graph(n, edges)
    share = shares(structure)
    used = np.zeros(len(edges))
    for _ in range(2000):
        parent = np.arange(n)
        for e in np.argsort(used, kind="stable"):
            used[e] += join(cliques_of(structure), e, 0, parent)
    assert np.all(used / 2000 >= share)
    assert np.all(used / 2000 <= share / (1.0 - SLACK) + 0.01)


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
def test_alike_edges_have_equal_shares(n):
    """Of complete graphs 2 / n, of cycles 1 - 1 / n."""
    share = shares(one_graph(n, list(combinations(range(n), 2))))
    np.testing.assert_allclose(share, (1.0 - SLACK) * 2.0 / n, rtol=1e-15)
    share = shares(one_graph(n, [(i, (i + 1) % n) for i in range(n)]))
    np.testing.assert_allclose(share, (1.0 - SLACK) * (1.0 - 1.0 / n), rtol=1e-15)


def test_no_clique_is_left_out():
    """Of a hundred nodes, all joined, fifty trees are needed at least."""
    share = shares(one_graph(100, list(combinations(range(100), 2))))
    assert share.min() > 0.0
    assert 0.9 * 99.0 < share.sum() < 99.0


def test_larger_cliques_have_the_counts_of_forests():
    """Those of four triangles of four nodes: a forest has one of them."""
    nodes = np.array(list(combinations(range(4), 3)))
    structure = Structure(np.array([0, 4]), (Family(nodes, np.array([0, 4])),))
    np.testing.assert_array_equal(shares(structure), 0.25)


def test_an_example_alone_has_the_same_shares():
    _, structure = graphs.random_graphs(np.random.default_rng(0), (7, 0, 9), 2, (PAIRS, TRIPLES))
    share = shares(structure)
    alone = copies(structure, np.array([2]))
    of_all = np.concatenate([alone.cliques[0], len(structure.families[0].nodes) + alone.cliques[1]])
    np.testing.assert_array_equal(shares(alone.structure), share[of_all])
