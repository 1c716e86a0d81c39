"""Stripping against a twin that recurses, binary trees against what they mean, and that all of it
can be undone.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_data import real
from trees import deep, nested, trees

from sklearn_struct.containers.trees import Trees
from sklearn_struct.datasets import fetch_treebank_sample
from sklearn_struct.encoding.trees.binarization import (
    Symbol,
    bare,
    binarize,
    check_words,
    encode,
    read,
    restore,
    strip,
)
from sklearn_struct.encoding.trees.brackets import format_tree, parse_tree, words
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError

TEXT = """( (S (NP-SBJ-1 (NP (NNP Rudolph)) (, ,))
    (VP (VBD was) (VP (VBN named) (S (NP-SBJ (-NONE- *-1))
    (NP-PRD (NP (DT a) (JJ nonexecutive) (NN director)) (PP (IN of) (NP (DT this))))))
    (SBAR (-NONE- 0))) (. .)))"""


def stripped(text):
    return strip(parse_tree(text, "y[0]"))


# ---- stripping


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("NP", "NP"), ("NP-SBJ", "NP"), ("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("NP-LOC=3", "NP"),
        ("ADVP|PRT", "ADVP"), ("-LRB-", "-LRB-"), ("-NONE-", "-NONE-"), ("PRP$", "PRP$"),
        ("''", "''"), (":", ":"), ("", "ROOT"), ("TOP", "ROOT"), ("S1", "ROOT"), ("ROOT", "ROOT"),
        ("=", "="), ("--", "--"),
    ],
)  # fmt: skip
def test_bare(label, expected):
    assert bare(label) == expected


def test_strip():
    assert format_tree(stripped(TEXT)) == (
        "(ROOT (S (NP (NP (NNP Rudolph)) (, ,)) (VP (VBD was) (VP (VBN named) (S (NP (NP (DT a) "
        "(JJ nonexecutive) (NN director)) (PP (IN of) (NP (DT this))))))) (. .)))"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(UH Yes)", "(ROOT (UH Yes))"),
        ("(NP (NP-1 (NP (NP-SBJ (N a)))))", "(ROOT (NP (N a)))"),
        ("(NP (-NONE- *) (NP (N a)))", "(ROOT (NP (N a)))"),
        ("( (TOP (S1 (S (N a)))))", "(ROOT (S (N a)))"),
        ("( (S (N a)) (S (N b)))", "(ROOT (S (N a)) (S (N b)))"),
        ("(N (N a))", "(ROOT (N a))"),
        ("(-LRB- -NONE-)", "(ROOT (-LRB- -NONE-))"),
        ("(N N)", "(ROOT (N N))"),
    ],
)
def test_roots_and_repeated_labels(text, expected):
    assert format_tree(stripped(text)) == expected


def naive_strip(node):
    """The node as it stays, or None; with its label's function tags still there, as they may decide
    nothing.
    """
    if node[0] == "-NONE-" and isinstance(node[1], str) and len(node) == 2:
        return None
    if isinstance(node[1], str):
        return (bare(node[0]), node[1])
    below = [child for child in map(naive_strip, node[1:]) if child]
    if not below:
        return None
    if len(below) == 1 and below[0][0] == bare(node[0]):
        return below[0]
    return (bare(node[0]), *below)


@given(trees())
def test_strip_is_its_twin(tree):
    expected = naive_strip(nested(tree))
    if expected is None:
        with pytest.raises(EmptyDataError, match=r"y\[0\] has no words"):
            read([tree])
    else:
        (found,) = read([tree])
        assert nested(found) == (expected if expected[0] == "ROOT" else ("ROOT", expected))
        assert strip(found) == found


@pytest.mark.parametrize("text", ["(S a b)", "(S (N a) b)", "(S (X a (N b)))"])
def test_words_need_a_tag(text):
    with pytest.raises(
        ValueError, match=r"y\[1\]: a word below '[SX]' is not the only child of its node"
    ):
        read(["(N a)", text])


def test_read_names_the_place():
    with pytest.raises(EmptyDataError, match=r"y_true\[1\] has no words"):
        read(["(N a)", "(S (-NONE- *))"], "y_true")
    with pytest.raises(ValueError, match=r"y\[1\], character 6: the text ends"):
        read(["(N a)", "(S (N "])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["a"]], [], "X has 1 sentences but y has 0"),
        ([["a"], ["a", "b"]], [["a"], ["a"]], r"X\[1\] has 2 words but y\[1\] has 1"),
        ([["a", "b"]], [["a", "c"]], r"X\[0\], word 1 is 'b' but in y\[0\] it is 'c'"),
    ],
)
def test_words_that_differ(X, y, message):
    with pytest.raises(LengthMismatchError, match=message):
        check_words(X, y, ("X", "y"))


def test_brackets_are_the_same_word_either_way():
    check_words([["(", "a", "-RRB-"]], [["-LRB-", "a", ")"]], ("X", "y"))
    with pytest.raises(LengthMismatchError, match=r"X\[0\], word 0"):
        check_words([["(", "a", "-RRB-"]], [["-RRB-", "a", ")"]], ("X", "y"))


# ---- binary trees

FLAT = "(S (NP (N a)) (VP (V b)) (ADVP (R c)) (NP (N d)) (. .))"


def names(tree):
    return [str(label) for label, n in zip(tree.labels, tree.arity) if n]


@pytest.mark.parametrize(
    ("h", "v", "expected"),
    [
        (0, 1, ["S", "NP+N", "@S", "VP+V", "@S", "ADVP+R", "@S", "NP+N", "."]),
        (1, 1, ["S", "NP+N", "@S|<NP>", "VP+V", "@S|<VP>", "ADVP+R", "@S|<ADVP>", "NP+N", "."]),
        (
            2,
            1,
            ["S", "NP+N", "@S|<NP>", "VP+V", "@S|<NP-VP>", "ADVP+R", "@S|<VP-ADVP>", "NP+N", "."],
        ),
        (0, 2, ["S^ROOT", "NP+N", "@S^ROOT", "VP+V", "@S^ROOT", "ADVP+R", "@S^ROOT", "NP+N", "."]),
    ],
)
def test_orders(h, v, expected):
    assert names(binarize(stripped(FLAT), h, v)) == expected


def test_ancestors_within_chains():
    tree = stripped("(S (SBAR (W w) (S (VP (V v) (NP (D d) (N n))))) (X x))")
    assert names(binarize(tree, 0, 2)) == [
        "S^ROOT",
        "SBAR^S",
        "W",
        "S+VP^SBAR",
        "V",
        "NP^VP",
        "D",
        "N",
        "X",
    ]
    third = binarize(tree, 0, 3).labels
    assert Symbol(("NP",), above=("VP", "S")) in third
    assert Symbol(("S", "VP"), above=("SBAR", "S")) in third
    assert Symbol(("S",), above=("ROOT",)) in third


def test_a_root_of_several_children_stays():
    assert names(binarize(stripped("( (N a) (N b))"))) == ["ROOT", "N", "N"]
    assert names(binarize(stripped("( (N a) (N b))"), v=2)) == ["ROOT", "N", "N"]
    assert names(binarize(stripped("(N a)"), v=3)) == ["N"]


def test_encode():
    found, symbols = encode(
        [stripped("(S (NP (N a)) (VP (V b) (NP (D c) (N d))))"), stripped("(V b)")]
    )
    assert isinstance(found, Trees)
    assert [str(symbol) for symbol in symbols] == ["D", "N", "NP+N", "V", "NP", "S", "VP"]
    assert found.offsets.tolist() == [0, 7, 8]
    assert [str(symbols[code]) for code in found.symbol] == [
        "NP+N",
        "V",
        "D",
        "N",
        "NP",
        "VP",
        "S",
        "V",
    ]
    assert found.left.tolist() == [-1, -1, -1, -1, 2, 1, 0, -1]
    assert found.right.tolist() == [-1, -1, -1, -1, 3, 4, 5, -1]
    assert found.parent.tolist() == [6, 5, 4, 4, 5, 6, -1, -1]
    assert found.start.tolist() == [0, 1, 2, 3, 2, 1, 0, 0]
    assert found.stop.tolist() == [1, 2, 3, 4, 4, 4, 4, 1]
    assert [column.dtype for column in found] == [np.int64] + [np.int32] * 6
    assert all(column.flags.c_contiguous for column in found)


def test_encode_nothing():
    found, symbols = encode([])
    assert (found.offsets.tolist(), found.symbol.tolist(), symbols) == ([0], [], [])


def test_given_symbols():
    """The same codes, and -1 for what is not among them."""
    _, symbols = encode([stripped("(S (N a) (V b))")])
    found, same = encode(
        [stripped("(S (V a) (N b))"), stripped("(X (N a) (W b))")], symbols=symbols
    )
    assert same == symbols
    assert [str(symbols[code]) if code >= 0 else None for code in found.symbol] == [
        "V",
        "N",
        "S",
        "N",
        None,
        None,
    ]


def test_symbols_depend_on_no_order():
    few = [stripped("(S (N a) (V b) (N c))"), stripped("(X (N a) (W b))")]
    assert encode(few)[1] == encode(few[::-1])[1]


def test_a_tag_is_no_phrase():
    """The same label over a word and over two nodes is two symbols."""
    found, symbols = encode([stripped("(S (X a) (X (N b) (N c)))")])
    assert len(symbols) == 4
    assert [symbols[code].tag for code in found.symbol] == [True, True, True, False, False]


def tree_lists():
    fine = trees(tags=["N", "V", "NP", "."]).map(strip)
    return st.lists(fine, max_size=5)


@given(tree_lists(), st.integers(0, 3), st.integers(1, 4))
def test_binary_trees_are_trees(drawn, h, v):
    found, symbols = encode(drawn, h=h, v=v)
    inner = np.flatnonzero(found.left >= 0)
    assert (
        (found.left < 0).tolist()
        == (found.right < 0).tolist()
        == [symbols[code].tag for code in found.symbol]
    )
    assert (found.left[inner] < found.right[inner]).all()
    assert (found.right[inner] == inner - 1).all()
    assert (found.parent[found.left[inner]] == inner).all()
    assert (found.parent[found.right[inner]] == inner).all()
    assert np.flatnonzero(found.parent < 0).tolist() == (found.offsets[1:] - 1).tolist()
    assert (found.start[inner] == found.start[found.left[inner]]).all()
    assert (found.stop[found.left[inner]] == found.start[found.right[inner]]).all()
    assert (found.stop[inner] == found.stop[found.right[inner]]).all()
    assert found.stop[found.offsets[1:] - 1].tolist() == [len(words(tree)) for tree in drawn]
    tags = found.left < 0
    assert (found.stop[tags] == found.start[tags] + 1).all()


@given(tree_lists(), st.integers(0, 3), st.integers(1, 4))
def test_restore_undoes_encode(drawn, h, v):
    found, symbols = encode(drawn, h=h, v=v)
    assert restore(found, symbols, [words(tree) for tree in drawn]) == drawn


@given(trees(labels=["A", "B+C", "@X", "A|<B>", "A^B"], tags=["B", "A+B"]))
def test_no_label_is_taken_for_a_made_one(tree):
    """Signs of our own names may be part of labels ("|" and what follows is a function tag)."""
    tree = strip(tree)
    assert restore(*encode([tree], h=1, v=2), [words(tree)]) == [tree]


def test_restore_takes_what_no_tree_became():
    """A parse may nest the rests of children in any way."""
    tag = Symbol(("N",), tag=True)
    rest = Symbol(("X",), siblings=())
    symbols = [tag, rest, Symbol(("S",))]
    found, _ = encode([stripped("(S (N a) (N b) (N c) (N d))")], symbols=symbols)
    odd = found._replace(symbol=np.array([0, 0, 1, 0, 0, 1, 2], dtype=np.int32))
    odd = odd._replace(
        left=np.array([-1, -1, 0, -1, -1, 3, 2]), right=np.array([-1, -1, 1, -1, -1, 4, 5])
    )
    odd = odd._replace(start=np.array([0, 1, 0, 2, 3, 2, 0]))
    assert (
        format_tree(restore(odd, symbols, [list("abcd")])[0])
        == "(ROOT (S (N a) (N b) (N c) (N d)))"
    )
    alone = Trees(
        np.array([0, 1]), np.array([1]), *(np.array([-1]),) * 3, np.array([0]), np.array([1])
    )
    assert format_tree(restore(alone, symbols, [["a"]])[0]) == "(ROOT (X a))"


@pytest.mark.parametrize("kind", ["chain", "left", "right", "both"])
def test_no_tree_is_too_deep(kind):
    tree = strip(deep(5_000, kind=kind))
    found, symbols = encode([tree], h=1, v=2)
    assert found.stop[-1] == len(words(tree))
    assert restore(found, symbols, [words(tree)]) == [tree]


@pytest.mark.corpus
@pytest.mark.parametrize(("h", "v", "n_symbols"), [(1, 1, 572), (2, 2, None)])
def test_real_treebank(h, v, n_symbols):
    X, y = real(fetch_treebank_sample, subset="all", return_X_y=True)
    plain = read(y)
    check_words(X, [words(tree) for tree in plain], ("X", "y"))
    found, symbols = encode(plain, h=h, v=v)
    assert sum(symbol.tag for symbol in symbols) == 142
    assert n_symbols in (None, len(symbols))
    assert len(found.symbol) == 2 * 94_084 - 3_914
    assert restore(found, symbols, X) == plain


@pytest.mark.corpus
def test_counts_of_the_real_treebank():
    _, y = real(fetch_treebank_sample, subset="all", return_X_y=True)
    tags = set()
    rules = set()

    def walk(node):
        if isinstance(node[1], str):
            tags.add(node[0])
        else:
            rules.add((node[0], *(child[0] for child in node[1:])))
            for child in node[1:]:
                walk(child)

    for tree in read(y):
        walk(nested(tree))
    assert len(tags) == 45
    assert len({label for label, *_ in rules}) == 27
    assert len(rules) == 3_756  # 3,762 with those of only children labelled as their parents
    assert sum(len(rule) == 2 for rule in rules) == 116
    assert max(map(len, rules)) == 33
