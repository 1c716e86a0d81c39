"""Packed trees with known brackets, against the trees one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sklearn_struct.containers.trees import Forest, examples
from sklearn_struct.grammars.partial_forests import joined, with_brackets

N = 5
N_SYMBOLS = 2


def every_tree():
    """All binary trees over N tokens whose nodes have one of two symbols, packed; leaves, too."""
    spans = sorted(
        ((i, j) for i in range(N) for j in range(i + 1, N + 1)), key=lambda s: s[1] - s[0]
    )
    items = [(i, j, a) for i, j in spans for a in range(N_SYMBOLS)]
    number = {item: p for p, item in enumerate(items)}
    edges = [
        [
            (number[i, k, b], number[k, j, c], rule)
            for k in range(i + 1, j)
            for rule, (b, c) in enumerate(product(range(N_SYMBOLS), repeat=2))
        ]
        for i, j, _ in items
    ]
    left, right, rule = np.array([edge for below in edges for edge in below], np.int32).T
    start, stop, symbol = np.array(items, np.int32).T
    leaf = np.where(stop == start + 1, start * N_SYMBOLS + symbol, -1).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(below) for below in edges])]).astype(np.int64)
    offsets = np.array([0, len(items)], np.int64)
    return Forest(offsets, symbol, start, stop, leaf, indptr, left, right, rule)


def trees(forest):
    """Each tree as the set of its nodes (start, stop, symbol)."""
    below = []
    for p in range(len(forest.symbol)):
        node = frozenset([(int(forest.start[p]), int(forest.stop[p]), int(forest.symbol[p]))])
        edges = range(forest.indptr[p], forest.indptr[p + 1])
        below.append(
            [
                node | one | other
                for e in edges
                for one in below[forest.left[e]]
                for other in below[forest.right[e]]
            ]
            if forest.leaf[p] < 0
            else [node]
        )
    return {
        tree
        for p in range(len(below))
        if forest.stop[p] - forest.start[p] == N
        for tree in below[p]
    }


@pytest.mark.parametrize(
    "known",
    [
        {},
        {(0, 5): [1]},
        {(1, 3): [0, 1]},
        {(1, 4): [0], (1, 2): [1]},
        {(0, 2): [0, 1], (2, 5): [1], (3, 5): [0]},
    ],
    ids=str,
)
def test_exactly_the_trees_with_the_brackets_are_left(known):
    forest = every_tree()
    masks = [(*span, np.isin(range(N_SYMBOLS), symbols)) for span, symbols in known.items()]
    kept = with_brackets(forest, masks)
    expected = {
        tree
        for tree in trees(forest)
        if all(any((*span, a) in tree for a in symbols) for span, symbols in known.items())
    }
    assert trees(kept) == expected
    assert expected
    # and nothing that is in none of them
    used = {node for tree in expected for node in tree}
    assert len(kept.symbol) == len(used)
    assert kept.leaf.max() < N * N_SYMBOLS


@pytest.mark.parametrize("known", [[(0, 2), (1, 3)], [(0, 5), (1, 4), (3, 5)]])
def test_brackets_that_cross_leave_nothing(known):
    kept = with_brackets(every_tree(), [(*span, np.ones(N_SYMBOLS, bool)) for span in known])
    assert len(kept.symbol) == len(kept.rule) == 0
    assert kept.offsets.tolist() == [0, 0]


def test_joined_forests_are_their_examples():
    forests = [
        with_brackets(every_tree(), [(*span, np.ones(N_SYMBOLS, bool))])
        for span in [(0, 3), (2, 4), (1, 5)]
    ]
    both = joined([forests[0], joined(forests[1:])])
    for i, forest in enumerate(forests):
        for name, column in examples(both, i, i + 1)._asdict().items():
            np.testing.assert_array_equal(column, getattr(forest, name))
