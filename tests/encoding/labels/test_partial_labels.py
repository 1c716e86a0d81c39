"""Missing labels: None for a token, a sequence, or all."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sklearn_struct import SequenceArray
from sklearn_struct.encoding.labels import partial_labels
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

OFFSETS = np.array([0, 2, 2, 3])


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([["a", None], [], ["b"]], ["a", None, "b"]),
        ([None, None, ["b"]], [None, None, "b"]),
        (None, [None, None, None]),
        (SequenceArray(np.array(["a", None, "b"], dtype=object), OFFSETS), ["a", None, "b"]),
        (np.array([None, [], ["b"]], dtype=object), [None, None, "b"]),
    ],
)
def test_missing_labels(y, expected):
    found = partial_labels.flatten(y, OFFSETS)
    assert found == expected
    if y is not None:
        classes = partial_labels.known_labels(found, OFFSETS)
        assert set(classes.tolist()) == set(expected) - {None}
    codes = partial_labels.encode(found, np.array(["a", "b"]), OFFSETS)
    assert codes.tolist() == [{"a": 0, "b": 1, None: -1}[label] for label in expected]
    assert codes.dtype == np.int32


@pytest.mark.parametrize(
    ("y", "error", "said"),
    [
        ([["a"], [], ["b"]], LengthMismatchError, "X[0] has 2 tokens but y[0] has 1 labels"),
        ([["a", None], []], LengthMismatchError, "X has 3 sequences but y has 2"),
        ([["a", None], [], "b"], InputTypeError, "y[2] must be a sequence of labels, got str"),
        (5, InputTypeError, "y must be a list of label sequences, got int"),
        ("abc", InputTypeError, "y must be a list of label sequences, got str"),
    ],
)
def test_mistakes(y, error, said):
    with pytest.raises(error, match=re.escape(said)):
        partial_labels.flatten(y, OFFSETS)


def test_unknown_labels_have_their_place():
    with pytest.raises(UnknownLabelError, match=re.escape("y[2], token 0: label 'c' was not seen")):
        partial_labels.encode([None, "a", "c"], np.array(["a", "b"]), OFFSETS)
    with pytest.raises(
        UnknownLabelError, match=re.escape("y[2], token 0: the label is not a number")
    ):
        partial_labels.known_labels([1.0, None, float("nan")], OFFSETS)
