"""Criteria of labelled features on partitions are those on all data."""

from __future__ import annotations

import numpy as np
import pytest
from partitions import (
    TEMPLATES,
    as_dicts,
    as_lists,
    assert_same_pattern,
    cut,
    in_memory,
    model_of,
    partly,
    sentences,
    weights_of,
    whole,
    without_forbidden,
)
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sklearn_struct import GECRF, FeatureTemplates, SequenceVectorizer
from sklearn_struct.distributed import FileShards, arrays_of_states
from sklearn_struct.distributed.fitting import fit_partitions, parts_of, pose
from sklearn_struct.distributed.partitions import Partition
from sklearn_struct.distributed.shards import InMemory
from sklearn_struct.exceptions import EmptyDataError, ForbiddenLabelError

LABELS = ["O", "B-NP", "I-NP", "B-VP"]
TARGETS = {
    "cat": "B-NP",
    "dog": {"I-NP": 0.7, "O": 0.3},
    "sleeps": {("B-NP", "B-VP"): 3, ("O", "B-VP"): 1},
    None: {"O": 1, "B-NP": 2, "I-NP": 1, "B-VP": 2},
}
OF_LABELS = {name: target for name, target in TARGETS.items() if name is not None}
OF_WORDS = {"word:cat": "B-NP", "word:dog": "I-NP"}
OF_TEMPLATES = {"w:cat": "B-NP", "w:dog": "I-NP"}
NAMED = {"classes": LABELS, "tol": 1e-7}


def half(y):
    """Labels of some sequences."""
    return [None if i % 2 else labels for i, labels in enumerate(without_forbidden(y))]


# estimator, form of X, what is known of y (None: nothing), whether sequences have weights
CASES = {
    "no labels": (GECRF(TARGETS, **NAMED), as_lists, None, False),
    "some labels": (GECRF(TARGETS, **NAMED), as_lists, half, True),
    "sets of labels": (GECRF(OF_LABELS, order=2, **NAMED), as_lists, partly, False),
    "squared": (
        GECRF(TARGETS, distance="squared", entropy_weight=0.01, **NAMED),
        as_lists,
        half,
        True,
    ),
    "posterior": (GECRF(OF_LABELS, distance="posterior", **NAMED), as_lists, partly, False),
    "constrained": (
        GECRF(
            TARGETS,
            allowed_transitions={"B-VP": ["I-NP"]},
            constrain_training=True,
            **NAMED,
        ),
        as_lists,
        half,
        True,
    ),
    "columns": (
        GECRF({0: "B-NP", 3: "O"}, **NAMED),
        lambda X: SequenceVectorizer().fit_transform(as_lists(X)),
        half,
        False,
    ),
    "dicts": (
        make_pipeline(SequenceVectorizer(), GECRF(OF_WORDS, feature_pairs="all", **NAMED)),
        as_dicts,
        half,
        False,
    ),
    "templates": (
        make_pipeline(FeatureTemplates(TEMPLATES), GECRF(OF_TEMPLATES, **NAMED)),
        lambda X: X,
        None,
        True,
    ),
    "one label": (GECRF({"cat": "O"}, classes=["O"]), as_lists, None, False),
}


def data_of(name):
    estimator, form, known, weighted = CASES[name]
    X, y = sentences()
    y = None if known is None else known(y)
    return clone(estimator), form(X), y, weights_of(X) if weighted else None


def partitions(n_parts, X, y, weight=None):
    if y is not None:
        return in_memory(n_parts, X, y, weight)
    parts = cut(n_parts, X, [None] * len(X), weight)
    return InMemory(Partition(part.X, None, part.sample_weight) for part in parts)


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name):
    estimator, *data = data_of(name)
    expected = whole(estimator, *data)
    # the multipliers of posterior regularisation are searched for, and rounding ends that search
    # somewhere else, within 1e-7 of what fires
    near = 1e-6 if name == "posterior" else 1e-14
    rng = np.random.default_rng(0)
    for n_parts in (1, 3, 8):
        encoder, model = parts_of(estimator)
        objective = pose(clone(model), encoder, partitions(n_parts, *data)).objective
        assert (objective.size, objective.n_free) == (expected.size, expected.n_free)
        w = rng.normal(size=objective.size)
        value, grad = objective.value_and_grad(w)
        # without what it remembers of other weights
        of_all, slope = expected.with_loss(expected.loss).value_and_grad(w)
        assert value == pytest.approx(of_all, rel=near)
        np.testing.assert_allclose(grad, slope, rtol=0, atol=near * np.abs(slope).max())


