"""Weighted moments against numpy's, and the most probable covariances above a floor."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sklearn_struct.hidden_markov.base_training import one_cluster
from sklearn_struct.hidden_markov.gaussian_moments import (
    above,
    fit_gaussians,
    least_variances,
    raised,
)
from sklearn_struct.hidden_markov.gaussians import KINDS, Gaussians
from sklearn_struct.hidden_markov.number_steps import number_steps
from sklearn_struct.hidden_markov.row_densities import RowDensities, patterns

pytestmark = pytest.mark.twins
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def log_densities(x, gaussians):
    return RowDensities(gaussians).of_rows(x)


def rows(n=30, d=2, K=3, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), rng.dirichlet(np.ones(K), size=n)


def expected_log_likelihood(x, posterior, model):
    return float(np.sum(posterior * log_densities(x, model)))


@EVERY_KIND
@pytest.mark.parametrize(("K", "d"), [(3, 2), (2, 2), (1, 3), (2, 1), (20, 2)])
def test_moments_are_those_of_numpy(kind, K, d):
    # more rows than kernels do side by side
    x, posterior = rows(100, d, K)
    x = x * np.geomspace(1, 1e-3, d) + 1e6 * (np.arange(d) == 0)
    model = fit_gaussians(x, posterior, np.zeros(d), kind)
    matrices = np.array(
        [np.cov(x.T, aweights=weight, ddof=0).reshape(d, d) for weight in posterior.T]
    )
    mass = posterior.sum(axis=0)
    expected = {
        "diag": np.diagonal(matrices, axis1=1, axis2=2),
        "full": matrices,
        "tied": np.tensordot(mass / mass.sum(), matrices, 1),
        "spherical": matrices.trace(axis1=1, axis2=2) / d,
    }[kind]
    for k in range(K):
        average = np.average(x, axis=0, weights=posterior[:, k])
        np.testing.assert_allclose(model.mean[k], average, rtol=1e-12)
    np.testing.assert_allclose(model.covariance, expected, rtol=1e-6, atol=1e-12)


def test_sums_over_many_rows():
    rng = np.random.RandomState(0)
    x = rng.normal(size=(30_000, 1))
    model = fit_gaussians(x, np.ones((30_000, 1)), np.zeros(1))
    assert model.mean[0, 0] == pytest.approx(x.mean(), rel=1e-10)
    assert model.covariance[0, 0] == pytest.approx(x.var(), rel=1e-12)


@EVERY_KIND
def test_floors_and_states_without_mass(kind):
    x = np.array([[1.0, 5.0], [3.0, 5.0]])
    posterior = np.array([[1.0, 0.0], [1.0, 0.0]])
    floor = least_variances(x, np.ones(2), 0.1)
    np.testing.assert_allclose(floor, [0.1, 0.1])
    assert not np.any(np.isfinite(least_variances(x * 1e200, np.ones(2), 0.1)[0]))
    model = fit_gaussians(x, posterior, floor, kind)
    np.testing.assert_allclose(model.mean, [[2, 5], [2, 5]])
    np.testing.assert_allclose(
        model.variance, [[0.5, 0.5]] * 2 if kind == "spherical" else [[1, 0.1]] * 2
    )
    nothing = fit_gaussians(x, np.zeros((2, 2)), floor, kind)
    np.testing.assert_allclose(nothing.variance, [[0.1, 0.1]] * 2)
    with_spare = fit_gaussians(x, np.zeros((2, 2)), floor, kind, spare=np.ones(2))
    np.testing.assert_allclose(with_spare.mean, [[2, 5], [2, 5]])


def test_a_state_without_mass_has_the_covariance_of_all():
    x, posterior = rows()
    posterior[:, 1] = 0
    model = fit_gaussians(x, posterior, np.zeros(2), "full")
    weight = posterior.sum(axis=1)
    np.testing.assert_allclose(model.mean[1], np.average(x, axis=0, weights=weight))
    np.testing.assert_allclose(model.covariance[1], np.cov(x.T, aweights=weight, ddof=0))
    tied = fit_gaussians(x, posterior, np.zeros(2), "tied")
    others = fit_gaussians(x, posterior[:, [0, 2]], np.zeros(2), "tied")
    np.testing.assert_allclose(tied.covariance, others.covariance)


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_a_column_without_mass_has_the_moments_of_spare_rows(kind):
    x = np.array([[1.0, np.nan], [3.0, np.nan], [9.0, 7.0], [9.0, 9.0]])
    posterior = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    model = fit_gaussians(x, posterior, np.full(2, 0.1), kind, spare=np.ones(4))
    np.testing.assert_allclose(model.mean, [[1, 8], [3, 8]])
    np.testing.assert_allclose(model.variance[:, 1], 1.0 if kind == "diag" else 0.1)


def enumerated(x, posterior, floor, kind, spare):
    """Weighted moments, number by number: of a state, else of all states, else of spare rows."""
    K = posterior.shape[1]
    d = x.shape[1]
    mean = np.empty((K, d))
    squares = np.empty((K, d))
    mass = np.empty((K, d))
    for k in range(K):
        of_state = np.any(posterior[~np.isnan(x).all(axis=1), k] > 0)
        for c in range(d):
            there = ~np.isnan(x[:, c])
            own = posterior[:, k] * there
            of_all = posterior.sum(axis=1) * there
            weight = next(w for w in (own, of_all, spare * there) if w.sum() > 0)
            mean[k, c] = np.average(x[there, c], weights=weight[there])
            # one variance of a state is that of the columns that it has
            counts = weight if kind == "diag" or not of_state else own
            mass[k, c] = counts.sum()
            squares[k, c] = np.sum(counts[there] * (x[there, c] - mean[k, c]) ** 2)
    if kind == "diag":
        return mean, np.maximum(squares / mass, floor)
    return mean, np.maximum(squares.sum(axis=1) / mass.sum(axis=1), floor.max())


@pytest.mark.parametrize("kind", ["diag", "spherical"])
@pytest.mark.parametrize("seed", range(6))
def test_spare_rows_stand_for_the_columns_that_no_state_has(kind, seed):
    """And not for others, of which a state without mass has the moments of all states."""
    rng = np.random.RandomState(seed)
    x = rng.normal(size=(20, 4)) * [1, 3, 1, 2] + [0, 5, -2, 1]
    posterior = rng.dirichlet(np.ones(3), size=20)
    posterior[12:] = 0
    posterior[:, 1] = 0
    # no state has the first column, one of two does not have the last
    x[:12, 0] = np.nan
    x[rng.rand(20) < 0.3, 2] = np.nan
    posterior[np.ix_(rng.rand(20) < 0.5, [2])] = 0
    x[posterior[:, 2] > 0, 3] = np.nan
    floor = np.full(4, 1e-3)
    spare = rng.rand(20)
    model = fit_gaussians(x, posterior, floor, kind, spare=spare)
    mean, variance = enumerated(x, posterior, floor, kind, spare)
    np.testing.assert_allclose(model.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(model.covariance, variance, rtol=1e-12)
    # what is not missing is not changed by rows of which no state is known
    others = fit_gaussians(x[:12, 1:], posterior[:12], floor[1:], kind)
    np.testing.assert_allclose(model.mean[:, 1:], others.mean, rtol=1e-12)


@EVERY_KIND
def test_no_covariance_above_the_floor_is_more_probable(kind):
    x, posterior = rows()
    floor = np.array([0.4, 0.9])
    model = fit_gaussians(x, posterior, floor, kind)
    best = expected_log_likelihood(x, posterior, model)
    rng = np.random.RandomState(1)
    for matrix in model.matrices:
        assert np.linalg.eigvalsh(matrix - np.diag(floor)).min() > -1e-9
    tried = 0
    for _ in range(300):
        noise = rng.normal(size=model.covariance.shape) * rng.choice([1e-3, 1e-2, 0.1])
        if kind in ("full", "tied"):
            noise = noise + np.swapaxes(noise, -1, -2)
        other = model._replace(covariance=model.covariance + noise)
        least = min(np.linalg.eigvalsh(m - np.diag(floor)).min() for m in other.matrices)
        if least >= 0:
            tried += 1
            assert expected_log_likelihood(x, posterior, other) < best
    assert tried > 3


def test_only_covariances_below_the_floor_change():
    matrices = np.array([[[2.0, 0.5], [0.5, 3.0]], [[2.0, 1.9], [1.9, 2.0]]])
    changed = raised(matrices, np.array([0.5, 0.5]))
    np.testing.assert_array_equal(changed[0], matrices[0])
    np.testing.assert_allclose(np.linalg.eigvalsh(changed[1]), [0.5, 3.9])
    assert raised(matrices, np.zeros(2)) is matrices


@EVERY_KIND
def test_nothing_is_below_a_floor(kind):
    low = {
        "diag": np.full((3, 2), 0.1),
        "full": np.tile(0.1 * np.eye(2), (3, 1, 1)),
        "tied": 0.1 * np.eye(2),
        "spherical": np.full(3, 0.1),
    }
    floor = np.array([0.5, 2.0])
    bounded = above(Gaussians(np.zeros((3, 2)), low[kind], kind), floor)
    expected = np.full(2, 2.0) if kind == "spherical" else floor
    np.testing.assert_allclose(bounded.matrices, np.tile(np.diag(expected), (3, 1, 1)))
    np.testing.assert_array_equal(bounded.mean, np.zeros((3, 2)))


# ---------------------------------------------------------------- missing numbers


def with_gaps(x, share=0.3, seed=3):
    rng = np.random.RandomState(seed)
    return np.where(rng.uniform(size=x.shape) < share, np.nan, x)


def test_columns_have_the_moments_of_what_is_there():
    x, posterior = rows()
    gaps = with_gaps(x)
    diag = fit_gaussians(gaps, posterior, np.zeros(2))
    spherical = fit_gaussians(gaps, posterior, np.zeros(2), "spherical")
    for k in range(3):
        squares = 0.0
        mass = 0.0
        for c in range(2):
            there = ~np.isnan(gaps[:, c])
            values = gaps[there, c]
            weight = posterior[there, k]
            mean = np.average(values, weights=weight)
            assert diag.mean[k, c] == pytest.approx(mean)
            variance = np.average((values - mean) ** 2, weights=weight)
            assert diag.covariance[k, c] == pytest.approx(variance)
            squares += np.sum(weight * (values - mean) ** 2)
            mass += weight.sum()
        assert spherical.covariance[k] == pytest.approx(squares / mass)


def test_one_variance_of_a_state_that_lacks_a_column():
    x, posterior = rows(n=40, K=2)
    posterior = np.eye(2)[posterior.argmax(axis=1)]
    x[posterior[:, 0] == 1, 1] = np.nan
    model = fit_gaussians(x, posterior, np.zeros(2), "spherical")
    assert model.covariance[0] == pytest.approx(x[posterior[:, 0] == 1, 0].var())
    assert model.mean[0, 1] == pytest.approx(np.nanmean(x[:, 1]))


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_a_column_that_is_missing_wherever_states_are_known(kind):
    """Its numbers are expected as those of all rows."""
    x, _ = rows(n=40)
    codes = np.where(np.arange(40) < 20, np.arange(40) % 2, -1)
    x[:20, 1] = np.nan
    x[0, 1] = np.nan
    steps = number_steps(np.full(2, 1e-3), kind, 1, 0, one_cluster)
    guess = steps.begin(x, np.array([0, 40]), codes, np.ones(40), 2, np.random.RandomState(0))
    np.testing.assert_allclose(guess.mean[:, 1], x[20:, 1].mean())
    np.testing.assert_allclose(guess.mean[0, 0], x[:20:2, 0].mean())


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_expected_products_of_missing_numbers_by_drawing(kind):
    """Each missing number is drawn many times, given the others, in each state."""
    x, posterior = rows(n=8, d=3, K=2)
    gaps = with_gaps(x, 0.4)
    gaps[0] = np.nan
    assert len(patterns(gaps)) > 2
    rng = np.random.RandomState(0)
    root = rng.normal(size=(2, 3, 4))
    before = Gaussians(rng.normal(size=(2, 3)), root @ np.swapaxes(root, 1, 2), "full")
    n_draws = 20_000
    drawn = []
    weight = []
    for i in np.flatnonzero(~np.isnan(gaps).all(axis=1)):
        there = ~np.isnan(gaps[i])
        for k in range(2):
            inner = before.covariance[k]
            slope = inner[np.ix_(~there, there)] @ np.linalg.inv(inner[np.ix_(there, there)])
            values = np.tile(gaps[i], (n_draws, 1))
            if not there.all():
                mean = before.mean[k, ~there] + slope @ (gaps[i, there] - before.mean[k, there])
                rest = inner[np.ix_(~there, ~there)] - slope @ inner[np.ix_(there, ~there)]
                values[:, ~there] = (
                    multivariate_normal(mean, rest)
                    .rvs(n_draws, random_state=rng)
                    .reshape(n_draws, -1)
                )
            drawn.append(values)
            weight.append(np.tile(posterior[i] * (np.arange(2) == k), (n_draws, 1)))
    by_drawing = fit_gaussians(np.concatenate(drawn), np.concatenate(weight), np.zeros(3), kind)
    model = fit_gaussians(gaps, posterior, np.zeros(3), kind, before)
    np.testing.assert_allclose(model.mean, by_drawing.mean, atol=0.03)
    np.testing.assert_allclose(model.covariance, by_drawing.covariance, rtol=0.03, atol=0.05)


@EVERY_KIND
def test_steps_with_missing_numbers_raise_the_likelihood(kind):
    x, posterior = rows(n=60, d=3, K=2)
    gaps = with_gaps(x)
    gaps[5:8] = np.nan
    posterior = np.eye(2)[posterior.argmax(axis=1)]
    floor = least_variances(gaps, np.ones(60), 0.05)
    model = None
    values = []
    for _ in range(60):
        model = fit_gaussians(gaps, posterior, floor, kind, model)
        values.append(expected_log_likelihood(gaps, posterior, model))
    assert np.all(np.diff(values) >= -1e-9)
    assert values[-1] - values[-2] < 1e-3
    if kind in ("diag", "spherical"):
        np.testing.assert_allclose(values, values[0])


@EVERY_KIND
def test_rows_without_numbers_and_states_without_rows(kind):
    x, posterior = rows()
    gaps = with_gaps(x)
    more = np.vstack([gaps, np.full((4, 2), np.nan)])
    weight = np.vstack([posterior, np.full((4, 3), 1 / 3)])
    floor = np.full(2, 1e-3)
    with_rows = fit_gaussians(more, weight, floor, kind)
    without = fit_gaussians(gaps, posterior, floor, kind)
    np.testing.assert_allclose(with_rows.mean, without.mean)
    np.testing.assert_allclose(with_rows.covariance, without.covariance)
    # a state that only rows without numbers have
    weight[:30, 1] = 0
    model = fit_gaussians(more, weight, floor, kind)
    assert np.all(np.isfinite(model.mean))
    np.linalg.cholesky(model.matrices)
