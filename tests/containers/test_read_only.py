"""Values that cannot be changed, and those that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.containers.read_only import as_read_only


def test_arrays_are_views():
    array = np.arange(3.0)
    view = as_read_only(array)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0
    array[0] = 9.0
    assert view.tolist() == [9.0, 1.0, 2.0]


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_values_of_sparse_matrices(form):
    matrix = form(np.eye(3))
    view = as_read_only(matrix)
    assert type(view) is type(matrix)
    with pytest.raises(ValueError, match="read-only"):
        view.data[0] = 2.0
    np.testing.assert_array_equal((view @ view.T).toarray(), np.eye(3))
    matrix.data[0] = 2.0
    assert matrix.toarray()[0, 0] == 2.0


def test_arrays_inside():
    values = {"a": np.ones(2), "b": [np.ones(1), "text"], "c": (None, sp.csr_array(np.eye(2)))}
    same = as_read_only(values)
    assert same.keys() == values.keys()
    assert same["b"][1] == "text"
    assert same["c"][0] is None
    inside = (same["a"], same["b"][0], same["c"][1].data)
    assert not any(array.flags.writeable for array in inside)
    assert values["a"].flags.writeable


@pytest.mark.parametrize("value", [None, 2.5, "text", {"a"}, slice(1)])
def test_anything_else_is_given_back(value):
    assert as_read_only(value) is value
