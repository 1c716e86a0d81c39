"""Chains of order 1 and 2, against chains written out by hand."""

from __future__ import annotations

from itertools import pairwise, product

import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.hidden_markov import markov_chain
from sklearn_struct.hidden_markov.markov_chain import Markov
from sklearn_struct.inference.chains.chain import Chain

pytestmark = pytest.mark.twins
ORDERS = pytest.mark.parametrize("order", [1, 2])
STOPS = pytest.mark.parametrize("stop", [True, False])
K = 3


def random_chain(order, stop=True, seed=0, smoothing=0.0):
    rng = np.random.RandomState(seed)
    C = markov_chain.n_contexts(K, order)
    counts = (rng.uniform(size=shape) * (rng.uniform(size=shape) < 0.9) for shape in (K, (C, K), C))
    return markov_chain.estimate(Markov(*counts), smoothing, stop)


def log_p(model, y):
    """log p(y) of a labelling, by a walk through the tables."""
    C = len(model.stop)
    total = model.start[y[0]]
    context = y[0] if C == K else K * K + y[0]
    for before, k in pairwise(y):
        total += model.transition[context, k]
        context = k if C == K else before * K + k
    return total + model.stop[context]


@ORDERS
@STOPS
def test_probabilities_sum_to_one(order, stop):
    model = random_chain(order, stop)
    rows = np.exp(model.transition).sum(axis=1) + (np.exp(model.stop) if stop else 0)
    np.testing.assert_allclose(rows, 1)
    np.testing.assert_allclose(np.exp(model.start).sum(), 1)
    assert stop or not np.any(model.stop)
    if not stop:
        total = sum(np.exp(log_p(model, y)) for y in product(range(K), repeat=4))
        assert total == pytest.approx(1)


@ORDERS
@STOPS
def test_potentials_score_labellings_jointly(order, stop):
    model = random_chain(order, stop)
    rng = np.random.RandomState(1)
    offsets = np.array([0, 4, 4, 5, 7])
    emission = rng.normal(size=(7, K))
    structure = chain(offsets, order)
    theta = markov_chain.potentials(model, emission.copy(), structure)
    score = np.empty(4)
    codes = rng.randint(K, size=7).astype(np.int32)
    Chain().path_score(theta, structure, codes, score)
    for i, (lo, hi) in enumerate([(0, 4), (4, 4), (4, 5), (5, 7)]):
        y = codes[lo:hi].tolist()
        expected = log_p(model, y) + sum(emission[lo + t, k] for t, k in enumerate(y)) if y else 0.0
        assert score[i] == pytest.approx(expected, abs=1e-12)


@ORDERS
def test_expected_counts_are_those_of_all_labellings(order):
    model = random_chain(order)
    rng = np.random.RandomState(2)
    lengths = [3, 0, 1, 2]
    offsets = np.cumsum([0, *lengths])
    emission = rng.normal(size=(6, K))
    structure = chain(offsets, order)
    weight = np.array([1.0, 1.0, 0.5, 2.0])
    theta = markov_chain.potentials(model, emission.copy(), structure)
    out = Potentials(np.zeros((6, K)), markov_chain.room(theta, structure))
    log_Z = np.empty(4)
    Chain().marginals(theta, structure, weight, out, log_Z)
    found = markov_chain.read_counts(out, structure, K, order)
    by_label = np.zeros((6, K))
    expected = Markov(np.zeros(K), np.zeros(model.transition.shape), np.zeros(len(model.stop)))
    for i, n in enumerate(lengths):
        ys = naive.labellings(n, K) if n else []
        scores = [
            log_p(model, y) + sum(emission[offsets[i] + t, k] for t, k in enumerate(y)) for y in ys
        ]
        assert log_Z[i] == pytest.approx(np.logaddexp.reduce(scores) if n else 0, abs=1e-10)
        for y, score in zip(ys, scores, strict=True):
            p = weight[i] * np.exp(score - log_Z[i])
            codes = np.array(y)
            counts = markov_chain.tally(codes, chain(np.array([0, n])), np.array([p]), K, order)
            for table, count in zip(expected, counts, strict=True):
                table += count
            by_label[offsets[i] + np.arange(n), codes] += p
    for table, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-10)
    np.testing.assert_allclose(out.node, by_label, atol=1e-10)


@STOPS
def test_a_chain_of_first_order_raised_to_the_second(stop):
    first = random_chain(1, stop)
    second = markov_chain.raised(first, 2)
    assert markov_chain.raised(first, 1) is first
    assert markov_chain.raised(second, 2) is second
    for n in (1, 2, 3):
        for y in naive.labellings(n, K):
            assert log_p(second, y) == pytest.approx(log_p(first, y), abs=1e-12)


@ORDERS
def test_states_are_contexts(order):
    model = random_chain(order)
    start, transition, stop, label, before = markov_chain.as_states(model)
    np.testing.assert_allclose(start.sum(), 1)
    np.testing.assert_allclose(transition.sum(axis=1) + stop, 1)
    y = [0, 2, 1, 1]
    contexts = markov_chain.contexts(np.array(y), chain(np.array([0, 4])), K, order)
    p = start[contexts[0]] * np.prod(transition[contexts[:-1], contexts[1:]]) * stop[contexts[-1]]
    assert p == pytest.approx(np.exp(log_p(model, y)))
    assert label[contexts].tolist() == y
    assert before[contexts].tolist() == ([-1] * 4 if order == 1 else [-1, 0, 2, 1])


