"""Sums over segmentations of given scores: by enumeration and by numerical differences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scored_segments import CASES, case, every_segment, in_form

from sklearn_struct import potentials


@pytest.mark.twins
@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_all_segmentations(name):
    given = case(name)
    proba, pairs = potentials.segment_marginals(*given, return_pairs=True)
    log_Z, gradient = potentials.segment_log_partition(*given, return_gradient=True)
    np.testing.assert_array_equal(log_Z, potentials.segment_log_partition(*given))
    np.testing.assert_array_equal(gradient.segments, proba)
    np.testing.assert_array_equal(potentials.segment_marginals(*given), proba)
    _, L, K = given.segments.shape
    for i, twin in enumerate(given.twins()):
        here = given.tokens(i)
        assert log_Z[i] == pytest.approx(float(twin.log_Z), abs=1e-9)
        expected = np.zeros((given.lengths[i], L, K))
        of_pairs = np.zeros((max(given.lengths[i] - 1, 0), K, K))
        for p, division in zip(twin.p, twin.all, strict=True):
            for start, stop, k in division:
                expected[start, stop - start - 1, k] += float(p)
            for (_, stop, j), (_, _, k) in pairwise(division):
                of_pairs[stop - 1, j, k] += float(p)
        np.testing.assert_allclose(proba[here], expected, atol=1e-9)
        np.testing.assert_allclose(pairs[given.steps(i)], of_pairs, atol=1e-9)
    total = pairs if given.pairwise.ndim == 3 else pairs.sum(axis=0)
    np.testing.assert_allclose(gradient.pairwise, total, atol=1e-9)


@pytest.mark.twins
@pytest.mark.parametrize("name", ["shared", "tables"])
@pytest.mark.parametrize("argument", ["segments", "pairwise"])
def test_gradients_are_those_of_differences(argument, name):
    """Of the weighted sum of log Z, in a random direction."""
    given = case(name)
    rng = np.random.RandomState(1)
    weight = rng.randn(len(given.lengths))
    weight[3] = 0.0
    arguments = given._asdict()
    direction = rng.randn(*arguments[argument].shape)

    def value(step):
        moved = {**arguments, argument: arguments[argument] + step * direction}
        return weight @ potentials.segment_log_partition(**moved)

    log_Z, gradient = potentials.segment_log_partition(
        **arguments, return_gradient=True, sample_weight=weight
    )
    assert weight @ log_Z == pytest.approx(value(0.0))
    slope = np.sum(getattr(gradient, argument) * direction)
    assert slope == pytest.approx((value(1e-5) - value(-1e-5)) / 2e-5, abs=1e-7)


@pytest.mark.parametrize("form", ["list", "padded"])
@pytest.mark.parametrize("name", ["shared", "tables"])
def test_results_have_the_form_of_the_scores(name, form):
    given = case(name)
    flat, flat_pairs = potentials.segment_marginals(*given, return_pairs=True)
    scores = in_form(given, form)
    proba, pairs = potentials.segment_marginals(*scores, return_pairs=True)
    _, gradient = potentials.segment_log_partition(*scores, return_gradient=True)
    for i, n in enumerate(given.lengths):
        for of_form in (proba, gradient.segments):
            np.testing.assert_array_equal(of_form[i][:n], flat[given.tokens(i)])
        of_steps = flat_pairs[given.steps(i)]
        np.testing.assert_array_equal(pairs[i][: len(of_steps)], of_steps)
        if name == "tables":
            np.testing.assert_array_equal(gradient.pairwise[i][: len(of_steps)], of_steps)


def test_threads_and_blocks_change_nothing():
    given = case("tables", n_sequences=2000)
    for call in (potentials.segment_marginals, potentials.segment_log_partition):
        np.testing.assert_array_equal(call(*given, n_jobs=2), call(*given))
    one = [given.segments[given.tokens(1995)], given.pairwise[given.steps(1995)]]
    log_Z = potentials.segment_log_partition([one[0]], [one[1]])
    assert log_Z[0] == potentials.segment_log_partition(*given)[1995]


def test_one_length_is_a_chain():
    given = case("one length", n_sequences=30)
    unary = given.segments[:, 0]
    log_Z, gradient = potentials.segment_log_partition(*given, return_gradient=True)
    expected, of_chain = potentials.log_partition(
        unary, given.pairwise, given.lengths, return_gradient=True
    )
    np.testing.assert_allclose(log_Z, expected, atol=1e-12)
    np.testing.assert_allclose(gradient.segments[:, 0], of_chain.unary, atol=1e-12)
    np.testing.assert_allclose(gradient.pairwise, of_chain.pairwise, atol=1e-12)


def test_probabilities_of_a_token_sum_to_one():
    given = case("shared")
    proba = potentials.segment_marginals(*given)
    _, L, _ = proba.shape
    for i, T in enumerate(given.lengths):
        covered = np.zeros(T)
        for start, stop in every_segment(T, L):
            covered[start:stop] += proba[given.tokens(i)][start, stop - start - 1].sum()
        np.testing.assert_allclose(covered, 1.0)
