"""Segmentations, compared with enumeration and with chains."""

from __future__ import annotations

import pickle

import contracts
import naive_segments
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.segments import (
    decoding,
    ranked,
    scaled_tables,
    segment_scores,
    segment_sums,
)
from sklearn_struct.inference.segments.segmentations import Segmentations

# segments of one token are a chain
test_contract = contracts.inference(Segmentations((1, 1, 1)))
test_tangent = contracts.inference_tangent(Segmentations((1, 1, 1)))

# how long segments are, whether whole ones, pairs and ends have scores of their own
SETTINGS = [
    ((3, 3), False, False, False),
    ((1, 4), False, True, True),
    ((2, 3), True, False, False),
    ((3, 1, 2), True, True, True),
    ((2,), False, False, True),
    ((9, 9), True, False, True),
    ((1, 1), False, False, True),
]


def random_segments(
    rng, longest, whole=False, by_edge=False, ends=False, scale=1.0, lengths=(4, 0, 1, 5)
):
    """Potentials of a few sequences, with the structure."""
    structure = Segmentations(longest, ends).structure(np.cumsum([0, *lengths]), whole)
    K = len(longest)
    edges, *others = structure.families
    shapes = [(len(edges.nodes) if by_edge else 1, K * K)]
    shapes += [(max(len(family.nodes), 1), K) for family in others]
    node = scale * rng.normal(size=(sum(lengths), K))
    return Potentials(node, tuple(scale * rng.normal(size=shape) for shape in shapes)), structure


def twins(potentials, structure, longest, ends=False):
    """The enumeration of each sequence of a batch."""
    for i in range(structure.n_examples):
        part, _, _ = contracts.select(potentials, structure, [i])
        yield naive_segments.Segmented(part, longest, ends)


def expected_marginals(potentials, structure, longest, weight, ends=False):
    """Log Z, and the weighted marginals of all sequences, by enumeration."""
    out = contracts.zeros(potentials)
    log_Z = []
    for i, twin in enumerate(twins(potentials, structure, longest, ends)):
        log_Z.append(float(twin.log_Z))
        part = twin.marginals()
        tables = zip(out.cliques, part.cliques, structure.families, strict=True)
        out.node[slice(*structure.offsets[i : i + 2])] += weight[i] * part.node
        for table, of_part, family in tables:
            rows = slice(*family.offsets[i : i + 2]) if len(table) > 1 else slice(None)
            table[rows] += weight[i] * of_part
    return np.array(log_Z), out


@pytest.mark.parametrize("lengths", [(4, 0, 1, 5), (1,)], ids=["some", "one"])
@pytest.mark.parametrize(("longest", "whole", "by_edge", "ends"), SETTINGS)
def test_kernels_see_no_read_only_tables(longest, whole, by_edge, ends, lengths):
    """Numba would compile each of them once more."""
    rng = np.random.default_rng(0)
    potentials, structure = random_segments(rng, longest, whole, by_edge, ends, lengths=lengths)
    n_families = len(structure.families)
    for shared in range(n_families + 1):  # none, or this one, has a single row
        cliques = [
            table[:1] if f + 1 == shared else table for f, table in enumerate(potentials.cliques)
        ]
        given = potentials._replace(cliques=tuple(cliques))
        tables = segment_scores.scores(given, structure, np.array(longest), ends)
        assert all(table.flags.writeable and table.flags.c_contiguous for table in tables)


@pytest.mark.twins
@pytest.mark.parametrize(("longest", "whole", "by_edge", "ends"), SETTINGS)
@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4], ids=["scaled", "far", "huge"])
def test_marginals(longest, whole, by_edge, ends, scale):
    rng = np.random.default_rng(0)
    potentials, structure = random_segments(rng, longest, whole, by_edge, ends, scale)
    weight = np.array([1.0, 3.0, 2.0, -0.5])
    out, log_Z = contracts.marginals(Segmentations(longest, ends), potentials, structure, weight)
    expected_log_Z, expected = expected_marginals(potentials, structure, longest, weight, ends)
    np.testing.assert_allclose(log_Z, expected_log_Z, rtol=1e-13, atol=1e-13)
    # a probability has the errors of the scores of which it is made
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-13 * scale)


