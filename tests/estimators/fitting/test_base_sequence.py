"""What comes back for each form of X, mistakes and their places, and that a failed fit changes
nothing.
"""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_struct import (
    HMM,
    MEMM,
    FeatureTemplates,
    LinearChainCRF,
    SequenceArray,
    SequenceVectorizer,
)
from sklearn_struct.encoding.features import learned_templates
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
)
from sklearn_struct.objectives.linear_objective import LinearObjective

METHODS = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_edge_proba",
    "predict_nbest",
    "sample",
]


def as_packed(X, container=np.asarray):
    return SequenceArray(container(np.concatenate(X)), np.cumsum([0, *map(len, X)]))


def as_dicts(X):
    return [
        [{f"f{c}": float(value) for c, value in enumerate(token) if value} for token in s]
        for s in X
    ]


FORMS = {
    "arrays": lambda X: X,
    "csr_array": lambda X: [sp.csr_array(s) for s in X],
    "SequenceArray": as_packed,
    "SequenceArray of csr": lambda X: as_packed(X, sp.csr_array),
    "dicts": as_dicts,
}


@pytest.fixture(scope="module")
def data():
    """Arrays (some empty) with many zeros, and labels."""
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.6) for n in (0, 3, 1, 5, 0, 4, 2)]
    return X, [[("A", "B")[int(t[0] > 0)] for t in s] for s in X]


# ---------------------------------------------------------------- what comes back


def test_one_label(data):
    X, _ = data
    model = LinearChainCRF(edge_features=[0]).fit(X, [["only"] * len(s) for s in X])
    assert model.classes_.tolist() == ["only"]
    assert model.predict(X).tolist() == [["only"] * len(s) for s in X]
    np.testing.assert_array_equal(np.concatenate(model.predict_proba(X)), 1.0)
    assert [len(pairs) for pairs in model.predict_nbest(X)] == [1] * len(X)
    assert model.log_proba(X, model.predict(X)).tolist() == [0.0] * len(X)


def test_return_types_of_sequences(data):
    X, y = data
    model = LinearChainCRF().fit(X, y)
    for method in METHODS:
        found = getattr(model, method)(X)
        assert isinstance(found, np.ndarray)
        assert (found.dtype, found.shape) == (object, (len(X),))
    for i, n in enumerate(map(len, X)):
        assert isinstance(model.predict(X)[i], list)
        assert all(isinstance(label, str) for label in model.predict(X)[i])
        assert model.predict_proba(X)[i].shape == model.predict_log_proba(X)[i].shape == (n, 2)
        assert model.predict_edge_proba(X)[i].shape == (max(n - 1, 0), 2, 2)
        assert all(
            isinstance(labels, list) and isinstance(p, float)
            for labels, p in model.predict_nbest(X, 3)[i]
        )
        assert [len(labels) for labels in model.sample(X, 3)[i]] == [n] * 3
    assert model.log_proba(X, y).shape == (len(X),)
    assert isinstance(model.score(X, y), float)


def test_return_types_do_not_depend_on_lengths():
    """Sequences of equal length do not make a two-dimensional result, and a single one is still a
    batch.
    """
    for X in ([["a", "b"], ["b", "a"]], [["a", "b"]]):
        model = LinearChainCRF().fit(X, [["A", "B"]] * len(X))
        for method in METHODS:
            assert getattr(model, method)(X).shape == (len(X),)


def test_return_types_of_two_dimensions():
    X = np.eye(4)
    y = np.array([1, 2, 2, 1])
    model = LinearChainCRF().fit(X, y)
    assert model.predict(X).dtype == y.dtype
    assert model.predict(X).shape == (4,)
    assert model.predict_proba(X).shape == model.predict_log_proba(X).shape == (4, 2)
    assert model.predict_proba(X).dtype == float
    assert [p.shape for p in model.predict_edge_proba(X)] == [(0, 2, 2)] * 4
    assert [[len(labels) for labels, _ in pairs] for pairs in model.predict_nbest(X, 3)] == [
        [1, 1]
    ] * 4
    assert model.log_proba(X, y).shape == (4,)


# ---------------------------------------------------------------- empty sequences


