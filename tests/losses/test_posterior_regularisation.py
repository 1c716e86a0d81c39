"""Posterior regularisation against enumeration, where weak duality proves what is nearest."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.containers.csr import csr
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.base import Batch
from sklearn_struct.losses.evidence import Evidence, Fired
from sklearn_struct.losses.expectation_criteria import Criteria
from sklearn_struct.losses.posterior_regularisation import (
    NearestLabellings,
    PosteriorRegularisation,
)

WEIGHT = np.array([1.0, 0.0, 2.0, 0.5, 1.0])
LENGTHS = (3, 2, 1, 2, 1)
PRICES = (3.0, 0.2, 2.0)
NODE = np.array([[1, 0], [1, 1], [0, 0.5], [1, 1], [1, 0], [1, 0], [0, 2], [1, 0], [0, 0]], float)
EDGE = np.array([[0], [1], [1], [0], [1], [0], [0], [0.5], [0]], float)


def small(seed, shared=True, order=1, prices=PRICES):
    """Five chains of three labels, in the last of which nothing fires, and the second has no
    weight; two criteria are on labels, one on pairs.
    """
    rng = np.random.default_rng(seed)
    potentials, structure = contracts.random_chains(rng, LENGTHS, 3, shared, order)
    of_labels = np.array([[0.9, 0, 0], [0, 0.3, 0.6]])
    of_pairs = np.zeros((1, 9))
    of_pairs[0, [1, 5]] = 0.4, 0.01
    criteria = [
        Criteria(of_labels, np.array(prices[:2]), "posterior"),
        Criteria(of_pairs, np.array(prices[2:]), "posterior"),
    ]
    fired = Fired(csr(sp.csr_array(NODE)), csr(sp.csr_array(EDGE)))
    loss = PosteriorRegularisation(NearestLabellings(Chain(), *criteria))
    return loss, Batch(potentials, Evidence(fired=fired), structure, WEIGHT)


def whole(loss, batch, start=None):
    """Value, derivative and the settled loss."""
    value, settled = loss.settle(lambda asked: asked.statistics(batch), start)
    out = contracts.mapped(np.zeros_like, batch.potentials)
    values = np.full(len(batch.weight), np.nan)
    settled(batch, out, values)
    return value + batch.weight @ values, out, settled


def counts_of(labels, tokens):
    """What fires at the labels of a chain: of both criteria on labels, and of that on pairs."""
    node = np.zeros((2, 3))
    edge = np.zeros((1, 9))
    for t, k in zip(tokens, labels, strict=True):
        node[:, k] += NODE[t]
    for t, j, k in zip(tokens[1:], labels, labels[1:]):
        edge[:, 3 * j + k] += EDGE[t]
    return np.concatenate([node.ravel(), edge.ravel()])


def bounds(loss, batch, multipliers):
    """The value of the labellings with these multipliers, which is no less than the least one, and
    of the dual, which is no more; all labellings are enumerated.
    """
    criteria = (loss.nearest.node, loss.nearest.edge)
    price = np.concatenate([np.repeat(c.weight, c.target.shape[1]) for c in criteria])
    divergence = log_ratio = 0.0
    expected = total = 0.0
    offsets = batch.structure.offsets
    for i, twin in enumerate(naive.twins(batch.potentials, batch.structure)):
        counts = np.array([counts_of(y, range(*offsets[i : i + 2])) for y in twin.y])
        tilted = twin.p * np.exp(counts @ multipliers)
        q = (tilted / tilted.sum()).astype(float)
        divergence += WEIGHT[i] * np.sum(q * np.log(q / twin.p.astype(float)))
        log_ratio += WEIGHT[i] * float(np.log(tilted.sum()))
        expected = expected + WEIGHT[i] * q @ counts
        total = total + WEIGHT[i] * counts[0]
    of_labels = np.repeat(total[:6].reshape(2, 3).sum(axis=1), 3)
    firing = np.concatenate([of_labels, np.repeat(total[6:].sum(), 9)])
    least = firing * np.concatenate([c.target.ravel() for c in criteria])
    above = divergence + price @ np.maximum(least - expected, 0.0)
    return above, float(multipliers @ least) - log_ratio


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_labellings(seed, shared, order):
    """What distribution and dual agree on is the least value of all distributions."""
    loss, batch = small(seed, shared, order)
    value, _, settled = whole(loss, batch)
    multipliers = settled.nearest.multipliers
    above, below = bounds(loss, batch, multipliers)
    assert value == pytest.approx(below, abs=1e-9)
    assert above == pytest.approx(below, abs=1e-5)
    assert value > 0.01
    assert np.all(multipliers[[1, 2, 3]] == 0)
    assert multipliers.max() <= max(PRICES)


def test_what_is_dear_is_kept_and_what_is_cheap_is_not():
    loss, batch = small(0)
    for prices, kept in (((30.0, 30.0, 30.0), True), ((0.05, 0.05, 0.05), False)):
        loss, batch = small(0, prices=prices)
        settled = whole(loss, batch)[2].nearest
        counts = settled.statistics(batch)[1:4]
        assert (counts[0] >= 0.9 * counts.sum() - 1e-5) == kept
        assert (settled.multipliers[0] == 0.05) != kept


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shared", [True, False])
def test_derivative(shared, order):
    loss, batch = small(1, shared, order)
    _, out, _ = whole(loss, batch)
    rng = np.random.default_rng(0)
    for table, slopes in zip(
        contracts.arrays_of(batch.potentials), contracts.arrays_of(out), strict=True
    ):
        for index in contracts.some_entries(rng, table, 8):
            slope = contracts.derivative(lambda: whole(loss, batch)[0], table, index)
            assert slope == pytest.approx(slopes[index], abs=2e-4)


def test_a_model_that_keeps_all_costs_nothing():
    _, batch = small(0)
    batch.potentials.node[:] = 0.0
    batch.potentials.cliques[0][:] = 0.0
    easy = Criteria(np.array([[0.3, 0, 0], [0, 0.3, 0.3]]), np.ones(2), "posterior")
    none = Criteria(np.zeros((1, 9)), np.ones(1), "posterior")
    value, out, settled = whole(
        PosteriorRegularisation(NearestLabellings(Chain(), easy, none)), batch
    )
    assert value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(contracts.flat(out), 0.0, atol=1e-12)
    assert not settled.nearest.multipliers.any()


def test_examples_where_nothing_fires_or_that_weigh_nothing():
    loss, batch = small(2)
    _, out, settled = whole(loss, batch)
    values = np.full(5, np.nan)
    settled(batch, contracts.mapped(np.zeros_like, batch.potentials), values)
    assert values[[1, 4]].tolist() == [0.0, 0.0]
    assert not out.node[3:5].any()
    assert not out.node[8].any()
    assert out.node[:3].any()


def test_any_start_leads_there():
    loss, batch = small(0)
    value, out, settled = whole(loss, batch)
    other = whole(*small(1))[2]
    again, out_again, _ = whole(loss, batch, other)
    assert again == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(contracts.flat(out_again), contracts.flat(out), atol=1e-4)
    assert whole(loss, batch, settled)[0] == pytest.approx(value, abs=1e-9)


def test_parts():
    """The value is that of the first less that of the second, both convex."""
    loss, batch = small(0)
    first, second = loss.parts()
    rng = np.random.default_rng(9)
    other, _ = contracts.random_chains(rng, LENGTHS, 3)

    def at(share, part):
        mix = contracts.mapped(lambda a, b: (1 - share) * a + share * b, batch.potentials, other)
        moved = batch._replace(potentials=mix)
        if part.couples:
            return whole(part, moved)[0]
        values = np.full(5, np.nan)
        part(moved, contracts.mapped(np.zeros_like, mix), values)
        return WEIGHT @ values

    for share in (0.0, 0.3, 1.0):
        assert at(share, loss) == pytest.approx(at(share, first) - at(share, second), abs=1e-9)
    for part in (first, second):
        assert at(0.5, part) < (at(0.0, part) + at(1.0, part)) / 2


def test_scaled():
    loss, batch = small(0)
    half = loss.scaled(0.5).nearest
    assert half.node.weight.tolist() == [1.5, 0.1]
    assert whole(loss.scaled(0.0), batch)[0] == pytest.approx(0.0, abs=1e-12)
    assert 0 < whole(loss.scaled(0.5), batch)[0] < whole(loss, batch)[0]


def test_float32_tables_keep_their_type():
    loss, batch = small(0)
    value = whole(loss, batch)[0]
    single = contracts.mapped(lambda table: table.astype(np.float32), batch.potentials)
    tilted = whole(loss, batch)[2].nearest.tilted(batch._replace(potentials=single))
    assert {table.dtype for table in contracts.arrays_of(tilted)} == {np.dtype(np.float32)}
    of_single, settled = loss.settle(
        lambda asked: asked.statistics(batch._replace(potentials=single))
    )
    out = contracts.mapped(np.zeros_like, batch.potentials)
    values = np.empty(5)
    settled(batch._replace(potentials=single), out, values)
    assert of_single + WEIGHT @ values == pytest.approx(value, abs=1e-3)