@pytest.mark.twins
@pytest.mark.parametrize(("longest", "whole", "by_edge", "ends"), SETTINGS)
def test_forbidden(longest, whole, by_edge, ends):
    """Tokens, pairs, lengths and segments of -inf; the last sequence has no segmentation."""
    rng = np.random.default_rng(1)
    potentials, structure = random_segments(rng, longest, whole, by_edge, ends)
    for table in contracts.arrays_of(potentials):
        table[rng.random(table.shape) < 0.2] = -np.inf
    potentials.node[-2] = -np.inf
    inference = Segmentations(longest, ends)
    out, log_Z = contracts.marginals(inference, potentials, structure)
    expected_log_Z, expected = expected_marginals(potentials, structure, longest, np.ones(4), ends)
    assert log_Z[-1] == -np.inf
    np.testing.assert_allclose(log_Z, expected_log_Z, atol=1e-13)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-13)
    labels = np.zeros(len(potentials.node), np.int32)
    score = np.zeros(4)
    inference.argmax(potentials, structure, labels, score)
    best = [twin.scores.max() for twin in twins(potentials, structure, longest, ends)]
    np.testing.assert_allclose(score, best, atol=1e-13)
    inference.sample(potentials, structure, rng.random(len(labels)), labels, score)
    np.testing.assert_array_equal(score > -np.inf, log_Z > -np.inf)
    assert labels.max() < 2 * len(longest)


def test_lengths_that_are_forbidden():
    """No segment of a single token: sequences of two tokens are one segment."""
    rng = np.random.default_rng(2)
    potentials, structure = random_segments(rng, (3, 3), whole=True, lengths=(2, 5, 1, 0))
    potentials.cliques[-1][[0, 2, 3]] = -np.inf
    out, log_Z = contracts.marginals(Segmentations((3, 3)), potentials, structure)
    expected_log_Z, expected = expected_marginals(potentials, structure, (3, 3), np.ones(4))
    np.testing.assert_allclose(log_Z, expected_log_Z, atol=1e-13)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-13)


@pytest.mark.twins
@pytest.mark.parametrize(("longest", "whole", "by_edge", "ends"), SETTINGS)
def test_derivatives(longest, whole, by_edge, ends):
    """Marginals are the derivatives of log Z, and the tangent is theirs in a direction."""
    rng = np.random.default_rng(3)
    potentials, structure = random_segments(rng, longest, whole, by_edge, ends, lengths=(3, 4))
    inference = Segmentations(longest, ends)
    out, _ = contracts.marginals(inference, potentials, structure)
    for table, expected in zip(contracts.arrays_of(potentials), contracts.arrays_of(out)):
        for index in contracts.some_entries(rng, table, 6):
            slope = contracts.derivative(
                lambda: inference.log_partition(potentials, structure).sum(), table, index
            )
            assert slope == pytest.approx(expected[index], abs=1e-8)
    reward = contracts.mapped(lambda table: rng.normal(size=table.shape), potentials)
    tangent, mean = contracts.tangent(inference, potentials, reward, structure)
    assert mean.sum() == pytest.approx(contracts.flat(out) @ contracts.flat(reward))
    step = np.zeros(1)

    def moved():
        scores = contracts.mapped(lambda a, b: a + step[0] * b, potentials, reward)
        return contracts.flat(contracts.marginals(inference, scores, structure)[0])

    slope = contracts.derivative(moved, step, 0)
    np.testing.assert_allclose(contracts.flat(tangent), slope, atol=1e-8)


@pytest.mark.twins
@pytest.mark.parametrize(("longest", "whole", "by_edge", "ends"), SETTINGS)
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_best(longest, whole, by_edge, ends, scale):
    rng = np.random.default_rng(4)
    potentials, structure = random_segments(rng, longest, whole, by_edge, ends, scale)
    inference = Segmentations(longest, ends)
    n = 7
    labels = np.full((n, len(potentials.node)), -1, np.int32)
    score = np.full((n, 4), np.nan)
    inference.nbest(potentials, structure, labels, score)
    best = np.full(labels.shape[1], -1, np.int32)
    best_score = np.full(4, np.nan)
    inference.argmax(potentials, structure, best, best_score)
    for i, twin in enumerate(twins(potentials, structure, longest, ends)):
        expected = np.sort(twin.scores)[::-1][:n].astype(float)
        count = len(expected)
        tokens = slice(*structure.offsets[i : i + 2])
        ranked = [tuple(row.tolist()) for row in labels[:count, tokens]]
        # some have the same score, and stand in any order
        assert len(set(ranked)) == count
        of_codes = dict(zip(twin.codes, twin.scores.astype(float), strict=True))
        np.testing.assert_allclose([of_codes[row] for row in ranked], expected, rtol=1e-12)
        np.testing.assert_allclose(score[:count, i], expected, rtol=1e-12)
        assert np.all(score[count:, i] == -np.inf)
        assert best_score[i] == pytest.approx(expected[0], rel=1e-12)
        assert of_codes[tuple(best[tokens].tolist())] == pytest.approx(expected[0], rel=1e-12)


