"""Damaged matrices are refused, all others read, against a twin that looks at each value."""

from __future__ import annotations

import damage
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from sklearn_struct import HMM, LinearChainCRF, MEstimatedCRF, SequenceArray, TokenTransformer
from sklearn_struct.containers.sparse_input import as_csr, check_csr
from sklearn_struct.exceptions import InputTypeError

TOLD = "A is a damaged|A must have two"


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo"])
def test_damaged_matrices_are_refused(format):
    rng = np.random.default_rng(0)
    n_sound = 0
    for _ in range(300):
        A = damage.damaged(rng, format)
        expected = damage.dense(A)
        if expected is None:
            with pytest.raises(ValueError, match=TOLD):
                as_csr(A, "A")
            continue
        n_sound += 1
        np.testing.assert_allclose(as_csr(A, "A").toarray(), expected)
    assert 10 < n_sound < 200


def read_or_told(A):
    """The matrix, or what is said against it."""
    try:
        return as_csr(A, "A")
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("format", ["lil", "dok", "dia"])
def test_formats_that_are_converted(format):
    """What scipy's conversion takes gives a sound matrix; what it does not is refused."""
    rng = np.random.default_rng(0)
    found = [read_or_told(damage.damaged(rng, format)) for _ in range(100)]
    told = [each for each in found if isinstance(each, str)]
    assert all("A is a damaged" in each for each in told)
    assert all(damage.dense(each) is not None for each in found if not isinstance(each, str))
    assert 10 < len(told) < 90


@pytest.mark.parametrize("format", damage.FORMATS)
def test_sound_matrices_are_read(format):
    A = damage.matrix(np.random.default_rng(1), format)
    found = as_csr(A)
    assert isinstance(found, sp.csr_array)
    np.testing.assert_array_equal(found.toarray(), A.toarray())
    check_csr(found)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("dtype", [object, str, "datetime64[s]", np.float16, [("a", float)]])
def test_values_that_scipy_has_no_matrices_of(format, dtype):
    """It takes them as a new `data`, and fails where it works with the matrix."""
    A = damage.matrix(np.random.default_rng(1), format)
    A.data = np.ones(A.data.shape).astype(dtype)
    with pytest.raises(
        InputTypeError, match=rf"^A is a {format}_\w+ of dtype .*; make it one of numbers"
    ):
        as_csr(A, "A")


def test_values_that_became_no_numbers():
    found = as_csr(sp.csr_array(np.eye(3)))
    found.data = found.data.astype(object)
    with pytest.raises(InputTypeError, match=r"^X.tokens is a csr_array of dtype object"):
        check_csr(found, "X.tokens")


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32, np.longdouble, complex])
def test_values_that_scipy_has_matrices_of(dtype):
    A = sp.csr_array(np.eye(3).astype(dtype))
    assert as_csr(A).dtype == dtype


@pytest.mark.parametrize(
    "model", [HMM(), MEstimatedCRF(), LinearChainCRF(), TokenTransformer(StandardScaler())]
)
def test_models_refuse_matrices_of_objects(model):
    A = sp.csr_matrix(np.eye(3))
    A.data = A.data.astype(object)
    with pytest.raises(
        InputTypeError, match=r"^tokens is a csr_matrix of dtype object, of which scipy has no"
    ):
        model.fit(SequenceArray.from_flat(A, [2, 1]), [["a", "b"], ["a"]])
    with pytest.raises(
        InputTypeError, match=r"^X\[0\] is a csr_matrix of dtype object, of which scipy has no"
    ):
        model.fit([A], [["a", "b", "a"]])


@pytest.mark.parametrize("model", [HMM(), MEstimatedCRF()])
def test_objects_written_to_a_packed_matrix(model):
    X = SequenceArray.from_flat(sp.csr_matrix(np.eye(3)), [2, 1])
    X.tokens.data = X.tokens.data.astype(object)
    with pytest.raises(InputTypeError, match="sparse X has no meaning here"):
        model.fit(X, [["a", "b"], ["a"]])


def test_rows_in_order_share_their_memory():
    A = damage.matrix(np.random.default_rng(1))
    found = as_csr(A)
    assert np.shares_memory(found.data, A.data)
    assert np.shares_memory(found.indices, A.indices)


def test_bounds_that_fall_and_rise_again():
    """scipy's `check_format` takes this one for a matrix of nothing."""
    A = sp.csr_array((np.ones(5), np.arange(5), [0, 5, 0]), shape=(2, 5))
    A.check_format(full_check=True)
    with pytest.raises(ValueError, match="row 1 ends before it begins; make it anew"):
        as_csr(A)


def test_room_behind_the_last_row_is_left_away():
    A = sp.csr_array(np.eye(3))
    A.indptr[-1] = 2
    found = as_csr(A)
    assert len(found.indices) == len(found.data) == 2
    np.testing.assert_array_equal(found.toarray(), np.diag([1.0, 1.0, 0.0]))
    with pytest.raises(ValueError, match="do not end with its indices"):
        check_csr(A)


def test_the_place():
    A = sp.csr_array(np.eye(3))
    A.indices[1] = 17
    with pytest.raises(
        ValueError, match="X is a damaged csr_array: row 1 has the index 17, of 3 that there are"
    ):
        as_csr(A)


def test_more_columns_than_kernels_can_count():
    A = sp.csr_array((np.ones(1), np.array([2**31 + 1]), [0, 1]), shape=(1, 2**32))
    with pytest.raises(ValueError, match="X has 4294967296 columns; at most 2147483647"):
        as_csr(A)


@pytest.mark.parametrize("make", [SequenceArray, SequenceArray.from_flat])
def test_sequence_arrays(make):
    A = sp.csr_array(np.eye(3))
    A.indices[1] = -1
    with pytest.raises(ValueError, match="tokens is a damaged csr_array"):
        make(A, [0, 3] if make is SequenceArray else [3])


def test_sequences_have_their_number():
    A = sp.csc_array(np.eye(3))
    A.indices[1] = -1
    with pytest.raises(ValueError, match=r"X\[1\] is a damaged csc_array"):
        SequenceArray.from_sequences([np.eye(3), A])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_negative_indices_are_refused_in_all_types(dtype):
    """As unsigned numbers of one or two bytes they would be columns that there are."""
    A = sp.csr_array(np.ones((2, 70_000)))
    A.indices = np.full(len(A.indices), np.iinfo(dtype).min + 28, dtype)
    with pytest.raises(ValueError, match="row 0 has the index -"):
        check_csr(A, "A")
