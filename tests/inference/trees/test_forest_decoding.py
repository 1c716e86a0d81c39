"""The best tree of a packed forest, against enumeration."""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest

from sklearn_struct.inference.trees import chart_forest
from sklearn_struct.inference.trees.forest_decoding import argmax, argmax_states


def example(seed, n_tokens):
    rng = np.random.default_rng(seed)
    rules = naive_trees.random_grammar(rng, n_rules=14)
    scores = naive_trees.random_scores(rng, rules, n_tokens)
    scores.root[:] = 0.0
    return (
        rng,
        rules,
        scores,
        naive_trees.Forest(rules, scores),
        chart_forest.forest(rules, scores, 0.0)[0],
    )


@pytest.mark.parametrize("n_tokens", range(1, 7))
@pytest.mark.parametrize("seed", range(4))
def test_by_enumeration(seed, n_tokens):
    rng, _, _, naive, packed = example(seed, n_tokens)
    item = rng.normal(size=len(packed.symbol))
    edge = rng.normal(size=len(packed.rule))
    edge[rng.random(len(edge)) < 0.1] = -np.inf
    nodes, score = argmax(packed, item, edge)
    parent = np.repeat(np.arange(len(packed.symbol)), np.diff(packed.indptr))
    items = dict(zip(zip(packed.symbol, packed.start, packed.stop), item))
    keys = zip(packed.rule, packed.start[parent], packed.stop[packed.left], packed.stop[parent])
    edges = dict(zip(keys, edge))
    found = {}
    for tree in naive.trees:
        spans, rules = naive.parts(tree)
        total = sum(items[s] for s in spans) + sum(edges[e] for e in rules)
        key = tuple(sorted(spans))
        found[key] = max(found.get(key, -np.inf), total)
    if not found or max(found.values()) == -np.inf:
        assert (len(nodes.symbol), score) == (0, -np.inf)
        return
    assert score == pytest.approx(max(found.values()), abs=1e-10)
    spans = sorted(zip(nodes.symbol.tolist(), nodes.start.tolist(), nodes.stop.tolist()))
    assert found[tuple(spans)] == pytest.approx(score, abs=1e-10)


@pytest.mark.parametrize("n_tokens", range(1, 6))
@pytest.mark.parametrize("seed", range(4))
def test_states_by_enumeration(seed, n_tokens):
    rng, rules, scores, naive, packed = example(seed, n_tokens)
    tensors = naive_trees.random_tensors(rng, rules, len(scores.leaf))
    with np.errstate(divide="ignore"):
        logs = tensors._replace(
            rule=np.log(tensors.rule), leaf=np.log(tensors.leaf), root=np.log(tensors.root)
        )
    nodes, score = argmax_states(rules, logs, packed)
    best = [max(naive.state_scores(tensors, tree)) for tree in naive.trees]
    if not best:
        assert (len(nodes.symbol), score) == (0, -np.inf)
        return
    assert score == pytest.approx(max(best), abs=1e-10)
    spans = sorted(zip(nodes.symbol.tolist(), nodes.start.tolist(), nodes.stop.tolist()))
    assert any(
        sorted(naive.parts(tree)[0]) == spans
        for tree, x in zip(naive.trees, best)
        if x > score - 1e-9
    )


def test_empty_forest():
    _, rules, scores, _, _ = example(0, 3)
    packed, *_ = chart_forest.forest(rules, scores._replace(root=np.full(5, -np.inf)), 0.0)
    assert argmax(packed, np.zeros(0), np.zeros(0))[1] == -np.inf
    assert len(argmax(packed, np.zeros(0), np.zeros(0))[0].symbol) == 0
