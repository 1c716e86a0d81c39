"""Weights of pairs and triples side by side, as files keep them, and apart, as patterns do."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import LinearChainCRF
from sklearn_struct.objectives.weight_patterns import every_clique_pair, of_order, split
from sklearn_struct.persistence import load, save
from sklearn_struct.persistence.clique_weights import joined, parted

K = 3
LENGTHS = (3, 0, 1, 5, 4, 2, 7, 1)
OPTIONS = [
    {"dense": dense, "edge": edge, "observed": observed, "triples": triples}
    for dense in (True, False)
    for edge in (True, False)
    for observed in (True, False)
    for triples in (True, False)
]


def ids(options):
    return "-".join([name for name, on in options.items() if on]) or "plain"


def model_of(options):
    return naive.linear_model(np.random.default_rng(0), LENGTHS, **options)


def listed(pairs):
    return pairs.indptr.tolist(), pairs.indices.tolist()


@pytest.mark.parametrize("options", OPTIONS, ids=ids)
def test_what_is_joined_is_parted_again(options):
    pattern = model_of(options).potentials.pattern
    edges = joined(pattern)
    families = parted(edges.features, edges.columns, len(pattern.edge_columns), K, pattern.order)
    assert [family.size for family in families] == [2, 3][: pattern.order]
    again = pattern._replace(families=tuple(families))
    assert again.sizes == pattern.sizes
    for f, (family, given) in enumerate(zip(families, pattern.families, strict=True)):
        np.testing.assert_array_equal(family.columns, given.columns)
        pairs = every_clique_pair(pattern, f)
        assert listed(every_clique_pair(again, f)) == listed(pairs)
        assert family.features is None or edges.features is not None


@pytest.mark.parametrize("options", OPTIONS, ids=ids)
def test_weights_of_a_file_by_their_names(options):
    """w[place] has the order of a file: nodes, the pairs of `features` row by row, `columns`, and
    the intercept.
    """
    model = model_of(options)
    pattern = model.potentials.pattern
    w = np.random.default_rng(1).normal(size=pattern.size)
    edges = joined(pattern)
    np.testing.assert_array_equal(np.sort(edges.place), np.arange(pattern.size))
    parts = split(w, pattern)
    n_columns = len(edges.columns)
    node, features, columns, intercept = np.split(
        w[edges.place],
        np.cumsum([len(parts.node), sum(map(len, parts.features)), n_columns]),
    )
    _, of_families, tables, _ = model.dense(w)
    width = sum(pattern.widths)
    if edges.features is None:
        table = features.reshape(-1, width)
    else:
        shape = (len(pattern.edge_columns), width)
        _, indices, indptr = edges.features[::-1]
        table = sp.csr_array((features, indices, indptr), shape=shape).toarray()
    np.testing.assert_array_equal(table, np.hstack(of_families))
    filled = np.zeros(width)
    filled[edges.columns] = columns
    np.testing.assert_array_equal(filled, np.concatenate(tables))
    np.testing.assert_array_equal(node, parts.node)
    np.testing.assert_array_equal(intercept, parts.intercept)


def test_pairs_alone_stay_where_they_are():
    for options in OPTIONS[1::2]:
        pattern = model_of(options).potentials.pattern
        assert joined(pattern).place.tolist() == list(range(pattern.size))


@pytest.mark.parametrize("dense", [True, False])
def test_families_of_which_one_has_no_pairs(dense):
    """A file has one answer for all: it lists the pairs."""
    pattern = of_order(model_of({"dense": dense}).potentials.pattern, 2)
    edges = joined(pattern)
    assert edges.features is not None
    assert edges.place.tolist() == list(range(pattern.size))
    families = parted(edges.features, edges.columns, len(pattern.edge_columns), K, 2)
    again = pattern._replace(families=tuple(families))
    w = np.arange(pattern.size, dtype=float)
    for a, b in zip(
        contracts.arrays_of(split(w, again)), contracts.arrays_of(split(w, pattern)), strict=True
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("edge_features", [None, "all"])
@pytest.mark.parametrize("solver", ["lbfgs", "sgd"])
def test_models_come_back(tmp_path, sparse, order, edge_features, solver):
    """With the bits of their weights, predictions and, of a stream, of what it has seen."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2)) * (rng.random((n, 2)) < 0.6) for n in (4, 1, 3, 5, 2)]
    y = [rng.choice(["a", "b", "c"], size=len(x)).tolist() for x in X]
    X = [sp.csr_array(x) for x in X] if sparse else X
    # a stream has every pair
    which = {"feature_pairs": "all"} if solver == "sgd" else {"transition_features": "observed"}
    crf = LinearChainCRF(
        order=order, edge_features=edge_features, solver=solver, random_state=0, **which
    )
    crf = crf.partial_fit(X, y, classes=["a", "b", "c"]) if solver == "sgd" else crf.fit(X, y)
    save(crf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded._w.tobytes() == crf._w.tobytes()
    assert loaded._pattern.sizes == crf._pattern.sizes
    for a, b in zip(loaded.predict_proba(X), crf.predict_proba(X), strict=True):
        assert a.tobytes() == b.tobytes()
    if solver == "sgd":
        crf.partial_fit(X, y)
        loaded.partial_fit(X, y)
        assert loaded._w.tobytes() == crf._w.tobytes()
