"""Patterns of data in parts, each with columns of its own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from partitions import assert_same_pattern

from sklearn_struct import SequenceArray
from sklearn_struct.estimators.chains.observed_weights import WeightChoice, observe
from sklearn_struct.objectives.patterns_of_parts import restricted, union
from sklearn_struct.objectives.weight_patterns import COUNTED, split

N = 60
M = 12
K = 3
EDGES = np.array([2, 5, 7])


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = sp.csr_array((rng.random((N, M)) < 0.15).astype(float))
    return X, rng.integers(K, size=N).astype(np.int32)


def pattern_of(X, codes, edges, min_frequency=1, feature_pairs="observed"):
    choice = WeightChoice(1, feature_pairs, "observed", edges.tolist() or None, min_frequency, True)
    offsets = np.arange(0, len(codes) + 1, 5)
    return observe(choice, K, SequenceArray(X, offsets), codes, np.ones(len(codes)))


def parts(X, codes, min_frequency=1, feature_pairs="observed"):
    """Patterns and columns of thirds, which have their columns in an order of their own."""
    rng = np.random.default_rng(1)
    thirds = []
    for lo in range(0, N, 20):
        rows = X[lo : lo + 20]
        columns = rng.permutation(np.unique(rows.indices)).astype(np.int32)
        edges = np.flatnonzero(np.isin(columns, EDGES))
        of_part = rows[:, columns], codes[lo : lo + 20], edges, min_frequency, feature_pairs
        thirds.append((pattern_of(*of_part), columns))
    return thirds


@pytest.mark.parametrize("feature_pairs", ["observed", "all"])
def test_the_union_is_what_all_data_show(feature_pairs):
    X, codes = data()

    whole = pattern_of(X, codes, EDGES, 1, feature_pairs)
    assert_same_pattern(union(parts(X, codes, 1, feature_pairs), M, EDGES), whole)


def test_pairs_that_are_rare_in_all_parts_together():
    X, codes = data()
    whole = pattern_of(X, codes, EDGES, 3)
    together = union(parts(X, codes, COUNTED), M, EDGES, 3)
    # transitions are counted apart
    for left, right in [
        (together.node, whole.node),
        (together.families[0].features, whole.families[0].features),
    ]:
        np.testing.assert_array_equal(left.indptr, right.indptr)
        np.testing.assert_array_equal(left.indices, right.indices)
    assert whole.size < pattern_of(X, codes, EDGES).size


def test_a_part_has_the_weights_of_its_features():
    X, codes = data()
    whole = pattern_of(X, codes, EDGES)
    w = np.random.default_rng(2).normal(size=whole.size)
    node = sp.csr_array((split(w, whole).node, whole.node.indices, whole.node.indptr), (M, K))
    columns = np.array([5, -1, 3, 2], np.int32)
    part, place = restricted(whole, columns)
    assert len(place) == part.size == len(np.unique(place))
    of_part = split(w[place], part)
    there = sp.csr_array((of_part.node, part.node.indices, part.node.indptr), (4, K)).toarray()
    np.testing.assert_array_equal(there[[0, 2, 3]], node.toarray()[[5, 3, 2]])
    np.testing.assert_array_equal(there[1], 0.0)
    np.testing.assert_array_equal(part.edge_columns, [0, 3])
    np.testing.assert_array_equal(of_part.columns[0], split(w, whole).columns[0])
    np.testing.assert_array_equal(of_part.intercept, split(w, whole).intercept)


def test_a_part_with_the_columns_of_all_has_all_weights():
    X, codes = data()
    whole = pattern_of(X, codes, EDGES)
    assert restricted(whole, None) == (whole, slice(None))
