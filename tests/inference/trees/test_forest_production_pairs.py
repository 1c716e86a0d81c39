"""Scores of pairs of productions in packed forests, against enumeration."""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest

from sklearn_struct.inference.trees import chart_forest
from sklearn_struct.inference.trees.forest_decoding import argmax as argmax_alone
from sklearn_struct.inference.trees.forest_production_pairs import argmax, pairs, posteriors


class Example:
    """A random forest with random scores, and the score of each of its trees."""

    def __init__(self, seed, n_tokens, forbidden=0.1):
        self.rng = rng = np.random.default_rng(seed)
        rules = naive_trees.random_grammar(rng, n_rules=14)
        scores = naive_trees.random_scores(rng, rules, n_tokens)
        scores.root[:] = 0.0
        self.naive = naive_trees.Forest(rules, scores)
        self.forest = forest = chart_forest.forest(rules, scores, 0.0)[0]
        self.pairs = pairs(forest)
        n_edges = len(forest.rule)
        self.own, self.pair = (
            rng.normal(size=n) for n in (n_edges + len(forest.symbol), len(self.pairs.above))
        )
        self.pair[rng.random(len(self.pair)) < forbidden] = -np.inf
        parent = np.repeat(np.arange(len(forest.symbol)), np.diff(forest.indptr))
        self.items = list(zip(forest.symbol.tolist(), forest.start.tolist(), forest.stop.tolist()))
        middle = forest.stop[forest.left].tolist()
        self.edges = [
            (rule, self.items[p][1], k, self.items[p][2])
            for rule, p, k in zip(forest.rule.tolist(), parent, middle)
        ]
        names = self.edges + self.items
        self.of_production = dict(zip(names, self.own))
        above, below = (
            [names[q] for q in column] for column in (self.pairs.above, self.pairs.below)
        )
        self.of_pair = dict(zip(zip(above, self.pairs.side.tolist(), below), self.pair))
        self.trees = self.naive.trees
        self.total = np.array([self.score(tree)[0] for tree in self.trees])

    def score(self, tree, i=0):
        """Score, production and item of the tree's top; the words begin at i."""
        if len(tree) == 2:
            item = (tree[1], i, i + 1)
            return self.of_production[item], item, item
        left, upper_left, (_, _, k) = self.score(tree[1], i)
        right, upper_right, (_, _, j) = self.score(tree[2], k)
        edge = (tree[0], i, k, j)
        item = (self.naive.symbol(tree), i, j)
        total = self.of_production[edge] + left + right
        total += self.of_pair[edge, 0, upper_left] + self.of_pair[edge, 1, upper_right]
        return total, edge, item

    @property
    def arguments(self):
        return self.forest, self.pairs.start, self.own, self.pair


every = pytest.mark.parametrize(
    ("seed", "n_tokens"), [(seed, n) for seed in range(4) for n in range(1, 7)]
)


@every
def test_best_by_enumeration(seed, n_tokens):
    example = Example(seed, n_tokens)
    nodes, score = argmax(*example.arguments)
    best = max(example.total, default=-np.inf)
    if best == -np.inf:
        assert (len(nodes.symbol), score) == (0, -np.inf)
        return
    assert score == pytest.approx(best, abs=1e-10)
    spans = sorted(zip(nodes.symbol.tolist(), nodes.start.tolist(), nodes.stop.tolist()))
    reached = [
        x
        for tree, x in zip(example.trees, example.total)
        if sorted(example.naive.parts(tree)[0]) == spans
    ]
    assert max(reached) == pytest.approx(score, abs=1e-10)


@every
def test_posteriors_by_enumeration(seed, n_tokens):
    example = Example(seed, n_tokens)
    of_items, of_edges, found = posteriors(*example.arguments)
    log_Z = np.logaddexp.reduce(example.total, initial=-np.inf)
    assert found == pytest.approx(log_Z, abs=1e-10)
    expected = {}
    for tree, x in zip(example.trees, example.total):
        for parts in example.naive.parts(tree) if log_Z > -np.inf else ():
            for part in parts:
                expected[part] = expected.get(part, 0.0) + np.exp(x - log_Z)
    np.testing.assert_allclose(
        of_items, [expected.get(item, 0.0) for item in example.items], atol=1e-12
    )
    np.testing.assert_allclose(
        of_edges, [expected.get(edge, 0.0) for edge in example.edges], atol=1e-12
    )


@pytest.mark.parametrize("seed", range(5))
def test_without_scores_of_pairs(seed):
    """The best tree is that of items and edges alone."""
    example = Example(seed, 6)
    nodes, score = argmax(*example.arguments[:3], np.zeros(len(example.pair)))
    edge, item = np.split(example.own, [len(example.edges)])
    expected, best = argmax_alone(
        example.forest, np.where(example.forest.leaf >= 0, item, 0.0), edge
    )
    assert score == pytest.approx(best, abs=1e-12)
    for column, other in zip(nodes, expected):
        np.testing.assert_array_equal(column, other)


def test_scores_of_any_size():
    example = Example(1, 6, forbidden=0.0)
    forest, start, own, pair = example.arguments
    plain, _, log_Z = posteriors(forest, start, own, pair)
    far, _, far_log_Z = posteriors(forest, start, own - 1e4, pair + 500)
    np.testing.assert_allclose(far, plain, atol=1e-9)
    assert far_log_Z == pytest.approx(log_Z - 11 * 1e4 + 10 * 500, rel=1e-12)


def test_empty_forest():
    example = Example(0, 3)
    rules = example.naive.grammar
    empty, *_ = chart_forest.forest(
        rules, example.naive.scores._replace(root=np.full(5, -np.inf)), 0.0
    )
    nothing = np.zeros(0)
    assert len(pairs(empty).above) == 0
    nodes, score = argmax(empty, pairs(empty).start, nothing, nothing)
    assert (len(nodes.symbol), score) == (0, -np.inf)
    assert posteriors(empty, pairs(empty).start, nothing, nothing)[2] == -np.inf
