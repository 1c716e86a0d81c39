"""Trees under a grammar with weights of pieces, against all trees of small grammars."""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest
from naive_grammars import nodes, packed

from sklearn_struct.containers.trees import TreeScores
from sklearn_struct.grammars.fragment_parsing import (
    WeightedTrees,
    best,
    log_probability,
    log_scores,
    parses,
)
from sklearn_struct.grammars.fragments import Places, observed, scores
from sklearn_struct.grammars.parsing import Candidates, Plain, TreeModel

TEMPLATES = "rule-rule", "rule-word", "sibling-symbol", "word"
N_LEAVES = 12


class Example:
    """A random grammar, random weights of all pieces that the trees of a sentence have, and the
    score of each.
    """

    def __init__(self, seed, n_tokens):
        rng = np.random.default_rng(seed)
        rules = naive_trees.random_grammar(rng, n_rules=14)
        symbol = rng.integers(5, size=N_LEAVES).astype(np.int32)
        plain = Plain(rng.normal(size=14) - 2, rng.normal(size=5), rng.normal(size=N_LEAVES))
        self.model = TreeModel(rules, symbol, plain)
        different = np.unique(symbol, return_index=True)[1]
        chosen = [np.sort(rng.permutation(different)[:3]) for _ in range(n_tokens)]
        leaf = np.concatenate([np.empty(0, int), *chosen]).astype(int)
        self.candidates = Candidates(np.cumsum([0, *map(len, chosen)]), leaf)
        of_leaves = TreeScores(
            plain.rule, plain.root, self.candidates.indptr, symbol[leaf], plain.leaf[leaf]
        )
        self.naive = naive_trees.Forest(rules, of_leaves)
        self.trees = [self.numbered(tree) for tree in self.naive.trees]
        places = np.array([place for tree in self.trees for place in nodes(tree)], int).reshape(
            -1, 3
        )
        fragments = observed(TEMPLATES, self.model, Places(*places.T))
        w = rng.normal(size=fragments.size)
        self.weighted = WeightedTrees(self.model, fragments, w, of_tree=0.3, of_node=-0.2)
        self.total = self.naive.total.astype(float) + [self.weight(tree) for tree in self.trees]

    def numbered(self, tree):
        """A tree as productions."""
        if len(tree) == 2:
            return (14 + int(self.candidates.leaf[self.naive.leaf[tree[0]][tree[1]]]),)
        return tree[0], self.numbered(tree[1]), self.numbered(tree[2])

    def weight(self, tree):
        places = Places(*np.array(list(nodes(tree))).T)
        found = scores(self.weighted.fragments, self.model, places, self.weighted.w)
        return found.sum() + 0.3 - 0.2 * len(found)


every = pytest.mark.parametrize(
    ("seed", "n_tokens"), [(seed, n) for seed in range(3) for n in range(6)]
)


@every
def test_probabilities(seed, n_tokens):
    example = Example(seed, n_tokens)
    log_Z = np.logaddexp.reduce(example.total, initial=-np.inf)
    assert log_probability(example.weighted, example.candidates, 0.0) == pytest.approx(
        log_Z, abs=1e-10
    )
    found = parses(example.weighted, example.candidates, 0.0)
    assert found.sign.tolist() == [float(log_Z > -np.inf)]
    expected = {}
    for tree, x in zip(example.naive.trees, example.total):
        for item in example.naive.parts(tree)[0]:
            expected[item] = expected.get(item, 0.0) + np.exp(x - log_Z)
    items = zip(
        found.forest.symbol.tolist(), found.forest.start.tolist(), found.forest.stop.tolist()
    )
    np.testing.assert_allclose(found.item[0], [expected.pop(item) for item in items], atol=1e-10)
    assert not expected


@pytest.mark.parametrize(
    ("seed", "n_tokens"), [(seed, n) for seed in range(3) for n in range(1, 6)]
)
def test_scores_of_trees(seed, n_tokens):
    example = Example(seed, n_tokens)
    forest = packed(example.model, example.trees)
    np.testing.assert_allclose(log_scores(example.weighted, forest), example.total, atol=1e-10)
    forest.leaf[np.flatnonzero(forest.leaf >= 0)[0]] = -1
    found = log_scores(example.weighted, forest)
    assert found[0] == -np.inf
    np.testing.assert_allclose(found[1:], example.total[1:], atol=1e-10)


@every
def test_decoders(seed, n_tokens):
    """The best tree, and the one with the most expected spans."""
    example = Example(seed, n_tokens)
    for decoder in ("viterbi", "max-recall", "max-rule"):
        nodes = best(example.weighted, example.candidates, decoder, 0.0)
        spans = sorted(zip(nodes.symbol.tolist(), nodes.start.tolist(), nodes.stop.tolist()))
        parts = [sorted(example.naive.parts(tree)[0]) for tree in example.naive.trees]
        assert (spans in parts) == bool(parts)
        if decoder == "viterbi" and parts:
            assert spans == parts[int(np.argmax(example.total))]
        if decoder == "max-recall" and parts:
            p = np.exp(example.total - example.total.max())
            overlap = [
                sum(q * len(set(spans) & set(other)) for q, other in zip(p, parts))
                for spans in parts
            ]
            assert overlap[parts.index(spans)] == pytest.approx(max(overlap), rel=1e-10)


def test_what_the_grammar_makes_improbable_is_left_out():
    example = next(
        found for found in (Example(seed, 5) for seed in range(50)) if len(found.trees) > 20
    )
    exact = log_probability(example.weighted, example.candidates, 0.0)
    assert log_probability(example.weighted, example.candidates, 0.2) < exact - 0.01
    few, every = (
        parses(example.weighted, example.candidates, threshold).forest for threshold in (0.2, 0.0)
    )
    assert 0 < len(few.rule) < len(every.rule)
