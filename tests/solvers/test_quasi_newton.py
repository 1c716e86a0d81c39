"""The memory of pairs beside the BFGS formula, matrix by matrix."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.solvers.quasi_newton import COLUMNS, LENGTH, Memory


def inverse_hessian(pairs):
    """BFGS updates of a multiple of the identity (Nocedal & Wright, equation 7.16)."""
    s, y = pairs[-1]
    H = (s @ y) / (y @ y) * np.eye(len(s))
    for s, y in pairs:
        V = np.eye(len(s)) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    return H


def pairs_of(rng, n, size=8):
    root = rng.normal(size=(size, size))
    steps = rng.normal(size=(n, size))
    return [(s, (root @ root.T + np.eye(size)) @ s) for s in steps]


@pytest.mark.parametrize("n", [1, 2, LENGTH, LENGTH + 1, 2 * LENGTH + 3])
def test_the_formula_of_bfgs(n):
    rng = np.random.default_rng(n)
    memory = Memory(8)
    pairs = pairs_of(rng, n)
    for s, y in pairs:
        memory.add(s, y)
        gradient = rng.normal(size=8)
        direction = memory.direction(gradient)
    assert len(memory) == min(n, LENGTH)
    expected = -inverse_hessian(pairs[-LENGTH:]) @ gradient
    np.testing.assert_allclose(direction, expected, rtol=0, atol=1e-4 * np.linalg.norm(expected))


def test_several_pairs_between_two_directions():
    rng = np.random.default_rng(0)
    lazy = Memory(8)
    eager = Memory(8)
    gradient = rng.normal(size=8)
    for s, y in pairs_of(rng, LENGTH + 2):
        lazy.add(s, y)
        eager.add(s, y)
        expected = eager.direction(gradient)
    np.testing.assert_allclose(lazy.direction(gradient), expected, rtol=1e-6)


def test_the_newest_pair_is_met():
    """The secant equation: H y = s, at any scale."""
    rng = np.random.default_rng(0)
    for scale in (1e-25, 1.0, 1e25):
        memory = Memory(8)
        for s, y in pairs_of(rng, 4):
            memory.add(s, scale * y, 0.5)
            np.testing.assert_allclose(memory.direction(scale * y), -0.5 * s, rtol=1e-3)


def test_more_columns_than_a_block():
    rng = np.random.default_rng(0)
    memory = Memory(2 * COLUMNS + 5)
    curvature = rng.uniform(1, 2, size=2 * COLUMNS + 5)
    for _ in range(3):
        s = rng.normal(size=len(curvature))
        memory.add(s, curvature * s)
        np.testing.assert_allclose(memory.direction(curvature * s), -s, atol=1e-5)


def test_without_pairs_it_is_steepest_descent():
    memory = Memory(3)
    gradient = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(memory.direction(gradient), -gradient)
    memory.add(gradient, 2 * gradient)
    assert len(memory) == 1
    memory.clear()
    assert not memory
    np.testing.assert_array_equal(memory.direction(gradient), -gradient)


@pytest.mark.parametrize("change", [[-1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [np.nan, 1.0]])
def test_no_pairs_without_curvature(change):
    memory = Memory(2)
    memory.add(np.array([1.0, 0.0]), np.array(change))
    assert not memory


def test_arguments_stay():
    memory = Memory(2)
    s = np.array([1.0, 2.0])
    y = np.array([2.0, 3.0])
    memory.add(s, y, 0.5)
    memory.direction(y)
    assert (s.tolist(), y.tolist()) == ([1.0, 2.0], [2.0, 3.0])
