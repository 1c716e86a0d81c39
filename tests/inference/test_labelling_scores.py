"""Scores and indicators of given labellings against sums over cliques, chains or not."""

from __future__ import annotations

import itertools

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Family, Potentials, Structure, chain, zeros
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.labelling_scores import add_labelling, forbid_labels


def added(potentials, structure, labels, weight, shared=True, fill=0.0):
    """Scores, and what is added to `fill`."""
    out = contracts.mapped(lambda table: table + fill, zeros(potentials, shared))
    score = np.full(structure.n_examples, np.nan)
    add_labelling(potentials, structure, labels, weight, out, score)
    return score, out


def indicators(potentials, structure, labels, weight):
    """The same by one clique after the other, with a row for each."""
    K = potentials.node.shape[1]
    n_cliques = [len(family.nodes) for family in structure.families]
    tables = zip(n_cliques, potentials.cliques, strict=True)
    out = Potentials(
        np.zeros(potentials.node.shape), tuple(np.zeros((n, t.shape[1])) for n, t in tables)
    )
    score = np.zeros(len(weight))
    for i, w in enumerate(weight):
        for t in range(*structure.offsets[i : i + 2]):
            out.node[t, labels[t]] += w
            score[i] += potentials.node[t, labels[t]] if w else 0.0
        for f, family in enumerate(structure.families):
            table = potentials.cliques[f]
            columns = list(itertools.product(range(K), repeat=family.nodes.shape[1]))
            for c in range(*family.offsets[i : i + 2]):
                column = columns.index(tuple(labels[family.nodes[c]].tolist()))
                out.cliques[f][c, column] += w
                score[i] += table[min(c, len(table) - 1), column] if w else 0.0
    return score, out


def assert_added(potentials, structure, labels, weight):
    """Into rows of each clique, and into one row a family, beside what was there."""
    expected_score, expected = indicators(potentials, structure, labels, weight)
    score, own = added(potentials, structure, labels, weight, shared=False)
    again, summed = added(potentials, structure, labels, weight, shared=True, fill=7.0)
    np.testing.assert_allclose(score, expected_score, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(again, score)
    np.testing.assert_allclose(own.node, expected.node)
    np.testing.assert_allclose(summed.node, 7.0 + expected.node)
    for of_each, total, wanted in zip(own.cliques, summed.cliques, expected.cliques, strict=True):
        by_clique = wanted.sum(axis=0)[None] if len(of_each) == 1 else wanted
        np.testing.assert_allclose(of_each, by_clique)
        np.testing.assert_allclose(total[0], 7.0 + wanted.sum(axis=0))


def random_labels(rng, potentials):
    n, K = potentials.node.shape
    return rng.integers(K, size=n).astype(np.int32)


WEIGHTS = np.array([2.0, 1.0, 0.0, -0.5])


@pytest.mark.twins
@given(contracts.any_chains() | contracts.any_chains(order=2), st.integers(0, 2**32 - 1))
def test_of_any_chains(batch, seed):
    """Forbidden labellings, too, and scores of 1e4."""
    potentials, structure = batch
    rng = np.random.default_rng(seed)
    labels = random_labels(rng, potentials)
    weight = rng.choice(WEIGHTS, structure.n_examples)
    assert_added(potentials, structure, labels, weight)
    parts = np.split(labels, structure.offsets[1:-1])
    score, _ = added(potentials, structure, labels, np.ones(len(weight)))
    for found, twin, y in zip(score, naive.twins(*batch), parts, strict=True):
        expected = float(twin.scores[twin.y.index(tuple(y.tolist()))])
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dtype", [pytest.param(np.float64, marks=pytest.mark.twins), np.float32])
def test_of_a_chain(order, shared, dtype):
    """As inferences do it; scores are those along the path, and no kernel rounds to float32."""
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, shared=shared, order=order)
    potentials = contracts.mapped(lambda table: table.astype(dtype), potentials)
    labels = random_labels(rng, potentials)
    assert_added(potentials, structure, labels, WEIGHTS)
    out = zeros(potentials)
    score = np.full(4, np.nan)
    Chain(order).add_labelling(potentials, structure, labels, np.ones(4), out, score)
    expected = Chain(order).scores(potentials, structure, labels)
    np.testing.assert_allclose(score, expected, rtol=1e-12)
    assert out.node.sum() == len(labels)


