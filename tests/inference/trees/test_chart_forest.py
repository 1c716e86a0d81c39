"""log Z and posteriors of all trees, against enumeration; extreme scores and long sentences."""

from __future__ import annotations

from math import lgamma

import naive_trees
import numpy as np
import pytest

from sklearn_struct.containers.trees import grammar
from sklearn_struct.inference.trees import chart_forest


def items_of(packed):
    return list(zip(packed.symbol.tolist(), packed.start.tolist(), packed.stop.tolist()))


def edges_of(packed):
    middle = packed.stop[packed.left]
    parent = np.repeat(np.arange(len(packed.symbol)), np.diff(packed.indptr))
    return list(
        zip(
            packed.rule.tolist(),
            packed.start[parent].tolist(),
            middle.tolist(),
            packed.stop[parent].tolist(),
        )
    )


@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("n_tokens", range(1, 7))
@pytest.mark.parametrize("seed", range(4))
def test_by_enumeration(seed, n_tokens, spread):
    rng = np.random.default_rng(seed)
    rules = naive_trees.random_grammar(rng)
    scores = naive_trees.random_scores(rng, rules, n_tokens, spread)
    naive = naive_trees.Forest(rules, scores)
    packed, item, edge, log_Z = chart_forest.forest(rules, scores, 0.0)
    assert chart_forest.log_partition(rules, scores) == pytest.approx(log_Z, rel=1e-14, abs=1e-12)
    assert log_Z == (pytest.approx(naive.log_Z, rel=1e-12, abs=1e-12) if naive.trees else -np.inf)
    items, edges = naive.posteriors()
    assert set(items_of(packed)) <= set(items)
    assert set(edges_of(packed)) <= set(edges)
    assert {key for key, p in items.items() if p > 1e-200} <= set(items_of(packed))
    assert {key for key, p in edges.items() if p > 1e-200} <= set(edges_of(packed))
    np.testing.assert_allclose(item, [items[key] for key in items_of(packed)], atol=1e-10)
    np.testing.assert_allclose(edge, [edges[key] for key in edges_of(packed)], atol=1e-10)


@pytest.mark.parametrize("threshold", [1e-6, 0.01, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(2))
def test_only_probable_edges_stay(seed, threshold):
    rng = np.random.default_rng(seed)
    rules = naive_trees.random_grammar(rng, n_rules=20)
    scores = naive_trees.random_scores(rng, rules, 5)
    _, edges = naive_trees.Forest(rules, scores).posteriors()
    packed, *_ = chart_forest.forest(rules, scores, threshold)
    parent = np.repeat(np.arange(len(packed.symbol)), np.diff(packed.indptr))
    assert np.all(np.diff(packed.indptr)[packed.leaf < 0] > 0)  # every item has a tree
    assert np.all(np.maximum(packed.left, packed.right) < parent)
    for edge, p in zip(edges_of(packed), parent):
        assert edges[edge] >= 0.99 * threshold or np.diff(packed.indptr)[p] == 1
    if threshold < 1e-3:
        assert {key for key, p in edges.items() if p >= 2 * threshold} <= set(edges_of(packed))


@pytest.mark.parametrize("seed", range(8))
def test_leaves_further_apart_than_floats(seed):
    rng = np.random.default_rng(seed)
    rules = naive_trees.random_grammar(rng, n_rules=20)
    scores = naive_trees.random_scores(rng, rules, 6)
    scores.leaf[:] *= 350
    _, item, edge, log_Z = chart_forest.forest(rules, scores, 0.0)
    assert log_Z < np.inf
    for found in (item, edge):
        assert np.all((found > 0) & (found < 1 + 1e-9))


def test_a_root_without_mass():
    """Its word and its place at the root are improbable, and together beyond all numbers."""
    rules = naive_trees.random_grammar(np.random.default_rng(0), n_symbols=3)
    never = -np.inf
    scores = naive_trees.scores(
        np.zeros(12), np.array([-600.0, 0.0, never]), np.array([[-600.0, 0.0, never]])
    )
    packed, item, edge, log_Z = chart_forest.forest(rules, scores, 0.0)
    assert packed.symbol.tolist() == [1]
    assert packed.indptr.tolist() == [0, 0]
    assert packed.offsets.tolist() == [0, 1]
    assert (item.tolist(), edge.tolist(), log_Z) == ([1.0], [], 0.0)


def catalan(n):
    """log of the number of binary trees of n + 1 leaves."""
    return lgamma(2 * n + 1) - lgamma(n + 2) - lgamma(n + 1)


@pytest.mark.parametrize("score", [0.0, -50.0, 300.0])
def test_long_sentences(score):
    """One symbol: each tree has n - 1 rules, and there are Catalan many; far beyond what a float
    can hold.
    """
    one = grammar(np.zeros(1), np.zeros(1), np.zeros(1), 1)
    n = 120
    scores = naive_trees.scores([score], [0.0], np.full((n, 1), -score))
    assert chart_forest.log_partition(one, scores) == pytest.approx(
        catalan(n - 1) + score * (n - 1) - score * n, rel=1e-12
    )
    packed, *_ = chart_forest.forest(one, scores, 0.0)
    assert len(packed.rule) == (n**3 - n) // 6  # all splits of all spans
    assert len(packed.symbol) == n * (n + 1) // 2


def test_rooms_for_items_and_edges_grow():
    """More items a cell than the first room has."""
    rng = np.random.default_rng(3)
    n_symbols = 60
    n = 8
    left, right = (
        table.ravel()
        for table in np.meshgrid(np.arange(n_symbols), np.arange(n_symbols), indexing="ij")
    )
    rules = grammar(left, right, rng.integers(n_symbols, size=len(left)), n_symbols)
    scores = naive_trees.scores(np.zeros(len(left)), np.zeros(n_symbols), np.zeros((n, n_symbols)))
    packed, _, _, log_Z = chart_forest.forest(rules, scores, 0.0)
    assert log_Z == pytest.approx(catalan(n - 1) + n * np.log(n_symbols), rel=1e-12)
    assert len(packed.rule) == (n**3 - n) // 6 * n_symbols**2


def test_empty_sentence():
    rules = naive_trees.random_grammar(np.random.default_rng(0))
    scores = naive_trees.scores(np.zeros(12), np.zeros(5), np.zeros((0, 5)))
    packed, _, _, log_Z = chart_forest.forest(rules, scores, 0.0)
    assert (len(packed.symbol), log_Z, chart_forest.log_partition(rules, scores)) == (
        0,
        -np.inf,
        -np.inf,
    )


def test_inputs_stay():
    rng = np.random.default_rng(0)
    rules = naive_trees.random_grammar(rng)
    scores = naive_trees.random_scores(rng, rules, 5)
    before = [np.array(table) for table in (*rules, *scores)]
    chart_forest.forest(rules, scores, 1e-3)
    for table, kept in zip((*rules, *scores), before):
        np.testing.assert_array_equal(table, kept)
