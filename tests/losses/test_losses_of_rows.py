"""Losses on scores of rows against finite differences, alone and inside `RowsObjective`."""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from scipy.special import logsumexp, wrightomega

from sklearn_struct.losses.losses_of_rows import (
    Exponential,
    RowExamples,
    Softmax,
    exponential_factor,
)

pytestmark = pytest.mark.twins
OFFSETS = np.array([0, 3, 4, 9])
LOSSES = pytest.mark.parametrize(
    "loss", [Softmax(), Exponential()], ids=lambda loss: type(loss).__name__
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.array([2, 0, 3], np.int32)
    return rng.normal(size=9), RowExamples(OFFSETS, y, rng.uniform(0.5, 2, size=3))


def test_values(rows):
    scores, examples = rows
    value = np.empty(3)
    out = np.empty(9)
    Softmax()(scores, examples, out, value)
    parts = np.split(scores, OFFSETS[1:-1])
    np.testing.assert_allclose(
        value, [logsumexp(s) - s[k] for s, k in zip(parts, examples.y)], rtol=1e-14
    )
    Exponential()(scores, examples, out, value)
    np.testing.assert_allclose(value, [np.exp(-s).sum() for s in parts], rtol=1e-14)


@LOSSES
def test_derivatives(loss, rows):
    scores, examples = rows
    value = np.empty(3)
    out = np.empty(9)
    other = np.empty(9)
    direction = np.random.default_rng(1).normal(size=9)

    def total():
        loss(scores, examples, other, value)
        return float(examples.weight @ value)

    def slope():
        loss(scores, examples, other, value)
        return float(direction @ other)

    loss(scores, examples, out, value)
    found = [contracts.derivative(total, scores, r) for r in range(9)]
    np.testing.assert_allclose(out, found, atol=1e-8)
    loss.hess_vec(scores, direction, examples, out)
    np.testing.assert_allclose(
        out, [contracts.derivative(slope, scores, r) for r in range(9)], atol=1e-8
    )


@LOSSES
def test_weight_zero_gives_nothing(loss, rows):
    scores, examples = rows
    out = np.full(9, np.nan)
    value = np.empty(3)
    examples.weight[1] = 0.0
    loss(scores, examples, out, value)
    assert np.isfinite(value).all()
    assert (out[3:4] == 0).all()
    loss.hess_vec(scores, np.ones(9), examples, out)
    assert (out[3:4] == 0).all()


def test_softmax_of_large_scores():
    value = np.empty(1)
    out = np.empty(2)
    second = RowExamples(np.array([0, 2]), np.array([1]), np.ones(1))
    Softmax()(np.array([5000.0, -5000.0]), second, out, value)
    assert value[0] == 10_000
    assert out.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("level", [-700.0, -30.0, -1.0, 0.0, 0.5, 2.0, 30.0, 700.0, 1e5])
@pytest.mark.parametrize("growth", [1e-10, 0.1, 1.0, 3.0, 1e10])
def test_exponential_factor(level, growth):
    """The root of a = exp(level - growth * a) is that of u + log(u) = level + log(growth), where u
    = growth * a.
    """
    expected = wrightomega(level + np.log(growth)).real / growth
    assert exponential_factor(level, growth) == pytest.approx(expected, rel=1e-12)


def test_exponential_factor_at_the_ends():
    assert exponential_factor(-np.inf, 1.0) == exponential_factor(-800.0, 1.0) == 0.0
    assert exponential_factor(2.0, 0.0) == pytest.approx(np.exp(2.0), rel=1e-14)