@pytest.mark.twins
@pytest.mark.parametrize(("longest", "whole", "by_edge", "ends"), SETTINGS)
def test_scores_and_indicators_of_a_labelling(longest, whole, by_edge, ends):
    rng = np.random.default_rng(5)
    potentials, structure = random_segments(rng, longest, whole, by_edge, ends, lengths=(4,))
    inference = Segmentations(longest, ends)
    (twin,) = twins(potentials, structure, longest, ends)
    for m in rng.integers(len(twin.all), size=10):
        labels = np.array(twin.codes[m], np.int32)
        out = contracts.zeros(potentials)
        score = np.zeros(1)
        weight = np.array([2.0])
        inference.add_labelling(potentials, structure, labels, weight, out, score)
        expected = twin.expected(2.0 * (np.arange(len(twin.all)) == m))
        assert score[0] == pytest.approx(float(twin.scores[m]))
        np.testing.assert_array_equal(contracts.flat(out), contracts.flat(expected))


def test_a_segment_that_is_too_long_has_no_score():
    potentials, structure = random_segments(np.random.default_rng(6), (1, 3), lengths=(4,))
    inference = Segmentations((1, 3))
    for labels, possible in (
        ([0, 2, 1, 3], False),
        ([1, 3, 3, 3], False),
        ([1, 3, 3, 0], True),
    ):
        score = inference.scores(potentials, structure, np.array(labels, np.int32))
        assert (score[0] > -np.inf) == possible


@pytest.mark.twins
@pytest.mark.parametrize(("longest", "whole", "by_edge", "ends"), SETTINGS)
def test_samples_have_the_probabilities(longest, whole, by_edge, ends):
    """Drawn by a grid of numbers, each segmentation comes up as often as it should."""
    rng = np.random.default_rng(7)
    potentials, structure = random_segments(rng, longest, whole, by_edge, ends, lengths=(2,))
    inference = Segmentations(longest, ends)
    (twin,) = twins(potentials, structure, longest, ends)
    counts = dict.fromkeys(twin.codes, 0)
    n = 60
    for u in (np.arange(n) + 0.5) / n:
        for v in (np.arange(n) + 0.5) / n:
            labels = np.full(2, -1, np.int32)
            score = np.zeros(1)
            inference.sample(potentials, structure, np.array([u, v]), labels, score)
            counts[tuple(labels.tolist())] += 1
    shares = np.array([counts[codes] for codes in twin.codes]) / n**2
    np.testing.assert_allclose(shares, twin.p.astype(float), atol=0.03)


@pytest.mark.parametrize("shared", [True, False])
def test_segments_of_one_token_are_a_chain(shared):
    rng = np.random.default_rng(8)
    potentials, structure = contracts.random_chains(rng, shared=shared)
    inference = Segmentations((1, 1, 1))
    n = len(potentials.node)
    for call, shape in (("argmax", ()), ("nbest", (4,)), ("sample", ())):
        results = []
        uniform = [rng.random(n)] if call == "sample" else []
        for of in (inference, Chain()):
            labels = np.zeros((*shape, n), np.int32)
            score = np.zeros((*shape, 4))
            getattr(of, call)(potentials, structure, *uniform, labels, score)
            possible = np.repeat(score > -np.inf, np.diff(structure.offsets), axis=-1)
            results.append((np.where(possible, labels, 0), score))
        np.testing.assert_array_equal(results[0][0], results[1][0])
        np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-14)
    out, log_Z = contracts.marginals(inference, potentials, structure)
    expected, expected_log_Z = contracts.marginals(Chain(), potentials, structure)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-14)
    np.testing.assert_allclose(log_Z, expected_log_Z, rtol=1e-14)


