"""The log-likelihood with costs in its scores, against enumeration (finite differences: the
contract).
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.softmax_margin import SoftmaxMargin

COST = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, 3.0], [0.0, 0.25, 0.0]])

test_hamming = contracts.loss(SoftmaxMargin(Chain()))
test_costs = contracts.loss(SoftmaxMargin(Chain(), COST))
test_costs_at_order_2 = contracts.loss(SoftmaxMargin(Chain(), COST), order=2)


@pytest.mark.parametrize("cost", [None, COST], ids=["hamming", "matrix"])
@pytest.mark.parametrize("order", [1, 2])
def test_by_enumeration(order, cost):
    rng = np.random.default_rng(0)
    potentials, y, structure = contracts.labelled_chains(rng, True, order)
    table = 1.0 - np.eye(3) if cost is None else cost
    value, _ = contracts.evaluate(
        SoftmaxMargin(Chain(), cost), potentials, y, structure, np.ones(4)
    )
    for i, twin in enumerate(naive.twins(potentials, structure)):
        right = y[slice(*structure.offsets[i : i + 2])]
        raised = [
            score + table[right, list(labels)].sum()
            for labels, score in zip(twin.y, twin.scores, strict=True)
        ]
        expected = np.logaddexp.reduce(raised) - twin.scores[twin.y.index(tuple(right.tolist()))]
        assert value[i] == pytest.approx(float(expected), abs=1e-12)


def test_without_costs_it_is_the_likelihood():
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), True)
    nothing = SoftmaxMargin(Chain(), np.zeros((3, 3)))
    results = [
        contracts.evaluate(loss, potentials, y, structure, np.ones(4))
        for loss in (nothing, LogLikelihood(Chain()))
    ]
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(contracts.flat(results[0][1]), contracts.flat(results[1][1]))


def test_float32_scores_stay_float32():
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), True)
    single = contracts.mapped(lambda table: table.astype(np.float32), potentials)
    loss = SoftmaxMargin(Chain(), COST)
    out = contracts.zeros(potentials)
    value, _ = contracts.evaluate(loss, single, y, structure, np.ones(4), out)
    expected, _ = contracts.evaluate(loss, potentials, y, structure, np.ones(4))
    np.testing.assert_allclose(value, expected, atol=1e-5)
