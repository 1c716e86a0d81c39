"""Ten thousand random mistakes: each ends with a documented exception that names its place, and
leaves no trace.
"""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from ragged_checks import SEQUENCES as FORMS

from sklearn_struct import HiddenStateClassifier, LinearChainCRF, SequenceArray
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
)

N = 3_000
CHUNKS = 10
METHODS = [
    "fit",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_edge_proba",
    "predict_nbest",
    "score",
]
BAD_NUMBERS = [np.nan, np.inf, -np.inf]
NO_SEQUENCES = [None, 5, 0.5, True, object(), {"a": 1}, {"a"}, "word", b"word", 1j]
NO_TOKENS = [None, 5, object(), b"a", 2.5]
NO_LABELS = [["A"], {"A": 1}, np.array(["A"])]
NO_WEIGHTS = [("a", "convert"), (np.nan, "NaN"), (np.inf, "infinity"), (-1.0, "egative")]


class Case:
    """Good data of random lengths in a random form; a mistake puts one thing wrong and says what
    must be named.
    """

    def __init__(self, rng):
        self.rng = rng
        lengths = rng.integers(0, 5, size=rng.integers(2, 6))
        lengths[rng.integers(len(lengths))] += 1
        self.form = list(FORMS)[rng.integers(len(FORMS))]
        self.rows = [rng.normal(size=(n, 3)).round(1) + 0.05 for n in lengths]
        self.y = [list(rng.choice(["A", "B"], size=n)) for n in lengths]
        self.X = FORMS[self.form](self.rows)
        self.weight = None
        self.in_y = False  # of mistakes in X, methods without y tell as well

    def place(self):
        """A random token: its sequence and its position."""
        filled = [i for i, rows in enumerate(self.rows) if len(rows)]
        i = int(self.rng.choice(filled))
        return i, int(self.rng.integers(len(self.rows[i])))

    def any_of(self, things):
        return things[self.rng.integers(len(things))]


def bad_number(case):
    i, t = case.place()
    case.rows[i][t, case.rng.integers(3)] = case.any_of(BAD_NUMBERS)
    case.X = FORMS[case.form](case.rows)
    return NonFiniteError, rf"X\[{i}\], token {t}, feature"


def no_sequence(case):
    i, _ = case.place()
    case.X = [case.any_of(NO_SEQUENCES) if j == i else rows for j, rows in enumerate(case.rows)]
    return InputTypeError, rf"X\[{i}\]"


def no_token(case):
    i, t = case.place()
    case.X = FORMS["dicts"](case.rows)
    case.X[i][t] = case.any_of(NO_TOKENS)
    if (i, t) == (
        next(i for i, rows in enumerate(case.rows) if len(rows)),
        0,
    ):  # a number makes X look like rows of them
        return (InputTypeError, LengthMismatchError), rf"X\[{i}\]"
    return InputTypeError, rf"X\[{i}\], token {t}"


def no_feature(case):
    i, t = case.place()
    case.X = FORMS["dicts"](case.rows)
    name, value = case.any_of(
        [("f", None), ("f", object()), ("f", 1j), (5, 1.0), (None, "x"), ("f", [1, 2]), ((), 1)]
    )
    case.X[i][t] = {"a": 1.0, name: value}
    return InputTypeError, rf"X\[{i}\], token {t}"


def other_width(case):
    i, _ = case.place()
    if i == 0 or not len(case.rows[0]) or case.form == "dicts" or case.form.startswith("packed"):
        return None
    case.X = FORMS[case.form]([rows[:, :2] if j == i else rows for j, rows in enumerate(case.rows)])
    if case.form == "embeddings":
        return LengthMismatchError, rf"X\[{i}\], token 0, feature 'rest': an embedding of 1 "
    return LengthMismatchError, rf"X\[{i}\] has 2 features but X\[0\] has 3"


def dimensions(case):
    i, _ = case.place()
    bad = case.any_of([np.ones(3), np.ones((2, 2, 2)), np.array(1.0)])
    case.X = [bad if j == i else rows for j, rows in enumerate(case.rows)]
    return (InputTypeError, LengthMismatchError), rf"X\[{i}\]"