@pytest.mark.parametrize("form", FORMS)
def test_empty_sequences_change_nothing(data, form):
    X, y = data
    filled = [i for i, s in enumerate(X) if len(s)]
    model = LinearChainCRF(tol=1e-8).fit(FORMS[form](X), y)
    without = LinearChainCRF(tol=1e-8).fit(
        FORMS[form]([X[i] for i in filled]), [y[i] for i in filled]
    )
    np.testing.assert_allclose(model.intercept_, without.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.transition_, without.transition_, atol=1e-6)
    assert model.predict(FORMS[form](X))[0] == []
    assert model.log_proba(FORMS[form](X), y)[0] == 0
    assert model.predict_nbest(FORMS[form](X))[0] == [([], 0.0)]


@pytest.mark.parametrize("trained", ["arrays", "csr_array", "dicts"])
@pytest.mark.parametrize(
    "X",
    [
        [[]],
        [[], ()],
        [np.empty((0, 3))],
        [sp.csr_array((0, 3))],
        SequenceArray(np.empty((0, 3)), [0, 0]),
    ],
    ids=["list", "lists", "array", "csr_array", "SequenceArray"],
)
def test_only_empty_sequences(data, trained, X):
    model = LinearChainCRF().fit(FORMS[trained](data[0]), data[1])
    assert model.predict(X).tolist() == [[]] * len(X)
    assert [p.shape for p in model.predict_proba(X)] == [(0, 2)] * len(X)
    assert [p.shape for p in model.predict_edge_proba(X)] == [(0, 2, 2)] * len(X)
    assert model.sample(X, 2).tolist() == [[[], []]] * len(X)
    assert model.log_proba(X, [[]] * len(X)).tolist() == [0] * len(X)


def test_no_sequences_in_a_slice(data):
    X = as_packed(data[0])
    model = LinearChainCRF().fit(X, data[1])
    for method in METHODS:
        assert getattr(model, method)(X[:0]).shape == (0,)
    assert model.log_proba(X[:0], []).shape == (0,)


@pytest.mark.parametrize(
    ("X", "y", "weight"), [([[]], [[]], None), ([[], ["a"]], [[], ["A"]], [1, 0])]
)
def test_score_without_tokens_is_a_clear_error(X, y, weight):
    model = LinearChainCRF().fit([["a", "b"]], [["A", "B"]])
    with pytest.raises(EmptyDataError, match="tok"):
        model.score(X, y, sample_weight=weight)


# ---------------------------------------------------------------- mistakes

GOOD_X = [["a", "b"], ["c"]]
GOOD_Y = [["A", "B"], ["A"]]
NUMBERS = [np.ones((2, 2)), np.eye(2)]
NUMBERS_Y = [["A", "B"], ["B", "A"]]


def with_value(value, form=np.asarray):
    return [form(np.ones((1, 2))), form(np.array([[1.0, 2.0], [3.0, value]]))]


