"""-log p(y_t | neighbours, x) and its derivatives, against enumeration (finite differences: the
contract).
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.conditionals import Conditionals
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.windows import Windows

SIDES = [(True, True), (True, False), (False, True), (False, False)]

test_pseudolikelihood = contracts.loss(Conditionals())
test_memm = contracts.loss(Conditionals(right=False))
test_right_neighbour = contracts.loss(Conditionals(left=False))
test_nodes_alone = contracts.loss(Conditionals(left=False, right=False))
test_pseudolikelihood_of_second_order = contracts.loss(Conditionals(), order=2)
test_memm_of_second_order = contracts.loss(Conditionals(right=False), order=2)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("order", [1, 2])
def test_pseudolikelihood_by_enumeration(order, scale, shared):
    """p(y_t | all other labels) from the probabilities of all labellings."""
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (5, 0, 1, 3), shared=shared, order=order)
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    y = rng.integers(3, size=9).astype(np.int32)
    value, _ = contracts.evaluate(Conditionals(), potentials, y, structure, np.ones(4))
    for i, twin in enumerate(naive.twins(potentials, structure)):
        labels = tuple(y[slice(*structure.offsets[i : i + 2])].tolist())
        expected = 0.0
        for t in range(len(labels)):
            others = [(*labels[:t], k, *labels[t + 1 :]) for k in range(3)]
            scores = np.array([twin.scores[twin.y.index(other)] for other in others])
            expected += np.logaddexp.reduce(scores) - scores[labels[t]]
        assert value[i] == pytest.approx(float(expected), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("order", [1, 2])
def test_the_memm_is_a_distribution(order, shared):
    """Losses of all labellings are minus the logarithms of probabilities that sum to 1."""
    potentials, structure = contracts.random_chains(
        np.random.default_rng(1), (4,), shared=shared, order=order
    )
    mass = 0.0
    for y in naive.labellings(4, 3):
        y = np.array(y, dtype=np.int32)
        mass += np.exp(
            -contracts.evaluate(Conditionals(right=False), potentials, y, structure, np.ones(1))[0][
                0
            ]
        )
    assert mass == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("order", "K"), [(1, 1), (1, 3), (1, 8), (1, 11), (2, 1), (2, 3), (2, 9)])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("left", "right"), SIDES)
def test_windows_of_one_token_are_the_same(left, right, shared, order, K):
    """Two ways to one loss: value, derivative and second derivative."""
    rng = np.random.default_rng(K)
    lengths = (5, 0, 1, 2, 7)
    weight = np.array([1.0, 2.0, 0.5, 0.0, 3.0])
    potentials, structure = contracts.random_chains(rng, lengths, K, shared, order)
    direction, _ = contracts.random_chains(rng, lengths, K, shared, order)
    y = rng.integers(K, size=15).astype(np.int32)
    one = Conditionals(left, right)
    other = Windows(LogLikelihood(Chain()), 1, left, right)
    value, out = contracts.evaluate(one, potentials, y, structure, weight)
    same_value, same = contracts.evaluate(other, potentials, y, structure, weight)
    np.testing.assert_allclose(value, same_value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(same), atol=1e-12)
    out = contracts.second_derivative(one, potentials, direction, y, structure, weight)
    same = contracts.second_derivative(other, potentials, direction, y, structure, weight)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(same), atol=1e-12)


def test_long_sequences():
    """Where the product of the normalisers would leave the range of floats: 3**2000."""
    potentials, structure = contracts.random_chains(np.random.default_rng(0), lengths=(2000, 5))
    potentials = contracts.mapped(lambda table: 0.01 * table, potentials)
    y = np.zeros(2005, dtype=np.int32)
    value, _ = contracts.evaluate(Conditionals(), potentials, y, structure, np.ones(2))
    windows = Windows(LogLikelihood(Chain()), 1, True, True)
    same_value, _ = contracts.evaluate(windows, potentials, y, structure, np.ones(2))
    np.testing.assert_allclose(value, same_value, rtol=1e-12)


@pytest.mark.parametrize("loss", [Conditionals(), Conditionals(right=False)], ids=["both", "left"])
def test_one_token_is_the_likelihood(loss):
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, lengths=(1,) * 20)
    y = rng.integers(3, size=20).astype(np.int32)
    weight = rng.uniform(0.1, 2, size=20)
    value, out = contracts.evaluate(loss, potentials, y, structure, weight)
    same_value, same = contracts.evaluate(LogLikelihood(Chain()), potentials, y, structure, weight)
    np.testing.assert_allclose(value, same_value, rtol=1e-12)
    np.testing.assert_allclose(out.node, same.node, atol=1e-14)


@pytest.mark.parametrize("shared", [True, False])
def test_float32_potentials(shared):
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), shared)
    single = contracts.mapped(lambda table: table.astype(np.float32), potentials)
    double = contracts.mapped(lambda table: table.astype(np.float64), single)
    value, out = contracts.evaluate(Conditionals(), single, y, structure, np.ones(4))
    same_value, same = contracts.evaluate(Conditionals(), double, y, structure, np.ones(4))
    np.testing.assert_allclose(value, same_value, rtol=1e-12)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(same), atol=1e-12)


def test_certain_and_forbidden_labels():
    """0 for the only possible label, +inf for one that cannot be; where no label can be, too."""
    node = np.array([[0.0, -np.inf], [-np.inf, 0.0]] * 2 + [[-np.inf] * 2])
    y = np.array([0, 1, 1, 1, 0], dtype=np.int32)
    for loss in (Conditionals(), Conditionals(right=False)):
        value, out = contracts.evaluate(
            loss, Potentials(node, (np.zeros((1, 4)),)), y, chain([0, 2, 4, 5]), np.ones(3)
        )
        assert value.tolist() == [0.0, np.inf, np.inf]
        assert not out.node[:2].any()
