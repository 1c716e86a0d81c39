"""E- and M-steps of hidden Markov models, against enumeration of all labellings."""

from __future__ import annotations

import tracemalloc

import naive
import numpy as np
import pytest

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.hidden_markov import markov_chain
from sklearn_struct.hidden_markov.base_training import Options
from sklearn_struct.hidden_markov.em_starts import labelled_start, random_start
from sklearn_struct.hidden_markov.em_steps import Training, joint, potentials
from sklearn_struct.hidden_markov.emissions import Emissions
from sklearn_struct.hidden_markov.gaussian_moments import least_variances
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov, tally
from sklearn_struct.hidden_markov.moments import moments_of
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.possible_potentials import possible_potentials
from sklearn_struct.inference.chains.chain import Chain

pytestmark = pytest.mark.twins
KINDS = pytest.mark.parametrize(("order", "stop"), [(1, True), (1, False), (2, True), (2, False)])
K = 3
LENGTHS = [3, 0, 4, 1, 2]


def training(order=1, stop=True, known=0.4, seed=0, **options):
    """Streams of values, of which the last numbers the tokens, so that its counts are posteriors;
    two of numbers, some labels, weights of which one is 0.
    """
    rng = np.random.RandomState(seed)
    offsets = np.cumsum([0, *LENGTHS])
    n = int(offsets[-1])
    values = [rng.randint(4, size=n), rng.randint(2, size=n), np.arange(n)]
    observed = Observed(values, rng.normal(size=(n, 2)), offsets)
    codes = np.where(rng.uniform(size=n) < known, rng.randint(K, size=n), -1).astype(np.int32)
    weight = np.array([1.0, 1.0, 2.0, 0.5, 0.0])
    floor = least_variances(observed.numbers, np.repeat(weight, LENGTHS), 0.01)
    settings = {"smoothing": 0.5, "transition_smoothing": 0.0, **options}
    return Training(
        observed, codes, weight, K, Options(order, [5, 2, n], stop, floor=floor, **settings), Pool()
    )


def part(observed, i):
    tokens = slice(observed.offsets[i], observed.offsets[i + 1])
    n = tokens.stop - tokens.start
    return Observed(
        [column[tokens] for column in observed.codes], observed.numbers[tokens], np.array([0, n])
    )


@KINDS
def test_expected_counts(order, stop):
    steps = training(order, stop)
    model = random_start(steps, np.random.RandomState(1))
    (counts, emitted, _), value = steps.expect(model)
    posterior = emitted.values[-1].T
    expected = [np.zeros(table.shape) for table in counts]
    log_likelihood = 0.0
    by_label = np.zeros(posterior.shape)
    for i, n in enumerate(LENGTHS):
        lo = steps.observed.offsets[i]
        one = part(steps.observed, i)
        known = steps.codes[lo : lo + n]
        ys = [np.array(y, dtype=np.int32) for y in naive.labellings(n, K)] if n else []
        ys = [y for y in ys if np.all((known < 0) | (known == y))]
        scores = np.array([joint(model, one, y)[0] for y in ys])
        log_p = np.logaddexp.reduce(scores) if n else 0.0
        log_likelihood += steps.weight[i] * log_p
        for y, score in zip(ys, scores, strict=True):
            p = steps.weight[i] * np.exp(score - log_p)
            by_label[lo + np.arange(n), y] += p
            for table, count in zip(
                expected, tally(y, chain(np.array([0, n])), np.array([p]), K, order), strict=True
            ):
                table += count
    np.testing.assert_allclose(posterior, by_label, atol=1e-10)
    of_numbers = moments_of(steps.observed.numbers, by_label, "diag")
    for table, other in zip(emitted.numbers, of_numbers, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-10)
    for table, other in zip(counts, expected, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-10)
    assert value == pytest.approx(log_likelihood + steps.prior(model), abs=1e-10)


@KINDS
@pytest.mark.parametrize("known", [0.0, 0.4])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_a_step_never_lowers_the_value(order, stop, known, smoothing):
    for seed in range(3):
        steps = training(
            order, stop, known, seed, smoothing=smoothing, transition_smoothing=smoothing
        )
        model = random_start(steps, np.random.RandomState(seed))
        expectation, value = steps.expect(model)
        for _ in range(15):
            before = value
            model = steps.maximise(expectation)
            expectation, value = steps.expect(model)
            assert value >= before - 1e-9


