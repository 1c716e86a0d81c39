"""What a fitted chain keeps for its predictions: never stale, never copied, never in the way."""

from __future__ import annotations

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from threading import Barrier

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from sklearn_struct import LinearChainCRF, SequenceArray

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

K = 5
M = 30


def data(seed=0, n=80, sparse=True):
    """Sequences with values other than 1, stored zeros and an empty sequence; labels that depend on
    them.
    """
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0, 0], np.cumsum(rng.integers(1, 12, size=n))])
    tokens = rng.normal(size=(offsets[-1], M)) * (rng.random((offsets[-1], M)) < 0.3)
    labels = (tokens @ np.random.default_rng(7).normal(size=(M, K))).argmax(axis=1)
    tokens = sp.csr_array(tokens) if sparse else tokens
    if sparse:
        tokens.data[::9] = 0.0
    return SequenceArray(tokens, offsets), [
        part.tolist() for part in np.split(labels, offsets[1:-1])
    ]


def fitted(**options):
    return LinearChainCRF(max_iter=5, **options).fit(*data())


def by_hand(model, X):
    """Predictions from the public attributes, by loops."""
    tokens = X.tokens.toarray() if sp.issparse(X.tokens) else X.tokens
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    node = tokens @ coef.T + model.intercept_
    found = []
    for low, high in zip(X.offsets[:-1], X.offsets[1:], strict=True):
        best = np.zeros(len(model.classes_))
        back = []
        for t in range(low, high):
            arrivals = best[:, None] + model.transition_ if t > low else np.diag(best)
            back.append(arrivals.argmax(axis=0))
            best = arrivals.max(axis=0) + node[t] if t > low else node[t]
        path = [int(best.argmax())] if high > low else []
        for step in reversed(back[1:]):
            path.append(int(step[path[-1]]))
        found.append(model.classes_[path[::-1]].tolist())
    return found


def assert_right(model, X):
    assert model.predict(X).tolist() == by_hand(model, X)


# ---- predictions, each after something that would make kept weights wrong


@pytest.mark.parametrize(
    "options", [{}, {"feature_pairs": "all"}, {"min_frequency": 3}, {"fit_intercept": False}]
)
def test_by_hand(options):
    model = fitted(**options)
    for seed in (0, 1):
        assert_right(model, data(seed)[0])


def test_after_another_fit():
    model = fitted()
    X = data()[0]
    before = model.predict(X).tolist()
    model.fit(*data(3))
    assert_right(model, X)
    assert model.predict(X).tolist() != before


def test_after_a_warm_start():
    model = fitted(warm_start=True)
    for _ in range(3):
        model.predict(data()[0])
        model.fit(*data())
        assert_right(model, data()[0])


def test_after_partial_fit():
    model = LinearChainCRF(solver="pa", feature_pairs="all", random_state=0)
    for seed in range(4):
        model.partial_fit(*data(seed), classes=list(range(K)))
        assert_right(model, data()[0])


def test_after_a_failed_fit():
    model = fitted()
    X, y = data()
    before = model.predict(X).tolist()
    with pytest.raises(ValueError, match="sequences"):
        model.fit(X, y[:-1])
    assert model.predict(X).tolist() == before


def test_after_a_change_of_dtype():
    model = fitted()
    X = data()[0]
    exact = model.log_proba(*data())
    rough = model.set_params(dtype="float32").log_proba(*data())
    assert 0 < np.abs(rough - exact).max() < 1e-3
    np.testing.assert_array_equal(model.set_params(dtype="float64").log_proba(*data()), exact)
    assert_right(model, X)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("edge_features", [None, "all"])
def test_dense_and_sparse_in_turn(sparse, edge_features):
    model = LinearChainCRF(max_iter=5, edge_features=edge_features).fit(*data(sparse=sparse))
    X = data()[0]
    same = SequenceArray(X.tokens.toarray(), X.offsets)
    first = model.predict_proba(X)
    for other in (same, X, same):
        for a, b in zip(model.predict_proba(other), first, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_index_types_of_X():
    model = fitted()
    X = data()[0]
    wide = X.tokens.copy()
    wide.indices = wide.indices.astype(np.int64)
    wide.indptr = wide.indptr.astype(np.int64)
    assert model.predict(SequenceArray(wide, X.offsets)).tolist() == model.predict(X).tolist()


def test_same_bits_for_any_number_of_threads():
    model = fitted()
    X = data(n=1500)[0]
    first = model.predict_proba(X)
    for n_jobs in (2, 3):
        for a, b in zip(model.set_params(n_jobs=n_jobs).predict_proba(X), first, strict=True):
            np.testing.assert_array_equal(a, b)


def test_from_several_threads_at_once():
    """The first predictions race for the preparation."""
    X = data()[0]
    barrier = Barrier(4, timeout=60)
    model = fitted()
    expected = by_hand(model, X)

    def predict(_):
        barrier.wait()
        return model.predict(X).tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(predict, range(4))) == [expected] * 4


def test_the_first_prediction_prepares_the_others():
    model = fitted()
    X = data()[0]
    model.predict(X)
    kept = model._prepared._kept
    model.predict_proba(data(2)[0])
    assert model.predict(X[:1]).tolist() == [[]]
    assert model._prepared._kept is kept


def test_predicting_changes_nothing_that_can_be_seen():
    """Neither attributes nor pickles, so that hashes of models stay, too."""
    model = fitted()
    before = dict(vars(model))
    pickled = pickle.dumps(model)
    model.predict(data()[0])
    assert vars(model) == before
    assert pickle.dumps(model) == pickled


@pytest.mark.parametrize(
    "copied", [deepcopy, lambda model: pickle.loads(pickle.dumps(model)), copy]
)
def test_copies_predict_alike_and_apart(copied):
    model = fitted()
    X = data()[0]
    expected = model.predict(X).tolist()
    other = copied(model)
    assert other.predict(X).tolist() == expected
    other.fit(*data(3))
    assert_right(other, X)
    assert model.predict(X).tolist() == expected


def test_a_deep_copy_is_empty_and_a_clone_has_none():
    model = fitted()
    model.predict(data()[0])
    assert deepcopy(model)._prepared._kept is None
    assert not hasattr(clone(model), "_prepared")


def test_X_is_not_kept():
    model = fitted()
    X = data(2)[0]
    model.predict(X)
    gone = weakref.ref(X.tokens)
    del X
    gc.collect()
    assert gone() is None


def test_only_one_table_is_kept():
    """Others' memory is free again: at a change of dtype, and at once in another fit."""
    model = fitted()
    X = data()[0]
    model.predict(X)
    gone = weakref.ref(model._prepared._kept.W)
    model.set_params(dtype="float32").predict(X)
    gc.collect()
    assert gone() is None
    model.fit(*data())
    assert model._prepared._kept is None
