"""Which weights exist, how their vector is laid out, and the potentials they give."""

from __future__ import annotations

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn_struct.objectives.parameters import (
    Pattern,
    all_pairs,
    bind,
    by_matrix,
    edge_features,
    lookup,
    observed_pairs,
    split,
    without_zeros,
)

from sklearn_struct import LinearChainCRF
from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Potentials, blocks
from sklearn_struct.linear.dense import DenseMap
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.pairs import PairsMap

LENGTHS = (3, 0, 1, 5, 4, 2, 7, 1)


def ids(options):
    return "-".join([name for name, on in options.items() if on]) or "plain"


@pytest.fixture(params=naive.LINEAR_MODELS, ids=ids)
def model(request):
    return naive.linear_model(np.random.default_rng(0), LENGTHS, **request.param)


def some_blocks(model):
    return blocks(model.X.offsets, model.potentials.n_labels, 6)


def test_sizes_and_segments(model):
    potentials = model.potentials
    pattern = model.potentials.pattern
    w = np.arange(potentials.size, dtype=float)
    parts = split(w, pattern)
    np.testing.assert_array_equal(np.concatenate(parts), w)
    assert len(parts.transition) == len(pattern.transitions)
    assert len(parts.intercept) == potentials.n_free == (3 if pattern.fit_intercept else 0)
    if pattern.node is None:
        assert len(parts.node) == 18
    if pattern.edge is None:
        assert len(parts.edge) == pattern.edge_width * len(pattern.edge_columns)


def test_forward_by_dense_products(model):
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    expected = model.twin(w)
    W = model.potentials.expand(w)
    for block in some_blocks(model):
        node, edge = model.potentials.forward(W, block)
        np.testing.assert_allclose(node, expected.node[block.tokens], atol=1e-12)
        expected_edge = expected.edge[block.edges] if len(expected.edge) > 1 else expected.edge
        np.testing.assert_allclose(edge, expected_edge, atol=1e-12)


def test_for_prediction_alone(model):
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    expected = model.twin(w)
    pattern = model.potentials.pattern
    table = None if by_matrix(pattern, model.X) else lookup(pattern)
    potentials = bind(pattern, model.X, np.dtype(float), table)
    assert potentials.size == model.potentials.size
    W = potentials.expand(w)
    for block in some_blocks(model):
        node, edge = potentials.forward(W, block)
        np.testing.assert_allclose(node, expected.node[block.tokens], atol=1e-12)
        expected_edge = expected.edge[block.edges] if len(expected.edge) > 1 else expected.edge
        np.testing.assert_allclose(edge, expected_edge, atol=1e-12)


def test_scale_spares_the_intercept(model):
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    scaled = 0.25 * w
    scaled[len(w) - model.potentials.n_free :] *= 4
    for block in some_blocks(model):
        found = model.potentials.forward(model.potentials.expand(w), block, np.array([0.25]))
        expected = model.potentials.forward(model.potentials.expand(scaled), block)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-14)


def test_expand_and_compress(model):
    """All features occur here, so nothing is lost; neither changes its argument."""
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    kept = w.copy()
    W = model.potentials.expand(w)
    np.testing.assert_array_equal(model.potentials.compress(W), w)
    W[:] = 0.0
    np.testing.assert_array_equal(w, kept)
    assert model.potentials.compress(W).dtype == np.float64


def test_scatter_is_the_transpose_of_forward(model):
    """<forward(w), G> = <w, scatter(G)> for any gradient G of the potentials."""
    rng = np.random.default_rng(1)
    w = rng.normal(size=model.potentials.size)
    for block in some_blocks(model):
        theta = model.potentials.forward(model.potentials.expand(w), block)
        gradient = Potentials(*(rng.normal(size=table.shape) for table in theta))
        W = model.potentials.expand(np.zeros_like(w))
        model.potentials.scatter(gradient, block, np.array([-0.5]), W)
        inner = sum(np.vdot(a, b) for a, b in zip(theta, gradient))
        assert w @ model.potentials.compress(W) == pytest.approx(-0.5 * inner, abs=1e-12)


@pytest.mark.parametrize("options", naive.LINEAR_MODELS[::3], ids=ids)
def test_float32(options):
    model = naive.linear_model(np.random.default_rng(0), LENGTHS, dtype=np.float32, **options)
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    expected = model.twin(w)
    W = model.potentials.expand(w)
    assert W.dtype == np.float32
    for block in some_blocks(model):
        theta = model.potentials.forward(W, block)
        assert {table.dtype for table in theta} == {np.dtype(np.float32)}
        np.testing.assert_allclose(theta.node, expected.node[block.tokens], atol=1e-5)


def test_maps_by_the_kind_of_X(model):
    """Dense X keeps all weights in matrices; the pairs of a pattern, or a sparse X, need the other
    maps.
    """
    dense = not sp.issparse(model.X.tokens)
    pattern = model.potentials.pattern
    assert isinstance(
        model.potentials.node_map, DenseMap if dense and pattern.node is None else RowsMap
    )
    if not len(pattern.edge_columns):
        assert model.potentials.edge_map is None
    else:
        assert isinstance(
            model.potentials.edge_map, DenseMap if dense and pattern.edge is None else PairsMap
        )


def test_X_without_edges():
    """Sequences of length 1, with edge features: no edge, no edge potentials."""
    model = naive.linear_model(np.random.default_rng(0), [1] * 5)
    (block,) = blocks(model.X.offsets, 3)
    theta = model.potentials.forward(model.potentials.expand(np.ones(model.potentials.size)), block)
    assert theta.node.shape == (5, 3)
    assert theta.edge.shape == (0, 9)