@KINDS
def test_counting_is_expecting_where_all_is_known(order, stop):
    steps = training(order, stop, known=1.0)
    counted = steps.counted(steps.codes)
    (counts, emitted, _), value = steps.expect(random_start(steps, np.random.RandomState(0)))
    for table, other in zip(emitted.values, counted.emitted.values, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-12)
    for table, other in zip(emitted.numbers, counted.emitted.numbers, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-12)
    for table, other in zip(counts, counted.markov, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-12)
    model = steps.maximise(counted)
    assert steps.value(model) == pytest.approx(steps.expect(model)[1], abs=1e-10)
    assert np.isfinite(value)


@KINDS
def test_starts_leave_nothing_impossible(order, stop):
    steps = training(order, stop, known=0.2, smoothing=0.0)
    rng = np.random.RandomState(0)
    for model in (labelled_start(steps, steps.codes, rng), random_start(steps, rng)):
        assert np.isfinite(steps.expect(model)[1])
        for table, n in zip(model.tables, [5, 2, sum(LENGTHS)], strict=True):
            assert table.shape == (K, n)
            np.testing.assert_allclose(np.exp(table).sum(axis=1), 1)
        assert len({row.tobytes() for row in model.tables[0]}) == K
    known = steps.codes == 0
    mean = np.average(steps.observed.numbers[known], axis=0, weights=steps.token_weight[known])
    np.testing.assert_allclose(labelled_start(steps, steps.codes, rng).gaussians.mean[0], mean)


@pytest.mark.compiled
def test_bits_do_not_depend_on_threads():
    rng = np.random.RandomState(0)
    offsets = np.arange(0, 30_001, 5)
    observed = Observed([rng.randint(50, size=30_000)], rng.normal(size=(30_000, 1)), offsets)
    options = Options(2, [50], True, 1.0, 0.0, np.array([0.01]))
    found = []
    for n in (1, 3):
        with Pool(n) as pool:
            steps = Training(
                observed, np.full(30_000, -1, np.int32), np.ones(6000), K, options, pool
            )
            (counts, emitted, _), value = steps.expect(
                random_start(steps, np.random.RandomState(1))
            )
            tables = (counts.transition, *emitted.values, *emitted.numbers)
            found.append(([table.tobytes() for table in tables], value))
    assert len(steps.blocks) > 5
    assert found[0] == found[1]


@pytest.mark.parametrize("order", [1, 2])
def test_sequences_that_are_impossible_get_a_way_and_others_are_as_they_were(order):
    steps = training(order, known=1.0)
    model = steps.maximise(steps.counted(steps.codes))
    model.tables[0][:, steps.observed.codes[0][0]] = -np.inf  # what no label emits
    found = 0
    for block in steps.blocks:
        plain, theta = (
            of(model, steps.observed, block) for of in (potentials, possible_potentials)
        )
        before, after = np.empty((2, len(block.structure.offsets) - 1))
        labels = np.empty(len(theta.node), np.int32)
        Chain().argmax(plain, block.structure, labels, before)
        Chain().argmax(theta, block.structure, labels, after)
        possible = before > -np.inf
        np.testing.assert_array_equal(after[possible], before[possible])
        assert np.all(np.isfinite(after))
        found += np.sum(~possible)
    assert 0 < found < len(LENGTHS)


