"""Probabilities of one row."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.compiled.softmax import softmax


@pytest.mark.parametrize("n", [1, 3, 8, 13])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
def test_by_numpy(n, scale):
    scores = scale * np.random.default_rng(n).normal(size=n)
    row = np.concatenate([scores, np.full(-n % 8, -np.inf)])
    top, mass = softmax(row)
    assert top == scores.max()
    assert top + np.log(mass) == pytest.approx(np.logaddexp.reduce(scores), rel=1e-14, abs=1e-14)
    np.testing.assert_allclose(
        row[:n], np.exp(scores - np.logaddexp.reduce(scores)), rtol=1e-11, atol=1e-300
    )
    assert not row[n:].any()


def test_nothing_allowed():
    row = np.full(8, -np.inf)
    assert softmax(row) == (-np.inf, 0.0)
    assert not row.any()
