"""log Z of free texts: values by enumeration of texts and labellings, derivatives by contract."""

from __future__ import annotations

from itertools import pairwise

import contracts
import naive_words
import numpy as np
import pytest

from sklearn_struct.containers.structures import chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.generated_words import FreeTexts, GeneratedWords
from sklearn_struct.losses.log_partition import LogPartition

K = 3
RULE = Transitions(np.array([True, True, False]), ~np.eye(K, dtype=bool), np.ones(K, dtype=bool))
PLACE = np.array([0, 1, 1, 0, 1, 0])
WEIGHT = np.array([2.0, 0.5, 1.0])


def texts(n_places, order=1):
    """Free texts of 3, 2 and 1 tokens."""
    place = PLACE if n_places else np.zeros(6, np.int64)
    return FreeTexts(chain([0, 3, 5, 6], order), place, n_places, WEIGHT)


def loss(n_places, order=1, rule=None):
    of_texts = LogPartition(Chain(order))
    if rule is not None:
        of_texts = Constrained(of_texts, rule)
    return GeneratedWords(of_texts, texts(n_places, order))


def lists(order):
    """Lists of words, with tables that cliques share; places and words fill the shortest."""

    def draw(rng, shared):
        return contracts.random_chains(rng, (5, 0, 3, 4), K, True, order)

    return draw


test_contract = contracts.loss(loss(0), lists(1))
test_contract_of_places = contracts.loss(loss(2), lists(1))
test_contract_of_constraints = contracts.loss(loss(2, rule=RULE), lists(1))
test_contract_of_second_order = contracts.loss(loss(2, order=2), lists(2))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n_places", [0, 2])
@pytest.mark.parametrize("constrained", [False, True])
def test_values_by_enumeration(n_places, constrained, order):
    rng = np.random.default_rng(3)
    potentials, structure = contracts.random_chains(
        rng, (n_places + 2, n_places + 3), K, True, order
    )
    rule = RULE if constrained else None
    value, _ = contracts.evaluate(
        loss(n_places, order, rule), potentials, Evidence(), structure, np.array([1.0, 3.0])
    )

    def is_allowed(y):
        return rule is None or (RULE.start[y[0]] and all(RULE.pairs[j, k] for j, k in pairwise(y)))

    for i, found in enumerate(value):
        node = potentials.node[structure.offsets[i] : structure.offsets[i + 1]]
        expected = 0.0
        for a, b, weight in zip((0, 3, 5), (3, 5, 6), WEIGHT, strict=True):
            places = node[PLACE[a:b]] - node[0] if n_places else np.zeros((b - a, K))
            expected += weight * naive_words.log_Z(
                node[n_places:], places, potentials.cliques, is_allowed
            )
        assert found == pytest.approx(expected, rel=1e-12)


def test_scores_of_any_size():
    """Sums of exponentials neither overflow nor vanish."""
    potentials, structure = contracts.random_chains(np.random.default_rng(0), (4,), K)
    values = []
    for shift in (-900.0, 0.0, 900.0):
        moved = potentials._replace(node=potentials.node + shift)
        value, out = contracts.evaluate(loss(0), moved, Evidence(), structure, np.ones(1))
        assert np.isfinite(contracts.flat(out)).all()
        values.append(value[0] - shift * (3 * 2.0 + 2 * 0.5 + 1))
    np.testing.assert_allclose(values, values[1], rtol=1e-9)


def test_tables_of_single_cliques_are_refused():
    potentials, structure = contracts.random_chains(
        np.random.default_rng(0), (4, 3), K, shared=False
    )
    with pytest.raises(ValueError, match="no rows of their own"):
        contracts.evaluate(loss(0), potentials, Evidence(), structure, np.ones(2))


@pytest.mark.parametrize("order", [1, 2])
def test_float32(order):
    rng = np.random.default_rng(0)
    potentials, structure = contracts.random_chains(rng, (5, 4), K, True, order)
    single = contracts.mapped(lambda table: table.astype(np.float32), potentials)
    results = [
        contracts.evaluate(loss(2, order), theta, Evidence(), structure, np.ones(2))
        for theta in (potentials, single)
    ]
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-5)
    np.testing.assert_allclose(*(contracts.flat(out) for _, out in results), atol=1e-5)
