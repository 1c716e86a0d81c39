"""log Z and expected counts of all trees, against enumeration; extreme scores and long sentences."""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest

from sklearn_struct.inference import chart
from sklearn_struct.inference.chart import Grammar, TreeScores


def marginals(grammar, scores, offsets, weight=None):
    n = len(offsets) - 1
    out, log_Z = TreeScores(*(np.zeros_like(table) for table in scores)), np.full(n, np.nan)
    chart.marginals(grammar, scores, np.array(offsets), np.ones(n) if weight is None else weight, out, log_Z)
    return out, log_Z


@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("n_tokens", range(1, 7))
@pytest.mark.parametrize("seed", range(4))
def test_by_enumeration(seed, n_tokens, spread):
    rng = np.random.default_rng(seed)
    grammar = naive_trees.random_grammar(rng)
    scores = naive_trees.random_scores(rng, grammar, n_tokens, spread)
    forest = naive_trees.Forest(grammar, scores)
    out, log_Z = marginals(grammar, scores, [0, n_tokens])
    if forest.trees:
        assert log_Z[0] == pytest.approx(forest.log_Z, rel=1e-12, abs=1e-12)
    else:
        assert log_Z[0] == -np.inf
    for found, expected in zip(out, forest.counts()):
        np.testing.assert_allclose(found, expected.astype(float), atol=1e-10)


def test_sentences_do_not_see_each_other_and_weights_scale():
    rng = np.random.default_rng(1)
    grammar = naive_trees.random_grammar(rng, n_rules=20)
    scores = naive_trees.random_scores(rng, grammar, 9)
    scores.root[:] = 0.0
    offsets, weight = [0, 4, 4, 5, 9], np.array([2.0, 1.0, 0.0, -1.0])
    out, log_Z = marginals(grammar, scores, offsets, weight)
    assert log_Z[1] == -np.inf  # an empty sentence has no tree
    assert log_Z[2] == 0.0
    total = np.zeros(len(scores.rule))
    for i in (0, 3):
        part = scores._replace(leaf=scores.leaf[offsets[i] : offsets[i + 1]])
        alone, alone_Z = marginals(grammar, part, [0, len(part.leaf)])
        assert alone_Z[0] == log_Z[i]
        np.testing.assert_allclose(out.leaf[offsets[i] : offsets[i + 1]], weight[i] * alone.leaf, atol=1e-12)
        total += weight[i] * alone.rule
    np.testing.assert_allclose(out.rule, total, atol=1e-12)


def catalan(n):
    """log of the number of binary trees of n + 1 leaves."""
    from math import lgamma

    return lgamma(2 * n + 1) - lgamma(n + 2) - lgamma(n + 1)


@pytest.mark.parametrize("score", [0.0, -50.0, 300.0])
def test_long_sentences(score):
    """One symbol: each tree has n - 1 rules, and there are Catalan many; far beyond what a float can hold."""
    grammar = Grammar(np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1, np.int32))
    n = 120
    scores = TreeScores(np.array([score]), np.full((n, 1), -score), np.zeros(1))
    out, log_Z = marginals(grammar, scores, [0, n])
    assert log_Z[0] == pytest.approx(catalan(n - 1) + score * (n - 1) - score * n, rel=1e-12)
    assert out.rule[0] == pytest.approx(n - 1, rel=1e-10)
    np.testing.assert_allclose(out.leaf, 1.0, rtol=1e-10)


def test_rooms_for_items_grow():
    """More items a cell than the first room has."""
    rng = np.random.default_rng(3)
    n_symbols = 60
    left, right = (table.ravel() for table in np.meshgrid(np.arange(n_symbols), np.arange(n_symbols), indexing="ij"))
    grammar = Grammar(
        np.arange(0, n_symbols**2 + 1, n_symbols, dtype=np.int64),
        right.astype(np.int32),
        rng.integers(n_symbols, size=len(left)).astype(np.int32),
    )
    n = 8
    scores = TreeScores(np.zeros(len(left)), np.zeros((n, n_symbols)), np.zeros(n_symbols))
    out, log_Z = marginals(grammar, scores, [0, n])
    assert log_Z[0] == pytest.approx(catalan(n - 1) + n * np.log(n_symbols), rel=1e-12)
    assert out.rule.sum() == pytest.approx(n - 1)


def test_inputs_stay():
    rng = np.random.default_rng(0)
    grammar = naive_trees.random_grammar(rng)
    scores = naive_trees.random_scores(rng, grammar, 5)
    before = [np.array(table) for table in (*grammar, *scores)]
    for table in (*grammar, *scores):
        table.flags.writeable = False
    marginals(grammar, scores, [0, 5])
    for table, kept in zip((*grammar, *scores), before):
        np.testing.assert_array_equal(table, kept)
