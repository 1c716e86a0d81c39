"""Covariances with a reward against enumeration, and where scaled numbers would be wrong."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.base import CliqueRows
from sklearn_struct.inference.chains import first_order_tangent
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.first_order_log import log_tangent
from sklearn_struct.inference.chains.flat_tuples import links, tables

INF = np.inf

inference = Chain()

test_contract = contracts.inference_tangent(inference)


def enumerated(potentials, reward, structure, weight):
    """Weighted covariances with labels and with label pairs, edge by edge, and mean rewards."""
    found = []
    for i, twin in enumerate(naive.twins(potentials, structure)):
        tokens = slice(*structure.offsets[i : i + 2])
        edges = slice(*structure.families[0].offsets[i : i + 2])
        edge = reward.cliques[0] if len(reward.cliques[0]) == 1 else reward.cliques[0][edges]
        node, edge, mean = twin.covariances(reward.node[tokens], edge)
        found.append((weight[i] * node, weight[i] * edge, mean if weight[i] else 0.0))
    node, edge, mean = zip(*found)
    return np.concatenate(node), np.concatenate(edge), np.array(mean)


def tangent(potentials, reward, structure, weight, n_edges):
    out = Potentials(
        np.zeros(potentials.node.shape), (np.zeros((n_edges, potentials.cliques[0].shape[1])),)
    )
    return contracts.tangent(inference, potentials, reward, structure, weight, out)


def assert_exact(potentials, reward, structure, weight=None, digits=1e-10):
    """Of labels, and of label pairs, singly and summed; relative to the largest reward."""
    weight = np.ones(len(structure.offsets) - 1) if weight is None else weight
    node, edge, mean = enumerated(potentials, reward, structure, weight)
    given = contracts.arrays_of(potentials), contracts.arrays_of(reward)
    pairs = [np.broadcast_arrays(p, r) for p, r in zip(*given, strict=True)]
    size = digits * max(1.0, *(np.max(np.abs(r[p > -INF]), initial=0.0) for p, r in pairs))
    single, found = tangent(potentials, reward, structure, weight, len(structure.families[0].nodes))
    summed, found_too = tangent(potentials, reward, structure, weight, 1)
    np.testing.assert_array_equal(found, found_too)
    np.testing.assert_allclose(found, mean, atol=len(potentials.node) * size, rtol=digits)
    np.testing.assert_allclose(single.node, node.astype(float), atol=size)
    np.testing.assert_allclose(single.cliques[0], edge.astype(float), atol=size)
    np.testing.assert_allclose(summed.node, node.astype(float), atol=size)
    np.testing.assert_allclose(
        summed.cliques[0][0], edge.sum(axis=0).astype(float), atol=max(1, len(edge)) * size
    )


def rewards(shape, scale=1.0):
    special = st.sampled_from([0.0, 1.0, -1.0, 1e4, -1e4])
    return arrays(float, shape, elements=st.floats(-3, 3) | special).map(lambda a: scale * a)


@st.composite
def rewarded_chains(draw, scale=1.0):
    """Any chains, and rewards that all edges share, or not; where labels are forbidden, too."""
    potentials, structure = draw(contracts.any_chains())
    n_edges = 1 if draw(st.booleans()) else len(structure.families[0].nodes)
    edge = draw(rewards((n_edges, potentials.cliques[0].shape[1]), scale))
    return potentials, Potentials(draw(rewards(potentials.node.shape, scale)), (edge,)), structure


@given(rewarded_chains(), st.lists(st.sampled_from([1.0, 0.0, -1.0, 2.5]), min_size=3, max_size=3))
@settings(max_examples=300)
def test_covariances_by_enumeration(batch, weight):
    assert_exact(*batch, np.array(weight[: len(batch[2].offsets) - 1]))


@given(rewarded_chains(), st.sampled_from([1e-300, 1e-35, 1e35, 1e300]))
@settings(max_examples=100)
def test_rewards_of_any_size(batch, scale):
    """The reward times a number gives covariances times that number."""
    potentials, reward, structure = batch
    weight = np.ones(len(structure.offsets) - 1)
    unit, unit_mean = tangent(potentials, reward, structure, weight, 1)
    scaled = contracts.mapped(lambda table: scale * table, reward)
    out, mean = tangent(potentials, scaled, structure, weight, 1)
    np.testing.assert_allclose(out.node / scale, unit.node, atol=1e-5, rtol=1e-9)
    np.testing.assert_allclose(out.cliques[0] / scale, unit.cliques[0], atol=1e-5, rtol=1e-9)
    np.testing.assert_allclose(mean / scale, unit_mean, atol=1e-5, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-307, 1e-50, 1e50, 1e300])
@pytest.mark.parametrize("gap", [0.0, 100.0, 290.0, 400.0])
def test_rewards_of_any_size_of_labels_that_win_late(scale, gap):
    """Scaled betas of e**gap must not meet such rewards."""
    rng = np.random.default_rng(0)
    node = np.array([[0.0, -gap], [0.0, 0.0], [-gap, 0.0]])
    potentials, structure = contracts.single(node, [[0.0, -gap, -gap, 0.0]])
    reward = Potentials(rng.normal(size=(3, 2)), (rng.normal(size=(1, 4)),))
    assert_exact(potentials, reward, structure)
    expected, expected_mean = tangent(potentials, reward, structure, np.ones(1), 1)
    scaled = contracts.mapped(lambda table: scale * table, reward)
    out, mean = tangent(potentials, scaled, structure, np.ones(1), 1)
    for found, exact in zip((*tables(out), mean), (*tables(expected), expected_mean), strict=True):
        np.testing.assert_allclose(found / scale, exact, rtol=1e-9, atol=1e-9)


@given(rewarded_chains())
@settings(max_examples=100)
def test_float32_by_enumeration(batch):
    """The scores are float32 numbers; all that is computed from them is float64."""
    potentials, reward, structure = batch
    assert_exact(
        contracts.mapped(lambda table: table.astype(np.float32), potentials), reward, structure
    )


@given(rewarded_chains())
@settings(max_examples=100)
def test_in_log_space_by_enumeration(batch):
    potentials, reward, structure = batch
    expected = enumerated(
        potentials, reward, structure, weight := np.full(len(structure.offsets) - 1, 2.5)
    )
    out = Potentials(
        np.zeros(potentials.node.shape),
        (np.zeros((len(structure.families[0].nodes), potentials.cliques[0].shape[1])),),
    )
    flat = tables(potentials), tables(reward), links(structure)
    mean = [
        log_tangent(*flat, i, weight[i], tables(out)) if T else 0.0
        for i, T in enumerate(np.diff(structure.offsets))
    ]
    for found, exact in zip((*tables(out), mean), expected, strict=True):
        np.testing.assert_allclose(np.array(found), exact.astype(float), atol=1e-6)


@pytest.mark.twins
@pytest.mark.parametrize("n_labels", [1, 2, 3, 8, 9, 17])
def test_all_numbers_of_labels(n_labels):
    """Rows narrower, as wide as, and wider than the vectors of the machine."""
    rng = np.random.default_rng(n_labels)
    lengths = (2, 1, 0, 3 if n_labels < 9 else 2)
    for shared, reward_shared in ((True, True), (True, False), (False, True), (False, False)):
        potentials, structure = contracts.random_chains(rng, lengths, n_labels, shared)
        reward, _ = contracts.random_chains(rng, lengths, n_labels, reward_shared)
        assert_exact(potentials, reward, structure)


@pytest.mark.twins
def test_many_sequences_of_many_lengths():
    """More than are worked on together, in an order that is not that of their lengths."""
    rng = np.random.default_rng(0)
    lengths = rng.permutation([*range(5), *range(6), 1, 5, 5, 0, 2])
    potentials, structure = contracts.random_chains(rng, lengths, 2)
    reward, _ = contracts.random_chains(rng, lengths, 2)
    assert_exact(potentials, reward, structure, rng.choice([0.0, 1.0, -2.0], size=len(lengths)))


def test_no_sequences():
    empty = Potentials(np.zeros((0, 2)), (np.zeros((1, 4)),))
    for offsets in ([0], [0, 0, 0]):
        out, mean = tangent(empty, empty, chain(offsets), np.ones(len(offsets) - 1), 1)
        assert mean.tolist() == [0.0] * (len(offsets) - 1)
        assert not out.cliques[0].any()


@pytest.mark.twins
@pytest.mark.parametrize("forbidden_reward", [1e4, 1e300, INF, -INF, np.nan])
def test_rewards_of_what_is_forbidden_are_ignored(forbidden_reward):
    potentials, structure = contracts.random_chains(np.random.default_rng(0))
    reward, _ = contracts.random_chains(np.random.default_rng(1))
    potentials.cliques[0][0, [1, 3, 5]] = potentials.node[2, 0] = -INF
    expected = tangent(potentials, reward, structure, np.ones(4), 1)
    reward.cliques[0][0, [1, 3, 5]] = reward.node[2, 0] = forbidden_reward
    out, mean = tangent(potentials, reward, structure, np.ones(4), 1)
    np.testing.assert_allclose(out.node, expected[0].node, atol=1e-12)
    np.testing.assert_allclose(out.cliques[0], expected[0].cliques[0], atol=1e-12)
    np.testing.assert_allclose(mean, expected[1], atol=1e-12)
    reward.cliques[0][0, [1, 3, 5]] = reward.node[2, 0] = 0.0
    assert_exact(potentials, reward, structure)


def test_forbidden_labels_need_no_logarithms(monkeypatch):
    """Neither they nor their rewards make a scaled result doubtful."""
    potentials, structure = contracts.random_chains(np.random.default_rng(0))
    reward, _ = contracts.random_chains(np.random.default_rng(1))
    potentials.cliques[0][0, [1, 3, 5]] = potentials.node[2, 0] = -INF
    reward.cliques[0][0, [1, 3, 5]] = reward.node[2, 0] = -INF

    def refuse(*arguments):
        raise AssertionError

    monkeypatch.setattr(first_order_tangent, "log_tangent", refuse)
    _, mean = tangent(potentials, reward, structure, np.ones(4), 1)
    assert np.all(np.isfinite(mean))
    potentials.node[1, 1] -= 320.0
    potentials.cliques[0][0, 4] -= 320.0
    tangent(potentials, reward, structure, np.ones(4), 1)
    by_edge = potentials._replace(
        cliques=(np.repeat(potentials.cliques[0], len(structure.families[0].nodes), axis=0),)
    )
    by_edge.node[-2, 1] -= 320.0
    for e in (0, -1):
        # labels that the next token cannot have, and others can
        by_edge.cliques[0][e, [1, 2, 4, 5, 7, 8]] = -INF
    tangent(by_edge, reward, structure, np.ones(4), 1)
    potentials.node[0, 1] = -1e4
    potentials.cliques[0][0, 0] = -1e4
    with pytest.raises(AssertionError):
        tangent(potentials, reward, structure, np.ones(4), 1)


def test_entropy_is_the_derivative_of_log_Z():
    """With the scores as reward, -inf included: H = log Z - E[score], and its gradient is
    -Cov(indicators, score).
    """
    potentials, structure = contracts.random_chains(np.random.default_rng(0))
    potentials.cliques[0][0, [1, 3, 5]] = potentials.node[2, 0] = -INF
    out, mean = tangent(potentials, potentials, structure, np.ones(4), 1)
    _, log_Z = contracts.marginals(inference, potentials, structure)
    np.testing.assert_allclose(
        log_Z - mean, contracts.entropy(inference, potentials, structure), atol=1e-12
    )
    for table, gradient in zip(*map(contracts.arrays_of, (potentials, out)), strict=True):
        for index in np.argwhere(table > -INF):
            slope = contracts.derivative(
                lambda: contracts.entropy(inference, potentials, structure).sum(),
                table,
                tuple(index),
            )
            assert slope == pytest.approx(-gradient[tuple(index)], abs=1e-7)


# ---- rewards that some pairs have beside the shared ones


@st.composite
def chains_with_rows(draw):
    """Shared scores and rewards, and rows of more rewards that some pairs combine."""
    potentials, structure = draw(contracts.any_chains())
    potentials = potentials._replace(cliques=(potentials.cliques[0][:1],))
    width = potentials.cliques[0].shape[1]
    table = draw(rewards((2, width)))
    reward = Potentials(draw(rewards(potentials.node.shape)), (draw(rewards((1, width))),))
    strengths = st.sampled_from([0.0, 0.0, 1.0, 0.5])
    strength = draw(arrays(float, (len(potentials.node), 2), elements=strengths))
    return potentials, reward, CliqueRows(csr(sp.csr_array(strength)), table), structure


def written_out(reward, rows, structure):
    return reward._replace(cliques=(reward.cliques[0] + rows.by_clique(structure),))


def tangent_by_row(potentials, reward, rows, structure, weight, n_edges):
    width = potentials.cliques[0].shape[1]
    out = Potentials(np.zeros(potentials.node.shape), (np.zeros((n_edges, width)),))
    mean = np.full(len(weight), np.inf)
    inference.tangent_by_row(potentials, reward, rows, structure, weight, out, mean)
    return out, mean


@given(chains_with_rows())
@settings(max_examples=200)
def test_rows_of_rewards_are_those_written_out(batch):
    """Also where it takes logarithms, and where labels or all labellings are forbidden."""
    potentials, reward, rows, structure = batch
    weight = np.full(len(structure.offsets) - 1, -1.5)
    n_edges = len(structure.families[0].nodes)
    all_rewards = written_out(reward, rows, structure)
    size = 1e-10 * max(1.0, *(np.max(np.abs(table), initial=0.0) for table in tables(all_rewards)))
    for n_rows in (1, n_edges):
        expected, expected_mean = tangent(potentials, all_rewards, structure, weight, n_rows)
        out, mean = tangent_by_row(potentials, reward, rows, structure, weight, n_rows)
        n = max(1, len(potentials.node))
        np.testing.assert_allclose(mean, expected_mean, atol=n * size)
        np.testing.assert_allclose(out.node, expected.node, atol=n * size)
        np.testing.assert_allclose(out.cliques[0], expected.cliques[0], atol=n * size)


@pytest.mark.twins
@pytest.mark.parametrize("n_labels", [1, 3, 8, 9])
def test_rows_of_rewards_of_all_numbers_of_labels(n_labels):
    rng = np.random.default_rng(n_labels)
    potentials, structure = contracts.random_chains(rng, (2, 1, 0, 3), n_labels)
    reward, _ = contracts.random_chains(rng, (2, 1, 0, 3), n_labels)
    rows, _ = contracts.rows_of_cliques(rng, potentials)
    node, edge, mean = enumerated(
        potentials, written_out(reward, rows, structure), structure, np.ones(4)
    )
    out, found = tangent_by_row(potentials, reward, rows, structure, np.ones(4), len(edge))
    np.testing.assert_allclose(found, mean.astype(float), atol=1e-10)
    np.testing.assert_allclose(out.node, node.astype(float), atol=1e-10)
    np.testing.assert_allclose(out.cliques[0], edge.astype(float), atol=1e-10)


@pytest.mark.twins
@pytest.mark.parametrize("forbidden_reward", [1e300, INF, -INF, np.nan])
def test_rows_of_what_is_forbidden_are_ignored(forbidden_reward, monkeypatch):
    """They need no logarithms either; large ones of what is allowed do."""
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng)
    reward, _ = contracts.random_chains(rng)
    rows, _ = contracts.rows_of_cliques(rng, potentials)
    potentials.cliques[0][0, [1, 3, 5]] = -INF
    expected, expected_mean = tangent_by_row(potentials, reward, rows, structure, np.ones(4), 1)
    rows.table[:, [1, 3, 5]] = forbidden_reward
    logarithms = []
    exact = first_order_tangent.log_tangent
    monkeypatch.setattr(
        first_order_tangent, "log_tangent", lambda *given: logarithms.append(1) or exact(*given)
    )
    out, mean = tangent_by_row(potentials, reward, rows, structure, np.ones(4), 1)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-12)
    np.testing.assert_allclose(flat_of(out), flat_of(expected), atol=1e-12)
    assert not logarithms
    rows.table[:] = 1e35
    tangent_by_row(potentials, reward, rows, structure, np.ones(4), 1)
    assert logarithms


def flat_of(potentials):
    return np.concatenate([table.ravel() for table in tables(potentials)])


# ---- where scaled numbers are silently wrong


def test_underflowed_label_that_wins_later():
    """K = 2, six tokens: the label that is e**-1000 behind at first is e**1000 ahead at last."""
    node = np.zeros((6, 2))
    rng = np.random.default_rng(0)
    node[0, 1] = -1000.0
    node[1:, 0] = -200.0  # at the end both are as likely
    potentials, structure = contracts.single(node, [[0.0, -1e4], [-1e4, 0.0]])
    reward = Potentials(rng.normal(size=(6, 2)), (rng.normal(size=(1, 4)),))
    assert_exact(potentials, reward, structure)
    out, _ = tangent(potentials, reward, structure, np.ones(1), 1)
    assert np.abs(out.node).min() > 0.1


def test_two_groups_of_labels_on_4000_tokens():
    """Two groups that never meet: the covariance within each, and that of being in it."""
    rng = np.random.default_rng(0)
    T = 4000
    node = rng.uniform(-1, 0, size=(T, 4))
    table = rng.normal(size=(4, 4))
    bonus = rng.normal(size=(T, 4))
    node[:1800, :2] += 1.0
    node[1800:, 2:] += 1.0
    table[:2, 2:] = table[2:, :2] = -INF
    nothing = np.zeros((1, 4))
    found = []
    for g in (slice(2), slice(2, 4)):
        potentials, structure = contracts.single(node[:, g], table[g, g])
        out, log_Z = contracts.marginals(inference, potentials, structure)
        reward = Potentials(bonus[:, g].copy(), (nothing,))
        found.append(
            (log_Z[0], out.node, *contracts.tangent(inference, potentials, reward, structure))
        )
    (log_Z, p, cov, mean), (other_log_Z, other_p, other_cov, other_mean) = found
    node[0, 2:] += log_Z - other_log_Z + 0.5  # both groups matter in the end
    potentials, structure = contracts.single(node, table)
    out, total = tangent(
        potentials, Potentials(bonus, (np.zeros((1, 16)),)), structure, np.ones(1), 1
    )
    share = 1 / (1 + np.exp(0.5))
    expected = share * mean[0] + (1 - share) * other_mean[0]
    # log Z of 4,000 tokens has an error of 1e-10
    assert total[0] == pytest.approx(expected, rel=1e-7)
    np.testing.assert_allclose(
        out.node[:, :2], share * (cov.node + p * (mean[0] - expected)), atol=1e-7
    )
    np.testing.assert_allclose(
        out.node[:, 2:],
        (1 - share) * (other_cov.node + other_p * (other_mean[0] - expected)),
        atol=1e-7,
    )


def test_label_out_of_reach_that_would_win():
    """Label 0 may not be entered, and would be e**900 times as probable: its beta is beyond all
    numbers.
    """
    node = np.zeros((4, 3))
    edge = np.zeros((3, 3))
    rng = np.random.default_rng(0)
    node[:, 1:] -= 300.0
    node[0, 0] = edge[1, 0] = edge[2, 0] = -INF
    potentials, structure = contracts.single(node, edge)
    assert_exact(
        potentials, Potentials(rng.normal(size=(4, 3)), (rng.normal(size=(1, 9)),)), structure
    )


@pytest.mark.parametrize("shared", [True, False])
def test_labels_far_behind_one_out_of_reach(shared):
    """Label 0 of the second token is neither reached nor left; of the others, that is best which is
    lost beside it.
    """
    edge = np.array([[-INF, -INF, -INF], [-INF, 0.0, -800.0], [-INF, -800.0, 0.0]]).reshape(1, -1)
    node = [[-INF, 0.0, 0.0], [0.0, -750.0, -690.0], [-INF, 0.0, -70.0]]
    potentials, structure = contracts.single(node, edge if shared else np.repeat(edge, 2, axis=0))
    rng = np.random.default_rng(0)
    assert_exact(
        potentials, Potentials(rng.normal(size=(3, 3)), (rng.normal(size=(1, 9)),)), structure
    )


@pytest.mark.parametrize("far", [-1e4, -744.0, -735.0, -700.0, 700.0, 735.0, 1e4])
def test_scores_far_from_zero(far):
    """A constant on all scores of a token, or of an edge, changes nothing."""
    potentials, structure = contracts.random_chains(np.random.default_rng(0), shared=False)
    reward, _ = contracts.random_chains(np.random.default_rng(1))
    for table in tables(potentials):
        table[::2] += far
    assert_exact(potentials, reward, structure)


@pytest.mark.parametrize("far", [-500.0, 0.0, 500.0])
def test_a_label_that_is_far_behind_where_all_are_far_from_zero(far):
    """Labels stay; each is far behind on one token, and in the end they are equal."""
    potentials, structure = contracts.single(
        [[far, far - 290.0], [-290.0, 0.0]], [[0.0, -INF], [-INF, 0.0]]
    )
    rng = np.random.default_rng(0)
    assert_exact(
        potentials, Potentials(rng.normal(size=(2, 2)), (rng.normal(size=(1, 4)),)), structure
    )


@pytest.mark.parametrize(("gap", "step"), [(990, 690), (750, 690), (300, 299), (120, 85)])
def test_underflow_without_forbidden_labels(gap, step):
    """To enter label 1 is too dear for scaled numbers; to stay in 0 is dearer in the long run."""
    edge = np.array([[0.0, -gap, 0.0, -gap]] + [[-step, -gap, -gap, 0.0]] * 2)
    potentials, structure = contracts.single(np.zeros((4, 2)), edge)
    rng = np.random.default_rng(0)
    assert_exact(
        potentials, Potentials(rng.normal(size=(4, 2)), (rng.normal(size=(3, 4)),)), structure
    )


@pytest.mark.parametrize("first", [-7.5, -8.0])
def test_transition_lost_below_the_smallest_exponential(first):
    """A transition too small for exp, into a label that all reach by tiny steps, and that wins in
    the end.
    """
    ten = np.log(10)
    edge = np.full((2, 5, 5), -INF)
    edge[0, 4, 4] = edge[1, 2, 2] = edge[1, 3, 3] = 0.0
    edge[0, 0, 2] = -708.05
    edge[0, 1, 2] = -300 * ten
    edge[0, :2, 3] = -28.5 * ten
    node = np.full((3, 5), -INF)
    node[0, :2] = 0.0, first * ten
    node[1, 2:4] = 0.0
    node[2, 2:4] = 0.0, -279.3 * ten
    potentials, structure = contracts.single(node, edge)
    rng = np.random.default_rng(0)
    assert_exact(
        potentials, Potentials(rng.normal(size=(3, 5)), (rng.normal(size=(2, 25)),)), structure
    )


@pytest.mark.parametrize("gap", [500.0, 590.0, 610.0, 690.0, 708.5, 746.0, 990.0])
def test_no_jump_where_the_exact_way_takes_over(gap):
    """Around the range of scores up to which scaled numbers are trusted."""
    edge = np.array([[0.0, -gap, 0.0, -gap], [-gap, -gap, 0.0, 0.0]])
    rng = np.random.default_rng(0)
    reward = Potentials(rng.normal(size=(3, 2)), (rng.normal(size=(2, 4)),))
    assert_exact(*contracts.single(np.zeros((3, 2)), edge)[:1], reward, chain([0, 3]))
    for share in (0.0, 0.5, 1.0):
        node = rng.normal(size=(5, 3))
        edge = rng.normal(size=(3, 3))
        node[1, 0] -= share * gap
        node[3, 1] += share * gap
        edge[1, 2] -= (1 - share) * gap
        potentials, structure = contracts.single(node, edge)
        assert_exact(
            potentials, Potentials(rng.normal(size=(5, 3)), (rng.normal(size=(1, 9)),)), structure
        )


@pytest.mark.compiled
@pytest.mark.parametrize("log_space", [False, True])
def test_100_000_tokens(log_space):
    """The derivative of marginals of a long chain, by differences of exact ones; deviations do not
    grow with it.
    """
    rng = np.random.default_rng(0)
    T = 100_000
    step = 1e-5
    node = rng.normal(size=(T, 2))
    edge = rng.normal(size=(1, 4))
    if log_space:
        node[10] = (-5e3, 5e3)
        node[11] = (5e3, -5e3)
        edge[0, 2] = -1e4
    reward = Potentials(rng.normal(size=(T, 2)), (rng.normal(size=(1, 4)),))
    out, mean = tangent(Potentials(node, (edge,)), reward, chain([0, T]), np.ones(1), 1)
    (log_Z, above, pairs), (other_log_Z, below, other_pairs) = (
        naive.long_chain(node + h * reward.node, edge + h * reward.cliques[0])
        for h in (step, -step)
    )
    assert mean[0] == pytest.approx((log_Z - other_log_Z) / (2 * step), rel=1e-8)
    np.testing.assert_allclose(out.node, ((above - below) / (2 * step)).astype(float), atol=1e-6)
    np.testing.assert_allclose(
        out.cliques[0][0].reshape(2, 2),
        ((pairs - other_pairs) / (2 * step)).astype(float),
        atol=0.1,
    )
    np.testing.assert_allclose(out.node.sum(axis=1), 0.0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e5, 1e10, 1e100])
def test_enormous_scores(scale):
    """Beyond what float64 can add up exactly, covariances with all labels of a token still sum to
    zero.
    """
    rng = np.random.default_rng(0)
    structure = chain([0, 4, 9])
    for _ in range(20):
        potentials = Potentials(
            scale * rng.normal(size=(9, 3)),
            (scale * rng.normal(size=(len(structure.families[0].nodes), 9)),),
        )
        reward = Potentials(
            rng.normal(size=(9, 3)), (rng.normal(size=(len(structure.families[0].nodes), 9)),)
        )
        out, mean = tangent(
            potentials, reward, structure, np.ones(2), len(structure.families[0].nodes)
        )
        assert np.all(np.isfinite(mean))
        np.testing.assert_allclose(out.node.sum(axis=1), 0.0, atol=1e-10)
        np.testing.assert_allclose(out.cliques[0].sum(axis=1), 0.0, atol=1e-10)
