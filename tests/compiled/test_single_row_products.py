"""Products of one padded row against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.compiled.single_row_products import single_row_times_matrix

# of one to nine vectors: all tiles, and sums of even and of odd numbers
SHAPES = [
    (1, 8),
    (3, 8),
    (8, 8),
    (9, 16),
    (16, 16),
    (22, 24),
    (25, 32),
    (39, 40),
    (50, 56),
    (69, 72),
]


@pytest.mark.twins
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "width"), SHAPES)
def test_single_row_times_matrix(n, width, dtype):
    rng = np.random.default_rng(n)
    row = np.zeros(3 + width, dtype)
    row[3 : 3 + n] = rng.normal(size=n)
    matrix = np.zeros((n + n % 2, width), dtype)
    matrix[:n] = rng.normal(size=(n, width))
    out = np.full(5 + width + 5, 7.0, dtype=dtype)
    single_row_times_matrix(row, 3, matrix.ravel(), n, width, out, 5)
    digits = 1e-13 if dtype == np.float64 else 3e-5
    expected = row[3 : 3 + n].astype(float) @ matrix[:n]
    np.testing.assert_allclose(out[5 : 5 + width], expected, rtol=0, atol=digits)
    assert np.all(out[:5] == 7.0)
    assert np.all(out[5 + width :] == 7.0)
