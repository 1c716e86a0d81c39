"""The best tree, against enumeration."""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest

from sklearn_struct.containers.trees import grammar
from sklearn_struct.inference.trees.chart_decoding import argmax


def score_of(rules, scores, nodes):
    """The sum of a tree's scores, the best of rules that are the same."""
    total = scores.root[nodes.symbol[-1]]
    for symbol, left, right, start, stop in zip(*nodes):
        if left < 0:
            assert stop == start + 1
            of_token = slice(*scores.leaf_indptr[start : start + 2])
            total += scores.leaf[of_token][scores.leaf_symbol[of_token] == symbol].item()
            continue
        assert (nodes.start[left], nodes.stop[left], nodes.stop[right]) == (
            start,
            nodes.start[right],
            stop,
        )
        of_left = slice(*rules.indptr[nodes.symbol[left] : nodes.symbol[left] + 2])
        same = (rules.right[of_left] == nodes.symbol[right]) & (rules.parent[of_left] == symbol)
        total += scores.rule[of_left][same].max()
    return total


@pytest.mark.parametrize("n_tokens", range(1, 7))
@pytest.mark.parametrize("seed", range(6))
def test_by_enumeration(seed, n_tokens):
    rng = np.random.default_rng(seed)
    rules = naive_trees.random_grammar(rng)
    scores = naive_trees.random_scores(rng, rules, n_tokens)
    forest = naive_trees.Forest(rules, scores)
    nodes, score = argmax(rules, scores)
    if not forest.trees:
        assert score == -np.inf
        assert len(nodes.symbol) == 0
        return
    assert score == pytest.approx(float(forest.total.max()), abs=1e-10)
    assert score_of(rules, scores, nodes) == pytest.approx(score, abs=1e-10)
    assert len(nodes.symbol) == 2 * n_tokens - 1
    assert np.all(np.maximum(nodes.left, nodes.right) < np.arange(len(nodes.symbol)))


@pytest.mark.parametrize("side", ["left", "right"])
def test_deep_trees(side):
    """A chain of symbols that only branches to one side; no recursion."""
    left, right = (0, 1) if side == "left" else (1, 0)
    n = 150
    leaf = np.full((n, 2), -np.inf)
    leaf[:, 1] = 0.0
    leaf[0 if side == "left" else -1] = [0.0, -np.inf]
    scores = naive_trees.scores([-1.0], [0.0, -np.inf], leaf)
    nodes, score = argmax(grammar(*np.array([[left], [right], [0]]), 2), scores)
    assert score == 1 - n
    assert np.sum(nodes.left >= 0) == n - 1


def test_empty_sentence():
    one = grammar(np.zeros(1), np.zeros(1), np.zeros(1), 1)
    nodes, score = argmax(one, naive_trees.scores([0.0], [0.0], np.zeros((0, 1))))
    assert (len(nodes.symbol), score) == (0, -np.inf)
