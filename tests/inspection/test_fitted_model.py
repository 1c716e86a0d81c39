"""Tokens' names, and labels that are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import LinearChainCRF, SequenceArray
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.inspection import explain
from sklearn_struct.inspection.fitted_model import texts


@pytest.mark.parametrize(
    ("x", "n", "expected"),
    [
        (["a", "b"], 2, ["a", "b"]),
        (iter(["a", "b"]), 2, ["a", "b"]),
        ([("a", "N"), ("b", "V")], 2, ["a", "b"]),
        ([{"w": "a"}, {"w": "b"}], 2, ["0", "1"]),
        ([["f1", "f2"], ["f1"]], 2, ["0", "1"]),
        ([(1.0, 2.0)], 1, ["0"]),
        (np.ones((3, 2)), 3, ["0", "1", "2"]),
        (["a row of two"], 2, ["0", "1"]),
        ([], 0, []),
        (
            SequenceArray(np.array([["a", 1], ["b", 2]], dtype=object), [0, 2], ["word", "length"]),
            2,
            ["a", "b"],
        ),
        (SequenceArray(np.ones((2, 2)), [0, 2]), 2, ["0", "1"]),
    ],
)
def test_texts(x, n, expected):
    assert texts(x, n) == expected


@pytest.mark.parametrize("x", [5, "abc", {"w": "a"}, None], ids=repr)
def test_what_is_no_sequence(x):
    crf = LinearChainCRF().fit([["a", "b"]], [["x", "y"]])
    with pytest.raises(InputTypeError, match="x must be one sequence, got"):
        explain(crf, x)
