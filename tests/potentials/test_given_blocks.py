"""Scores that are looked at before they are added up."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.potentials.given_blocks import TERMS, are_usual


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 24_581])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_unusual_scores_are_seen_wherever_they_stand(n, dtype):
    scores = np.random.RandomState(0).normal(size=(n, 1)).astype(dtype)
    largest = float(np.finfo(dtype).max) / TERMS
    scores[: n // 2] = 0.99 * largest
    assert are_usual(scores)
    assert are_usual(-scores)
    for score in (np.nan, np.inf, -np.inf, 1.01 * largest, -1.01 * largest):
        for place in {0, n // 2, n - 1} & set(range(n)):
            harmed = scores.copy()
            harmed[place] = score
            assert not are_usual(harmed)