def test_the_order_of_candidates():
    family = Segmentations((3,)).structure(np.array([0, 4, 4, 5]), whole=True).families[-1]
    assert family.nodes[:, 0].tolist() == [0, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    assert family.offsets.tolist() == [0, 9, 9, 10]


def test_a_segmentation_is_a_value():
    inference = Segmentations((1, 4))
    assert pickle.loads(pickle.dumps(inference)) == inference != Segmentations((4, 1))
    assert inference.n_lengths == 4
    assert inference != Segmentations((1, 4), ends=True)
    with pytest.raises(AttributeError):
        inference.longest = (3,)


@pytest.mark.compiled
@pytest.mark.parametrize("scale", [1.0, 1e4], ids=["scaled", "logarithms"])
def test_a_long_sequence(scale):
    """Of 100,000 tokens: each is in one segment, and log Z is that of two halves where a pair in
    the middle decides nothing.
    """
    rng = np.random.default_rng(9)
    T = 100_000
    longest = (1, 3)
    potentials, structure = random_segments(rng, longest, scale=scale, lengths=(T,))
    inference = Segmentations(longest)
    out, log_Z = contracts.marginals(inference, potentials, structure)
    np.testing.assert_allclose(out.node.sum(axis=1), 1.0, atol=1e-9)
    assert np.isfinite(log_Z[0])
    # all segments but the first are the second of a pair
    n_tokens = out.node.sum(axis=0)
    of_lengths = np.array([out.cliques[1][0, 1], out.cliques[2][0, 1]])
    n_segments = n_tokens[0] + n_tokens[1] - of_lengths @ [1.0, 2.0]
    assert out.cliques[0].sum() == pytest.approx(n_segments - 1.0, rel=1e-9)
    # the score of the best segmentation is near to log Z where scores are huge, and below it
    score = np.zeros(1)
    labels = np.zeros(T, np.int32)
    inference.argmax(potentials, structure, labels, score)
    assert score[0] <= log_Z[0] * (1.0 + 1e-12)
    assert scale == 1.0 or score[0] == pytest.approx(log_Z[0], rel=1e-4)


@pytest.mark.twins
def test_what_cannot_be_trusted_is_redone(monkeypatch):
    """Near scores are summed on scaled numbers, others in logarithms, both to the same results."""
    redone = []
    in_logarithms = segment_sums.log_marginals
    monkeypatch.setattr(
        segment_sums,
        "log_marginals",
        lambda *args: (redone.extend(np.flatnonzero(args[3])), in_logarithms(*args)),
    )
    rng = np.random.default_rng(10)
    potentials, structure = random_segments(rng, (3, 2), lengths=(4, 3, 5))
    inference = Segmentations((3, 2))
    out, log_Z = contracts.marginals(inference, potentials, structure)
    assert redone == []
    # a label that cannot stand somewhere, or cannot follow, loses nothing
    potentials.node[5] = [1e4, 0.0]
    potentials.node[8] = [-np.inf, 0.0]
    potentials.cliques[0][0, 1] = -np.inf
    contracts.marginals(inference, potentials, structure)
    assert redone == []
    # what would underflow wins, as the other label does not lead to what is more probable later
    potentials.node[4] = [1e3, 0.0]
    potentials.node[5] = [0.0, 1e4]
    expected_log_Z, expected = expected_marginals(potentials, structure, (3, 2), np.ones(3))
    right, right_log_Z = contracts.marginals(inference, potentials, structure)
    assert redone == [1]
    np.testing.assert_allclose(right_log_Z, expected_log_Z, rtol=1e-13)
    np.testing.assert_allclose(contracts.flat(right), contracts.flat(expected), atol=1e-12)
    potentials.cliques[0][:] += 1e4
    contracts.marginals(inference, potentials, structure)
    assert redone == [1, 0, 1, 2]
    monkeypatch.setattr(scaled_tables, "MODERATE", -np.inf)
    potentials, structure = random_segments(np.random.default_rng(10), (3, 2), lengths=(4, 3, 5))
    again, log_Z_again = contracts.marginals(inference, potentials, structure)
    np.testing.assert_allclose(contracts.flat(again), contracts.flat(out), atol=1e-14)
    np.testing.assert_allclose(log_Z_again, log_Z, rtol=1e-14)


@pytest.mark.twins
@pytest.mark.parametrize("scale", [1.0, 1e3], ids=["scaled", "logarithms"])
def test_last_segments_have_lengths_of_their_own(scale):
    """Segmentations with a table of lengths for last segments, by adding its difference to whole
    segments that end a sequence.
    """
    rng = np.random.default_rng(11)
    longest = (3, 2)
    potentials, structure = random_segments(rng, longest, whole=True, scale=scale)
    inference = Segmentations(longest)
    scores, places = inference._arguments(potentials, structure)
    other = scale * rng.normal(size=(3, 2))
    other[2, 1] = -np.inf
    changed = potentials.cliques[-1].copy()
    ends = structure.offsets[1:][np.diff(structure.offsets) > 0] - 1
    first = structure.offsets[np.searchsorted(structure.offsets, ends, side="right") - 1]
    last = structure.families[-1].nodes[:, 0]
    for end, start in zip(ends, first, strict=True):
        rows = np.flatnonzero(last == end)
        assert len(rows) == min(3, end + 1 - start)
        with np.errstate(invalid="ignore"):
            changed[rows] += np.nan_to_num(other - scores.length[0], nan=0.0)[: len(rows)]
    by_whole = Potentials(potentials.node, (*potentials.cliques[:-1], changed))
    expected, expected_log_Z = contracts.marginals(inference, by_whole, structure)
    twice = scores._replace(length=np.stack([scores.length[0], other]))
    out = twice._replace(**{name: np.zeros_like(t) for name, t in twice._asdict().items()})
    log_Z = np.empty(4)
    segment_sums.add_marginals(twice, places, np.ones(4), out, log_Z)
    np.testing.assert_allclose(log_Z, expected_log_Z, rtol=1e-12)
    np.testing.assert_allclose(out.node, expected.node, atol=1e-10)
    np.testing.assert_allclose(out.whole, expected.cliques[-1], atol=1e-10)
    both = out.length.sum(axis=0)
    np.testing.assert_allclose(both[1], expected.cliques[1][0], atol=1e-10)
    np.testing.assert_allclose(out.length[1].sum(), 3.0, rtol=1e-10)
    best = np.empty(structure.offsets[-1], np.int32)
    wanted = np.empty_like(best)
    decoding.argmax(twice, places, best)
    inference.argmax(by_whole, structure, wanted)
    np.testing.assert_array_equal(best, wanted)
    ranked_labels = np.empty((2, len(best)), np.int32)
    score = np.empty((2, 4))
    wanted_score = np.empty_like(score)
    ranked.nbest(twice, places, ranked_labels, score)
    inference.nbest(by_whole, structure, ranked_labels.copy(), wanted_score)
    np.testing.assert_allclose(score, wanted_score, rtol=1e-12)


@pytest.mark.twins
@pytest.mark.parametrize("turns", [1, 2], ids=["later wins", "falls, wins and falls"])
def test_labels_that_win_later_are_not_lost(turns):
    """Two groups of labels do not lead to each other; one of them underflows before it wins."""
    rng = np.random.default_rng(12)
    T = 2000 * turns
    inference = Segmentations((3, 2))
    half, structure = random_segments(rng, (3, 2), lengths=(T,), scale=0.5)
    favour = np.repeat([-1.0, 1.5] if turns == 1 else [-1.0, 1.5, 1.5, -2.0], 1000)
    other = Potentials(half.node + favour[:, None], half.cliques)
    alone = [inference.log_partition(one, structure)[0] for one in (half, other)]
    edge = np.full((4, 4), -np.inf)
    edge[:2, :2] = edge[2:, 2:] = half.cliques[0].reshape(2, 2)
    lengths = [np.hstack([table, table]) for table in half.cliques[1:]]
    both = Potentials(np.hstack([half.node, other.node]), (edge.reshape(1, -1), *lengths))
    four = Segmentations((3, 2, 3, 2))
    out, log_Z = contracts.marginals(four, both, four.structure(structure.offsets))
    np.testing.assert_allclose(log_Z, np.logaddexp(*alone), rtol=1e-12)
    share = np.exp(alone[1] - np.logaddexp(*alone))
    np.testing.assert_allclose(out.node[:, 2:].sum(axis=1), share, atol=1e-9)
