"""nltk's trees as we give them, beside plain ones."""

from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys

import nltk.tree
import pytest
from hypothesis import given
from trees import trees

from sklearn_struct import PCFG
from sklearn_struct.encoding.trees.brackets import format_tree, parse_tree, to_nltk

TEXT = "(S (NP I) (VP (V see) (NP (D the) (N stars))))"
PLAIN = nltk.tree.Tree.fromstring(TEXT)


def ours(text):
    return to_nltk(parse_tree(text, ""))


def copies(tree):
    return [
        tree.copy(),
        tree.copy(deep=True),
        copy.copy(tree),
        copy.deepcopy(tree),
        *(
            pickle.loads(pickle.dumps(tree, version))
            for version in range(pickle.HIGHEST_PROTOCOL + 1)
        ),
    ]


def test_notebooks_draw_trees():
    """A tree may be the last line of a cell."""
    tree = ours(TEXT)
    for each in (tree, *tree[:], tree[1, 1], *copies(tree)):
        assert each._repr_svg_() == nltk.tree.Tree.convert(each)._repr_svg_()
        assert "<svg" in each._repr_svg_()


def test_without_svgling_notebooks_show_text(monkeypatch):
    """They do so where there is None instead of a picture."""
    monkeypatch.setitem(sys.modules, "svgling", None)
    [tree] = PCFG().fit([["a", "b"]], ["(S (A a) (B b))"]).predict([["a", "b"]])
    for each in (tree, *tree[:], *copies(tree)):
        assert each._repr_svg_() is None
    assert repr(tree[0]) == "Tree('S', [Tree('A', ['a']), Tree('B', ['b'])])"
    assert str(tree[0]) == "(S (A a) (B b))"


@given(trees())
def test_they_equal_plain_trees(tree):
    text = format_tree(tree)
    plain = nltk.tree.Tree.fromstring(text)
    for each in (to_nltk(tree), *copies(to_nltk(tree))):
        assert each == plain
        assert plain == each
        assert not operator.ne(each, plain)
        assert not operator.ne(plain, each)
        assert list(each) == list(plain)
    for kind in (nltk.tree.ImmutableTree, nltk.tree.ParentedTree):
        converted = kind.convert(each)
        assert converted == kind.convert(plain)
        assert (each == converted, converted == each) == (plain == converted, converted == plain)


def test_what_is_in_one_may_be_plain():
    mixed = ours(TEXT)
    mixed[1] = PLAIN[1]
    assert mixed == PLAIN == mixed == ours(TEXT) == mixed
    changed = PLAIN.copy(deep=True)
    changed[1] = ours("(VP (V see) (NP you))")
    assert changed != PLAIN
    assert changed != ours(TEXT)


def test_others_are_not_equal():
    tree = ours("(S (A a))")
    for other in ("(S (A a))", [ours("(A a)")], ["A"], None, ours("(S (B a))"), ours("(T (A a))")):
        assert tree != other
        assert other != tree


@pytest.mark.parametrize(
    "other", ["(R (B b))", "(S (A b))", "(S (A a) (B b))", "(T (A a))", "(S (A a))"]
)
def test_they_are_ordered_as_plain_trees(other):
    found = ours("(S (A a))"), ours(other)
    plain = [nltk.tree.Tree.convert(tree) for tree in found]
    expected = [
        plain[0] < plain[1],
        plain[0] <= plain[1],
        plain[0] > plain[1],
        plain[0] >= plain[1],
    ]
    for a, b in (found, (found[0], plain[1]), (plain[0], found[1])):
        assert [a < b, a <= b, a > b, a >= b] == expected
        assert (a < "word") == (plain[0] < "word")


def test_nltk_is_imported_when_there_is_a_tree():
    program = "import sys, sklearn_struct.estimators.trees.pcfg; sys.exit('nltk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
