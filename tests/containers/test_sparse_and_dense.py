"""Sparse columns beside dense ones against dense numpy."""

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import SequenceArray
from sklearn_struct.containers.sparse_and_dense import SparseAndDense, side_by_side, stacked


def make(dtype=np.float64):
    rng = np.random.default_rng(0)
    left = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.4)
    right = rng.normal(size=(9, 3))
    right[2] = 0.0
    right[4, 1] = 0.0
    both = np.hstack([left, right]).astype(dtype)
    rows = SparseAndDense(sp.csr_array(left.astype(dtype)), right.astype(dtype))
    return rows, both


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_sparse_matrix(dtype):
    rows, both = make(dtype)
    matrix = rows.tocsr()
    np.testing.assert_array_equal(matrix.toarray(), both)
    assert matrix.has_canonical_format
    assert matrix.nnz == np.count_nonzero(both)
    assert matrix.dtype == dtype
    assert (rows.shape, rows.dtype) == (both.shape, dtype)


@pytest.mark.parametrize("rows", [slice(2, 6), slice(3, 3), np.array([5, 0, 5]), np.arange(0)])
def test_rows(rows):
    stored, both = make()
    np.testing.assert_array_equal(stored[rows].tocsr().toarray(), both[rows])


def test_a_slice_shares_memory():
    rows, _ = make()
    assert np.shares_memory(rows[2:5].dense, rows.dense)


@pytest.mark.parametrize("columns", [[], [0, 2], [4, 6], [1, 3, 5], [6, 0, 5, 1], range(7)])
def test_columns(columns):
    rows, both = make()
    columns = np.array(columns, dtype=np.int64)
    np.testing.assert_array_equal(rows.columns(columns).toarray(), both[:, columns])


def test_rows_below_each_other():
    rows, both = make()
    joined = stacked([rows, rows[2:4]])
    assert isinstance(joined, SparseAndDense)
    np.testing.assert_array_equal(joined.tocsr().toarray(), np.vstack([both, both[2:4]]))
    mixed = stacked([rows, both, sp.csr_array(both)])
    assert sp.issparse(mixed)
    np.testing.assert_array_equal(mixed.toarray(), np.vstack([both] * 3))


def test_dense_columns_are_kept_behind_sparse_ones():
    rows, both = make()
    joined = side_by_side([rows.sparse, rows.dense, rows.dense])
    assert isinstance(joined, SparseAndDense)
    expected = np.hstack([both, rows.dense])
    np.testing.assert_array_equal(joined.tocsr().toarray(), expected)
    # in another order, of whole numbers, or of mostly zeros: all sparse
    zeros = np.eye(9)
    whole = np.ones((9, 2), int)
    for blocks in ([rows.dense, rows.sparse], [rows.sparse, zeros], [rows.sparse, whole]):
        joined = side_by_side(blocks)
        assert sp.issparse(joined)
        dense = [block.toarray() if sp.issparse(block) else block for block in blocks]
        np.testing.assert_array_equal(joined.toarray(), np.hstack(dense))


def test_lengths_must_agree():
    rows, _ = make()
    with pytest.raises(ValueError, match="9 sparse rows beside 3 dense ones"):
        SparseAndDense(rows.sparse, rows.dense[:3])


def test_a_sequence_array_is_that_of_the_one_matrix():
    rows, both = make()
    names = [f"f{j}" for j in range(7)]
    X = SequenceArray(rows, [0, 2, 2, 6, 9], names)
    plain = SequenceArray(sp.csr_array(both), [0, 2, 2, 6, 9], names)
    assert plain == X
    assert repr(X) == repr(plain)
    np.testing.assert_array_equal(X.tokens.toarray(), both)
    assert X.tokens is X.tokens
    np.testing.assert_array_equal(X[2].toarray(), both[2:6])
    for part in (X[1:3], X[[3, 0]], np.take(X, [2, 2]), np.concatenate([X[:2], X[3:]])):
        assert isinstance(part.stored, SparseAndDense)
    assert X[[3, 0]] == plain[[3, 0]]
    assert np.concatenate([X, plain]) == np.concatenate([plain, plain])
