"""Sequences of single values: which are symbols, and what is said of others."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklearn_struct import HMM, HSMM, NonHomogeneousHMM, SequenceArray
from sklearn_struct.encoding.features.observation_streams import read
from sklearn_struct.encoding.features.symbol_sequences import check_single_values, symbols
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.persistence import load, save

NUMBERS = [[1, 2, 1], [], [2, 1]]
TRUTHS = [[True, False, True], [], [False, True]]


@pytest.mark.parametrize("values", [NUMBERS, TRUTHS], ids=["whole numbers", "booleans"])
@pytest.mark.parametrize(
    "form",
    [
        tuple,
        list,
        np.array,
        lambda sequence: np.array(sequence, dtype=object),
        pd.Series,
        lambda sequence: pd.Series(sequence, index=np.arange(len(sequence)) + 7, dtype=object),
        lambda sequence: pd.Series(sequence, dtype="Int64" if 2 in sequence else "boolean"),
        pl.Series,
    ],
    ids=["tuple", "list", "array", "objects", "Series", "index", "nullable", "polars"],
)
def test_forms_of_symbols(values, form):
    packed = symbols([form(sequence) if sequence else [] for sequence in values])
    assert packed.offsets.tolist() == [0, 3, 3, 5]
    assert [type(value) for value in packed.tokens] == [type(values[0][0])] * 5
    assert packed.tokens.tolist() == [*values[0], *values[2]]


def test_ranges_are_symbols_and_others_pass_through():
    assert symbols([range(2), range(3)]).tokens.tolist() == [0, 1, 0, 1, 2]
    for X in (
        [[1.5], [1]],
        [[1, True]],
        [[1], [True]],
        [["a"]],
        [np.ones((2, 1), int)],
        [pd.DataFrame({"a": [1]})],
        ["ab"],
        [1, 2],
        [[], []],
        np.ones((2, 2), bool),
    ):
        assert symbols(X) is X


MODELS = [HMM(n_states=2), HSMM(n_states=2), NonHomogeneousHMM(n_states=2)]


def fitted(model, X):
    return type(model)(**model.get_params()).set_params(max_iter=2, tol=1e9, random_state=0).fit(X)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("form", [list, np.array, pd.Series])
def test_models_read_booleans_and_columns_as_lists_of_symbols(model, form, tmp_path):
    X = [[True, False, True, True], [False, True, False]]
    hmm = fitted(model, [form(sequence) for sequence in X])
    assert hmm.vocabulary_ == [{False: 0, True: 1}]
    as_words = fitted(model, [[str(value) for value in sequence] for sequence in X])
    # "False" and "True" are in the same order
    expected = np.concatenate(as_words.predict_proba([["True", "True"], ["False"]]))
    given = [form([True, True]), form([False])]
    np.testing.assert_allclose(np.concatenate(hmm.predict_proba(given)), expected, atol=1e-12)
    save(hmm, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(np.concatenate(loaded.predict_proba(given)), expected)


RAGGED = [
    [[0.1, 0.2], [0.3]],
    [[0.3], [0.1, 0.2]],
    [np.array([0.1, 0.2]), np.array([0.3])],
    [pd.Series([0.1, 0.2]), pd.Series([0.3])],
    [[0.1, 0.2], []],
    [[1, 2.5], [1]],
    [[2.5, 1], [1]],
    [[True, 1], [1]],
    [[1, True], [1]],
]


@pytest.mark.parametrize("X", RAGGED, ids=str)
def test_ragged_numbers_are_no_table(X):
    said = re.escape(
        f"X[1] has {len(X[1])} numbers but X[0] has {len(X[0])}, so X is no table of numbers; a "
        "sequence of single numbers is an array of shape (n, 1), numpy.reshape(x, (-1, 1))"
    )
    for model in MODELS:
        with pytest.raises(LengthMismatchError, match=said):
            fitted(model, X)


def test_what_is_said_of_numbers_can_be_written():
    X = [[0.1, 0.2], [0.3]]
    columns = [np.reshape(x, (-1, 1)) for x in X]
    hmm = HMM().fit(columns, [["A", "B"], ["A"]])
    np.testing.assert_allclose(hmm.means_, [[0.2], [0.2]])
    with pytest.raises(LengthMismatchError, match=r"reshape\(x, \(-1, 1\)\)"):
        hmm.predict(X)
    with pytest.raises(ValueError, match=r"single numbers are arrays of shape \(n, 1\)"):
        fitted(HMM(n_states=2), [[0.1, 0.2], [0.3, 0.4]])


@pytest.mark.parametrize("X", [np.array([True, False]), [True, False], [1, 2], np.array([0.5, 1])])
def test_one_sequence_that_is_no_list_of_one(X):
    said = (
        "Expected 2D array, got 1D array instead: X has single values; one sequence of symbols is "
        "[X], with strings, whole numbers or booleans, and one of numbers [numpy.reshape(X, (-1, "
        "1))]. Reshape your data"
    )
    for model in MODELS:
        with pytest.raises(ValueError, match=re.escape(said)):
            fitted(model, X)


MIXED = [
    ([[1, "a", 2.5]], "X[0], token 0, is 1 of type int, and X[0], token 1, is 'a' of type str"),
    ([["a", 1, 2.5]], "X[0], token 0, is 'a' of type str, and X[0], token 1, is 1 of type int"),
    ([[2.5, 1, "a"]], "X[0], token 0, is 2.5 of type float, and X[0], token 2, is 'a' of type str"),
    ([["a"], [], [1]], "X[0], token 0, is 'a' of type str, and X[2], token 0, is 1 of type int"),
    ([[1], ["a"]], "X[0], token 0, is 1 of type int, and X[1], token 0, is 'a' of type str"),
    ([["a", True]], "X[0], token 0, is 'a' of type str, and X[0], token 1, is True of type bool"),
    ([[True, "a"]], "X[0], token 0, is True of type bool, and X[0], token 1, is 'a' of type str"),
    ([np.array([1, "a"], object)], "X[0], token 0, is 1 of type int, and X[0], token 1, is 'a'"),
    (
        SequenceArray(np.array(["a", 1, True], object), [0, 1, 3]),
        "X[0], token 0, is 'a' of type str, and X[1], token 0, is 1 of type int",
    ),
    (
        SequenceArray(np.array([True, 2.5], object), [0, 2]),
        "X[0], token 0, is True of type bool, and X[0], token 1, is 2.5 of type float",
    ),
    (
        SequenceArray(np.array([1, 2.5, True], object), [0, 2, 3]),
        "X[0], token 0, is 1 of type int, and X[1], token 0, is True of type bool",
    ),
]


@pytest.mark.parametrize(("X", "said"), MIXED)
def test_symbols_of_several_types_are_refused_in_any_order(X, said):
    wants = "; symbols are strings, whole numbers or booleans, all of one type"
    with pytest.raises(InputTypeError, match=re.escape(said)) as error:
        fitted(HMM(n_states=2), X)
    assert wants in str(error.value)
    hmm = HMM(n_states=2, random_state=0).fit([["a", "b", "a"]])
    with pytest.raises(InputTypeError, match=re.escape(said)):
        hmm.predict(X)


@pytest.mark.parametrize(
    ("X", "error", "said"),
    [
        ([["a", None]], InputTypeError, "X[0], token 1: None is not a value"),
        ([[None, "a"]], InputTypeError, "X[0], token 0: None is not a value"),
        ([[1], [None]], InputTypeError, "X[1], token 0: None is not a value"),
        ([[None, 1]], InputTypeError, "X[0], token 0: None is not a value"),
        ([[None]], InputTypeError, "X[0], token 0: None is not a value"),
        ([pd.Series([1, None], dtype="Int64")], InputTypeError, "token 1: <NA> is not a value"),
        (
            [["a", np.nan]],
            NonFiniteError,
            "X[0], token 1, column 0: not finite (nan); numbers may be",
        ),
        (
            [[np.nan, "a"]],
            NonFiniteError,
            "X[0], token 0, column 0: not finite (nan); numbers may be",
        ),
        (
            [[datetime.date(2020, 1, 2)]],
            InputTypeError,
            "X[0], token 0: datetime.date(2020, 1, 2) is a date, and symbols are strings, whole",
        ),
        ([np.array(["2020-01-02"], "M8[D]")], InputTypeError, "is a datetime64, and symbols"),
        ([[b"a", b"b"]], InputTypeError, "X[0], token 0: b'a' is bytes; write text, as by value"),
        ([["a"], ["a", b"b"]], InputTypeError, "X[1], token 1: b'b' is bytes; write text"),
        ([[b"b", "a"]], InputTypeError, "X[0], token 0: b'b' is bytes"),
        ([[1, b"b"]], InputTypeError, "X[0], token 1: b'b' is bytes"),
        ([np.array([b"a"])], InputTypeError, "X[0], token 0: np.bytes_(b'a') is bytes"),
        (SequenceArray(np.array([b"a"]), [0, 1]), InputTypeError, "X[0], token 0: np.bytes_(b'a')"),
        ([[("a", 1), ("b", 1)], [(b"a", 1)]], InputTypeError, "X[1], token 0, column 0: b'a' is"),
    ],
)
def test_what_is_no_symbol(X, error, said):
    for model in MODELS:
        with pytest.raises(error, match=re.escape(said)):
            fitted(model, X)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [[("a", True)], [("b", 2), ("b", 1)]],
            "X[0], token 0, column 1, is of type bool, and X[",
        ),
        ([[("a", 1), ("b", 2.5)], [("b", True)]], "X[0], token 0, column 1, is of type int, and X"),
        ([[("a", 0.0), ("a", np.False_)]], "X[0], token 0, column 1, is of type float, and X[0],"),
    ],
)
def test_a_column_of_booleans_and_numbers(rows, said):
    """True equals 1, so that they were one symbol, or a number, as the first one was."""
    for X in (rows, SequenceArray.from_sequences([np.array(s, object) for s in rows])):
        with pytest.raises(InputTypeError, match=re.escape(said)):
            read(X)
    # nothing is equal to another here
    assert read([[(True, 1), ("b", 0)], [(False, 1)]]).columns[0].values == [True, "b", False]


class Word(str):
    """A string of a type of its own."""


def test_values_that_are_one_type_pass():
    for X in (
        [["a", Word("b")], [np.str_("c")]],
        [["a", datetime.date(2020, 1, 2)]],
        [[1, 2.5], [True, 3]],
        [[1, 2], [3, 4]],
        [[("a",)], ["a"]],
        [],
        [[], []],
        "ab",
        SequenceArray(np.array([1, 2.5, 7], object), [0, 1, 3]),
        SequenceArray(np.array([0.5, 2.5, 7]), [0, 1, 3]),
    ):
        assert check_single_values(X) is None


WORDS = [
    {"word": ["a", "b", "a"], "size": [1.0, 2.0, 3.0]},
    {"word": ["b", "b"], "size": [1.0, 2.5]},
]
LABELS = [["A", "B", "A"], ["B", "B"]]


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_a_list_of_frames_with_symbols_says_how_to_join_them(library):
    X = [library.DataFrame(columns) for columns in WORDS]
    with pytest.raises(
        InputTypeError, match=r"SequenceArray.from_frame\(frame, 'sequence'\) with frame = (.*), wh"
    ) as error:
        HMM().fit(X, LABELS)
    # what is said can be written
    written = re.search("with frame = (.*), which has", str(error.value)).group(1)
    assert written.startswith(library.__name__ + ".concat(")
    frame = eval(written, {library.__name__: library, "X": X})
    hmm = HMM().fit(SequenceArray.from_frame(frame, "sequence"), LABELS)
    rows = [list(zip(columns["word"], columns["size"], strict=True)) for columns in WORDS]
    same = HMM().fit(rows, LABELS)
    assert hmm.vocabulary_ == same.vocabulary_
    np.testing.assert_array_equal(hmm.means_, same.means_)
    with pytest.raises(InputTypeError, match=r"X\[1\] is a DataFrame.*from_frame"):
        HMM().fit([library.DataFrame({"size": [1.0]}), X[1].head(1)], [["A"], ["A"]])


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_a_list_of_frames_of_numbers_is_read(library):
    X = [library.DataFrame({"size": columns["size"]}) for columns in WORDS]
    hmm = HMM().fit(X, LABELS)
    np.testing.assert_allclose(hmm.means_.ravel(), [2.0, (2 + 1 + 2.5) / 3])
