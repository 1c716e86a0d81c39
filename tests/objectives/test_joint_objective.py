"""The likelihood of labels under products of features: enumeration of all labels, finite
differences, threads.
"""

from __future__ import annotations

import pickle

import contracts
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.csr import csr
from sklearn_struct.linear import joint_pair_scores as touched_labels
from sklearn_struct.linear.joint_pair_scores import JointMap
from sklearn_struct.objectives.joint_objective import JointObjective

pytestmark = pytest.mark.twins
# more labels than lanes
N = 12
M = 6
K = 11
# at which sums by difference fail for some, for most
SCALES = pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])


class Problem:
    """An objective, and the same by dense matrices."""

    def __init__(self, pool=None, spread=False, intercept=True, density=0.4):
        rng = np.random.default_rng(0)
        X = (rng.random((N, M)) < 0.4) * rng.normal(size=(N, M))
        X[:, :3] = X[:, :3] != 0  # these may be parts of backgrounds, the others not
        X[0] = 0.0  # an input that touches nothing
        self.X = np.column_stack([X, np.ones(N)])  # and a feature that belongs to the background
        self.exists = rng.random((M + 1, K)) < density
        self.y = rng.integers(0, K, size=N).astype(np.int32)
        self.weight = rng.uniform(0, 2, size=N)
        n = int(self.exists.sum())
        self.spread = (
            sp.csr_array((rng.random((n, 5)) < 0.5) * rng.normal(size=(n, 5))) if spread else None
        )
        mapped = JointMap(sp.csr_array(self.X), csr(sp.csr_array(self.exists * 1.0)), K)
        self.objective = JointObjective(mapped, self.spread, self.y, self.weight, intercept).on(
            pool or Pool(1)
        )

    def random(self, seed, scale=1.0):
        return np.random.default_rng(seed).normal(size=self.objective.size) * scale

    def table(self, w):
        n = self.objective.size - self.objective.n_free
        table = np.zeros((M + 1, K))
        table[self.exists] = w[:n] if self.spread is None else self.spread @ w[:n]
        return self.X @ table + (w[n:] if self.objective.n_free else 0.0)

    def value(self, w):
        log_p = log_softmax(self.table(w), axis=1)
        return -np.average(log_p[np.arange(N), self.y], weights=self.weight)

    def pull(self, R):
        R = R * self.weight[:, None] / self.weight.sum()
        node = (self.X.T @ R)[self.exists]
        node = node if self.spread is None else self.spread.T @ node
        return np.concatenate([node, R.sum(axis=0) if self.objective.n_free else []])

    def grad(self, w):
        return self.pull(np.exp(log_softmax(self.table(w), axis=1)) - np.eye(K)[self.y])

    def hess_vec(self, w, v):
        p = np.exp(log_softmax(self.table(w), axis=1))
        d = self.table(v)
        return self.pull(p * (d - np.sum(p * d, axis=1, keepdims=True)))


@pytest.fixture(params=[touched_labels.GROUP, 0], ids=["one background", "several"], autouse=True)
def price(request, monkeypatch):
    """What a background costs."""
    monkeypatch.setattr(touched_labels, "GROUP", request.param)
    monkeypatch.setattr(touched_labels, "LABEL", 10 if request.param else 0)
    return request.param


@SCALES
@pytest.mark.parametrize(
    "options", [{}, {"spread": True}, {"intercept": False}, {"density": 1.0}, {"density": 0.0}]
)
def test_enumeration(options, scale):
    problem = Problem(**options)
    w = problem.random(1, scale)
    v = problem.random(2)
    value, grad = problem.objective.value_and_grad(w)
    assert value == pytest.approx(problem.value(w), rel=1e-12)
    np.testing.assert_allclose(grad, problem.grad(w), atol=1e-12)
    np.testing.assert_allclose(problem.objective.hess_vec(w, v), problem.hess_vec(w, v), atol=1e-12)


@pytest.mark.parametrize("spread", [False, True])
def test_finite_differences(spread):
    objective = (problem := Problem(spread=spread)).objective
    w = problem.random(1)
    v = problem.random(2)
    found = [
        contracts.derivative(lambda: objective.value_and_grad(w)[0], w, j) for j in range(len(w))
    ]
    np.testing.assert_allclose(objective.value_and_grad(w)[1], found, atol=1e-8)
    found = [
        contracts.derivative(lambda: float(v @ objective.value_and_grad(w)[1]), w, j)
        for j in range(len(w))
    ]
    np.testing.assert_allclose(objective.hess_vec(w, v), found, atol=1e-8)


@SCALES
@pytest.mark.parametrize("block", [1, 10, 10**6])
def test_blocks_and_threads_do_not_show(block, scale, monkeypatch):
    expected = Problem().objective
    monkeypatch.setattr(touched_labels, "BLOCK", block)
    alone = (problem := Problem()).objective
    w = problem.random(1, scale)
    v = problem.random(2)
    np.testing.assert_allclose(
        alone.value_and_grad(w)[1], expected.value_and_grad(w)[1], atol=1e-14
    )
    with Pool(3) as pool:
        several = Problem(pool).objective
        assert several.value_and_grad(w)[0] == alone.value_and_grad(w)[0]
        assert several.value_and_grad(w)[1].tobytes() == alone.value_and_grad(w)[1].tobytes()
        assert several.hess_vec(w, v).tobytes() == alone.hess_vec(w, v).tobytes()
        copied = pickle.loads(pickle.dumps(several))
    assert copied.pool is None
    assert copied.value_and_grad(w)[1].tobytes() == alone.value_and_grad(w)[1].tobytes()


def test_blocks_cover_all_inputs(monkeypatch):
    for block in (1, 7, 10**6):
        monkeypatch.setattr(touched_labels, "BLOCK", block)
        blocks = Problem().objective.joint.blocks
        assert np.concatenate([np.arange(N)[rows] for rows in blocks]).tolist() == list(range(N))


def test_frequent_features_are_parts_of_backgrounds(price):
    mapped = Problem().objective.joint
    assert len(set(mapped.groups)) == (1 if price else len(np.unique(Problem().X[:, :3], axis=0)))
    assert mapped.X.indices.min() >= (0 if price else 3)
    assert M not in mapped.X.indices  # all inputs have this one


def test_the_start_is_the_best_intercept():
    problem = Problem(density=0.0)
    w = problem.objective.start()
    seen = np.bincount(problem.y, problem.weight, K) > 0
    np.testing.assert_allclose(
        np.exp(w[-K:])[seen], np.bincount(problem.y, problem.weight, K)[seen] / problem.weight.sum()
    )
    assert np.isfinite(w).all()
    assert (
        Problem(intercept=False).objective.start().tolist()
        == [0.0] * Problem(intercept=False).objective.size
    )
