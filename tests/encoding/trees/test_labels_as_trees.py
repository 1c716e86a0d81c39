"""Labelled sequences as trees."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.encoding.trees import labels_as_trees

X = [["a", "b", "a"], ["c"], ["b", "b", "a", "c"], ["a", "c"]]
Y = [[0, 1, 0], [2], [1, 1, 0, 2], [1, 2]]
K = 3


@pytest.fixture(scope="module")
def data():
    return labels_as_trees.learn(X, np.concatenate(Y), K, 1, 1.0)


def test_trees_branch_to_the_right(data):
    trees = data.trees
    assert np.diff(trees.offsets).tolist() == [7, 3, 9, 5]
    for labels, lo, hi in zip(Y, trees.offsets[:-1], trees.offsets[1:]):
        node = hi - 1
        n = len(labels)
        assert trees.parent[node] == -1
        for t, label in enumerate(labels):
            assert (trees.symbol[node], trees.start[node], trees.stop[node]) == (
                K + 1 + label,
                t,
                n + 1,
            )
            left = trees.left[node]
            right = trees.right[node]
            assert trees.parent[left] == trees.parent[right] == node
            assert (trees.symbol[left], trees.left[left], trees.start[left], trees.stop[left]) == (
                label,
                -1,
                t,
                t + 1,
            )
            node = right
        assert (trees.symbol[node], trees.left[node], trees.start[node], trees.stop[node]) == (
            K,
            -1,
            n,
            n + 1,
        )
        assert np.all(trees.left[lo:hi] < np.arange(lo, hi))


def test_rules_and_leaves(data):
    rules, forest, leaf_symbol = data.treebank
    codes = data.codes
    pairs = {(a, b) for labels in Y for a, b in zip(labels, [*labels[1:], K])}
    assert {(a, b) for a in range(K) for b in range(K + 1) if codes.rule[a, b] >= 0} == pairs
    for (a, b), r in zip(*[[(a, b) for a, b in sorted(pairs)], range(len(pairs))]):
        assert codes.rule[a, b] == r
        assert (rules.left[r], rules.right[r], rules.parent[r]) == (
            a,
            K + 1 + b if b < K else K,
            K + 1 + a,
        )
    parent = np.repeat(np.arange(len(forest.symbol)), np.diff(forest.indptr))
    np.testing.assert_array_equal(rules.parent[forest.rule], forest.symbol[parent])
    np.testing.assert_array_equal(rules.left[forest.rule], forest.symbol[forest.left])
    np.testing.assert_array_equal(rules.right[forest.rule], forest.symbol[forest.right])
    is_leaf = forest.leaf >= 0
    np.testing.assert_array_equal(leaf_symbol[forest.leaf[is_leaf]], forest.symbol[is_leaf])


def test_sums_of_leaves(data):
    leaf = data.treebank.forest.leaf
    leaf = leaf[leaf >= 0]
    sums = data.sums(np.ones((len(leaf), 1)))[:, 0]
    assert sums[-1] == len(X)  # each sequence ends once
    assert len(sums) == len(data.treebank.leaf_symbol)


def test_all_labellings_of_a_sequence(data):
    codes = data.codes
    sentence = ["a", "c", "z"]
    entries = labels_as_trees.observe(codes, sentence)
    packed = labels_as_trees.forest(codes, entries)
    labels = [codes.lexicon.symbol[found].tolist() for found in entries]
    found = set()

    def walk(item):
        """Labellings of the rest of the sentence, from a node on."""
        for e in range(*packed.indptr[item : item + 2]):
            left = packed.left[e]
            right = packed.right[e]
            assert left < item
            assert right < item
            assert data.treebank.grammar.parent[packed.rule[e]] == packed.symbol[item]
            rests = walk(right) if packed.leaf[right] < 0 else [()]
            yield from ((int(packed.symbol[left]), *rest) for rest in rests)

    roots = np.flatnonzero((packed.start == 0) & (packed.stop == len(sentence) + 1))
    assert roots.tolist() == list(range(len(packed.symbol) - len(entries[0]), len(packed.symbol)))
    for root in roots:
        found |= set(walk(root))
    expected = {
        (a, b, c)
        for a in labels[0]
        for b in labels[1]
        for c in labels[2]
        if min(codes.rule[a, b], codes.rule[b, c], codes.rule[c, K]) >= 0
    }
    assert found == expected
    n = len(entries[0]) + len(entries[1]) + len(entries[2])
    np.testing.assert_array_equal(packed.symbol[:n], packed.symbol[:n:-1] - K - 1)


def test_a_sequence_of_its_own(data):
    codes = data.codes
    packed = labels_as_trees.forest(codes, labels_as_trees.observe(codes, []))
    assert packed.symbol.tolist() == [K]
    assert len(packed.rule) == 0
