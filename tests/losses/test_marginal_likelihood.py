"""log Z - log Z(allowed) and its derivatives, against enumeration (finite differences: the
contract).
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood

LOSS = MarginalLikelihood(Chain())
SETS = np.array([[True, False, False], [True, True, True], [False, True, True]])


class OfCodes(Loss):
    """The loss with sets of labels for codes, for contracts, which know codes only."""

    convex = False
    twice_differentiable = True

    def __call__(self, batch, out, value):
        LOSS(of_sets(batch), out, value)

    def hess_vec(self, batch, direction, out):
        LOSS.hess_vec(of_sets(batch), direction, out)


def of_sets(batch):
    return batch._replace(evidence=Evidence(allowed=SETS[batch.evidence.known_labels()]))


test_contract = contracts.loss(OfCodes())
test_contract_of_second_order = contracts.loss(OfCodes(), order=2)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_by_enumeration(seed, shared, order):
    rng = np.random.default_rng(seed)
    potentials, structure = contracts.random_chains(
        rng, lengths=(6, 0, 1, 4), shared=shared, order=order
    )
    allowed = SETS[rng.integers(3, size=len(potentials.node))]
    weight = np.array([1.0, 1.0, 2.0, 0.5])
    value, out = contracts.evaluate(LOSS, potentials, allowed, structure, weight)
    free, kept = (
        list(naive.twins(theta, structure))
        for theta in (potentials, forbid_labels(potentials, allowed))
    )
    np.testing.assert_allclose(
        value, [float(a.log_Z - b.log_Z) for a, b in zip(free, kept)], atol=1e-10
    )
    node = np.concatenate([w * (a.node - b.node) for w, a, b in zip(weight, free, kept)])
    np.testing.assert_allclose(out.node, node.astype(float), atol=1e-10)
    for f, table in enumerate(out.cliques):
        cliques = np.concatenate(
            [w * (a.cliques[f] - b.cliques[f]) for w, a, b in zip(weight, free, kept)]
        )
        expected = cliques.sum(axis=0, keepdims=True) if shared else cliques
        np.testing.assert_allclose(table, expected.astype(float), atol=1e-10)


def test_known_labels_give_the_likelihood():
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), True)
    expected = contracts.evaluate(LogLikelihood(Chain()), potentials, y, structure, np.ones(4))
    found = contracts.evaluate(LOSS, potentials, np.eye(3, dtype=bool)[y], structure, np.ones(4))
    np.testing.assert_allclose(found[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(contracts.flat(found[1]), contracts.flat(expected[1]), atol=1e-12)


def test_nothing_is_learnt_where_nothing_is_known():
    potentials, structure = contracts.random_chains(np.random.default_rng(0))
    value, out = contracts.evaluate(
        LOSS, potentials, np.ones(potentials.node.shape, bool), structure, np.ones(4)
    )
    np.testing.assert_allclose(contracts.flat((value, out)), 0, atol=1e-12)
