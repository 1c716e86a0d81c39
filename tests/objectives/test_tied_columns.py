"""Labellings that differ by their order alone share a column."""

from __future__ import annotations

from itertools import permutations, product
from math import comb

import numpy as np
import pytest

from sklearn_struct.objectives.tied_columns import equal_labels, ties


@pytest.mark.parametrize(("K", "size"), [(1, 2), (2, 2), (3, 2), (4, 3), (2, 4)])
def test_columns(K, size):
    tied = ties(K, size)
    assert tied.n == comb(K + size - 1, size)
    column = tied.column.reshape((K,) * size)
    for labels in product(range(K), repeat=size):
        assert len({column[tuple(order)] for order in permutations(labels)}) == 1
    assert tied.column[tied.first].tolist() == list(range(tied.n))


def test_gather_is_the_transpose_of_spread():
    rng = np.random.default_rng(0)
    tied = ties(4, 3)
    of_columns = rng.normal(size=(5, tied.n))
    of_labellings = rng.normal(size=(5, 64))
    np.testing.assert_allclose(
        np.sum(tied.spread(of_columns) * of_labellings),
        np.sum(of_columns * tied.gather(of_labellings)),
    )


@pytest.mark.parametrize(("K", "size"), [(1, 2), (2, 2), (3, 2), (3, 3)])
def test_one_column_of_equal_labels(K, size):
    tied = equal_labels(K, size)
    assert tied.n == (2 if K > 1 else 1)
    column = tied.column.reshape((K,) * size)
    for labels in product(range(K), repeat=size):
        assert column[labels] == int(len(set(labels)) > 1)
    table = np.random.default_rng(0).normal(size=(2, K**size))
    equal = table[:, tied.column == 0].sum(axis=1)
    np.testing.assert_allclose(tied.gather(table)[:, 0], equal)
