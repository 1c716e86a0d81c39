"""Motions: what is the same in all classes, what is not, and that hidden states tell them apart."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import HiddenStateClassifier
from sklearn_struct.datasets import make_motions
from sklearn_struct.datasets.generated_motions import CLASSES, DIRECTIONS


def test_the_order_of_strokes_is_the_class():
    X, y = make_motions(40, noise=0.0, drift=0.0, random_state=0)
    for recording, label in zip(X, y, strict=True):
        heights = recording[:, :3] @ DIRECTIONS.T
        # where each direction is at its highest
        peaks = np.argmax(heights, axis=0)
        assert tuple(np.argsort(peaks).tolist()) == CLASSES[label]
        assert not recording[:, 3:].any()


def test_sums_over_time_are_those_of_other_classes():
    X, y = make_motions(4000, noise=0.0, random_state=0)
    means = np.array([X[y == label].mean(axis=(0, 1)) for label in CLASSES])
    spread = X.mean(axis=1).std(axis=0) / np.sqrt(1000)
    assert np.all(np.abs(means - means.mean(axis=0)) < 4 * spread)


def test_classes_have_the_same_number():
    for n in (0, 4, 10):
        X, y = make_motions(n, n_steps=7, random_state=0)
        assert X.shape == (n, 7, 6)
        counts = [int(np.sum(y == label)) for label in CLASSES]
        assert sum(counts) == n
        assert max(counts) - min(counts) <= 1


def test_seeds_and_options():
    X, y = make_motions(random_state=3)
    same, of_same = make_motions(random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(X, same)
    np.testing.assert_array_equal(y, of_same)
    assert X.shape == (80, 100, 6)
    assert not np.array_equal(X, make_motions(random_state=4)[0])
    quiet, _ = make_motions(noise=0.0, random_state=3)
    assert (
        np.abs(np.diff(quiet[..., :3], axis=1)).mean() < np.abs(np.diff(X[..., :3], axis=1)).mean()
    )
    still, _ = make_motions(noise=0.0, drift=0.0, random_state=3)
    assert np.abs(quiet[..., 3:]).max() > np.abs(still[..., 3:]).max() == 0.0


@pytest.mark.parametrize(
    "options",
    [
        {"n_samples": -1},
        {"n_samples": 2.5},
        {"n_steps": 0},
        {"noise": -0.1},
        {"noise": "much"},
        {"drift": np.inf},
    ],
    ids=str,
)
def test_mistakes(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        make_motions(**options)


def test_states_from_left_to_right_tell_them_apart():
    X, y = make_motions(80, n_steps=40, noise=0.1, random_state=0)
    model = HiddenStateClassifier(
        4, C=0.1, state_transitions="left-to-right", tol=1e-2, random_state=0
    ).fit(X[:40], y[:40])
    assert model.score(X[40:], y[40:]) > 0.8
