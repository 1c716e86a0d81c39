"""The largest weights of a label, with ties and zeros."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.inspection.largest_weights import _largest

ROW = np.array([[2.0, 0.0, -2.0, 1.0, 2.0, -3.0]])


@pytest.mark.parametrize("matrix", [ROW, sp.csr_array(ROW)], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("n", "sign", "columns"),
    [
        (None, "both", [0, 4, 3, 2, 5]),
        (2, "both", [0, 5]),
        (3, "both", [0, 2, 5]),
        (2, "positive", [0, 4]),
        (9, "positive", [0, 4, 3]),
        (1, "negative", [5]),
        (None, "negative", [2, 5]),
    ],
)
def test_largest(matrix, n, sign, columns):
    found, weights = _largest(matrix, 0, n, sign)
    assert found.tolist() == columns
    assert weights.tolist() == ROW[0, columns].tolist()
