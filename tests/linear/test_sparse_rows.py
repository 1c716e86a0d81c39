"""F w and F' r are those of scipy, with the same bits on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.linear.sparse_rows import SparseRows
from sklearn_struct.threads import Pool


@pytest.mark.parametrize("shape", [(50, 7), (1, 1), (3, 40), (5, 0)])
def test_products(shape):
    rng = np.random.default_rng(0)
    F = sp.csr_array((rng.random(shape) < 0.3) * rng.normal(size=shape))
    rows = SparseRows(F)
    w, r = rng.normal(size=shape[1]), rng.normal(size=shape[0])
    with Pool(1) as one, Pool(3) as three:
        np.testing.assert_allclose(rows.forward(one, w), F @ w, atol=1e-14)
        np.testing.assert_allclose(rows.transpose(one, r), F.T @ r, atol=1e-14)
        assert rows.forward(one, w).tobytes() == rows.forward(three, w).tobytes()
        assert rows.transpose(one, r).tobytes() == rows.transpose(three, r).tobytes()
