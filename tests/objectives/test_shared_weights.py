"""An objective as a function of fewer weights."""

from __future__ import annotations

import contracts
import numpy as np

from sklearn_struct.objectives.shared_weights import SharedWeights

PLACE = np.array([0, 1, 0, 2, 1, 3])  # of six weights; the last one is free


def problem():
    return SharedWeights(contracts.LeastSquares(np.random.default_rng(0)), PLACE)


def test_its_shape():
    fewer = problem()
    assert (fewer.size, fewer.n_free) == (4, 1)
    u = np.arange(4.0)
    assert fewer.spread(u).tolist() == [0, 1, 0, 2, 1, 3]
    np.testing.assert_array_equal(fewer.gather(fewer.spread(u)), u)
    assert fewer.gather(np.array([1.0, 0, 3, 0, 2, 0])).tolist() == [2, 1, 0, 0]


def test_derivatives_by_differences():
    fewer = problem()
    rng = np.random.default_rng(1)
    u = rng.normal(size=4)
    v = rng.normal(size=4)
    value, grad = fewer.value_and_grad(u)
    assert value == fewer.objective.value_and_grad(u[PLACE])[0]
    step = 1e-5
    ahead, behind = (fewer.value_and_grad(u + sign * step * v) for sign in (1, -1))
    np.testing.assert_allclose(grad @ v, (ahead[0] - behind[0]) / (2 * step), rtol=1e-7)
    np.testing.assert_allclose(fewer.hess_vec(u, v), (ahead[1] - behind[1]) / (2 * step), rtol=1e-6)


def test_the_minimum_is_that_of_added_columns():
    fewer = problem()
    A = fewer.objective.A
    added = np.stack([A[:, np.equal(PLACE, k)].sum(axis=1) for k in range(4)], axis=1)
    u = np.linalg.lstsq(added, fewer.objective.b, rcond=None)[0]
    np.testing.assert_allclose(fewer.value_and_grad(u)[1], 0, atol=1e-12)
