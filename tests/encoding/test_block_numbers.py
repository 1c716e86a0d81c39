"""Numbers of the blocks that users give."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.encoding.block_numbers import block_numbers
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

OFFSETS = np.array([0, 2, 2, 5])
GRAPHS = [["a", "b"], [], ["b", "a", "b"]]


def test_numbers_are_of_one_graph():
    """Whatever nodes of a block have in common."""
    numbers = block_numbers(GRAPHS, lambda graph: graph, OFFSETS)
    assert numbers.tolist() == [0, 1, 1, 0, 1]
    numbers = block_numbers(GRAPHS, lambda graph: [-7.5] * len(graph), OFFSETS)
    assert numbers.tolist() == [0] * 5


def test_tables_are_read_column_after_column():
    """As several labels of a token are nodes row after row."""
    numbers = block_numbers([None], lambda _: [[0, 5], [3, 4]], np.array([0, 4]))
    assert numbers.tolist() == [0, 1, 3, 2]


@pytest.mark.parametrize(
    ("rule", "error", "words"),
    [
        (
            lambda graph: 3,
            LengthMismatchError,
            r"X\[0\] has 2 nodes but blocks gives .* shape \(\)",
        ),
        (lambda graph: [1, 2], LengthMismatchError, r"X\[1\] has 0 nodes but .* shape \(2,\)"),
        (lambda graph: None, LengthMismatchError, r"X\[0\] has 2 nodes"),
        (lambda graph: [[1], [1, 2]], InputTypeError, r"X\[0\]: blocks must give a number or a"),
        (lambda graph: [None, "a"], InputTypeError, r"X\[0\]: blocks must give a number or a"),
    ],
)
def test_what_is_refused(rule, error, words):
    with pytest.raises(error, match=words):
        block_numbers(GRAPHS, rule, OFFSETS)
