"""Products of rows of dual numbers against numpy, compiled and without the JIT."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.inference.chains import dual_numbers

pytestmark = pytest.mark.twins


def split(rows, K):
    """Values and derivatives, without the padding."""
    P = rows.shape[1] // 2
    return rows[:, :K], rows[:, P : P + K]


def random_rows(rng, n, K):
    rows = dual_numbers.duals(n, K)
    for part in split(rows, K):
        part[:] = rng.normal(size=part.shape)
    return rows


@pytest.mark.parametrize("K", [1, 3, 9])
def test_transpose_duals(K):
    matrix = random_rows(np.random.default_rng(K), K, K)
    out = dual_numbers.duals(K, K)
    dual_numbers.transpose_duals(matrix, out)
    for part, expected in zip(split(out, K), split(matrix, K)):
        np.testing.assert_array_equal(part, expected.T)


@pytest.mark.parametrize("K", [1, 3, 8, 9, 22])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7])
def test_rows_times_duals(n, K):
    """The product rule; rows around those that are written stay as they are."""
    rng = np.random.default_rng(K)
    x = random_rows(rng, 2 + n + dual_numbers.SPARE, K)
    matrix = random_rows(rng, K, K)
    out = dual_numbers.duals(n + 3, K) + 7.0
    dual_numbers.rows_times_duals(x, 2, n, matrix, out, 1)
    value, slope = split(x[2 : 2 + n], K)
    m, dm = split(matrix, K)
    found, found_slope = split(out[1 : n + 1], K)
    np.testing.assert_allclose(found, value @ m, atol=1e-13)
    np.testing.assert_allclose(found_slope, slope @ m + value @ dm, atol=1e-13)
    assert np.all(out[[0, n + 1, n + 2]] == 7.0)


@pytest.mark.parametrize("K", [1, 3, 8, 9, 22])
@pytest.mark.parametrize("n", [0, 1, 5, dual_numbers.CACHED + 1])
def test_add_outer_duals(n, K):
    rng = np.random.default_rng(K)
    x = random_rows(rng, n + 1, K)
    y = random_rows(rng, n + 1, K)
    out = dual_numbers.duals(dual_numbers.padded(K), K) + 7.0
    dual_numbers.add_outer_duals(x, y, n, out)
    value, slope = split(x[:n], K)
    other, other_slope = split(y[:n], K)
    found, found_slope = split(out[:K], K)
    np.testing.assert_allclose(found, 7.0 + value.T @ other, atol=1e-12)
    np.testing.assert_allclose(
        found_slope, 7.0 + slope.T @ other + value.T @ other_slope, atol=1e-12
    )
