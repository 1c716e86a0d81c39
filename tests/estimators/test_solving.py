"""Which solver "auto" stands for, how long terms are, and that the choice repeats itself."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.estimators import solving
from sklearn_struct.estimators.solving import term_tokens


def words(rng, n=60):
    X = [[f"w{rng.integers(500)}" for _ in range(rng.integers(1, 9))] for _ in range(n)]
    return X, [[word[-1] for word in sentence] for sentence in X]


@pytest.fixture
def chosen(monkeypatch):
    """The solvers that fits have called."""
    calls = []
    for name, solver in solving.SOLVERS.items():

        def spy(*args, name=name, solver=solver, **options):
            calls.append(name)
            return solver(*args, **options)

        monkeypatch.setitem(solving.SOLVERS, name, spy)
    return calls


def test_small_data(chosen):
    X, y = words(np.random.default_rng(0))
    LinearChainCRF().fit(X, y)
    LinearChainCRF(l1_ratio=0.5, max_iter=5, tol=1).fit(X, y)
    assert chosen == ["lbfgs", "owlqn"]


@pytest.mark.parametrize(
    ("parameters", "solver"),
    [
        ({}, "sag"),
        ({"C": 0.1, "fit_intercept": False}, "sag"),
        ({"C": 3.0}, "lbfgs"),
        ({"l1_ratio": 1.0}, "owlqn"),
        ({"edge_features": "all"}, "lbfgs"),
        ({"solver": "cg"}, "cg"),
    ],
)
def test_large_sparse_data(parameters, solver, chosen, monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 100)
    X, y = words(np.random.default_rng(0))
    LinearChainCRF(tol=0.1, **parameters).fit(X, y)
    assert chosen == [solver]


def test_large_dense_data(chosen, monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 10)
    X, y = np.random.default_rng(0).normal(size=(20, 30)), np.arange(20) % 3
    LinearChainCRF(tol=0.1).fit(X, y)
    assert chosen == ["lbfgs"]


def test_more_than_sag_may_remember(chosen, monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 100)
    X, y = words(np.random.default_rng(0))
    monkeypatch.setattr(solving, "LARGEST_MEMORY", 16 * sum(map(len, X)) * 10 - 1)
    LinearChainCRF(tol=0.1).fit(X, y)
    assert chosen == ["lbfgs"]


def test_few_weights(chosen, monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 100)
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 3)) for _ in range(40)]
    LinearChainCRF(tol=0.1).fit(X, [["a", "b", "a", "b", "b"]] * 40)
    assert chosen == ["lbfgs"]


def test_auto_repeats_itself(monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 100)
    X, y = words(np.random.default_rng(0))
    packed = SequenceVectorizer().fit_transform(X)
    first, second, seeded = (LinearChainCRF(random_state=seed).fit(packed, y).coef_ for seed in (None, None, 0))
    other = LinearChainCRF(random_state=1).fit(packed, y).coef_
    assert (first != second).nnz == (first != seeded).nnz == 0
    assert (first != other).nnz > 0


def test_terms():
    assert term_tokens("ap", 10**6, 9) == term_tokens("pa", 10**6, 9) == 1
    assert [term_tokens("sag", n, 9) for n in (10, 90_000, 10**6)] == [100, 200, 500]
    assert term_tokens("sag", 10, 300) == 300
