"""What constraints forbid, against enumeration of all labellings."""

from __future__ import annotations

import itertools

import contracts
import naive
import naive_segments
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains.forbidden import (
    Transitions,
    dead_ends,
    forbid,
    forbidden_tokens,
)
from sklearn_struct.inference.labelling_scores import forbid_labels

LENGTHS = [3, 0, 1, 4, 2, 3]
OFFSETS = np.cumsum([0, *LENGTHS])
STRUCTURE = chain(OFFSETS)
N = sum(LENGTHS)
K = 3

pytestmark = pytest.mark.twins


def random_transitions(rng, share=0.6):
    return Transitions(rng.random(K) < share, rng.random((K, K)) < share, rng.random(K) < share)


def is_allowed(labels, transitions):
    if not len(labels):
        return True
    pairs = all(transitions.pairs[pair] for pair in itertools.pairwise(labels))
    return bool(transitions.start[labels[0]] and pairs and transitions.end[labels[-1]])


def random_potentials(rng, shared=True, dtype=float, order=1):
    shapes = contracts.clique_shapes(chain(OFFSETS, order), K, shared)
    cliques = tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)
    return Potentials(rng.normal(size=(N, K)).astype(dtype), cliques)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", [1, 2])
def test_forbid_leaves_the_scores_of_what_is_allowed(order, seed, shared, dtype):
    rng = np.random.default_rng(seed)
    transitions = random_transitions(rng)
    structure = chain(OFFSETS, order)
    given = random_potentials(rng, shared, dtype, order)
    before = contracts.copies(*contracts.arrays_of(given))
    found = forbid(given, structure, transitions)
    assert {table.dtype for table in contracts.arrays_of(found)} == {np.dtype(dtype)}
    for twin, free in zip(naive.twins(found, structure), naive.twins(given, structure)):
        expected = [
            score if is_allowed(y, transitions) else -np.inf
            for y, score in zip(free.y, free.scores)
        ]
        np.testing.assert_array_equal(twin.scores, expected)
    for table, kept in zip(contracts.arrays_of(given), before, strict=True):
        np.testing.assert_array_equal(table, kept)


def test_forbid_copies_no_more_than_it_changes():
    given = random_potentials(np.random.default_rng(0))
    everything = np.ones(K, dtype=bool), np.ones((K, K), dtype=bool), np.ones(K, dtype=bool)
    unchanged = forbid(given, STRUCTURE, Transitions(*everything))
    assert unchanged.node is given.node
    assert unchanged.cliques[0] is given.cliques[0]
    found = forbid(
        given, STRUCTURE, Transitions(everything[0], np.eye(K, dtype=bool), everything[2])
    )
    assert found.node is given.node


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("shared", [True, False])
def test_dead_ends_by_enumeration(seed, shared):
    rng = np.random.default_rng(seed)
    potentials = forbid(random_potentials(rng, shared), STRUCTURE, random_transitions(rng))
    potentials = forbid_labels(potentials, rng.random((N, K)) < 0.6)
    dead = dead_ends(potentials, STRUCTURE)
    offsets = STRUCTURE.offsets
    edges = STRUCTURE.families[0].offsets
    for i, n in enumerate(LENGTHS):
        table = potentials.cliques[0]
        edge = table if shared else table[edges[i] : edges[i + 1]]
        parts = (
            naive.Chain(potentials.node[offsets[i] : offsets[i] + t], edge) for t in range(1, n + 1)
        )
        assert dead[i] == next((t for t, part in enumerate(parts) if part.log_Z == -np.inf), -1)


@pytest.mark.parametrize("seed", range(5))
def test_forbidden_tokens_are_none_exactly_where_all_is_allowed(seed):
    rng = np.random.default_rng(seed)
    transitions = random_transitions(rng, 0.8)
    for _ in range(20):
        labels = rng.integers(K, size=N).astype(np.int32)
        found = forbidden_tokens(labels, STRUCTURE, transitions)
        owners = set((np.searchsorted(STRUCTURE.offsets, found, side="right") - 1).tolist())
        parts = np.split(labels, STRUCTURE.offsets[1:-1])
        assert owners == {i for i, part in enumerate(parts) if not is_allowed(part, transitions)}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shared", [True, False])
def test_dead_ends_of_segmentations_by_enumeration(seed, shared):
    """A segment that began may go on, so tokens that are reached are those that some covers."""
    rng = np.random.default_rng(seed)
    longest = tuple(rng.integers(1, 4, K).tolist())
    potentials = forbid(random_potentials(rng, shared), STRUCTURE, random_transitions(rng, 0.3))
    potentials = forbid_labels(potentials, rng.random((N, K)) < 0.8)
    dead = dead_ends(potentials, STRUCTURE, longest)
    offsets = STRUCTURE.offsets
    edges = STRUCTURE.families[0].offsets
    table = potentials.cliques[0]
    none = [np.zeros((1, K))] * (max(longest) - 1)
    for i, n in enumerate(LENGTHS):
        edge = table if shared else table[edges[i] : edges[i + 1]]
        reached = []
        for t in range(1, n + 1):
            node = potentials.node[offsets[i] : offsets[i] + t]
            every = naive_segments.Segmented(Potentials(node, (edge, *none)), longest)
            reached.append(max(every.scores) > -np.inf)
        assert dead[i] == (reached.index(False) if False in reached else -1)


def test_no_transition_leads_into_a_token_within_a_segment():
    free = np.ones(2, dtype=bool)
    transitions = Transitions(free, ~np.eye(2, dtype=bool), free)
    codes = np.array([0, 2, 2, 0, 1, 1], dtype=np.int32)  # 2 goes on with the label 0
    assert forbidden_tokens(codes, chain([0, 4, 4, 6]), transitions).tolist() == [3, 5]


def test_forbidden_tokens_are_named():
    pairs = np.array([[True, False], [True, True]])
    transitions = Transitions(np.array([True, False]), pairs, np.array([True, False]))
    labels = np.array([1, 0, 1, 0, 0, 1], dtype=np.int32)
    assert forbidden_tokens(labels, chain([0, 4, 4, 6]), transitions).tolist() == [0, 2, 5]
