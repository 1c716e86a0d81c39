"""Twins of scikit-learn's estimator checks for sequences of different lengths.

    @ragged_checks([LinearChainCRF(), ...])
    def test_ragged(estimator, check, form): check(estimator, form)

Each check gets a fresh clone and one of `FORMS` of X: sequences, or graphs with these nodes. What
the original check asks of rows, its twin asks of them; checks of parameters, tags and names have no
twin, as they see no data.
"""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from sklearn_struct import GraphArray, SequenceArray
from sklearn_struct.exceptions import LengthMismatchError, NonFiniteError

LENGTHS = [3, 1, 4, 0, 2, 5, 1, 3, 2, 4, 3, 2]
N_FEATURES = 4


class Data(NamedTuple):
    """Rows of numbers in sequences, and labels that depend on them."""

    X: list[np.ndarray]
    y: list[list[str]]


def data(seed: int = 0) -> Data:
    rng = np.random.RandomState(seed)
    X = [
        rng.normal(size=(n, N_FEATURES)).round(2) * (rng.uniform(size=(n, N_FEATURES)) < 0.7)
        for n in LENGTHS
    ]
    y = [
        [("B", "A", "C")[int(v > 0.3) + int(v > 1.0)] for v in rows @ [1.0, -1.0, 0.5, 0.0]]
        for rows in X
    ]
    return Data(X, y)


def _as_dicts(X):
    return [[{f"f{j}": float(v) for j, v in enumerate(row) if v} for row in rows] for rows in X]


def _with_embeddings(X):
    """A number of its own beside an embedding, which tokens of zeros lack."""
    return [
        [
            ({"f0": float(row[0])} if row[0] else {}) | ({"rest": row[1:]} if row.any() else {})
            for row in rows
        ]
        for rows in X
    ]


def _object_array(X):
    array = np.empty(len(X), dtype=object)
    array[:] = X
    return array


def _packed(X, container=np.asarray):
    return SequenceArray(container(np.concatenate(X)), np.cumsum([0, *map(len, X)]))


def edges(n):
    """Of a path, and one that makes a cycle of it."""
    return [[t, t + 1] for t in range(n - 1)] + [[n - 1, 0]] * (n > 2)


def _as_graphs(X):
    return [(rows, np.array(edges(len(rows)), int).reshape(-1, 2)) for rows in X]


def _with_features(X):
    return [(rows, table, np.ones((len(table), 2))) for rows, table in _as_graphs(X)]


SEQUENCES: dict[str, Callable[[list[np.ndarray]], Any]] = {
    "arrays": lambda X: list(X),
    "object array": _object_array,
    "csr": lambda X: [sp.csr_array(rows) for rows in X],
    "packed": _packed,
    "packed csr": lambda X: _packed(X, sp.csr_array),
    "dicts": _as_dicts,
    "embeddings": _with_embeddings,
}
GRAPHS: dict[str, Callable[[list[np.ndarray]], Any]] = {
    "graphs": _as_graphs,
    "features of edges": _with_features,
    "packed graphs": lambda X: GraphArray.from_graphs(_with_features(X)),
    "graphs of csr": lambda X: [(sp.csr_array(rows), table) for rows, table in _as_graphs(X)],
    "graphs of dicts": lambda X: list(zip(_as_dicts(X), [edges(len(rows)) for rows in X])),
}
FORMS = SEQUENCES | GRAPHS


def newly_fitted(estimator, form, *fit_arguments, seed=0):
    X, y = data(seed)
    return clone(estimator).fit(FORMS[form](X), y, *fit_arguments)


KEPT: dict[str, Any] = {}  # the estimator of the last check, and a fitted one for each form


def fitted(estimator, form):
    """A copy of one that is fitted once for all checks; `check_pickles` compares copies."""
    if KEPT.get("estimator") is not estimator:
        KEPT.clear()
        KEPT["estimator"] = estimator
    if form not in KEPT:
        KEPT[form] = newly_fitted(estimator, form)
    return copy.deepcopy(KEPT[form])


def methods(estimator):
    names = ("predict", "predict_proba", "predict_log_proba")
    return [name for name in names if hasattr(estimator, name)]


def outputs(model, X, form):
    return {name: getattr(model, name)(FORMS[form](X)) for name in methods(model)}


