"""Forward-backward against enumeration, and where scaled numbers would be silently wrong."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains import first_order
from sklearn_struct.inference.chains.chain import Chain

INF = np.inf

inference = Chain()

test_contract = contracts.inference(inference)


def full_marginals(potentials, structure, weight=None):
    """Marginals of nodes and of each edge, and log Z."""
    n, K = potentials.node.shape
    out = Potentials(np.zeros((n, K)), (np.zeros((len(structure.families[0].nodes), K * K)),))
    return contracts.marginals(inference, potentials, structure, weight, out)


def assert_exact(potentials, structure, weight=None, digits=1e-10):
    """log Z, node marginals, and edge marginals, singly and summed, agree with enumeration."""
    weight = np.ones(len(structure.offsets) - 1) if weight is None else weight
    out, log_Z = full_marginals(potentials, structure, weight)
    summed = Potentials(np.zeros_like(out.node), (np.zeros((1, out.cliques[0].shape[1])),))
    contracts.marginals(inference, potentials, structure, weight, summed)
    # without the way back, to the last digit
    _, of_marginals = contracts.marginals(inference, potentials, structure, weight)
    alone = inference.log_partition(potentials, structure, weight)
    np.testing.assert_array_equal(alone, of_marginals)
    expected = list(naive.twins(potentials, structure))
    node = np.concatenate([w * twin.node for w, twin in zip(weight, expected)])
    edge = np.concatenate([w * twin.cliques[0] for w, twin in zip(weight, expected)])
    expected_log_Z = [float(twin.log_Z) if w else 0.0 for w, twin in zip(weight, expected)]
    np.testing.assert_allclose(log_Z, expected_log_Z, rtol=digits / 100, atol=digits)
    np.testing.assert_allclose(out.node, node, atol=digits)
    np.testing.assert_allclose(out.cliques[0], edge, atol=digits)
    np.testing.assert_allclose(summed.node, node, atol=digits)
    np.testing.assert_allclose(summed.cliques[0], edge.sum(axis=0)[None], atol=digits)


@given(
    contracts.any_chains(), st.lists(st.sampled_from([1.0, 0.0, -1.0, 2.5]), min_size=3, max_size=3)
)
@settings(max_examples=300)
def test_marginals_by_enumeration(batch, weight):
    potentials, structure = batch
    assert_exact(potentials, structure, np.array(weight[: len(structure.offsets) - 1]))


@given(contracts.any_chains())
@settings(max_examples=100)
def test_entropy_by_enumeration(batch):
    expected = [
        float(twin.entropy()) if twin.log_Z > -INF else np.nan for twin in naive.twins(*batch)
    ]
    np.testing.assert_allclose(contracts.entropy(inference, *batch), expected, atol=1e-9)


@given(contracts.any_chains())
@settings(max_examples=100)
def test_float32_by_enumeration(batch):
    """The scores are float32 numbers; what is computed from them may lose digits, never a
    labelling.
    """
    potentials = contracts.mapped(lambda table: table.astype(np.float32), batch[0])
    structure = batch[1]
    assert_exact(potentials, structure, digits=1e-4)


def test_float32_in_log_space_rounds_no_sums():
    """A certain labelling, redone in log space: its scores are sums that no float32 number is."""
    node = np.full((4, 2), 1.5829315, dtype=np.float32)
    edge = np.array([[1697.0, 2.0, 2.0, 2.0]], dtype=np.float32)
    assert_exact(Potentials(node, (edge,)), chain([0, 4]), digits=1e-6)


@pytest.mark.twins
@pytest.mark.parametrize("n_labels", [1, 2, 3, 8, 9, 17])
def test_all_numbers_of_labels(n_labels):
    """Rows narrower, as wide as, and wider than the vectors of the machine."""
    rng = np.random.default_rng(n_labels)
    for shared in (True, False):
        potentials, structure = contracts.random_chains(
            rng, (2, 1, 0, 3 if n_labels < 9 else 2), n_labels, shared
        )
        assert_exact(potentials, structure)


@pytest.mark.twins
def test_forbidden_transitions():
    potentials, structure = contracts.random_chains(np.random.default_rng(0))
    potentials.cliques[0][0, [1, 3, 5]] = -INF
    potentials.node[2, 0] = -INF
    assert_exact(potentials, structure)


def test_best_label_leads_into_a_dead_end():
    """Label 0 is best everywhere, and nothing may follow it."""
    node = np.array([[1e4, 0.0, 1.0], [1e4, 2.0, 0.0], [1e4, 0.0, 0.0]])
    edge = np.zeros((3, 3))
    edge[0] = -INF
    potentials, structure = contracts.single(node, edge)
    assert_exact(potentials, structure)
    out, log_Z = full_marginals(potentials, structure)
    assert out.node[:, 0].tolist() == [0.0, 0.0, 1.0]
    assert log_Z[0] == pytest.approx(1e4 + np.log(1 + np.e) + np.log(1 + np.exp(2)))


@pytest.mark.twins
def test_impossible_sequences():
    """Nothing is added for them, and those beside them stay right."""
    node = np.zeros((9, 2))
    forbidden = np.full(4, -INF)
    structure = chain([0, 3, 6, 9])
    edge = np.zeros((6, 4))
    edge[2] = forbidden
    out, log_Z = full_marginals(Potentials(node, (edge,)), structure)
    assert log_Z == pytest.approx([np.log(8), -INF, np.log(8)])
    assert not out.node[3:6].any()
    assert not out.cliques[0][2:4].any()
    np.testing.assert_allclose(out.node[[0, 1, 2, 6, 7, 8]], 0.5)
    _, log_Z = full_marginals(Potentials(node, (forbidden[None],)), structure)
    assert log_Z.tolist() == [-INF] * 3


def test_scores_far_from_zero():
    """A constant on all scores of a token moves log Z and nothing else, however large."""
    potentials, structure = contracts.random_chains(np.random.default_rng(0), (5,))
    out, log_Z = full_marginals(potentials, structure)
    moved, moved_log_Z = full_marginals(
        Potentials(potentials.node + 1e9, (potentials.cliques[0] - 1e9,)), structure
    )
    assert moved_log_Z[0] == pytest.approx(log_Z[0] + 1e9, rel=1e-14)
    np.testing.assert_allclose(moved.node, out.node, atol=1e-6)  # 1e9 leaves seven digits


@pytest.mark.parametrize("score", [INF, -INF, np.nan])
def test_a_table_without_rows_is_left_alone(score):
    """Sequences of one token have no edges; what lies behind a table of each edge stays."""
    memory = np.zeros((2, 9))
    out = Potentials(np.zeros((1, 3)), (memory[:0],))
    potentials = Potentials(np.full((1, 3), score), (np.zeros((1, 9)),))
    with np.errstate(invalid="ignore"):
        contracts.marginals(inference, potentials, chain(np.array([0, 1])), None, out)
    np.testing.assert_array_equal(memory, 0.0)


def test_what_is_forbidden_needs_no_logarithms(monkeypatch):
    """Zeros that mean "forbidden" are told from zeros that mean "underflowed"."""

    def never(*args):
        raise AssertionError

    monkeypatch.setattr(first_order, "log_marginals", never)
    for shared in (True, False):
        potentials, structure = contracts.random_chains(
            np.random.default_rng(0), (6, 5, 4, 1), 3, shared
        )
        potentials.cliques[0][:, [1, 3]] = -INF
        potentials.node[0, 0] = potentials.node[8, 2] = -INF
        assert_exact(potentials, structure)
        potentials.node[1, 1] -= 320.0
        potentials.cliques[0][:, 4] -= 320.0
        assert_exact(potentials, structure)
        # what is lost here never comes back
        potentials.node[2] = [0.0, 1e4, -1e4]
        assert_exact(potentials, structure)
        # and here it would have won
        potentials.node[3, 0] = 2e4
        with pytest.raises(AssertionError):
            full_marginals(potentials, structure)
        _, log_Z = full_marginals(
            *contracts.random_chains(np.random.default_rng(0), (2000,), 3, shared)
        )
        # not even where products of norms must be written out
        assert 100 * np.log(10) < abs(log_Z[0])


# ---- where scaled numbers are silently wrong


@pytest.mark.parametrize(("dtype", "far"), [(np.float64, 400.0), (np.float32, 50.0)])
@pytest.mark.parametrize("n_tokens", [2, 3, 4, 5])
@pytest.mark.parametrize("alone", [True, False])
def test_label_out_of_reach_that_would_win(dtype, far, n_tokens, alone):
    """Label 0 may not be entered, nor left, and would be e**far times as probable: its beta is
    beyond all numbers.
    """
    node = np.zeros((n_tokens, 3))
    edge = np.zeros((3, 3))
    node[:, 1:] -= far
    node[0, 0] = edge[1, 0] = edge[2, 0] = -INF
    if alone:
        edge[0, 1:] = -INF
    assert_exact(
        *contracts.single(node, edge, dtype), digits=1e-10 if dtype is np.float64 else 1e-4
    )


@pytest.mark.parametrize(("dtype", "unit"), [(np.float64, 1.0), (np.float32, 0.13)])
def test_labels_far_behind_one_out_of_reach(dtype, unit):
    """Label 0 of the second token is neither reached nor left; of the others, that is best which is
    lost beside it.
    """
    edge = np.array([[-INF, -INF, -INF], [-INF, 0.0, -800.0], [-INF, -800.0, 0.0]])
    node = unit * np.array([[-INF, 0.0, 0.0], [0.0, -750.0, -690.0], [-INF, 0.0, -70.0]])
    potentials, structure = contracts.single(node, unit * edge, dtype)
    assert_exact(potentials, structure, digits=1e-10 if dtype is np.float64 else 1e-4)


def test_underflowed_label_that_wins_later():
    """K = 2, six tokens: the label that is e**-1000 behind at first is e**1000 ahead at last."""
    node = np.zeros((6, 2))
    node[0, 1] = -1000.0
    node[1:, 0] = -400.0
    edge = np.array([[0.0, -1e4], [-1e4, 0.0]])
    potentials, structure = contracts.single(node, edge)
    assert naive.scaled_log_Z(potentials.node, potentials.cliques[0]) == -2000.0
    _, log_Z = full_marginals(potentials, structure)
    assert log_Z[0] == -1000.0
    assert_exact(potentials, structure)


def test_two_groups_of_labels_on_4000_tokens():
    """Two groups that never meet are two chains: log Z = log(Z_1 + Z_2), though one is far behind
    half-way.
    """
    rng = np.random.default_rng(0)
    T = 4000
    node = rng.uniform(-1, 0, size=(T, 4))
    table = rng.normal(size=(4, 4))
    node[:1800, :2] += 1.0
    node[1800:, 2:] += 1.0
    table[:2, 2:] = table[2:, :2] = -INF
    groups = [
        full_marginals(*contracts.single(node[:, g], table[g, g])) for g in (slice(2), slice(2, 4))
    ]
    log_Zs = np.array([log_Z[0] for _, log_Z in groups])
    node[0, 2:] += log_Zs[0] - log_Zs[1] + 0.5  # both groups matter in the end
    out, log_Z = full_marginals(*contracts.single(node, table))
    # the second group is lost
    assert naive.scaled_log_Z(node, table.reshape(1, -1)) == pytest.approx(log_Zs[0])
    share = 1 / (1 + np.exp(0.5))
    assert log_Z[0] == pytest.approx(log_Zs[0] + np.log1p(np.exp(0.5)), rel=1e-12)
    np.testing.assert_allclose(out.node[:, :2], share * groups[0][0].node, atol=1e-10)
    np.testing.assert_allclose(out.node[:, 2:], (1 - share) * groups[1][0].node, atol=1e-10)


@pytest.mark.parametrize(
    ("dtype", "gap", "step"),
    [(np.float64, 990, 690), (np.float64, 750, 690), (np.float32, 120, 85), (np.float32, 110, 80)],
)
def test_underflow_without_forbidden_labels(dtype, gap, step):
    """To enter label 1 is too dear for scaled numbers; to stay in 0 is dearer in the long run."""
    edge = np.array([[0.0, -gap, 0.0, -gap]] + [[-step, -gap, -gap, 0.0]] * 2)
    potentials, structure = contracts.single(np.zeros((4, 2)), edge, dtype)
    assert naive.scaled_log_Z(potentials.node, potentials.cliques[0]) == pytest.approx(
        -2 * step, abs=2
    )
    assert_exact(potentials, structure, digits=1e-10 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize(
    ("dtype", "step"),
    [(np.float64, s) for s in (250, 299, 301, 400, 590)]
    + [(np.float32, s) for s in (25, 29, 31, 45, 59)],
)
@pytest.mark.parametrize("n_labels", [2, 6])
def test_pairs_near_each_other_tokens_far_apart(dtype, step, n_labels):
    """A token costs label 0 nearly as much as two pairs cost label 1: what underflows may win."""
    lost = 740 if dtype is np.float64 else 102
    edge = np.full((n_labels, n_labels), -step, dtype)
    edge[0, 0] = 0
    node = np.full((3, n_labels), -1.0 * lost)
    node[[0, 2], 0] = node[1, 1] = 0
    node[1, 0] = -min(2 * step - 1, 2 * lost)
    potentials, structure = contracts.single(node, edge, dtype)
    assert_exact(potentials, structure, digits=1e-10 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize("lost", [-INF, -1e4])
@pytest.mark.parametrize(("dtype", "far"), [(np.float64, 590.0), (np.float32, 59.0)])
def test_labels_that_stay_apart_while_tokens_change_sides(dtype, far, lost):
    """Ranges of tokens alone could be trusted, but pairs let what underflows win."""
    edge = np.array([[0, lost], [lost, 0]], dtype)
    node = np.zeros((7, 2))
    node[:2, 1] = -far
    node[2:, 0] = -far
    potentials, structure = contracts.single(node, edge, dtype)
    assert_exact(potentials, structure, digits=1e-10 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize(
    ("dtype", "factor", "digits"), [(np.float32, 1.0, 1e-4), (np.float64, 7.24, 1e-10)]
)
def test_numbers_that_had_lost_their_digits_before_they_were_scaled(dtype, factor, digits):
    """K = 2, four tokens: a row of tiny numbers, some of them subnormal, looks like any other once
    it sums to 1.
    """
    node = np.array([[-75.48849, -INF], [0.0, -49.80862], [-46.545574, 0.0], [-51.97593, 0.0]])
    edge = [
        [0, 0, -INF, -2.812996],
        [-INF, -INF, -6.500893, 0],
        [-INF, -11.254486, -33.044548, -INF],
    ]
    assert_exact(*contracts.single(factor * node, factor * np.array(edge), dtype), digits=digits)


@pytest.mark.parametrize("shared", [True, False])
def test_lost_labels_whose_bound_underflows_later(shared):
    """Scores hundreds apart, and much that is forbidden: the label that wins is lost at one token,
    and its bound at the next.
    """
    rng = np.random.RandomState(21041)
    node = 300 * rng.randn(400, 6)
    edge = 20 * rng.randn(6, 6)
    node[rng.rand(400, 6) < 0.3] = -INF
    edge[rng.rand(6, 6) < 0.4] = -INF
    alpha = node[256]
    for t in range(257, 264):
        alpha = np.logaddexp.reduce(alpha[:, None] + edge, axis=0) + node[t]
    tables = edge.reshape(1, -1)
    potentials = Potentials(node[256:264], (tables if shared else np.tile(tables, (7, 1)),))
    out, log_Z = full_marginals(potentials, chain(np.array([0, 8])))
    assert log_Z[0] == pytest.approx(np.logaddexp.reduce(alpha), rel=1e-14)
    np.testing.assert_allclose(out.node.sum(axis=1), 1)
    best = out.node.argmax(axis=1).astype(np.int32)
    score = np.empty(1)
    inference.path_score(potentials, chain(np.array([0, 8])), best, score)
    assert score[0] == pytest.approx(log_Z[0], abs=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_lost_labels_whose_bound_meets_a_lost_pair(shared):
    """The bound of a label is far above 1 where all others are improbable, too, and then a pair
    follows whose exponential underflows.
    """
    node = [
        [-66, 50, -35, -43],
        [-20, 54, -INF, 60],
        [-16, 86, 39, 59],
        [68, -12, -37, -108],
        [-56, 14, 39, -INF],
        [-65, -9, -74, -INF],
        [-38, -34, 35, -INF],
        [81, -INF, 60, -INF],
    ]
    edge = [
        [-INF, 556, -293, 98],
        [-30, -INF, -242, -275],
        [504, 159, -INF, 195],
        [-INF, -INF, 12, -97],
    ]
    tables = np.array(edge, dtype=float).reshape(1, -1)
    potentials = Potentials(
        np.array(node, dtype=float), (tables if shared else np.tile(tables, (7, 1)),)
    )
    out, log_Z = full_marginals(potentials, chain(np.array([0, 8])))
    assert log_Z[0] == pytest.approx(np.logaddexp(2177, 2185), rel=1e-14)
    np.testing.assert_allclose(out.node.sum(axis=1), 1)


@pytest.mark.parametrize("step", [-490.0, -500.0, -508.0, -512.0, -700.0])
@pytest.mark.parametrize("shared", [True, False])
def test_norms_whose_product_would_lose_its_digits(step, shared):
    """One label is all that can be reached, and far below others that cannot: norms of 1e-99 and
    1e-220 follow each other.
    """
    node = np.zeros((6, 3))
    node[:, 1] = [-1.0, -228.0, step, -228.0, step, -10.0]
    node[0, [0, 2]] = -INF
    edge = np.array([[-INF, 0, -INF]] * 3).ravel()
    tables = edge[None] if shared else np.tile(edge, (5, 1))
    structure = chain(np.array([0, 6]))
    potentials = Potentials(node, (tables,))
    assert_exact(potentials, structure)
    log_Z = np.empty(1)
    sums = (np.zeros(tables.shape),)
    inference.expectations(potentials, structure, np.ones(1), sums, log_Z)
    assert log_Z[0] == pytest.approx(-467.0 + 2 * step, rel=1e-14)


@pytest.mark.parametrize(
    ("first", "dtype"), [(-7.5, np.float64), (-8.0, np.float64), (-3.0, np.float32)]
)
@pytest.mark.parametrize("n_after", [0, 2])
def test_transition_lost_below_the_smallest_exponential(first, dtype, n_after):
    """A transition too small for exp, into a label that all reach by tiny steps, and that wins in
    the end.

    Labels 0 and 1 go to 2 by tiny steps, or to 3 by small ones; 4 alone, never reached, has a
    transition of 1. What comes after has label 0 alone.
    """
    ten = np.log(10)
    wide = dtype is np.float64
    lost, tiny, small, last = (-708.05, -300, -28.5, -279.3) if wide else (-88.0, -35, -9, -28)
    edge = np.full((2 + n_after, 5, 5), -INF)
    edge[0, 4, 4] = edge[1, 2, 2] = edge[1, 3, 3] = 0.0
    edge[0, 0, 2] = lost
    edge[0, 1, 2] = tiny * ten
    edge[0, :2, 3] = small * ten
    edge[2:, :, 0] = 0.0
    node = np.full((3 + n_after, 5), -INF)
    node[0, :2] = 0.0, first * ten
    node[1, 2:4] = 0.0
    node[2, 2:4] = 0.0, last * ten
    node[3:, 0] = 0.0
    potentials, structure = contracts.single(node, edge)
    assert_exact(
        contracts.mapped(lambda table: table.astype(dtype), potentials),
        structure,
        digits=1e-10 if wide else 1e-4,
    )


@pytest.mark.parametrize("gap", [500.0, 590.0, 610.0, 690.0, 708.5, 720.0, 744.0, 746.0, 990.0])
@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_no_jump_where_the_exact_way_takes_over(gap, dtype, digits):
    """Around the range of scores up to which scaled numbers are trusted; to enter 1 costs as much
    as to leave 0.
    """
    if dtype is np.float32:
        gap = gap / 8
    edge = np.array([[0.0, -gap, 0.0, -gap], [-gap, -gap, 0.0, 0.0]])
    potentials, structure = contracts.single(np.zeros((3, 2)), edge, dtype)
    _, log_Z = full_marginals(potentials, structure)
    assert log_Z[0] == pytest.approx(np.log(8) - gap, rel=digits / 100)
    assert_exact(potentials, structure, digits=digits)
    rng = np.random.default_rng(0)
    for share in (0.0, 0.5, 1.0):
        node = rng.normal(size=(5, 3))
        edge = rng.normal(size=(3, 3))
        node[1, 0] -= share * gap
        node[3, 1] += share * gap
        edge[1, 2] -= (1 - share) * gap
        assert_exact(*contracts.single(node, edge, dtype), digits=digits)


@pytest.mark.compiled
def test_100_000_tokens():
    rng = np.random.default_rng(0)
    node = rng.normal(size=(100_000, 3)) * 3
    edge = rng.normal(size=(1, 9))
    node[rng.random(100_000) < 0.05, 1] = -INF
    log_Z, expected_node, expected_edge = naive.long_chain(node, edge)
    potentials = Potentials(node, (edge,))
    structure = chain([0, 100_000])
    out, found = contracts.marginals(inference, potentials, structure)
    assert found[0] == pytest.approx(log_Z, rel=1e-11)
    np.testing.assert_allclose(out.node, expected_node, atol=1e-10)
    np.testing.assert_allclose(out.cliques[0][0].reshape(3, 3), expected_edge, rtol=1e-10)
    np.testing.assert_allclose(out.node.sum(axis=1), 1.0, atol=1e-10)


@pytest.mark.compiled
def test_100_000_tokens_in_log_space():
    """One early token with a huge range makes the whole sequence leave the scaled numbers."""
    rng = np.random.default_rng(0)
    node = rng.normal(size=(100_000, 2))
    edge = rng.normal(size=(1, 4))
    node[10] = -5e3, 5e3
    node[11] = 5e3, -5e3
    edge[0, 2] = -1e4
    log_Z, expected_node, _ = naive.long_chain(node, edge)
    out, found = contracts.marginals(inference, Potentials(node, (edge,)), chain([0, 100_000]))
    assert found[0] == pytest.approx(log_Z, rel=1e-12)
    np.testing.assert_allclose(out.node, expected_node, atol=1e-10)
    np.testing.assert_allclose(out.node.sum(axis=1), 1.0, atol=1e-10)


# ---- entropy


def test_entropy_of_known_distributions():
    """Uniform, certain, impossible and empty sequences; no cancellation of large scores."""
    structure = chain([0, 3, 6, 9, 9])
    node = np.zeros((9, 4))
    edge = np.zeros((1, 16))
    node[3:6, 0] = 1e4
    node[7] = -INF
    np.testing.assert_allclose(
        contracts.entropy(inference, Potentials(node, (edge,)), structure),
        [3 * np.log(4), 0.0, np.nan, 0.0],
        atol=1e-12,
    )
    np.testing.assert_allclose(
        contracts.entropy(
            inference, Potentials(np.full((1000, 2), 1e6), (np.zeros((1, 4)),)), chain([0, 1000])
        ),
        1000 * np.log(2),
    )


@pytest.mark.twins
def test_entropy_without_edges():
    node = np.log([[0.5, 0.5], [0.9, 0.1], [1.0, 1.0]])
    expected = [np.log(2), -0.9 * np.log(0.9) - 0.1 * np.log(0.1), np.log(2)]
    found = contracts.entropy(inference, Potentials(node, (np.zeros((1, 4)),)), chain([0, 1, 2, 3]))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    found = contracts.entropy(inference, Potentials(node, (np.zeros((0, 4)),)), chain([0, 1, 2, 3]))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1e5, 1e10, 1e100])
def test_marginals_of_enormous_scores(scale):
    """Beyond what float64 can add up exactly, probabilities are still probabilities."""
    rng = np.random.default_rng(0)
    structure = chain([0, 4, 9])
    for _ in range(20):
        potentials = Potentials(
            scale * rng.normal(size=(9, 3)),
            (scale * rng.normal(size=(len(structure.families[0].nodes), 9)),),
        )
        out = Potentials(np.zeros((9, 3)), (np.zeros((len(structure.families[0].nodes), 9)),))
        inference.marginals(potentials, structure, np.ones(2), out, np.empty(2))
        np.testing.assert_allclose(out.node.sum(axis=1), 1.0, atol=1e-10)
        np.testing.assert_allclose(out.cliques[0].sum(axis=1), 1.0, atol=1e-10)
        assert np.all(contracts.entropy(inference, potentials, structure) >= 0)
