"""The potentials that weights give to features, and the way back of their derivatives."""

from __future__ import annotations

import contracts
import naive
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import LinearChainCRF
from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Blocks, Potentials, chain
from sklearn_struct.linear.dense import DenseMap
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.pairs import PairsMap
from sklearn_struct.objectives.linear_potentials import bind, clique_features
from sklearn_struct.objectives.node_maps import by_matrix, lookup, without_zeros
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern

LENGTHS = (3, 0, 1, 5, 4, 2, 7, 1)
STORED = sp.csr_array(([1.0, 0.0, 2.0, 1.0, 5.0], ([0, 0, 1, 2, 3], [0, 2, 0, 0, 2])), shape=(4, 4))


def ids(options):
    return "-".join([name for name, on in options.items() if on]) or "plain"


@pytest.fixture(params=naive.LINEAR_MODELS, ids=ids)
def model(request):
    return naive.linear_model(np.random.default_rng(0), LENGTHS, **request.param)


def some_blocks(model):
    return Blocks(model.structure, 6)


def of_block(potentials, block):
    """The rows of a block; one that a family shares stays."""
    tables = [
        table[rows] if len(table) > 1 else table
        for table, rows in zip(potentials.cliques, block.cliques, strict=True)
    ]
    return Potentials(potentials.node[block.tokens], tuple(tables))


def assert_close(potentials, expected, atol):
    for table, wanted in zip(
        contracts.arrays_of(potentials), contracts.arrays_of(expected), strict=True
    ):
        np.testing.assert_allclose(table, wanted, atol=atol)


def test_forward_by_dense_products(model):
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    expected = model.twin(w)
    W = model.potentials.expand(w)
    for block in some_blocks(model):
        theta = model.potentials.forward(W, block)
        assert_close(theta, of_block(expected, block), 1e-12)
        again, squares = model.potentials.forward_and_squares(W, block)
        assert_close(again, theta, 0.0)
        assert squares == pytest.approx(np.sum(contracts.flat(theta) ** 2), rel=1e-12)


def test_for_prediction_alone(model):
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    expected = model.twin(w)
    pattern = model.potentials.pattern
    table = None if by_matrix(pattern, model.X) else lookup(pattern)
    potentials = bind(pattern, model.X, model.structure, np.dtype(float), table)
    assert potentials.size == model.potentials.size
    W = potentials.expand(w)
    for block in some_blocks(model):
        assert_close(potentials.forward(W, block), of_block(expected, block), 1e-12)


def test_scale_spares_the_intercept(model):
    w = np.random.default_rng(1).normal(size=model.potentials.size)
    scaled = 0.25 * w
    scaled[len(w) - model.potentials.n_free :] *= 4
    for block in some_blocks(model):
        found = model.potentials.forward(model.potentials.expand(w), block, np.array([0.25]))
        expected = model.potentials.forward(model.potentials.expand(scaled), block)
        assert_close(found, expected, 1e-14)


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
        gradient = contracts.mapped(lambda table: rng.normal(size=table.shape), theta)
        W = model.potentials.expand(np.zeros_like(w))
        model.potentials.scatter(gradient, block, np.array([-0.5]), W)
        inner = contracts.flat(theta) @ contracts.flat(gradient)
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
        assert {table.dtype for table in contracts.arrays_of(theta)} == {np.dtype(np.float32)}
        assert_close(theta, of_block(expected, block), 1e-5)


def test_maps_by_the_kind_of_X(model):
    """Dense X keeps all weights in matrices; the pairs of a pattern, or a sparse X, need the other
    maps.
    """
    dense = not sp.issparse(model.X.tokens)
    pattern = model.potentials.pattern
    assert isinstance(
        model.potentials.node_map, DenseMap if dense and pattern.node is None else RowsMap
    )
    assert len(model.potentials.clique_maps) == len(pattern.families)
    for clique_map, family in zip(model.potentials.clique_maps, pattern.families, strict=True):
        if not len(pattern.edge_columns):
            assert clique_map is None
        else:
            assert isinstance(
                clique_map, DenseMap if dense and family.features is None else PairsMap
            )
    assert model.potentials.has_clique_features == (len(pattern.edge_columns) > 0)


@pytest.mark.parametrize("triples", [False, True], ids=["pairs", "triples"])
def test_X_without_edges(triples):
    """Sequences of length 1, with edge features: no clique, no potentials of cliques."""
    model = naive.linear_model(np.random.default_rng(0), [1] * 5, triples=triples)
    (block,) = Blocks(model.structure, 1000)
    theta = model.potentials.forward(model.potentials.expand(np.ones(model.potentials.size)), block)
    assert theta.node.shape == (5, 3)
    assert [table.shape for table in theta.cliques] == [(0, 9), (0, 27)][: 1 + triples]


def test_features_of_cliques_are_those_of_the_last_token():
    tokens = np.arange(18.0).reshape(6, 3)
    pairs, triples = chain(np.array([0, 3, 3, 4, 6]), 2).families
    for kind in (np.asarray, sp.csr_array):
        X = SequenceArray(kind(tokens), [0, 3, 3, 4, 6])
        for family, expected in (
            (pairs, [[5.0, 3.0], [8.0, 6.0], [17.0, 15.0]]),
            (triples, [[8.0, 6.0]]),
        ):
            (features,) = clique_features(X, [family], np.array([2, 0]))
            features = features.toarray() if sp.issparse(features) else features
            assert features.tolist() == expected


@pytest.mark.parametrize("triples", [False, True], ids=["pairs", "triples"])
def test_potentials_for_new_data(triples):
    """The same parameters on data without some of the features, as in predict."""
    rng = np.random.default_rng(0)
    model = naive.linear_model(rng, LENGTHS, observed=True, triples=triples)
    w = rng.normal(size=model.potentials.size)
    tokens = np.array([[0.0, 0.0, 2.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0, 0.0, 0.0]])
    X = SequenceArray(sp.csr_array(tokens), [0, 2])
    pattern = model.potentials.pattern
    structure = chain(X.offsets, pattern.order)
    potentials = bind(pattern, X, structure, np.dtype(float))
    new = naive.LinearModel(potentials, X, np.zeros(2, np.int32))
    (block,) = Blocks(structure, 1000)
    theta = potentials.forward(potentials.expand(w), block)
    assert_close(theta, new.twin(w), 1e-12)


def test_pattern_without_any_weight():
    nothing = csr(sp.csr_array((4, 2)))
    none = np.array([], dtype=int)
    families = tuple(CliquePattern(size, 0, None, none) for size in (2, 3))
    pattern = Pattern(4, 2, nothing, families, none, True)
    structure = chain(np.array([0, 4]), 2)
    potentials = bind(pattern, SequenceArray(STORED, [0, 4]), structure, np.dtype(float))
    assert potentials.size == 2
    (block,) = Blocks(structure, 1000)
    theta = potentials.forward(potentials.expand(np.array([1.0, 2.0])), block)
    assert theta.node.tolist() == [[1.0, 2.0]] * 4
    assert [table.tolist() for table in theta.cliques] == [[[0.0] * 4], [[0.0] * 8]]


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
