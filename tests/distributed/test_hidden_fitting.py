"""Hidden Markov models fitted on partitions are those fitted on all data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from partitions import in_memory, partly, rows, sentences, weights_of
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sklearn_struct import HMM, HSMM, SequenceVectorizer
from sklearn_struct.distributed import FileShards, arrays_of_states, fit_partitions
from sklearn_struct.distributed.partitions import Partition
from sklearn_struct.distributed.shards import InMemory
from sklearn_struct.exceptions import (
    EmptyDataError,
    ForbiddenLabelError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
    UnknownValueError,
)
from sklearn_struct.persistence import load, save

pytestmark = pytest.mark.filterwarnings("ignore:EM stopped")


def words(X):
    return [[word for word, _ in x] for x in X]


def with_gaps(X):
    """Rows of numbers of which some are missing, in some partitions only."""
    X = rows(X)
    rng = np.random.default_rng(4)
    for x in X[:25]:
        x[rng.random(x.shape) < 0.2] = np.nan
    return X


def mixed(X):
    """A symbol, a measurement and a count."""
    rng = np.random.default_rng(5)
    return [[(word, rng.normal(), float(int(n) % 4)) for word, n in x] for x in X]


def counts(X):
    rng = np.random.default_rng(6)
    return [rng.poisson(3.0, size=(len(x), 3)) for x in X]


def one_each(y):
    """Labels or None, no sets."""
    return [
        labels if labels is None else [None if isinstance(v, set) else v for v in labels]
        for labels in partly(y)
    ]


def all_known(y):
    return y


def none_known(y):
    return None


FEW = {"max_iter": 15, "random_state": 0}
# estimator, form of X, what is known of y, whether sequences have weights
CASES = {
    "counted": (HMM(), words, all_known, False),
    "counted rows": (HMM(oov="smoothing"), lambda X: X, all_known, True),
    "no oov": (HMM(oov=None), words, all_known, False),
    "order 2": (HMM(order=2, stop=False, transition_smoothing=0.5), words, all_known, True),
    "several streams": (HMM(), mixed, all_known, True),
    "kinds": (HMM(emissions=["categorical", "gaussian", "poisson"]), mixed, all_known, False),
    "full, gaps": (HMM(covariance_type="full", **FEW), with_gaps, all_known, True),
    "partly": (HMM(**FEW), words, one_each, True),
    "partly, tied, gaps": (HMM(covariance_type="tied", **FEW), with_gaps, one_each, False),
    "random": (HMM(n_states=3, **FEW), words, none_known, True),
    "best of three": (HMM(n_states=3, n_init=3, **FEW), words, none_known, False),
    "clusters": (HMM(n_states=3, **FEW), rows, none_known, False),
    "clusters, gaps": (HMM(n_states=2, **FEW), with_gaps, none_known, True),
    "random, spherical": (
        HMM(n_states=["a", "b", "c"], init="random", covariance_type="spherical", **FEW),
        with_gaps,
        none_known,
        True,
    ),
    "random, tied": (
        HMM(n_states=2, init="random", covariance_type="tied", **FEW),
        with_gaps,
        none_known,
        False,
    ),
    "random, full": (
        HMM(n_states=2, init="random", covariance_type="full", **FEW),
        rows,
        none_known,
        False,
    ),
    "poisson": (HMM(n_states=2, emissions="poisson", **FEW), counts, none_known, True),
    "poisson, random": (
        HMM(n_states=2, emissions="poisson", init="random", **FEW),
        counts,
        none_known,
        False,
    ),
    "multinomial": (
        HMM(n_states=2, emissions="multinomial", init="random", **FEW),
        counts,
        none_known,
        True,
    ),
    "a state that nobody names": (
        HMM(n_states=["O", "B-NP", "I-NP", "B-VP", "X"], **FEW),
        mixed,
        one_each,
        False,
    ),
    "left to right": (
        HMM(n_states=3, allowed_transitions="left-to-right", **FEW),
        words,
        none_known,
        False,
    ),
    "forbidden": (
        HMM(n_states=3, init="random", allowed_transitions={0: [0], None: [1]}, **FEW),
        words,
        none_known,
        False,
    ),
    "priors": (
        HMM(mean_smoothing=2.0, covariance_smoothing=3.0, covariance_type="full", **FEW),
        with_gaps,
        one_each,
        True,
    ),
}


def data_of(name):
    estimator, form, known, weighted = CASES[name]
    X, y = sentences()
    return clone(estimator), form(X), known(y), weights_of(X) if weighted else None


def parts_of(n_parts, X, y, weight=None):
    """Partitions with tokens, of which some have no y."""
    if y is None:
        y = [None] * len(X)
        return InMemory(
            Partition(p.X, None, p.sample_weight) for p in in_memory(n_parts, X, y, weight).states
        )
    return in_memory(n_parts, X, y, weight)


def assert_same(model, expected, rtol=1e-12):
    """What was learned, and each value on the way, is the same up to rounding."""
    assert set(vars(model)) == set(vars(expected))
    assert model.vocabulary_ == expected.vocabulary_
    assert [list(v or ()) for v in model.vocabulary_] == [
        list(v or ()) for v in expected.vocabulary_
    ]
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    assert model._kinds == expected._kinds
    for name in ("n_parameters_", "n_trials_", "n_features_in_", "_kind", "_rows_in"):
        assert getattr(model, name) == getattr(expected, name)
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=rtol)
    for name in ("start", "transition", "stop"):
        one, other = (np.exp(getattr(m, f"{name}_logprob_")) for m in (model, expected))
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-12)
    for name in ("means_", "covariances_", "rates_"):
        np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_a_fit_on_partitions_is_that_on_all_data(name):
    estimator, X, y, weight = data_of(name)
    expected = clone(estimator).fit(X, y, weight)
    for n_parts in (1, 3, 8):
        model = fit_partitions(estimator, parts_of(n_parts, X, y, weight))
        assert_same(model, expected)


@pytest.mark.parametrize("kind", ["diag", "tied"])
def test_a_fit_begins_at_another_model(kind):
    X, y = sentences()
    X = rows(X)
    options = {"n_mixtures": 2, "covariance_type": kind, **FEW}
    start = HMM(**options).fit(X[:30], y[:30])
    expected = HMM(**options).fit(X, one_each(y), init=start)
    model = fit_partitions(HMM(**options), in_memory(3, X, one_each(y)), init=start)
    assert_same(model, expected)
    kept = {"fixed": ("means", "transition"), **FEW}
    start = HMM().fit(X[:30], y[:30])
    expected = HMM(**kept).fit(X, None, init=start)
    model = fit_partitions(HMM(**kept), parts_of(3, X, None), init=start)
    assert_same(model, expected)
    np.testing.assert_array_equal(model.means_, start.means_)


def test_values_of_another_model():
    X, y = sentences()
    start = HMM(oov="smoothing", transition_smoothing=1.0).fit(words(X)[:10], y[:10])
    expected = HMM(**FEW).fit(words(X), one_each(y), init=start)
    model = fit_partitions(HMM(**FEW), in_memory(3, words(X), one_each(y)), init=start)
    assert_same(model, expected)


def test_partitions_may_be_empty_or_without_labels():
    X, y = sentences()
    W = words(X)
    parts = [
        Partition([], None),
        Partition(W[:20], y[:20]),
        Partition([[], []], None),
        Partition(W[20:40], None),
        Partition(W[40:], y[40:], np.zeros(20)),
    ]
    expected = HMM(**FEW).fit(W, [*y[:20], *[None] * 20, *y[40:]], [1.0] * 40 + [0.0] * 20)
    assert_same(fit_partitions(HMM(**FEW), InMemory(parts)), expected)


def test_two_dimensional_partitions_and_names():
    pd = pytest.importorskip("pandas")
    X, y = sentences()
    table = pd.DataFrame(np.vstack(rows(X)), columns=["a", "b", "c"])
    labels = [label for labels in y for label in labels]
    expected = HMM().fit(table, labels)
    parts = [Partition(table[:50], labels[:50]), Partition(table[50:], labels[50:])]
    model = fit_partitions(HMM(), InMemory(parts))
    assert_same(model, expected)
    np.testing.assert_array_equal(model.feature_names_in_, expected.feature_names_in_)
    np.testing.assert_array_equal(model.predict(table), expected.predict(table))


def test_a_pipeline_of_a_model_alone():
    X, y = sentences()
    fitted = fit_partitions(make_pipeline("passthrough", HMM()), in_memory(2, words(X), y))
    assert_same(fitted[-1], HMM().fit(words(X), y))


def test_files(tmp_path, monkeypatch):
    """Bits are those of partitions in memory, whichever of them is in memory."""
    monkeypatch.setattr(arrays_of_states, "LARGE", 64)
    X, y = sentences()
    X = with_gaps(X)
    estimator = HMM(covariance_type="full", **FEW)
    here = fit_partitions(estimator, in_memory(3, X, one_each(y)))
    shards = FileShards(tmp_path, in_memory(3, X, one_each(y)).states)
    there = fit_partitions(estimator, shards)
    assert there.loss_curve_ == here.loss_curve_
    np.testing.assert_array_equal(there.covariances_, here.covariances_)


def test_threads_do_not_show():
    X, y = sentences()
    models = [
        fit_partitions(HMM(n_jobs=n_jobs, **FEW), in_memory(3, words(X), one_each(y)))
        for n_jobs in (1, 2)
    ]
    assert models[0].loss_curve_ == models[1].loss_curve_


def test_what_was_fitted_is_saved_as_any_other(tmp_path):
    pytest.importorskip("safetensors")
    X, y = sentences()
    model = fit_partitions(HMM(), in_memory(3, mixed(X), y))
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    copy = pickle.loads(pickle.dumps(model))
    for other in (loaded, copy):
        assert list(other.predict(mixed(X))) == list(model.predict(mixed(X)))


def test_what_needs_all_data_in_one_place():
    X, y = sentences(20)
    shards = in_memory(2, rows(X), y)
    with pytest.raises(ValueError, match="autoregression=2 is not for partitions"):
        fit_partitions(HMM(autoregression=2), shards)
    with pytest.raises(ValueError, match=r"n_mixtures=2 begins at clusters.*give `init`"):
        fit_partitions(HMM(n_mixtures=2), shards)
    with pytest.raises(InputTypeError, match="HSMM cannot be fitted on partitions"):
        fit_partitions(HSMM(), shards)
    with pytest.raises(InputTypeError, match="has no SequenceVectorizer before it"):
        fit_partitions(make_pipeline(SequenceVectorizer(), HMM()), shards)


def test_data_that_teach_nothing():
    X, y = sentences(20)
    W = words(X)
    with pytest.raises(EmptyDataError, match="there are no partitions"):
        fit_partitions(HMM(), InMemory([]))
    with pytest.raises(EmptyDataError, match="no partition of X has tokens"):
        fit_partitions(HMM(), in_memory(2, [[], []], [[], []]))
    with pytest.raises(ValueError, match="the target y is None; without labels, set `n_states`"):
        fit_partitions(HMM(), parts_of(2, W, None))
    with pytest.raises(UnknownLabelError, match="y has no labels; set `n_states`"):
        fit_partitions(HMM(), in_memory(2, W, [None] * 20))
    with pytest.raises(EmptyDataError, match="no sequence has a positive weight"):
        fit_partitions(HMM(), in_memory(2, W, y, np.zeros(20)))
    gone = [np.full((len(x), 2), [np.nan, 1.0]) for x in X]
    with pytest.raises(EmptyDataError, match="column 0 of X has no number to learn from"):
        fit_partitions(HMM(), in_memory(2, gone, y))
    large = [np.full((len(x), 1), 1e200) * np.arange(len(x))[:, None] for x in X]
    with pytest.raises(NonFiniteError, match=r"numbers of up to .*e\+20[0-9]"):
        fit_partitions(HMM(), in_memory(2, large, y))


def test_partitions_must_be_alike():
    X, y = sentences(20)
    one, two = in_memory(2, words(X), y).states
    with pytest.raises(InputTypeError, match=r"several forms \(numbers, values\)"):
        fit_partitions(HMM(), InMemory([one, Partition(rows(X), y)]))
    with pytest.raises(LengthMismatchError, match="have 2 columns, and those of another 3"):
        fit_partitions(HMM(), InMemory([Partition(X, y), Partition(mixed(X), y)]))
    with pytest.raises(InputTypeError, match="symbols True and 1, which are equal"):
        fit_partitions(
            HMM(emissions="categorical"),
            InMemory([Partition([[("u", v)]], [["a"]]) for v in (True, 1)]),
        )
    bad = two._replace(y=[[float("nan")] * len(labels) for labels in two.y])
    with pytest.raises(UnknownLabelError) as error:
        fit_partitions(HMM(), InMemory([one, bad]))
    assert error.value.__notes__ == ["in partition 1"]
    estimator = HMM(allowed_transitions={"a": ["b"]})
    parts = [Partition([["u"]], [["a"]]), Partition([["u", "v"]], [["a", "b"]])]
    with pytest.raises(ForbiddenLabelError, match="allowed_transitions forbids the label") as error:
        fit_partitions(estimator, InMemory(parts))
    assert error.value.__notes__ == ["in partition 1"]
    start = HMM(oov=None).fit([["u"]], [["a"]])
    with pytest.raises(UnknownValueError, match="was not seen in fit"):
        fit_partitions(HMM(), InMemory([one]), init=start)
