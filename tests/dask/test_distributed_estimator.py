"""Fits on a cluster are those on partitions in memory, bit by bit."""

from __future__ import annotations

import subprocess
import sys

import dask
import dask.bag as db
import numpy as np
import pytest
from distributed import Client, LocalCluster
from partitions import (
    TEMPLATED,
    TEMPLATES,
    TIGHT,
    as_lists,
    cut,
    data_of,
    in_memory,
    model_of,
    sentences,
)

from sklearn_struct import (
    GECRF,
    HMM,
    LatentChainCRF,
    LinearChainCRF,
    MEstimatedCRF,
    SequenceVectorizer,
)
from sklearn_struct.dask import Distributed, distributed_estimator
from sklearn_struct.dask.cluster import ClusterShards
from sklearn_struct.dask.collections import futures_of
from sklearn_struct.distributed import fit_partitions
from sklearn_struct.distributed.fitting import parts_of, pose
from sklearn_struct.distributed.partitions import Partition
from sklearn_struct.distributed.shards import InMemory
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError


def bags(n_parts, *arrays):
    """A bag for each array, cut as `partitions.cut` does."""
    columns = list(zip(*cut(n_parts, *arrays), strict=True))[: len(arrays)]
    return [
        None if part[0] is None else db.from_delayed([dask.delayed(list)(p) for p in part])
        for part in columns
    ]


@pytest.mark.parametrize("name", ["templates", "weights", "partial", "strings", "order 2", "memm"])
def test_bags(client, name):
    estimator, *data = data_of(name)
    here = fit_partitions(estimator, in_memory(3, *data))
    model = Distributed(estimator).fit(*bags(3, *data))
    np.testing.assert_array_equal(model_of(model.estimator_)._w, model_of(here)._w)
    assert model_of(model.estimator_).loss_curve_ == model_of(here).loss_curve_
    assert list(model.predict(data[0])) == list(here.predict(data[0]))


def test_hidden_markov_models(client):
    """Counts and EM on three workers are bit by bit those of partitions in memory."""
    X, y = sentences()
    X = [[word for word, _ in x] for x in X]
    for estimator, *labels in ((HMM(), y), (HMM(n_states=3, random_state=0, max_iter=200),)):
        here = fit_partitions(
            estimator, in_memory(4, X, *labels) if labels else _without_labels(4, X)
        )
        there = Distributed(estimator).fit(*bags(4, X, *labels)).estimator_
        assert there.loss_curve_ == here.loss_curve_
        np.testing.assert_array_equal(there.transition_logprob_, here.transition_logprob_)
        np.testing.assert_array_equal(there.emission_logprob_[0], here.emission_logprob_[0])


@pytest.mark.parametrize("n_workers", [1, 2])
def test_steps_of_em_on_fewer_workers(n_workers):
    """The bits are those of three workers, and of partitions in memory."""
    X, y = sentences()
    X = [[word for word, _ in x] for x in X]
    y = [None if i % 2 else labels for i, labels in enumerate(y)]
    here = fit_partitions(HMM(), in_memory(4, X, y))
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster) as few:
        there = Distributed(HMM(), few).fit(*bags(4, X, y)).estimator_
    assert there.loss_curve_ == here.loss_curve_
    np.testing.assert_array_equal(there.emission_logprob_[0], here.emission_logprob_[0])


def test_labelled_features(client):
    """The sums that couple sequences are those of partitions in memory, bit by bit."""
    X, y = sentences()
    X = as_lists(X)
    y = [None if i % 2 else labels for i, labels in enumerate(y)]
    estimator = GECRF({"cat": "B-NP", "dog": "I-NP"}, tol=1e-4)
    here = fit_partitions(estimator, in_memory(4, X, y))
    there = Distributed(estimator).fit(*bags(4, X, y)).estimator_
    assert there.loss_curve_ == here.loss_curve_
    np.testing.assert_array_equal(there._w, here._w)


def test_models_over_a_base(client):
    """The base is fitted on the same partitions, which are read again for the model."""
    X, y = sentences()
    here = fit_partitions(MEstimatedCRF(TEMPLATES), in_memory(3, X, y))
    there = Distributed(MEstimatedCRF(TEMPLATES)).fit(*bags(3, X, y)).estimator_
    assert there.loss_curve_ == here.loss_curve_
    np.testing.assert_array_equal(there._w, here._w)


def _without_labels(n_parts, X):
    return InMemory(Partition(part.X, None) for part in cut(n_parts, X))


def test_delayed_values_and_futures(client):
    X, y = sentences()
    parts = cut(3, X, y)
    here = fit_partitions(TEMPLATED, in_memory(3, X, y))
    delayed = [[dask.delayed(list)(part[c]) for part in parts] for c in (0, 1)]
    of_delayed = Distributed(TEMPLATED, client).fit(*delayed).estimator_
    futures = [[client.submit(list, part[c]) for part in parts] for c in (0, 1)]
    of_futures = Distributed(TEMPLATED, client).fit(*futures).estimator_
    for fitted in (of_delayed, of_futures):
        np.testing.assert_array_equal(fitted[-1]._w, here[-1]._w)


