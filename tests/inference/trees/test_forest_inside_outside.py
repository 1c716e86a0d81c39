"""Inside and outside vectors of packed trees, against enumeration; moments of rules."""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest

from sklearn_struct.containers.trees import Forest
from sklearn_struct.inference.trees import chart_forest
from sklearn_struct.inference.trees.forest_inside_outside import (
    Vectors,
    add_moments,
    inside,
    outside,
    vectors,
)


def run(rules, tensors, packed):
    """Inside and outside vectors, log |Z|, its sign, and posteriors of edges."""
    inner = vectors(packed, tensors.n_states)
    outer = Vectors(inner.start, np.zeros_like(inner.row), inner.scale)
    n = len(packed.offsets) - 1
    log_Z = np.full(n, np.nan)
    sign = np.full(n, np.nan)
    edge = np.zeros(len(packed.rule))
    inside(rules, tensors, packed, inner)
    outside(rules, tensors, packed, inner, outer, log_Z, sign, edge)
    return inner, outer, log_Z, sign, edge


def example(seed, n_tokens, most=3, signed=False):
    rng = np.random.default_rng(seed)
    rules = naive_trees.random_grammar(rng, n_rules=14)
    scores = naive_trees.random_scores(rng, rules, n_tokens)
    scores.root[:] = 0.0
    naive = naive_trees.Forest(rules, scores)
    tensors = naive_trees.random_tensors(rng, rules, len(scores.leaf), most, signed)
    return rules, naive, tensors, chart_forest.forest(rules, scores, 0.0)[0]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("most", [1, 3, 17])
@pytest.mark.parametrize("n_tokens", range(1, 7))
@pytest.mark.parametrize("seed", range(1))
def test_by_enumeration(seed, n_tokens, most, signed):
    check_posteriors(*example(seed, n_tokens, most, signed))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_zeros_among_the_numbers(seed, signed):
    """Items may have no state that anything below allows, though what is below has trees."""
    rules, naive, tensors, packed = example(seed, 5, 3, signed)
    rng = np.random.default_rng(seed)
    for table in (tensors.rule, tensors.leaf):
        table[rng.random(len(table)) < 0.5] = 0.0
    check_posteriors(rules, naive, tensors, packed)


@pytest.mark.parametrize("smallest", [-40, -150, -320])
@pytest.mark.parametrize("seed", range(8))
def test_numbers_next_to_zero(seed, smallest):
    """Powers of ten: nothing overflows, and but for the smallest floats what leaves an item arrives
    below it.
    """
    rules, _, tensors, packed = example(seed, 5)
    rng = np.random.default_rng(seed)
    for table in (tensors.rule, tensors.leaf):
        table *= 10.0 ** rng.uniform(smallest, 0, len(table))
    inner, outer, log_Z, sign, edge = run(rules, tensors, packed)
    if sign[0] == 0:
        assert log_Z[0] == -np.inf
        return
    item = np.add.reduceat(inner.row * outer.row, inner.start[:-1])
    assert np.all(np.isfinite(item))
    assert np.all(np.isfinite(edge))
    if smallest < -200:
        return
    n_items = len(item)
    parent = np.repeat(np.arange(len(packed.symbol)), np.diff(packed.indptr))
    above = np.bincount(packed.left, edge, n_items) + np.bincount(packed.right, edge, n_items)
    inner = packed.leaf < 0
    root = (packed.start == 0) & (packed.stop == 5)
    np.testing.assert_allclose(item[inner], np.bincount(parent, edge, n_items)[inner], atol=1e-9)
    np.testing.assert_allclose(item[~root], above[~root], atol=1e-9)
    assert item[root].sum() == pytest.approx(1, abs=1e-9)


def check_posteriors(rules, naive, tensors, packed):
    value = np.array([naive.tensor_root(tensors, tree) for tree in naive.trees])
    inner, outer, log_Z, sign, edge = run(rules, tensors, packed)
    if not np.any(value):
        assert (log_Z[0], sign[0]) == (-np.inf, 0)
        return
    total = value.sum()
    assert sign[0] * np.exp(log_Z[0]) == pytest.approx(
        total, rel=1e-10, abs=1e-13 * np.abs(value).sum()
    )
    mu = {}
    of_edges = {}
    for p, tree in zip(value / total, naive.trees):
        for table, parts in zip((mu, of_edges), naive.parts(tree)):
            for part in parts:
                table[part] = table.get(part, 0.0) + p
    tolerance = 1e-10 * np.abs(value).sum() / abs(total)
    parent = np.repeat(np.arange(len(packed.symbol)), np.diff(packed.indptr))
    for p, item in enumerate(
        zip(packed.symbol.tolist(), packed.start.tolist(), packed.stop.tolist())
    ):
        rows = slice(*inner.start[p : p + 2])
        assert inner.row[rows] @ outer.row[rows] == pytest.approx(mu[item], abs=tolerance)
    for e, p in enumerate(parent):
        key = packed.rule[e], packed.start[p], packed.stop[packed.left[e]], packed.stop[p]
        assert edge[e] == pytest.approx(of_edges[key], abs=tolerance)


