"""Scores that are looked at before they are added up."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.potentials.given_blocks import PART, are_usual


@pytest.mark.parametrize("n", [0, 1, PART - 1, PART, PART + 1, 3 * PART + 5])
@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf, 1e200])
def test_unusual_scores_are_seen_wherever_they_stand(score, n):
    scores = np.random.RandomState(0).normal(size=(n, 1))
    assert are_usual(scores)
    for place in {0, n // 2, n - 1} & set(range(n)):
        harmed = scores.copy()
        harmed[place] = score
        # as callers do
        with np.errstate(over="ignore", invalid="ignore"):
            assert not are_usual(harmed)
