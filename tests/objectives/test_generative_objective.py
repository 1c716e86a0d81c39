"""The difference of two sums: values, gradients and second derivatives are those of its parts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import chain
from sklearn_struct.encoding.features.distinct_words import distinct_words
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.generated_words import FreeTexts, GeneratedWords
from sklearn_struct.losses.log_partition import LogPartition
from sklearn_struct.objectives.generative_objective import GenerativeObjective
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import bind
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern

K = 2
N_FEATURES = 4


def make(sparse):
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 2, size=(9, N_FEATURES)).astype(float)
    X = SequenceArray(sp.csr_array(tokens) if sparse else tokens, [0, 3, 3, 5, 9])
    weight = np.array([1.0, 1.0, 2.0, 0.5])
    pattern = Pattern(
        N_FEATURES, K, None, (CliquePattern(2, 0, None, np.arange(K * K)),), np.arange(0), False
    )
    words = distinct_words(X, np.array([1]), weight)
    allowed = rng.random((9, K)) < 0.7
    allowed[~allowed.any(axis=1)] = True
    structure = chain(X.offsets)
    data = TrainingData(structure, Evidence(allowed=allowed), weight)
    dtype = np.dtype(float)
    texts = LinearObjective(
        bind(pattern, X, structure, dtype), LogPartition(Chain(), True), Chain(), data
    )
    rows = SequenceArray(words.rows, [0, words.rows.shape[0]])
    of_rows = chain(rows.offsets)
    free = FreeTexts(chain(words.offsets), words.place, words.n_places, words.weight)
    listed = LinearObjective(
        bind(pattern, rows, of_rows, dtype),
        GeneratedWords(LogPartition(Chain()), free),
        Chain(),
        TrainingData(of_rows, Evidence(), np.ones(1), texts.total_weight),
    )
    return GenerativeObjective(texts, listed)


@pytest.mark.parametrize("sparse", [False, True])
def test_derivatives_by_differences(sparse):
    objective = make(sparse)
    rng = np.random.default_rng(1)
    w = rng.normal(size=objective.size)
    v = rng.normal(size=objective.size)
    value, grad = objective.value_and_grad(w)
    step = 1e-5
    ahead, behind = (objective.value_and_grad(w + s * v) for s in (step, -step))
    assert value > 0
    assert grad @ v == pytest.approx((ahead[0] - behind[0]) / (2 * step), abs=1e-8)
    np.testing.assert_allclose(
        objective.hess_vec(w, v), (ahead[1] - behind[1]) / (2 * step), atol=1e-7
    )


def test_parts():
    objective = make(True)
    w = np.random.default_rng(2).normal(size=objective.size)
    of_all, of_known = objective.parts()
    value, grad = objective.value_and_grad(w)
    above = of_all.value_and_grad(w)
    below = of_known.value_and_grad(w)
    assert value == above[0] - below[0]
    np.testing.assert_array_equal(grad, above[1] - below[1])


def test_dense_and_sparse_are_the_same():
    w = np.random.default_rng(3).normal(size=make(False).size)
    a, b = (make(sparse).value_and_grad(w) for sparse in (False, True))
    assert a[0] == pytest.approx(b[0], rel=1e-12)
    np.testing.assert_allclose(a[1], b[1], atol=1e-12)


def test_threads_and_pickles_change_no_bit():
    objective = make(True)
    w = np.random.default_rng(4).normal(size=objective.size)
    expected = objective.value_and_grad(w)
    again = pickle.loads(pickle.dumps(objective))
    with Pool(3) as pool:
        lent = objective.on(pool)
        assert lent.texts.pool is pool
        assert lent.words.pool is pool
        found = [lent.value_and_grad(w), again.value_and_grad(w)]
    for value, grad in found:
        assert value == expected[0]
        np.testing.assert_array_equal(grad, expected[1])
