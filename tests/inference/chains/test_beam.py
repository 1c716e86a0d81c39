"""Beam search against Viterbi, and against the same search over lists."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains.beam import beam
from sklearn_struct.inference.chains.chain import Chain

exact = Chain()


def search(potentials, structure, width):
    labels = np.full(len(potentials.node), -1, dtype=np.int32)
    beam(potentials, structure, width, labels)
    return labels


def score(potentials, structure, labels):
    found = np.empty(len(structure.offsets) - 1)
    exact.path_score(potentials, structure, labels, found)
    return found


BATCHES = contracts.any_chains() | contracts.any_chains(order=2)


@given(BATCHES, st.integers(0, 3))
def test_as_wide_as_there_are_states_it_is_viterbi(batch, more):
    potentials, structure = batch
    best = np.empty(len(potentials.node), dtype=np.int32)
    expected = np.empty(len(structure.offsets) - 1)
    exact.argmax(potentials, structure, best, expected)
    labels = search(
        potentials, structure, potentials.node.shape[1] ** len(potentials.cliques) + more
    )
    np.testing.assert_allclose(
        score(potentials, structure, labels), expected, rtol=1e-12, atol=1e-9
    )


@given(BATCHES, st.integers(1, 3))
def test_where_something_is_allowed_it_is_found(batch, width):
    """However narrow the beam, and however soon the best way would end."""
    potentials, structure = batch
    best = np.empty(len(potentials.node), dtype=np.int32)
    expected = np.empty(len(structure.offsets) - 1)
    exact.argmax(potentials, structure, best, expected)
    found = score(potentials, structure, search(potentials, structure, width))
    np.testing.assert_array_equal(found > -np.inf, expected > -np.inf)


def by_lists(node, cliques, width):
    """The same over whole labellings: of those with the same last labels the best, of these the
    best `width`.
    """
    K = node.shape[1]
    ways = [((), 0.0)]
    n_last = len(cliques)
    for t in range(len(node)):
        ways = [(*y, k) for y, _ in ways for k in range(K)]
        ways = sorted(
            ((y, naive.score(node[: t + 1], cliques, y)) for y in ways), key=lambda way: -way[1]
        )
        ends = {}
        for way in ways:
            ends.setdefault(way[0][-n_last:], way)
        ways = list(ends.values())[:width]
    return list(ways[0][0])


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_last", [1, 2])
def test_by_lists(n_last, seed, shared, width):
    lengths = (6, 1, 0, 4, 9)
    potentials, structure = contracts.random_chains(
        np.random.default_rng(seed), lengths, 4, shared, n_last
    )
    labels = search(potentials, structure, width)
    for i, n in enumerate(lengths):
        part, _, tokens = contracts.select(potentials, structure, [i])
        assert labels[tokens].tolist() == (by_lists(*part, width) if n else [])


def test_greedy_is_not_viterbi():
    """The best first label leads to where everything is bad."""
    potentials, structure = contracts.single([[1.0, 0.0], [0.0, 0.0]], [[-5.0, -5.0, 3.0, 0.0]])
    assert search(potentials, structure, 1).tolist() == [0, 0]
    assert search(potentials, structure, 2).tolist() == [1, 0]


def test_ties_go_to_the_smaller_label():
    for tables in ((np.zeros((1, 9)),), (np.zeros((1, 9)), np.zeros((1, 27)))):
        potentials = Potentials(np.zeros((4, 3)), tables)
        structure = chain([0, 4], len(tables))
        for width in (1, 2, 3, 9):
            assert search(potentials, structure, width).tolist() == [0] * 4
