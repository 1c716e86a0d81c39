"""Starts of EM: what they share with the data, and that they differ by label."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.hidden_markov.base_training import Options
from sklearn_struct.hidden_markov.em_starts import labelled_start, random_start
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.observed import Observed

pytestmark = pytest.mark.twins


def training(weight=(1.0, 1.0)):
    observed = Observed(
        [np.array([0, 0, 1, 2])], np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 2, 4])
    )
    options = Options(1, [4], True, 0.0, 0.0, np.array([0.01]))
    return Training(observed, np.full(4, -1, np.int32), np.array(weight), 2, options, Pool())


def test_random_values_keep_to_what_was_seen():
    tables = [
        random_start(training(), np.random.RandomState(seed)).tables[0] for seed in range(2000)
    ]
    p = np.mean([np.exp(table).mean(axis=0) for table in tables], axis=0)
    assert p[3] == 0
    assert p[0] > p[1] + 0.1
    assert p[1] == pytest.approx(p[2], abs=0.02)


def test_random_means_are_tokens_of_positive_weight():
    means = {
        random_start(training((1.0, 0.0)), np.random.RandomState(seed)).gaussians.mean[0, 0]
        for seed in range(30)
    }
    assert means == {0.0, 1.0}


def test_known_labels_are_counted_with_one_more_of_each():
    model = labelled_start(training(), np.array([0, 1, -1, 1]), np.random.RandomState(0))
    np.testing.assert_allclose(np.exp(model.markov.start), [2 / 3, 1 / 3])
    np.testing.assert_allclose(np.exp(model.markov.transition), [[1 / 4, 2 / 4], [1 / 5, 1 / 5]])
    np.testing.assert_allclose(
        np.exp(model.tables[0]), [[2 / 5, 1 / 5, 1 / 5, 1 / 5], [2 / 6, 1 / 6, 2 / 6, 1 / 6]]
    )
    np.testing.assert_allclose(model.gaussians.mean, [[0], [3.5]])


def test_labels_that_are_not_known_differ():
    options = training().options._replace(n_values=[4])
    steps = Training(training().observed, np.full(4, -1, np.int32), np.ones(2), 4, options, Pool())
    model = labelled_start(steps, np.array([0, -1, -1, 1]), np.random.RandomState(0))
    assert len({row.tobytes() for row in model.tables[0]}) == 4
    assert model.gaussians.mean[:2].tolist() == [[0], [6]]


def test_labels_without_weight_begin_at_random():
    """The second label has tokens, but only in a sequence that does not count."""
    codes = np.array([0, 0, 1, 1])
    models = [
        labelled_start(training((1.0, 0.0)), codes, np.random.RandomState(seed))
        for seed in range(20)
    ]
    assert {model.gaussians.mean[1, 0] for model in models} == {0.0, 1.0}
    # values in proportion to what sequences that count have
    np.testing.assert_array_equal(
        [np.exp(model.tables[0][1]) for model in models], [[1, 0, 0, 0]] * 20
    )
    for model in models:
        np.testing.assert_allclose(model.gaussians.mean[0], [0.5])
        np.testing.assert_allclose(np.exp(model.tables[0][0]), [3 / 6, 1 / 6, 1 / 6, 1 / 6])