def test_tallies_by_hand():
    codes = np.array([0, 1, -1, 2, 1, 1])
    structure = chain(np.array([0, 4, 4, 6]))
    one = markov_chain.tally(codes, structure, np.array([1.0, 1.0, 2.0]), K, 1)
    np.testing.assert_array_equal(one.start, [1, 2, 0])
    np.testing.assert_array_equal(one.transition, [[0, 1, 0], [0, 2, 0], [0, 0, 0]])
    np.testing.assert_array_equal(one.stop, [0, 2, 1])
    two = markov_chain.tally(codes, structure, np.array([1.0, 1.0, 2.0]), K, 2)
    assert two.transition.shape == (12, 3)
    assert two.transition[9 + 0, 1] == 1  # 0 1 at the beginning
    assert two.transition[9 + 1, 1] == 2
    assert two.transition.sum() == 3
    assert two.stop[1 * K + 1] == two.stop.sum() == 2


@ORDERS
def test_termination(order):
    model = random_chain(order, smoothing=1.0)
    assert markov_chain.terminates(model)
    model.stop[:] = -np.inf
    assert not markov_chain.terminates(model)
    # the end is reached from 2 alone, which comes after 1, after 0
    model.start[:] = [0, -np.inf, -np.inf]
    model.transition[:] = -np.inf
    labels = np.arange(len(model.stop)) % K
    model.transition[labels == 0, 1] = model.transition[labels == 1, 2] = 0
    assert not markov_chain.terminates(model)
    model.stop[labels == 2] = 0
    assert markov_chain.terminates(model)


@ORDERS
def test_tables_that_users_know(order):
    model = random_chain(order)
    tables = markov_chain.named(model)
    assert {name: table.shape for name, table in tables.items()} == markov_chain.named_shapes(
        K, order
    )
    assert markov_chain.order_of(tables["transition"]) == order
    assert [markov_chain.at_least(r, tables["transition"]) for r in (1, 2)] == [order, 2]
    again = markov_chain.of_named(tables)
    for table, expected in zip(again, model, strict=True):
        np.testing.assert_array_equal(table, expected)
    # two labels in a row, the beginning before the first
    first = tables["pair_start"] if order == 2 else tables["transition"]
    y = (1, 2)
    stop = tables["stop"][y[-order:]]
    assert tables["start"][1] + first[1, 2] + stop == pytest.approx(log_p(model, y))


@ORDERS
@STOPS
def test_contexts_that_are_not_expected_stay_as_they_were(order, stop):
    """What is forbidden after them, too; the others are estimated as without them."""
    before = random_chain(order, stop, seed=1)
    C = len(before.stop)
    rng = np.random.RandomState(2)
    counts = Markov(rng.uniform(size=K), rng.uniform(size=(C, K)), rng.uniform(size=C))
    counts.transition[1] = counts.stop[1] = 0.0
    counts.transition[2] = 1e-120
    counts.stop[2] = 0.0
    plain = markov_chain.estimate(counts, 0.0, stop)
    model = markov_chain.estimate(markov_chain.with_unseen(counts, before, stop), 0.0, stop)
    for table, own, other in zip(model[1:], before[1:], plain[1:], strict=True):
        np.testing.assert_allclose(table[1:3], own[1:3], rtol=1e-12)
        np.testing.assert_array_equal(np.delete(table, (1, 2), 0), np.delete(other, (1, 2), 0))
    np.testing.assert_array_equal(model.start, plain.start)
    # counts that are all there are what they were
    seen = Markov(*(table + 1.0 for table in counts))
    assert markov_chain.with_unseen(seen, before, stop) is seen


def test_labels_that_only_end_sequences_have_been_seen_if_ends_count():
    counts = Markov(np.ones(2), np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([0.0, 5.0]))
    before = Markov(*(np.log(np.full(shape, 0.25)) for shape in (2, (2, 2), 2)))
    assert markov_chain.with_unseen(counts, before, True) is counts
    kept = markov_chain.with_unseen(counts, before, False)
    np.testing.assert_allclose(markov_chain.estimate(kept, 0.0, False).transition[1], np.log(0.5))


@pytest.mark.parametrize(
    ("K", "order", "longest", "tokens"),
    [
        (2, 1, 100, 3500),  # scores
        (2, 1, 600, 4200),  # sequences
        (2, 1, 5000, 7000),
        (8, 1, 1000, 7000),
        (9, 1, 900, 5400),
        (9, 1, 5000, 6000),
        (12, 1, 10, 583),
        (13, 1, 10, 769),
        (50, 1, 10, 200),
        (50, 1, 100, 300),
        (50, 1, 5000, 3000),
        (3, 2, 100, 2333),  # 12 contexts
        (4, 2, 100, 2500),  # 20 contexts
    ],
)
def test_blocks_have_room_for_few_short_sequences(K, order, longest, tokens):
    assert markov_chain.tokens_of_block(K, order, longest) == tokens
