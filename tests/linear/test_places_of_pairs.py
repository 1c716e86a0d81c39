"""Places of pairs, against a dictionary."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import csr
from sklearn_struct.linear.places_of_pairs import places


def test_places():
    rng = np.random.default_rng(0)
    X, pairs = (
        csr(sp.csr_array((rng.random(shape) < 0.4).astype(float))) for shape in ((30, 8), (8, 20))
    )
    codes = rng.integers(-1, 20, size=30)
    known = {
        (f, k): p
        for f in range(8)
        for p, k in enumerate(pairs.indices)
        if pairs.indptr[f] <= p < pairs.indptr[f + 1]
    }
    rows = np.repeat(np.arange(30), np.diff(X.indptr))
    expected = [known.get((f, codes[t]), -1) for t, f in zip(rows, X.indices, strict=True)]
    assert places(X, codes, pairs).tolist() == expected
    assert 0 < np.sum(np.array(expected) < 0) < len(expected)
