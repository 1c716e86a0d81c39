"""Weighted moments of parts, merged, against those of all rows by numpy."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np
import pytest

from sklearn_struct.containers import row_pieces
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.moments import (
    Moments,
    Sums,
    known_posteriors,
    moments_of,
    sums_of,
)

pytestmark = pytest.mark.twins
KINDS = pytest.mark.parametrize("kind", ["diag", "full"])
CUTS = [0, 7, 7, 8, 40, 100]


def rows(n=100, d=3, K=5, seed=0):
    rng = np.random.RandomState(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5 * rng.normal(size=d)
    return x, rng.dirichlet(np.full(K, 0.3), size=n)


def in_parts(x, weight, kind, before=None):
    parts = [slice(*cut) for cut in itertools.pairwise(CUTS)]
    return reduce(Moments.merged, [moments_of(x[p], weight[p], kind, before) for p in parts])


def expected(x, weight, kind):
    """Moments by their definition."""
    mass = weight.sum(axis=0)
    mean = (weight.T @ x) / mass[:, None]
    away = x - mean[:, None]
    products = np.einsum("nk,kna,knb->kab", weight, away, away)
    if kind == "full":
        return mass[:, None], mean, products
    return np.repeat(mass[:, None], x.shape[1], axis=1), mean, np.einsum("kaa->ka", products)


@KINDS
@pytest.mark.parametrize("K", [1, 5, 17])
@pytest.mark.parametrize("d", [1, 3, 6])
def test_of_parts(kind, K, d):
    x, weight = rows(d=d, K=K)
    for found in (moments_of(x, weight, kind), in_parts(x, weight, kind)):
        for table, other in zip(found, expected(x, weight, kind), strict=True):
            np.testing.assert_allclose(table, other, rtol=1e-11, atol=1e-11)


@KINDS
@pytest.mark.parametrize("gaps", [False, True])
def test_far_from_zero_nothing_cancels(kind, gaps):
    x, weight = rows(50_000)
    if gaps:
        x[::7] = np.nan
    # sixteenths, so that large numbers are exact
    x = np.round(16 * x) / 16
    near = moments_of(x, weight, kind)
    far = moments_of(x + 2.0**30, weight, kind)
    np.testing.assert_allclose(far.scatter, near.scatter, rtol=1e-7)
    np.testing.assert_allclose(far.mean - 2.0**30, near.mean, atol=3e-7)


@KINDS
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("far", [1e8, 1e15, -1e20])
@pytest.mark.parametrize("place", [0, 50, 599])
def test_a_row_far_away_costs_other_states_no_digits(kind, gaps, far, place):
    """One of a state of its own, and one of no state."""
    x, weight = rows(600)
    before = Gaussians(np.zeros((5, 3)), np.tile(np.eye(3), (5, 1, 1)), "full")
    if gaps:
        x[::7, 1] = np.nan
    x[[place, 300]] = far
    weight[[place, 300]] = 0
    others = np.delete(np.arange(600), [place, 300])
    without = moments_of(x[others], weight[others], kind, before)
    weight[place, 2] = 1
    found = moments_of(x, weight, kind, before)
    some = [0, 1, 3, 4]
    for table, other in zip(found, without, strict=True):
        np.testing.assert_allclose(table[some], other[some], rtol=1e-10, atol=1e-12)


@KINDS
@pytest.mark.parametrize(("far", "mass"), [(1e12, 1e-20), (1e15, 1e-30), (1e15, 0.0)])
def test_merging_with_what_is_far_and_weighs_nothing(kind, far, mass):
    x, weight = rows()
    here = moments_of(x, weight, kind)
    there = moments_of(x + far, mass * weight, kind)
    for both in (here.merged(there), there.merged(here)):
        np.testing.assert_allclose(both.mean, here.mean + far * mass, rtol=1e-12)
    weights = np.vstack([mass * weight] * 6 + [weight])
    in_one = moments_of(np.vstack([x + far] * 6 + [x]), weights, kind)
    np.testing.assert_allclose(in_one.mean, here.mean + 6 * far * mass, rtol=1e-11)


@KINDS
@pytest.mark.parametrize("gaps", [False, True])
def test_more_rows_than_are_taken_at_once(kind, gaps, monkeypatch):
    x, weight = rows()
    x[::5, 1] = np.nan if gaps else 0
    before = Gaussians(np.zeros((5, 3)), np.tile(np.eye(3), (5, 1, 1)), "full")
    whole = moments_of(x, weight, kind, before)
    monkeypatch.setattr(row_pieces, "NUMBERS", 27)
    for table, other in zip(moments_of(x, weight, kind, before), whole, strict=True):
        np.testing.assert_allclose(table, other, rtol=1e-12, atol=1e-12)


@KINDS
def test_a_state_that_parts_have_not(kind):
    x, weight = rows()
    weight[8:40, 1] = 0
    weight[:, 2] = 0
    found = in_parts(x, weight, kind)
    some = [0, 1, 3, 4]
    for table, other in zip(found, expected(x, weight[:, some], kind), strict=True):
        np.testing.assert_allclose(table[some], other, rtol=1e-11, atol=1e-11)
    assert not np.any(found.mass[2])
    assert not np.any(found.scatter[2])
    assert not np.any(found.covariance[2])


@KINDS
def test_of_all_states(kind):
    x, weight = rows()
    of_all = moments_of(x, weight, kind).of_all
    one = moments_of(x, weight.sum(axis=1, keepdims=True), kind)
    for table, other in zip(of_all, one, strict=True):
        np.testing.assert_allclose(table, other, rtol=1e-11)


@KINDS
def test_missing_numbers_in_parts(kind):
    x, weight = rows()
    x[np.random.RandomState(1).uniform(size=x.shape) < 0.3] = np.nan
    rng = np.random.RandomState(2)
    root = rng.normal(size=(5, 3, 4))
    before = Gaussians(rng.normal(size=(5, 3)), root @ np.swapaxes(root, 1, 2), "full")
    found = in_parts(x, weight, kind, before)
    for table, other in zip(found, moments_of(x, weight, kind, before), strict=True):
        np.testing.assert_allclose(table, other, rtol=1e-10, atol=1e-10)


def test_rows_that_are_alike_have_no_variance_however_large_they_are():
    x = np.full((600, 2), 1e150)
    found = moments_of(x, np.ones((600, 1)), "diag")
    np.testing.assert_allclose(found.mean, 1e150)
    assert np.all(found.scatter < (1e-14 * 1e150) ** 2)


def test_sums_of_parts():
    x, weight = rows()
    x[3:9, 1] = np.nan
    parts = [sums_of(x[:30], weight[:30]), sums_of(x[30:], weight[30:])]
    found = reduce(Sums.merged, parts)
    there = ~np.isnan(x)
    np.testing.assert_allclose(found.mass, there.T.astype(float) @ weight)
    np.testing.assert_allclose(found.total, np.where(there, x, 0).T @ weight)


def test_without_columns():
    weight = np.ones((4, 3))
    assert moments_of(np.empty((4, 0)), weight, "full").mean.shape == (3, 0)
    assert sums_of(np.empty((4, 0)), weight).total.shape == (0, 3)


def test_posteriors_of_known_states():
    posterior = known_posteriors(np.array([1, -1, 0]), np.array([2.0, 3.0, 0.5]), 2)
    np.testing.assert_array_equal(posterior, [[0, 2], [0, 0], [0.5, 0]])
