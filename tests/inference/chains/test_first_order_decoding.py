"""Viterbi, n-best labellings, draws and path scores against enumeration."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains.chain import Chain

INF = np.inf

decoding = Chain()


def argmax(potentials, structure):
    labels = np.full(len(potentials.node), -1, dtype=np.int32)
    score = np.full(len(structure.offsets) - 1, np.nan)
    decoding.argmax(potentials, structure, labels, score)
    return labels, score


def nbest(potentials, structure, n):
    labels = np.full((n, len(potentials.node)), -1, dtype=np.int32)
    score = np.full((n, len(structure.offsets) - 1), np.nan)
    decoding.nbest(potentials, structure, labels, score)
    return labels, score


def sample(potentials, structure, uniform):
    labels = np.full(len(potentials.node), -1, dtype=np.int32)
    score = np.full(len(structure.offsets) - 1, np.nan)
    decoding.sample(potentials, structure, uniform, labels, score)
    return labels, score


def path_score(potentials, structure, labels):
    score = np.full(len(structure.offsets) - 1, np.nan)
    decoding.path_score(potentials, structure, labels, score)
    return score


def sequences(labels, structure):
    """The label tuple of each sequence."""
    return [tuple(part.tolist()) for part in np.split(labels, structure.offsets[1:-1])]


def close(found, expected, digits=1e-10):
    np.testing.assert_allclose(
        found, np.asarray(expected, dtype=float), rtol=digits / 100, atol=digits
    )


# ---- Viterbi


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("shared", [True, False])
def test_argmax_without_score(n, shared):
    """Labels are the same; any number of sequences, as many tokens each, fills tiles of four or
    does not.
    """
    rng = np.random.default_rng(n)
    structure = chain(np.arange(n + 1) * 20)
    potentials = Potentials(
        rng.normal(size=(20 * n, 9)), (rng.normal(size=(1 if shared else 19 * n, 81)),)
    )
    labels = np.full(20 * n, -1, dtype=np.int32)
    decoding.argmax(potentials, structure, labels)
    np.testing.assert_array_equal(labels, argmax(potentials, structure)[0])
    best = path_score(potentials, structure, labels)
    close(nbest(potentials, structure, 1)[1][0], best)


@given(contracts.any_chains())
@settings(max_examples=200)
def test_argmax_by_enumeration(batch):
    labels, score = argmax(*batch)
    assert np.all((labels >= 0) & (labels < batch[0].node.shape[1]))
    for twin, y, found in zip(naive.twins(*batch), sequences(labels, batch[1]), score, strict=True):
        close(found, twin.scores.max())
        close(twin.scores[twin.y.index(y)], twin.scores.max())


@pytest.mark.compiled
@given(contracts.any_chains())
def test_argmax_in_float32(batch):
    """The labelling may lose by rounding (scores of 1e4 have three decimals); its score is that of
    the labelling.
    """
    potentials = contracts.mapped(lambda table: table.astype(np.float32), batch[0])
    structure = batch[1]
    labels, score = argmax(potentials, structure)
    for twin, y, found in zip(
        naive.twins(potentials, structure), sequences(labels, structure), score, strict=True
    ):
        close(found, twin.scores[twin.y.index(y)])
        close(found, twin.scores.max(), digits=0.02)


@pytest.mark.twins
@pytest.mark.parametrize("n_labels", [1, 7, 8, 9, 17])
def test_argmax_for_all_numbers_of_labels(n_labels):
    rng = np.random.default_rng(n_labels)
    for shared in (True, False):
        potentials, structure = contracts.random_chains(
            rng, (2, 1, 0, 3 if n_labels < 9 else 2), n_labels, shared
        )
        labels, score = argmax(potentials, structure)
        twins = list(naive.twins(potentials, structure))
        assert sequences(labels, structure) == [
            twin.y[int(np.argmax(twin.scores))] for twin in twins
        ]
        close(score, [twin.scores.max() for twin in twins])


@pytest.mark.twins
def test_ties_go_to_the_smallest_label():
    structure = chain([0, 4, 4, 5])
    for edge in (np.zeros((1, 9)), np.zeros((3, 9))):
        labels, score = argmax(Potentials(np.zeros((5, 3)), (edge,)), structure)
        assert labels.tolist() == [0] * 5
        assert score.tolist() == [0.0] * 3
    labels, _ = argmax(*contracts.single([[0, 1, 1], [2, 0, 2]], np.zeros((3, 3))))
    assert labels.tolist() == [1, 0]


@pytest.mark.twins
def test_locally_best_label_that_leads_into_a_dead_end():
    edge = np.zeros((3, 3))
    edge[0] = -INF
    labels, score = argmax(
        *contracts.single([[1e4, 0.0, 1.0], [1e4, 2.0, 0.0], [0.0, 1.0, 0.0]], edge)
    )
    assert labels.tolist() == [2, 1, 1]
    assert score.tolist() == [4.0]


@pytest.mark.compiled
def test_viterbi_on_100_000_tokens():
    """Scores are differences from the best, so that a long chain loses no digits."""
    rng = np.random.default_rng(0)
    node = rng.normal(size=(100_000, 3)) + 1e4
    edge = rng.normal(size=(1, 9))
    labels, score = argmax(Potentials(node, (edge,)), chain([0, 100_000]))
    again, _ = argmax(
        Potentials(node[::-1].copy(), (edge.reshape(3, 3).T.reshape(1, 9).copy(),)),
        chain([0, 100_000]),
    )
    assert np.array_equal(again[::-1], labels)
    assert score[0] == pytest.approx(
        node[np.arange(100_000), labels].sum() + edge[0, labels[:-1] * 3 + labels[1:]].sum()
    )


# ---- n best


@given(contracts.any_chains(), st.integers(1, 12))
@settings(max_examples=200)
def test_nbest_by_enumeration(batch, n):
    labels, score = nbest(*batch, n)
    for i, twin in enumerate(naive.twins(*batch)):
        expected = twin.nbest(n)
        found = score[: len(expected), i]
        close(found, expected)
        assert np.all(score[len(expected) :, i] == -INF)
        listed = [sequences(row, batch[1])[i] for row in labels[: len(expected)]]
        assert len(set(listed)) == len(listed)
        close(found, [twin.scores[twin.y.index(y)] for y in listed])


@given(contracts.any_chains())
def test_nbest_in_float32(batch):
    potentials = contracts.mapped(lambda table: table.astype(np.float32), batch[0])
    structure = batch[1]
    _, score = nbest(potentials, structure, 3)
    for i, twin in enumerate(naive.twins(potentials, structure)):
        expected = twin.nbest(3)
        close(score[: len(expected), i], expected, digits=0.02)


@pytest.mark.twins
@pytest.mark.parametrize("shared", [True, False])
def test_all_labellings(shared):
    """With n above K**T every labelling comes once, in order."""
    potentials, structure = contracts.random_chains(np.random.default_rng(0), (3, 0, 2), 3, shared)
    labels, score = nbest(potentials, structure, 30)
    for i, (twin, n) in enumerate(zip(naive.twins(potentials, structure), (27, 1, 9), strict=True)):
        assert sorted(sequences(row, structure)[i] for row in labels[:n]) == twin.y
        close(score[:n, i], np.sort(twin.scores)[::-1])
        assert score[n:, i].tolist() == [-INF] * (30 - n)


@pytest.mark.twins
def test_nbest_with_ties():
    """All labellings score the same: n different ones, the first by the rule of Viterbi."""
    potentials, structure = contracts.single(np.zeros((3, 2)), np.zeros((2, 2)))
    labels, score = nbest(potentials, structure, 8)
    assert score[:, 0].tolist() == [0.0] * 8
    assert len({tuple(row) for row in labels.tolist()}) == 8
    assert labels[0].tolist() == argmax(potentials, structure)[0].tolist() == [0, 0, 0]


def test_best_of_n_is_viterbi():
    potentials, structure = contracts.random_chains(np.random.default_rng(0), (40, 7, 1), 6)
    labels, score = nbest(potentials, structure, 5)
    viterbi, viterbi_score = argmax(potentials, structure)
    np.testing.assert_array_equal(labels[0], viterbi)
    close(score[0], viterbi_score)
    assert np.all(np.diff(score, axis=0) <= 1e-12)


# ---- sampling


@given(contracts.any_chains(), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_draws_are_allowed_labellings(batch, seed):
    labels, score = sample(*batch, np.random.default_rng(seed).random(len(batch[0].node)))
    for twin, y, found in zip(naive.twins(*batch), sequences(labels, batch[1]), score, strict=True):
        if twin.log_Z == -INF:
            assert found == -INF
        else:
            assert found > -INF
            close(found, twin.scores[twin.y.index(y)])


@pytest.mark.twins
@pytest.mark.parametrize("shared", [True, False])
def test_draw_inverts_the_distribution(shared):
    """On a grid of uniform numbers: the last label by its marginal, each other given the label
    after it.
    """
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (2,), 3, shared)
    potentials.node[0, 1] = -INF
    (twin,) = naive.twins(potentials, structure)
    grid = (np.arange(15) + 0.37) / 15
    for first in grid:
        for last in grid:
            uniform = np.array([first, last])
            labels, score = sample(potentials, structure, uniform)
            assert tuple(labels.tolist()) == twin.draw(uniform)
            close(score[0], twin.scores[twin.y.index(tuple(labels.tolist()))])


def test_draws_follow_the_distribution():
    rng = np.random.default_rng(0)
    n = 20_000
    potentials, _ = contracts.random_chains(rng, (3,), 3)
    twin = naive.Chain(potentials.node, *potentials.cliques)
    many = Potentials(np.tile(potentials.node, (n, 1)), potentials.cliques)
    labels, _ = sample(many, chain(np.arange(n + 1) * 3), rng.random(3 * n))
    counts = np.bincount(labels.reshape(n, 3) @ [9, 3, 1], minlength=27)
    assert chisquare(counts, n * twin.p.astype(float)).pvalue > 1e-3


@pytest.mark.twins
def test_the_ends_of_the_unit_interval():
    """0 draws the first allowed label, the largest number below 1 the last allowed one."""
    node = np.array([[-INF, 0.0, 0.0, -INF], [-INF, 0.0, 0.0, -INF]])
    potentials, structure = contracts.single(node, np.zeros((4, 4)))
    assert sample(potentials, structure, np.zeros(2))[0].tolist() == [1, 1]
    assert sample(potentials, structure, np.full(2, np.nextafter(1.0, 0.0)))[0].tolist() == [2, 2]


@pytest.mark.twins
def test_a_draw_depends_on_its_own_numbers_alone():
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (3, 0, 1, 4), shared=False)
    uniform = rng.random(8)
    labels, score = sample(potentials, structure, uniform)
    part, part_structure, tokens = contracts.select(potentials, structure, [3, 0])
    part_labels, part_score = sample(part, part_structure, uniform[tokens])
    np.testing.assert_array_equal(part_labels, labels[tokens])
    np.testing.assert_array_equal(part_score, score[[3, 0]])


# ---- path scores, impossible and empty sequences


@given(contracts.any_chains(), st.integers(0, 2**32 - 1))
def test_path_score_by_the_naive_sum(batch, seed):
    potentials, structure = batch
    n, K = potentials.node.shape
    labels = np.random.default_rng(seed).integers(K, size=n).astype(np.int32)
    found = path_score(potentials, structure, labels)
    for twin, y, score in zip(
        naive.twins(*batch), sequences(labels, structure), found, strict=True
    ):
        close(score, twin.scores[twin.y.index(y)])


@pytest.mark.twins
def test_impossible_and_empty_sequences():
    structure = chain([0, 2, 2, 4])
    node = np.zeros((4, 2))
    node[1] = -INF
    potentials = Potentials(node, (np.zeros((1, 4)),))
    assert argmax(potentials, structure)[1].tolist() == [-INF, 0.0, 0.0]
    assert nbest(potentials, structure, 2)[1].tolist() == [[-INF, 0.0, 0.0], [-INF, -INF, 0.0]]
    assert sample(potentials, structure, np.full(4, 0.5))[1].tolist() == [-INF, 0.0, 0.0]
    assert path_score(potentials, structure, np.zeros(4, dtype=np.int32)).tolist() == [
        -INF,
        0.0,
        0.0,
    ]
