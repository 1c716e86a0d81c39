"""EM where inputs drive transitions: expected counts and values against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from naive_driven import Driven

from sklearn_struct import NonHomogeneousHMM
from sklearn_struct.hidden_markov.driven_training import DrivenTraining

pytestmark = pytest.mark.twins
LENGTHS = (5, 0, 1, 6, 3)
WEIGHT = np.array([1.0, 1.0, 2.0, 0.5, 0.0])


def sequences(rng, lengths=LENGTHS):
    """An input that has few values, numbers, and an input of its own for each token."""
    return [
        np.column_stack([rng.integers(2, size=n), rng.normal(size=n), rng.normal(size=n)])
        for n in lengths
    ]


def random_model(rng, X):
    y = [(np.arange(len(x)) % 3).tolist() for x in X]
    model = NonHomogeneousHMM(transition_inputs=[0, 2]).fit(X, y)
    model.transition_logprob_ = np.log(rng.dirichlet(np.ones(3), size=3))
    model.transition_coef_ = 2.0 * rng.normal(size=(3, 3, 2))
    return model


def steps(monkeypatch, model, X, y, **options):
    """The steps of EM that a fit makes from a model."""
    seen = []
    make = DrivenTraining.__init__
    monkeypatch.setattr(
        DrivenTraining, "__init__", lambda self, *data: (seen.append(self), make(self, *data))[1]
    )
    NonHomogeneousHMM(transition_inputs=[0, 2], tol=1e9, **options).fit(
        X, y, sample_weight=WEIGHT, init=model
    )
    return seen[0]


@pytest.mark.parametrize("known", [False, True])
def test_expected_transitions(monkeypatch, known):
    rng = np.random.default_rng(0)
    X = sequences(rng)
    model = random_model(rng, X)
    codes = [np.full(len(x), -1) for x in X]
    if known:
        codes[0][2:4] = 1, 0
        codes[3][0] = 2
    y = [[None if code < 0 else int(code) for code in row] for row in codes]
    training = steps(monkeypatch, model, X, y)
    expected, value = training.expect(model._model())
    every = [Driven(model, x, [0, 2]) for x in X]
    log_p = 0.0
    pairs = {}
    for twin, row, weight in zip(every, codes, WEIGHT, strict=True):
        twin.log_p = np.where(twin.allowed(row), twin.log_p, -np.inf)
        log_p += weight * twin.log_Z
        for u, counts in zip(twin.rows[1:, [0, 2]], weight * twin.pairs(), strict=True):
            pairs[tuple(u)] = pairs.get(tuple(u), 0.0) + counts
    rows = training.inputs.rows
    assert len(rows) == len(pairs)
    for u, counts in zip(rows, expected.driven.pairs, strict=True):
        np.testing.assert_allclose(counts, pairs[tuple(u)], atol=1e-10)
    np.testing.assert_allclose(expected.markov.transition, sum(pairs.values()), atol=1e-10)
    assert value - training.prior(model._model()) == pytest.approx(log_p, abs=1e-10)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_a_step_never_lowers_the_value(monkeypatch, penalty, smoothing):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = sequences(rng)
        options = {"transition_penalty": penalty, "transition_smoothing": smoothing}
        training = steps(monkeypatch, random_model(rng, X), X, None, **options)
        model = random_model(rng, X)._model()
        expectation, value = training.expect(model)
        for _ in range(15):
            before = value
            model = training.maximise(expectation)
            expectation, value = training.expect(model)
            assert value >= before - 1e-9


def test_counting_is_expecting_where_all_is_known(monkeypatch):
    rng = np.random.default_rng(1)
    X = sequences(rng)
    y = [rng.integers(3, size=len(x)).tolist() for x in X]
    start = random_model(rng, X)
    training = steps(monkeypatch, start, X, y)
    counted = training.counted(training.codes)
    expected, _ = training.expect(start._model())
    np.testing.assert_allclose(counted.driven.pairs, expected.driven.pairs, atol=1e-12)
    model = training.maximise(counted)
    assert training.value(model) == pytest.approx(training.expect(model)[1], abs=1e-10)
