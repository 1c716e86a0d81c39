"""-log p(y | x) and its gradient, against enumeration (finite differences: the contract)."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Potentials, chain, columns_of, zeros
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.base import Batch
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood

LOSS = LogLikelihood(Chain())

test_contract = contracts.loss(LOSS)


@given(contracts.any_chains(), st.integers(0, 2**32 - 1))
def test_by_enumeration(batch, seed):
    """Where the labelling is allowed: the value, and marginals minus indicators."""
    potentials, structure = batch
    rng = np.random.default_rng(seed)
    twins = list(naive.twins(potentials, structure))
    paths = [rng.choice(np.flatnonzero(t.p > 0)) if t.log_Z > -np.inf else None for t in twins]
    weight = np.array([rng.choice([1.0, 2.5]) if path is not None else 0.0 for path in paths])
    y = [k for t, path in zip(twins, paths) for k in t.y[path or 0]]
    value, out = contracts.evaluate(
        LOSS, potentials, np.array(y, dtype=np.int32), structure, weight
    )
    expected = [
        0.0 if path is None else float(t.log_Z - t.scores[path]) for t, path in zip(twins, paths)
    ]
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-10)
    expected = np.concatenate([w * t.node for w, t in zip(weight, twins)])
    expected[np.arange(len(y)), y] -= np.repeat(weight, np.diff(structure.offsets))
    np.testing.assert_allclose(out.node, expected, atol=1e-10)


@pytest.mark.parametrize("shared", [True, False])
def test_edge_gradient_by_enumeration(shared):
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), shared)
    _, out = contracts.evaluate(LOSS, potentials, y, structure, np.ones(4))
    expected = np.concatenate([twin.cliques[0] for twin in naive.twins(potentials, structure)])
    pairs = columns_of(y, structure.families[0], 3)
    expected[np.arange(len(pairs)), pairs] -= 1.0
    np.testing.assert_allclose(
        out.cliques[0], expected.sum(axis=0, keepdims=True) if shared else expected, atol=1e-10
    )


def test_gradient_sums_to_zero():
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), False)
    _, out = contracts.evaluate(LOSS, potentials, y, structure, np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(out.node.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(out.cliques[0].sum(axis=1), 0.0, atol=1e-12)


def test_certain_and_forbidden_labellings():
    """0 for the only possible labelling, +inf for one that cannot be."""
    node = np.array([[0.0, -np.inf], [-np.inf, 0.0]] * 2)
    y = np.array([0, 1, 1, 1], dtype=np.int32)
    value, _ = contracts.evaluate(
        LOSS, Potentials(node, (np.zeros((1, 4)),)), y, chain([0, 2, 4]), np.ones(2)
    )
    assert value.tolist() == [0.0, np.inf]


@pytest.mark.parametrize("order", [1, 2])
def test_without_the_lists_that_are_not_read(order):
    """The same bits: of values, gradients and second derivatives."""
    rng = np.random.default_rng(0)
    structure = chain(np.array([0, 4, 4, 5, 11]), order)
    short = LOSS.read_of(structure)
    assert (len(short.families[0].nodes) == 0) == (order == 1)
    K = 3
    tables = tuple(rng.normal(size=(1, K ** (f + 2))) for f in range(order))
    potentials = Potentials(rng.normal(size=(11, K)), tables)
    direction = Potentials(rng.normal(size=(11, K)), tuple(2.0 * table for table in tables))
    y = rng.integers(K, size=11).astype(np.int32)
    weight = np.array([1.0, 1.0, 0.0, 2.0])
    results = []
    for one in (structure, short):
        value, out = contracts.evaluate(LOSS, potentials, y, one, weight)
        batch = Batch(potentials, Evidence(y), one, weight)
        second = zeros(potentials)
        LOSS.hess_vec(batch, direction, second)
        results.append([value, out.node, *out.cliques, second.node, *second.cliques])
    for expected, without in zip(*results, strict=True):
        np.testing.assert_array_equal(without, expected)
