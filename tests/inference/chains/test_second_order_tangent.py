"""Covariances of chains of second order with a reward against enumeration, and where scaled numbers
would be silently wrong.
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains import second_order_tangent
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.flat_tuples import links, tables
from sklearn_struct.inference.chains.second_order_log import log_tangent

INF = np.inf

inference = Chain(2)

test_contract = contracts.inference_tangent(inference, order=2)


def tangent(potentials, reward, structure, weight, single=True):
    """Covariances with labels, with pairs and with triples, singly or summed, and mean rewards."""
    K = potentials.node.shape[1]
    shapes = contracts.clique_shapes(structure, K, shared=not single)
    out = Potentials(np.zeros(potentials.node.shape), tuple(map(np.zeros, shapes)))
    return contracts.tangent(inference, potentials, reward, structure, weight, out)


def assert_exact(potentials, reward, structure, weight=None, digits=1e-10):
    weight = np.ones(len(structure.offsets) - 1) if weight is None else weight
    expected = []
    for i, twin in enumerate(naive.twins(potentials, structure)):
        part, _, _ = contracts.select(reward, structure, [i])
        *slopes, mean = twin.covariances(part.node, *part.cliques)
        expected.append([*(weight[i] * slope for slope in slopes), mean if weight[i] else 0.0])
    *slopes, means = zip(*expected, strict=True)
    size = digits
    for table, scores in zip(*map(contracts.arrays_of, (reward, potentials)), strict=True):
        rewards, allowed = np.broadcast_arrays(table, scores)
        size = max(size, digits * np.max(np.abs(rewards[allowed > -INF]), initial=0.0))
    single, found = tangent(potentials, reward, structure, weight)
    summed, found_too = tangent(potentials, reward, structure, weight, single=False)
    n = len(potentials.node)
    np.testing.assert_array_equal(found, found_too)
    np.testing.assert_allclose(found, np.array(means, float), atol=n * size, rtol=digits)
    for slope, total, parts in zip(
        *map(contracts.arrays_of, (single, summed)), slopes, strict=True
    ):
        wanted = np.concatenate(parts).astype(float)
        np.testing.assert_allclose(slope, wanted, atol=size)
        if total is not summed.node:
            wanted = wanted.sum(axis=0)[None]
        np.testing.assert_allclose(total, wanted, atol=n * size)


def random_rewards(rng, structure, K, shared):
    shapes = contracts.clique_shapes(structure, K, shared)
    node = rng.normal(size=(int(structure.offsets[-1]), K))
    return Potentials(node, tuple(rng.normal(size=shape) for shape in shapes))


@given(
    contracts.any_chains(order=2),
    st.booleans(),
    st.lists(st.sampled_from([1.0, 0.0, -1.0, 2.5]), min_size=3, max_size=3),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=200)
def test_covariances_by_enumeration(batch, shared, weight, seed):
    potentials, structure = batch
    rng = np.random.default_rng(seed)
    reward = random_rewards(rng, structure, potentials.node.shape[1], shared)
    reward.node[rng.random(reward.node.shape) < 0.2] = 1e4
    assert_exact(potentials, reward, structure, np.array(weight[: len(structure.offsets) - 1]))


@pytest.mark.twins
@pytest.mark.parametrize("n_labels", [1, 2, 3, 5])
@pytest.mark.parametrize("reward_shared", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_all_numbers_of_labels(n_labels, shared, reward_shared):
    rng = np.random.default_rng(n_labels)
    lengths = (2, 1, 0, 4 if n_labels < 5 else 3)
    potentials, structure = contracts.random_chains(rng, lengths, n_labels, shared, order=2)
    reward = random_rewards(rng, structure, n_labels, reward_shared)
    assert_exact(potentials, reward, structure)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 17])
@pytest.mark.parametrize("shared", [True, False])
def test_lanes(n, shared):
    """Any number of sequences, of any lengths, fills lanes or does not; each has the bits that it
    has alone.
    """
    rng = np.random.default_rng(n)
    lengths = tuple(rng.integers(0, 6, n))
    potentials, structure = contracts.random_chains(rng, lengths, 3, shared, order=2)
    reward = random_rewards(rng, structure, 3, shared)
    assert_exact(potentials, reward, structure)
    out, mean = tangent(potentials, reward, structure, np.ones(n))
    for i in range(n):
        alone, alone_structure, tokens = contracts.select(potentials, structure, [i])
        of_alone, _, _ = contracts.select(reward, structure, [i])
        found, found_mean = tangent(alone, of_alone, alone_structure, np.ones(1))
        np.testing.assert_array_equal(found.node, out.node[tokens])
        np.testing.assert_array_equal(found_mean, mean[i])


def test_no_sequences():
    empty = Potentials(np.zeros((0, 2)), (np.zeros((1, 4)), np.zeros((1, 8))))
    for offsets in ([0], [0, 0, 0]):
        out, mean = tangent(empty, empty, chain(offsets, 2), np.ones(len(offsets) - 1), False)
        assert mean.tolist() == [0.0] * (len(offsets) - 1)
        assert not any(table.any() for table in out.cliques)


@given(
    contracts.any_chains(order=2),
    st.sampled_from([1e-300, 1e-35, 1e35, 1e300]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=100)
def test_rewards_of_any_size(batch, scale, shared, seed):
    """The reward times a number gives covariances times that number."""
    potentials, structure = batch
    rng = np.random.default_rng(seed)
    reward = random_rewards(rng, structure, potentials.node.shape[1], shared)
    weight = np.ones(len(structure.offsets) - 1)
    unit, unit_mean = tangent(potentials, reward, structure, weight)
    scaled = contracts.mapped(lambda table: scale * table, reward)
    out, mean = tangent(potentials, scaled, structure, weight)
    for found, wanted in zip(*map(contracts.arrays_of, (out, unit)), strict=True):
        np.testing.assert_allclose(found / scale, wanted, atol=1e-7, rtol=1e-9)
    np.testing.assert_allclose(mean / scale, unit_mean, atol=1e-7, rtol=1e-9)


def forbid(tables_of, value):
    """Write a value where the test below forbids."""
    tables_of.node[2, 0] = value
    tables_of.cliques[0][:, [1, 3]] = value
    tables_of.cliques[1][:, [4, 16]] = value


@pytest.mark.twins
@pytest.mark.parametrize("forbidden_reward", [1e4, 1e300, INF, -INF, np.nan])
@pytest.mark.parametrize("shared", [True, False])
def test_rewards_of_what_is_forbidden_are_ignored(forbidden_reward, shared, monkeypatch):
    """They need no logarithms either; large ones of what is allowed do."""
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (6, 5, 4, 1), 3, shared, order=2)
    reward = random_rewards(rng, structure, 3, shared)
    forbid(potentials, -INF)
    forbid(reward, 0.0)
    assert_exact(potentials, reward, structure)
    expected, expected_mean = tangent(potentials, reward, structure, np.ones(4))
    forbid(reward, forbidden_reward)
    logarithms = []
    monkeypatch.setattr(
        second_order_tangent, "log_tangent", lambda *given: logarithms.append(given[3]) or 0.0
    )
    out, mean = tangent(potentials, reward, structure, np.ones(4))
    for found, wanted in zip(*map(contracts.arrays_of, (out, expected)), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-12)
    assert not logarithms
    reward.node[0, 1] = forbidden_reward
    tangent(potentials, reward, structure, np.ones(4))
    assert logarithms == ([0] if forbidden_reward != 1e4 else [])


@pytest.mark.parametrize("shared", [True, False])
def test_what_is_lost_takes_logarithms_and_does_no_harm_to_others(shared, monkeypatch):
    """A sequence that cannot be trusted adds nothing to sums that all share."""
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (6, 5, 4, 1), 3, shared, order=2)
    reward = random_rewards(rng, structure, 3, shared)
    potentials.node[2] = [0.0, 1e4, -1e4]
    asked = []
    monkeypatch.setattr(
        second_order_tangent,
        "log_tangent",
        lambda *given: asked.append(given[3]) or log_tangent(*given),
    )
    assert_exact(potentials, reward, structure, digits=1e-9)
    assert set(asked) == {0}


@pytest.mark.parametrize("gap", [140.0, 290.0, 310.0, 500.0, 610.0, 690.0, 708.5, 746.0, 990.0])
@pytest.mark.parametrize("shared", [True, False])
def test_no_jump_where_the_exact_way_takes_over(gap, shared):
    """Around the range of scores up to which scaled numbers are trusted."""
    rng = np.random.default_rng(0)
    for share in (0.0, 0.5, 1.0):
        potentials, structure = contracts.random_chains(rng, (6, 5, 4), 3, shared, order=2)
        reward = random_rewards(rng, structure, 3, shared)
        potentials.node[1, 0] -= share * gap
        potentials.node[3, 1] += share * gap
        potentials.cliques[1][:, 3] -= (1 - share) * gap
        potentials.cliques[1][:, 21] += (1 - share) * gap
        assert_exact(potentials, reward, structure)


@pytest.mark.parametrize("shared", [True, False])
def test_by_logarithms(shared):
    """Longer chains, as no enumeration could do them."""
    rng = np.random.default_rng(0)
    lengths = tuple(rng.integers(1, 60, 11))
    potentials, structure = contracts.random_chains(rng, lengths, 4, shared, order=2)
    reward = random_rewards(rng, structure, 4, shared)
    weight = rng.normal(size=11)
    out, mean = tangent(potentials, reward, structure, weight)
    expected = contracts.mapped(np.zeros_like, out)
    flat = tables(potentials), tables(reward), links(structure)
    expected_mean = [log_tangent(*flat, i, weight[i], tables(expected)) for i in range(11)]
    np.testing.assert_allclose(mean, expected_mean, atol=1e-10)
    for found, wanted in zip(*map(contracts.arrays_of, (out, expected)), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-11)


@pytest.mark.compiled
def test_100_000_tokens():
    """No digits are lost; against the chain of pairs of labels, of first order."""
    rng = np.random.default_rng(0)
    T = 100_000
    potentials = Potentials(
        rng.normal(size=(T, 2)) * 3, (rng.normal(size=(1, 4)), rng.normal(size=(1, 8)))
    )
    reward = Potentials(rng.normal(size=(T, 2)), (rng.normal(size=(1, 4)), rng.normal(size=(1, 8))))
    out, mean = tangent(potentials, reward, chain([0, T], 2), np.ones(1), single=False)
    places = chain([0, T - 1])
    pairs, rewards = (_of_pairs(tables_of) for tables_of in (potentials, reward))
    pairs.cliques[0][rewards.cliques[0] == 0.0] = -INF
    slope, expected = contracts.tangent(Chain(), pairs, rewards, places)
    assert mean[0] == pytest.approx(expected[0], rel=1e-11)
    of_states = slope.node.reshape(-1, 2, 2)
    np.testing.assert_allclose(out.node[1:], of_states.sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(out.cliques[0][0], slope.node.sum(axis=0), rtol=1e-8)
    wanted = slope.cliques[0][0][rewards.cliques[0][0] != 0.0]
    np.testing.assert_allclose(out.cliques[1][0], wanted, rtol=1e-8)


def _of_pairs(tables_of):
    """The same numbers for states that are pairs of labels, 0 for what is no triple."""
    node, (pairs, triples) = tables_of
    states = np.repeat(node[1:, None], 2, axis=1).reshape(-1, 4) + pairs
    states[0] += np.repeat(node[0], 2)
    table = np.zeros((4, 4))
    for i in range(2):
        for j in range(2):
            table[i * 2 + j, j * 2 : j * 2 + 2] = triples.reshape(2, 2, 2)[i, j]
    return Potentials(states, (table.reshape(1, -1),))
