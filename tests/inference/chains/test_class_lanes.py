"""Chains of classes side by side, against the log space of each alone, and by enumeration."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers import structures
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.chains.class_lanes import backward, forward, side_by_side
from sklearn_struct.inference.chains.first_order_log import log_marginals
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs

K = 3


def problem(rng, lengths, n_states, scale=1.0):
    """Scores of nodes and of moves, and offsets."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    node = scale * rng.standard_normal((offsets[-1], K * n_states))
    return node, scale * rng.standard_normal((K, n_states, n_states)), offsets


def by_lanes(node, edge, offsets, weight):
    """log Z (n, K), and the sums of marginals; `weight` (n, K) is also which sequences count."""
    counts = weight.any(axis=1).astype(float)
    lanes = side_by_side(K, edge.shape[1], offsets, counts)
    log_Z = np.zeros(weight.shape)
    forward(node, in_table(edge), lanes, log_Z)
    nodes = np.zeros(node.shape)
    table = in_table(np.zeros(edge.shape))
    backward(lanes, weight, nodes, table)
    return log_Z, nodes, out_of_table(table, edge.shape[1])


def in_table(edge):
    """A table of all moves; nobody reads those between classes."""
    n_states = edge.shape[1]
    table = np.full((K, n_states, K, n_states), np.nan)
    table[np.arange(K), :, np.arange(K)] = edge
    return table.reshape(1, -1)


def out_of_table(table, n_states):
    return table.reshape(K, n_states, K, n_states)[np.arange(K), :, np.arange(K)]


def in_log_space(node, edge, offsets, weight):
    """The same, class by class and sequence by sequence."""
    n_states = edge.shape[1]
    structure = structures.chain(offsets)
    links = Links(structure.offsets, *structure.families[0])
    log_Z = np.zeros(weight.shape)
    nodes = np.zeros(node.shape)
    edges = np.zeros((K, 1, n_states**2))
    for c in range(K):
        columns = slice(c * n_states, (c + 1) * n_states)
        own = np.ascontiguousarray(node[:, columns])
        room = np.zeros(own.shape)
        for i in np.flatnonzero(weight.any(axis=1) & (np.diff(offsets) > 0)):
            pairs = Pairs(own, edge[c].reshape(1, -1))
            out = Pairs(room, edges[c])
            log_Z[i, c] = log_marginals(pairs, links, i, weight[i, c], out)
        nodes[:, columns] = room
    return log_Z, nodes, edges.reshape(edge.shape)


def assert_same(found, expected):
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-11)
    np.testing.assert_allclose(found[2], expected[2], atol=1e-11)


@pytest.mark.parametrize("n_states", [1, 2, 3, 9])
@pytest.mark.parametrize(
    "lengths", [(1,), (3, 0, 1, 4), (2,) * 8, (5, 1, 0, 9, 3, 3, 7, 2, 2, 300, 4, 1, 1, 6, 8, 5, 2)]
)
@pytest.mark.parametrize("scale", [0.5, 20.0])
def test_as_in_log_space(n_states, lengths, scale):
    rng = np.random.default_rng(0)
    node, edge, offsets = problem(rng, lengths, n_states, scale)
    weight = rng.standard_normal((len(lengths), K))
    weight[::5] = 0.0
    weight[0] = [1.0, 0.0, -2.0]
    found = by_lanes(node, edge, offsets, weight)
    assert np.all(np.isfinite(found[0]))
    assert_same(found, in_log_space(node, edge, offsets, weight))