ONE = [["A"], ["A", "B"]]
TWO = [["A", "B"]]
COMPLEX = np.array([[1j], [0]])
MISTAKES = {
    # features that are not finite
    "NaN": (
        with_value(np.nan),
        ONE,
        NonFiniteError,
        r"X\[1\], token 1, feature 1: not finite \(nan\)",
    ),
    "inf": (
        with_value(np.inf),
        ONE,
        NonFiniteError,
        r"X\[1\], token 1, feature 1: not finite \(inf\)",
    ),
    "inf and -inf": (
        [np.array([[np.inf], [-np.inf]])],
        TWO,
        NonFiniteError,
        r"X\[0\], token 0, feature 0",
    ),
    "inf in csr": (
        with_value(np.inf, sp.csr_array),
        ONE,
        NonFiniteError,
        r"X\[1\], token 1, feature 1",
    ),
    "NaN packed": (
        as_packed(with_value(np.nan)),
        ONE,
        NonFiniteError,
        r"X\[1\], token 1, feature 1",
    ),
    "NaN in a dict": (
        [["a"], [{}, {"f": np.nan}]],
        ONE,
        NonFiniteError,
        r"X\[1\], token 1, feature 'f'",
    ),
    "NaN flat": ([[1.0, np.nan], [0, 0]], ["A", "B"], ValueError, "NaN"),
    "inf flat": ([[1.0, np.inf], [0, 0]], ["A", "B"], ValueError, "infinity"),
    # lengths
    "more labels": (GOOD_X, [*GOOD_Y, ["A"]], LengthMismatchError, "X has 2 sequences but y has 3"),
    "fewer labels": (GOOD_X, GOOD_Y[:1], LengthMismatchError, "X has 2 sequences but y has 1"),
    "a label too many": (
        GOOD_X,
        TWO * 2,
        LengthMismatchError,
        r"X\[1\] has 1 tokens but y\[1\] has 2 labels",
    ),
    "a label too few": (
        GOOD_X,
        [["A"], ["A"]],
        LengthMismatchError,
        r"X\[0\] has 2 tokens but y\[0\] has 1 labels",
    ),
    "rows and labels": (np.eye(3), [1, 2], LengthMismatchError, "X has 3 rows but y has 2"),
    "features": (
        [np.ones((1, 2)), np.ones((2, 3))],
        ONE,
        LengthMismatchError,
        r"X\[1\] has 3 features but X\[0\] has 2",
    ),
    # nothing there
    "no sequences": ([], [], EmptyDataError, "X has no sequences"),
    "only empty sequences": ([[], []], [[], []], EmptyDataError, "no tokens"),
    "only empty arrays": ([np.empty((0, 2))], [[]], EmptyDataError, "no tokens"),
    "empty packed": (SequenceArray(np.empty((0, 2)), [0]), [], EmptyDataError, "no tokens"),
    "no rows": (np.empty((0, 2)), [], ValueError, "0 sample"),
    # labels
    "no label at all": (GOOD_X, [[None, None], None], EmptyDataError, "y has no labels"),
    "empty set": (
        GOOD_X,
        [["A", "B"], [set()]],
        UnknownLabelError,
        r"y\[1\], token 0: the set of labels is empty",
    ),
    "None in a set": (
        GOOD_X,
        [["A", {"B", None}], None],
        UnknownLabelError,
        r"y\[0\], token 1: the set .* has None",
    ),
    "lists in a set": (GOOD_X, [["A", {frozenset("A")}], None], InputTypeError, "cannot be sorted"),
    "NaN label": (GOOD_X, [[1.0, np.nan], [1.0]], UnknownLabelError, r"y\[0\], token 1"),
    "mixed labels": (GOOD_X, [["A", 1], ["A"]], InputTypeError, "int, str"),
    "list as label": (GOOD_X, [["A", ["B"]], ["A"]], InputTypeError, r"y\[0\], token 1: \['B'\]"),
    "set of labels": (GOOD_X, [{"A", "B"}, ["A"]], InputTypeError, r"y\[0\] must be a sequence"),
    "string of labels": (
        GOOD_X,
        ["AB", "A"],
        InputTypeError,
        r"y\[0\] must be a sequence of labels, got str",
    ),
    "number for y": (GOOD_X, 5, InputTypeError, "y must be a list of label sequences, got int"),
    "no y": (GOOD_X, None, ValueError, "requires y to be passed, but the target y is None"),
    "empty set flat": (np.eye(3), ["A", set(), "A"], UnknownLabelError, r"y\[1\]"),
    "mixed labels flat": (
        np.eye(3),
        np.array(["A", 1, "A"], dtype=object),
        InputTypeError,
        "int, str",
    ),
    "real targets": (np.eye(3), [0.5, 1.5, 2.5], ValueError, "continuous"),
    "labels in two dimensions": (np.eye(2), [[1, 2], [2, 1]], InputTypeError, r"\[X\] with \[y\]"),
    # types
    "number": (5, GOOD_Y, InputTypeError, "got int"),
    "string": ("ab", GOOD_Y, InputTypeError, "got str"),
    "None": (None, GOOD_Y, InputTypeError, "got NoneType"),
    "sequence: string": (["ab", "c"], GOOD_Y, InputTypeError, r"X\[0\] is a str, not a sequence"),
    "sequence: dict": ([["a", "b"], {"c": 1}], GOOD_Y, InputTypeError, r"X\[1\]"),
    "sequence: number": ([["a", "b"], 5], GOOD_Y, InputTypeError, r"X\[1\]"),
    "sequence: set": ([["a", "b"], {"c"}], GOOD_Y, InputTypeError, r"X\[1\]"),
    "token: None": ([["a", None], ["c"]], GOOD_Y, InputTypeError, r"X\[0\], token 1"),
    "token: bytes": ([["a", b"b"], ["c"]], GOOD_Y, InputTypeError, r"X\[0\], token 1"),
    "token: number": ([["a", "b"], [5]], GOOD_Y, InputTypeError, r"X\[1\], token 0"),
    "feature: None": (
        [["a", {"f": None}], ["c"]],
        GOOD_Y,
        InputTypeError,
        r"X\[0\], token 1, feature 'f'",
    ),
    "feature name: number": ([["a", {5: "x"}], ["c"]], GOOD_Y, InputTypeError, r"X\[0\], token 1"),
    "dicts after arrays": ([np.ones((1, 2)), [{"a": 1}, {}]], ONE, InputTypeError, r"X\[1\]"),
    "arrays after dicts": ([[{"a": 1}], np.ones((2, 2))], ONE, InputTypeError, r"X\[1\]"),
    "words in an array": ([np.array([["w", "v"]] * 2)], TWO, InputTypeError, r"X\[0\]"),
    "array of one dimension": (
        [np.ones((1, 2)), np.ones(2)],
        ONE,
        InputTypeError,
        r"X\[1\] must have two dim",
    ),
    "one dimension": (np.ones(3), ["A", "B", "A"], ValueError, "Expected 2D array, got 1D array"),
    "list of numbers": ([1.0, 2.0], ["A", "B"], ValueError, "Expected 2D array, got 1D array"),
    "rows of unequal length": (
        [[1.0, 2.0], [3.0]],
        ["A", "B"],
        LengthMismatchError,
        r"X\[1\] has 1 numbers but X\[0\]",
    ),
    "a word among rows": (
        [[1.0, 2.0], ["a", "b"]],
        ["A", "B"],
        InputTypeError,
        r"X\[1\], token 0, is a str",
    ),
    "None among rows": (
        [[1.0, 2.0], None],
        ["A", "B"],
        InputTypeError,
        r"X\[0\] is a row of .* X\[1\] a NoneType",
    ),
    "an array among numbers": (
        [1.0, np.ones((2, 2))],
        TWO,
        InputTypeError,
        r"X\[0\] is a number and X\[1\] a ndarray",
    ),
    "numbers as words": (
        [np.array([["1.5"], ["2.5"]])],
        TWO,
        InputTypeError,
        r"X\[0\] cannot be read .* <U3",
    ),
    "four dimensions": (np.ones((2, 2, 2, 2)), GOOD_Y, ValueError, "dim 4"),
    "complex": ([COMPLEX], TWO, InputTypeError, r"X\[0\].*complex"),
    "complex csr": ([sp.csr_array(COMPLEX)], TWO, InputTypeError, "complex"),
    "complex packed": (as_packed([COMPLEX]), TWO, InputTypeError, "complex"),
    "complex lists": (COMPLEX.tolist(), ["A", "B"], ValueError, "Complex data not supported"),
    "complex flat": (COMPLEX, ["A", "B"], ValueError, "Complex data not supported"),
    "labels as X": (
        SequenceArray(np.ones(2), [0, 2]),
        TWO,
        InputTypeError,
        "must be rows of real numbers",
    ),
    "objects packed": (
        SequenceArray(np.ones((2, 1), object), [0, 2]),
        TWO,
        InputTypeError,
        "object",
    ),
}


