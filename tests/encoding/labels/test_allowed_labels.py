"""Labels that a caller allows at each token, as masks."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.labels.allowed_labels import label_masks
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

CLASSES = np.array(["a", "b", "c"])
OFFSETS = np.array([0, 2, 2, 3])


def masks(allowed, flat=False):
    return label_masks(allowed, CLASSES, OFFSETS, flat).astype(int).tolist()


@pytest.mark.parametrize(
    "entry",
    ["b", ["b"], ("b",), {"b"}, frozenset("b"), np.array(["b"]), np.str_("b"), object_array(["b"])],
    ids=repr,
)
def test_one_label(entry):
    assert masks([[None, entry], [], [entry]]) == [[1, 1, 1], [0, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize("kind", [list, tuple, set, np.array, object_array])
def test_several_labels(kind):
    assert masks([[kind(["a", "c"]), "c"], [], None]) == [[1, 0, 1], [0, 0, 1], [1, 1, 1]]


def test_no_label():
    assert masks([[[], None], None, None]) == [[0, 0, 0], [1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("container", [list, tuple, object_array, iter])
def test_containers(container):
    assert masks(container([["a", "b"], (), np.array(["c"])])) == np.eye(3).tolist()


def test_labellings_are_masks():
    assert masks(SequenceArray(np.array(["a", "b", "c"]), OFFSETS)) == np.eye(3).tolist()


def test_one_entry_a_row():
    found = label_masks(["a", None, {"b", "c"}], CLASSES, np.arange(4), True)
    assert found.astype(int).tolist() == [[1, 0, 0], [1, 1, 1], [0, 1, 1]]


def test_a_tuple_that_is_a_label():
    classes = object_array([("a",), ("a", "b"), ("b",)])
    found = label_masks([[("a", "b"), [("a", "b"), ("b",)]]], classes, np.array([0, 2]), False)
    assert found.astype(int).tolist() == [[0, 1, 0], [0, 1, 1]]


@pytest.mark.parametrize(
    ("allowed", "exception", "match"),
    [
        ([None, None], LengthMismatchError, "allowed has 2 entries for 3 sequences"),
        (
            [None, None, [None, None]],
            LengthMismatchError,
            r"allowed\[2\] has 2 entries for 1 tokens",
        ),
        (
            [["a", "z"], [], ["a"]],
            UnknownLabelError,
            r"allowed\[0\], token 1: label 'z' .*known: 'a', 'b', 'c'\)",
        ),
        (
            [None, [], [["a", "z"]]],
            UnknownLabelError,
            r"allowed\[2\], token 0: label 'z' was not seen",
        ),
        ([None, [], [[["a"]]]], UnknownLabelError, r"allowed\[2\], token 0: label \['a'\]"),
        ([None, [], [3]], UnknownLabelError, r"allowed\[2\], token 0: label 3"),
        ([None, [], [{"a": 1}]], UnknownLabelError, r"allowed\[2\], token 0: label \{'a': 1\}"),
        (
            "abc",
            InputTypeError,
            "allowed must be a list with an entry for each of the sequences, got 'abc'",
        ),
        (3, InputTypeError, "allowed must be a list"),
        (
            ["ab", [], ["a"]],
            InputTypeError,
            r"allowed\[0\] must be a list with an entry for each of the tokens",
        ),
        ([{"a", "b"}, [], ["a"]], InputTypeError, r"allowed\[0\] must be a list"),
    ],
)
def test_mistakes(allowed, exception, match):
    with pytest.raises(exception, match=match):
        masks(allowed)


@pytest.mark.parametrize(
    ("allowed", "place"),
    [
        (np.array(5), "allowed must be a list"),
        ([np.array("O"), None], r"allowed\[0\] must be a list"),
        ([[np.array("O"), "O"], None], r"allowed\[0\], token 0"),
        ([[("O", ["B"]), "O"], None], r"allowed\[0\], token 0"),
    ],
)
def test_what_is_no_list_or_no_label(allowed, place):
    with pytest.raises((TypeError, ValueError), match=place):
        label_masks(allowed, np.array(["B", "O"]), np.array([0, 2, 3]), flat=False)
