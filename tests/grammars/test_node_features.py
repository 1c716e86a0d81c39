"""Feature functions against twins that walk through nested trees; the matrices they make; what they
may look at.
"""

from __future__ import annotations

import numpy as np
import pytest
from latent_trees import FINITE, RECURSIVE, Model

from sklearn_struct.grammars import node_features
from sklearn_struct.grammars.node_features import (
    INSIDE,
    OUTSIDE,
    first_leaf,
    indicators,
    joined,
    last_leaf,
    leaf_before,
    nodes,
    right_leaf,
    second_leaf_before,
)

pytestmark = pytest.mark.twins
FUNCTIONS = *INSIDE, *OUTSIDE, first_leaf, last_leaf, right_leaf, leaf_before, second_leaf_before
BINS = [0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 40]  # the largest number of each class


class Node:
    """A node of a tree that knows its neighbours."""

    def __init__(self, forest, p, parent=None):
        self.symbol, self.start, self.stop = (
            int(c[p]) for c in (forest.symbol, forest.start, forest.stop)
        )
        self.number = p
        self.parent = parent
        self.leaf = int(forest.leaf[p])
        self.rule = None
        self.children = []
        if self.leaf < 0:
            e = forest.indptr[p]
            self.leaf = None
            self.rule = int(forest.rule[e])
            self.children = [
                Node(forest, int(child[e]), self) for child in (forest.left, forest.right)
            ]

    @property
    def words(self):
        return (
            [self]
            if not self.children
            else [word for child in self.children for word in child.words]
        )

    @property
    def above(self):
        """The rules on the way to the root, and where one comes from: each a pair."""
        if self.parent is None:
            return []
        return [(self.parent.rule, self.parent.children.index(self)), *self.parent.above]

    @property
    def sentence(self):
        return self.words if self.parent is None else self.parent.sentence

    def everywhere(self):
        return [node for child in self.children for node in child.everywhere()] + [self]


def binned(n):
    return next((i for i, last in enumerate(BINS) if n <= last), len(BINS))


def word(node, i):
    """The word at place i of the sentence."""
    return node.sentence[i] if 0 <= i < len(node.sentence) else None


TWINS = {
    "rule": lambda n: n.rule,
    "leaf": lambda n: n.leaf,
    "left_symbol": lambda n: n.children[0].symbol if n.children else None,
    "right_symbol": lambda n: n.children[1].symbol if n.children else None,
    "left_rule": lambda n: (
        (n.rule, n.children[0].rule) if n.children and n.children[0].children else None
    ),
    "right_rule": lambda n: (
        (n.rule, n.children[1].rule) if n.children and n.children[1].children else None
    ),
    "first_symbol": lambda n: n.words[0].symbol,
    "last_symbol": lambda n: n.words[-1].symbol,
    "n_words": lambda n: binned(len(n.words)),
    "above": lambda n: n.above[0] if n.above else "root",
    "two_above": lambda n: ((*n.above, "root")[:2]) if n.above else None,
    "three_above": lambda n: ((*n.above, "root")[:3]) if len(n.above) > 1 else None,
    "parent_symbol": lambda n: n.parent.symbol if n.parent else None,
    "two_symbols_above": lambda n: (
        (n.parent.symbol, n.parent.parent.symbol) if len(n.above) > 1 else None
    ),
    "n_words_before": lambda n: binned(n.sentence.index(n.words[0])),
    "n_words_after": lambda n: binned(len(n.sentence) - 1 - n.sentence.index(n.words[-1])),
    "symbol_before": lambda n: getattr(word(n, n.start - 1), "symbol", None),
    "symbol_after": lambda n: getattr(word(n, n.stop), "symbol", None),
    "first_leaf": lambda n: n.words[0].leaf,
    "last_leaf": lambda n: n.words[-1].leaf,
    "right_leaf": lambda n: n.children[1].words[0].leaf if n.children else None,
    "leaf_before": lambda n: getattr(word(n, n.start - 1), "leaf", None),
    "second_leaf_before": lambda n: getattr(word(n, n.start - 2), "leaf", None),
    "leaf_after": lambda n: getattr(word(n, n.stop), "leaf", None),
}


@pytest.fixture(params=range(3))
def forest(request):
    return Model(request.param, RECURSIVE, growth=1.5).trees(60, max_length=50)


def walked(forest):
    return [
        node for root in forest.offsets[1:] - 1 for node in Node(forest, int(root)).everywhere()
    ]


