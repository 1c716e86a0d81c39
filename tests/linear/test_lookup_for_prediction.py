"""The map of predictions against dense numpy and against the map of fits."""

from __future__ import annotations

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct.compiled.simd import aligned
from sklearn_struct.containers.csr import csr
from sklearn_struct.linear.lookup_for_prediction import Lookup, LookupMap
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.vectors_side_by_side import put

WIDTHS = [1, 3, 8, 9, 22, 25, 50]


def pairs_of(mask):
    return csr(sp.csr_array(mask.astype(float)))


def potentials(map_, w, rows, width):
    W = aligned(map_.expanded_size, map_.dtype)
    map_.expand(w, W)
    out = np.full((rows.stop - rows.start, width), np.nan, dtype=map_.dtype)
    map_.forward(W, rows, out)
    return out


def dense(w, mask):
    W = np.zeros(mask.shape)
    W[mask] = w
    return W


def case(width, n=60, m=40):
    """Empty rows, features without pairs, with one, with all, and features that no token has."""
    rng = np.random.default_rng(width)
    X = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.2)
    X[[3, 17, n - 1]] = 0.0
    X[:, [5, 6]] = 0.0
    mask = rng.random((m, width)) < 0.3
    mask[[0, 5]] = True
    mask[[1, 2, 6]] = False
    mask[[2, 6], width // 2] = True
    return X, mask, rng.normal(size=mask.sum())


@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 1e-12), (np.float32, 3e-5)])
@pytest.mark.parametrize("width", WIDTHS)
def test_forward(width, dtype, digits):
    X, mask, w = case(width)
    map_ = LookupMap(csr(X.astype(dtype)), Lookup(pairs_of(mask), width))
    assert (map_.size, map_.dtype) == (mask.sum(), dtype)
    for rows in (slice(0, 60), slice(7, 23), slice(9, 9), slice(59, 60)):
        found = potentials(map_, w, rows, width)
        np.testing.assert_allclose(found, X[rows] @ dense(w, mask), atol=digits)


@pytest.mark.parametrize("width", WIDTHS)
def test_as_the_map_of_fits(width):
    X, mask, w = case(width)
    maps = LookupMap(csr(X), Lookup(pairs_of(mask), width)), RowsMap(csr(X), pairs_of(mask), width)
    found, expected = (potentials(map_, w, slice(0, 60), width) for map_ in maps)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_blocks_do_not_show():
    X, mask, w = case(22)
    map_ = LookupMap(csr(X), Lookup(pairs_of(mask), 22))
    parts = [potentials(map_, w, slice(i, i + 10), 22) for i in range(0, 60, 10)]
    np.testing.assert_array_equal(np.concatenate(parts), potentials(map_, w, slice(0, 60), 22))


@pytest.mark.parametrize("width", WIDTHS)
def test_several_vectors_side_by_side(width):
    X, mask, w = case(width)
    map_ = LookupMap(csr(X), Lookup(pairs_of(mask), width))
    scales = np.array([0.5, -2.0])
    vectors = [aligned(map_.expanded_size, map_.dtype) for _ in scales]
    W = aligned(2 * map_.expanded_size, map_.dtype)
    out = np.full((16, width), np.nan)
    for c, vector in enumerate(vectors):
        map_.expand((c + 1) * w, vector)
        put(vector, 2, c, map_.grains, W)
    map_.forward(W, slice(7, 23), out, scales)
    np.testing.assert_allclose(out, (0.5 - 4.0) * X[7:23] @ dense(w, mask), atol=1e-12)


def test_one_table_for_many_X():
    _, mask, w = case(9)
    lookup = Lookup(pairs_of(mask), 9)
    rng = np.random.default_rng(0)
    for n in (1, 5, 80):
        other = rng.normal(size=(n, 40)) * (rng.random((n, 40)) < 0.5)
        found = potentials(LookupMap(csr(other), lookup), w, slice(0, n), 9)
        np.testing.assert_allclose(found, other @ dense(w, mask), atol=1e-12)


def test_any_order_and_duplicates():
    """X is read as it is stored, explicit zeros included."""
    _, mask, w = case(9)
    columns = np.array([7, 2, 7, 0, 2, 2, 39, 1])
    values = np.array([1.0, 2.0, 3.0, 0.0, 4.0, -1.0, 0.5, 7.0])
    X = sp.csr_array((values, columns, np.array([0, 4, 4, 8])), shape=(3, 40))
    map_ = LookupMap(csr(X, canonical=False), Lookup(pairs_of(mask), 9))
    np.testing.assert_allclose(
        potentials(map_, w, slice(0, 3), 9), X.toarray() @ dense(w, mask), atol=1e-12
    )
    assert X.indices.tolist() == columns.tolist()


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.integers(0, 30),
    st.integers(1, 30),
    st.floats(0, 1),
)
@settings(max_examples=60)
def test_any_shape(seed, width, n, m, density):
    """Also without rows, without weights, and with explicit zeros."""
    rng = np.random.default_rng(seed)
    X, sparse, mask = naive.random_map(rng, width, (n, m), density)
    w = rng.normal(size=mask.sum())
    found = potentials(LookupMap(sparse, Lookup(pairs_of(mask), width)), w, slice(0, n), width)
    np.testing.assert_allclose(found, X @ dense(w, mask), atol=1e-12)