# ---- patterns

STORED = sp.csr_array(([1.0, 0.0, 2.0, 1.0, 5.0], ([0, 0, 1, 2, 3], [0, 2, 0, 0, 2])), shape=(4, 4))
CODES = np.array([1, 0, 1, 0])


def listed(pairs):
    """The pairs of a pattern as tuples."""
    features = np.repeat(np.arange(len(pairs.indptr) - 1), np.diff(pairs.indptr))
    return list(zip(features.tolist(), pairs.indices.tolist(), strict=True))


ONES = np.ones(4)


def test_observed_pairs():
    """What is stored counts, zeros included; in the order of features, then labels."""
    assert listed(observed_pairs(STORED, CODES, ONES, 2, 0)) == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert listed(observed_pairs(STORED, CODES, ONES, 2, 1)) == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert listed(observed_pairs(STORED, CODES, ONES, 2, 2)) == [(0, 1)]
    assert listed(observed_pairs(STORED, CODES, ONES, 2, 3)) == []


def test_all_pairs():
    assert listed(all_pairs(STORED, CODES, ONES, 2, 0)) == [
        (f, k) for f in range(4) for k in range(2)
    ]
    assert listed(all_pairs(STORED, CODES, ONES, 2, 2)) == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert listed(all_pairs(STORED, CODES, ONES, 2, 3)) == [(0, 0), (0, 1)]


def test_weights_count_for_the_frequency():
    weight = np.array([0.5, 2.0, 1.0, 1.0])
    assert listed(observed_pairs(STORED, CODES, weight, 2, 2)) == [(0, 0)]
    assert listed(all_pairs(STORED, CODES, weight, 2, 2)) == [(0, 0), (0, 1)]


def test_rows_of_weight_zero_observe_nothing():
    assert listed(observed_pairs(STORED, CODES, np.array([1.0, 1.0, 1.0, 0.0]), 2, 1)) == [
        (0, 0),
        (0, 1),
        (2, 1),
    ]


def test_edge_features_are_those_of_the_second_token():
    tokens = np.arange(18.0).reshape(6, 3)
    for kind in (np.asarray, sp.csr_array):
        found = edge_features(SequenceArray(kind(tokens), [0, 3, 3, 4, 6]), np.array([2, 0]))
        found = found.toarray() if sp.issparse(found) else found
        assert found.tolist() == [[5.0, 3.0], [8.0, 6.0], [17.0, 15.0]]


def test_potentials_for_new_data():
    """The same parameters on data without some of the features, as in predict."""
    rng = np.random.default_rng(0)
    model = naive.linear_model(rng, LENGTHS, observed=True)
    w = rng.normal(size=model.potentials.size)
    tokens = np.array([[0.0, 0.0, 2.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0, 0.0, 0.0]])
    X = SequenceArray(sp.csr_array(tokens), [0, 2])
    new = naive.LinearModel(
        bind(model.potentials.pattern, X, np.dtype(float)), X, np.zeros(2, np.int32)
    )
    (block,) = blocks(X.offsets, 3)
    theta = new.potentials.forward(new.potentials.expand(w), block)
    expected = new.twin(w)
    np.testing.assert_allclose(theta.node, expected.node, atol=1e-12)
    np.testing.assert_allclose(theta.edge, expected.edge, atol=1e-12)


def test_pattern_without_any_weight():
    nothing = csr(sp.csr_array((4, 2)))
    pattern = Pattern(4, 2, nothing, None, np.array([], dtype=int), np.array([], dtype=int), True)
    potentials = bind(pattern, SequenceArray(STORED, [0, 4]), np.dtype(float))
    assert potentials.size == 2
    (block,) = blocks(np.array([0, 4]), 2)
    theta = potentials.forward(potentials.expand(np.array([1.0, 2.0])), block)
    assert theta.node.tolist() == [[1.0, 2.0]] * 4
    assert theta.edge.tolist() == [[0.0] * 4]


def test_matrices_of_mostly_zeros():
    full = np.random.default_rng(0).normal(size=(6, 4))
    thin = full * (np.arange(24).reshape(6, 4) % 5 == 0)
    for tokens, sparse in (
        (full, False),
        (thin, True),
        (sp.csr_array(full), True),
        (np.empty((0, 4)), False),
    ):
        X = SequenceArray(tokens, [0, len(full) if tokens.shape[0] else 0])
        found = without_zeros(X)
        assert sp.issparse(found.tokens) == sparse
        assert found == X


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_of_matrices_of_mostly_zeros(n_jobs):
    """As of the sparse X, and what is learned has the form of a dense one."""
    rng = np.random.default_rng(1)
    X = [(rng.random((5, 7)) < 0.2) * rng.normal(size=(5, 7)) for _ in range(30)]
    X_sparse = [sp.csr_array(x) for x in X]
    y = [rng.choice(["a", "b", "c"], size=5).tolist() for _ in X]
    crf = LinearChainCRF(tol=1e-8, n_jobs=n_jobs, edge_features=[0, 3]).fit(X, y)
    expected = LinearChainCRF(tol=1e-8, edge_features=[0, 3], feature_pairs="all").fit(X_sparse, y)
    for found, sparse in ((crf.coef_, expected.coef_), (crf.edge_coef_, expected.edge_coef_)):
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, sparse.toarray(), atol=1e-6)
    for a, b in zip(crf.predict_proba(X), expected.predict_proba(X_sparse), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