def test_encoded_partitions(client):
    X, y = sentences()
    encoded = SequenceVectorizer().fit_transform(as_lists(X))
    parts = [[dask.delayed(p[c]) for p in cut(2, encoded, y)] for c in (0, 1)]
    fitted = Distributed(LinearChainCRF(**TIGHT), client).fit(*parts).estimator_
    expected = LinearChainCRF(**TIGHT).fit(encoded, y)
    np.testing.assert_allclose(fitted._w, expected._w, atol=1e-4)


def test_predictions_of_collections(client):
    X, y = sentences()
    model = Distributed(TEMPLATED).fit(*bags(3, X, y))
    expected = list(model.estimator_.predict(X))
    bag = bags(4, X)[0]
    assert model.predict(bag).compute() == expected
    delayed = [dask.delayed(list)(part.X) for part in cut(2, X, y)]
    assert [x for part in dask.compute(*model.predict(delayed)) for x in part] == expected
    futures = client.compute(delayed)
    parts = client.gather(model.predict(futures))
    assert [x for part in parts for x in part] == expected
    assert model.predict(db.from_delayed([dask.delayed(list)(())])).compute() == []


def test_workers_may_come_meanwhile():
    """The bits are those of one worker, whoever holds the partitions."""
    estimator, *data = data_of("weights")
    encoder, model = parts_of(estimator)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        shards = ClusterShards(client, futures_of(client, *bags(6, *data)))
        objective = pose(model, encoder, shards).objective
        w = np.random.default_rng(0).normal(size=objective.size)
        value, grad = objective.value_and_grad(w)
        cluster.scale(3)
        client.wait_for_workers(3)
        # they get nothing by themselves
        client.replicate(shards.states, n=3)
        holders = {who for place in client.who_has(shards.states).values() for who in place}
        assert len(holders) == 3
        again = objective.value_and_grad(w)
        assert again[0] == value
        np.testing.assert_array_equal(again[1], grad)


def test_a_search_by_a_loop(client):
    """As the user guide has it: each fit outlives workers that are killed."""
    X, y = sentences(40)
    train = bags(2, as_lists(X[:30]), y[:30])
    scores = {}
    for C in (0.01, 1.0):
        fitted = Distributed(LinearChainCRF(C=C)).fit(*train).estimator_
        scores[C] = fitted.score(as_lists(X[30:]), y[30:])
    expected = {
        C: LinearChainCRF(C=C).fit(as_lists(X[:30]), y[:30]).score(as_lists(X[30:]), y[30:])
        for C in scores
    }
    assert scores == pytest.approx(expected, abs=0.02)


def test_what_is_no_collection(client):
    X, y = sentences(20)
    with pytest.raises(InputTypeError, match=r"X must be a dask bag of sequences.*got list"):
        Distributed(TEMPLATED).fit(X, y)
    with pytest.raises(LengthMismatchError, match="X has 2 partitions but y has 3"):
        Distributed(TEMPLATED).fit(bags(2, X, y)[0], bags(3, X, y)[1])
    with pytest.raises(InputTypeError, match="LatentChainCRF cannot be fitted on partitions"):
        Distributed(LatentChainCRF()).fit(*bags(2, X, y))


def test_an_error_of_a_partition_leaves_the_estimator_as_it_was(client):
    X, y = sentences(20)
    model = Distributed(LinearChainCRF()).fit(*bags(2, as_lists(X), y))
    before = model.estimator_
    y[13] = [float("nan")] * len(y[13])
    with pytest.raises(UnknownLabelError, match=r"y\[3\], token 0") as error:
        model.fit(*bags(2, as_lists(X), y))
    assert "in partition 1" in error.value.__notes__
    assert model.estimator_ is before


def test_without_a_client(monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed_estimator, "get_client", none)
    with pytest.raises(ValueError, match="there is no client"):
        Distributed(TEMPLATED)._client()


def test_the_cluster_waits_for_workers_and_not_for_ever(client):
    from sklearn_struct.dask.cluster import patient_cluster

    def timeout(dask_scheduler=None):
        return dask_scheduler.no_workers_timeout

    def set_timeout(seconds, dask_scheduler=None):
        dask_scheduler.no_workers_timeout = seconds

    name = "distributed.deploy.lost-worker-timeout"
    outside = dask.config.get(name)
    with patient_cluster(client):
        assert client.run_on_scheduler(timeout) == 50
        assert dask.config.get(name) == 600
    assert client.run_on_scheduler(timeout) is None
    assert dask.config.get(name) == outside
    client.run_on_scheduler(set_timeout, 7.0)
    try:
        with patient_cluster(client):
            assert client.run_on_scheduler(timeout) == 7
        assert client.run_on_scheduler(timeout) == 7
    finally:
        client.run_on_scheduler(set_timeout, None)


WITHOUT = """
import sys
sys.modules["distributed"] = None
sys.modules["dask"] = None
import sklearn_struct
from sklearn_struct import LinearChainCRF
from sklearn_struct.distributed import FileShards, fit_partitions
print(LinearChainCRF().fit([["a", "b"]], [["x", "y"]]).predict([["b"]])[0])
try:
    import sklearn_struct.dask
except ImportError as error:
    print(error)
"""


def test_all_else_works_without_dask():
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True
    )
    first, second = result.stdout.splitlines()
    assert first == "['y']"
    assert 'pip install "sklearn-struct[dask]"' in second
