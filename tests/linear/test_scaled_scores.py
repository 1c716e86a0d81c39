"""Scores times a weight, against dense numpy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.linear.scaled_scores import ScaleMap
from sklearn_struct.linear.vectors_side_by_side import ONE


def case(n_scales, dtype=np.float64, n=70_000, width=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, width)).astype(dtype)
    return ScaleMap(X, n_scales), X, rng


@pytest.mark.parametrize("n_scales", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forward(n_scales, dtype):
    to_scores, X, rng = case(n_scales, dtype, n=50)
    w = rng.normal(size=n_scales)
    W = np.empty(to_scores.expanded_size, dtype)
    to_scores.expand(w, W)
    assert_allclose(to_scores.compress(W), w, rtol=1e-6)
    out = np.empty((20, 3), dtype)
    to_scores.forward(W, slice(10, 30), out)
    assert_allclose(out, X[10:30] * w, rtol=1e-5)
    both = np.concatenate([W, W])
    to_scores.forward(both, slice(10, 30), out, np.array([0.5, 2.0]))
    assert_allclose(out, 2.5 * X[10:30] * w, rtol=1e-5)


@pytest.mark.parametrize("n_scales", [1, 3])
def test_scatter_and_transpose(n_scales):
    to_scores, X, rng = case(n_scales)
    R = rng.normal(size=X.shape)
    expected = np.sum(X * R, axis=0)
    expected = expected if n_scales > 1 else expected.sum(keepdims=True)
    W = np.ones(2 * n_scales)
    to_scores.scatter(R, slice(0, len(R)), np.array([1.0, -2.0]), W)
    assert_allclose(W, 1 + np.concatenate([expected, -2 * expected]), rtol=1e-9)
    W = np.zeros(n_scales)
    to_scores.scatter(R[:5], slice(3, 8), ONE, W)
    assert_allclose(W.sum(), np.sum(X[3:8] * R[:5]))
    outs = []
    for n_jobs in (1, 2):
        windows = [slice(0, 150), slice(150, len(R))]
        transpose = to_scores.transpose(np.dtype(np.float64), windows)
        outs.append(np.zeros(n_scales))
        with Pool(n_jobs) as pool:
            for w, (start, middle, stop) in enumerate([(0, 100, 150), (150, 200, len(R))]):
                transpose.put(R[start:middle], slice(start, middle), start)
                transpose.put(R[middle:stop], slice(middle, stop), start)
                transpose.add(pool, w, outs[-1])
    assert_allclose(outs[0], expected, rtol=1e-9)
    assert_array_equal(*outs)
