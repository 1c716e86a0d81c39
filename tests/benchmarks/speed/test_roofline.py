"""Counts of what an evaluation moves and computes."""

from __future__ import annotations

import numpy as np

from sklearn_struct import SequenceVectorizer


def test_counts_of_the_roofline():
    from speed.roofline import FAR, FLOPS, NEAR, shape, work

    X = SequenceVectorizer().fit_transform([[["a", "b"], ["a"], ["c"]]]).tokens
    counts = shape(X, np.array([0, 1, 1]), 8)  # a occurs with both labels, b and c with one
    assert (counts.tokens, counts.labels, counts.weights) == (3, 2, 4 + 4)
    assert (counts.frequent, counts.rare, counts.single, counts.rows, counts.singles) == (
        2,
        0,
        2,
        1,
        2,
    )
    must = work(counts, 8)
    assert must[NEAR] == 3 * 2 * 64
    assert must[FLOPS] == 4 * 2 * 2 + 4 * 2 + 6 * 3 * 4
    assert must[FAR] == 4 * (2 * 2 + 3 * 2) + 2 * 2 * 8 + 2 * 3 * 64 + 2 * 8 * 8 + 2 * (64 + 2 * 8)
