"""SampleRank: steps that are alike whatever is drawn, and means over many seeds."""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from graphs import PAIRS, SHARED_TRIPLES, Enumeration, four_graphs, random_graphs

from sklearn_struct.losses.sample_rank import SampleRank

# all but what asks that derivatives are those of values
CHECKS = [check for check in contracts.LOSS_CHECKS if check is not contracts.check_derivative]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("check", CHECKS)
def test_contract(check, shared):
    check(SampleRank(2, seed=3), np.random.default_rng(0), shared, four_graphs)


def problem(K=3, scale=1.0):
    rng = np.random.default_rng(0)
    potentials, structure = random_graphs(
        rng, (5, 0, 1), K, families=(PAIRS, SHARED_TRIPLES), density=1.0
    )
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    return potentials, rng.integers(K, size=6).astype(np.int32), structure


@pytest.mark.parametrize("n_steps", [1, 3])
def test_the_value_is_that_of_the_pairs_in_the_derivative(n_steps):
    """Each pair that costs something costs 1 - gain, and the gain is linear in the scores."""
    potentials, y, structure = problem()
    seen = set()
    for seed in range(20):
        value, out = contracts.evaluate(
            SampleRank(n_steps, seed), potentials, y, structure, np.ones(3)
        )
        slope = contracts.flat(potentials) @ contracts.flat(out)
        n_pairs = value.sum() - slope
        assert n_pairs == pytest.approx(round(n_pairs), abs=1e-9)
        assert 0 <= round(n_pairs) <= n_steps * 6
        np.testing.assert_allclose(out.node.sum(axis=1), 0.0, atol=1e-12)
        seen.add(round(n_pairs))
    assert len(seen) > 1


def test_near_the_truth_all_pairs_are_single_changes_of_it():
    """Where scores keep the walk there, the value is a sum over nodes; with two labels nothing is
    drawn but whether to move.
    """
    potentials, y, structure = problem(K=2)
    # all but impossible to leave, and a margin that is never reached in the first example
    node = potentials.node.copy()
    node[np.arange(6), y] += 60.0
    far = potentials._replace(node=node)
    value, out = contracts.evaluate(SampleRank(), far, y, structure, np.ones(3))
    assert value.tolist() == [0.0, 0.0, 0.0]
    assert not contracts.flat(out).any()
    # the lonely node: a pair of two scores, whichever is drawn
    node[5] = [0.3, 0.0] if y[5] == 0 else [0.0, 0.3]
    value, out = contracts.evaluate(SampleRank(), far, y, structure, np.ones(3))
    assert value[2] == pytest.approx(0.7)
    assert out.node[5].tolist() == ([-1.0, 1.0] if y[5] == 0 else [1.0, -1.0])


def test_walks_end_at_the_distribution():
    """With single nodes and two labels: how often a pair begins at the truth is its probability, as
    that is where the derivative asks for more.
    """
    _, structure = random_graphs(np.random.default_rng(0), (1,), K=3, families=())
    node = np.array([[0.2, -0.5, 0.6]])
    potentials = problem()[0]._replace(node=node, cliques=())
    n_steps = 200
    away = 0.0
    for seed in range(200):
        _, out = contracts.evaluate(
            SampleRank(n_steps, seed), potentials, np.array([1], np.int32), structure, np.ones(1)
        )
        away -= out.node[0, 1] / (200 * n_steps)
    # each pair takes one from the truth: all proposals to go, and half of those that could come
    p = np.exp(node[0]) / np.exp(node[0]).sum()
    assert away == pytest.approx(p[1] + (1 - p[1]) / 2, abs=0.02)


def test_it_goes_down_to_where_all_pairs_are_right():
    """Steps down the derivative make the truth the best labelling."""
    potentials, y, structure = problem()
    before = Enumeration(potentials, structure, 0)
    truth = np.all(before.labellings == y[:5], axis=1)
    assert before.scores[truth][0] < before.scores.max()
    for seed in range(300):
        _, out = contracts.evaluate(SampleRank(1, seed), potentials, y, structure, np.ones(3))
        potentials = contracts.mapped(lambda a, b: a - 0.1 * b, potentials, out)
    after = Enumeration(potentials, structure, 0)
    assert after.scores[truth][0] == after.scores.max()


def test_one_label_leaves_nothing_to_rank():
    potentials, _, structure = problem(K=1)
    value, out = contracts.evaluate(
        SampleRank(3), potentials, np.zeros(6, np.int32), structure, np.ones(3)
    )
    assert value.tolist() == [0.0, 0.0, 0.0]
    assert not contracts.flat(out).any()


def test_what_is_proposed_and_whether_it_is_taken_are_drawn_apart():
    """Two labels of the same score are met equally often."""
    _, structure = random_graphs(np.random.default_rng(0), (1,), K=3, families=())
    potentials = problem()[0]._replace(node=np.log([[1.0, 0.5, 0.5]]), cliques=())
    met = np.zeros(3)
    for seed in range(20):
        _, out = contracts.evaluate(
            SampleRank(500, seed), potentials, np.zeros(1, np.int32), structure, np.ones(1)
        )
        met += out.node[0]
    # the larger by a quarter if one number decides on both
    assert met[1] == pytest.approx(met[2], rel=0.06)
