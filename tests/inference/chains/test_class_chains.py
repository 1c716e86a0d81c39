"""Chains of hidden states of classes, against an enumeration of all paths of each class."""

from __future__ import annotations

from functools import partial

import contracts
import naive
import numpy as np
import pytest

from sklearn_struct.containers import structures
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.chains import class_lanes
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.class_chains import ClassChains
from sklearn_struct.inference.labelling_scores import forbid_labels

test_one_class = contracts.inference(ClassChains(1))
test_one_class_tangent = contracts.inference_tangent(ClassChains(1))
N_CLASSES = 3
LENGTHS = (3, 0, 1, 4)


def blocks_alone(potentials, n_classes):
    """The same potentials with -inf for moves between classes: for chains that know of none."""
    K = potentials.node.shape[1]
    of = np.arange(K) // (K // n_classes)
    between = (of[:, None] != of[None, :]).ravel()
    edge = potentials.cliques[0].copy()
    edge[:, between] = -np.inf
    return Potentials(potentials.node, (edge,))


def chains(rng, n_states=2, shared=True):
    return contracts.random_chains(rng, LENGTHS, N_CLASSES * n_states, shared)


@pytest.mark.parametrize("n_states", [1, 2])
@pytest.mark.parametrize("shared", [True, False])
def test_one_chain_of_all_labels_with_forbidden_moves(shared, n_states):
    """Where a sequence is empty, it has one labelling in each class."""
    rng = np.random.default_rng(0)
    potentials, structure = chains(rng, n_states, shared)
    weight = np.array([1.0, 2.0, 0.0, -0.5])
    out, log_Z = contracts.marginals(ClassChains(N_CLASSES), potentials, structure, weight)
    expected, expected_log_Z = contracts.marginals(
        Chain(), blocks_alone(potentials, N_CLASSES), structure, weight
    )
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)
    expected_log_Z[1] = np.log(N_CLASSES)
    np.testing.assert_allclose(log_Z, expected_log_Z, rtol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_derivatives_of_marginals(shared):
    rng = np.random.default_rng(1)
    potentials, structure = chains(rng, shared=shared)
    reward, _ = chains(rng, shared=shared)
    out, mean = contracts.tangent(ClassChains(N_CLASSES), potentials, reward, structure)
    expected, expected_mean = contracts.tangent(
        Chain(), blocks_alone(potentials, N_CLASSES), reward, structure
    )
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 3.0, 1e3])
def test_lanes_and_single_classes_are_the_same(scale, monkeypatch):
    """Also where one class is far more probable than another."""
    potentials, structure = contracts.random_chains(
        np.random.default_rng(4), (30, 0, 1, *range(20, 2, -1)), N_CLASSES * 2
    )
    node = scale * potentials.node
    node[:, :2] += 5.0
    potentials = Potentials(node, (scale * potentials.cliques[0],))
    weight = np.linspace(-1.0, 2.0, structure.n_examples)
    inference = ClassChains(N_CLASSES)
    out, log_Z = contracts.marginals(inference, potentials, structure, weight)
    by_class = inference.class_log_partitions(potentials, structure)
    monkeypatch.setattr(class_lanes, "MOST", 0)
    expected, expected_log_Z = contracts.marginals(inference, potentials, structure, weight)
    np.testing.assert_allclose(log_Z, expected_log_Z, rtol=1e-13)
    np.testing.assert_allclose(contracts.flat(out), contracts.flat(expected), atol=1e-12)
    np.testing.assert_allclose(
        by_class, inference.class_log_partitions(potentials, structure), rtol=1e-13, atol=1e-12
    )
    assert log_Z[1] == np.log(N_CLASSES)


@pytest.mark.parametrize(("n_tokens", "size"), [(30, 5.8), (100, 5.0), (1000, 1.0), (2000, 0.3)])
def test_halves_that_speak_for_different_classes(n_tokens, size):
    """A labelling of both classes would be better than any that is allowed."""
    half = n_tokens // 2
    sign = np.repeat([1.0, -1.0], half)
    node = size * sign[:, None] * np.array([1.0, 1.0, -1.0, -1.0])
    structure = structures.chain(np.array([0, n_tokens, n_tokens]))
    potentials = Potentials(node, (np.zeros((1, 16)),))
    inference = ClassChains(2)
    for weight in ([1.0, 1.0], [1.0, 0.0]):
        out, log_Z = contracts.marginals(inference, potentials, structure, np.array(weight))
        expected = [(n_tokens + 1) * np.log(2.0), weight[1] * np.log(2.0)]
        np.testing.assert_allclose(log_Z, expected, rtol=1e-12)
        np.testing.assert_allclose(out.node, 0.25, atol=1e-12)


def less_allowed(marginals_less_allowed, potentials, allowed, structure, weight):
    out = structures.zeros(potentials)
    value = np.full(len(weight), np.nan)
    marginals_less_allowed(potentials, allowed, structure, weight, out, value)
    return value, contracts.flat(out)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", ["one class", "several classes", "labels"])
