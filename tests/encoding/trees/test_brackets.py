"""Bracketed trees: both ways, against nltk, and where errors are."""

from __future__ import annotations

import sys

import nltk.tree
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import deep, flat, nested, trees

from sklearn_struct.encoding.trees.brackets import (
    Tree,
    as_tree,
    as_trees,
    format_tree,
    parse_tree,
    parse_trees,
    tagged_words,
    to_nltk,
    words,
)
from sklearn_struct.exceptions import EmptyDataError, InputTypeError

TEXT = "(S (NP I) (VP (V see) (NP (D the) (N stars))))"
TREE = flat(("S", ("NP", "I"), ("VP", ("V", "see"), ("NP", ("D", "the"), ("N", "stars")))))


def test_a_tree():
    assert parse_tree(TEXT, "y[0]") == TREE
    assert format_tree(TREE) == TEXT
    assert words(TREE) == ["I", "see", "the", "stars"]
    assert tagged_words(TREE) == [("I", "NP"), ("see", "V"), ("the", "D"), ("stars", "N")]


def test_words_beside_nodes_have_no_tags():
    assert tagged_words(flat(("S", "a", ("N", "b"), ("X", "c", "d")))) == [
        ("a", ""),
        ("b", "N"),
        ("c", ""),
        ("d", ""),
    ]


@pytest.mark.parametrize(
    "text", ["( (S (A a)(B  b) ) )", "(\n(S(A\ta)\n\n(B b)))", "( ( S ( A a ) ( B b ) ) )"]
)
def test_space_means_nothing(text):
    assert parse_tree(text, "") == flat(("", ("S", ("A", "a"), ("B", "b"))))
    assert format_tree(parse_tree(text, "")) == "( (S (A a) (B b)))"


@given(trees())
def test_what_is_written_is_read(tree):
    assert parse_tree(format_tree(tree), "") == tree


@given(st.lists(trees(), max_size=4))
def test_a_text_of_trees(drawn):
    text = "\n\n".join(map(format_tree, drawn))
    found = list(parse_trees(text, lambda *place: str(place)))
    assert [tree for tree, _, _ in found] == drawn
    assert [text[start:stop] for _, start, stop in found] == list(map(format_tree, drawn))


@given(trees())
def test_reads_and_writes_as_nltk_does(tree):
    theirs = nltk.tree.Tree.fromstring(format_tree(tree))
    assert to_nltk(tree) == theirs
    assert as_tree(theirs, "") == tree
    assert parse_tree(str(theirs), "") == tree
    assert as_tree(nltk.tree.ImmutableTree.convert(theirs), "") == tree


@pytest.mark.parametrize("kind", ["chain", "left", "right", "both"])
def test_no_tree_is_too_deep(kind):
    tree = deep(20_000, kind=kind)
    assert parse_tree(format_tree(tree), "") == tree
    assert as_tree(to_nltk(tree), "") == tree


def test_brackets_in_words():
    assert format_tree(flat(("S", ("A", "("), ("B", "f(x)")))) == "(S (A -LRB-) (B f-LRB-x-RRB-))"


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (("S", ("A", "a b")), "y: 'a b' cannot be written as a word"),
        (("S", ("A", "")), "y: '' cannot be written as a word"),
        (("S", ("", "a")), "y: '' cannot be written as a label"),
        (("S", ("A(", "a")), r"y: 'A\(' cannot be written as a label"),
    ],
)
def test_what_cannot_be_written(tree, message):
    with pytest.raises(ValueError, match=message):
        format_tree(flat(tree), "y")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", EmptyDataError, r"y\[3\] is a string without a tree"),
        ("  \n", EmptyDataError, r"y\[3\] is a string without a tree"),
        ("()", EmptyDataError, r"y\[3\], character 1: the tree is empty"),
        ("(S)", EmptyDataError, r"y\[3\], character 2: 'S' has nothing below it"),
        ("(S (A a) (B ))", EmptyDataError, r"y\[3\], character 12: 'B' has nothing below it"),
        ("(S (A a)", ValueError, r"y\[3\], character 8: the text ends, but brackets are open: 1"),
        ("(S (A (B", ValueError, r"y\[3\], character 8: the text ends, but brackets are open: 3"),
        ("(S (A a)))", ValueError, r"y\[3\], character 9: '\)' closes a bracket that is not open"),
        ("(S ((A a)))", ValueError, r"y\[3\], character 3: a bracket without a label"),
        ("word", ValueError, r"y\[3\], character 0: 'word' stands outside of brackets"),
        ("(S (A a)) b", ValueError, r"y\[3\], character 10: 'b' stands outside of brackets"),
        ("(S (A a)) (S (B b))", ValueError, r"y\[3\], character 10: a second tree, expected one"),
        (
            None,
            InputTypeError,
            r"y\[3\] is a NoneType, expected a tree: a bracketed string or an nltk Tree",
        ),
        (["S"], InputTypeError, r"y\[3\] is a list, expected a tree"),
        (nltk.tree.Tree("S", []), EmptyDataError, r"y\[3\]: the node 'S' has nothing below it"),
        (
            nltk.tree.Tree("S", [nltk.tree.Tree("", ["a"])]),
            ValueError,
            r"y\[3\]: a node without a label",
        ),
        (nltk.tree.Tree("S", [""]), ValueError, r"y\[3\]: a word is empty"),
        (
            nltk.tree.Tree("S", [("a", "N")]),
            InputTypeError,
            r"y\[3\]: the word \('a', 'N'\) is a tuple, expected a str",
        ),
        (
            nltk.tree.Tree(1, ["a"]),
            InputTypeError,
            r"y\[3\]: the label 1 is a int, expected a string",
        ),
    ],
)
def test_errors_name_the_place(text, error, message):
    with pytest.raises(error, match=message) as raised:
        as_trees([TEXT, TEXT, TREE, text], "y")
    assert type(raised.value) is error


@given(st.text("()S a\n", max_size=12))
def test_any_text_is_a_tree_or_an_error(text):
    try:
        tree = parse_tree(text, "y[0]")
    except ValueError as error:
        assert str(error).startswith("y[0]")  # noqa: PT017 - either outcome is right
    else:
        assert parse_tree(format_tree(tree), "") == tree
        assert nested(tree)


@pytest.mark.parametrize("y", [TEXT, TREE, nltk.tree.Tree.fromstring(TEXT), {TEXT}, None, 3])
def test_one_tree_is_no_list_of_trees(y):
    with pytest.raises(
        InputTypeError, match=rf"y is a {type(y).__name__}, expected a list of trees"
    ):
        as_trees(y, "y")


def test_without_nltk_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.tree", None)
    monkeypatch.delitem(sys.modules, "sklearn_struct.encoding.trees.nltk_tree", raising=False)
    with pytest.raises(ImportError, match=r'pip install "sklearn-struct\[trees\]"'):
        to_nltk(TREE)


def test_trees_are_values():
    assert hash(parse_tree(TEXT, "")) == hash(TREE)
    assert isinstance(TREE, Tree)
