"""Partitions in files give the bits of those in memory."""

from __future__ import annotations

import numpy as np
import pytest
from partitions import cut, data_of, in_memory, model_of
from sklearn.base import clone

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.distributed import FileShards, arrays_of_states, fit_partitions
from sklearn_struct.distributed.arrays_of_states import maps_of, roots_of
from sklearn_struct.distributed.fitting import parts_of, pose
from sklearn_struct.distributed.shards import InMemory
from sklearn_struct.exceptions import InputTypeError


@pytest.fixture
def all_arrays_are_large(monkeypatch):
    monkeypatch.setattr(arrays_of_states, "LARGE", 1)


def objective_of(estimator, shards):
    encoder, model = parts_of(estimator)
    return pose(clone(model), encoder, shards).objective


@pytest.mark.parametrize("name", ["weights", "partial", "dicts", "dense", "all edges", "order 2"])
def test_values_have_the_same_bits(name, tmp_path, all_arrays_are_large):
    estimator, *data = data_of(name)
    here = objective_of(estimator, in_memory(3, *data))
    there = objective_of(estimator, FileShards(tmp_path, cut(3, *data)))
    rng = np.random.default_rng(0)
    for _ in range(3):
        w = rng.normal(size=here.size)
        value, grad = here.value_and_grad(w)
        in_files, of_files = there.value_and_grad(w)
        assert in_files == value
        np.testing.assert_array_equal(of_files, grad)
    if name in {"weights", "dicts"}:
        v = rng.normal(size=here.size)
        np.testing.assert_array_equal(there.hess_vec(w, v), here.hess_vec(w, v))


def test_a_fit_has_the_same_bits_and_leaves_no_file(tmp_path, all_arrays_are_large):
    estimator, *data = data_of("templates")
    here = fit_partitions(estimator, in_memory(4, *data))
    there = fit_partitions(estimator, FileShards(tmp_path, cut(4, *data)))
    np.testing.assert_array_equal(there[-1]._w, here[-1]._w)
    assert there[-1].loss_curve_ == here[-1].loss_curve_
    assert list(tmp_path.iterdir()) == []


def test_answers_and_arguments_are_made_one_after_the_other(tmp_path, all_arrays_are_large):
    made = []

    def arguments():
        for i in range(3):
            made.append(i)
            yield i

    shards = FileShards(tmp_path, [np.full(2, 10.0 * k) for k in range(3)])
    shards.advance(lambda state: state + 1)
    answers = shards.each(lambda state, i: float(state.sum()) + i, arguments())
    for k in range(3):
        assert next(answers) == 20 * k + 2 + k
        assert made == list(range(k + 1))
    assert shards.ask(lambda state, i: float(state.sum()) + i, arguments()) == [2, 23, 44]
    with pytest.raises(ValueError, match="zip"):
        list(shards.each(lambda state, i: i, iter([1])))


def test_the_data_stay_the_user_s(tmp_path, all_arrays_are_large):
    rng = np.random.default_rng(0)
    dicts = [[{"a": value, "b": 1.0} for value in rng.normal(size=9)] for _ in range(4)]
    X = SequenceVectorizer().fit_transform(dicts)
    y = [["A" if token["a"] > 0 else "B" for token in sequence] for sequence in dicts]
    crf = LinearChainCRF(C=0.1)
    before = fit_partitions(crf, FileShards(tmp_path, [(X, y)]))
    assert maps_of(X) == []
    X.tokens.data[:] *= -1
    after = fit_partitions(crf, FileShards(tmp_path, [(X, y)]))
    np.testing.assert_array_equal(after._w, fit_partitions(crf, InMemory([(X, y)]))._w)
    assert np.abs(after._w - before._w).max() > 0.1


def test_partitions_serve_for_one_fit(tmp_path):
    sound = [["u", "v"]], [["a", "b"]]
    shards = FileShards(tmp_path, [sound, ([["u"]], [["a", "b"]])])
    with pytest.raises(ValueError, match="y"):
        fit_partitions(LinearChainCRF(), shards)
    with pytest.raises(InputTypeError, match="an earlier fit, which has changed them"):
        fit_partitions(LinearChainCRF(), shards)
    shards = FileShards(tmp_path, [sound])
    fit_partitions(LinearChainCRF(), shards)
    with pytest.raises(InputTypeError, match="an earlier fit, which has changed them"):
        fit_partitions(LinearChainCRF(), shards)


def test_what_is_large_is_in_files(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays_of_states, "LARGE", 500)
    estimator, *data = data_of("weights")
    shards = FileShards(tmp_path, cut(2, *data))
    objective = objective_of(estimator, shards)
    w = np.zeros(objective.size)
    for _ in range(2):
        objective.value_and_grad(w)
        for state, buffers in zip(shards.states, shards.buffers, strict=True):
            assert roots_of(state) == []
            assert maps_of(state)
            # what each evaluation writes anew is kept nowhere
            assert {buffer.name for buffer in buffers} >= {"R", "_W"}
            assert "_W" not in vars(state.objective)


def test_partitions_may_be_functions(tmp_path):
    _, X, y, _ = data_of("strings")
    calls = []

    def partition(lo):
        def read():
            calls.append(lo)
            return X[lo : lo + 20], y[lo : lo + 20]

        return read

    estimator = LinearChainCRF(max_iter=50)
    there = fit_partitions(estimator, FileShards(tmp_path, [partition(lo) for lo in (0, 20, 40)]))
    here = fit_partitions(estimator, in_memory(3, X, y))
    np.testing.assert_array_equal(model_of(there)._w, model_of(here)._w)
    # each was read once
    assert calls == [0, 20, 40]


def test_what_is_no_partition(tmp_path):
    for wrong in ([1, 2], lambda: None, (1,)):
        with pytest.raises(InputTypeError, match=r"a partition is a tuple \(X, y\)"):
            fit_partitions(LinearChainCRF(), FileShards(tmp_path, [wrong]))
