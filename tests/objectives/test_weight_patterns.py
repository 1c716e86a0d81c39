"""Which weights exist, and how their vector is laid out."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.objectives.weight_patterns import (
    all_pairs,
    every_clique_pair,
    masked_pairs,
    observed_pairs,
    of_order,
    split,
)

LENGTHS = (3, 0, 1, 5, 4, 2, 7, 1)


def ids(options):
    return "-".join([name for name, on in options.items() if on]) or "plain"


@pytest.fixture(params=naive.LINEAR_MODELS, ids=ids)
def model(request):
    return naive.linear_model(np.random.default_rng(0), LENGTHS, **request.param)


def test_sizes_and_segments(model):
    potentials = model.potentials
    pattern = model.potentials.pattern
    w = np.arange(potentials.size, dtype=float)
    parts = split(w, pattern)
    np.testing.assert_array_equal(np.concatenate(contracts.arrays_of(parts)), w)
    assert len(parts.intercept) == potentials.n_free == (3 if pattern.fit_intercept else 0)
    if pattern.node is None:
        assert len(parts.node) == 18
    assert pattern.widths == (9, 27)[: pattern.order]
    for f, family in enumerate(pattern.families):
        assert len(parts.columns[f]) == len(family.columns)
        if family.features is None:
            assert len(parts.features[f]) == pattern.widths[f] * len(pattern.edge_columns)
        else:
            assert len(parts.features[f]) == len(family.features.indices)


def test_a_higher_order_without_weights(model):
    """Wider cliques that have no weights leave the vector as it is."""
    pattern = model.potentials.pattern
    higher = of_order(pattern, 2)
    assert higher.order == 2
    assert higher.size == pattern.size
    assert len({family.features is None for family in higher.families}) == 1
    for f, family in enumerate(pattern.families):
        assert listed(every_clique_pair(higher, f)) == listed(every_clique_pair(pattern, f))
        np.testing.assert_array_equal(higher.families[f].columns, family.columns)
    w = np.arange(pattern.size, dtype=float)
    parts = contracts.arrays_of(split(w, higher))
    np.testing.assert_array_equal(np.concatenate(parts), w)


# ---- patterns

STORED = sp.csr_array(([1.0, 0.0, 2.0, 1.0, 5.0], ([0, 0, 1, 2, 3], [0, 2, 0, 0, 2])), shape=(4, 4))
CODES = np.array([1, 0, 1, 0])


def listed(pairs):
    """The pairs of a pattern as tuples."""
    features = np.repeat(np.arange(len(pairs.indptr) - 1), np.diff(pairs.indptr))
    return list(zip(features.tolist(), pairs.indices.tolist(), strict=True))


ONES = np.ones(4)


def test_observed_pairs():
    """What is stored counts, zeros included; in the order of features, then labels."""
    assert listed(observed_pairs(STORED, CODES, ONES, 2, 0)) == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert listed(observed_pairs(STORED, CODES, ONES, 2, 1)) == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert listed(observed_pairs(STORED, CODES, ONES, 2, 2)) == [(0, 1)]
    assert listed(observed_pairs(STORED, CODES, ONES, 2, 3)) == []


def test_all_pairs():
    assert listed(all_pairs(STORED, CODES, ONES, 2, 0)) == [
        (f, k) for f in range(4) for k in range(2)
    ]
    assert listed(all_pairs(STORED, CODES, ONES, 2, 2)) == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert listed(all_pairs(STORED, CODES, ONES, 2, 3)) == [(0, 0), (0, 1)]


def test_weights_count_for_the_frequency():
    weight = np.array([0.5, 2.0, 1.0, 1.0])
    assert listed(observed_pairs(STORED, CODES, weight, 2, 2)) == [(0, 0)]
    assert listed(all_pairs(STORED, CODES, weight, 2, 2)) == [(0, 0), (0, 1)]


def test_rows_of_weight_zero_observe_nothing():
    assert listed(observed_pairs(STORED, CODES, np.array([1.0, 1.0, 1.0, 0.0]), 2, 1)) == [
        (0, 0),
        (0, 1),
        (2, 1),
    ]


def test_pairs_of_masks():
    """A row has each code of its mask; masks of one code are those codes."""
    for least in (0, 1, 2, 3):
        masks = np.eye(2)[CODES]
        expected = observed_pairs(STORED, CODES, ONES, 2, least)
        assert listed(masked_pairs(STORED, masks, ONES, 2, least)) == listed(expected)
    every = all_pairs(STORED, CODES, ONES, 2, 2)
    assert listed(masked_pairs(STORED, np.ones((4, 2)), ONES, 2, 2)) == listed(every)
