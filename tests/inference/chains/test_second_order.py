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

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains import first_order as first_order
from sklearn_struct.inference.chains import second_order as inference

INF = np.inf

test_contract = contracts.inference(inference, order=2)
test_tangent_contract = contracts.inference_tangent(inference, order=2)


def widened(potentials, triples=0.0):
    """The same chain, with triples of one score."""
    K = potentials.node.shape[1]
    more = np.full((len(potentials.edge), K**3), triples)
    return Potentials(potentials.node, np.concatenate([potentials.edge, more], axis=1))


def single(node, pairs, triples):
    K = np.shape(node)[1]
    edge = np.concatenate([np.reshape(pairs, (-1, K**2)), np.reshape(triples, (-1, K**3))], axis=1)
    return Potentials(np.array(node, dtype=float), edge.astype(float)), chain([0, len(node)])


def full_marginals(potentials, structure, weight=None):
    """Marginals of nodes and of each edge, and log Z."""
    out = Potentials(
        np.zeros(potentials.node.shape), np.zeros((len(structure.edges), potentials.edge.shape[1]))
    )
    return contracts.marginals(inference, potentials, structure, weight, out)


def assert_exact(potentials, structure, weight=None, digits=1e-10):
    """log Z and marginals, those of edges singly and summed, agree with enumeration."""
    weight = np.ones(len(structure.offsets) - 1) if weight is None else weight
    out, log_Z = full_marginals(potentials, structure, weight)
    summed = Potentials(np.zeros_like(out.node), np.zeros((1, out.edge.shape[1])))
    contracts.marginals(inference, potentials, structure, weight, summed)
    expected = list(naive.twins(potentials, structure))
    node = np.concatenate([w * twin.node for w, twin in zip(weight, expected)])
    edge = np.concatenate([w * twin.edge for w, twin in zip(weight, expected)])
    expected_log_Z = [float(twin.log_Z) if w else 0.0 for w, twin in zip(weight, expected)]
    np.testing.assert_allclose(log_Z, expected_log_Z, rtol=digits / 100, atol=digits)
    for found, wanted in (
        (out.node, node),
        (out.edge, edge),
        (summed.node, node),
        (summed.edge[0], edge.sum(axis=0)),
    ):
        np.testing.assert_allclose(found, wanted, atol=digits)


@given(
    contracts.any_chains(order=2),
    st.lists(st.sampled_from([1.0, 0.0, -1.0, 2.5]), min_size=3, max_size=3),
)
@settings(max_examples=100)
def test_marginals_by_enumeration(batch, weight):
    potentials, structure = batch
    assert_exact(potentials, structure, np.array(weight[: len(structure.offsets) - 1]))


@given(contracts.any_chains(order=2), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_tangent_by_enumeration(batch, seed):
    potentials, structure = batch
    rng = np.random.default_rng(seed)
    reward = Potentials(*(rng.normal(size=table.shape) for table in potentials))
    out, mean = contracts.tangent(inference, potentials, reward, structure)
    found = []
    for twin, part in zip(
        naive.twins(potentials, structure), naive.twins(reward, structure), strict=True
    ):
        i = len(found)
        edge = reward.edge
        if len(edge) > 1:
            edge = edge[slice(*structure.edge_offsets[i : i + 2])]
        assert len(part.y) == len(twin.y)
        found.append(twin.covariances(reward.node[slice(*structure.offsets[i : i + 2])], edge))
    np.testing.assert_allclose(mean, [m for _, _, m in found], atol=1e-9)
    np.testing.assert_allclose(out.node, np.concatenate([node for node, _, _ in found]), atol=1e-9)
    edge = np.concatenate([edge for _, edge, _ in found])
    np.testing.assert_allclose(
        out.edge, edge.sum(axis=0)[None] if len(out.edge) == 1 else edge, atol=1e-9
    )


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
    potentials = Potentials(*(table.astype(dtype) for table in potentials))
    expected, expected_log_Z = contracts.marginals(first_order, potentials, structure)
    digits = 1e-10 if dtype is np.float64 else 1e-4
    for score in (0.0, 0.5):
        out, log_Z = contracts.marginals(inference, widened(potentials, dtype(score)), structure)
        np.testing.assert_allclose(
            log_Z, expected_log_Z + score * np.maximum(lengths - 2, 0), atol=digits * 10
        )
        np.testing.assert_allclose(out.node, expected.node, atol=digits)
        np.testing.assert_allclose(out.edge[:, :16], expected.edge, atol=digits)


def test_of_the_first_edge_no_triple_counts():
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (4, 2), 3, False, order=2)
    expected, expected_log_Z = full_marginals(potentials, structure)
    potentials.edge[[0, 3], 9:] = rng.choice([-INF, 1e4], size=(2, 27))
    out, log_Z = full_marginals(potentials, structure)
    np.testing.assert_array_equal(log_Z, expected_log_Z)
    np.testing.assert_array_equal(out.edge, expected.edge)
    assert not out.edge[[0, 3], 9:].any()


