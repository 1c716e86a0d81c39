"""Rows of attributes: sorted by a kernel where they are short, by scipy where they are long."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.encoding.features import attribute_rows
from sklearn_struct.encoding.features.attribute_reader import Attributes
from sklearn_struct.encoding.features.attribute_rows import FEW_ROWS, csr, rows

N_COLUMNS = 12


def drawn(seed, with_values, n_rows=7):
    """Attributes of which some have no column, and some are there twice."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, n_rows)
    n = int(counts.sum())
    columns = rng.integers(-1, N_COLUMNS, n).astype(np.int32)
    values = rng.integers(-2, 3, n) / 2 if with_values else np.broadcast_to(np.float64(1), n)
    return Attributes(columns, values, counts, np.array([0, n_rows]))


@pytest.mark.parametrize("keep_zeros", [False, True])
@pytest.mark.parametrize("with_values", [False, True])
def test_short_rows_are_as_those_of_scipy(monkeypatch, with_values, keep_zeros):
    for seed in range(30):
        quick = rows(drawn(seed, with_values), N_COLUMNS, keep_zeros)
        with monkeypatch.context() as patch:
            patch.setattr(attribute_rows, "LONGEST", -1)
            slow = rows(drawn(seed, with_values), N_COLUMNS, keep_zeros)
        quick.check_format()
        assert quick.has_canonical_format
        assert quick.shape == slow.shape
        for name in ("indptr", "indices", "data"):
            assert getattr(quick, name).dtype == getattr(slow, name).dtype
            np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name))


def test_long_rows():
    """More values than are sorted by insertion."""
    n = attribute_rows.LONGEST + 5
    columns = np.arange(n, dtype=np.int32)[::-1].copy()
    made = rows(Attributes(columns, np.arange(float(n)), np.array([n]), np.array([0, 1])), n, True)
    np.testing.assert_array_equal(made.toarray(), np.arange(float(n))[::-1][None])


def test_who_counts_columns_finds_as_many_as_before():
    attributes = drawn(3, True)
    n = np.count_nonzero(attributes.columns >= 0)
    assert 0 < n < len(attributes.columns)
    rows(attributes, N_COLUMNS, False)
    assert np.count_nonzero(attributes.columns >= 0) == n


@pytest.mark.parametrize("n_rows", [3, FEW_ROWS + 1])
def test_csr_arrays_do_not_share_what_they_have(n_rows):
    """Small ones are copies of an empty one that is kept."""
    made = [
        csr(np.full(n_rows, x), np.zeros(n_rows, np.int32), np.arange(n_rows + 1), 2)
        for x in (1.0, 2.0)
    ]
    made[0].data[0] = 5.0
    made[0].sum_duplicates()
    expected = np.zeros((n_rows, 2))
    expected[:, 0] = 2.0
    np.testing.assert_array_equal(made[1].toarray(), expected)
    assert isinstance(made[0], sp.csr_array)
    assert made[0].toarray()[0, 0] == 5.0
