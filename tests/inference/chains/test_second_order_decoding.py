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
from sklearn_struct.inference.chains.chain import Chain

INF = np.inf

decoding = Chain(2)


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
    wide_structure = chain(structure.offsets, 2)
    n_triples = 1 if shared else len(wide_structure.families[1].nodes)
    wide = Potentials(potentials.node, (*potentials.cliques, np.zeros((n_triples, 64))))
    for name, args, n in (
        ("argmax", (), None),
        ("nbest", (), 5),
        ("sample", (rng.random(30),), None),
    ):
        expected = written(getattr(Chain(), name), potentials, structure, *args, n=n)
        found = written(getattr(decoding, name), wide, wide_structure, *args, n=n)
        close(found[1], expected[1])
        allowed = np.repeat(expected[1] > -INF, np.diff(structure.offsets), axis=-1)
        np.testing.assert_array_equal(found[0][allowed], expected[0][allowed])


@pytest.mark.twins
def test_ties_go_to_the_smallest_label():
    structure = chain([0, 4, 4, 5], 2)
    for n_pairs, n_triples in ((1, 1), (3, 2), (1, 2), (3, 1)):
        cliques = np.zeros((n_pairs, 9)), np.zeros((n_triples, 27))
        labels, score = written(decoding.argmax, Potentials(np.zeros((5, 3)), cliques), structure)
        assert labels.tolist() == [0] * 5
        assert score.tolist() == [0.0] * 3


@pytest.mark.twins
def test_impossible_sequences():
    potentials = Potentials(np.zeros((5, 2)), (np.zeros((1, 4)), np.full((1, 8), -INF)))
    structure = chain([0, 3, 5], 2)
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
    pairs, triples = (rng.normal(size=(1, 3**r)) for r in (2, 3))
    potentials = Potentials(node, (pairs, triples))
    structure = chain([0, 100_000], 2)
    labels, score = written(decoding.argmax, potentials, structure)
    turned = (
        pairs.reshape(3, 3).T.reshape(1, -1).copy(),
        triples.reshape(3, 3, 3).transpose(2, 1, 0).reshape(1, -1).copy(),
    )
    again, _ = written(decoding.argmax, Potentials(node[::-1].copy(), turned), structure)
    assert np.array_equal(again[::-1], labels)
    _, path = written(
        lambda p, s, y, score: decoding.path_score(p, s, labels, score),
        potentials,
        structure,
    )
    assert score[0] == path[0]


@pytest.mark.parametrize("shared", [(True, False), (False, True)], ids=["pairs", "triples"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_family_shares_its_table(shared, dtype):
    """Labellings are those of chains whose cliques have equal tables each."""
    rng = np.random.default_rng(0)
    lengths = tuple(rng.integers(0, 7, 19))
    some, structure = contracts.partly_shared_chains(rng, lengths, 3, shared)
    some.cliques[1][:, 4] = -INF
    some = contracts.mapped(lambda table: table.astype(dtype), some)
    own = contracts.unshared(some, structure)
    twins = list(naive.twins(some, structure))
    labels, score = written(decoding.argmax, some, structure)
    assert sequences(labels, structure) == [twin.y[int(np.argmax(twin.scores))] for twin in twins]
    close(score, [twin.scores.max() for twin in twins])
    for name, args, n in (
        ("argmax", (), None),
        ("nbest", (), 5),
        ("sample", (rng.random(sum(lengths)),), None),
    ):
        found, expected = (
            written(getattr(decoding, name), potentials, structure, *args, n=n)
            for potentials in (some, own)
        )
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
