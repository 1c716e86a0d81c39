"""Schemes, matrices and dicts of transitions."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from sklearn_struct.encoding.labels.allowed_transitions import SCHEMES, read_transitions
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.metrics import extract_spans

LABELS = {"BIO": "BI", "IOB2": "BI", "IOB1": "BI", "BIOES": "BIES", "IOBES": "BIES"}
STRICT = {"BIO": "IOB2", "BIOES": "IOBES"}  # what metrics call the same


def is_allowed(labels, transitions, classes):
    codes = [classes.index(label) for label in labels]
    pairs = all(transitions.pairs[pair] for pair in pairwise(codes))
    return bool(transitions.start[codes[0]] and pairs and transitions.end[codes[-1]])


def test_every_scheme_is_tested():
    assert LABELS.keys() == SCHEMES.keys()


@pytest.mark.parametrize("scheme", LABELS)
@pytest.mark.parametrize("types", [["-x", "-y"], [""]])
def test_a_scheme_allows_what_strict_spans_read_completely(scheme, types):
    """A labelling is allowed exactly if no span of the lenient reading is missing in the strict
    one.
    """
    classes = sorted(["O", *(letter + kind for letter in LABELS[scheme] for kind in types)])
    transitions = read_transitions(scheme, np.array(classes))
    for labels in (labels for n in (1, 2, 3) for labels in product(classes, repeat=n)):
        complete = extract_spans(labels) == extract_spans(labels, scheme=STRICT.get(scheme, scheme))
        assert is_allowed(labels, transitions, classes) == complete, labels


def test_types_are_compared_whole():
    """The type starts after the first hyphen, and may hold others."""
    classes = np.array(["B-a", "B-a-b", "I-a-b"])
    pairs = read_transitions("BIO", classes).pairs
    assert pairs[:, 2].tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("scheme", "label"),
    [
        ("BIO", "E-x"),
        ("BIO", "NOUN"),
        ("BIO", "O-x"),
        ("BIO", ""),
        ("BIO", "-x"),
        ("IOB1", "BI-x"),
        ("BIOES", "b-x"),
    ],
)
def test_labels_that_do_not_look_like_the_scheme(scheme, label):
    with pytest.raises(
        UnknownLabelError,
        match=f"allowed_transitions='{scheme}': label '{label}' is neither 'O' nor",
    ):
        read_transitions(scheme, np.array(["B-x", label, "O"]))


def test_labels_of_schemes_are_strings():
    with pytest.raises(UnknownLabelError, match="label 3 is neither"):
        read_transitions("BIO", np.array([3]))


def test_nothing_is_forbidden_by_none():
    assert read_transitions(None, np.array(["a"])) is None


@pytest.mark.parametrize("container", [np.array, list, lambda m: tuple(map(tuple, m))])
def test_matrix(container):
    matrix = [[True, False], [True, True]]
    found = read_transitions(container(matrix), np.array(["a", "b"]))
    assert found.pairs.tolist() == matrix
    assert found.start.all()
    assert found.end.all()


@pytest.mark.parametrize("shape", [(2, 3), (2,), (3, 3), (2, 2, 1)])
def test_matrix_of_a_wrong_shape(shape):
    with pytest.raises(LengthMismatchError, match=r"has shape \(.*\), but 2 labels need \(2, 2\)"):
        read_transitions(np.ones(shape, dtype=bool), np.array(["a", "b"]))


@pytest.mark.parametrize("dtype", [float, int, object])
def test_matrix_of_other_things_than_booleans(dtype):
    with pytest.raises(InputTypeError, match="is a set: give a matrix of booleans, or a dict"):
        read_transitions({("O", "B-X")}, np.array(["B-X", "O"]))
    with pytest.raises(InputTypeError, match="is a MaskedArray"):
        read_transitions(np.ma.masked_all((2, 2), bool), np.array(["B-X", "O"]))
    with pytest.raises(InputTypeError, match="must hold booleans, got dtype"):
        read_transitions(np.ones((2, 2), dtype=dtype), np.array(["a", "b"]))


def test_dict():
    found = read_transitions(
        {"a": ["b", None], None: {"b"}, "c": ("a", "c"), "b": []}, np.array(["a", "b", "c"])
    )
    assert found.start.tolist() == [True, False, True]
    assert found.end.tolist() == [False, True, True]
    assert found.pairs.tolist() == [[True, False, True], [True, True, True], [False, True, False]]


def test_dict_of_other_labels():
    classes = np.empty(2, dtype=object)
    classes[:] = [(0, "x"), (1, "y")]
    assert read_transitions({(0, "x"): [(1, "y")]}, classes).pairs.tolist() == [
        [True, False],
        [True, True],
    ]
    assert read_transitions({7: np.array([9])}, np.array([7, 9])).pairs.tolist() == [
        [True, False],
        [True, True],
    ]


@pytest.mark.parametrize(
    ("rule", "exception", "match"),
    [
        (
            {"z": ["a"]},
            UnknownLabelError,
            r"\['z'\]: label 'z' was not seen in fit \(known: 'a', 'b'\)",
        ),
        ({"a": ["a", "z"]}, UnknownLabelError, r"\['a'\]: label 'z' was not seen"),
        ({None: [None]}, UnknownLabelError, r"\[None\]: from start to end there is no label"),
        ({"a": "b"}, InputTypeError, r"\['a'\] must be a list of labels, got 'b'"),
        ({"a": 3}, InputTypeError, r"\['a'\] must be a list of labels, got 3"),
        ({"a": [["b"]]}, InputTypeError, r"\['a'\]: \['b'\] cannot be a label"),
    ],
)
def test_mistakes_in_a_dict(rule, exception, match):
    with pytest.raises(exception, match=match):
        read_transitions(rule, np.array(["a", "b"]))


def test_errors_name_some_of_many_labels():
    with pytest.raises(UnknownLabelError, match=r"known: 0, 1, .*, 19, \.\.\.\)"):
        read_transitions({99: [1]}, np.arange(50))


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        ({None: iter(["I"])}, r"allowed_transitions\[None\] must be a list of labels"),
        ({"O": (label for label in ["I"])}, r"allowed_transitions\['O'\] must be a list of labels"),
        ([[True, False], [True]], "allowed_transitions is no matrix"),
        ({("a",): []}, r"allowed_transitions\[\('a',\)\]: label \('a',\) was not seen"),
        ({"O": [("B", [])]}, r"allowed_transitions\['O'\]: .* cannot be a label"),
    ],
)
def test_rules_that_cannot_be_read_twice_or_at_all(rule, match):
    with pytest.raises((TypeError, ValueError), match=match):
        read_transitions(rule, np.array(["I", "O"]))
