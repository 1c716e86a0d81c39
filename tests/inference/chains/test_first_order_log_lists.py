"""Sums in logarithms along lists of pairs, beside those of `first_order_log`."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.containers.structures import chain
from sklearn_struct.inference.chains import first_order_log_lists as lists
from sklearn_struct.inference.chains.first_order_log import log_marginals
from sklearn_struct.inference.chains.flat_tuples import Pairs, links

# around the steps after which masses are moved, and those of a span
LENGTHS = [1, 2, 15, 16, 17, 33, 255, 256, 257, 300, 513, 1100]


def drawn(rng, n, K, scale, forbidden, dtype=np.float64):
    """Scores of which a share is forbidden, in a table of pairs that is nowhere without a way."""
    node = (scale * rng.normal(size=(n, K))).astype(dtype)
    node[rng.uniform(size=(n, K)) < forbidden / 2] = -np.inf
    edge = (scale * rng.normal(size=(K, K))).astype(dtype)
    edge[rng.uniform(size=(K, K)) < forbidden] = -np.inf
    return Pairs(node, edge.reshape(1, -1))


def alone(theta, weight, replaces=False):
    """Sums of one chain, added to what is there."""
    n, K = theta.node.shape
    out = theta.node.copy() if replaces else np.full((n, K), 0.5)
    node = out if replaces else theta.node
    sums = np.full((1, K * K), 3.0)
    log_Z = lists.log_sums(node, theta.edge, 0, n, weight, replaces, out, sums)
    return out, sums, log_Z


def exact(theta, weight):
    n, K = theta.node.shape
    out = Pairs(np.full((n, K), 0.5), np.full((1, K * K), 3.0))
    return *out, log_marginals(theta, links(chain(np.array([0, n]), 1)), 0, weight, out)


@pytest.mark.parametrize("forbidden", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("scale", [0.1, 3.0, 1000.0])
@pytest.mark.parametrize("n", LENGTHS)
def test_sums_are_those_without_lists(n, scale, forbidden):
    rng = np.random.RandomState(n)
    n_possible = 0
    for K in (1, 2, 3, 8, 9, 20):
        theta = drawn(rng, n, K, scale, forbidden)
        node, sums, log_Z = alone(theta, 0.7)
        wanted, of_pairs, of_wanted = exact(theta, 0.7)
        n_possible += of_wanted > -np.inf
        np.testing.assert_allclose(node, wanted, atol=1e-10)
        np.testing.assert_allclose(sums, of_pairs, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(log_Z, of_wanted, rtol=1e-13, atol=1e-12)
        assert np.all(sums[theta.edge == -np.inf] == 3.0)
    assert n_possible > 0 or forbidden == 0.8


@pytest.mark.parametrize("shape", ["left to right", "round"])
@pytest.mark.parametrize("K", [2, 3, 10, 17])
def test_labels_that_few_pairs_lead_to(K, shape):
    """Tokens say the opposite of what pairs allow."""
    rng = np.random.RandomState(K)
    theta = drawn(rng, 700, K, 300.0, 0.0)
    pairs = np.full((K, K), -np.inf)
    np.fill_diagonal(pairs, -0.1)
    pairs[np.arange(K), (np.arange(K) + 1) % K] = -2.0
    if shape == "left to right":
        pairs[-1, 0] = -np.inf
    theta = Pairs(theta.node, pairs.reshape(1, -1))
    node, sums, log_Z = alone(theta, 1.0)
    wanted, of_pairs, of_wanted = exact(theta, 1.0)
    assert of_wanted > -np.inf
    np.testing.assert_allclose(node, wanted, atol=1e-10)
    np.testing.assert_allclose(sums, of_pairs, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(log_Z, of_wanted, rtol=1e-13)


def test_ways_that_are_very_many_and_of_one_way_only():
    """One label is come to by one way, the other by as many as there can be: masses drift apart."""
    n = 5000
    K = 12
    edge = np.zeros((K, K))
    edge[1:, 0] = -np.inf
    edge[0, 1:] = -np.inf
    theta = Pairs(np.zeros((n, K)), edge.reshape(1, -1))
    theta.node[:, 0] = np.log(K - 1)
    node, sums, log_Z = alone(theta, 1.0)
    # both kinds of ways weigh the same, the last label of the many apart
    np.testing.assert_allclose(node[:, 0] - 0.5, 0.5, rtol=1e-10)
    np.testing.assert_allclose(sums[0, 0] - 3.0, 0.5 * (n - 1), rtol=1e-10)
    np.testing.assert_allclose(log_Z, n * np.log(K - 1) + np.log(2), rtol=1e-12)


def test_marginals_in_the_place_of_scores():
    theta = drawn(np.random.RandomState(0), 600, 5, 2.0, 0.3)
    node, sums, log_Z = alone(theta, 0.7)
    in_place, same_sums, same_log_Z = alone(theta, 0.7, replaces=True)
    np.testing.assert_allclose(in_place, node - 0.5, atol=1e-15)
    np.testing.assert_array_equal(same_sums, sums)
    assert same_log_Z == log_Z


def test_scores_of_single_precision():
    """They are added up in double precision."""
    theta = drawn(np.random.RandomState(0), 600, 5, 2.0, 0.3, np.float32)
    node, sums, log_Z = alone(theta, 0.7)
    wanted, of_pairs, of_wanted = exact(Pairs(*(table.astype(float) for table in theta)), 0.7)
    np.testing.assert_allclose(node, wanted, atol=1e-10)
    np.testing.assert_allclose(sums, of_pairs, rtol=1e-10)
    np.testing.assert_allclose(log_Z, of_wanted, rtol=1e-13)


@pytest.mark.parametrize("token", [0, 100, 255, 256, 599])
def test_nothing_is_added_where_no_labelling_is_allowed(token):
    theta = drawn(np.random.RandomState(0), 600, 3, 1.0, 0.0)
    theta.node[token] = -np.inf
    node, sums, log_Z = alone(theta, 1.0)
    assert log_Z == -np.inf
    assert np.all(node == 0.5)
    assert np.all(sums == 3.0)


def test_no_pair_is_allowed():
    theta = Pairs(np.zeros((2, 3)), np.full((1, 9), -np.inf))
    assert alone(theta, 1.0)[2] == -np.inf
    single = Pairs(np.zeros((1, 3)), np.full((1, 9), -np.inf))
    node, sums, log_Z = alone(single, 1.0)
    np.testing.assert_allclose(node, 0.5 + 1 / 3)
    np.testing.assert_allclose(log_Z, np.log(3))
    assert np.all(sums == 3.0)


def test_some_sequences_of_a_call():
    """Those that do not count or are not possible get zeros; others stay as they are."""
    offsets = np.array([0, 40, 40, 100, 400, 420])
    theta = drawn(np.random.RandomState(0), 420, 3, 1.0, 0.0)
    theta.node[70] = -np.inf
    weight = np.array([0.0, 1.0, 1.0, 2.0, 1.0])
    node = theta.node.copy()
    sums = np.zeros((1, 9))
    log_Z = np.full(5, 7.0)
    lists.log_expectations(node, theta.edge, offsets, weight, np.arange(4), sums, log_Z)
    assert np.all(node[:100] == 0.0)
    np.testing.assert_array_equal(node[400:], theta.node[400:])
    part = Pairs(theta.node[100:400], theta.edge)
    wanted, of_pairs, of_wanted = exact(part, 2.0)
    np.testing.assert_allclose(node[100:400], wanted - 0.5, atol=1e-12)
    np.testing.assert_allclose(sums, of_pairs - 3.0, rtol=1e-12)
    np.testing.assert_allclose(log_Z, [0.0, 0.0, -np.inf, of_wanted, 7.0], rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 40, 300])
@pytest.mark.parametrize("score", [np.nan, np.inf])
def test_scores_that_are_no_numbers(score, n):
    """Nothing of them is lost."""
    theta = drawn(np.random.RandomState(0), n, 3, 500.0, 0.0)
    theta.node[n // 2, 1] = score
    for result in alone(theta, 1.0):
        assert np.all(np.isnan(result))
    theta = drawn(np.random.RandomState(0), n, 3, 500.0, 0.0)
    theta.edge[0, 4] = score
    for result in alone(theta, 1.0):
        assert np.all(np.isnan(result))