def same(a, b):
    """Whether two objects are equal bit for bit and type for type."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and a.dtype != object:
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and all(map(same, a.flat, b.flat))
    if sp.issparse(a):
        return same((a.shape, a.data, a.indices, a.indptr), (b.shape, b.data, b.indices, b.indptr))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, BaseEstimator):
        return same(vars(a), vars(b))
    return a == b or (a != a and b != b)


PUBLIC = [
    "classes_",
    "coef_",
    "transition_",
    "intercept_",
    "edge_coef_",
    "edge_features_",
    "n_iter_",
    "loss_curve_",
]
PUBLIC += ["n_features_in_", "feature_names_in_", "vectorizer_"]


def learned(model):
    return {name: getattr(model, name) for name in PUBLIC if hasattr(model, name)}


def fails_without_a_trace(model, X, y, exception, match, **options):
    """Fit fails, on the estimator as it is, and leaves it deeply equal."""
    before = deepcopy(vars(model))
    with pytest.raises(exception, match=match):
        model.fit(X, y, **options)
    assert same(vars(model), before)


def both(**options):
    """An unfitted and a fitted estimator."""
    return (
        LinearChainCRF(),
        LinearChainCRF().fit(GOOD_X, GOOD_Y).set_params(**options),
        LinearChainCRF().fit(np.eye(2), [0, 1]),
    )


def test_same_sees_every_difference():
    model = LinearChainCRF().fit(GOOD_X, GOOD_Y)
    for change in (
        lambda m: m.loss_curve_.append(1.0),
        lambda m: m._w.__setitem__(0, np.nextafter(m._w[0], 9)),
        lambda m: m.vectorizer_.vocabulary_.update(z=9),
        lambda m: setattr(m, "classes_", m.classes_.astype(object)),
        lambda m: setattr(m, "n_iter_", float(m.n_iter_)),
        lambda m: delattr(m, "n_features_in_"),
    ):
        other = deepcopy(model)
        assert same(vars(model), vars(other))
        change(other)
        assert not same(vars(model), vars(other))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_have_a_place_and_leave_no_trace(mistake):
    X, y, exception, match = MISTAKES[mistake]
    for model in both():
        fails_without_a_trace(model, X, y, exception, match)


OPEN = {
    "None label": (
        GOOD_X,
        [["A", "B"], [None]],
        UnknownLabelError,
        r"y\[1\], token 0: the label is missing",
    ),
    "None for labels": (
        GOOD_X,
        [["A", "B"], None],
        InputTypeError,
        r"y\[1\] must be a sequence .* got NoneType",
    ),
    "set as label": (GOOD_X, [["A", {"A", "B"}], ["A"]], InputTypeError, r"y\[0\], token 1"),
    "None label flat": (np.eye(3), ["A", None, "A"], UnknownLabelError, r"y\[1\]"),
}


@pytest.mark.parametrize("mistake", OPEN)
def test_models_that_need_all_labels(mistake):
    fails_without_a_trace(MEMM(), *OPEN[mistake])


# by scikit-learn
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_nan_label_of_two_dimensions():
    for model in both():
        fails_without_a_trace(model, np.eye(3), [1.0, np.nan, 2.0], ValueError, "NaN")


@pytest.mark.parametrize("form", [*FORMS, "flat"])
def test_overflow_of_float32_is_not_finite(form):
    X = [np.array([[0.0], [1e300]])]
    for model in both():
        model.set_params(dtype="float32")
        if form == "flat":
            fails_without_a_trace(model, X[0], ["A", "B"], ValueError, "too large|not finite")
        else:
            fails_without_a_trace(
                model,
                FORMS[form](X),
                [["A", "B"]],
                NonFiniteError,
                r"X\[0\], token 1, feature.*not finite",
            )


def test_values_that_are_too_large_to_learn_from_are_refused():
    """Their products are not finite; a little below, they are."""
    model = LinearChainCRF(tol=1e300).fit([np.full((3, 1), 1e74)], [["A", "A", "A"]])
    assert model.predict([np.full((3, 1), 1e74)])[0] == ["A", "A", "A"]
    with pytest.raises(
        NonFiniteError, match=r"X\[0\], token 0, feature 0: 1e\+308 is too large to learn from"
    ):
        model.fit([np.full((3, 1), 1e308)], [["A", "A", "A"]])


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([1, -1], "[Nn]egative"),
        ([0, 0], "non-zero|positive weight"),
        ([1, np.nan], "NaN"),
        ([1, np.inf], "infinity"),
        ([1, 1, 1], r"shape"),
    ],
)
def test_wrong_weights(weight, match):
    for model in both():
        fails_without_a_trace(model, GOOD_X, GOOD_Y, ValueError, match, sample_weight=weight)
    with pytest.raises(ValueError, match=match):
        model.fit(GOOD_X, GOOD_Y).score(GOOD_X, GOOD_Y, sample_weight=weight)


def test_weights_that_are_no_numbers():
    for model in both():
        fails_without_a_trace(
            model,
            GOOD_X,
            GOOD_Y,
            InputTypeError,
            "sample_weight must hold real numbers",
            sample_weight=["a", "b"],
        )


INVALID = {
    "C": [0, -1, np.nan, "1", None],
    "l1_ratio": [-0.1, 1.1, None],
    "solver": ["newton", None, 1],
    "learning_rate": ["constant", None],
    "loss": ["logistic", None],
    "class_weight": ["auto", 1.0, [1, 2]],
    "feature_pairs": ["some", None],
    "transition_features": ["BIO", None],
    "edge_features": [1],
    "allowed_transitions": ["BILOU", 3, "bio"],
    "constrain_training": [None, "BIO"],
    "min_frequency": [0, 1.5, None],
    "fit_intercept": ["yes", None, 2],
    "dtype": ["float16", np.float64, "int", None],
    "max_iter": [0, 1.5, None],
    "tol": [-1, np.nan, None],
    "warm_start": ["no", None],
    "n_jobs": [1.5, "2"],
    "random_state": ["a", -1],
    "verbose": [-1, "a"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in INVALID.items() for value in values]
)
def test_invalid_parameters(name, value):
    for model in both():
        model.set_params(**{name: value})
        fails_without_a_trace(
            model, GOOD_X, GOOD_Y, InvalidParameterError, f"'{name}' parameter of LinearChainCRF"
        )


@pytest.mark.parametrize(
    "value", [["nope"], [99], [-1], ["x*"], ["a", 3], [None], [0.5], [("a",)]], ids=str
)
def test_invalid_edge_features(value):
    for model in both():
        model.set_params(edge_features=value)
        fails_without_a_trace(model, GOOD_X, GOOD_Y, (ValueError, TypeError), "edge_features")


def test_edge_features_by_name_need_names():
    for model in both():
        model.set_params(edge_features="a")
        fails_without_a_trace(
            model, NUMBERS, NUMBERS_Y, ValueError, "edge_features='a'.*no feature names.*numbers"
        )


def test_no_jobs():
    for model in both():
        fails_without_a_trace(model.set_params(n_jobs=0), GOOD_X, GOOD_Y, ValueError, "n_jobs")


@pytest.mark.parametrize(
    "solver", ["lbfgs", "newton-cg", "trust-ncg", "cg", "gradient", "sgd", "ap", "pa"]
)
def test_solvers_without_an_l1_penalty(solver):
    for model in both():
        model.set_params(solver=solver, l1_ratio=0.5)
        fails_without_a_trace(
            model, GOOD_X, GOOD_Y, ValueError, rf"solver='{solver}' has no L1 penalty; use 'owlqn'"
        )


@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "newton-cg", "sag", "sgd"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_fit_leaves_no_trace(monkeypatch, solver, n_jobs):
    models = both()
    calls = []

    def interrupted(evaluation):
        def third_stops(self, w):
            calls.append(w)
            if len(calls) % 3 == 0:
                raise KeyboardInterrupt
            return evaluation(self, w)

        return third_stops

    # a stochastic solver asks for values alone, too
    for name in ("value_and_grad", "value"):
        evaluation = getattr(LinearObjective, name)
        monkeypatch.setattr(LinearObjective, name, interrupted(evaluation))
    for model in models:
        model.set_params(solver=solver, n_jobs=n_jobs, tol=0)
        fails_without_a_trace(model, NUMBERS, NUMBERS_Y, KeyboardInterrupt, "^$")
    monkeypatch.undo()
    assert len(calls) == 9
    assert models[1].set_params(tol=0.1).fit(GOOD_X, GOOD_Y).predict(GOOD_X).tolist()


# ---------------------------------------------------------------- after fit


@pytest.mark.parametrize("asked", [False, True])
def test_names_of_features_must_be_those_of_fit(asked):
    X = [["a", "b"]]
    same = [["a", "b"]]
    other = [["b", "a"]]
    first, second, third = (SequenceVectorizer().fit(tokens) for tokens in (X, same, other))
    model = LinearChainCRF().fit(first.transform(X), [["x", "y"]])
    if asked:
        assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.predict(second.transform(X))[0] == ["x", "y"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(third.transform(X))


ROWS = [[("a", "A"), ("b", "B")]]
NAMERS = {  # each names two features; what the first two name is the same, whoever makes it
    "templates": lambda: FeatureTemplates(["w:%x[0,0]"]).fit(ROWS).transform(ROWS),
    "same templates": lambda: pickle.loads(
        pickle.dumps(FeatureTemplates(["w:%x[0,0]"]).fit(ROWS))
    ).transform(ROWS),
    "same names": lambda: SequenceArray(sp.eye_array(2), [0, 2], ["w:a", "w:b"]),
    "same dicts": lambda: SequenceVectorizer().fit_transform([[["w:a"], ["w:b"]]]),
    "other words": lambda: FeatureTemplates(["w:%x[0,0]"]).fit_transform(
        [[("b", "B"), ("a", "A")]]
    ),
    "other templates": lambda: FeatureTemplates(["t:%x[0,1]"]).fit_transform(ROWS),
    "other order": lambda: SequenceVectorizer().fit_transform([[["w:b"], ["w:a"]]]),
}


@pytest.mark.parametrize("asked", ["", "model", "X"])
@pytest.mark.parametrize("other", NAMERS)
@pytest.mark.parametrize("fitted_on", ["templates", "same names", "same dicts"])
def test_names_of_features_are_compared_whoever_makes_them(fitted_on, other, asked):
    """Also from templates, whose names are spelt out on demand, and whether or not somebody has
    demanded it.
    """
    model = LinearChainCRF().fit(NAMERS[fitted_on](), [["x", "y"]])
    X = NAMERS[other]()
    if asked == "model":
        assert model.feature_names_in_.tolist() == ["w:a", "w:b"]
    if asked == "X":
        assert len(X.feature_names) == 2
    if other.startswith("other"):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(X)
    else:
        assert model.predict(X)[0] == ["x", "y"]


def test_names_of_equal_templates_are_compared_unspelt(monkeypatch):
    model = LinearChainCRF().fit(NAMERS["templates"](), [["x", "y"]])
    monkeypatch.setattr(learned_templates, "_names", lambda *_: pytest.fail("spelt out"))
    assert model.predict(NAMERS["same templates"]())[0] == ["x", "y"]


@pytest.mark.parametrize("method", [*METHODS, "log_proba", "score"])
def test_unfitted(method):
    arguments = (GOOD_X, GOOD_Y) if method in ("log_proba", "score") else (GOOD_X,)
    for X in (GOOD_X, NUMBERS, np.eye(2), as_packed(NUMBERS)):
        with pytest.raises(NotFittedError, match="LinearChainCRF"):
            getattr(LinearChainCRF(), method)(X, *arguments[1:])


def test_unfitted_has_no_learned_attributes():
    assert learned(LinearChainCRF()) == {}
    assert list(learned(LinearChainCRF().fit(GOOD_X, GOOD_Y))) == PUBLIC


@pytest.mark.parametrize("method", [*METHODS, "log_proba", "score"])
@pytest.mark.parametrize(
    ("trained", "X", "exception", "match"),
    [
        (NUMBERS, [np.ones((2, 3))], ValueError, "3 features, but LinearChainCRF is expecting 2"),
        (
            NUMBERS,
            [sp.csr_array(np.ones((2, 1)))],
            ValueError,
            "1 features, but LinearChainCRF is expecting 2",
        ),
        (
            NUMBERS,
            as_packed([np.ones((2, 3))]),
            ValueError,
            "3 features, but LinearChainCRF is expecting 2",
        ),
        (NUMBERS, np.ones((2, 3)), InputTypeError, r"two-dimensional.*fitted on longer.*\[X\]"),
        (NUMBERS, [["a", "b"]], InputTypeError, "attributes.*fitted on numbers"),
        (NUMBERS, with_value(np.nan), NonFiniteError, r"X\[1\], token 1, feature 1"),
        (NUMBERS, [], EmptyDataError, "no sequences"),
        (NUMBERS, np.ones(2), InputTypeError, r"one-dimensional.*fitted on longer.*\[X\]"),
        (GOOD_X, [np.ones((2, 2))], ValueError, "2 features, but LinearChainCRF is expecting 3"),
        (GOOD_X, ["ab"], InputTypeError, r"X\[0\] is a str"),
        (GOOD_X, [["a", {"f": np.inf}]], NonFiniteError, r"X\[0\], token 1, feature 'f'"),
        (GOOD_X, [["a", None]], InputTypeError, r"X\[0\], token 1"),
    ],
)
def test_mistakes_after_fit_change_nothing(trained, method, X, exception, match):
    model = LinearChainCRF().fit(trained, NUMBERS_Y if trained is NUMBERS else GOOD_Y)
    before = deepcopy(vars(model))
    arguments = (X, [["A", "B"]]) if method in ("log_proba", "score") else (X,)
    with pytest.raises(exception, match=match):
        getattr(model, method)(*arguments)
    assert same(vars(model), before)


@pytest.mark.parametrize("method", ["score", "log_proba"])
@pytest.mark.parametrize(
    ("y", "exception", "match"),
    [
        ([["A", "B"], [{"A", None}]], UnknownLabelError, r"y\[1\], token 0.*None"),
        ([["A", "B"], [["A"]]], UnknownLabelError, r"y\[1\], token 0"),
        ([["A", "B"], [1]], UnknownLabelError, r"y\[1\], token 0: label 1"),
        ([["A", "B"], []], LengthMismatchError, r"X\[1\] has 1 tokens but y\[1\] has 0 labels"),
        ([["A", "B"]], LengthMismatchError, "X has 2 sequences but y has 1"),
        (None, ValueError, "requires y"),
        ("AB", InputTypeError, "got str"),
    ],
)
def test_wrong_labels_after_fit(method, y, exception, match):
    model = LinearChainCRF().fit(GOOD_X, GOOD_Y)
    with pytest.raises(exception, match=match):
        getattr(model, method)(GOOD_X, y)


def test_labels_that_fit_has_not_seen():
    """They have no probability, but a prediction is just wrong: small corpora's folds lack some."""
    model = LinearChainCRF(C=100).fit(GOOD_X, GOOD_Y)
    assert model.score(GOOD_X, GOOD_Y) == 1.0
    assert model.score(GOOD_X, [["A", "Z"], ["A"]]) == pytest.approx(2 / 3)
    assert model.score(GOOD_X, [["Z", "Z"], ["Y"]]) == 0.0
    with pytest.raises(
        UnknownLabelError,
        match=r"y\[0\], token 1: label 'Z' was not seen in fit \(known: 'A', 'B'\)",
    ):
        model.log_proba(GOOD_X, [["A", "Z"], ["A"]])


