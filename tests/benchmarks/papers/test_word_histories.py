"""Interpolated trigrams."""

from __future__ import annotations

import numpy as np
import pytest


def test_interpolated_trigrams_are_distributions():
    from papers.word_histories import (
        END,
        START,
        UNKNOWN,
        InterpolatedTrigram,
        histories,
        vocabulary,
    )

    text = [["a", "b", "a"], ["b", "a"], ["a", "rare"]]
    words = vocabulary(text, 2)
    assert words == {"a", "b"}
    X, y = histories(text, words)
    assert y == ["a", "b", "a", END, "b", "a", END, "a", UNKNOWN, END]
    assert [x.raw[x.position - 2 : x.position] for x in X[:2]] == [[START, START], [START, "a"]]
    for buckets in (False, True):
        model = InterpolatedTrigram(4, buckets).fit(X[:7], y[:7], X[7:], y[7:])
        for x in X:
            assert (
                np.exp(model.log_proba([x] * 4, ["a", "b", UNKNOWN, END])).sum() == pytest.approx(1)
                or x in X[7:]
            )
