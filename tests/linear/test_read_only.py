"""No kernel that sees X writes to it: numba would not compile it for read-only arrays.

`batch.csr` relies on that, as it shows kernels read-only memory under a writeable name.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.compiled.simd import aligned
from sklearn_struct.containers.csr import csr
from sklearn_struct.linear.lookup_for_prediction import Lookup, LookupMap
from sklearn_struct.linear.observed_feature_labels import observed
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.pairs import PairsMap
from sklearn_struct.linear.places_of_pairs import places
from sklearn_struct.linear.vectors_side_by_side import ONE

WIDTH = 3


def forward(make, X, pairs):
    mapping = make(X, pairs)
    W = aligned(mapping.expanded_size, np.float64)
    mapping.expand(np.arange(mapping.size) + 1.0, W)
    out = np.empty((len(X.indptr) - 1, WIDTH))
    mapping.forward(W, slice(0, len(out)), out)
    return out


def scatter(make, X, pairs):
    mapping = make(X, pairs)
    W = aligned(mapping.expanded_size, np.float64)
    mapping.scatter(np.arange(30.0).reshape(10, WIDTH), slice(0, 10), ONE, W)
    return mapping.compress(W)


def rows_map(X, pairs):
    return RowsMap(X, pairs, WIDTH)


def lookup_map(X, pairs):
    return LookupMap(X, Lookup(pairs, WIDTH))


codes = np.arange(10) % WIDTH
KERNELS = {
    "rows": lambda X, pairs: forward(rows_map, X, pairs),
    "rows, transposed": lambda X, pairs: scatter(rows_map, X, pairs),
    "lookup": lambda X, pairs: forward(lookup_map, X, pairs),
    "pairs": lambda X, pairs: forward(PairsMap, X, pairs),
    "pairs, transposed": lambda X, pairs: scatter(PairsMap, X, pairs),
    "observed": lambda X, pairs: observed(X, codes.astype(np.int32), 6, WIDTH).indices,
    "places": lambda X, pairs: places(X, codes, pairs),
}


@pytest.mark.parametrize("kernels", KERNELS)
def test_x_may_be_read_only(kernels):
    rng = np.random.default_rng(0)
    X = csr(sp.csr_array(rng.normal(size=(10, 6)) * (rng.random((10, 6)) < 0.5)))
    pairs = csr(sp.csr_array((rng.random((6, WIDTH)) < 0.6).astype(float)))
    expected = KERNELS[kernels](X, pairs)
    for array in X:
        array.flags.writeable = False
    np.testing.assert_array_equal(KERNELS[kernels](X, pairs), expected)
