"""Objectives on scores of rows: derivatives, the linear term, threads, solvers."""

from __future__ import annotations

import pickle

import contracts
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.linear.sparse_rows import SparseRows
from sklearn_struct.losses.losses_of_rows import Exponential, RowExamples, Softmax
from sklearn_struct.objectives.rows_objective import RowsObjective
from sklearn_struct.solvers.gradient_descent import gradient_descent
from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.newton_cg import newton_cg

pytestmark = pytest.mark.twins
SIZE = 6


def problem(loss, n=40, pool=None, linear=True):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 5, size=n) if isinstance(loss, Softmax) else np.ones(n, int)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    shape = (int(offsets[-1]), SIZE)
    F = sp.csr_array((rng.random(shape) < 0.4) * rng.normal(size=shape))
    weight = rng.uniform(0, 2, size=n)
    data = RowExamples(offsets, rng.integers(0, lengths).astype(np.int32), weight)
    if not isinstance(loss, Softmax):
        data = RowExamples.single(weight)
    return RowsObjective(SparseRows(F), loss, data, rng.normal(size=SIZE) if linear else None).on(
        pool or Pool(1)
    ), F


LOSSES = pytest.mark.parametrize(
    "loss", [Softmax(), Exponential()], ids=lambda loss: type(loss).__name__
)


@LOSSES
@pytest.mark.parametrize("linear", [True, False])
def test_derivatives(loss, linear):
    objective, _ = problem(loss, linear=linear)
    rng = np.random.default_rng(1)
    w, v = rng.normal(size=(2, SIZE))
    grad = objective.value_and_grad(w)[1]
    found = [
        contracts.derivative(lambda: objective.value_and_grad(w)[0], w, j) for j in range(SIZE)
    ]
    np.testing.assert_allclose(grad, found, atol=1e-8)
    found = [
        contracts.derivative(lambda: float(v @ objective.value_and_grad(w)[1]), w, j)
        for j in range(SIZE)
    ]
    np.testing.assert_allclose(objective.hess_vec(w, v), found, atol=1e-8)


def test_the_exponential_by_hand():
    objective, F = problem(Exponential())
    w = np.random.default_rng(1).normal(size=SIZE)
    weight = objective.data.weight
    e = np.exp(-(F @ w))
    value, grad = objective.value_and_grad(w)
    assert value == pytest.approx(np.average(e, weights=weight) + objective.linear @ w, rel=1e-14)
    np.testing.assert_allclose(
        grad, -(F.T @ (weight * e)) / weight.sum() + objective.linear, rtol=1e-12
    )


@LOSSES
def test_threads_do_not_show(loss):
    w, v = np.random.default_rng(1).normal(size=(2, SIZE))
    alone = problem(loss, n=500)[0]
    with Pool(3) as pool:
        several = problem(loss, n=500, pool=pool)[0]
        assert several.value_and_grad(w)[0] == alone.value_and_grad(w)[0]
        assert several.value_and_grad(w)[1].tobytes() == alone.value_and_grad(w)[1].tobytes()
        assert several.hess_vec(w, v).tobytes() == alone.hess_vec(w, v).tobytes()
        copied = pickle.loads(pickle.dumps(several))
    assert copied.pool is None
    assert copied.value_and_grad(w)[1].tobytes() == alone.value_and_grad(w)[1].tobytes()


@LOSSES
@pytest.mark.parametrize("solver", [lbfgs, newton_cg, gradient_descent])
def test_solvers_find_the_minimum(loss, solver):
    objective, _ = problem(loss)
    found = solver(objective, np.zeros(SIZE), l1=0.0, l2=0.1, max_iter=2000, tol=1e-7)
    assert found.converged
    assert np.abs(contracts.subgradient(objective, found.w, l2=0.1)).max() <= 1e-7


def test_no_examples_for_a_thread():
    objective, _ = problem(Softmax(), n=3)
    assert np.isfinite(objective.value_and_grad(np.zeros(SIZE))[0])
