"""Tree-reweighted belief propagation: an upper bound of log Z, exact on forests."""

from __future__ import annotations

import contracts
import graphs
import numpy as np
import pytest
from graphs import PAIRS, SHARED_PAIRS, SHARED_TRIPLES, TRIPLES

from sklearn_struct.inference.graphs import message_passing
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.tree_reweighted import TreeReweighted

SETTLED = TreeReweighted(3000, 1e-13)

test_contract = contracts.inference(SETTLED)
test_tangent_contract = contracts.inference_tangent(SETTLED)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_of_forests_it_is_exact(seed, shared):
    rng = np.random.default_rng(seed)
    potentials, structure = graphs.random_forest(rng, (9, 0, 1, 12), shared=shared)
    potentials.node[rng.random(potentials.node.shape) < 0.1] = -np.inf
    expected, log_Z = contracts.marginals(Forest(), potentials, structure)
    out, same = contracts.marginals(SETTLED, potentials, structure)
    np.testing.assert_allclose(same, log_Z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)


@pytest.mark.parametrize("families", [(PAIRS,), (SHARED_PAIRS, SHARED_TRIPLES), (TRIPLES,)])
@pytest.mark.parametrize("strength", [0.3, 2.0])
def test_it_is_an_upper_bound(families, strength):
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (5, 6, 7, 8, 8), 2, families)
    potentials = contracts.mapped(lambda table: strength * table, potentials)
    subject = TreeReweighted(3000, 1e-6)
    _, log_Z = contracts.marginals(JunctionTree(), potentials, structure)
    _, bound = contracts.marginals(subject, potentials, structure)
    assert subject.report.counts.n_unconverged == 0
    assert np.all(bound > log_Z - 1e-6)
    if strength < 1.0:
        assert np.all(bound < log_Z + 1.5)


# strong cliques of three take thousands of sweeps
@pytest.mark.parametrize(
    ("families", "strength"),
    [((PAIRS,), 0.5), ((SHARED_PAIRS, SHARED_TRIPLES), 0.2), ((TRIPLES,), 0.5)],
)
def test_beliefs_are_the_derivative_of_the_value(families, strength):
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6, 8), 3, families)
    potentials = contracts.mapped(lambda table: strength * table, potentials)
    out, _ = contracts.marginals(SETTLED, potentials, structure)
    for table, expected in zip(contracts.arrays_of(potentials), contracts.arrays_of(out)):
        for index in contracts.some_entries(rng, table):
            slope = contracts.derivative(
                lambda: contracts.marginals(SETTLED, potentials, structure)[1].sum(), table, index
            )
            assert slope == pytest.approx(expected[index], abs=1e-6)


def test_derivatives_of_beliefs():
    """By a step along the imaginary axis, against differences."""
    rng = np.random.default_rng(0)
    potentials, structure = graphs.random_graphs(rng, (6, 8), 3, (SHARED_PAIRS,))
    reward = contracts.mapped(lambda table: rng.normal(size=table.shape), potentials)
    out, mean = contracts.tangent(SETTLED, potentials, reward, structure)
    step = np.zeros(1)

    def moved():
        theta = contracts.mapped(lambda a, b: a + step[0] * b, potentials, reward)
        return contracts.marginals(SETTLED, theta, structure)

    slope = contracts.derivative(lambda: moved()[1], step, 0)
    np.testing.assert_allclose(mean, slope, atol=1e-7)
    slope = contracts.derivative(lambda: contracts.flat(moved()[0]), step, 0)
    np.testing.assert_allclose(contracts.flat(out), slope, atol=1e-7)


@pytest.mark.parametrize("K", [2, 3, 9])
@pytest.mark.parametrize("sweeps", [1, 3, 3000])
def test_logarithms_are_the_same_as_numbers(monkeypatch, sweeps, K):
    """Also where it stops early, as both send the same messages in the same order."""
    rng = np.random.default_rng(0)
    batch = graphs.random_graphs(rng, (9, 0, 1, 14), K, (SHARED_PAIRS, PAIRS), density=1.0)
    subject = TreeReweighted(sweeps, 1e-12)
    expected, log_Z = contracts.marginals(subject, *batch)
    monkeypatch.setattr(
        message_passing, "are_small", lambda p, structure, share: np.zeros(4, dtype=bool)
    )
    out, same = contracts.marginals(subject, *batch)
    np.testing.assert_allclose(same, log_Z, rtol=1e-11)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-10)


def test_the_bound_is_convex():
    """Between any two scores; Bethe's approximation is not."""
    rng = np.random.default_rng(0)
    a, structure = graphs.grid(rng, 4, 4, 2, shared=False, strength=1.5)
    b = contracts.mapped(lambda table: 1.5 * rng.normal(size=table.shape), a)
    values = [
        contracts.marginals(SETTLED, between(a, b, t), structure)[1][0]
        for t in np.linspace(0.0, 1.0, 9)
    ]
    assert np.all(np.diff(values, 2) > -1e-8)


def between(a, b, t):
    return contracts.mapped(lambda x, y: (1.0 - t) * x + t * y, a, b)