@pytest.mark.filterwarnings("ignore:solver")
@pytest.mark.parametrize("name", CASES)
def test_a_fit_on_partitions_is_that_on_all_data(name):
    estimator, X, y, weight = data_of(name)
    estimator.set_params(**{f"{'gecrf__' if hasattr(estimator, 'steps') else ''}max_iter": 12})
    given = clone(estimator)
    fit = {} if weight is None else {"sample_weight": weight}
    if hasattr(estimator, "steps"):
        fit = {f"gecrf__{option}": value for option, value in fit.items()}
    expected = model_of(given.fit(X, y, **fit))
    for n_parts in (1, 3, 8):
        fitted = fit_partitions(estimator, partitions(n_parts, X, y, weight))
        model = model_of(fitted)
        assert set(vars(model)) == set(vars(expected))
        np.testing.assert_array_equal(model.classes_, expected.classes_)
        assert model.targets_ == expected.targets_
        assert_same_pattern(model._pattern, expected._pattern)
        np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-8, atol=1e-12)
        for one, other in zip(fitted.predict_proba(X), given.predict_proba(X), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.filterwarnings("ignore:solver")
@pytest.mark.parametrize(
    "options",
    [
        {"init": "labelled"},
        {"init": "random", "random_state": 0},
        {"n_restarts": 2, "annealing": (0.1,), "random_state": 0},
    ],
)
def test_starts_are_those_of_one_machine(options):
    X, y = sentences()
    estimator = GECRF(OF_LABELS, max_iter=8, **options, **NAMED)
    expected = clone(estimator).fit(as_lists(X), half(y))
    model = fit_partitions(estimator, in_memory(3, as_lists(X), half(y)))
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-6)


def test_files(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays_of_states, "LARGE", 64)
    X, y = sentences()
    estimator = GECRF(OF_LABELS, **NAMED)
    here = fit_partitions(estimator, in_memory(3, as_lists(X), half(y)))
    shards = FileShards(tmp_path, in_memory(3, as_lists(X), half(y)).states)
    np.testing.assert_array_equal(fit_partitions(estimator, shards)._w, here._w)


def test_features_that_fire_in_one_partition_or_nowhere():
    X = [["a", "b"], ["c"], ["d"]]
    targets = {"a": "x", "d": "y", "c": "x"}
    y = [None, ["y"], None]
    with pytest.warns(match=r"labeled_features\['c'\] never fires in unlabelled sequences"):
        expected = GECRF(targets, classes=["x", "y"]).fit(X, y)
    with pytest.warns(match=r"labeled_features\['c'\] never fires in unlabelled sequences"):
        model = fit_partitions(GECRF(targets, classes=["x", "y"]), in_memory(3, X, y))
    np.testing.assert_allclose(model._w, expected._w, rtol=1e-6, atol=1e-9)


def test_bad_targets():
    X, y = sentences(20)
    W = as_lists(X)
    with pytest.raises(ValueError, match="has no feature 'cow'"):
        fit_partitions(GECRF({"cow": "O"}, classes=LABELS), partitions(2, W, None))
    with pytest.raises(EmptyDataError, match="there are no labels"):
        fit_partitions(GECRF(), partitions(2, W, None))
    numbers = [np.full((2, 2), 1.0), np.array([[1.0, -2.0]])]
    with pytest.raises(
        ValueError, match=r"X\[0\], token 0: the labelled feature 1 is neg"
    ) as error:
        fit_partitions(GECRF({1: "O"}, classes=LABELS), partitions(2, numbers, None))
    assert error.value.__notes__ == ["in partition 1"]
    forbidden = GECRF(
        {"cat": "O"}, classes=LABELS, allowed_transitions={None: ["O"]}, constrain_training=True
    )
    with pytest.raises(ForbiddenLabelError, match="'O'"):
        fit_partitions(forbidden, partitions(2, [["cat"], ["cat"]], None))
    with pytest.raises(ValueError, match=r"solver='em' is not for data in partitions: use 'lbfgs'"):
        fit_partitions(GECRF(OF_LABELS, solver="em"), in_memory(2, W, y))
    with pytest.raises(ValueError, match="X is two-dimensional"):
        fit_partitions(GECRF({0: "O"}), InMemory([Partition(np.eye(3), None)]))