def single(depth):
    """One tree that branches to the right, of one symbol, `depth` edges high; its leaves are vector
    0.
    """
    leaf = np.array([0] * (depth + 1) + [-1] * depth, np.int32)
    start = np.concatenate([np.arange(depth + 1), np.arange(depth)[::-1]])
    stop = np.concatenate([np.arange(depth + 1) + 1, np.full(depth, depth + 1)])
    left = np.arange(depth)[::-1]
    right = np.concatenate([[depth], np.arange(depth + 1, 2 * depth)])[:depth]
    indptr = np.concatenate([np.zeros(depth + 1), np.arange(depth + 1)]).astype(np.int64)
    columns = np.zeros(2 * depth + 1), start, stop, leaf
    tables = (column.astype(np.int32) for column in (*columns, left, right, np.zeros(depth)))
    symbol, start, stop, leaf, left, right, rule = tables
    return Forest(
        np.array([0, 2 * depth + 1]), symbol, start, stop, leaf, indptr, left, right, rule
    )


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
def test_large_trees_neither_overflow_nor_underflow(factor):
    rng = np.random.default_rng(0)
    rules = naive_trees.random_grammar(rng, n_symbols=1, n_rules=1)
    tensors = naive_trees.random_tensors(rng, rules, 1, most=1)
    tensors.rule[tensors.rule != 0] = factor
    tensors.leaf[tensors.leaf != 0] = 1.0
    tensors.root[tensors.root != 0] = 1.0
    _, _, log_Z, sign, edge = run(rules, tensors, single(5000))
    assert log_Z[0] == pytest.approx(5000 * np.log(factor), rel=1e-12, abs=1e-9)
    assert sign[0] == 1
    np.testing.assert_allclose(edge, 1.0, rtol=1e-6)


def test_items_without_a_tree_count_for_nothing():
    """An item wider than a word that has no edges is impossible, and no leaf."""
    packed = single(1)
    packed.leaf[0] = -1
    rules = naive_trees.random_grammar(np.random.default_rng(0), n_symbols=1, n_rules=1)
    tensors = naive_trees.random_tensors(np.random.default_rng(0), rules, 1)
    inner, outer, log_Z, sign, edge = run(rules, tensors, packed)
    assert (log_Z[0], sign[0]) == (-np.inf, 0)
    assert inner.scale[0] == inner.scale[2] == -np.inf
    assert not np.any(outer.row)
    assert not np.any(edge)


def test_examples_do_not_see_each_other():
    rng = np.random.default_rng(1)
    rules = naive_trees.random_grammar(rng, n_symbols=1, n_rules=1)
    tensors = naive_trees.random_tensors(rng, rules, 1, most=5)
    parts = [single(depth) for depth in (3, 0, 7)]
    items, edges = (
        np.cumsum([0, *(len(getattr(part, name)) for part in parts)]) for name in ("symbol", "rule")
    )
    shift = {"left": items, "right": items}
    tables = {
        name: np.concatenate(
            [getattr(part, name) + shift.get(name, items * 0)[i] for i, part in enumerate(parts)]
        ).astype(np.int32)
        for name in Forest._fields
    }
    indptr = np.concatenate([[0], *(part.indptr[1:] + first for part, first in zip(parts, edges))])
    joined = Forest(**tables | {"offsets": items, "indptr": indptr})
    _, _, log_Z, _, edge = run(rules, tensors, joined)
    for part, Z, found in zip(parts, log_Z, np.split(edge, edges[1:-1])):
        _, _, alone_Z, _, alone = run(rules, tensors, part)
        assert alone_Z[0] == Z
        np.testing.assert_array_equal(found, alone)


def test_moments():
    rules, _, tensors, packed = example(2, 5, most=9, signed=True)
    inner, outer, _, _, edge = run(rules, tensors, packed)
    order = np.argsort(packed.rule, kind="stable")
    parent = np.repeat(np.arange(len(packed.symbol), dtype=np.int32), np.diff(packed.indptr))
    bounds = np.searchsorted(packed.rule[order], np.arange(len(rules.parent) + 1)).astype(np.int64)
    weight = np.exp(inner.scale[packed.left] + inner.scale[packed.right] - inner.scale[parent])[
        order
    ]
    edges = bounds, packed.left[order], packed.right[order], parent[order], weight
    out = np.zeros_like(tensors.rule)
    for part in ((0, 5), (5, len(rules.parent))):
        add_moments(tensors, rules, edges, inner, outer.row, part, out)
    expected = np.bincount(packed.rule, weights=edge, minlength=len(rules.parent))
    # the moments times the tensor: posteriors
    found = np.add.reduceat(out * tensors.rule, tensors.rule_start[:-1])
    np.testing.assert_allclose(found, expected, atol=1e-10)
