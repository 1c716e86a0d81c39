"""Pairs by bits against pairs by sets."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR
from sklearn_struct.linear.observed_feature_labels import observed
from sklearn_struct.objectives import weight_patterns


@pytest.mark.parametrize("width", [1, 3, 63, 64, 65, 128, 300])
def test_pairs(width):
    rng = np.random.default_rng(width)
    X = sp.random(50, 12, density=0.2, format="csr", random_state=rng)
    X.data[::3] = 0.0  # stored is what counts
    codes = rng.integers(width, size=50).astype(np.int32)
    codes[:2] = 0, width - 1
    found = observed(
        CSR(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data), codes, 12, width
    )
    expected = sorted(
        {
            (int(f), int(codes[t]))
            for t in range(50)
            for f in X.indices[X.indptr[t] : X.indptr[t + 1]]
        }
    )
    features = np.repeat(np.arange(12), np.diff(found.indptr))
    assert list(zip(features.tolist(), found.indices.tolist(), strict=True)) == expected
    assert (found.indptr.dtype, found.indices.dtype) == (np.int64, np.int32)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (4, 3)])
def test_nothing_stored(shape):
    X = sp.csr_array(shape)
    codes = np.zeros(shape[0], dtype=np.int32)
    found = observed(
        CSR(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data), codes, shape[1], 2
    )
    assert len(found.indices) == 0
    np.testing.assert_array_equal(found.indptr, np.zeros(shape[1] + 1))


@pytest.mark.parametrize("width", [2, 70])
def test_the_same_as_by_counts(width, monkeypatch):
    """Also of unsorted rows and duplicates."""
    rng = np.random.default_rng(0)
    indices = rng.integers(9, size=200).astype(np.int32)
    indptr = np.arange(0, 201, 10)
    X = sp.csr_array((np.ones(200), indices, indptr), shape=(20, 9))
    arguments = X, rng.integers(width, size=20).astype(np.int32), np.ones(20), width, 1
    by_bits = weight_patterns.observed_pairs(*arguments)
    monkeypatch.setattr(weight_patterns, "BITS", 0)
    by_counts = weight_patterns.observed_pairs(*arguments)
    np.testing.assert_array_equal(by_bits.indptr, by_counts.indptr)
    np.testing.assert_array_equal(by_bits.indices, by_counts.indices)
