"""Viterbi, n-best labellings and draws from chains of second order, against enumeration and chains
of first order.
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains import first_order_decoding as first_order
from sklearn_struct.inference.chains import second_order_decoding as decoding

INF = np.inf


def written(function, potentials, structure, *args, n=None):
    """Labels and scores that a function writes."""
    shape = () if n is None else (n,)
    labels = np.full((*shape, len(potentials.node)), -1, dtype=np.int32)
    score = np.full((*shape, len(structure.offsets) - 1), np.nan)
    function(potentials, structure, *args, labels, score)
    return labels, score


def sequences(labels, structure):
    return [tuple(part.tolist()) for part in np.split(labels, structure.offsets[1:-1])]


def close(found, expected, digits=1e-10):
    np.testing.assert_allclose(
        found, np.asarray(expected, dtype=float), rtol=digits / 100, atol=digits
    )


@given(contracts.any_chains(order=2))
@settings(max_examples=100)
def test_argmax_by_enumeration(batch):
    labels, score = written(decoding.argmax, *batch)
    assert np.all((labels >= 0) & (labels < batch[0].node.shape[1]))
    for twin, y, found in zip(naive.twins(*batch), sequences(labels, batch[1]), score, strict=True):
        close(found, twin.scores.max())
        close(twin.scores[twin.y.index(y)], twin.scores.max())


@given(contracts.any_chains(order=2), st.integers(1, 12))
@settings(max_examples=100)
def test_nbest_by_enumeration(batch, n):
    labels, score = written(decoding.nbest, *batch, n=n)
    for i, twin in enumerate(naive.twins(*batch)):
        expected = twin.nbest(n)
        found = score[: len(expected), i]
        close(found, expected)
        assert np.all(score[len(expected) :, i] == -INF)
        listed = [sequences(row, batch[1])[i] for row in labels[: len(expected)]]
        assert len(set(listed)) == len(listed)
        close(found, [twin.scores[twin.y.index(y)] for y in listed])


@pytest.mark.twins
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("n_labels", [1, 2, 9])
def test_argmax_and_draws(shared, n_labels):
    """For each number of labels the best labelling, and the one that a uniform number a token
    stands for.
    """
    rng = np.random.default_rng(n_labels)
    potentials, structure = contracts.random_chains(
        rng, (2, 1, 0, 5 if n_labels < 9 else 3), n_labels, shared, order=2
    )
    twins = list(naive.twins(potentials, structure))
    labels, score = written(decoding.argmax, potentials, structure)
    assert sequences(labels, structure) == [twin.y[int(np.argmax(twin.scores))] for twin in twins]
    close(score, [twin.scores.max() for twin in twins])
    for _ in range(5):
        uniform = rng.random(len(potentials.node))
        labels, score = written(decoding.sample, potentials, structure, uniform)
        drawn = [
            twin.draw(part) for twin, part in zip(twins, np.split(uniform, structure.offsets[1:-1]))
        ]
        assert sequences(labels, structure) == drawn
        close(score, [twin.scores[twin.y.index(y)] for twin, y in zip(twins, drawn)])


@pytest.mark.parametrize("shared", [True, False])
def test_triples_of_score_0_change_nothing(shared):
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (20, 1, 2, 0, 7), 4, shared)
    wide = np.concatenate([potentials.edge, np.zeros((len(potentials.edge), 64))], axis=1)
    for name, args, n in (
        ("argmax", (), None),
        ("nbest", (), 5),
        ("sample", (rng.random(30),), None),
    ):
        expected = written(getattr(first_order, name), potentials, structure, *args, n=n)
        found = written(
            getattr(decoding, name), Potentials(potentials.node, wide), structure, *args, n=n
        )
        close(found[1], expected[1])
        allowed = np.repeat(expected[1] > -INF, np.diff(structure.offsets), axis=-1)
        np.testing.assert_array_equal(found[0][allowed], expected[0][allowed])


@pytest.mark.twins
def test_ties_go_to_the_smallest_label():
    structure = chain([0, 4, 4, 5])
    for edge in (np.zeros((1, 36)), np.zeros((3, 36))):
        labels, score = written(decoding.argmax, Potentials(np.zeros((5, 3)), edge), structure)
        assert labels.tolist() == [0] * 5
        assert score.tolist() == [0.0] * 3


@pytest.mark.twins
def test_impossible_sequences():
    edge = np.zeros((1, 12))
    edge[0, 4:] = -INF
    potentials = Potentials(np.zeros((5, 2)), edge)
    structure = chain([0, 3, 5])
    for name, args in (("argmax", ()), ("sample", (np.full(5, 0.25),))):
        _, score = written(getattr(decoding, name), potentials, structure, *args)
        assert score.tolist() == [-INF, 0.0]
    assert written(decoding.nbest, potentials, structure, n=5)[1].tolist() == [[-INF, 0.0]] + [
        [-INF, 0.0]
    ] * 3 + [[-INF, -INF]]


@pytest.mark.compiled
def test_viterbi_on_100_000_tokens():
    """Scores are differences from the best, so that a long chain loses no digits."""
    rng = np.random.default_rng(0)
    node = rng.normal(size=(100_000, 3)) + 1e4
    edge = rng.normal(size=(1, 36))
    labels, score = written(decoding.argmax, Potentials(node, edge), chain([0, 100_000]))
    turned = np.concatenate(
        [
            edge[0, :9].reshape(3, 3).T.ravel(),
            edge[0, 9:].reshape(3, 3, 3).transpose(2, 1, 0).ravel(),
        ]
    )
    again, _ = written(
        decoding.argmax, Potentials(node[::-1].copy(), turned[None]), chain([0, 100_000])
    )
    assert np.array_equal(again[::-1], labels)
    _, path = written(
        lambda p, s, y, score: decoding.path_score(p, s, labels, score),
        Potentials(node, edge),
        chain([0, 100_000]),
    )
    assert score[0] == path[0]
