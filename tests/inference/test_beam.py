"""Beam search against Viterbi, and against the same search over lists."""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.batch import Potentials, chain
from sklearn_struct.inference import chain_decoding
from sklearn_struct.inference.beam import beam


def search(potentials, structure, width):
    labels = np.full(len(potentials.node), -1, dtype=np.int32)
    beam(potentials, structure, width, labels)
    return labels


def score(potentials, structure, labels):
    found = np.empty(len(structure.offsets) - 1)
    chain_decoding.path_score(potentials, structure, labels, found)
    return found


@given(contracts.any_chains(), st.integers(0, 3))
def test_as_wide_as_there_are_labels_it_is_viterbi(batch, more):
    potentials, structure = batch
    best = np.empty(len(potentials.node), dtype=np.int32)
    expected = np.empty(len(structure.offsets) - 1)
    chain_decoding.argmax(potentials, structure, best, expected)
    labels = search(potentials, structure, potentials.node.shape[1] + more)
    np.testing.assert_allclose(score(potentials, structure, labels), expected, rtol=1e-12, atol=1e-9)


@given(contracts.any_chains(), st.integers(1, 3))
def test_where_something_is_allowed_it_is_found(batch, width):
    """However narrow the beam, and however soon the best way would end."""
    potentials, structure = batch
    best = np.empty(len(potentials.node), dtype=np.int32)
    expected = np.empty(len(structure.offsets) - 1)
    chain_decoding.argmax(potentials, structure, best, expected)
    found = score(potentials, structure, search(potentials, structure, width))
    np.testing.assert_array_equal(found > -np.inf, expected > -np.inf)


def by_lists(node, edge, width):
    """The same over whole labellings: of those with the same last label the best, of these the best `width`."""
    K, ways = node.shape[1], [((k,), node[0, k]) for k in range(node.shape[1])]
    for t in range(1, len(node) + 1):
        ways = sorted(ways, key=lambda way: -way[1])
        ends = {}
        for way in ways:
            ends.setdefault(way[0][-1], way)
        kept = list(ends.values())[:width]
        if t < len(node):
            e = edge[min(t - 1, len(edge) - 1)]
            ways = [((*y, k), s + e[y[-1] * K + k] + node[t, k]) for y, s in kept for k in range(K)]
    return list(kept[0][0])


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_by_lists(seed, shared, width):
    lengths = (6, 1, 0, 4, 9)
    potentials, structure = contracts.random_chains(np.random.default_rng(seed), lengths, 4, shared)
    labels = search(potentials, structure, width)
    for i, n in enumerate(lengths):
        tokens, edges = (slice(*bounds[i : i + 2]) for bounds in (structure.offsets, structure.edge_offsets))
        edge = potentials.edge if shared else potentials.edge[edges]
        assert labels[tokens].tolist() == (by_lists(potentials.node[tokens], edge, width) if n else [])


def test_greedy_is_not_viterbi():
    """The best first label leads to where everything is bad."""
    potentials, structure = contracts.single([[1.0, 0.0], [0.0, 0.0]], [[-5.0, -5.0, 3.0, 0.0]])
    assert search(potentials, structure, 1).tolist() == [0, 0]
    assert search(potentials, structure, 2).tolist() == [1, 0]


def test_ties_go_to_the_smaller_label():
    potentials, structure = Potentials(np.zeros((4, 3)), np.zeros((1, 9))), chain([0, 4])
    for width in (1, 2, 3):
        assert search(potentials, structure, width).tolist() == [0] * 4
