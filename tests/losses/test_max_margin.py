"""The best rival's lead over y, against enumeration; its subgradient, by the inequality that
defines one.
"""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sklearn_struct.containers.structures import Potentials, chain, columns_of
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.max_margin import MaxMargin

PERCEPTRON = MaxMargin(Chain())
HINGE = MaxMargin(Chain(), margin=1.0)
LOSSES = pytest.mark.parametrize(
    "loss", [PERCEPTRON, HINGE, MaxMargin(Chain(), 0.3)], ids=["0", "1", "0.3"]
)

# random scores have no ties, so there is a derivative
test_perceptron_contract = contracts.loss(PERCEPTRON)
test_hinge_contract = contracts.loss(HINGE)


def lead(twin, y, margin):
    """max_y' (score(y') + margin * Hamming distance) - score(y), and what labellings reach it."""
    scores = twin.scores + margin * (
        np.array(twin.y, dtype=int).reshape(len(twin.y), len(y)) != y
    ).sum(axis=1)
    return scores.max() - twin.scores[twin.y.index(tuple(y))], np.flatnonzero(
        scores == scores.max()
    )


def parts(y, structure):
    return np.split(y, structure.offsets[1:-1])


@st.composite
def labelled(draw):
    """Chains whose scores are often equal, so that many rivals are best, with labels."""
    K = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    structure = chain(np.concatenate([[0], np.cumsum(lengths)]))
    values = st.sampled_from([-1.0, 0.0, 0.0, 1.0]) | st.floats(-1e3, 1e3)
    n_edges = 1 if draw(st.booleans()) else len(structure.families[0].nodes)
    node, edge = (
        draw(arrays(float, shape, elements=values))
        for shape in ((sum(lengths), K), (n_edges, K**2))
    )
    y = draw(arrays(np.int32, sum(lengths), elements=st.integers(0, K - 1)))
    return Potentials(node, (edge,)), y, structure


@LOSSES
@given(batch=labelled())
def test_value_by_enumeration(loss, batch):
    potentials, y, structure = batch
    value, _ = contracts.evaluate(
        loss, potentials, y, structure, np.ones(len(structure.offsets) - 1)
    )
    twins = naive.twins(potentials, structure)
    expected = [
        float(lead(twin, labels, loss.margin)[0])
        for twin, labels in zip(twins, parts(y, structure))
    ]
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-9)


@LOSSES
@pytest.mark.parametrize("shared", [True, False])
def test_gradient_by_enumeration(loss, shared):
    """Weighted indicators of the best rival minus those of y."""
    potentials, y, structure = contracts.labelled_chains(np.random.default_rng(0), shared)
    weight = np.array([1.0, 1.0, 2.0, 0.5])
    _, out = contracts.evaluate(loss, potentials, y, structure, weight)
    rivals = [
        twin.y[lead(twin, labels, loss.margin)[1][0]]
        for twin, labels in zip(naive.twins(potentials, structure), parts(y, structure))
    ]
    rival = np.concatenate([np.array(labels, dtype=int) for labels in rivals])
    node = np.zeros(out.node.shape)
    edge = np.zeros((len(structure.families[0].nodes), 9))
    token_weight, edge_weight = (
        np.repeat(weight, np.diff(o)) for o in (structure.offsets, structure.families[0].offsets)
    )
    for labels, sign in ((rival, 1.0), (y, -1.0)):
        node[np.arange(len(y)), labels] += sign * token_weight
        pairs = columns_of(labels, structure.families[0], 3)
        edge[np.arange(len(pairs)), pairs] += sign * edge_weight
    assert np.any(node)
    np.testing.assert_allclose(out.node, node, atol=1e-15)
    np.testing.assert_allclose(
        out.cliques[0], edge.sum(axis=0, keepdims=True) if shared else edge, atol=1e-15
    )


@LOSSES
@given(batch=labelled(), seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-3, 1.0, 10.0]))
def test_subgradient_inequality(loss, batch, seed, scale):
    """loss(a + d) >= loss(a) + <subgradient at a, d>, also at kinks."""
    potentials, y, structure = batch
    rng = np.random.default_rng(seed)
    weight = np.ones(len(structure.offsets) - 1)
    value, out = contracts.evaluate(loss, potentials, y, structure, weight)
    move = contracts.mapped(lambda table: scale * rng.normal(size=table.shape), potentials)
    moved = contracts.mapped(np.add, potentials, move)
    further, _ = contracts.evaluate(loss, moved, y, structure, weight)
    bound = value.sum() + contracts.flat(out) @ contracts.flat(move)
    assert further.sum() >= bound - 1e-9 * (1 + np.abs(value).sum())


@given(batch=labelled())
def test_hinge_bounds_the_errors_of_viterbi(batch):
    """The structured hinge is an upper bound of the number of wrong labels, and is 0 only if y
    leads by as many.
    """
    potentials, y, structure = batch
    predicted = np.empty(len(y), dtype=np.int32)
    score = np.empty(len(structure.offsets) - 1)
    Chain().argmax(potentials, structure, predicted, score)
    errors = [int(np.sum(a != b)) for a, b in zip(parts(predicted, structure), parts(y, structure))]
    value, _ = contracts.evaluate(HINGE, potentials, y, structure, np.ones(len(score)))
    assert np.all(value >= np.array(errors) - 1e-9)
    assert np.all(
        value
        >= contracts.evaluate(PERCEPTRON, potentials, y, structure, np.ones(len(score)))[0] - 1e-9
    )


def test_no_loss_no_gradient_exactly():
    """Scores that leave rounding errors behind when they are added up in another order."""
    node = np.array([[0.1, 0.7], [1e9 + 0.3, -0.2], [0.3, 1e-9]])
    y = np.array([1, 0, 0], dtype=np.int32)
    value, out = contracts.evaluate(
        HINGE, Potentials(node * 1e3, (np.full((1, 4), 0.1),)), y, chain([0, 3]), np.ones(1)
    )
    assert value.tolist() == [0.0]
    assert not out.node.any()
    assert not out.cliques[0].any()


def test_single_labels_are_the_multiclass_hinge():
    """At length 1: max(0, 1 + best other score - score of y) (Crammer & Singer 2001)."""
    rng = np.random.default_rng(0)
    node = rng.normal(size=(50, 4))
    y = rng.integers(4, size=50).astype(np.int32)
    value, _ = contracts.evaluate(
        HINGE, Potentials(node, (np.zeros((1, 16)),)), y, chain(np.arange(51)), np.ones(50)
    )
    own = node[np.arange(50), y]
    others = np.where(np.arange(4) == y[:, None], -np.inf, node).max(axis=1)
    np.testing.assert_allclose(value, np.maximum(0.0, 1 + others - own), atol=1e-12)


def test_forbidden_labels():
    """A forbidden rival is none; a forbidden y is infinitely behind."""
    node = np.array([[0.0, -np.inf], [0.0, -np.inf]])
    y = np.array([0, 1], dtype=np.int32)
    value, out = contracts.evaluate(
        HINGE, Potentials(node, (np.zeros((1, 4)),)), y, chain([0, 1, 2]), np.ones(2)
    )
    assert value.tolist() == [0.0, np.inf]
    np.testing.assert_array_equal(out.node, [[0.0, 0.0], [1.0, -1.0]])
