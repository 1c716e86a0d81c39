"""Chains of second order against enumeration, the first order, and where scaled numbers would be
silently wrong.
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Potentials, chain, zeros
from sklearn_struct.inference.chains import second_order
from sklearn_struct.inference.chains.chain import Chain

INF = np.inf

inference = Chain(2)

test_contract = contracts.inference(inference, order=2)


def widened(potentials, structure, triples=0.0):
    """The same chains, with triples of one score; shared, as pairs are, or of their own."""
    wide = chain(structure.offsets, 2)
    (pairs,) = potentials.cliques
    K = potentials.node.shape[1]
    n = 1 if len(pairs) == 1 else len(wide.families[1].nodes)
    more = np.full((n, K**3), triples, pairs.dtype)
    return Potentials(potentials.node, (pairs, more)), wide


def single(node, pairs, triples):
    K = np.shape(node)[1]
    cliques = tuple(
        np.reshape(table, (-1, K**r)).astype(float) for r, table in ((2, pairs), (3, triples))
    )
    return Potentials(np.array(node, dtype=float), cliques), chain([0, len(node)], 2)


def full_marginals(potentials, structure, weight=None):
    """Marginals of nodes, of each pair and of each triple, and log Z."""
    shapes = contracts.clique_shapes(structure, potentials.node.shape[1], shared=False)
    out = Potentials(np.zeros(potentials.node.shape), tuple(map(np.zeros, shapes)))
    return contracts.marginals(inference, potentials, structure, weight, out)


def assert_exact(potentials, structure, weight=None, digits=1e-10):
    """log Z and marginals, those of pairs and triples singly and summed, agree with enumeration."""
    weight = np.ones(len(structure.offsets) - 1) if weight is None else weight
    out, log_Z = full_marginals(potentials, structure, weight)
    summed = zeros(out)
    contracts.marginals(inference, potentials, structure, weight, summed)
    expected = list(naive.twins(potentials, structure))
    node = np.concatenate([w * twin.node for w, twin in zip(weight, expected)])
    cliques = [
        np.concatenate([w * twin.cliques[f] for w, twin in zip(weight, expected)]) for f in (0, 1)
    ]
    expected_log_Z = [float(twin.log_Z) if w else 0.0 for w, twin in zip(weight, expected)]
    np.testing.assert_allclose(log_Z, expected_log_Z, rtol=digits / 100, atol=digits)
    for found in (out.node, summed.node):
        np.testing.assert_allclose(found, node, atol=digits)
    for found, total, wanted in zip(out.cliques, summed.cliques, cliques, strict=True):
        np.testing.assert_allclose(found, wanted, atol=digits)
        np.testing.assert_allclose(total[0], wanted.sum(axis=0), atol=digits)


@given(
    contracts.any_chains(order=2),
    st.lists(st.sampled_from([1.0, 0.0, -1.0, 2.5]), min_size=3, max_size=3),
)
@settings(max_examples=100)
def test_marginals_by_enumeration(batch, weight):
    potentials, structure = batch
    assert_exact(potentials, structure, np.array(weight[: len(structure.offsets) - 1]))


@pytest.mark.twins
@pytest.mark.parametrize("n_labels", [1, 2, 3, 5])
def test_all_numbers_of_labels(n_labels):
    rng = np.random.default_rng(n_labels)
    for shared in (True, False):
        lengths = (2, 1, 0, 4 if n_labels < 5 else 3)
        assert_exact(*contracts.random_chains(rng, lengths, n_labels, shared, order=2))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 17])
@pytest.mark.parametrize("shared", [True, False])
def test_lanes(n, shared):
    """Any number of sequences, of any lengths, fills lanes or does not; each has the bits that it
    has alone.
    """
    rng = np.random.default_rng(n)
    potentials, structure = contracts.random_chains(
        rng, tuple(rng.integers(0, 6, n)), 3, shared, order=2
    )
    assert_exact(potentials, structure)
    out, log_Z = full_marginals(potentials, structure)
    for i in range(n):
        alone, alone_structure, tokens = contracts.select(potentials, structure, [i])
        found, found_log_Z = full_marginals(alone, alone_structure)
        np.testing.assert_array_equal(found.node, out.node[tokens])
        np.testing.assert_array_equal(found_log_Z, log_Z[i])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_triples_of_one_score_change_nothing(shared, dtype):
    """The chain of first order, whose log Z gets that score for each token from the third on."""
    rng = np.random.default_rng(0)
    lengths = np.array([5, 0, 1, 2, 40])
    potentials, structure = contracts.random_chains(rng, tuple(lengths), 4, shared)
    potentials = contracts.mapped(lambda table: table.astype(dtype), potentials)
    expected, expected_log_Z = contracts.marginals(Chain(), potentials, structure)
    digits = 1e-10 if dtype is np.float64 else 1e-4
    for score in (0.0, 0.5):
        out, log_Z = contracts.marginals(inference, *widened(potentials, structure, score))
        np.testing.assert_allclose(
            log_Z, expected_log_Z + score * np.maximum(lengths - 2, 0), atol=digits * 10
        )
        np.testing.assert_allclose(out.node, expected.node, atol=digits)
        np.testing.assert_allclose(out.cliques[0], expected.cliques[0], atol=digits)


@pytest.mark.parametrize("shared", [True, False])
def test_of_the_first_edge_no_triple_counts(shared):
    """Whatever triples score, two tokens are the chain of first order."""
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (4, 2), 3, shared)
    _, expected_log_Z = contracts.marginals(Chain(), potentials, structure)
    for score in (-INF, 1e4):
        wide, wide_structure = widened(potentials, structure, score)
        out, log_Z = full_marginals(wide, wide_structure)
        assert log_Z[0] == pytest.approx(expected_log_Z[0] + 2 * score)
        assert log_Z[1] == pytest.approx(expected_log_Z[1])
        assert len(out.cliques[1]) == 2  # of the longer sequence
        assert_exact(wide, wide_structure, digits=1e-7)


@pytest.mark.twins
def test_impossible_sequences():
    """Nothing is added for them, and those beside them stay right."""
    triples = np.zeros((3, 8))
    triples[1] = -INF  # no triple in the second sequence
    potentials = Potentials(np.zeros((9, 2)), (np.zeros((6, 4)), triples))
    out, log_Z = full_marginals(potentials, chain([0, 3, 6, 9], 2))
    assert log_Z == pytest.approx([np.log(8), -INF, np.log(8)])
    assert not out.node[3:6].any()
    assert not out.cliques[0][2:4].any()
    assert not out.cliques[1][1].any()
    np.testing.assert_allclose(out.node[[0, 1, 2, 6, 7, 8]], 0.5)


def test_best_labels_lead_into_a_dead_end():
    """Label 0 is best, twice in a row too, and nothing may follow it twice."""
    node = np.zeros((5, 3))
    triples = np.zeros((3, 3, 3))
    node[:, 0] = 1e4
    triples[0, 0] = -INF
    assert_exact(*single(node, np.zeros(9), triples))


# ---- a table that one family shares, and tables of their own in the other


SOME_SHARED = [(True, False), (False, True)]


@pytest.mark.parametrize(("pairs_shared", "triples_shared"), SOME_SHARED)
@pytest.mark.parametrize("far", [0.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_family_shares_its_table(pairs_shared, triples_shared, far, dtype):
    """Marginals and their derivatives are those of chains whose cliques have equal tables each."""
    rng = np.random.default_rng(0)
    lengths = tuple(rng.integers(0, 7, 19))
    are_shared = pairs_shared, triples_shared
    some, structure = contracts.partly_shared_chains(rng, lengths, 3, are_shared)
    reward, _ = contracts.partly_shared_chains(rng, lengths, 3, are_shared)
    some.node[[0, 5]] += [-far, far, 0.0]  # by logarithms
    some.cliques[1][:, 4] = -INF
    some = contracts.mapped(lambda table: table.astype(dtype), some)
    own = contracts.unshared(some, structure)
    weight = rng.choice([0.0, 1.0, 2.5], len(lengths))

    def results(potentials, reward, room):
        out, log_Z = contracts.marginals(inference, potentials, structure, weight, zeros(*room))
        slope, mean = contracts.tangent(
            inference, potentials, reward, structure, weight, zeros(*room)
        )
        return *contracts.arrays_of(out), log_Z, *contracts.arrays_of(slope), mean

    for room in ((own, False), (some, False), (own, True)):
        expected = results(own, contracts.unshared(reward, structure), room)
        for found, wanted in zip(results(some, reward, room), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    assert_exact(some, structure, weight, 1e-10 if dtype is np.float64 else 1e-4)


# ---- where scaled numbers are silently wrong


@pytest.mark.parametrize("n_tokens", [2, 3, 4, 5])
@pytest.mark.parametrize("by_pairs", [True, False])
@pytest.mark.parametrize("far", [290.0, 400.0, 600.0])
def test_label_out_of_reach_that_would_win(n_tokens, by_pairs, far):
    """Label 0 may not be entered, nor left, and would be e**far times as probable: its beta is
    beyond all numbers.
    """
    node = np.zeros((n_tokens, 3))
    pairs = np.zeros((3, 3))
    triples = np.zeros((3, 3, 3))
    node[:, 1:] -= far
    node[0, 0] = -INF
    if by_pairs:
        pairs[1:, 0] = pairs[0, 1:] = -INF
    else:
        node[1, 0] = triples[:, 1:, 0] = triples[0, :, 1:] = -INF
    assert_exact(*single(node, pairs, triples))


def test_labels_far_behind_one_out_of_reach():
    """Label 0 of the second token is neither reached nor left; of the others, that is best which is
    lost beside it.
    """
    pairs = np.array([[-INF, -INF, -INF], [-INF, 0.0, -800.0], [-INF, -800.0, 0.0]])
    assert_exact(
        *single(
            [[-INF, 0.0, 0.0], [0.0, -750.0, -690.0], [-INF, 0.0, -70.0]],
            pairs,
            np.zeros((3, 3, 3)),
        )
    )


def test_underflowed_label_that_wins_later():
    """K = 2, six tokens: the label that is e**-1000 behind at first is e**1000 ahead at last."""
    node = np.zeros((6, 2))
    node[0, 1] = -1000.0
    node[1:, 0] = -400.0
    edge = np.array([0.0, -1e4, -1e4, 0.0])
    _, log_Z = full_marginals(*single(node, edge, np.zeros(8)))
    assert log_Z[0] == -1000.0
    for triples in (np.zeros(8), np.linspace(-1, 1, 8)):
        assert_exact(*single(node, edge, triples))


@pytest.mark.parametrize("first", [-7.5, -8.0])
def test_transition_lost_below_the_smallest_exponential(first):
    """A transition too small for exp, into a label that all reach by tiny steps, and that wins in
    the end.
    """
    ten = np.log(10)
    pairs = np.full((2, 5, 5), -INF)
    pairs[0, 4, 4] = pairs[1, 2, 2] = pairs[1, 3, 3] = 0.0
    pairs[0, 0, 2] = -708.05
    pairs[0, 1, 2] = -300 * ten
    pairs[0, :2, 3] = -28.5 * ten
    node = np.full((3, 5), -INF)
    node[0, :2] = 0.0, first * ten
    node[1, 2:4] = 0.0
    node[2, 2:4] = 0.0, -279.3 * ten
    assert_exact(*single(node, pairs, np.zeros((1, 5, 5, 5))))


@pytest.mark.compiled
def test_two_groups_of_labels_on_4000_tokens():
    """Two groups that never meet are two chains: log Z = log(Z_1 + Z_2), though one is far behind
    half-way.
    """
    rng = np.random.default_rng(0)
    T = 4000
    node = rng.uniform(-1, 0, size=(T, 4))
    triples = rng.normal(size=(4, 4, 4))
    node[:1800, :2] += 1.0
    node[1800:, 2:] += 1.0
    pairs = np.zeros((4, 4))
    pairs[:2, 2:] = pairs[2:, :2] = -INF
    groups = [
        full_marginals(*single(node[:, g], np.zeros(4), triples[g, g, g].ravel()))
        for g in (slice(2), slice(2, 4))
    ]
    log_Zs = np.array([log_Z[0] for _, log_Z in groups])
    node[0, 2:] += log_Zs[0] - log_Zs[1] + 0.5  # both groups matter in the end
    out, log_Z = full_marginals(*single(node, pairs, triples))
    share = 1 / (1 + np.exp(0.5))
    assert log_Z[0] == pytest.approx(log_Zs[0] + np.log1p(np.exp(0.5)), rel=1e-12)
    np.testing.assert_allclose(out.node[:, :2], share * groups[0][0].node, atol=1e-10)
    np.testing.assert_allclose(out.node[:, 2:], (1 - share) * groups[1][0].node, atol=1e-10)


@pytest.mark.parametrize("gap", [140.0, 290.0, 310.0, 500.0, 610.0, 690.0, 708.5, 746.0, 990.0])
@pytest.mark.parametrize("shared", [True, False])
def test_no_jump_where_the_exact_way_takes_over(gap, shared):
    """Around the range of scores up to which scaled numbers are trusted."""
    rng = np.random.default_rng(0)
    for share in (0.0, 0.5, 1.0):
        potentials, structure = contracts.random_chains(rng, (6, 5, 4), 3, shared, order=2)
        potentials.node[1, 0] -= share * gap
        potentials.node[3, 1] += share * gap
        potentials.cliques[1][:, 3] -= (1 - share) * gap
        potentials.cliques[1][:, 21] += (1 - share) * gap
        assert_exact(potentials, structure)


def test_what_is_forbidden_needs_no_logarithms(monkeypatch):
    """Zeros that mean "forbidden" are told from zeros that mean "underflowed"."""

    def never(*args):
        raise AssertionError

    rng = np.random.default_rng(0)
    for shared in (True, False):
        potentials, structure = contracts.random_chains(rng, (6, 5, 4, 1), 3, shared, order=2)
        potentials.cliques[0][:, 1] = -INF
        potentials.cliques[1][:, [3, 16]] = -INF
        potentials.node[0, 0] = potentials.node[8, 2] = -INF
        monkeypatch.setattr(second_order, "log_marginals", never)
        assert_exact(potentials, structure)
        potentials.node[1, 1] -= 170.0
        potentials.cliques[0][:, 4] -= 170.0
        assert_exact(potentials, structure)
        potentials.node[2] = [0.0, 1e4, -1e4]
        with pytest.raises(AssertionError):
            full_marginals(potentials, structure)


@pytest.mark.compiled
@pytest.mark.parametrize("far", [0.0, 5e3])
def test_100_000_tokens(far):
    """No digits are lost, in scaled numbers or in logarithms; against the chain of pairs of labels,
    of first order.
    """
    rng = np.random.default_rng(0)
    T = 100_000
    node = rng.normal(size=(T, 2)) * 3
    cliques = rng.normal(size=(1, 4)), rng.normal(size=(1, 8))
    node[10] = (-far, far)
    node[11] = (far, -far)
    out, log_Z = contracts.marginals(inference, Potentials(node, cliques), chain([0, T], 2))
    pairs = cliques[0][0]
    triples = cliques[1].reshape(2, 2, 2)
    states = np.repeat(node[1:, None], 2, axis=1).reshape(-1, 4) + pairs
    states[0] += np.repeat(node[0], 2)
    table = np.full((4, 4), -INF)
    for i in range(2):
        for j in range(2):
            table[i * 2 + j, j * 2 : j * 2 + 2] = triples[i, j]
    expected_log_Z, expected, expected_pairs = naive.long_chain(states, table.reshape(1, -1))
    assert log_Z[0] == pytest.approx(expected_log_Z, rel=1e-11)
    np.testing.assert_allclose(out.node[1:], expected.reshape(-1, 2, 2).sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(out.cliques[0][0], expected.sum(axis=0), rtol=1e-9)
    found = [
        [expected_pairs[i * 2 + j, j * 2 + k] for k in range(2)] for i in range(2) for j in range(2)
    ]
    np.testing.assert_allclose(out.cliques[1][0], np.ravel(found), rtol=1e-9)
