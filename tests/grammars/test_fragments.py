"""Features of trees: their counts against a twin that walks, their expectations against enumeration
and draws.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from naive_grammars import drawn, every_tree, model, nodes, packed, random_model

from sklearn_struct.grammars.fragments import (
    TEMPLATES,
    Fragments,
    counted,
    distinct,
    expected,
    observed,
    places,
    scores,
)
from sklearn_struct.grammars.sums_over_trees import production_symbols, tree_sums


def shown(template, given, place):
    """What a template shows of a place, None for nothing."""
    above, side, production = place
    kind = template.split("-")[-1]
    is_rule = production < len(given.plain.rule)
    if kind != "symbol" and is_rule != (kind == "rule"):
        return None
    lower = production_symbols(given)[production] if kind == "symbol" else production
    if "-" not in template:
        return lower
    upper = None
    if side != 2:
        rules = given.grammar
        beside = (rules.right, rules.left)[side][above]
        upper = {"parent": rules.parent[above], "sibling": beside, "rule": above}[
            template.split("-")[0]
        ]
    return upper, side, lower


def table(given, trees):
    """How often each tree has each (template, feature): rows by feature."""
    found = {}
    for i, tree in enumerate(trees):
        for place in nodes(tree):
            for template in TEMPLATES:
                key = template, shown(template, given, place)
                if key[1] is not None:
                    found.setdefault(key, np.zeros(len(trees)))[i] += 1
    return found


class Known:
    """All features of some trees, with the column of each."""

    def __init__(self, given, trees, min_frequency=1):
        self.given = given
        self.trees = trees
        forest = packed(given, trees)
        self.seen = places(forest, len(given.plain.rule))
        self.owner = np.repeat(np.arange(len(trees)), np.diff(forest.offsets))
        self.fragments = observed(TEMPLATES, given, self.seen, min_frequency)
        self.counts = counted(self.fragments, given, self.seen, self.owner, len(trees))
        self.columns = {}
        for place in sorted({place for tree in trees for place in nodes(tree)}):
            for template in TEMPLATES:
                key = template, shown(template, given, place)
                one = Fragments((template,), (self.fragments.codes[TEMPLATES.index(template)],))
                row = counted(
                    one, given, type(self.seen)(*np.array(place)[:, None]), np.zeros(1, int), 1
                )
                first = sum(map(len, self.fragments.codes[: TEMPLATES.index(template)]))
                if row.nnz:
                    assert (
                        self.columns.setdefault(key, first + row.indices[0])
                        == first + row.indices[0]
                    )


@pytest.mark.parametrize("min_frequency", [1, 3])
def test_counts(min_frequency):
    given = random_model(np.random.default_rng(1), 4)
    known = Known(given, [tree for tree, _ in every_tree(given)][::7], min_frequency)
    found = {
        key: row for key, row in table(given, known.trees).items() if row.sum() >= min_frequency
    }
    assert known.columns.keys() == found.keys()
    assert sorted(known.columns.values()) == list(range(known.fragments.size))
    for key, row in found.items():
        np.testing.assert_array_equal(known.counts[:, [known.columns[key]]].toarray()[:, 0], row)


@pytest.mark.parametrize("seed", range(3))
def test_expectations_by_enumeration(seed):
    given = random_model(np.random.default_rng(seed), 4)
    trees, p = zip(*every_tree(given), strict=True)
    known = Known(given, trees)
    found = expected(known.fragments, given, tree_sums(given))
    assert known.fragments.size > 100
    np.testing.assert_allclose(found, known.counts.T @ np.array(p), rtol=1e-10)


@pytest.mark.parametrize(
    ("tight", "rules", "words"),
    [
        (True, [0.2, 0.2, 0.2, 0.1], [(0, 0.35), (0, 0.25), (1, 0.7)]),
        (False, [0.45, 0.2, 0.3, 0.2], [(0, 0.2), (0, 0.15), (1, 0.5)]),
    ],
)
def test_expectations_by_sampling(tight, rules, words):
    """Trees of any size; where some never end, these count nothing."""
    rng = np.random.default_rng(0)
    given = model(
        dict(zip([(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)], rules)), words, {0: 0.6, 1: 0.4}
    )
    n = 4000
    trees = [tree for tree in (drawn(given, rng, 300) for _ in range(n)) if tree is not None]
    assert (len(trees) == n) == tight
    known = Known(given, trees)
    sums = tree_sums(given)
    assert abs(len(trees) / n - np.exp(given.plain.root) @ sums.inside) < 3 * 0.5 / np.sqrt(n)
    exact = expected(known.fragments, given, sums)
    mean = known.counts.sum(axis=0) / n
    square = known.counts.power(2).sum(axis=0) / n
    error = np.sqrt((square - mean**2 + exact) / n)
    assert np.all(np.abs(mean - exact) <= 4 * error)
    assert error.max() < 0.1


def test_a_tree_that_need_not_end():
    """S -> S S with probability 0.7: i = 3/7, o = 5/2."""
    given = model({(0, 0, 0): 0.7}, [(0, 0.3)], {0: 1.0})
    tree = (0, (0, (1,), (1,)), (1,))
    known = Known(given, [tree])
    found = expected(known.fragments, given, tree_sums(given))
    i = 3 / 7
    o = 5 / 2
    for key, value in {
        ("rule-rule", (0, 0, 0)): o * 0.7 * i * 0.7 * i * i,
        ("rule-word", (0, 1, 1)): o * 0.7 * i * 0.3,
        ("rule-rule", (None, 2, 0)): 0.7 * i * i,
        ("sibling-symbol", (0, 0, 0)): o * 0.7 * i * i,
        ("symbol", 0): o * i,
    }.items():
        assert found[known.columns[key]] == pytest.approx(value, rel=1e-10)


def test_scores_and_distinct_places():
    given = random_model(np.random.default_rng(2), 4)
    known = Known(given, [tree for tree, _ in every_tree(given)][::5])
    w = np.random.default_rng(0).normal(size=known.fragments.size)
    found = scores(known.fragments, given, known.seen, w)
    np.testing.assert_allclose(np.bincount(known.owner, found), known.counts @ w, atol=1e-10)
    different, n = distinct(known.seen)
    every = Counter(place for tree in known.trees for place in nodes(tree))
    assert dict(zip(zip(*(column.tolist() for column in different)), n.tolist())) == every


def test_without_rules():
    """Trees of one word."""
    given = model({}, [(0, 0.5), (1, 1.0), (0, 0.5)], {0: 0.5, 1: 0.5})
    known = Known(given, [(0,), (1,), (2,)])
    found = expected(known.fragments, given, tree_sums(given))
    np.testing.assert_allclose(found, known.counts.T @ np.array([0.25, 0.5, 0.25]))