@pytest.mark.twins
def test_impossible_sequences():
    """Nothing is added for them, and those beside them stay right."""
    edge = np.zeros((6, 12))
    edge[3, 4:] = -INF  # no triple at the end of the second sequence
    out, log_Z = full_marginals(Potentials(np.zeros((9, 2)), edge), chain([0, 3, 6, 9]))
    assert log_Z == pytest.approx([np.log(8), -INF, np.log(8)])
    assert not out.node[3:6].any()
    assert not out.edge[2:4].any()
    np.testing.assert_allclose(out.node[[0, 1, 2, 6, 7, 8]], 0.5)


def test_best_labels_lead_into_a_dead_end():
    """Label 0 is best, twice in a row too, and nothing may follow it twice."""
    node = np.zeros((5, 3))
    triples = np.zeros((3, 3, 3))
    node[:, 0] = 1e4
    triples[0, 0] = -INF
    assert_exact(*single(node, np.zeros(9), triples))


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
    assert_exact(*single(node, pairs, np.zeros((2, 5, 5, 5))))


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
        potentials.edge[:, 12] -= (1 - share) * gap
        potentials.edge[:, 30] += (1 - share) * gap
        assert_exact(potentials, structure)


def test_what_is_forbidden_needs_no_logarithms(monkeypatch):
    """Zeros that mean "forbidden" are told from zeros that mean "underflowed"."""

    def never(*args):
        raise AssertionError

    rng = np.random.default_rng(0)
    for shared in (True, False):
        potentials, structure = contracts.random_chains(rng, (6, 5, 4, 1), 3, shared, order=2)
        potentials.edge[:, [1, 12, 25]] = -INF
        potentials.node[0, 0] = potentials.node[8, 2] = -INF
        monkeypatch.setattr(inference, "log_marginals", never)
        assert_exact(potentials, structure)
        potentials.node[1, 1] -= 170.0
        potentials.edge[:, 4] -= 170.0
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
    edge = rng.normal(size=(1, 4 + 8))
    node[10] = (-far, far)
    node[11] = (far, -far)
    out, log_Z = contracts.marginals(inference, Potentials(node, edge), chain([0, T]))
    pairs = edge[0, :4]
    triples = edge[0, 4:].reshape(2, 2, 2)
    states = np.repeat(node[1:, None], 2, axis=1).reshape(-1, 4) + pairs
    states[0] += np.repeat(node[0], 2)
    table = np.full((4, 4), -INF)
    for i in range(2):
        for j in range(2):
            table[i * 2 + j, j * 2 : j * 2 + 2] = triples[i, j]
    expected_log_Z, expected, expected_pairs = naive.long_chain(states, table.reshape(1, -1))
    assert log_Z[0] == pytest.approx(expected_log_Z, rel=1e-11)
    np.testing.assert_allclose(out.node[1:], expected.reshape(-1, 2, 2).sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(out.edge[0, :4], expected.sum(axis=0), rtol=1e-9)
    found = [
        [expected_pairs[i * 2 + j, j * 2 + k] for k in range(2)] for i in range(2) for j in range(2)
    ]
    np.testing.assert_allclose(out.edge[0, 4:], np.ravel(found), rtol=1e-9)
