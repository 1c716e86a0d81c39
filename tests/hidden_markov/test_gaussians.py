"""Normal distributions of states against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.hidden_markov.gaussians import (
    KINDS,
    Gaussians,
    covariance_shape,
    draw_numbers,
    mixed_gaussians,
    of_kind,
)
from sklearn_struct.hidden_markov.row_densities import RowDensities, patterns

pytestmark = pytest.mark.twins
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def log_densities(x, gaussians):
    return RowDensities(gaussians).of_rows(x)


def gaussians(kind, K=3, d=3, seed=0):
    """Random ones."""
    rng = np.random.RandomState(seed)
    if kind in ("diag", "spherical"):
        covariance = rng.uniform(0.2, 3, size=covariance_shape(kind, K, d))
    else:
        root = rng.normal(size=(*covariance_shape(kind, K, d)[:-1], d + 1))
        covariance = root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(d)
    return Gaussians(rng.normal(size=(K, d)), covariance, kind)


@EVERY_KIND
@pytest.mark.parametrize(("K", "d"), [(3, 3), (1, 2), (2, 1), (1, 1), (4, 2), (20, 2)])
def test_densities_are_those_of_scipy(kind, K, d):
    model = gaussians(kind, K, d)
    # more rows than kernels do side by side
    x = np.random.RandomState(1).normal(size=(70, d)) * 3
    expected = [
        multivariate_normal(mean, matrix).logpdf(x)
        for mean, matrix in zip(model.mean, model.matrices, strict=True)
    ]
    np.testing.assert_allclose(
        log_densities(x, model), np.reshape(expected, (K, 70)).T, rtol=1e-10, atol=1e-12
    )


@EVERY_KIND
def test_missing_numbers_are_integrated_out(kind):
    model = gaussians(kind)
    x = np.random.RandomState(1).normal(size=(12, 3))
    there = np.array([[i >> c & 1 for c in range(3)] for i in range(12)], dtype=bool)
    log_p = log_densities(np.where(there, x, np.nan), model)
    np.testing.assert_array_equal(log_p[[0, 8]], 0)
    for i, seen in enumerate(there):
        if seen.any():
            expected = [
                multivariate_normal(mean[seen], matrix[np.ix_(seen, seen)]).logpdf(x[i, seen])
                for mean, matrix in zip(model.mean, model.matrices, strict=True)
            ]
            np.testing.assert_allclose(log_p[i], expected, rtol=1e-10)


@EVERY_KIND
def test_far_numbers_and_no_columns(kind):
    far = log_densities(np.full((1, 2), 1e200), gaussians(kind, 2, 2))
    assert np.all(far == -1e300)
    none = Gaussians(np.empty((3, 0)), np.ones(covariance_shape(kind, 3, 0)), kind)
    np.testing.assert_array_equal(log_densities(np.empty((2, 0)), none), np.zeros((2, 3)))
    assert draw_numbers(none, np.zeros(4, int), np.random.RandomState(0)).shape == (4, 0)


def test_tiny_variances_and_large_offsets():
    tiny = Gaussians(np.array([[1.0]]), np.array([[1e-310]]))
    assert log_densities(np.array([[1.0]]), tiny)[0, 0] == pytest.approx(
        -0.5 * (np.log(2 * np.pi) + np.log(1e-310))
    )
    for kind in KINDS:
        model = gaussians(kind)
        moved = model._replace(mean=model.mean + 2.0**30)
        x = np.round(np.random.RandomState(1).normal(size=(5, 3)), 3)
        exact = x + 2.0**30 - 2.0**30
        np.testing.assert_allclose(
            log_densities(x + 2.0**30, moved),
            log_densities(exact, model._replace(mean=moved.mean - 2.0**30)),
            rtol=1e-9,
        )


def test_singular_matrices_are_refused():
    singular = Gaussians(np.zeros((2, 2)), np.array([np.eye(2), np.ones((2, 2))]), "full")
    with pytest.raises(NonFiniteError, match="raise `min_variance`"):
        log_densities(np.zeros((1, 2)), singular)


@EVERY_KIND
def test_draws_have_these_moments(kind):
    model = gaussians(kind, 2, 3)
    states = np.repeat([0, 1], 40_000)
    x = draw_numbers(model, states, np.random.RandomState(0))
    for k in range(2):
        np.testing.assert_allclose(x[states == k].mean(axis=0), model.mean[k], atol=0.1)
        np.testing.assert_allclose(np.cov(x[states == k].T), model.matrices[k], atol=0.15)


@EVERY_KIND
@pytest.mark.parametrize("other", KINDS)
def test_kinds_become_each_other(kind, other):
    model = gaussians(kind)
    turned = of_kind(model, other)
    assert turned.covariance.shape == covariance_shape(other, 3, 3)
    np.testing.assert_array_equal(turned.mean, model.mean)
    np.testing.assert_allclose(
        turned.matrices.trace(axis1=1, axis2=2).sum(), model.matrices.trace(axis1=1, axis2=2).sum()
    )
    if other in (kind, "full"):
        np.testing.assert_allclose(turned.matrices, model.matrices)
    np.testing.assert_allclose(turned.variance, np.diagonal(turned.matrices, axis1=1, axis2=2))
    x = np.zeros((2, 3))
    if other == "full":
        np.testing.assert_allclose(log_densities(x, turned), log_densities(x, model))


def test_mixtures_of_parameters():
    a = gaussians("full", seed=1)
    b = gaussians("full", seed=2)
    mixed = mixed_gaussians(0.25, a, b)
    np.testing.assert_allclose(mixed.mean, 0.25 * a.mean + 0.75 * b.mean)
    np.testing.assert_allclose(mixed.covariance, 0.25 * a.covariance + 0.75 * b.covariance)
    assert mixed.kind == "full"


def test_patterns_of_missing_columns():
    x = np.array([[1, np.nan], [np.nan, np.nan], [1, 2], [np.nan, 1], [2, np.nan]])
    parts = {tuple(there): rows.tolist() for rows, there in patterns(x)}
    assert parts == {(True, False): [0, 4], (False, True): [3]}
    assert patterns(x[1:3]) == []


def test_independent_columns():
    model = Gaussians(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[1.0, 2.0], [0.5, 4.0]]))
    x = np.random.RandomState(0).normal(size=(5, 2))
    expected = norm.logpdf(x[:, None], model.mean, np.sqrt(model.covariance)).sum(axis=2)
    np.testing.assert_allclose(log_densities(x, model), expected, rtol=1e-12)