@pytest.mark.twins
@pytest.mark.parametrize("order", [1, 2])
def test_weight_zero_skips(order):
    """Neither the scores nor the labels of such an example are read."""
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, order=order, shared=False)
    labels = random_labels(rng, potentials)
    expected_score, expected = added(potentials, structure, labels, WEIGHTS, shared=False)
    skipped = slice(*structure.offsets[2:4])
    potentials.node[skipped] = np.nan
    labels[skipped] = -1
    score, out = added(potentials, structure, labels, WEIGHTS, shared=False)
    np.testing.assert_array_equal(score, expected_score)
    np.testing.assert_array_equal(contracts.flat(out), contracts.flat(expected))
    assert score[2] == 0.0
    assert not out.node[skipped].any()
    score, out = added(potentials, structure, labels, np.zeros(4))
    assert score.tolist() == [0.0] * 4
    assert not contracts.flat(out).any()


def any_cliques(rng, shared, n_labels=3, sizes=(4, 3, 0, 5)):
    """Cliques of three and of four nodes anywhere in an example, in any order, some of them twice;
    an example has none, one is empty.
    """
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    families = []
    for r, counts in ((3, (2, 3, 0, 0)), (4, (1, 0, 0, 3))):
        nodes = [
            offsets[i] + rng.permutation(sizes[i])[:r]
            for i, count in enumerate(counts)
            for _ in range(count)
        ]
        bounds = np.concatenate([[0], np.cumsum(counts)])
        families.append(Family(np.array(nodes, np.int64), bounds))
    structure = Structure(offsets, tuple(families))
    shapes = contracts.clique_shapes(structure, n_labels, shared)
    node = rng.normal(size=(offsets[-1], n_labels))
    return Potentials(node, tuple(rng.normal(size=shape) for shape in shapes)), structure


@pytest.mark.twins
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shared", [True, False])
def test_of_cliques_that_are_no_chain(shared, seed):
    rng = np.random.default_rng(seed)
    potentials, structure = any_cliques(rng, shared)
    labels = random_labels(rng, potentials)
    for weight in (np.ones(4), WEIGHTS):
        assert_added(potentials, structure, labels, weight)
    # one family shares its table, the other does not
    other, _ = any_cliques(rng, not shared)
    mixed = potentials._replace(cliques=(potentials.cliques[0], other.cliques[1]))
    assert_added(mixed, structure, labels, WEIGHTS)


@pytest.mark.twins
def test_without_families():
    """Labels alone, each by itself."""
    potentials = Potentials(np.log([[0.5, 0.25], [0.125, 1.0]]), ())
    structure = Structure(np.array([0, 1, 2]), ())
    score, out = added(potentials, structure, np.array([1, 0], np.int32), np.array([1.0, 3.0]))
    np.testing.assert_allclose(np.exp(score), [0.25, 0.125])
    assert out.node.tolist() == [[0.0, 1.0], [3.0, 0.0]]


@pytest.mark.twins
@pytest.mark.parametrize("order", [1, 2])
def test_forbid_labels(order):
    """Labellings with a label that is not allowed get -inf, others keep their scores; what was
    given stays, and tables of cliques are not copied.
    """
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, order=order)
    allowed = rng.random(potentials.node.shape) < 0.6
    before = potentials.node.copy()
    found = forbid_labels(potentials, allowed)
    np.testing.assert_array_equal(potentials.node, before)
    assert all(a is b for a, b in zip(found.cliques, potentials.cliques, strict=True))
    parts = np.split(allowed, structure.offsets[1:-1])
    twins = zip(naive.twins(found, structure), naive.twins(potentials, structure), strict=True)
    for (twin, free), mask in zip(twins, parts, strict=True):
        for y, score, kept in zip(twin.y, twin.scores, free.scores, strict=True):
            fits = all(mask[t, k] for t, k in enumerate(y))
            assert score == (kept if fits else -np.inf)


@pytest.mark.parametrize("shared", [True, False])
def test_of_neighbours_that_are_not_listed(shared):
    rng = np.random.default_rng(0)
    offsets = np.array([0, 3, 3, 4, 9])
    listed = chain(offsets)
    structure = chain(offsets, listed=False)
    K = 3
    n_tables = 1 if shared else len(listed.families[0].nodes)
    potentials = Potentials(rng.normal(size=(9, K)), (rng.normal(size=(n_tables, K * K)),))
    labels = rng.integers(K, size=9).astype(np.int32)
    weight = np.array([1.0, 2.0, 0.0, -0.5])
    results = []
    for one in (listed, structure):
        out = zeros(potentials, shared)
        score = np.full(4, np.nan)
        add_labelling(potentials, one, labels, weight, out, score)
        results.append((out.node, out.cliques[0], score))
    for expected, found_there in zip(*results, strict=True):
        np.testing.assert_array_equal(found_there, expected)
    assert len(structure.families[0].nodes) == 0