def kinds_of_numbers(case):
    i, _ = case.place()
    bad = case.any_of(
        [case.rows[i].astype(complex), case.rows[i].astype("U8"), case.rows[i].astype(object)]
    )
    if bad.dtype == object:
        bad[0, 0] = "x"
    case.X = [bad if j == i else rows for j, rows in enumerate(case.rows)]
    return InputTypeError, rf"X\[{i}\]"


def nothing(case):
    case.X, case.y = case.any_of([([], []), ([[]], [[]]), ([np.empty((0, 3))], [[]])])
    return EmptyDataError, "no sequences|no tokens"


def no_batch(case):
    case.X = case.any_of([None, 5, "words", 1.5, b"words", object()])
    return InputTypeError, type(case.X).__name__


def length_of_labels(case):
    i, _ = case.place()
    case.y[i] = case.any_of([case.y[i][:-1], [*case.y[i], "A"]])
    case.in_y = True
    return (
        LengthMismatchError,
        rf"X\[{i}\] has {len(case.rows[i])} tokens but y\[{i}\] has {len(case.y[i])} labels",
    )


def number_of_labels(case):
    case.y = case.any_of([case.y[:-1], [*case.y, ["A"]]])
    case.in_y = True
    return LengthMismatchError, f"X has {len(case.rows)} sequences but y has {len(case.y)}"


def no_labels(case):
    i, _ = case.place()
    case.y[i] = case.any_of([5, "AB", {"A"}, {"A": 1}, 0.5])
    case.in_y = True
    return InputTypeError, rf"y\[{i}\]"


def missing_label(case):
    i, t = case.place()
    case.y[i][t] = case.any_of([np.nan, float("nan"), set(), {"A", None}])
    case.in_y = True
    return UnknownLabelError, rf"y\[{i}\], token {t}"


def no_label(case):
    i, t = case.place()
    case.y[i][t] = case.any_of(NO_LABELS)
    case.in_y = True
    return (InputTypeError, UnknownLabelError), rf"y\[{i}\], token {t}"


def mixed_labels(case):
    i, t = case.place()
    case.y[i][t] = case.any_of([1, ("A", "B"), 0.5])
    if {str(type(label)) for labels in case.y for label in labels} == {str(type(case.y[i][t]))}:
        return None
    case.in_y = True
    return (InputTypeError, UnknownLabelError), rf"cannot be sorted|y\[{i}\], token {t}"


def no_y(case):
    case.y = case.any_of([None, 5, "AB", {"a": ["A"]}])
    case.in_y = True
    return (ValueError, InputTypeError), "y"


def weights(case):
    value, said = case.any_of(NO_WEIGHTS)
    case.weight = [1.0] * len(case.rows)
    case.weight[case.rng.integers(len(case.weight))] = value
    return (ValueError, TypeError), f"(?i){said}"


def number_of_weights(case):
    case.weight = np.ones(len(case.rows) + 1)
    return ValueError, f"sample_weight.shape == \\({len(case.rows) + 1},\\)"


MISTAKES = [
    bad_number, no_sequence, no_token, no_feature, other_width, dimensions, kinds_of_numbers,
    nothing, no_batch, length_of_labels, number_of_labels, no_labels, missing_label, no_label,
    mixed_labels, no_y, weights, number_of_weights,
]  # fmt: skip


def trained(form):
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(n, 3)) for n in (3, 2)]
    return LinearChainCRF(max_iter=3).fit(FORMS[form](X), [["A", "B", "A"], ["B", "A"]])


@pytest.fixture(scope="module")
def models():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {kind: trained(kind) for kind in ("arrays", "dicts")} | {
            "unfitted": LinearChainCRF(max_iter=3)
        }


