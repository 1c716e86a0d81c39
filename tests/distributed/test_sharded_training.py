"""Steps of EM on partitions are those on all data."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from partitions import in_memory, rows, sentences

from sklearn_struct import HMM
from sklearn_struct.distributed import sharded_training
from sklearn_struct.distributed.fitting import fit_partitions
from sklearn_struct.distributed.hidden_fitting import pose_hidden
from sklearn_struct.distributed.sharded_training import together
from sklearn_struct.estimators.hidden_markov.clusters import clusters

pytestmark = pytest.mark.filterwarnings("ignore:EM stopped")


def posed(estimator, X, y, n_parts, init=None):
    return pose_hidden(estimator, in_memory(n_parts, X, y), init)


def data():
    X, y = sentences()
    return rows(X), [[None] * len(labels) for labels in y]


def test_parts_are_merged_in_pairs():
    assert together(list("abcdefg"), lambda a, b: f"({a}{b})") == "(((ab)(cd))((ef)g))"
    assert together([None, 3, None], lambda a, b: a + b) == 3


def test_a_step_from_the_same_model():
    X, y = data()
    start = HMM(n_states=3, init="random", random_state=0, max_iter=2, tol=0.1).fit(X)
    model = start._model()
    steps = [posed(HMM(n_states=3), X, y, n, start) for n in (1, 3, 8)]
    expected, value = steps[0].expect(model)
    for training in steps[1:]:
        counts, of_parts = training.expect(model)
        assert of_parts == pytest.approx(value, rel=1e-13)
        for one, other in zip(counts.markov, expected.markov, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
        new, whole = (t.maximise(c) for t, c in ((training, counts), (steps[0], expected)))
        np.testing.assert_allclose(new.gaussians.mean, whole.gaussians.mean, rtol=1e-12)


def test_bits_do_not_depend_on_the_order_of_work():
    X, y = data()
    training = posed(HMM(n_states=3, random_state=0), X, y, 5)
    start = HMM(n_states=3, init="random", random_state=0, max_iter=2, tol=0.1).fit(X)
    states = training.shards.states
    counts, value = training.expect(start._model())

    class Backwards:
        def __len__(self):
            return len(states)

        def ask(self, function, *arguments):
            work = list(zip(states, *arguments, strict=True))
            return [function(*of_partition) for of_partition in work[::-1]][::-1]

    training.shards = Backwards()
    again, other = training.expect(start._model())
    assert other == value
    for one, two in zip(again.markov, counts.markov, strict=True):
        np.testing.assert_array_equal(one, two)


def test_clusters_of_a_sample(monkeypatch):
    """Of more tokens than a sample has, each gets the label of the nearest center."""
    X, y = data()
    training = posed(HMM(n_states=3, random_state=0), X, y, 4)
    monkeypatch.setattr(sharded_training, "LARGEST_SAMPLE", 60)
    drawn = []

    def of_sample(numbers, weight, n, rng):
        drawn.append(numbers)
        return clusters(numbers, weight, n, rng)

    rules = training.clustered(of_sample, np.random.RandomState(0))
    every = np.vstack(X)
    step = -(-len(every) // 60)
    np.testing.assert_array_equal(drawn[0], every[::step])
    labels = np.concatenate(
        [rule(shard.training) for rule, shard in zip(rules, training.shards.states, strict=True)]
    )
    centers = np.array([drawn[0][labels[::step] == k].mean(axis=0) for k in range(3)])
    distance = ((every[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels, distance.argmin(axis=1))
    # and EM goes on from there
    model = fit_partitions(HMM(n_states=3, random_state=0), in_memory(4, X, y))
    assert np.all(np.diff(model.loss_curve_) <= 1e-9)


def test_tokens_are_drawn_by_their_weights():
    """Each token is drawn as often as its weight says, whichever partition it is in."""
    X = [np.array([[float(i)]]) for i in range(6)]
    weight = np.array([1.0, 0.0, 3.0, 0.0, 0.0, 2.0])
    shards = in_memory(4, X, [["a"]] * 6, weight)
    training = pose_hidden(HMM(n_states=["a", *map(str, range(1999))]), shards, None)
    draw = partial(training._drawn, np.random.RandomState(0))
    numbers, events = draw()
    assert events.shape == (2000, 0)
    expected = np.random.RandomState(0).choice(6, size=2000, p=weight / weight.sum())
    np.testing.assert_array_equal(numbers[:, 0], expected)