def assert_same(found, expected, order=None, atol=0.0):
    """Equal predictions; those of `expected` taken in `order`."""
    order = range(len(expected)) if order is None else order
    assert len(found) == len(order)
    for prediction, i in zip(found, order, strict=True):
        if isinstance(prediction, list):
            assert prediction == expected[i]
        elif atol == 0:
            np.testing.assert_array_equal(prediction, expected[i])
        else:
            np.testing.assert_allclose(prediction, expected[i], rtol=atol, atol=atol)


def digits(estimator):
    """What rounding may do to probabilities."""
    return 1e-5 if getattr(estimator, "dtype", "float64") == "float32" else 1e-9


def content(X):
    """All numbers and names that X holds."""
    tokens = [X.tokens] if isinstance(X, SequenceArray) else X
    parts = [part for item in tokens for part in (item if isinstance(item, tuple) else [item])]
    return pickle.dumps(
        [(t.data, t.indices, t.indptr, t.shape) if sp.issparse(t) else t for t in parts]
    )


def known_labels(model):
    """What a token may be; of one that may have several labels, those of the only row."""
    [classes] = getattr(model, "row_classes_", [model.classes_])
    return classes.tolist()


def learned(model):
    """Public learned attributes."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


# ------------------------------------------------------------------------------------------- checks


def always(estimator: Any, form: str) -> bool:
    return True


def only_if(applies: Callable[[Any, str], bool]) -> Callable[[Callable], Callable]:
    """A check of some estimators and forms of X."""

    def decorate(check: Callable) -> Callable:
        check.applies = applies
        return check

    return decorate


def check_fit_returns_self_and_learns_labels(estimator, form):
    X, y = data()
    model = clone(estimator)
    assert model.fit(FORMS[form](X), y) is model
    assert known_labels(model) == ["A", "B", "C"]
    found = model.predict(FORMS[form](X))
    assert (type(found), found.dtype, found.shape) == (np.ndarray, object, (len(X),))
    assert [len(labels) for labels in found] == LENGTHS
    assert all(type(labels) is list and set(labels) <= {"A", "B", "C"} for labels in found)


def check_it_learns(estimator, form):
    """Better than the most frequent label."""
    X, y = data()
    model = fitted(estimator, form)
    labels = [label for labels in y for label in labels]
    assert model.score(FORMS[form](X), y) > max(map(labels.count, set(labels))) / len(labels)


@only_if(lambda estimator, form: not getattr(estimator, "warm_start", False))
def check_fit_is_idempotent(estimator, form):
    X, _ = data()
    model = fitted(estimator, form)
    before = outputs(model, X, form)
    model.fit(FORMS[form](X), data().y)
    for name, found in outputs(model, X, form).items():
        assert_same(found, before[name])


@only_if(lambda estimator, form: not getattr(estimator, "warm_start", False))
def check_fits_forget_earlier_data(estimator, form):
    X, y = data(1)
    model = fitted(estimator, form).fit(FORMS[form](X), y)
    for name, found in outputs(model, X, form).items():
        assert_same(found, outputs(newly_fitted(estimator, form, seed=1), X, form)[name])


def check_sample_order_of_predictions(estimator, form):
    X, _ = data()
    model = fitted(estimator, form)
    order = np.random.RandomState(1).permutation(len(X))
    expected = outputs(model, X, form)
    for name, found in outputs(model, [X[i] for i in order], form).items():
        assert_same(found, expected[name], order)


def check_subsets_of_predictions(estimator, form):
    X, _ = data()
    model = fitted(estimator, form)
    expected = outputs(model, X, form)
    for i in range(len(X)):
        for name, found in outputs(model, [X[i]], form).items():
            assert_same(found, expected[name], [i], digits(estimator))


@only_if(lambda estimator, form: hasattr(estimator, "predict_proba"))
def check_probabilities(estimator, form):
    X, _ = data()
    model = fitted(estimator, form)
    for table, n in zip(model.predict_proba(FORMS[form](X)), LENGTHS, strict=True):
        assert table.shape == (n, 3)
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-6)
        assert np.all(table >= 0)


def check_data_and_parameters_stay(estimator, form):
    X, y = data()
    given = FORMS[form](X)
    parameters = copy.deepcopy(estimator.get_params())
    before = content(given)
    labels = copy.deepcopy(y)
    model = clone(estimator).fit(given, y)
    for name in methods(model):
        getattr(model, name)(given)
    model.score(given, y)
    assert content(given) == before
    assert y == labels
    assert {k: repr(v) for k, v in model.get_params().items()} == {
        k: repr(v) for k, v in parameters.items()
    }


def check_predictions_change_nothing(estimator, form):
    X, y = data()
    model = fitted(estimator, form)
    before = {name: pickle.dumps(value) for name, value in learned(model).items()}
    outputs(model, X, form)
    model.score(FORMS[form](X), y)
    assert {name: pickle.dumps(value) for name, value in learned(model).items()} == before


def check_read_only_data(estimator, form):
    X, y = data()
    for rows in X:
        rows.flags.writeable = False
    given = FORMS[form](X)
    tokens = getattr(given, "tokens", None)
    if tokens is not None:
        for array in (
            (tokens.data, tokens.indices, tokens.indptr) if sp.issparse(tokens) else (tokens,)
        ):
            array.flags.writeable = False
    model = clone(estimator).fit(given, y)
    assert_same(model.predict(given), fitted(estimator, form).predict(FORMS[form](data().X)))


@only_if(lambda estimator, form: form in ("arrays", "packed", "object array", "packed graphs"))
def check_orders_and_types_of_numbers(estimator, form):
    """Fortran order, strides, integers and float32 are the same data."""
    _, y = data()
    X = [np.round(rows) for rows in data().X]
    expected = clone(estimator).fit(FORMS[form](X), y).predict(FORMS[form](X))
    for change in (
        np.asfortranarray,
        lambda rows: np.repeat(rows, 2, axis=1)[:, ::2],
        lambda rows: rows.astype(np.int64),
        lambda rows: rows.astype(np.float32),
    ):
        changed = FORMS[form]([change(rows) for rows in X])
        assert_same(clone(estimator).fit(changed, y).predict(changed), expected)


def check_containers_of_labels(estimator, form):
    X, y = data()
    expected = fitted(estimator, form).predict(FORMS[form](X))
    for given in (
        [tuple(labels) for labels in y],
        [np.array(labels, dtype="U1") for labels in y],
        _object_array(y),
        SequenceArray.from_sequences(y),
    ):
        assert_same(clone(estimator).fit(FORMS[form](X), given).predict(FORMS[form](X)), expected)


def check_kinds_of_labels(estimator, form):
    """The same predictions by other names in the same order."""
    X, y = data()
    expected = fitted(estimator, form).predict(FORMS[form](X))
    for names in (
        {"A": 1, "B": 5, "C": 7},
        {"A": 0.5, "B": 1.5, "C": 2.5},
        {"A": -3, "B": 0, "C": 2},
    ):
        renamed = [[names[label] for label in labels] for labels in y]
        found = clone(estimator).fit(FORMS[form](X), renamed).predict(FORMS[form](X))
        assert_same(found, [[names[label] for label in labels] for labels in expected])


def check_pickles(estimator, form):
    X, _ = data()
    model = newly_fitted(estimator, form)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for name, found in outputs(again, X, form).items():
            assert_same(found, outputs(model, X, form)[name])
    assert joblib.hash(model.predict(FORMS[form](X))) == joblib.hash(model.predict(FORMS[form](X)))


def check_unfitted(estimator, form):
    X, y = data()
    model = clone(estimator)
    for name in methods(model):
        with pytest.raises(NotFittedError, match=type(model).__name__):
            getattr(model, name)(FORMS[form](X))
    with pytest.raises(NotFittedError):
        model.score(FORMS[form](X), y)


# unknown names of dicts are ignored; embeddings of another length have an error of their own
@only_if(lambda estimator, form: "dicts" not in form and form != "embeddings")
def check_number_of_features(estimator, form):
    X, _ = data()
    model = fitted(estimator, form)
    assert model.n_features_in_ == N_FEATURES
    for name in methods(model):
        with pytest.raises(
            ValueError, match=f"3 features, but {type(model).__name__} is expecting {N_FEATURES}"
        ):
            getattr(model, name)(FORMS[form]([rows[:, :3] for rows in X]))


def check_nan_and_infinity(estimator, form):
    missing = [] if get_tags(estimator).input_tags.allow_nan else [np.nan]
    for value in (*missing, np.inf, -np.inf):
        X, y = data()
        model = fitted(estimator, form)
        before = pickle.dumps(learned(model))
        X[5][2, 1] = value
        for call in (lambda: model.fit(FORMS[form](X), y), lambda: model.predict(FORMS[form](X))):  # noqa: B023
            with pytest.raises(NonFiniteError, match=r"X\[5\], (token|node) 2, feature"):
                call()
        assert pickle.dumps(learned(model)) == before


def check_lengths(estimator, form):
    X, y = data()
    model = clone(estimator)
    with pytest.raises(
        LengthMismatchError, match=r"X\[2\] has 4 (token|node)s but y\[2\] has 3 label"
    ):
        model.fit(FORMS[form](X), [labels[:3] if i == 2 else labels for i, labels in enumerate(y)])
    with pytest.raises(LengthMismatchError, match=r"X has 12 (sequences|graphs) but y has 11"):
        model.fit(FORMS[form](X), y[:-1])
    assert learned(model) == {}


def check_no_y(estimator, form):
    with pytest.raises(ValueError, match="requires y"):
        clone(estimator).fit(FORMS[form](data().X), None)


def check_unit_weights(estimator, form):
    X, _ = data()
    expected = outputs(fitted(estimator, form), X, form)
    for weight in (np.ones(len(X)), [1.0] * len(X), np.ones(len(X), np.int64)):
        for name, found in outputs(newly_fitted(estimator, form, weight), X, form).items():
            assert_same(found, expected[name], atol=digits(estimator))


def check_wrong_weights(estimator, form):
    X, y = data()
    for weight in (
        np.ones(len(X) - 1),
        -np.ones(len(X)),
        np.full(len(X), np.nan),
        np.zeros(len(X)),
    ):
        model = clone(estimator)
        with pytest.raises(ValueError, match="weight"):
            model.fit(FORMS[form](X), y, weight)
        assert learned(model) == {}


def check_one_label(estimator, form):
    X, y = data()
    model = clone(estimator).fit(FORMS[form](X), [["A"] * len(labels) for labels in y])
    assert model.predict(FORMS[form](X)).tolist() == [["A"] * n for n in LENGTHS]


def check_one_sequence_and_one_token(estimator, form):
    X, y = data()
    for i in (5, 6):
        model = clone(estimator).fit(FORMS[form]([X[i]]), [y[i]])
        assert len(model.predict(FORMS[form]([X[i]]))[0]) == LENGTHS[i]


def check_n_iter(estimator, form):
    model = fitted(estimator, form)
    if hasattr(model, "n_iter_"):
        assert type(model.n_iter_) is int
        assert model.n_iter_ >= len(model.loss_curve_) >= 1
        assert np.all(np.isfinite(model.loss_curve_))


def check_pipelines(estimator, form):
    X, y = data()
    pipeline = make_pipeline(clone(estimator)).fit(FORMS[form](X), y)
    assert_same(pipeline.predict(FORMS[form](X)), fitted(estimator, form).predict(FORMS[form](X)))
    assert pipeline.score(FORMS[form](X), y) == fitted(estimator, form).score(FORMS[form](X), y)


@only_if(lambda estimator, form: "n_jobs" in estimator.get_params())
def check_threads(estimator, form):
    X, _ = data()
    one, two = (newly_fitted(clone(estimator).set_params(n_jobs=n), form) for n in (1, 2))
    for name, found in outputs(two, X, form).items():
        assert_same(found, outputs(one, X, form)[name])


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]


def named(estimator: Any) -> str:
    """The same in each process: an address of a function is not."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(estimator))


def ragged_checks(
    estimators: list[Any], forms: Any = tuple(SEQUENCES), but: tuple[Callable, ...] = ()
) -> Callable[..., Any]:
    """Parametrize a test by estimators, checks, but for some, and forms of X."""
    return pytest.mark.parametrize(
        ("estimator", "check", "form"),
        [
            pytest.param(
                estimator,
                check,
                form,
                id=f"{named(estimator)}-{check.__name__.removeprefix('check_')}-{form}",
            )
            for estimator in estimators
            for check in CHECKS
            if check not in but
            for form in forms
            if getattr(check, "applies", always)(estimator, form)
        ],
    )
