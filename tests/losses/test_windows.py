"""Composite likelihoods over windows, against enumeration (finite differences: the contract)."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.losses import windows
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.windows import Windows

LIKELIHOOD = LogLikelihood(Chain())
SIDES = [(True, True), (True, False), (False, True), (False, False)]

test_contract_1 = contracts.loss(Windows(LIKELIHOOD, 1))
test_contract_2 = contracts.loss(Windows(LIKELIHOOD, 2))
test_contract_3 = contracts.loss(Windows(LIKELIHOOD, 3))
test_contract_free_2 = contracts.loss(Windows(LIKELIHOOD, 2, left=False, right=False))
test_contract_free_3 = contracts.loss(Windows(LIKELIHOOD, 3, left=False, right=False))
test_contract_left_2 = contracts.loss(Windows(LIKELIHOOD, 2, right=False))
test_contract_2_second_order = contracts.loss(Windows(LIKELIHOOD, 2), order=2)
test_contract_3_second_order = contracts.loss(Windows(LIKELIHOOD, 3), order=2)
test_contract_free_3_second_order = contracts.loss(
    Windows(LIKELIHOOD, 3, left=False, right=False), order=2
)


def expected(node, cliques, labels, size, sides):
    """The loss of one sequence: each window's labellings, scored with what is beside it, one after
    the other.
    """
    n, K = node.shape
    found = 0.0
    for first in range(max(n - size, 0) + 1 if n else 0):
        last = min(first + size, n) - 1
        scores = []
        own = None
        known = range(0 if sides[0] else first, n if sides[1] else last + 1)
        for inside in naive.labellings(last - first + 1, K):
            path = np.concatenate([labels[:first], inside, labels[last + 1 :]]).astype(int)
            score = sum(node[t, path[t]] for t in range(first, last + 1))
            for f, c, column in naive.moves(path, K, len(cliques)):
                tokens = range(c, c + f + 2)
                if set(tokens) <= set(known) and set(tokens) & set(range(first, last + 1)):
                    score += cliques[f][min(c, len(cliques[f]) - 1), column]
            scores.append(score)
            own = score if np.array_equal(path, labels) else own
        found += np.logaddexp.reduce(scores) - own
    return float(found)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("order", [1, 2])
def test_by_enumeration(order, sides, shared, size):
    rng = np.random.default_rng(size)
    potentials, structure = contracts.random_chains(rng, (6, 0, 1, 2, 3), 2, shared, order)
    y = rng.integers(2, size=12).astype(np.int32)
    value, _ = contracts.evaluate(
        Windows(LIKELIHOOD, size, *sides), potentials, y, structure, np.ones(5)
    )
    for i in range(5):
        tokens = slice(*structure.offsets[i : i + 2])
        cliques = [
            (table if shared else table[slice(*family.offsets[i : i + 2])]).astype(np.longdouble)
            for table, family in zip(potentials.cliques, structure.families, strict=True)
        ]
        naively = expected(
            potentials.node[tokens].astype(np.longdouble), cliques, y[tokens], size, sides
        )
        assert value[i] == pytest.approx(naively, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("order", [1, 2])
def test_a_window_of_the_whole_sequence_is_the_likelihood(order, sides, shared):
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), shared, order)
    weight = np.arange(1.0, 5.0)
    direction, _ = contracts.random_chains(np.random.default_rng(1), shared=shared, order=order)
    value, out = contracts.evaluate(LIKELIHOOD, potentials, y, structure, weight)
    second = contracts.second_derivative(LIKELIHOOD, potentials, direction, y, structure, weight)
    for size in (4, 5, 10**9):
        loss = Windows(LIKELIHOOD, size, *sides)
        found, gradient = contracts.evaluate(loss, potentials, y, structure, weight)
        np.testing.assert_allclose(found, value, atol=1e-10)
        np.testing.assert_allclose(contracts.flat(gradient), contracts.flat(out), atol=1e-10)
        again = contracts.second_derivative(loss, potentials, direction, y, structure, weight)
        np.testing.assert_allclose(contracts.flat(again), contracts.flat(second), atol=1e-10)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("order", [1, 2])
def test_some_windows_at_a_time(order, shared, monkeypatch):
    """However few are worked on at once, also across examples; derivatives of the sum, too."""
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(
        rng, lengths=(9, 0, 2, 6, 1), shared=shared, order=order
    )
    y = rng.integers(3, size=18).astype(np.int32)
    loss = Windows(LIKELIHOOD, 3)
    value, out = contracts.evaluate(loss, potentials, y, structure, np.ones(5))
    for tokens in (1, 4, 7):
        monkeypatch.setattr(windows, "TOKENS", tokens)
        found, gradient = contracts.evaluate(loss, potentials, y, structure, np.ones(5))
        np.testing.assert_allclose(found, value, rtol=1e-13)
        np.testing.assert_allclose(contracts.flat(gradient), contracts.flat(out), atol=1e-13)


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("order", [1, 2])
def test_an_edge_table_for_all_and_derivatives_for_each(order, size):
    """Shared potentials, derivatives that are not: their sum is that of the shared ones."""
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), True, order)
    _, out = contracts.evaluate(Windows(LIKELIHOOD, size), potentials, y, structure, np.ones(4))
    shapes = contracts.clique_shapes(structure, 3, shared=False)
    each = Potentials(np.zeros(potentials.node.shape), tuple(map(np.zeros, shapes)))
    contracts.evaluate(Windows(LIKELIHOOD, size), potentials, y, structure, np.ones(4), each)
    for table, sums in zip(each.cliques, out.cliques, strict=True):
        np.testing.assert_allclose(table.sum(axis=0), sums[0], atol=1e-12)


def test_no_edges_at_all():
    """Sequences of one token, where edges would have tables of their own."""
    node = np.random.default_rng(0).normal(size=(3, 4))
    y = np.array([0, 3, 2], dtype=np.int32)
    potentials = Potentials(node, (np.zeros((0, 16)),))
    value, _ = contracts.evaluate(
        Windows(LIKELIHOOD, 2), potentials, y, chain([0, 1, 2, 3]), np.ones(3)
    )
    np.testing.assert_allclose(
        value, np.logaddexp.reduce(node, axis=1) - node[np.arange(3), y], rtol=1e-12
    )


def test_among_allowed_labellings():
    """What is forbidden beside a given label is out of account."""
    node = np.random.default_rng(0).normal(size=(3, 2))
    edge = np.array([[0.3, -0.2, 0.5, 0.1]])
    pairs = Transitions(
        np.array([True, True]), np.array([[True, True], [True, False]]), np.array([True, True])
    )
    # beside the first 1 only 0 may stand, which costs nothing
    y = np.array([1, 0, 1], dtype=np.int32)
    value, _ = contracts.evaluate(
        Constrained(Windows(LIKELIHOOD, 1), pairs),
        Potentials(node, (edge,)),
        y,
        chain([0, 3]),
        np.ones(1),
    )
    ends = [(node[0], edge[0, [0, 2]]), (node[2], edge[0, [0, 1]])]
    assert value[0] == pytest.approx(
        sum(np.logaddexp.reduce(a + b) - (a + b)[1] for a, b in ends), rel=1e-12
    )
