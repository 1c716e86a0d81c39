"""Distinct rows of X, and texts with their words left out, against loops over tokens."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features.distinct_words import distinct_words

OFFSETS = [0, 3, 3, 5, 8, 9]
WEIGHT = np.array([1.0, 2.0, 0.5, 3.0, 0.0])


def drawn(sparse, seed=0):
    tokens = np.random.default_rng(seed).integers(-1, 2, size=(9, 3)).astype(float)
    tokens[8] = 7.0  # of the text of weight 0
    tokens[4] = tokens[1]
    return tokens, SequenceArray(sp.csr_array(tokens) if sparse else tokens, OFFSETS)


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("given", [[], [1], [0, 2]])
@pytest.mark.parametrize("seed", [0, 1])
def test_by_loops(sparse, given, seed):
    tokens, X = drawn(sparse, seed)
    found = distinct_words(X, np.array(given, dtype=np.int64), WEIGHT)
    is_given = np.isin(np.arange(3), given)
    words = {tuple(row) for row in (tokens * ~is_given)[:8].tolist()}
    places = {tuple(row) for row in (tokens * is_given)[:8].tolist()} if given else set()
    rows = [tuple(row) for row in dense(found.rows).tolist()]
    first = 1 if given else 0
    assert found.n_places == len(places) + first
    assert len(rows) == len(words) + len(places) + first
    assert rows[:first] == [(0.0,) * 3] * first
    assert set(rows[first : found.n_places]) == places
    assert set(rows[found.n_places :]) == words
    expected = Counter()
    for i, weight in enumerate(WEIGHT):
        of_text = (tokens * is_given)[OFFSETS[i] : OFFSETS[i + 1]]
        if weight and len(of_text):
            expected[tuple(map(tuple, of_text.tolist()))] += weight
    like = Counter()
    for i, weight in enumerate(found.weight):
        place = found.place[found.offsets[i] : found.offsets[i + 1]]
        key = tuple(rows[p] if given else (0.0,) * 3 for p in place)
        assert key not in like
        like[key] = weight
    assert like == expected


def test_stored_zeros_make_no_other_word():
    tokens = sp.csr_array(([1.0, 0.0, 1.0], [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    found = distinct_words(SequenceArray(tokens, [0, 2]), np.arange(0), np.ones(1))
    assert found.rows.shape == (1, 2)
    minus = SequenceArray(np.array([[0.0], [-0.0]]), [0, 2])
    assert len(distinct_words(minus, np.arange(0), np.ones(1)).rows) == 1
    assert tokens.nnz == 3  # X is as it was


def test_the_order_of_texts_changes_nothing():
    _, X = drawn(True)
    a = distinct_words(X, np.array([1]), WEIGHT)
    order = [3, 0, 4, 2, 1]
    b = distinct_words(X[order], np.array([1]), WEIGHT[order])
    np.testing.assert_array_equal(dense(a.rows), dense(b.rows))
    for field in ("offsets", "place", "weight"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
