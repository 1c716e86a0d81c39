"""Sums of chains that are alone, beside enumeration and sums in logarithms."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import chain
from sklearn_struct.inference.chains import both_ways, first_order
from sklearn_struct.inference.chains.first_order_log import log_marginals
from sklearn_struct.inference.chains.flat_tuples import Pairs, links, tables


def summed(theta, structure, weight):
    """Which are left, what takes the place of scores, and what is added to something."""
    out = Pairs(theta.node.copy(), np.full(theta.edge.shape, 3.0))
    log_Z = np.full(len(weight), 7.0)
    assert both_ways.is_quicker(theta, weight, out.edge)
    left = both_ways.expectations(Pairs(out.node, theta.edge), structure, weight, out.edge, log_Z)
    return left, out, log_Z


def check_alike(theta, structure, weight):
    """As the sums in logarithms are."""
    left, out, log_Z = summed(theta, structure, weight)
    assert not len(left)
    exact = Pairs(np.zeros(theta.node.shape), np.full(theta.edge.shape, 3.0))
    of_exact = np.zeros(len(weight))
    for i in np.flatnonzero(weight * np.diff(structure.offsets)):
        of_exact[i] = log_marginals(theta, structure, i, weight[i], exact)
    np.testing.assert_allclose(out.node, exact.node, atol=1e-11)
    np.testing.assert_allclose(out.edge, exact.edge, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(log_Z, of_exact, rtol=1e-12, atol=1e-12)


def potentials(rng, n, K, scale=1.0):
    return Pairs(scale * rng.normal(size=(n, K)), scale * rng.normal(size=(1, K * K)))


@pytest.mark.twins
@pytest.mark.parametrize("lengths", [(1, 2, 3), (4, 0, 5), (6,)], ids=str)
@pytest.mark.parametrize("K", [1, 2, 3, 4])
def test_by_enumeration(K, lengths):
    rng = np.random.default_rng(K)
    theta, structure = contracts.random_chains(rng, lengths, K)
    weight = rng.uniform(0.5, 2.0, size=len(lengths))
    left, out, log_Z = summed(tables(theta), links(structure), weight)
    assert not len(left)
    twins = list(naive.twins(theta, structure))
    node = np.concatenate([w * twin.node for w, twin in zip(weight, twins, strict=True)])
    pairs = sum(w * twin.cliques[0].sum(axis=0) for w, twin in zip(weight, twins, strict=True))
    np.testing.assert_allclose(out.node, node, atol=1e-10)
    np.testing.assert_allclose(out.edge[0], pairs + 3.0, atol=1e-10)
    np.testing.assert_allclose(log_Z, [float(twin.log_Z) for twin in twins], atol=1e-10)


@pytest.mark.parametrize("K", [1, 2, 7, 8, 9, 15, 16, 17, 25, 33, 50])
def test_narrow_and_wide_rows(K):
    """Of one, two, and more vectors, an odd number of them, and with or without padding."""
    rng = np.random.RandomState(K)
    structure = links(chain(np.array([0, 150, 151, 190]), 1))
    check_alike(potentials(rng, 190, K), structure, np.array([0.5, 2.0, 1.0]))


@pytest.mark.parametrize("K", [3, 18])
@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33, 62, 63, 64, 65, 66, 67, 127, 128, 129, 130])
def test_ways_meet_at_the_end_of_a_stretch_or_within(n, K):
    theta = potentials(np.random.RandomState(n), n, K)
    check_alike(theta, links(chain(np.array([0, n]), 1)), np.ones(1))


@pytest.mark.parametrize("scale", [0.0, 5.0, 30.0])
def test_scores_that_are_near_and_far_apart(scale):
    theta = potentials(np.random.RandomState(1), 3000, 3, scale)
    theta.edge[:] = np.clip(theta.edge, -70.0, 70.0)
    check_alike(theta, links(chain(np.array([0, 3000]), 1)), np.ones(1))


def test_sequences_that_are_empty_or_do_not_count():
    structure = links(chain(np.array([0, 0, 40, 70, 70, 110]), 1))
    theta = potentials(np.random.RandomState(0), 110, 9)
    weight = np.array([1.0, 1.0, 0.0, 0.0, 2.0])
    check_alike(theta, structure, weight)
    assert not np.any(summed(theta, structure, weight)[1].node[40:70])


def test_labels_that_hardly_ever_change():
    theta = potentials(np.random.RandomState(0), 9000, 4, 0.01)
    theta.edge[0, ::5] += 9.0
    check_alike(theta, links(chain(np.array([0, 9000]), 1)), np.ones(1))


def test_labels_that_are_known_or_forbidden():
    rng = np.random.RandomState(0)
    theta = potentials(rng, 2000, 3)
    theta.node[rng.uniform(size=2000) < 0.3, 1] = -np.inf
    theta.node[rng.uniform(size=2000) < 0.3, 2] = -np.inf
    theta.node[:1000, 0] -= 900.0
    check_alike(theta, links(chain(np.array([0, 400, 2000]), 1)), np.ones(2))


@pytest.mark.parametrize("K", [2, 3, 9])
@pytest.mark.parametrize("score", [-120.0, 60.0, 120.0])
def test_pairs_that_are_far_apart_beside_labels_that_are_known(score, K):
    """All that pairs can make small meets in one number."""
    rng = np.random.RandomState(K)
    for share in (0.03, 0.3, 1.0):
        y = rng.randint(K, size=1000)
        known = (rng.uniform(size=1000) < share)[:, None]
        node = np.where(known & (y[:, None] != np.arange(K)), -np.inf, 0.0)
        theta = Pairs(node, score * np.eye(K).reshape(1, -1))
        check_alike(theta, links(chain(np.array([0, 1000]), 1)), np.ones(1))


@pytest.mark.parametrize("K", [2, 5, 9, 18])
@pytest.mark.parametrize("forbids", [True, False], ids=["forbidden", "far apart"])
def test_pairs_that_are_forbidden_or_far_apart(forbids, K):
    """Round and round, or from left to right, of 700 tokens and of 40."""
    rng = np.random.RandomState(K)
    structure = links(chain(np.array([0, 700, 740]), 1))
    for shape in (np.eye(K) + np.roll(np.eye(K), 1, axis=1), np.triu(np.ones((K, K)))):
        theta = potentials(rng, 740, K)
        theta.edge[0, shape.ravel() == 0] -= np.inf if forbids else 300.0
        theta.node[rng.uniform(size=740) < 0.2, 0] -= 1000.0
        check_alike(theta, structure, np.array([1.0, 0.5]))
        pairs = summed(theta, structure, np.ones(2))[1].edge
        # what cannot be is exactly that
        assert np.all(pairs[theta.edge == -np.inf] == 3.0)


def test_labels_that_nothing_leads_to():
    """They have no probability at all, whatever numbers are raised to."""
    theta = potentials(np.random.RandomState(0), 500, 3)
    theta.edge.reshape(3, 3)[np.tril_indices(3, -1)] = -np.inf
    theta.node[0, :2] = -np.inf
    node = summed(theta, links(chain(np.array([0, 500]), 1)), np.ones(1))[1].node
    assert np.all(node[:, :2] == 0.0)
    np.testing.assert_allclose(node[:, 2], 1.0)


def contradictory(theta):
    theta.edge[0, 1:3] = -np.inf
    theta.node[:] = 0.0
    theta.node[:50, 0] = -20.0
    theta.node[50:100, 1] = -20.0


def impossible(theta):
    theta.node[7] = -np.inf


def not_a_number(theta):
    theta.node[9, 1] = np.nan


def infinite(theta):
    theta.node[3, 0] = np.inf


@pytest.mark.parametrize("harm", [contradictory, impossible, not_a_number, infinite])
def test_what_could_lose_something_is_left_to_others(harm):
    """And its scores are as they were; other sequences have their sums."""
    theta = potentials(np.random.RandomState(0), 300, 2)
    harm(theta)
    structure = links(chain(np.array([0, 100, 300]), 1))
    left, out, log_Z = summed(theta, structure, np.ones(2))
    np.testing.assert_array_equal(left, [0])
    np.testing.assert_array_equal(out.node[:100], theta.node[:100])
    exact = Pairs(np.zeros(theta.node.shape), np.full(theta.edge.shape, 3.0))
    of_exact = log_marginals(theta, structure, 1, 1.0, exact)
    np.testing.assert_allclose(out.node[100:], exact.node[100:], atol=1e-11)
    np.testing.assert_allclose(out.edge, exact.edge, rtol=1e-11)
    np.testing.assert_allclose(log_Z[1], of_exact, rtol=1e-12)


def test_pairs_so_far_apart_that_sums_fail():
    """No pair is forbidden, but to change costs 390 nats, and to stay 370 or 380."""
    node = np.zeros((300, 2))
    node[:150, 0] = -370.0 / 150
    node[150:, 1] = -380.0 / 150
    theta = Pairs(node, np.array([[0.0, -390.0, -390.0, 0.0]]))
    structure = links(chain(np.array([0, 300]), 1))
    left, out, _ = summed(theta, structure, np.ones(1))
    np.testing.assert_array_equal(left, [0])
    np.testing.assert_array_equal(out.node, node)


def test_what_is_left_is_done_in_logarithms():
    theta = potentials(np.random.RandomState(0), 300, 2)
    contradictory(theta)
    structure = links(chain(np.array([0, 100, 300]), 1))
    exact = Pairs(np.zeros(theta.node.shape), np.full(theta.edge.shape, 3.0))
    of_exact = [log_marginals(theta, structure, i, 1.0, exact) for i in range(2)]
    out = Pairs(theta.node.copy(), np.full(theta.edge.shape, 3.0))
    log_Z = np.empty(2)
    first_order.expectations(Pairs(out.node, theta.edge), structure, np.ones(2), out.edge, log_Z)
    np.testing.assert_allclose(out.node, exact.node, atol=1e-11)
    np.testing.assert_allclose(out.edge, exact.edge, rtol=1e-11)
    np.testing.assert_allclose(log_Z, of_exact, rtol=1e-12)


@pytest.mark.parametrize(
    ("K", "most"), [(8, both_ways.ALONE), (9, both_ways.ALONE_IF_WIDE)], ids=["narrow", "wide"]
)
def test_many_sequences_are_left_to_others(K, most):
    theta = potentials(np.random.RandomState(0), 3 * most, K)
    check_alike(theta, links(chain(np.arange(0, 3 * most + 1, 3), 1)), np.ones(most))
    assert not both_ways.is_quicker(theta, np.ones(most + 1), theta.edge)


def is_quicker(theta, n_sums=1):
    return both_ways.is_quicker(theta, np.ones(1), np.zeros((n_sums, theta.edge.shape[1])))


def test_tables_that_are_left_to_others():
    """In float32, one a pair, and what is no score."""
    theta = potentials(np.random.RandomState(0), 20, 2)
    assert is_quicker(theta)
    assert not is_quicker(theta, n_sums=19)
    assert not is_quicker(Pairs(*(x.astype(np.float32) for x in theta)))
    assert not is_quicker(Pairs(theta.node, np.repeat(theta.edge, 19, axis=0)))
    for what in (np.nan, np.inf):
        assert not is_quicker(Pairs(theta.node, np.where([1, 1, 0, 1], theta.edge, what)))
    assert not is_quicker(Pairs(theta.node, np.full((1, 4), -np.inf)))


def test_no_sequences():
    theta = potentials(np.random.RandomState(0), 0, 2)
    check_alike(theta, links(chain(np.array([0]), 1)), np.ones(0))
    check_alike(theta, links(chain(np.array([0, 0]), 1)), np.ones(1))