def test_nodes(forest):
    found = nodes(forest)
    for p, node in enumerate(walked(forest)):
        assert node.number == p
        around = [
            node.parent,
            *(node.children or [None, None]),
            word(node, node.start - 1),
            word(node, node.stop),
        ]
        siblings = [
            child for child in (node.parent.children if node.parent else []) if child is not node
        ]
        around += [*(siblings or [None]), node.words[0], node.words[-1]]
        names = "parent", "left", "right", "before", "after", "sibling", "first", "last"
        assert [getattr(found, name)[p] for name in names] == [
            -1 if other is None else other.number for other in around
        ]
        assert (found.symbol[p], found.start[p], found.stop[p]) == (
            node.symbol,
            node.start,
            node.stop,
        )
        assert (found.rule[p], found.leaf[p]) == tuple(
            -1 if code is None else code for code in (node.rule, node.leaf)
        )
        assert found.length[p] == len(node.sentence)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_by_recursion(forest, function):
    """Codes tell apart what the twin tells apart, and are -1 where it sees nothing."""
    code = function(nodes(forest)).tolist()
    seen = [TWINS[function.__name__](node) for node in walked(forest)]
    assert [c < 0 for c in code] == [value is None for value in seen]
    pairs = {(c, value) for c, value in zip(code, seen) if c >= 0}
    assert len(pairs) == len({c for c, _ in pairs}) == len({value for _, value in pairs})
    assert len(pairs) > 1
    assert min(code) >= -1


@pytest.mark.parametrize("seed", range(3))
def test_inside_features_see_nothing_outside(seed):
    """A subtree is seen alike within its tree and alone."""
    model = Model(seed, FINITE)
    forest = model.forest(model.everything())
    whole = walked(forest)
    symbols = [s for s in whole if s.parent]
    rules = forest.rule
    leaves = forest.leaf
    for function in INSIDE:
        code = function(nodes(forest))
        below = {}
        for node in symbols:
            items = [other.number for other in node.everywhere()]
            key = tuple(
                (leaves[p], rules[forest.indptr[p]] if leaves[p] < 0 else -1) for p in items
            )
            assert below.setdefault(key, code[node.number]) == code[node.number]


@pytest.mark.parametrize("seed", range(3))
def test_outside_features_see_nothing_inside(seed):
    """A node is seen alike, whatever is put in its place; of the same number of words, as the
    sentence counts it.
    """
    model = Model(seed, FINITE)
    forest = model.forest(model.everything())
    for function in OUTSIDE:
        code = function(nodes(forest))
        around = {}
        for node in walked(forest):
            root = node
            while root.parent:
                root = root.parent
            inside = {other.number for other in node.everywhere()}
            kept = [
                other for other in root.everywhere() if other.number not in inside or other is node
            ]
            key = tuple(
                (other.symbol, -1 if other is node else other.rule, other is node) for other in kept
            )
            words = tuple("*" if other is node else other.leaf for other in kept)
            assert around.setdefault((key, words), code[node.number]) == code[node.number]


@pytest.mark.parametrize("pseudo_count", [None, 0.0, 5.0])
@pytest.mark.parametrize("functions", [INSIDE, OUTSIDE, OUTSIDE[:1], ()], ids=len)
def test_indicators(forest, functions, pseudo_count):
    """Each feature of each symbol has a column of its own; rare ones have larger values."""
    given = nodes(forest)
    n_symbols = 6  # two that never occur
    rows, bounds = indicators(given, functions, n_symbols, pseudo_count)
    codes = [function(given) for function in functions]
    keys = [
        [(s, f, int(code[p])) for f, code in enumerate(codes) if code[p] >= 0]
        for p, s in enumerate(forest.symbol)
    ]
    columns = {
        key: column for column, key in enumerate(sorted({key for row in keys for key in row}))
    }
    expected = np.zeros((len(keys), len(columns)))
    for row, found in zip(expected, keys):
        row[[columns[key] for key in found]] = 1.0
    if pseudo_count is not None:
        n_nodes = np.bincount(forest.symbol)[np.array([s for s, _, _ in columns], dtype=int)]
        expected *= np.sqrt(n_nodes / (expected.sum(axis=0) + pseudo_count))
    np.testing.assert_allclose(rows.toarray(), expected, rtol=1e-14)
    assert bounds.tolist() == [sum(key[0] < s for key in columns) for s in range(n_symbols + 1)]
    assert rows.indices.dtype == np.int32


def test_codes_may_be_any_integers(forest):
    """Large and small ones make the same columns."""
    given = nodes(forest)
    far = [
        lambda nodes, f=f: np.where(f(nodes) < 0, -1, f(nodes).astype(np.int64) * 10**9)
        for f in OUTSIDE
    ]
    found = indicators(given, far, 4)
    expected = indicators(given, OUTSIDE, 4)
    np.testing.assert_array_equal(found.rows.toarray(), expected.rows.toarray())
    np.testing.assert_array_equal(found.bounds, expected.bounds)


def test_joined():
    codes = np.array([0, 1, 1, -1, 2]), np.array([3, 0, 3, 2, -1]), np.array([1, 1, 0, 0, 0])
    found = joined(*codes)
    assert found[3:].tolist() == [-1, -1]
    assert len(set(found[:3].tolist())) == 3
    assert np.all(found[:3] >= 0)
    np.testing.assert_array_equal(joined(codes[0]), codes[0])


def test_all_functions_have_twins():
    assert {function.__name__ for function in FUNCTIONS} == set(TWINS)
    assert all(getattr(node_features, name).__doc__ for name in TWINS)