def test_one_pass_makes_both_sums(kind, shared):
    """Those of all labellings, and of those of the classes that are allowed."""
    rng = np.random.default_rng(5)
    potentials, structure = chains(rng, shared=shared)
    weight = np.array([1.0, 2.0, 0.0, -0.5])
    classes = np.eye(N_CLASSES, dtype=bool)[[0, 1, 2, 1]]
    if kind == "several classes":
        classes = ~classes
    allowed = np.repeat(np.repeat(classes, LENGTHS, axis=0), 2, axis=1)
    if kind == "labels":
        # a label of an allowed class less, in one token
        allowed[-1] &= np.arange(N_CLASSES * 2) != 2
    inference = ClassChains(N_CLASSES)
    value, out = less_allowed(
        inference.marginals_less_allowed, potentials, allowed, structure, weight
    )
    two_passes = partial(Inference.marginals_less_allowed, inference)
    expected, expected_out = less_allowed(two_passes, potentials, allowed, structure, weight)
    if kind != "labels":
        # in two passes, an empty sequence has all classes, too
        assert value[1] == expected[1] == 0.0
    np.testing.assert_allclose(value, expected, atol=1e-12)
    np.testing.assert_allclose(out, expected_out, atol=1e-12)
    assert value[3] > 0.01


def test_a_part_of_the_first_token_is_no_whole_class():
    """Nor is a class that is allowed later alone."""
    rng = np.random.default_rng(6)
    potentials, structure = chains(rng)
    weight = np.ones(4)
    for place, allows in [((0, 1), False), ((-1, 5), True), ((1, 3), True)]:
        allowed = np.repeat([[True, True, False, False, False, False]], sum(LENGTHS), axis=0)
        allowed[place] = allows
        inference = ClassChains(N_CLASSES)
        value, out = less_allowed(
            inference.marginals_less_allowed, potentials, allowed, structure, weight
        )
        two_passes = partial(Inference.marginals_less_allowed, inference)
        expected, expected_out = less_allowed(two_passes, potentials, allowed, structure, weight)
        np.testing.assert_allclose(value, expected, atol=1e-12)
        np.testing.assert_allclose(out, expected_out, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_sums_and_maxima_of_classes(scale):
    rng = np.random.default_rng(2)
    potentials, structure = chains(rng)
    potentials = contracts.mapped(lambda table: scale * table, potentials)
    inference = ClassChains(N_CLASSES)
    log_Z = inference.class_log_partitions(potentials, structure)
    labels, scores = inference.class_argmax(potentials, structure)
    best = np.empty(len(potentials.node), np.int32)
    score = np.empty(structure.n_examples)
    inference.argmax(potentials, structure, best, score)
    for i, twin in enumerate(naive.twins(potentials, structure)):
        tokens = slice(*structure.offsets[i : i + 2])
        of = np.array(twin.y).reshape(len(twin.y), -1) // 2
        for c in range(N_CLASSES):
            own = twin.scores[np.all(of == c, axis=1)].astype(float)
            assert log_Z[i, c] == pytest.approx(np.logaddexp.reduce(own), rel=1e-12, abs=1e-12)
            assert scores[i, c] == pytest.approx(own.max(), rel=1e-12, abs=1e-12)
            np.testing.assert_array_equal(labels[c, tokens] // 2, c)
        assert score[i] == scores[i].max()
        assert naive.score(*contracts.select(potentials, structure, [i])[0], best[tokens]) == (
            pytest.approx(score[i], rel=1e-12, abs=1e-12)
        )


def test_forbidden_classes():
    """A class without an allowed state has probability 0, and so has one that ends nowhere."""
    rng = np.random.default_rng(3)
    potentials, structure = chains(rng)
    allowed = np.ones(potentials.node.shape, bool)
    allowed[0, :2] = False
    allowed[-1, 2:4] = False
    masked = forbid_labels(potentials, allowed)
    inference = ClassChains(N_CLASSES)
    log_Z = inference.class_log_partitions(potentials, structure)
    expected = log_Z.copy()
    expected[0, 0] = -np.inf
    expected[3, 1] = -np.inf
    np.testing.assert_array_equal(inference.class_log_partitions(masked, structure), expected)
    out, total = contracts.marginals(inference, masked, structure)
    np.testing.assert_allclose(total, np.logaddexp.reduce(expected, axis=1), rtol=1e-12)
    assert not out.node[:3, :2].any()
    assert not out.node[-4:, 2:4].any()
    np.testing.assert_allclose(out.node.sum(axis=1), 1.0, rtol=1e-12)


def test_wider_cliques_are_refused():
    potentials, structure = contracts.random_chains(np.random.default_rng(0), order=2)
    with pytest.raises(ValueError, match="order 1"):
        contracts.marginals(ClassChains(1), potentials, structure)
