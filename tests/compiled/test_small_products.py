"""Small products on padded rows against numpy, compiled and as numpy twins of their vectors."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.compiled import small_products

INF = np.inf
DTYPES = [np.float64, np.float32]
SHAPES = [
    (1, 8),
    (3, 8),
    (8, 8),
    (9, 16),
    (17, 24),
    (22, 24),
    (25, 32),
    (50, 56),
    (64, 64),
    (101, 104),
]
N_ROWS = [0, 1, 2, 3, 4, 6, 9]


def padded_rows(rng, n_rows, n, width, dtype):
    """Rows of n numbers and padding, flat, with three numbers before them."""
    A = np.zeros((n_rows, width), dtype=dtype)
    A[:, :n] = rng.normal(size=(n_rows, n))
    return A, np.append(np.full(3, 9.0, dtype), A.ravel())


def assert_wrote(out, start, expected):
    digits = 1e-13 if out.dtype == np.float64 else 3e-5
    np.testing.assert_allclose(
        out[start : start + expected.size], expected.ravel(), rtol=0, atol=digits
    )
    assert np.all(out[:start] == 7.0)
    assert np.all(out[start + expected.size :] == 7.0)


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_rows", N_ROWS)
@pytest.mark.parametrize(("n", "width"), SHAPES)
def test_rows_times_matrix(n, width, n_rows, dtype):
    rng = np.random.default_rng(n)
    A, flat = padded_rows(rng, n_rows, n, width, dtype)
    matrix = rng.normal(size=(n, width)).astype(dtype)
    out = np.full(5 + n_rows * width + 5, 7.0, dtype=dtype)
    small_products.rows_times_matrix(flat, 3, n_rows, matrix.ravel(), n, width, out, 5)
    assert_wrote(out, 5, A[:, :n].astype(float) @ matrix)
    for r in range(n_rows):  # a row alone has the same bits
        alone = np.empty(width, dtype)
        small_products.rows_times_matrix(flat, 3 + r * width, 1, matrix.ravel(), n, width, alone, 0)
        np.testing.assert_array_equal(alone, out[5 + r * width : 5 + (r + 1) * width])


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "width"), SHAPES)
def test_matrix_times_row(n, width, dtype):
    rng = np.random.default_rng(n)
    row = rng.normal(size=3 + width).astype(dtype)
    matrix = rng.normal(size=(n, width)).astype(dtype)
    out = np.full(5 + n + 5, 7.0, dtype=dtype)
    small_products.matrix_times_row(matrix.ravel(), n, width, row, 3, out, 5)
    assert_wrote(out, 5, matrix.astype(float) @ row[3:])


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_rows", N_ROWS)
@pytest.mark.parametrize(("n", "width"), SHAPES)
def test_rows_max_plus(n, width, n_rows, dtype):
    rng = np.random.default_rng(n)
    A, flat = padded_rows(rng, n_rows, n, width, dtype)
    matrix = rng.normal(size=(n, width)).astype(dtype)
    A[:, 0] = flat[3::width] = -INF
    matrix[0, 0] = -INF
    out = np.full(5 + n_rows * width + 5, 7.0, dtype=dtype)
    small_products.rows_max_plus(flat, 3, n_rows, matrix.ravel(), n, width, out, 5)
    assert_wrote(out, 5, (A[:, :n, None] + matrix).max(axis=1))


@pytest.mark.twins
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_rows", N_ROWS)
@pytest.mark.parametrize(("n", "width"), SHAPES)
def test_add_outer(n, width, n_rows, dtype):
    rng = np.random.default_rng(n)
    A, flat = padded_rows(rng, n_rows, n, width, dtype)
    V = rng.normal(size=(n_rows, width)).astype(dtype)
    n4 = -(-n // 4) * 4
    out = np.full(n4 * width + 5, 7.0, dtype=dtype)
    out[: n4 * width] = 1.0
    small_products.add_outer(
        flat, 3, np.append(np.ones(2, dtype), V.ravel()), 2, n_rows, n4, width, out
    )
    digits = 1e-13 if dtype == np.float64 else 3e-5
    np.testing.assert_allclose(
        out[: n4 * width].reshape(n4, width), 1 + A[:, :n4].astype(float).T @ V, atol=digits
    )
    assert np.all(out[n4 * width :] == 7.0)
