"""Models over a base distribution fitted on partitions are those fitted on all data."""

from __future__ import annotations

import numpy as np
import pytest
from partitions import (
    as_lists,
    assert_same_pattern,
    cut,
    in_memory,
    partly,
    rows,
    sentences,
    weights_of,
)
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from sklearn_struct import (
    HMM,
    FeatureTemplates,
    MEstimatedCRF,
    SequenceVectorizer,
    TokenTransformer,
)
from sklearn_struct.compiled.threads import Pool
from sklearn_struct.distributed import FileShards, arrays_of_states
from sklearn_struct.distributed.based_fitting import pose_based
from sklearn_struct.distributed.fitting import fit_partitions
from sklearn_struct.distributed.partitions import Partition
from sklearn_struct.distributed.shards import InMemory
from sklearn_struct.exceptions import (
    EmptyDataError,
    ForbiddenLabelError,
    InputTypeError,
    UnknownLabelError,
)
from sklearn_struct.persistence import load, save

TEMPLATES = ["w:%x[0,0]", "b:%x[-1,0]/%x[0,1]"]


def words(X):
    return [[word for word, _ in x] for x in X]


def frozen():
    X, y = sentences(30, seed=7)
    return FrozenEstimator(HMM(transition_smoothing=1.0).fit(words(X), y))


# estimator, form of X, whether sequences have weights
CASES = {
    "values": (MEstimatedCRF(tol=1e-8), words, False),
    "templates": (MEstimatedCRF(TEMPLATES, order=2, tol=1e-8), lambda X: X, True),
    "inputs": (
        MEstimatedCRF(
            FeatureTemplates(TEMPLATES, min_frequency=3),
            input_features=True,
            edge_features=["w:cat"],
            tol=1e-8,
        ),
        lambda X: X,
        True,
    ),
    "locally uniform": (
        MEstimatedCRF(base="locally-uniform", constant=False, tol=1e-8),
        words,
        True,
    ),
    "numbers": (MEstimatedCRF(transition_features="all", tol=1e-8), rows, False),
    "a base with EM": (
        MEstimatedCRF(base=HMM(covariance_type="full", oov=None), tol=1e-8),
        rows,
        True,
    ),
    "frozen": (MEstimatedCRF(base=frozen(), tol=1e-8), words, False),
    "drawn": (
        MEstimatedCRF(
            SequenceVectorizer(), expectations="sampled", n_samples=50, random_state=0, tol=1e-8
        ),
        words,
        False,
    ),
    "given inputs": (
        MEstimatedCRF(
            FeatureTemplates(TEMPLATES, min_frequency=3),
            inputs="empirical",
            input_features=True,
            tol=1e-8,
        ),
        lambda X: X,
        True,
    ),
    "newton": (MEstimatedCRF(solver="newton-cg", tol=1e-8), words, True),
    "l1": (MEstimatedCRF(l1_ratio=0.5, fit_intercept=False, tol=1e-6), words, False),
}


def data_of(name):
    estimator, form, weighted = CASES[name]
    X, y = sentences()
    return clone(estimator), form(X), y, weights_of(X) if weighted else None


class CaughtError(Exception):
    """What a fit would minimise."""


def whole(estimator, X, y, weight):
    """The objective of all data, by the steps of `fit`."""

    class Posed(MEstimatedCRF):
        def _start_at(self, start, layout):
            raise CaughtError

        def _objective_of(self, *arguments):
            self.posed = super()._objective_of(*arguments)
            kept.append(self.posed)
            return self.posed

    kept = []
    with pytest.raises(CaughtError):
        Posed(**estimator.get_params(deep=False)).fit(X, y, weight)
    return kept[0].on(Pool(1))


@pytest.mark.parametrize("name", CASES)
def test_value_gradient_and_hessian_products(name):
    estimator, *data = data_of(name)
    expected = whole(estimator, *data)
    rng = np.random.default_rng(0)
    for n_parts in (1, 3, 8):
        objective, layout = pose_based(clone(estimator), in_memory(n_parts, *data), fit_partitions)
        assert objective.size == layout.size == expected.size
        w, v = rng.normal(size=(2, objective.size))
        value, grad = objective.value_and_grad(w)
        of_all, slope = expected.value_and_grad(w)
        assert value == pytest.approx(of_all, rel=1e-14)
        np.testing.assert_allclose(grad, slope, rtol=0, atol=1e-14 * np.abs(slope).max())
        product = objective.hess_vec(w, v)
        of_all = expected.hess_vec(w, v)
        np.testing.assert_allclose(product, of_all, rtol=0, atol=1e-14 * np.abs(of_all).max())