@pytest.mark.parametrize("known", [False, True])
def test_sequences_whose_sums_fail_are_expected_once_more(known, monkeypatch):
    """States that only go to the right, in another order than data: scores of these sequences are
    made again, a few tokens at a time, with starts and ends.
    """
    rng = np.random.RandomState(0)
    # an empty one is the third
    offsets = np.insert(np.arange(0, 4801, 300), 2, 600)
    n = offsets[-1]
    states = np.tile(np.repeat([0, 1], 150), 16)
    numbers = 40.0 * states[:, None] + rng.normal(size=(n, 1))
    contradicting = [1, 5, 9]
    for i in contradicting:
        numbers[offsets[i] : offsets[i + 1]] = numbers[offsets[i] : offsets[i + 1]][::-1].copy()
    codes = np.full(n, -1, np.int32)
    if known:
        codes[[310, 1300]] = 0
    weight = np.linspace(0.5, 2.0, 17)
    options = Options(1, [], True, 0, 0, np.ones(1))
    monkeypatch.setattr(markov_chain, "ROOMS", {2: markov_chain.Room(2400, 7000, 7)})
    steps = Training(Observed([], numbers, offsets), codes, weight, 2, options, Pool())
    with np.errstate(divide="ignore"):
        markov = Markov(
            np.log([0.9, 0.1]), np.log([[0.9, 0.09], [0.0, 0.98]]), np.log([0.01, 0.02])
        )
    model = HiddenMarkov(markov, [], Gaussians(np.array([[0.0], [40.0]]), np.ones((2, 1))))
    made = []
    write = Training._write_scores

    def counted(self, emissions, first, out):
        made.append(first)
        write(self, emissions, first, out)

    monkeypatch.setattr(Training, "_write_scores", counted)
    monkeypatch.setattr(markov_chain, "OF_MANY", markov_chain.Room(128, 7000, 7))
    assert len(steps.blocks) == 2
    (counts, emitted, _), value = steps.expect(model)
    assert made == offsets[contradicting].tolist()

    theta = steps.clamped(Emissions(model, steps.observed), slice(0, n))
    structure = chain(offsets, 1)
    theta = markov_chain.potentials(markov, theta, structure)
    out = Potentials(np.zeros((n, 2)), (np.zeros((1, 4)),))
    log_Z = np.empty(17)
    Chain().marginals(theta, structure, weight, out, log_Z)
    np.testing.assert_allclose(value, weight @ log_Z + steps.prior(model), rtol=1e-12)
    np.testing.assert_allclose(counts.transition, out.cliques[0].reshape(2, 2), atol=1e-9)
    np.testing.assert_allclose(counts.start, out.node[::300].sum(axis=0), atol=1e-100)
    wanted = moments_of(numbers, out.node, "diag")
    for table, expected in zip(emitted.numbers, wanted, strict=True):
        np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_labels", [3, 20])
def test_blocks_leave_no_memory_behind(n_labels):
    """Of many blocks not even the small objects, of which Python keeps thousands for later."""
    rng = np.random.RandomState(0)
    offsets = np.arange(0, 250_001, 250)
    observed = Observed([], rng.normal(size=(offsets[-1], 1)), offsets)
    codes = np.full(offsets[-1], -1, np.int32)
    options = Options(1, [], False, 0.0, 0.0, np.full(1, 1e-3))
    steps = Training(observed, codes, np.ones(1000), n_labels, options, Pool())
    model = random_start(steps, rng)
    steps.expect(model)
    tracemalloc.start()
    try:
        steps.expect(model)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(4):
            steps.expect(model)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(steps.blocks) >= 100
    assert after - before < 20 * len(steps.blocks)


def of_codes(codes, weight, stop=True):
    """A training of three labels, of sequences of three tokens."""
    n = len(codes)
    observed = Observed([], np.arange(n, dtype=float)[:, None], np.arange(0, n + 1, 3))
    options = Options(1, [], stop, 0.0, 0.0, np.ones(1))
    return Training(observed, np.array(codes, np.int32), np.array(weight), 3, options, Pool())


@pytest.mark.parametrize("stop", [True, False])
def test_what_follows_a_label_that_nobody_expects_stays(stop):
    steps = of_codes([0, 1, 0, 1, 1, 0], [1.0, 1.0], stop)
    model = random_start(steps, np.random.RandomState(0))
    learned = steps.maximise(steps.expect(model)[0]).markov
    np.testing.assert_allclose(learned.transition[2], model.markov.transition[2], rtol=1e-12)
    np.testing.assert_allclose(learned.stop[2], model.markov.stop[2], rtol=1e-12, atol=1e-12)
    assert np.all(learned.transition[:2, 2] == -np.inf)


@pytest.mark.parametrize(
    ("codes", "weight", "is_counted"),
    [
        ([0, 1, 2, 0, 0, 0], [1.0, 1.0], True),
        ([0, 1, -1, 0, 0, 0], [1.0, 1.0], False),
        ([0, 1, 2, -1, -1, -1], [1.0, 0.0], True),  # what does not count need not be known
        ([-1] * 6, [1.0, 1.0], False),
        ([-1] * 6, [0.0, 0.0], True),
    ],
)
def test_where_nothing_is_hidden_that_counts_counts_are_all(codes, weight, is_counted):
    assert of_codes(codes, weight).is_counted == is_counted


def test_blocks_are_about_as_large_as_each_other():
    steps = of_codes([0] * 9000, [1.0] * 3000)
    assert [block.structure.offsets[-1] for block in steps.blocks] == [2250, 2250, 2250, 2250]
