"""What is known of trees that are known in part."""

from __future__ import annotations

import pytest
from nltk import Tree

from sklearn_struct.encoding.trees.binarization import Symbol
from sklearn_struct.encoding.trees.partial_trees import Bracket, brackets, is_whole, masks, read
from sklearn_struct.exceptions import InputTypeError, UnknownLabelError


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("(None (None a) (None b))", [Bracket(0, 2, (), None)]),
        ("(ROOT (None a) (X b))", [Bracket(1, 2, (), "X")]),
        ("(S (A (B (X a))) (None (None b) (None c)))",
         [Bracket(0, 3, ("S",), None), Bracket(0, 1, ("A", "B"), "X"), Bracket(1, 3, (), None)]),
        ("(S (A (None (B (None b) (C c)))) (None d))",
         [Bracket(0, 3, ("S",), None), Bracket(0, 2, ("A", "B"), None), Bracket(1, 2, (), "C")]),
    ],
)  # fmt: skip
def test_brackets_of_a_tree(tree, expected):
    (tree_read,) = read([tree])
    assert not is_whole(tree_read)
    assert brackets(tree_read) == expected
    # of nltk, labels that are None
    copy = Tree.fromstring(tree)
    for node in copy.subtrees():
        node.set_label(None if node.label() == "None" else node.label())
    assert read([copy]) == [tree_read]


def test_whole_trees_and_none():
    whole, none = read(["(S (A a) (B None))", None])
    assert is_whole(whole)  # that is a word
    assert none is None
    assert not is_whole(none)
    assert brackets(none) == []
    with pytest.raises(InputTypeError, match=r"y\[1\] is a int"):
        read([None, 3])


def test_symbols_that_have_the_labels():
    symbols = [
        Symbol(("A", "B", "X"), tag=True),
        Symbol(("X",), tag=True),
        Symbol(("A", "C", "B")),
        Symbol(("B", "A")),
        Symbol(("A",), siblings=("B",)),
    ]

    def suits(*bracket):
        ((_, _, mask),) = masks([Bracket(*bracket)], symbols, "y[0]")
        return mask.nonzero()[0].tolist()

    assert suits(0, 1, (), "X") == [0, 1]
    assert suits(0, 1, ("A",), None) == [0, 2]
    assert suits(0, 2, ("A", "B"), None) == [0, 2]
    assert suits(0, 2, ("A",), None) == [0, 2, 3]
    assert suits(0, 2, (), None) == [0, 1, 2, 3]
    with pytest.raises(UnknownLabelError, match=r"y\[0\]: the label 'Z' is in no whole tree"):
        suits(0, 2, ("Z",), None)
