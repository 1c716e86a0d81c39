"""First and last tokens, beside a loop over sequences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sklearn_struct.hidden_markov.end_kernels import add_sums_of_ends, add_to_ends

pytestmark = pytest.mark.twins
OFFSETS = np.array([0, 3, 3, 4, 10, 10])
BOUNDS = [(first, end) for first, end in pairwise(OFFSETS) if first < end]


def test_what_is_added_to_ends():
    rng = np.random.RandomState(0)
    node = rng.normal(size=(10, 3))
    start = rng.normal(size=3)
    stop = rng.normal(size=3)
    start[1] = -np.inf
    wanted = node.copy()
    for first, end in BOUNDS:
        wanted[first] += start
        wanted[end - 1] += stop
    add_to_ends(start, stop, OFFSETS, node)
    np.testing.assert_array_equal(node, wanted)


def test_sums_of_ends():
    node = np.random.RandomState(0).uniform(size=(10, 3))
    start = np.full(3, 2.0)
    stop = np.zeros(3)
    add_sums_of_ends(node, OFFSETS, start, stop)
    np.testing.assert_allclose(start, 2.0 + sum(node[first] for first, _ in BOUNDS))
    np.testing.assert_allclose(stop, sum(node[end - 1] for _, end in BOUNDS))
