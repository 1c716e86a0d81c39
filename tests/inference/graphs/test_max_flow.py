"""Largest flows and smallest cuts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from sklearn_struct.containers.structures import Family, Structure
from sklearn_struct.inference.graphs.adjacency import read
from sklearn_struct.inference.graphs.max_flow import SINK, Network, cut, no_trees


def network(rng, n_nodes, n_edges, largest):
    """A random network with whole numbers, for which sums are exact."""
    pairs = rng.permutation([(u, v) for u in range(n_nodes) for v in range(u)])[:n_edges]
    return with_numbers(rng, n_nodes, pairs, largest)


def grid(rng, size, largest):
    """The same of a square of pixels with 8 neighbours."""
    numbers = np.arange(size * size).reshape(size, size)
    rows = [(numbers[:, :-1], numbers[:, 1:]), (numbers[:-1], numbers[1:])]
    rows += [(numbers[:-1, 1:], numbers[1:, :-1]), (numbers[:-1, :-1], numbers[1:, 1:])]
    pairs = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in rows])
    return with_numbers(rng, size * size, pairs, largest)


def with_numbers(rng, n_nodes, pairs, largest):
    """A network of these pairs of nodes."""
    family = Family(pairs, np.array([0, len(pairs)]))
    cliques, graph = read(Structure(np.array([0, n_nodes]), (family,)))
    arc = rng.integers(0, largest, 2 * len(pairs)).astype(np.float64)
    terminal = rng.integers(-largest, largest, n_nodes).astype(np.float64)
    return Network(graph, cliques.members, arc, terminal)


def cost(given, on_sink_side):
    """What a cut cuts."""
    _graph, members, arc, terminal = given
    to_sink = np.maximum(-terminal, 0.0)[~on_sink_side].sum()
    from_source = np.maximum(terminal, 0.0)[on_sink_side].sum()
    tail = on_sink_side[members]
    head = on_sink_side[members[np.arange(len(members)) ^ 1]]
    return to_sink + from_source + arc[~tail & head].sum()


def smallest(given):
    """The sink's side that is found."""
    n = len(given.terminal)
    trees = no_trees(n)
    left = given._replace(arc=given.arc.copy(), terminal=given.terminal.copy())
    cut(left, 0, n, trees)
    return trees.side == SINK


@pytest.mark.parametrize("seed", range(40))
def test_no_cut_is_smaller(seed):
    rng = np.random.default_rng(seed)
    given = network(rng, 9, int(rng.integers(0, 30)), 10)
    every = [cost(given, np.array(side)) for side in product([False, True], repeat=9)]
    assert cost(given, smallest(given)) == min(every)


@pytest.mark.parametrize("largest", [3, 1000])
def test_it_costs_as_much_as_scipys_flow_brings(largest):
    given = network(np.random.default_rng(0), 300, 2000, largest)
    assert cost(given, smallest(given)) == flow_of_scipy(given)


@pytest.mark.parametrize("seed", range(5))
def test_grids_cost_as_much_as_scipys_flow_brings(seed):
    """On these, nodes become free late, and must be taken again."""
    given = grid(np.random.default_rng(seed), 20, 10)
    assert cost(given, smallest(given)) == flow_of_scipy(given)


def flow_of_scipy(given):
    """What scipy brings from the source to the sink."""
    n = len(given.terminal)
    rows = np.concatenate([given.members, np.full(n, n), np.arange(n)])
    other = given.members[np.arange(len(given.members)) ^ 1]
    columns = np.concatenate([other, np.arange(n), np.full(n, n + 1)])
    of_source = np.maximum(given.terminal, 0)
    of_sink = np.maximum(-given.terminal, 0)
    capacity = np.concatenate([given.arc, of_source, of_sink]).astype(np.int32)
    matrix = sp.csr_array((capacity, (rows, columns)), shape=(n + 2, n + 2))
    return maximum_flow(matrix, n, n + 1).flow_value


def test_nodes_of_other_examples_are_left_alone():
    rng = np.random.default_rng(1)
    one = network(rng, 9, 20, 10)
    n = 9
    pairs = one.members.reshape(-1, 2)
    nodes = np.concatenate([pairs, pairs + n])
    family = Family(nodes, np.array([0, len(pairs), 2 * len(pairs)]))
    cliques, graph = read(Structure(np.array([0, n, 2 * n]), (family,)))
    twice = Network(graph, cliques.members, np.tile(one.arc, 2), np.tile(one.terminal, 2))
    trees = no_trees(2 * n)
    trees.side[:] = 7
    cut(twice, n, 2 * n, trees)
    assert np.all(trees.side[:n] == 7)
    np.testing.assert_array_equal(trees.side[n:] == SINK, smallest(one))
    np.testing.assert_array_equal(twice.terminal[:n], one.terminal)