def state(model):
    return pickle.dumps({name: value for name, value in vars(model).items() if name != "_prepared"})


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_mistakes(models, seed):
    rng = np.random.default_rng(seed)
    left = N // CHUNKS
    before = {kind: state(model) for kind, model in models.items()}
    while left:
        case = Case(rng)
        mistake = MISTAKES[rng.integers(len(MISTAKES))]
        told = mistake(case)
        if told is None:
            continue
        left -= 1
        exceptions, said = told
        kind = list(models)[rng.integers(3)]
        model = models[kind]
        method = "fit"
        of_dicts = isinstance(case.X, list) and any(isinstance(s, list) for s in case.X)
        if (
            mistake is not nothing
            and case.weight is None
            and kind == ("dicts" if of_dicts else "arrays")
        ):
            method = METHODS[rng.integers(len(METHODS))]
        if case.in_y and method != "score":
            method = "fit"
        arguments = {"fit": (case.X, case.y, case.weight), "score": (case.X, case.y)}.get(
            method, (case.X,)
        )
        what = (
            f"{mistake.__name__} {method} {kind} X={case.X!r} y={case.y!r} weight={case.weight!r}"
        )
        with pytest.raises((ValueError, TypeError)) as caught:
            pytest.fail(what + f" gave {getattr(model, method)(*arguments)!r}")
        assert isinstance(caught.value, exceptions), f"{what}: {caught.value!r}"
        if kind == "arrays" and method != "fit":
            said += "|X holds attributes"  # as which a mistake may look
        assert re.search(said, str(caught.value)), f"{what}: {caught.value!r} does not say {said!r}"
        assert state(model) == before[kind], what


@pytest.mark.parametrize("seed", range(2))
def test_mistakes_where_sequences_have_classes(seed):
    rng = np.random.default_rng(seed)
    model = HiddenStateClassifier(2, random_state=0, max_iter=3)
    of_X = [*MISTAKES[: MISTAKES.index(no_batch) + 1], weights, number_of_weights]
    left = N // CHUNKS
    while left:
        case = Case(rng)
        mistake = of_X[rng.integers(len(of_X))]
        told = mistake(case)
        if told is None:
            continue
        left -= 1
        exceptions, said = told
        y = ["A" if i % 2 else "B" for i in range(len(case.y))]
        with pytest.raises((ValueError, TypeError)) as caught:
            model.fit(case.X, y, case.weight)
        assert isinstance(caught.value, exceptions), f"{mistake.__name__}: {caught.value!r}"
        assert re.search(said, str(caught.value)), f"{mistake.__name__}: {caught.value!r}"
        assert vars(model).keys() == model.get_params().keys()


@pytest.mark.parametrize("seed", range(10))
def test_mistakes_in_rows(seed):
    """Of two-dimensional X, where scikit-learn's own checks speak."""
    rng = np.random.default_rng(seed)
    model = LinearChainCRF(max_iter=3)
    for _ in range(50):
        X = rng.normal(size=(6, 3))
        y = np.array(list("ABABAB"), dtype=object)
        i = rng.integers(6)
        j = rng.integers(3)
        wrong = rng.integers(6)
        if wrong == 0:
            X[i, j] = BAD_NUMBERS[rng.integers(3)]
        elif wrong == 1:
            y = y[: rng.integers(1, 6)]
        elif wrong == 2:
            y[i] = set()
        elif wrong == 3:
            X = X.astype(complex) + 1j
        elif wrong == 4:
            X = X[:, 0]
        else:
            y = rng.normal(size=6)
        with pytest.raises((ValueError, TypeError)):
            model.fit(sp.csr_array(X) if X.ndim == 2 and rng.integers(2) else X, y)
        assert vars(model).keys() == LinearChainCRF().get_params().keys()


def test_sequence_arrays_refuse_what_does_not_fit():
    rng = np.random.default_rng(0)
    for _ in range(500):
        n = int(rng.integers(1, 6))
        tokens = rng.normal(size=(n, 2))
        offsets = np.array([0, n])
        bad = [
            (tokens, [1, n]), (tokens, [0, n + 1]), (tokens, [0, n, n - 1, n]), (tokens, [0.5, n]),
            (tokens, []), (tokens, [[0, n]]), (tokens[0, 0], offsets), (tokens[None], offsets),
            (tokens, [0, -1, n]),
        ]  # fmt: skip
        given = bad[rng.integers(len(bad))]
        with pytest.raises(ValueError, match=r"offsets|dimensions"):
            SequenceArray(*given)