@pytest.mark.twins
def test_by_enumeration():
    rng = np.random.default_rng(1)
    node, edge, offsets = problem(rng, (4, 2), 2)
    log_Z, nodes, edges = by_lanes(node, edge, offsets, np.ones((2, K)))
    structure = structures.chain(offsets)
    for c in range(K):
        columns = slice(2 * c, 2 * c + 2)
        potentials = Potentials(node[:, columns], (edge[c].reshape(1, -1),))
        twins = list(naive.twins(potentials, structure))
        np.testing.assert_allclose(log_Z[:, c], [float(twin.log_Z) for twin in twins], rtol=1e-12)
        expected = np.concatenate([twin.node for twin in twins]).astype(float)
        np.testing.assert_allclose(nodes[:, columns], expected, atol=1e-12)
        pairs = np.concatenate([twin.cliques[0] for twin in twins]).sum(axis=0).astype(float)
        np.testing.assert_allclose(edges[c].ravel(), pairs, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_forbidden_states_and_moves(seed):
    """Also where no labelling is left, which is no doubt."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 7, size=11)
    node, edge, offsets = problem(rng, lengths, 3)
    node[rng.random(node.shape) < 0.5] = -np.inf
    edge[rng.random(edge.shape) < 0.4] = -np.inf
    if seed % 5 == 0:
        edge[1] = -np.inf
    # what is impossible has no share
    found = by_lanes(node, edge, offsets, np.ones((11, K)))
    assert not np.any(np.isnan(found[0]))
    assert np.isinf(found[0]).any()
    assert_same(found, in_log_space(node, edge, offsets, np.ones((11, K))))


@pytest.mark.twins
def test_left_to_right():
    """States that are reached late, by little, are no underflow."""
    rng = np.random.default_rng(2)
    node, edge, offsets = problem(rng, (1, 2, 40, 3), 4)
    step = np.arange(4) - np.arange(4)[:, None]
    edge[:, (step < 0) | (step > 1)] = -np.inf
    node[offsets[:-1]] = np.where(np.arange(12) % 4, -np.inf, node[offsets[:-1]])
    weight = rng.standard_normal((4, K))
    assert_same(by_lanes(node, edge, offsets, weight), in_log_space(node, edge, offsets, weight))


@pytest.mark.parametrize("bad", [500.0, 2000.0, 1e9])
def test_what_might_be_lost_is_not_trusted(bad):
    """A state that only the last token speaks for, but of which almost nothing is left by then."""
    node, edge, offsets = problem(np.random.default_rng(3), (3, 3, 2), 2, 0.1)
    edge[:, 0, 1] = edge[:, 1, 0] = -np.inf
    node[3:5, 2] -= bad
    node[5, 2] += 3 * bad
    log_Z, _, _ = by_lanes(node, edge, offsets, np.ones((3, K)) * [[1], [0], [1]])
    assert not np.any(np.isnan(log_Z))
    every = np.ones((3, K))
    log_Z, _, _ = by_lanes(node, edge, offsets, every)
    expected = in_log_space(node, edge, offsets, every)[0]
    np.testing.assert_array_equal(np.isnan(log_Z), [[False] * 3, [False, True, False], [False] * 3])
    np.testing.assert_allclose(log_Z[~np.isnan(log_Z)], expected[~np.isnan(log_Z)], rtol=1e-12)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_no_number_stays_in_its_sequence(number):
    """In its class, and out of all sums if its sequence has no weights."""
    node, edge, offsets = problem(np.random.default_rng(4), (30, 20, 10), 2)
    with_number = node.copy()
    with_number[35, 1] = number
    weight = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    lanes = side_by_side(K, 2, offsets, np.ones(3))
    log_Z = np.zeros((3, K))
    forward(with_number, in_table(edge), lanes, log_Z)
    nodes = np.zeros(node.shape)
    table = in_table(np.zeros(edge.shape))
    backward(lanes, weight, nodes, table)
    expected = in_log_space(node, edge, offsets, weight)
    np.testing.assert_allclose(nodes, expected[1], atol=1e-12)
    np.testing.assert_allclose(out_of_table(table, 2), expected[2], atol=1e-12)
    np.testing.assert_array_equal(np.isnan(log_Z), [[False] * 3, [True, False, False], [False] * 3])


def test_a_table_that_is_no_number():
    node, edge, offsets = problem(np.random.default_rng(5), (3, 1), 2)
    edge[0, 1, 0] = np.nan
    lanes = side_by_side(K, 2, offsets, np.ones(2))
    log_Z = np.zeros((2, K))
    forward(node, in_table(edge), lanes, log_Z)
    # one token has no moves
    np.testing.assert_array_equal(np.isnan(log_Z), [[True, False, False], [False] * 3])


def test_long_sequences():
    """Numbers neither vanish nor lose digits."""
    rng = np.random.default_rng(6)
    node, edge, offsets = problem(rng, (20_000, 5), 2, 5.0)
    weight = np.ones((2, K))
    found = by_lanes(node, edge, offsets, weight)
    expected = in_log_space(node, edge, offsets, weight)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-11)


@pytest.mark.twins
def test_neighbours_change_nothing():
    """A sequence has the same bits alone."""
    rng = np.random.default_rng(7)
    node, edge, offsets = problem(rng, (7, 12, 3, 1, 5, 9, 2, 2, 11), 2, 3.0)
    every = np.ones((9, K))
    log_Z, nodes, _ = by_lanes(node, edge, offsets, every)
    for i in range(9):
        tokens = slice(offsets[i], offsets[i + 1])
        alone = np.array([0, offsets[i + 1] - offsets[i]])
        own, marginals, _ = by_lanes(node[tokens].copy(), edge, alone, every[:1])
        np.testing.assert_array_equal(own[0], log_Z[i])
        np.testing.assert_array_equal(marginals, nodes[tokens])


def test_too_much_memory():
    """Of one long sequence seven lanes of eight are idle."""
    assert side_by_side(K, 2, np.array([0, 10_000]), np.ones(1)) is not None
    assert side_by_side(K, 2, np.array([0, 100_000]), np.ones(1)) is None
    assert side_by_side(K, 2, np.array([0, 100_000]), np.zeros(1)) is not None


def test_float32():
    potentials, structure = contracts.random_chains(np.random.default_rng(8), (5, 3), 6)
    edge = potentials.cliques[0].reshape(6, 6)[:2, :2][None].repeat(K, axis=0)
    node32 = potentials.node.astype(np.float32)
    edge32 = edge.astype(np.float32)
    found = by_lanes(node32, edge32, structure.offsets, np.ones((2, K)))
    expected = in_log_space(
        node32.astype(float), edge32.astype(float), structure.offsets, np.ones((2, K))
    )
    assert_same(found, expected)


def test_scores_far_apart_are_right_or_not_trusted():
    """Gaps near those of the smallest exponentials and floats, by which paths have to go."""
    rng = np.random.default_rng(0)
    gaps = np.array([0.0, -100.0, -300.0, -455.0, -699.0, -740.0, -1400.0, -np.inf, 705.0, 5000.0])
    n_trusted = 0
    for _ in range(400):
        n_states = rng.integers(1, 4)
        lengths = rng.integers(1, 6, size=3)
        node, edge, offsets = problem(rng, lengths, n_states, 1e-3)
        node += rng.choice(gaps, size=node.shape, p=rng.dirichlet(0.4 * np.ones(len(gaps))))
        edge += rng.choice(gaps, size=edge.shape, p=rng.dirichlet(0.4 * np.ones(len(gaps))))
        log_Z, _, _ = by_lanes(node, edge, offsets, np.ones((3, K)))
        trusted = ~np.isnan(log_Z)
        n_trusted += trusted.sum()
        # all classes of a sequence are done again, or none
        weight = np.where(trusted.all(axis=1, keepdims=True), rng.random((3, K)), 0.0)
        found = by_lanes(node, edge, offsets, weight)
        expected = in_log_space(node, edge, offsets, np.ones((3, K)))
        np.testing.assert_allclose(log_Z[trusted], expected[0][trusted], rtol=1e-12, atol=1e-12)
        _, nodes, edges = in_log_space(node, edge, offsets, weight)
        np.testing.assert_allclose(found[1], nodes, atol=1e-10)
        np.testing.assert_allclose(found[2], edges, atol=1e-10)
    assert n_trusted > 1000