@pytest.mark.parametrize("name", CASES)
def test_a_fit_on_partitions_is_that_on_all_data(name):
    estimator, X, y, weight = data_of(name)
    expected = clone(estimator).fit(X, y, weight)
    for n_parts in (1, 3, 8):
        model = fit_partitions(estimator, in_memory(n_parts, X, y, weight))
        assert set(vars(model)) == set(vars(expected))
        np.testing.assert_array_equal(model.classes_, expected.classes_)
        assert_same_pattern(model._pattern, expected._pattern)
        for names in ("t_", "n_features_in_", "_rows_in", "constant_"):
            assert getattr(model, names) == pytest.approx(getattr(expected, names), abs=1e-6)
        if expected.__dict__.get("_names_in") is not None:
            np.testing.assert_array_equal(model.feature_names_in_, expected.feature_names_in_)
        assert model.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-9)
        np.testing.assert_allclose(model._w, expected._w, atol=1e-5)
        np.testing.assert_allclose(model.input_coef_, expected.input_coef_, atol=1e-5)
        np.testing.assert_allclose(model.log_joint(X, y), expected.log_joint(X, y), atol=1e-4)


def test_a_fit_begins_at_the_weights_of_another():
    X, y = sentences()
    options = {"tol": 1e-6}
    first = fit_partitions(MEstimatedCRF(**options), in_memory(3, words(X), y))
    again = fit_partitions(MEstimatedCRF(**options), in_memory(2, words(X), y), init=first)
    assert again.n_iter_ <= 2 < first.n_iter_


def test_files_are_read_again_for_the_base(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays_of_states, "LARGE", 64)
    X, y = sentences()
    here = fit_partitions(MEstimatedCRF(TEMPLATES), in_memory(3, X, y))
    reads = []

    def reader(part):
        def read():
            reads.append(part)
            return part

        return read

    shards = FileShards(tmp_path, [reader(part) for part in cut(3, X, y)])
    there = fit_partitions(MEstimatedCRF(TEMPLATES), shards)
    assert len(reads) == 6
    np.testing.assert_array_equal(there._w, here._w)
    np.testing.assert_array_equal(there.base_.transition_logprob_, here.base_.transition_logprob_)


def test_partitions_may_be_empty():
    X, y = sentences(20)
    parts = [Partition([], []), *cut(2, words(X), y), Partition([[], []], [[], []])]
    expected = MEstimatedCRF(tol=1e-8).fit([*words(X), [], []], [*y, [], []])
    model = fit_partitions(MEstimatedCRF(tol=1e-8), InMemory(parts))
    assert model.t_ == expected.t_
    np.testing.assert_allclose(model._w, expected._w, atol=1e-6)


def test_what_was_fitted_is_saved_as_any_other(tmp_path):
    pytest.importorskip("safetensors")
    X, y = sentences()
    model = fit_partitions(MEstimatedCRF(TEMPLATES), in_memory(3, X, y))
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert list(loaded.predict(X)) == list(model.predict(X))


def test_what_cannot_be_fitted_on_partitions():
    X, y = sentences(20)
    shards = in_memory(2, words(X), y)
    for options, error, message in (
        ({"distant_pairs": [("a", "b")]}, ValueError, "distant_pairs are not for data in part"),
        ({"C": np.inf}, ValueError, "C=inf is not for data in partitions"),
        ({"solver": "sdca"}, ValueError, "solver='sdca' goes from one example to the next"),
        ({"base": DecisionTreeClassifier()}, InputTypeError, r"give FrozenEstimator\(base\)"),
        ({"features": TokenTransformer(None)}, InputTypeError, "features of TokenTransformer"),
    ):
        with pytest.raises(error, match=message):
            fit_partitions(MEstimatedCRF(**options), shards.fork())
    with pytest.raises(InputTypeError, match="has no SequenceVectorizer before it"):
        fit_partitions(make_pipeline(SequenceVectorizer(), MEstimatedCRF()), shards)


def test_data_that_teach_nothing():
    X, y = sentences(20)
    W = words(X)
    with pytest.raises(EmptyDataError, match="no partition of X has tokens"):
        fit_partitions(MEstimatedCRF(), in_memory(2, [[], []], [[], []]))
    with pytest.raises(EmptyDataError, match="no sequence has a positive weight"):
        fit_partitions(MEstimatedCRF(), in_memory(2, W, y, np.zeros(20)))
    for base in (frozen(), None, "locally-uniform"):
        with pytest.raises(UnknownLabelError, match="the label is missing") as error:
            fit_partitions(MEstimatedCRF(base=base), in_memory(2, W, [*y[:10], *partly(y)[10:]]))
        assert error.value.__notes__ == ["in partition 1"]
    weight = [np.ones(len(x)) for x in X]
    with pytest.raises(ValueError, match="a sample_weight for each token is refused"):
        fit_partitions(MEstimatedCRF(base=frozen()), in_memory(2, as_lists(X), y, weight))
    base = FrozenEstimator(HMM(smoothing=0.0, oov=None).fit([["u"], ["v"]], [["a"], ["b"]]))
    parts = [Partition([["u"]], [["a"]]), Partition([["u"]], [["b"]])]
    with pytest.raises(ForbiddenLabelError, match=r"X\[0\]: the base gives this") as error:
        fit_partitions(MEstimatedCRF(base=base), InMemory(parts))
    assert error.value.__notes__ == ["in partition 1"]
