"""What spectral estimators do with their parameters: feature functions, drawn nodes, a cache."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_struct import SpectralHMM
from sklearn_struct.encoding.trees import labels_as_trees
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.grammars.node_features import INSIDE, OUTSIDE

RNG = np.random.RandomState(0)
CODES = [RNG.randint(3, size=n) for n in RNG.randint(1, 9, size=150)]
X = [["uvw"[(k + RNG.randint(2)) % 3] for k in codes] for codes in CODES]
Y = [["ABC"[k] for k in codes] for codes in CODES]
TREES = labels_as_trees.learn(X, np.concatenate(CODES), 3, 1, 1.0)
CALLS = []


def words(nodes):
    CALLS.append(len(nodes.symbol))
    return nodes.leaf


def first_word(nodes):
    return nodes.leaf[nodes.first]


def symbol_before(nodes):
    return np.where(nodes.before < 0, -1, nodes.symbol[nodes.before])


def no_integers(nodes):
    return nodes.symbol / 2


def too_few(nodes):
    return nodes.symbol[1:]


class Shifted:
    """A function that has no name."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, nodes):
        return (nodes.leaf[nodes.first] + 1).astype(self.dtype)


def fitted(**options):
    return SpectralHMM(**({"n_states": 3, "min_frequency": 1} | options)).fit(X, Y)


def same(a, b):
    return np.array_equal(a.singular_values_, b.singular_values_) and np.array_equal(
        a.log_joint(X, Y), b.log_joint(X, Y)
    )


def test_tensors_of_the_treebank():
    found = SpectralHMM(n_states=2)._spectrum(TREES.treebank, TREES.sums)
    assert found.singular_values.shape == (7, 2)
    assert (
        found.n_states.tolist() == np.maximum(np.sum(found.singular_values > 0, axis=1), 1).tolist()
    )
    np.testing.assert_array_equal(found.tensors.n_states, found.n_states)
    assert np.all(np.diff(found.singular_values, axis=1) <= 0)


def test_features_are_those_asked_for():
    default, given = (
        SpectralHMM(n_states=3, inside_features=a, outside_features=b)._projection(TREES.treebank)
        for a, b in ((None, None), (list(INSIDE), list(OUTSIDE)))
    )
    for a, b in zip(default, given):
        np.testing.assert_array_equal(a, b)
    own = SpectralHMM(n_states=3)._projection(TREES.treebank, ((first_word,), (symbol_before,)))
    named = SpectralHMM(n_states=3, inside_features=[first_word], outside_features=(symbol_before,))
    np.testing.assert_array_equal(own.inside, named._projection(TREES.treebank).inside)
    assert not np.array_equal(own.singular_values, default.singular_values)


def test_one_state_is_the_same_for_all_nodes():
    found = SpectralHMM(n_states=1, inside_features=[first_word])._projection(TREES.treebank)
    product = found.inside[:, 0] * found.outside[:, 0] / found.singular_values[found.symbol, 0]
    np.testing.assert_allclose(product, 1, rtol=1e-12)


def test_singular_values_of_features_by_hand():
    """Of two indicators without scaling: those of the shares of nodes with both."""
    model = SpectralHMM(
        n_states=3,
        feature_count=None,
        inside_features=[first_word],
        outside_features=[symbol_before],
        shrinkage=0,
    )
    found = model._projection(TREES.treebank)
    forest = TREES.treebank.forest
    leaf = forest.leaf[forest.leaf >= 0]
    token = np.concatenate([np.append(row, 3) for row in CODES])
    first = np.concatenate([np.append(True, np.zeros(len(row), bool)) for row in CODES])
    before = np.where(first, -1, np.roll(token, 1))
    for k in range(3):
        pairs = [(leaf[i], before[i]) for i in np.flatnonzero(token == k)]
        omega = np.zeros((leaf.max() + 1, 3))
        for pair in pairs:
            omega[pair] += pair[1] >= 0
        np.testing.assert_allclose(
            found.singular_values[k, :3], np.linalg.svd(omega)[1] / len(pairs), atol=1e-12
        )


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64])
def test_any_integers_are_codes(dtype):
    assert same(fitted(inside_features=[Shifted(dtype)]), fitted(inside_features=[first_word]))


def test_scaling_and_shrinkage_change_estimates():
    models = [
        fitted(),
        fitted(feature_count=None),
        fitted(feature_count=0),
        fitted(shrinkage=0.5),
        fitted(smoothing=0),
    ]
    assert not any(same(a, b) for i, a in enumerate(models) for b in models[:i])


def test_drawn_nodes():
    models = [fitted(nodes="one", random_state=seed) for seed in (0, 0, 1)]
    assert same(models[0], models[1])
    assert not same(models[0], models[2])
    weight = SpectralHMM(nodes="one", random_state=0)._projection(TREES.treebank).weight
    offsets = TREES.treebank.forest.offsets
    np.testing.assert_array_equal(np.add.reduceat(weight, offsets[:-1]), np.diff(offsets))
    assert np.all(np.add.reduceat(weight > 0, offsets[:-1]) == 1)


def test_a_cache_of_features(tmp_path):
    CALLS.clear()
    options = {"inside_features": [words, first_word], "memory": str(tmp_path)}
    first = fitted(**options)
    assert len(CALLS) == 1
    assert same(first, fitted(**options))
    fitted(**options, n_states=2, smoothing=1.0, shrinkage=0.0)
    assert len(CALLS) == 1
    fitted(**options, feature_count=1.0)
    assert len(CALLS) == 2
    assert same(first, fitted(inside_features=[words, first_word]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"inside_features": [first_word, no_integers]},
            ValueError,
            "'no_integers' gave float64 of shape",
        ),
        ({"outside_features": [too_few]}, ValueError, "'too_few' gave int32 of shape"),
        ({"outside_features": [Shifted(float)]}, ValueError, "Shifted object"),
        ({"inside_features": [first_word, "rule"]}, InputTypeError, "inside_features[1] is a str"),
        ({"outside_features": []}, ValueError, "outside_features is empty"),
        ({"inside_features": first_word}, InvalidParameterError, "inside_features"),
        (
            {"inside_features": [lambda nodes: nodes.leaf], "memory": "cache"},
            InputTypeError,
            "inside_features[0]",
        ),
    ],
)
def test_bad_features(options, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = fitted()
    before = dict(vars(model))
    model.set_params(**options)
    with pytest.raises(error, match=re.escape(message)):
        model.fit(X, Y)
    assert all(vars(model)[name] is value for name, value in before.items() if name not in options)
