"""What constraints forbid, against enumeration of all labellings."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains.forbidden import (
    Transitions,
    dead_ends,
    forbid,
    forbid_labels,
    forbidden_tokens,
)

LENGTHS = [3, 0, 1, 4, 2, 3]
STRUCTURE = chain(np.cumsum([0, *LENGTHS]))
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


def random_potentials(rng, shared=True, dtype=float):
    edge = rng.normal(size=(1 if shared else len(STRUCTURE.edges), K * K))
    return Potentials(rng.normal(size=(N, K)).astype(dtype), edge.astype(dtype))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forbid_leaves_the_scores_of_what_is_allowed(seed, shared, dtype):
    rng = np.random.default_rng(seed)
    transitions = random_transitions(rng)
    given = random_potentials(rng, shared, dtype)
    before = given.node.copy(), given.edge.copy()
    found = forbid(given, STRUCTURE, transitions)
    assert found.node.dtype == found.edge.dtype == dtype
    for twin, free in zip(naive.twins(found, STRUCTURE), naive.twins(given, STRUCTURE)):
        expected = [
            score if is_allowed(y, transitions) else -np.inf
            for y, score in zip(free.y, free.scores)
        ]
        np.testing.assert_array_equal(twin.scores, expected)
    np.testing.assert_array_equal(given.node, before[0])
    np.testing.assert_array_equal(given.edge, before[1])


def test_forbid_copies_no_more_than_it_changes():
    given = random_potentials(np.random.default_rng(0))
    everything = np.ones(K, dtype=bool), np.ones((K, K), dtype=bool), np.ones(K, dtype=bool)
    assert all(a is b for a, b in zip(forbid(given, STRUCTURE, Transitions(*everything)), given))
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
    dead = np.full(len(LENGTHS), 99)
    dead_ends(potentials, STRUCTURE, dead)
    offsets = STRUCTURE.offsets
    for i, n in enumerate(LENGTHS):
        edge = (
            potentials.edge
            if shared
            else potentials.edge[slice(*STRUCTURE.edge_offsets[i : i + 2])]
        )
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


def test_forbidden_tokens_are_named():
    pairs = np.array([[True, False], [True, True]])
    transitions = Transitions(np.array([True, False]), pairs, np.array([True, False]))
    labels = np.array([1, 0, 1, 0, 0, 1], dtype=np.int32)
    assert forbidden_tokens(labels, chain([0, 4, 4, 6]), transitions).tolist() == [0, 2, 5]
