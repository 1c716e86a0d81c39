"""Clusters of rows of numbers."""

from __future__ import annotations

import numpy as np

from sklearn_struct.estimators.hidden_markov.clusters import clusters

Z = np.random.RandomState(0).randint(3, size=60)
ROWS = np.column_stack([10.0 * Z, np.random.RandomState(1).normal(size=60)])


def found(numbers, weight=None):
    weight = np.ones(60) if weight is None else weight
    return clusters(numbers, weight, 3, np.random.RandomState(0))


def groups(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def test_rows_are_not_written_to():
    rows = ROWS.copy()
    assert groups(found(rows)) == groups(Z)
    np.testing.assert_array_equal(rows, ROWS)


def test_rows_with_missing_numbers():
    rows = ROWS.copy()
    rows[::7, 1] = np.nan
    rows[5] = np.nan
    before = rows.copy()
    labels = found(rows)
    assert labels[5] == -1
    assert groups(np.delete(labels, 5)) == groups(np.delete(Z, 5))
    np.testing.assert_array_equal(rows, before)


def test_no_row_counts():
    assert found(ROWS, np.zeros(60)).tolist() == [-1] * 60