def test_more_labellings_than_there_is_memory_for():
    """Nobody begins to draw, or to look for, what could never be stored."""
    model = LinearChainCRF().fit(GOOD_X, GOOD_Y)
    hmm = HMM().fit(GOOD_X, GOOD_Y)
    for draw in (
        lambda n: model.sample(GOOD_X, n),
        lambda n: model.predict_nbest(GOOD_X, n),
        hmm.sample,
    ):
        with pytest.raises(MemoryError, match=r"n.*=1000000000000000 needs .* GB of memory"):
            draw(10**15)
        with pytest.raises(ValueError, match=r"must be below 2\*\*62"):
            draw(10**400)


def test_numbers_of_labellings_must_be_positive():
    model = LinearChainCRF().fit(GOOD_X, GOOD_Y)
    for n in (0, -1):
        with pytest.raises(ValueError, match=f"n must be at least 1, got {n}"):
            model.predict_nbest(GOOD_X, n)
    with pytest.raises(ValueError, match=r"n_samples.*-1"):
        model.sample(GOOD_X, -1)


@pytest.mark.parametrize(
    "second", [NUMBERS, as_packed(NUMBERS), np.eye(2)], ids=["list", "SequenceArray", "flat"]
)
def test_a_second_fit_forgets_the_first(second):
    y = [0, 1] if isinstance(second, np.ndarray) else NUMBERS_Y
    model = LinearChainCRF().fit(GOOD_X, GOOD_Y).fit(second, y)
    fresh = LinearChainCRF().fit(second, y)
    assert same(learned(model), learned(fresh))
    with pytest.raises(InputTypeError, match="fitted on numbers"):
        model.predict(GOOD_X)
    assert same(learned(model.fit(GOOD_X, GOOD_Y)), learned(LinearChainCRF().fit(GOOD_X, GOOD_Y)))
