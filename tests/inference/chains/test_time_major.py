"""Where the tokens of a batch of chains stand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_struct.inference.chains.time_major import steps


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=8))
def test_every_token_has_a_row_of_its_own(chains):
    """Those of chains with a weight; at each step chains alive come first, in the same order."""
    lengths = np.array([length for length, _ in chains], dtype=np.int64)
    weight = np.array([2.0 * weighs for _, weighs in chains])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    first, order = steps(offsets, weight)
    assert sorted(order) == [i for i in range(len(chains)) if lengths[i] and weight[i]]
    assert np.all(np.diff(lengths[order]) <= 0)
    rows = [first[t] + r for r, i in enumerate(order) for t in range(lengths[i])]
    assert sorted(rows) == list(range(first[-1]))
    for t in range(len(first) - 1):
        assert first[t + 1] - first[t] == np.sum(lengths[order] > t)
