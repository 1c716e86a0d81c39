"""The linear maps against dense numpy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.csr import csr
from sklearn_struct.linear.dense import DenseMap
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.pairs import PairsMap
from sklearn_struct.linear.sparse_beside_dense import SumMap, first_rows
from sklearn_struct.linear.vectors_side_by_side import ONE, compress_of, expand_of, put, take

WIDTHS = [1, 3, 8, 9, 22, 25, 50, 130]
KINDS = ["dense", "rows", "pairs", "sum"]


class Case(NamedTuple):
    """A map with its dense twin: X (n, m), and the pairs (feature, label) that have a weight (m,
    width).
    """

    map: Any
    X: np.ndarray
    mask: np.ndarray

    def weights(self, rng):
        """Random compact weights, and the same as a dense matrix; the order is by feature, then
        label.
        """
        w = rng.normal(size=self.map.size)
        W = np.zeros(self.mask.shape)
        W[self.mask] = w
        return w, W


def make(kind, width, dtype=np.float64, n=60, m=40):
    """Empty rows, features without pairs, with one, with all, and features that no token has."""
    rng = np.random.default_rng(width)
    X = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.2)
    X[[3, 17, n - 1]] = 0.0
    X[:, [5, 6]] = 0.0
    X = X.astype(dtype)
    if kind == "dense":
        return Case(DenseMap(X, width), X, np.ones((m, width), dtype=bool))
    mask = rng.random((m, width)) < 0.3
    mask[[0, 5]] = True
    mask[[1, 2, 6]] = False
    mask[[2, 6], width // 2] = True
    # of many labels a few: no row of weights, but a list
    mask[8:14] = False
    mask[8:14, [0, width // 3, width - 1]] = True
    pairs = csr(sp.csr_array(mask.astype(float)))
    if kind == "sum":
        n_sparse = m - 15
        mask[n_sparse:] = True
        left = RowsMap(csr(X[:, :n_sparse]), first_rows(pairs, n_sparse), width)
        right = DenseMap(np.ascontiguousarray(X[:, n_sparse:]), width)
        return Case(SumMap(left, right), X, mask)
    return Case(
        PairsMap(csr(X), pairs) if kind == "pairs" else RowsMap(csr(X), pairs, width), X, mask
    )


@pytest.fixture(
    params=[(kind, width) for kind in KINDS for width in WIDTHS], ids=lambda p: f"{p[0]}-{p[1]}"
)
def case(request):
    return make(*request.param)


def expand(case, w, dtype=None):
    W = np.zeros(case.map.expanded_size, dtype or case.X.dtype)
    case.map.expand(w, W)
    return W


def transpose(case, R, n_jobs=1, n_windows=1):
    """Put in two blocks a window."""
    bounds = np.linspace(0, len(R), n_windows + 1).astype(int)
    windows = [slice(*pair) for pair in pairwise(bounds.tolist())]
    product = case.map.transpose(case.X.dtype, windows)
    with Pool(n_jobs) as pool:
        out = of_windows(product, windows, R, pool, case.map.size)
        again = of_windows(product, windows, R, pool, case.map.size)
    np.testing.assert_array_equal(again, out)  # nothing is left over from the first call
    return out


def of_windows(product, windows, R, pool, size):
    out = np.zeros(size)
    for w, window in enumerate(windows):
        middle = (window.start + window.stop) // 2
        for rows in (slice(window.start, middle), slice(middle, window.stop)):
            product.put(R[rows], rows, window.start)
        product.add(pool, w, out)
    return out


def assert_forward(case, W, expanded, digits):
    n = len(case.X)
    for rows in (slice(0, n), slice(7, 23), slice(9, 9), slice(n - 1, n)):
        out = np.full((rows.stop - rows.start, case.mask.shape[1]), np.nan, dtype=expanded.dtype)
        case.map.forward(expanded, rows, out)
        np.testing.assert_allclose(out, case.X[rows].astype(float) @ W, atol=digits)


def assert_scatter(case, rng, expanded, digits):
    """On top of what is there, by blocks of rows."""
    before = np.array(case.map.compress(expanded))
    for rows in (slice(7, 23), slice(9, 9), slice(len(case.X) - 2, len(case.X))):
        R = rng.normal(size=(rows.stop - rows.start, case.mask.shape[1]))
        case.map.scatter(R, rows, np.array([-0.5]), expanded)
        before = before - 0.5 * (case.X[rows].astype(float).T @ R)[case.mask]
    np.testing.assert_allclose(case.map.compress(expanded), before, atol=digits)


def test_sizes(case):
    assert case.map.size == case.mask.sum()
    assert case.map.compress(np.zeros(case.map.expanded_size)).shape == (case.map.size,)


def test_expand_and_compress(case):
    """Nothing is lost of the features that X has; there is nothing to know of the others."""
    w, W = case.weights(np.random.default_rng(0))
    found = np.zeros(case.mask.shape)
    found[case.mask] = case.map.compress(expand(case, w))
    occurs = case.X.any(axis=0)
    np.testing.assert_array_equal(found[occurs], W[occurs])


def test_forward(case):
    w, W = case.weights(np.random.default_rng(0))
    assert_forward(case, W, expand(case, w), 1e-12)


def test_several_vectors_side_by_side(case):
    """A scaled sum of their products, and the transpose, scaled for each on its own."""
    rng = np.random.default_rng(0)
    rows = slice(7, 23)
    scales = np.array([0.5, -2.0, 0.0])
    vectors = [expand(case, case.weights(rng)[0]) for _ in range(3)]
    W = np.empty(3 * case.map.expanded_size)
    changed = np.empty(case.map.expanded_size)
    for c, vector in enumerate(vectors):
        put(vector, 3, c, case.map.grains, W)
    R = rng.normal(size=(rows.stop - rows.start, case.mask.shape[1]))
    found = np.empty_like(R)
    expected = np.zeros_like(R)
    one = np.empty_like(R)
    case.map.forward(W, rows, found, scales)
    case.map.scatter(R, rows, scales, W)
    for c, (scale, vector) in enumerate(zip(scales, vectors, strict=True)):
        case.map.forward(vector, rows, one)
        expected += scale * one
        case.map.scatter(R, rows, np.array([scale]), vector)
        take(W, 3, c, case.map.grains, changed)
        np.testing.assert_allclose(changed, vector, atol=1e-14)
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_one_of_several_vectors(case):
    """What is compact goes to its place among others and comes back, without their notice."""
    rng = np.random.default_rng(0)
    vectors = [expand(case, case.weights(rng)[0]) for _ in range(3)]
    together = np.empty(3 * case.map.expanded_size)
    for c, vector in enumerate(vectors):
        put(vector, 3, c, case.map.grains, together)
    W = np.zeros_like(together)
    for c, vector in enumerate(vectors):
        w = case.map.compress(vector)
        expand_of(case.map, w, W, 3, c)
        found = np.full_like(w, np.nan)
        compress_of(case.map, together, 3, c, found)
        np.testing.assert_array_equal(found, w)
    for c, vector in enumerate(vectors):
        found = np.full(case.map.size, np.nan)
        compress_of(case.map, W, 3, c, found)
        np.testing.assert_array_equal(found, case.map.compress(vector))
    np.testing.assert_array_equal(W, together)


def test_scatter(case):
    rng = np.random.default_rng(0)
    _, W = case.weights(rng)
    W[~case.X.any(axis=0)] = 0.0
    assert_scatter(case, rng, expand(case, W[case.mask]), 1e-12)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["dense", "rows"])
def test_transpose(kind, width):
    case = make(kind, width)
    R = np.random.default_rng(0).normal(size=(len(case.X), width))
    found = transpose(case, R)
    assert found.shape == (case.map.size,)
    np.testing.assert_allclose(found, (case.X.T @ R)[case.mask], atol=1e-12)


@pytest.mark.parametrize("n_windows", [2, 7])
@pytest.mark.parametrize("width", [1, 22, 130])
@pytest.mark.parametrize("kind", ["dense", "rows", "sum"])
def test_transpose_in_windows(kind, width, n_windows):
    """Residuals need room for one window alone; the sum over all of them is the same."""
    case = make(kind, width)
    R = np.random.default_rng(0).normal(size=(len(case.X), width))
    found = transpose(case, R, n_windows=n_windows)
    np.testing.assert_allclose(found, (case.X.T @ R)[case.mask], atol=1e-12)
    np.testing.assert_array_equal(transpose(case, R, 3, n_windows), found)


@pytest.mark.parametrize("width", [1, 9, 22, 130])
@pytest.mark.parametrize("kind", KINDS)
def test_float32(kind, width):
    """Tables, potentials and residuals are float32, sums of parts float64; stochastic solvers keep
    float64 tables.
    """
    rng = np.random.default_rng(0)
    case = make(kind, width, np.float32)
    w, W = case.weights(rng)
    expanded = expand(case, w)
    assert expanded.dtype == np.float32
    assert_forward(case, W, expanded, 3e-5)
    assert_forward(case, W, expanded.astype(float), 3e-5)
    W[~case.X.any(axis=0)] = 0.0
    assert_scatter(case, rng, expand(case, W[case.mask], float), 1e-12)
    if kind != "pairs":
        R = rng.normal(size=(len(case.X), width))
        found = transpose(case, R)
        np.testing.assert_allclose(found, (case.X.astype(float).T @ R)[case.mask], atol=3e-5)


@pytest.mark.parametrize("kind", ["dense", "rows"])
def test_same_bits_for_any_number_of_threads(kind):
    case = make(kind, 22, n=3000, m=200)
    R = np.random.default_rng(0).normal(size=(3000, 22))
    first = transpose(case, R)
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(transpose(case, R, n_jobs), first)


def test_more_features_than_the_cache_holds():
    """Frequent and rare features take different ways to the same gradient."""
    rng = np.random.default_rng(0)
    n = 1500
    m = 6000
    width = 22
    X = sp.csr_array(rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.005))
    mask = rng.random((m, width)) < 0.15
    case = Case(RowsMap(csr(X), csr(sp.csr_array(mask.astype(float))), width), X, mask)
    R = rng.normal(size=(n, width))
    found = transpose(case, R)
    np.testing.assert_allclose(found, (X.T @ R)[mask], atol=1e-12)
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(transpose(case, R, n_jobs), found)
    w, W = case.weights(rng)
    out = np.empty((n, width))
    case.map.forward(expand(case, w), slice(0, n), out)
    np.testing.assert_allclose(out, X @ W, atol=1e-12)


def test_the_order_of_features_and_equal_counts_do_not_matter():
    """Renumbering by frequency is nobody else's business."""
    rng = np.random.default_rng(0)
    case = make("rows", 9)
    order = rng.permutation(40)
    X = np.ascontiguousarray(case.X[:, order])
    mask = case.mask[order]
    moved = Case(RowsMap(csr(X), csr(sp.csr_array(mask.astype(float))), 9), X, mask)
    R = rng.normal(size=(60, 9))
    grad = np.zeros((40, 9))
    moved_grad = np.zeros((40, 9))
    grad[case.mask] = transpose(case, R)
    moved_grad[mask] = transpose(moved, R)
    np.testing.assert_allclose(moved_grad, grad[order], atol=1e-12)


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
    case = Case(RowsMap(sparse, csr(sp.csr_array(mask.astype(float))), width), X, mask)
    w, W = case.weights(rng)
    out = np.empty((n, width))
    R = rng.normal(size=(n, width))
    case.map.forward(expand(case, w), slice(0, n), out)
    np.testing.assert_allclose(out, X @ W, atol=1e-12)
    np.testing.assert_allclose(transpose(case, R), (X.T @ R)[mask], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_scatter_of_equal_numbers(kind):
    """Rows of zeros may be passed over, and no others."""
    case = make(kind, 9)
    for number in (0.0, 1.0, -1.0):
        W = np.zeros(case.map.expanded_size)
        R = np.full((len(case.X), 9), number)
        case.map.scatter(R, slice(0, len(case.X)), ONE, W)
        np.testing.assert_allclose(case.map.compress(W), (case.X.T @ R)[case.mask], atol=1e-12)


@pytest.mark.parametrize("width", [3, 9, 22, 130])
def test_scatter_gives_no_weight_to_unobserved_pairs(width):
    """An expanded table that stays, as a stochastic solver's does, must stay a table of observed
    pairs.
    """
    rng = np.random.default_rng(0)
    case = make("rows", width)
    W = np.zeros(case.map.expanded_size)
    case.map.scatter(rng.normal(size=(len(case.X), width)), slice(0, len(case.X)), ONE, W)
    assert np.any(W != 0)
    np.testing.assert_array_equal(expand(case, case.map.compress(W)), W)


@pytest.mark.parametrize(("n", "m", "width"), [(3000, 40, 22), (130, 500, 31), (130, 500, 32)])
def test_dense_products_in_pieces(n, m, width):
    """Products of narrow matrices are made in pieces of some rows, the last of which is shorter."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, m))
    dense = DenseMap(X, width)
    W = rng.standard_normal((m, width))
    out = np.full((n, width), np.nan)
    dense.forward(W.ravel(), slice(5, n - 1), out[5 : n - 1])
    # sums in another order than BLAS's
    expected = np.einsum("nm,mk->nk", X, W)
    np.testing.assert_allclose(out[5 : n - 1], expected[5 : n - 1], atol=1e-11)
    assert np.all(np.isnan(out[[*range(5), n - 1]]))
    transpose = dense.transpose(np.dtype(np.float64), [slice(0, n)])
    transpose.put(expected, slice(0, n), 0)
    product = np.zeros(m * width)
    with Pool() as pool:
        transpose.add(pool, 0, product)
    of_all = np.einsum("nm,nk->mk", X, expected)
    np.testing.assert_allclose(product.reshape(m, width), of_all, rtol=1e-9, atol=1e-8)
