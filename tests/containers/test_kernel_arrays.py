"""Arrays in the memory that they came in."""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.kernel_arrays import for_kernels


def test_what_kernels_can_read_is_the_same_array():
    array = np.arange(6.0).reshape(2, 3)
    assert for_kernels(array, np.float64) is array


def test_a_read_only_array_keeps_its_mark():
    array = np.arange(6.0).reshape(2, 3)
    array.flags.writeable = False
    view = for_kernels(array, np.float64)
    assert np.shares_memory(view, array)
    assert view.flags.writeable
    assert not array.flags.writeable
    np.testing.assert_array_equal(view, array)


def test_others_are_copied():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    for other in (array, array.T.astype(np.float64), array[:, ::2].astype(np.float64).T):
        view = for_kernels(other, np.float64)
        assert (view.dtype, view.flags.c_contiguous) == (np.float64, True)
        np.testing.assert_array_equal(view, other)
