"""Which features have lists of weights, beside dense numpy; products are in `test_maps`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.compiled.simd import padded
from sklearn_struct.containers.csr import csr
from sklearn_struct.linear.few_labels import SHORT, SPARSE, has_few
from sklearn_struct.linear.padded_rows import RowsMap


@pytest.mark.parametrize("width", [48, 130, 342])
def test_few_of_many(width):
    """From two labels to so many that a row has SPARSE numbers for each."""
    n_pairs = np.arange(width + 1)
    few = has_few(n_pairs, width)
    most = padded(width) // SPARSE
    np.testing.assert_array_equal(np.flatnonzero(few), np.arange(2, most + 1))


def test_none_where_rows_are_short():
    assert not has_few(np.arange(10), SHORT - 8).any()


def test_lists_take_the_room_of_their_weights():
    """Rows of 130 labels for a thousand features of three each would have 136,000 numbers."""
    rng = np.random.default_rng(0)
    mask = np.zeros((1000, 130))
    for row in mask:
        row[rng.choice(130, size=3, replace=False)] = 1.0
    X = csr(sp.csr_array(np.ones((2, 1000))))
    assert RowsMap(X, csr(sp.csr_array(mask)), 130).expanded_size == 3000
