"""Ones that take no memory, until somebody asks for the matrix."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import FeatureTemplates, LinearChainCRF, SequenceArray, SequenceUnion
from sklearn_struct.containers import repeated_ones as module
from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.repeated_ones import are_ones, ones, rows_of, written_out


@pytest.fixture
def few(monkeypatch):
    """Small data are large ones."""
    monkeypatch.setattr(module, "FEW", 0)


def data(rng, n=40):
    X = [[(f"w{rng.integers(9)}", "ab"[rng.integers(2)]) for _ in range(5)] for _ in range(n)]
    y = [["A" if row[1] == "a" else "B" for row in sequence] for sequence in X]
    return X, y


def test_many_are_a_view():
    assert ones(10, np.float32).flags.writeable
    many = ones(module.FEW + 1, np.float32)
    assert are_ones(many)
    assert many.dtype == np.float32
    assert many.base.nbytes == 4
    assert not many.flags.writeable
    assert not are_ones(np.ones(9))
    assert not are_ones(np.broadcast_to(np.array([2.0]), 9))


def matrix(values):
    return sp.csr_array((values, np.array([0, 2, 1, 0], np.int32), [0, 2, 3, 4]), shape=(3, 3))


def test_written_out(few):
    ordinary = matrix(np.ones(4))
    assert written_out(ordinary) is ordinary
    full = written_out(matrix(ones(4, np.float32)))
    assert full.data.flags.writeable
    assert full.data.flags.c_contiguous
    assert full.dtype == np.float32
    np.testing.assert_array_equal(full.toarray(), ordinary.toarray())


def test_chosen_rows(few):
    chosen = np.array([2, 0, 0])
    made = rows_of(matrix(ones(4, float)), chosen)
    np.testing.assert_array_equal(made.toarray(), matrix(np.ones(4)).toarray()[chosen])
    assert are_ones(made.data)
    numbers = matrix(np.arange(1.0, 5.0))
    np.testing.assert_array_equal(rows_of(numbers, chosen).toarray(), numbers.toarray()[chosen])


def test_kernels_get_one_number_or_all(few):
    tokens = matrix(ones(4, float))
    assert len(csr(tokens, single=True).data) == 1
    np.testing.assert_array_equal(csr(tokens).data, np.ones(4))
    np.testing.assert_array_equal(csr(matrix(np.ones(4)), single=True).data, np.ones(4))
    # another number than 1 is written out
    twos = matrix(np.broadcast_to(np.array([2.0]), 4))
    np.testing.assert_array_equal(csr(twos, single=True).data, np.full(4, 2.0))


def test_whoever_asks_gets_an_ordinary_matrix(few):
    rng = np.random.default_rng(0)
    X, _ = data(rng)
    encoded = FeatureTemplates(["%x[0,0]", "%x[-1,1]"]).fit_transform(X)
    assert are_ones(encoded.stored.data)
    for part in (encoded[3:9], encoded[[5, 1, 5]], pickle.loads(pickle.dumps(encoded))[2:4]):
        assert part[0].data.flags.writeable
        assert part[0].data.flags.c_contiguous
        assert np.all(part.tokens.data == 1)
    assert are_ones(encoded[[5, 1, 5]].stored.data)
    assert are_ones(encoded.stored.data)
    tokens = encoded.tokens
    assert tokens is encoded.tokens is encoded.stored
    assert tokens.data.flags.writeable
    # and what is written to it counts
    tokens.data[:] = 3.0
    assert np.all(encoded[1].data == 3.0)


def test_models_are_the_same(few):
    """Of features of nodes and of edges, of a union, and in predictions."""
    rng = np.random.default_rng(0)
    X, y = data(rng)
    templates = FeatureTemplates(["%x[0,0]", "%x[-1,1]", "%x[0,1]"])
    union = SequenceUnion([("templates", templates), ("words", FeatureTemplates(["%x[1,0]"]))])
    for encoder in (templates, union):
        seldom = encoder.fit_transform(X)
        full = SequenceArray(seldom.tokens.copy(), seldom.offsets)
        for options in ({}, {"edge_features": [0, 1]}, {"dtype": "float32"}, {"solver": "sgd"}):
            models = [
                LinearChainCRF(random_state=0, **options).fit(packed, y)
                for packed in (encoder.fit_transform(X), full)
            ]
            np.testing.assert_array_equal(models[0]._w, models[1]._w)
            again = [m.predict_proba(p) for m, p in zip(models, (encoder.transform(X), full))]
            for one, other in zip(*again, strict=True):
                np.testing.assert_array_equal(one, other)
