"""F w and F' r are those of scipy, with the same bits on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.linear.sparse_rows import Dual, SparseRows


@pytest.mark.parametrize("shape", [(50, 7), (1, 1), (3, 40), (5, 0)])
def test_products(shape):
    rng = np.random.default_rng(0)
    F = sp.csr_array((rng.random(shape) < 0.3) * rng.normal(size=shape))
    rows = SparseRows(F)
    w = rng.normal(size=shape[1])
    r = rng.normal(size=shape[0])
    with Pool(1) as one, Pool(3) as three:
        np.testing.assert_allclose(rows.forward(one, w), F @ w, atol=1e-14)
        np.testing.assert_allclose(rows.transpose(one, r), F.T @ r, atol=1e-14)
        assert rows.forward(one, w).tobytes() == rows.forward(three, w).tobytes()
        assert rows.transpose(one, r).tobytes() == rows.transpose(three, r).tobytes()


def test_ascend():
    """A step makes the row's factor exp(log weight - score), and w follows from all factors."""
    rng = np.random.default_rng(0)
    F = (rng.random((12, 6)) < 0.6) * rng.normal(size=(12, 6))
    F[:, -1] = rng.random(12) < 0.7  # the last entry has a scale of its own
    scales = np.array([0.3, 2.0])
    linear = rng.normal(size=6)
    log_weight = rng.normal(size=12)
    of_entries = np.array([scales[0]] * 5 + [scales[1]])
    dual = Dual(rng.uniform(0.5, 2.0, size=12), F**2 @ of_entries)
    w = of_entries * (F.T @ dual.factors - linear)
    rows = SparseRows(sp.csr_array(F))
    for r in rng.integers(0, 12, size=30):
        others = np.delete(dual.factors, r)
        rows.ascend(np.array([r]), log_weight, scales, w, dual)
        assert np.log(dual.factors[r]) == pytest.approx(log_weight[r] - F[r] @ w, abs=1e-12)
        np.testing.assert_array_equal(np.delete(dual.factors, r), others)
        np.testing.assert_allclose(w, of_entries * (F.T @ dual.factors - linear), atol=1e-12)
