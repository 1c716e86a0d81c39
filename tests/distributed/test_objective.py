"""The objective of partitions is that of all data."""

from __future__ import annotations

import numpy as np
import pytest
from partitions import CASES, data_of, in_memory, whole
from sklearn.base import clone

from sklearn_struct.distributed.fitting import parts_of, pose
from sklearn_struct.distributed.partitions import value_and_grad

# losses of missing labels, of costs and of windows have no second derivatives
DIFFERENTIABLE = sorted(
    {*CASES} - {"partial", "all edges", "rare and open", "softmax margin", "windows"}
)


def sharded(estimator, n_parts, *data):
    encoder, model = parts_of(estimator)
    return pose(clone(model), encoder, in_memory(n_parts, *data)).objective


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name):
    estimator, *data = data_of(name)
    expected = whole(estimator, *data)
    rng = np.random.default_rng(0)
    for n_parts in (1, 3, 8):
        objective = sharded(estimator, n_parts, *data)
        assert (objective.size, objective.n_free) == (expected.size, expected.n_free)
        assert objective.total_weight == pytest.approx(expected.total_weight, rel=1e-14)
        w = rng.normal(size=objective.size)
        value, grad = objective.value_and_grad(w)
        of_all, slope = expected.value_and_grad(w)
        assert value == pytest.approx(of_all, rel=1e-14)
        np.testing.assert_allclose(grad, slope, rtol=0, atol=1e-14 * np.abs(slope).max())


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_hessian_products(name):
    estimator, *data = data_of(name)
    expected = whole(estimator, *data)
    rng = np.random.default_rng(0)
    for n_parts in (1, 3, 8):
        objective = sharded(estimator, n_parts, *data)
        w, v = rng.normal(size=(2, objective.size))
        product = objective.hess_vec(w, v)
        of_all = expected.hess_vec(w, v)
        np.testing.assert_allclose(product, of_all, rtol=0, atol=1e-14 * np.abs(of_all).max())


def test_bits_do_not_depend_on_the_order_of_work():
    """Results come in the order of partitions, whoever makes them first."""
    estimator, *data = data_of("templates")
    objective = sharded(estimator, 5, *data)

    states = objective.shards.states

    class Backwards:
        def each(self, function, *arguments):
            assert function is value_and_grad
            work = list(zip(states, *arguments, strict=True))
            return [function(*of_partition) for of_partition in work[::-1]][::-1]

    w = np.random.default_rng(0).normal(size=objective.size)
    value, grad = objective.value_and_grad(w)
    objective.shards = Backwards()
    again = objective.value_and_grad(w)
    assert again[0] == value
    np.testing.assert_array_equal(again[1], grad)


def test_threads_do_not_show():
    estimator, *data = data_of("weights")
    objective = sharded(estimator, 3, *data)
    w = np.random.default_rng(0).normal(size=objective.size)
    value, grad = objective.value_and_grad(w)
    for shard in objective.shards.states:
        shard.model.n_jobs = 2
    again = objective.value_and_grad(w)
    assert again[0] == value
    np.testing.assert_array_equal(again[1], grad)
