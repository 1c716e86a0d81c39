"""Labels to codes and back, the places of mistakes, and that an estimator learns the same from
every form of y.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from sklearn_struct import LinearChainCRF, SequenceArray
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.encoding.labels.label_codes import (
    classes_and_codes,
    decode,
    encode,
    flatten,
    numbered,
    unique_labels,
)
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

OFFSETS = np.array([0, 2, 2, 5])

# ---------------------------------------------------------------- the functions


@pytest.mark.parametrize(
    "y",
    [
        [["a", "b"], [], ["c", "a", "b"]],
        (("a", "b"), (), ("c", "a", "b")),
        [np.array(["a", "b"]), np.array([]), np.array(["c", "a", "b"], dtype=object)],
        object_array([["a", "b"], [], ["c", "a", "b"]]),
        SequenceArray(np.array(["a", "b", "c", "a", "b"]), OFFSETS),
        pd.Series([["a", "b"], [], ["c", "a", "b"]]),
    ],
    ids=lambda y: type(y).__name__,
)
def test_flatten(y):
    flat = flatten(y, OFFSETS)
    assert flat == ["a", "b", "c", "a", "b"]
    assert {type(label) for label in flat} == {str}


def test_flatten_gives_python_numbers():
    flat = flatten(np.array([[1, 2], [3, 4]]), np.array([0, 2, 4]))
    assert flat == [1, 2, 3, 4]
    assert {type(label) for label in flat} == {int}


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b", "c", "a"],
        [1, True, 1.0, 0, 2],
        [(1, 2), (0,), (1, 2), (), (0, 3)],
        [np.str_("b"), "b", "a", np.str_("c"), "a"],
    ],
)
def test_classes_and_codes_at_once(labels):
    distinct, which = numbered(labels)
    assert [distinct[i] for i in which] == labels
    assert distinct == list(dict.fromkeys(labels))
    classes, codes = classes_and_codes(labels, OFFSETS)
    expected = unique_labels(labels, OFFSETS)
    np.testing.assert_array_equal(classes, expected)
    assert classes.dtype == expected.dtype
    assert codes.dtype == np.int32
    np.testing.assert_array_equal(codes, encode(labels, expected, OFFSETS))


def test_labels_that_compare_with_their_like_alone():
    class Own:
        def __init__(self, name):
            self.name = name

        def __hash__(self):
            return hash(self.name)

        def __eq__(self, other):
            if not isinstance(other, Own):
                raise ValueError("no such comparison")
            return self.name == other.name

        def __lt__(self, other):
            return self.name < other.name

    labels = [Own("b"), Own("a"), Own("b")]
    classes, codes = classes_and_codes(labels, OFFSETS, numbered(labels))
    assert [label.name for label in classes] == ["a", "b"]
    with pytest.raises(UnknownLabelError, match="token 1: the label is missing"):
        classes_and_codes([Own("b"), None], OFFSETS)
    assert codes.tolist() == [1, 0, 1]


def test_what_cannot_be_hashed_is_not_numbered():
    assert numbered(["a", {"a", "b"}]) is None
    assert numbered([]) == ([], pytest.approx(np.zeros(0)))
    assert numbered([None, frozenset("ab"), None])[0] == [None, frozenset("ab")]


@pytest.mark.parametrize(
    ("y", "exception", "match"),
    [
        (None, InputTypeError, "y must be a list of label sequences, got NoneType"),
        ("abc", InputTypeError, "got str"),
        (b"abc", InputTypeError, "got bytes"),
        ({0: "a"}, InputTypeError, "got dict"),
        ({"a", "b", "c"}, InputTypeError, "got set"),
        (5, InputTypeError, "got int"),
        ([["a", "b"], []], LengthMismatchError, "X has 3 sequences but y has 2"),
        (
            [["a", "b"], [], ["a", "b"]],
            LengthMismatchError,
            r"X\[2\] has 3 tokens but y\[2\] has 2 labels",
        ),
        (
            [["a", "b"], ["a"], ["a"] * 3],
            LengthMismatchError,
            r"X\[1\] has 0 tokens but y\[1\] has 1 labels",
        ),
        (
            [["a"], ["a"], ["a"] * 3],  # as many labels as tokens, but shifted
            LengthMismatchError,
            r"X\[0\] has 2 tokens but y\[0\] has 1 labels",
        ),
        (["ab", "", "abc"], InputTypeError, r"y\[0\] must be a sequence of labels, got str"),
        (
            [["a", "b"], None, ["a"] * 3],
            InputTypeError,
            r"y\[1\] must be a sequence of labels, got NoneType",
        ),
        (
            [["a", "b"], [], {"a": 1, "b": 2, "c": 3}],
            InputTypeError,
            r"y\[2\] must be a sequence of labels, got dict",
        ),
        (
            [{"a", "b"}, [], ["a"] * 3],
            InputTypeError,
            r"y\[0\] must be a sequence of labels, got set",
        ),
        (
            [frozenset("ab"), [], ["a"] * 3],
            InputTypeError,
            r"y\[0\] must be a sequence of labels, got frozenset",
        ),
        (
            [["a", "b"], iter([]), ["a"] * 3],
            InputTypeError,
            r"y\[1\] must be a sequence of labels, got list_iterator",
        ),
    ],
)
def test_flatten_has_the_place_of_mistakes(y, exception, match):
    with pytest.raises(exception, match=match):
        flatten(y, OFFSETS)


@pytest.mark.parametrize(
    ("labels", "expected", "dtype"),
    [
        (["b", "a", "b", "O", "a"], ["O", "a", "b"], "<U1"),
        ([3, -1, 3, 0, 0], [-1, 0, 3], np.int64),
        ([True, False, True, True, True], [False, True], bool),
        ([0.5, 2, 0.5, 0.5, 0.5], [0.5, 2.0], float),
        (
            [(2, "x"), (1, "y"), (1, "x"), (1, "x"), (1, "x")],
            [(1, "x"), (1, "y"), (2, "x")],
            object,
        ),
        ([("b",), ("a",), ("a", "c"), ("a",), ("a",)], [("a",), ("a", "c"), ("b",)], object),
        ([b"b", b"a", b"a", b"a", b"a"], [b"a", b"b"], "S1"),
        ([2**70, 1, 1, 1, 1], [1, 2**70], object),
        (["only"] * 5, ["only"], "<U4"),
    ],
)
def test_unique_labels_encode_decode(labels, expected, dtype):
    classes = unique_labels(labels, OFFSETS)
    assert classes.tolist() == expected
    assert (classes.dtype, classes.ndim) == (dtype, 1)
    codes = encode(labels, classes, OFFSETS)
    assert codes.dtype == np.int32
    assert [expected[k] for k in codes] == labels
    decoded = decode(codes, classes, OFFSETS)
    assert (decoded.dtype, decoded.shape) == (object, (3,))
    assert decoded.tolist() == [labels[:2], [], labels[2:]]
    for sequence in decoded:
        assert isinstance(sequence, list)
        assert {type(label) for label in sequence} <= {type(label) for label in expected}


@pytest.mark.parametrize("length", [0, 1, 3])
def test_decode_is_one_dimensional_for_equal_lengths(length):
    decoded = decode(
        np.zeros(2 * length, np.int32), np.array(["a"]), np.array([0, length, 2 * length])
    )
    assert decoded.shape == (2,)
    assert decoded.tolist() == [["a"] * length] * 2


@pytest.mark.parametrize(
    ("labels", "exception", "match"),
    [
        (
            ["a", "b", "a", None, None],
            UnknownLabelError,
            r"y\[2\], token 1: the label is missing \(None\)",
        ),
        (
            [1.0, 2.0, np.nan, 1.0, np.nan],
            UnknownLabelError,
            r"y\[2\], token 0: the label is not a number",
        ),
        ([np.float64("nan"), 2.0, 1.0, 1.0, 1.0], UnknownLabelError, r"y\[0\], token 0"),
        (
            ["a", 1, "a", "a", "a"],
            InputTypeError,
            "labels of the types int, str cannot be sorted together",
        ),
        (
            [(1, "a"), (1, 2), (1, "a"), (1, "a"), (1, "a")],
            InputTypeError,
            "tuple cannot be sorted together",
        ),
        (
            ["a", "b", ["c"], "a", "a"],
            InputTypeError,
            r"y\[2\], token 0: \['c'\] cannot be a label",
        ),
        (
            ["a", "b", "c", {"a", "b"}, "a"],
            InputTypeError,
            r"y\[2\], token 1: .* cannot be a label",
        ),
        (
            ["a", np.array([1]), "c", "c", "a"],
            InputTypeError,
            r"y\[0\], token 1: .* cannot be a label",
        ),
    ],
)
def test_unique_labels_has_the_place_of_mistakes(labels, exception, match):
    with pytest.raises(exception, match=match):
        unique_labels(labels, OFFSETS)


@pytest.mark.parametrize(
    ("label", "match"),
    [
        ("z", r"y\[2\], token 2: label 'z' was not seen in fit \(known: 'a', 'b'\)"),
        (None, r"y\[2\], token 2: label None"),
        (1, r"y\[2\], token 2: label 1 "),
        (float("nan"), r"y\[2\], token 2: label nan"),
        (["a"], r"y\[2\], token 2: label \['a'\]"),
        ({"a"}, r"y\[2\], token 2: label \{'a'\}"),
    ],
)
def test_encode_names_unknown_labels(label, match):
    with pytest.raises(UnknownLabelError, match=match):
        encode(["a", "b", "a", "a", label], np.array(["a", "b"]), OFFSETS)


@pytest.mark.parametrize("label", ["z", "", "A"])
def test_encode_gives_unseen_labels_a_code(label):
    labels = ["a", "b", label, "a", label]
    assert encode(labels, np.array(["a", "b"]), OFFSETS, unseen=-1).tolist() == [0, 1, -1, 0, -1]
    assert encode(list(np.array(labels)), np.array(["a", "b"]), OFFSETS, unseen=-1).tolist() == [
        0,
        1,
        -1,
        0,
        -1,
    ]
    numbers = list(np.array([1, 2, 9, 1, 9]))
    assert encode(numbers, np.array([1, 2]), OFFSETS, unseen=-1).tolist() == [0, 1, -1, 0, -1]


@pytest.mark.parametrize("label", [None, 1, 1.5, float("nan"), ["a"], {"a"}])
def test_no_code_for_what_could_not_be_a_label(label):
    with pytest.raises(UnknownLabelError, match=r"y\[2\], token 2: label "):
        encode(["a", "z", "a", "a", label], np.array(["a", "b"]), OFFSETS, unseen=-1)
    with pytest.raises(UnknownLabelError, match=r"y\[2\], token 2: label nan"):
        encode([1.0, 3.0, 1.0, 1.0, np.nan], np.array([1.0, 2.0]), OFFSETS, unseen=-1)


def test_encode_names_some_of_many_known_labels():
    with pytest.raises(
        UnknownLabelError, match=r"label 99 was not seen in fit \(known: 0, 1, .*, 19, \.\.\.\)"
    ):
        encode([99], np.arange(50), np.array([0, 1]))


# ---------------------------------------------------------------- an estimator reads them all


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(n, 3)) for n in (0, 3, 1, 5, 0, 4, 2)]
    return X, [[("A", "B")[int(t[0] > 0)] for t in s] for s in X]


LABELLED = {
    "lists": lambda y: y,
    "tuples": lambda y: tuple(map(tuple, y)),
    "arrays": lambda y: [np.array(labels) for labels in y],
    "object array": lambda y: object_array(y),
    "object array of object arrays": lambda y: object_array([object_array(labels) for labels in y]),
    "generator": iter,
    "SequenceArray": lambda y: SequenceArray.from_sequences([np.array(labels) for labels in y]),
    "Series": lambda y: pd.Series(y),
}


@pytest.mark.parametrize("form", LABELLED)
def test_forms_of_labels_mean_the_same(data, form):
    X, y = data
    expected = LinearChainCRF().fit(X, y)
    model = LinearChainCRF().fit(X, LABELLED[form](y))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.classes_.tolist() == ["A", "B"]
    assert model.score(X, LABELLED[form](y)) == expected.score(X, y)
    np.testing.assert_array_equal(model.log_proba(X, LABELLED[form](y)), expected.log_proba(X, y))


@pytest.mark.parametrize(
    "labels",
    [
        ["A", "B"],
        [7, -1],
        [False, True],
        [0.5, 1.5],
        [(1, "a"), (1, "b")],
        [("a",), ("b", "c")],
        [b"x", b"y"],
        [0, 2**70],
        [date(2020, 1, 2), date(2021, 1, 1)],
        [datetime(2020, 1, 2, 3), datetime(2020, 1, 2, 4)],
        [Fraction(1, 3), Fraction(1, 2)],
    ],
    ids=str,
)
def test_labels_come_back_as_they_were(labels):
    X = [["a", "b"], ["b"]]
    y = [list(labels), labels[1:]]
    model = LinearChainCRF(C=100).fit(X, y)
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(X).tolist() == y
    for sequence in [*model.predict(X), model.sample(X)[0][0], model.predict_nbest(X)[0][0][0]]:
        assert isinstance(sequence, list)
        assert {type(label) for label in sequence} == {type(labels[0])}


@pytest.mark.parametrize("labels", [["A", "B"], [7, -1], [False, True], [1.0, 2.0]], ids=str)
@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series])
def test_labels_of_two_dimensional_input(labels, form):
    X = [[0.0], [1.0], [1.0]]
    model = LinearChainCRF(C=100).fit(X, form([*labels, labels[1]]))
    assert model.classes_.tolist() == sorted(labels)
    assert {type(label) for label in model.classes_.tolist()} == {type(labels[0])}
    assert model.predict(X[:2]).tolist() == labels
    assert model.score(X, form([labels[0]] * 3)) == pytest.approx(1 / 3)


def test_labels_of_two_dimensional_input_in_an_object_array():
    assert LinearChainCRF().fit(np.eye(2), object_array(["A", "B"])).predict(
        np.eye(2)
    ).tolist() == ["A", "B"]


def test_labels_in_a_column_are_taken_with_scikit_learns_warning():
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = LinearChainCRF().fit(np.eye(3), [["A"], ["B"], ["B"]])
    assert model.predict(np.eye(3)).shape == (3,)


@pytest.mark.parametrize(
    "labels",
    [
        [np.datetime64("2020-01-01", "ns"), np.datetime64("2021-01-01", "ns")],
        [np.timedelta64(5, "D"), np.timedelta64(7, "D")],
        ["a", "a\0"],
        [b"a", b"a\0"],
        [0.5, 2**53 + 1],
        [-1, 2**63 + 1],
        [False, 2],
    ],
    ids=str,
)
def test_labels_that_no_other_array_can_hold(labels):
    """They come back as they were given, and are told apart."""
    X = [["u", "v"], ["v"]]
    y = [[labels[0], labels[1]], [labels[1]]]
    crf = LinearChainCRF(C=100).fit(X, y)
    assert crf.classes_.tolist() == labels
    predicted = crf.predict(X)
    assert predicted.tolist() == y
    assert [[type(label) for label in s] for s in predicted] == [
        [type(label) for label in s] for s in y
    ]


def test_arrays_of_dates():
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]")
    crf = LinearChainCRF(C=100).fit([["u", "v"], ["v"]], [days, days[1:]])
    assert crf.predict([["v", "u"]])[0] == [days[1], days[0]]
    flat = LinearChainCRF(C=100).fit(np.array([[0.0], [1.0], [1.0]]), days[[0, 1, 1]])
    assert flat.predict(np.array([[1.0]])).tolist() == [days[1]]


@pytest.mark.parametrize(
    ("y", "exception", "match"),
    [
        (
            [["A", pd.NA], ["B"]],
            UnknownLabelError,
            r"y\[0\], token 1: the label is missing \(<NA>\)",
        ),
        (np.array("A"), InputTypeError, "y must be a list of label sequences, got ndarray"),
        (
            [np.array("A"), ["B"]],
            InputTypeError,
            r"y\[0\] must be a sequence of labels, got ndarray",
        ),
        (
            [["A", np.zeros(1, "i4,i4")[0]], ["B"]],
            InputTypeError,
            r"y\[0\], token 1: .* cannot be a label",
        ),
        ([["A", ("B", ["C"])], ["B"]], InputTypeError, r"y\[0\], token 1: .* cannot be a label"),
    ],
    ids=str,
)
def test_no_labels(y, exception, match):
    X = [["u", "v"], ["v"]]
    with pytest.raises(exception, match=match):
        LinearChainCRF().fit(X, y)
    crf = LinearChainCRF().fit(X, [["A", "B"], ["B"]])
    with pytest.raises((InputTypeError, UnknownLabelError), match="y"):
        crf.log_proba(X, y)
    with pytest.raises((InputTypeError, UnknownLabelError), match="y"):
        crf.score(X, y)
