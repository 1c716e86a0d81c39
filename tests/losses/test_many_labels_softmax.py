"""Softmax over a background and active labels against dense sums, where sums by difference are and
are not trusted.
"""

from __future__ import annotations

import contracts
import numpy as np
import pytest
from scipy.special import log_softmax

from sklearn_struct.compiled.simd import LANES
from sklearn_struct.losses.many_labels_softmax import Active, BackgroundSoftmax, background, zeros

pytestmark = pytest.mark.twins
K = 3 * LANES + 1
ALL = np.arange(K)


class Case:
    """Active labels of several examples: none, some, more than lanes, all; `scale` spreads the
    scores.
    """

    def __init__(self, scale, seed=0):
        rng = np.random.default_rng(seed)
        chosen = [ALL[:0], ALL[2:4], ALL[1:3], rng.permutation(K)[: LANES + 2], ALL, ALL[-1:]]
        self.offsets = np.cumsum([0, *map(len, chosen)])
        self.labels = np.concatenate(chosen).astype(np.int32)
        self.scores = scale * rng.normal(size=len(self.labels))
        self.shared = scale * rng.normal(size=K)
        self.y = np.array([0, 3, 0, 5, 1, K - 1], np.int32)  # among the active, or not
        self.weight = rng.uniform(0.5, 2.0, size=len(chosen))
        self.directions = rng.normal(size=len(self.labels)), rng.normal(size=K)

    @property
    def active(self):
        return Active(self.offsets, self.labels, self.scores)

    def dense(self, rows, labels):
        """A row of all labels for each example."""
        table = np.repeat(labels[None], len(self.y), axis=0)
        for i, row in enumerate(table):
            own = slice(*self.offsets[i : i + 2])
            row[self.labels[own]] = rows[own]
        return table

    def split(self, table):
        """Of a derivative in dense scores, those of active rows, and the sum of the others by
        label.
        """
        example = np.repeat(np.arange(len(self.y)), np.diff(self.offsets))
        rest = table.copy()
        rest[example, self.labels] = 0.0
        return table[example, self.labels], rest.sum(axis=0)


# at which sums by difference fail for none, some, most
SCALES = pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])


@SCALES
def test_values_and_derivatives(scale):
    case = Case(scale)
    shared = background(case.shared)
    out = zeros(len(case.labels), K)
    value = np.empty(len(case.y))
    BackgroundSoftmax()(case.active, case.y, shared, case.weight, out, value)
    log_p = log_softmax(case.dense(case.scores, case.shared), axis=1)
    np.testing.assert_allclose(
        value, -log_p[np.arange(len(case.y)), case.y], rtol=1e-11, atol=1e-11
    )
    rows, labels = case.split(case.weight[:, None] * (np.exp(log_p) - np.eye(K)[case.y]))
    np.testing.assert_allclose(out.rows, rows, atol=1e-11)
    np.testing.assert_allclose(out.of_labels(shared), labels, atol=1e-11)


@SCALES
def test_second_derivatives(scale):
    case = Case(scale)
    rows, labels = case.directions
    shared = background(case.shared, labels)
    out = zeros(len(case.labels), K)
    BackgroundSoftmax().hess_vec(case.active, rows, shared, case.weight, out)
    p = np.exp(log_softmax(case.dense(case.scores, case.shared), axis=1))
    d = case.dense(rows, labels)
    expected = case.split(case.weight[:, None] * p * (d - np.sum(p * d, axis=1, keepdims=True)))
    np.testing.assert_allclose(out.rows, expected[0], atol=1e-11)
    np.testing.assert_allclose(out.of_labels(shared), expected[1], atol=1e-11)


def test_the_derivative_is_that_of_the_value():
    case = Case(1.0)
    shared = background(case.shared)
    out = zeros(len(case.labels), K)
    value = np.empty(len(case.y))

    def total():
        other = zeros(len(case.labels), K)
        BackgroundSoftmax()(case.active, case.y, background(case.shared), case.weight, other, value)
        return float(case.weight @ value)

    BackgroundSoftmax()(case.active, case.y, shared, case.weight, out, value)
    for r in range(len(case.labels)):
        assert out.rows[r] == pytest.approx(contracts.derivative(total, case.scores, r), abs=1e-8)
    slopes = out.of_labels(shared)
    for k in range(K):
        assert slopes[k] == pytest.approx(contracts.derivative(total, case.shared, k), abs=1e-8)
