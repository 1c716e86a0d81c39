"""Lists of weights beside a loop over features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.containers.csr import csr
from sklearn_struct.linear.label_lists import add_lists, label_lists, read_lists, write_lists


def drawn(features):
    rng = np.random.default_rng(0)
    mask = rng.random((20, 9)) < 0.3
    mask[4] = False
    pairs = csr(sp.csr_array(mask.astype(float)))
    return mask, pairs, label_lists(np.array(features, dtype=np.int64), pairs)


@pytest.mark.parametrize("features", [[], [4], [7, 3, 19, 4, 0], list(range(20))])
def test_order_of_the_features(features):
    mask, pairs, lists = drawn(features)
    expected = [np.flatnonzero(mask[f]) for f in features]
    np.testing.assert_array_equal(lists.labels, np.concatenate([[], *expected]))
    np.testing.assert_array_equal(np.diff(lists.bounds), [len(labels) for labels in expected])
    compact = np.arange(1.0, 1.0 + mask.sum())
    numbers = np.empty(len(lists.labels))
    read_lists(compact, lists, numbers)
    of_features = [compact[pairs.indptr[f] : pairs.indptr[f + 1]] for f in features]
    np.testing.assert_array_equal(numbers, np.concatenate([[], *of_features]))
    written = np.zeros_like(compact)
    write_lists(numbers, lists, written)
    chosen = np.isin(np.nonzero(mask)[0], features)
    np.testing.assert_array_equal(written, compact * chosen)
    add_lists(numbers, lists, written)
    np.testing.assert_array_equal(written, 2 * compact * chosen)
