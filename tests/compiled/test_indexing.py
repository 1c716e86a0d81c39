"""Numbers of arrays in kernels: read and written as by numba, whatever is meant by the brackets."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from sklearn_struct.compiled.indexing import read, write
from sklearn_struct.compiled.kernel import kernel


def read_one(x, i):
    return x[i]


def read_two(x, i, j):
    return x[i, j]


def write_one(x, i, value):
    x[i] = value


def write_two(x, i, j, value):
    x[i, j] = value


def as_numba(function, *args):
    """What a kernel returns or writes, and what numba's own compiler makes of the same function."""
    results = []
    for decorator in (kernel, numba.njit):
        own = [arg.copy(order="K") if isinstance(arg, np.ndarray) else arg for arg in args]
        results.append((decorator(function)(*own), own[0]))
    return results


TABLE = np.arange(24.0).reshape(4, 6)
ARRAYS = [TABLE, np.asfortranarray(TABLE), TABLE > 7, TABLE.astype(np.int8)]


@pytest.mark.parametrize("index", [1, -2, np.uint8(3), np.int32(-1)])
def test_indices_may_be_negative_or_short(index):
    for x in ARRAYS:
        for function, args in ((read_two, (x, index, 2)), (write_two, (x, 1, index, 9))):
            (ours, mine), (theirs, other) = as_numba(function, *args)
            assert ours == theirs
            np.testing.assert_array_equal(mine, other)


def test_steps_between_numbers():
    x = np.arange(12.0)[::-3]
    assert kernel(read_one)(x, 1) == 8.0
    kernel(write_one)(x, -1, 5)
    assert x[-1] == 5.0


def tuples(x, i):
    pair = (x, i)
    return pair[1] + pair[0][i]


def rows_and_slices(x, i):
    x[i] = 1.0
    x[i + 1][2:] = 2.0
    return x[i, 1:].sum() + x[i + 1][2]


def test_whatever_else_has_brackets():
    (ours, _), (theirs, _) = as_numba(tuples, np.arange(3), 2)
    assert ours == theirs == 4
    (ours, mine), (theirs, other) = as_numba(rows_and_slices, TABLE, 1)
    assert ours == theirs == 7.0
    np.testing.assert_array_equal(mine, other)


def test_values_have_the_type_of_the_array():
    x = np.zeros(2, np.float32)
    kernel(write_one)(x, 0, 1 / 3)
    assert x[0] == np.float32(1 / 3)


def test_read_only_arrays_are_not_written_to():
    x = np.zeros(2)
    x.flags.writeable = False
    assert kernel(read_one)(x, 0) == 0.0
    with pytest.raises(TypingError):
        kernel(write_one)(x, 0, 1.0)


def test_in_python_they_are_brackets():
    x = np.arange(3)
    write(x, 1, 5)
    assert read(x, 1) == 5
