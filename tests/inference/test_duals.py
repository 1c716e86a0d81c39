"""Products of rows of dual numbers against numpy, compiled and without the JIT."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.inference import duals

pytestmark = pytest.mark.twins


def split(rows, K):
    """Values and derivatives, without the padding."""
    P = rows.shape[1] // 2
    return rows[:, :K], rows[:, P : P + K]


def random_rows(rng, n, K):
    rows = duals.duals(n, K)
    for part in split(rows, K):
        part[:] = rng.normal(size=part.shape)
    return rows


@pytest.mark.parametrize("K", [1, 3, 9])
def test_transpose_duals(K):
    matrix, out = random_rows(np.random.default_rng(K), K, K), duals.duals(K, K)
    duals.transpose_duals(matrix, out)
    for part, expected in zip(split(out, K), split(matrix, K)):
        np.testing.assert_array_equal(part, expected.T)


@pytest.mark.parametrize("K", [1, 3, 8, 9, 22])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7])
def test_rows_times_duals(n, K):
    """The product rule; rows around those that are written stay as they are."""
    rng = np.random.default_rng(K)
    x, matrix, out = random_rows(rng, 2 + n + duals.SPARE, K), random_rows(rng, K, K), duals.duals(n + 3, K) + 7.0
    duals.rows_times_duals(x, 2, n, matrix, out, 1)
    (value, slope), (m, dm) = split(x[2 : 2 + n], K), split(matrix, K)
    found, found_slope = split(out[1 : n + 1], K)
    np.testing.assert_allclose(found, value @ m, atol=1e-13)
    np.testing.assert_allclose(found_slope, slope @ m + value @ dm, atol=1e-13)
    assert np.all(out[[0, n + 1, n + 2]] == 7.0)


@pytest.mark.parametrize("K", [1, 3, 8, 9, 22])
@pytest.mark.parametrize("n", [0, 1, 5, duals.CACHED + 1])
def test_add_outer_duals(n, K):
    rng = np.random.default_rng(K)
    x, y, out = random_rows(rng, n + 1, K), random_rows(rng, n + 1, K), duals.duals(duals.padded(K), K) + 7.0
    duals.add_outer_duals(x, y, n, out)
    (value, slope), (other, other_slope) = split(x[:n], K), split(y[:n], K)
    found, found_slope = split(out[:K], K)
    np.testing.assert_allclose(found, 7.0 + value.T @ other, atol=1e-12)
    np.testing.assert_allclose(found_slope, 7.0 + slope.T @ other + value.T @ other_slope, atol=1e-12)
