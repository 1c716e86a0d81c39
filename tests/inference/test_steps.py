"""Kernels that come back after some steps and are called again: nothing shows in what they give."""

from __future__ import annotations

import importlib

import naive_trees
import numpy as np
import pytest

from sklearn_struct.compiled.kernel import STEPS
from sklearn_struct.inference.trees import (
    chart_decoding,
    chart_forest,
    chart_inside,
    chart_outside,
    forest_decoding,
    forest_inside_outside,
    forest_production_pairs,
)

PACKAGE = "sklearn_struct.inference.trees"


class Example:
    """A sentence, its trees, tensors of states and scores of pairs."""

    def __init__(self):
        rng = np.random.default_rng(5)
        self.rules = naive_trees.random_grammar(rng, n_rules=30)
        self.scores = dense_scores(rng, self.rules, 9)
        self.packed, *_ = chart_forest.forest(self.rules, self.scores, 0.0)
        self.tensors = naive_trees.random_tensors(rng, self.rules, len(self.scores.leaf))
        n_items = len(self.packed.symbol)
        n_edges = len(self.packed.rule)
        pairs = forest_production_pairs.pairs(self.packed)
        self.of_pairs = (
            pairs.start,
            rng.normal(size=n_edges + n_items),
            rng.normal(size=len(pairs.above)),
        )
        self.item = rng.normal(size=n_items)
        self.edge = rng.normal(size=n_edges)
        assert n_edges > 700


def dense_scores(rng, rules, n_tokens):
    """All symbols are possible everywhere."""
    n_symbols = len(rules.indptr) - 1
    sizes = len(rules.left), n_symbols, (n_tokens, n_symbols)
    return naive_trees.scores(*(rng.normal(size=size) for size in sizes))


def inside(example):
    out = forest_inside_outside.vectors(example.packed, example.tensors.n_states)
    forest_inside_outside.inside(example.rules, example.tensors, example.packed, out)
    return out


def outside(example):
    inner = inside(example)
    out, log_Z, sign, edge = (
        inner._replace(row=np.zeros_like(inner.row)),
        *np.empty((2, 1)),
        np.zeros(len(example.edge)),
    )
    forest_inside_outside.outside(
        example.rules, example.tensors, example.packed, inner, out, log_Z, sign, edge
    )
    return [*out, log_Z, sign, edge]


def moments(example):
    packed = example.packed
    inner = inside(example)
    order = np.argsort(packed.rule, kind="stable")
    bounds = np.searchsorted(packed.rule[order], np.arange(len(example.rules.left) + 1))
    parent = np.repeat(np.arange(len(packed.symbol), dtype=np.int32), np.diff(packed.indptr))
    edges = bounds, packed.left[order], packed.right[order], parent[order], np.abs(example.edge)
    out = np.zeros_like(example.tensors.rule)
    forest_inside_outside.add_moments(
        example.tensors, example.rules, edges, inner, inner.row, (1, len(bounds) - 2), out
    )
    return [out]


def flat(arrays):
    """All arrays of nested tuples, as bytes."""
    if isinstance(arrays, tuple | list):
        return [piece for part in arrays for piece in flat(part)]
    return [np.asarray(arrays).tobytes()]


CASES = {
    "chart_inside._ascend": lambda e: chart_forest.log_partition(e.rules, e.scores),
    "chart_outside._descend": lambda e: chart_forest.forest(e.rules, e.scores, 1e-3),
    "chart_decoding._fill": lambda e: chart_decoding.argmax(e.rules, e.scores),
    "forest_inside_outside._inside": inside,
    "forest_inside_outside._outside": outside,
    "forest_inside_outside._add_moments": moments,
    "forest_decoding._fill": lambda e: forest_decoding.argmax(e.packed, e.item, e.edge),
    "forest_decoding._fill_states": lambda e: forest_decoding.argmax_states(
        e.rules, e.tensors, e.packed
    ),
    "forest_production_pairs._best": lambda e: forest_production_pairs.argmax(
        e.packed, *e.of_pairs
    ),
    "forest_production_pairs._inside": lambda e: forest_production_pairs.posteriors(
        e.packed, *e.of_pairs
    ),
    "forest_production_pairs._share": lambda e: forest_production_pairs.posteriors(
        e.packed, *e.of_pairs
    ),
}


@pytest.fixture(scope="module")
def example():
    return Example()


@pytest.mark.parametrize("steps", [1, 50, 700])
@pytest.mark.parametrize("name", CASES)
def test_in_few_steps(name, steps, example, monkeypatch):
    expected = flat(CASES[name](example))
    module, kernel = name.split(".")
    module = importlib.import_module(f"{PACKAGE}.{module}")
    compiled = getattr(module, kernel)
    calls = []

    def counted(*arguments):
        calls.append(kernel)
        return compiled(*arguments)

    monkeypatch.setattr(module, kernel, counted)
    assert flat(CASES[name](example)) == expected
    assert len(calls) == 1
    assert module.STEPS == STEPS
    monkeypatch.setattr(module, "STEPS", steps)
    assert flat(CASES[name](example)) == expected
    assert len(calls) > 2


def test_rooms_that_are_full_but_for_one_item(monkeypatch):
    """One symbol is possible for the first word, and all for the second: they no longer fit in."""
    rng = np.random.default_rng(3)
    rules = naive_trees.random_grammar(rng, n_rules=30)
    leaf = rng.normal(size=(4, 5))
    leaf[0, 1:] = -np.inf
    scores = naive_trees.scores(rng.normal(size=30), rng.normal(size=5), leaf)
    expected = [
        flat(chart_forest.forest(rules, scores, 0.0)),
        flat(chart_decoding.argmax(rules, scores)),
    ]
    for module in (chart_decoding, chart_inside):
        monkeypatch.setattr(module, "room", lambda n_cells, n_symbols: n_symbols)
    assert [
        flat(chart_forest.forest(rules, scores, 0.0)),
        flat(chart_decoding.argmax(rules, scores)),
    ] == expected


def test_rooms_that_grow_in_few_steps(monkeypatch):
    """More items and edges than there is room for at first, with and without steps."""
    rng = np.random.default_rng(3)
    rules = naive_trees.random_grammar(rng, n_symbols=40, n_rules=4000)
    scores = dense_scores(rng, rules, 9)
    expected = [
        flat(chart_forest.forest(rules, scores, 1e-9)),
        flat(chart_decoding.argmax(rules, scores)),
    ]
    assert len(chart_forest.forest(rules, scores, 1e-9)[0].rule) > 256 * 9
    grown = []
    for module in (chart_outside, chart_decoding, chart_inside):
        monkeypatch.setattr(module, "STEPS", 3000)
        monkeypatch.setattr(
            module,
            "longer",
            lambda *given, longer=module.longer: grown.append(given[3]) or longer(*given),
        )
    for module in (chart_decoding, chart_inside):
        monkeypatch.setattr(module, "room", lambda n_cells, n_symbols: n_symbols)
    assert [
        flat(chart_forest.forest(rules, scores, 1e-9)),
        flat(chart_decoding.argmax(rules, scores)),
    ] == expected
    assert {"the chart of 9 words", "the forest of 9 words"} == set(grown)
