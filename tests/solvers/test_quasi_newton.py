"""The memory of pairs beside the BFGS formula, matrix by matrix."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.solvers.owlqn import owlqn
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


@pytest.mark.parametrize("n_pairs", [3, 20])
def test_the_number_of_pairs_can_be_chosen(n_pairs):
    rng = np.random.default_rng(0)
    memory = Memory(30, n_pairs)
    pairs = pairs_of(rng, 25, 30)
    for s, y in pairs:
        memory.add(s, y)
    gradient = rng.normal(size=30)
    expected = -inverse_hessian(pairs[-n_pairs:]) @ gradient
    direction = memory.direction(gradient)
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


def test_negative_curvature_empties_the_memory():
    rng = np.random.default_rng(0)
    memory = Memory(8)
    for s, y in pairs_of(rng, 4):
        memory.add(s, y)
    assert len(memory) == 4
    s = rng.normal(size=8)
    memory.add(s, -s)
    assert len(memory) == 0
    g = rng.normal(size=8)
    np.testing.assert_array_equal(memory.direction(g), -g)
    pairs = pairs_of(rng, 2)
    for s, y in pairs:
        memory.add(s, y)
    np.testing.assert_allclose(memory.direction(g), -inverse_hessian(pairs) @ g, rtol=1e-4)


def test_no_curvature_is_left_out_alone():
    """Rounding errors make it a little negative where there is none."""
    rng = np.random.default_rng(0)
    memory = Memory(8)
    for s, y in pairs_of(rng, 4):
        memory.add(s, y)
    s, y = np.eye(8)[:2]
    memory.add(s, y - 1e-6 * s)
    assert len(memory) == 4


class Bump:
    """1 - exp(-|w|**2 / 2), concave from a distance of 1 on, beside a bowl that is flat there."""

    size = 3
    n_free = 0

    def value_and_grad(self, w):
        shrunk = float(np.exp(-w @ w / 2))
        return 1.0 - shrunk + 0.005 * float(w @ w), w * shrunk + 0.01 * w


def test_owlqn_meets_negative_curvature_and_goes_on(monkeypatch):
    seen = []
    add = Memory.add

    def watched(memory, step, change, scale=1.0):
        add(memory, step, change, scale)
        seen.append((float(np.dot(step, change)), len(memory)))

    monkeypatch.setattr(Memory, "add", watched)
    w0 = np.array([3.0, -2.5, 2.0])
    result = owlqn(Bump(), w0, l1=1e-3, l2=0.0, max_iter=200, tol=1e-8)
    emptied = [length for curvature, length in seen if curvature < 0]
    assert emptied
    assert set(emptied) == {0}
    assert result.converged
    np.testing.assert_allclose(result.w, 0, atol=1e-8)
