"""Trees as arrays to learn from: what their numbers stand for; what is unknown of other trees."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import deep, trees

from sklearn_struct.datasets import make_treebank
from sklearn_struct.encoding.trees.binarization import binarize, read, strip
from sklearn_struct.encoding.trees.brackets import words
from sklearn_struct.encoding.trees.lexicon import observe
from sklearn_struct.encoding.trees.tree_corpus import forest, learn
from sklearn_struct.exceptions import UnknownLabelError

TEXT = [
    "(S (NP (D the) (N cat)) (VP (V sees) (NP (N dogs))))",
    "(S (NP (N dogs)) (VP (V run)))",
    "(N cat)",
]


def corpus_of(plain, h=0, v=1, min_frequency=1):
    sentences = [words(tree) for tree in plain]
    return sentences, learn(sentences, plain, (h, v), min_frequency, 1.0)


def drawn():
    return st.lists(trees(tags=["N", "V", "NP", "."]).map(strip), min_size=1, max_size=5)


def pairs(tree):
    """Names of the rules of a binary tree, children before parents: a twin that recurses."""
    ahead = iter(zip(tree.labels, tree.arity))
    found = []

    def walk():
        label, n = next(ahead)
        if n == 2:
            found.append((label, walk(), walk()))
        elif n == 1:
            next(ahead)
        return label

    walk()
    return found


@given(drawn(), st.integers(0, 2), st.integers(1, 3))
def test_rules_are_those_of_the_binary_trees(plain, h, v):
    _, (treebank, codes, _) = corpus_of(plain, h, v)
    grammar, packed, _ = treebank
    found = Counter(
        tuple(codes.symbols[side[rule]] for side in (grammar.parent, grammar.left, grammar.right))
        for rule in packed.rule
    )
    assert found == Counter(rule for tree in plain for rule in pairs(binarize(tree, h, v)))
    assert len(grammar.parent) == len(found)
    assert codes.grammar is grammar
    np.testing.assert_array_equal(
        grammar.indptr, np.searchsorted(grammar.left, np.arange(len(codes.symbols) + 1))
    )


@given(drawn(), st.integers(0, 2), st.integers(1, 3))
def test_the_forest_is_the_binary_trees(plain, h, v):
    """Items join their children's; leaves emit what the words are taken for, by the items' own
    symbols.
    """
    sentences, (treebank, codes, _) = corpus_of(plain, h, v)
    grammar, packed, leaf_symbol = treebank
    is_leaf = packed.leaf >= 0
    np.testing.assert_array_equal(np.diff(packed.indptr), np.where(is_leaf, 0, 1))
    np.testing.assert_array_equal(leaf_symbol[packed.leaf[is_leaf]], packed.symbol[is_leaf])
    np.testing.assert_array_equal(packed.symbol[packed.left], grammar.left[packed.rule])
    np.testing.assert_array_equal(packed.symbol[packed.right], grammar.right[packed.rule])
    np.testing.assert_array_equal(packed.symbol[~is_leaf], grammar.parent[packed.rule])
    np.testing.assert_array_equal(packed.stop[packed.left], packed.start[packed.right])
    observed = np.searchsorted(codes.lexicon.indptr, packed.leaf[is_leaf], side="right") - 1
    names = list(codes.lexicon.words)  # each word is seen often enough
    assert [names[code] for code in observed] == [
        word for sentence in sentences for word in sentence
    ]
    assert [len(sentence) for sentence in sentences] == packed.stop[packed.offsets[1:] - 1].tolist()


@given(drawn(), st.integers(0, 2), st.integers(1, 3), st.integers(1, 4))
def test_trees_to_learn_from_are_known(plain, h, v, min_frequency):
    sentences, (treebank, codes, _) = corpus_of(plain, h, v, min_frequency)
    for found, expected in zip(forest(codes, sentences, plain), treebank.forest):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@given(drawn(), drawn(), st.integers(0, 2), st.integers(1, 3))
def test_of_other_trees_what_was_not_seen_is_unknown(plain, other, h, v):
    _, (treebank, codes, _) = corpus_of(plain, h, v)
    more = [words(tree) for tree in other]
    labels = {label for symbol in codes.symbols for label in symbol.chain} | {"ROOT"}
    if not {label for tree in other for label, n in zip(*tree) if n} <= labels:
        with pytest.raises(
            UnknownLabelError, match=r"z\[\d+\]: the label '.*' was not seen in fit"
        ):
            forest(codes, more, other, "z")
        return
    _, ((own_grammar, expected, _), own, _) = corpus_of(other, h, v)
    found = forest(codes, more, other)
    symbols = np.array([codes.symbols.index(s) if s in codes.symbols else -1 for s in own.symbols])
    np.testing.assert_array_equal(found.symbol, symbols[expected.symbol])
    known = {
        key: r for r, key in enumerate(zip(*(side.tolist() for side in treebank.grammar[1:4])))
    }
    rules = [tuple(symbols[side[r]] for side in own_grammar[1:4]) for r in expected.rule]
    assert found.rule.tolist() == [known.get(rule, -1) for rule in rules]
    indptr = codes.lexicon.indptr
    symbol = codes.lexicon.symbol
    entries = {
        (o, symbol[entry]): entry
        for o in range(len(indptr) - 1)
        for entry in range(indptr[o], indptr[o + 1])
    }
    observed = [o for sentence in more for o in observe(codes.lexicon, sentence)]
    leaves = found.leaf[expected.leaf >= 0]
    assert leaves.tolist() == [
        entries.get(key, -1) for key in zip(observed, found.symbol[expected.leaf >= 0])
    ]
    for name in ("offsets", "start", "stop", "indptr", "left", "right"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_unknown_symbols_rules_and_leaves():
    plain = read(TEXT)
    _, (_, codes, _) = corpus_of(plain)
    other = read(
        [
            "(S (NP (N cat)) (VP (V see)))",
            "(VP (NP (N cat)) (V sees))",
            "(S (V cat) (VP (V run)))",
            "(S (N the))",
        ]
    )
    found = forest(codes, [words(tree) for tree in other], other)
    names = [str(codes.symbols[code]) if code >= 0 else None for code in found.symbol]
    assert names == ["NP+N", "VP+V", "S", "NP+N", "V", "VP", "V", "VP+V", "S", None]
    assert (found.rule >= 0).tolist() == [True, False, False]  # of S, VP and S
    # see, as a rare word is; sees; run
    assert np.flatnonzero(found.leaf >= 0).tolist() == [1, 4, 7]
    entry = found.leaf[[1, 4, 7]]
    assert codes.lexicon.symbol[entry].tolist() == found.symbol[[1, 4, 7]].tolist()
    assert entry[0] != entry[2]


def test_a_combination_of_known_labels_may_be_unknown():
    """An only child of another label, a tag that is a phrase, more ancestors: no error, but -1."""
    _, (_, codes, _) = corpus_of(read(TEXT), v=2)
    other = read(["(VP (S (N cat)))", "(V (D the) (N cat))", "(NP (NP (D the) (N cat)) (N dogs))"])
    found = forest(codes, [words(tree) for tree in other], other)
    roots = found.offsets[1:] - 1
    assert found.symbol[roots].tolist() == [-1, -1, -1]


def test_unknown_labels():
    _, (_, codes, _) = corpus_of(read(TEXT))
    for text, label in (
        ("(S (X a))", "X"),
        ("(NP (D the) (Q a))", "Q"),
        ("(ROOT (S1 (PP (D the) (N cat))))", "PP"),
    ):
        (tree,) = read([text])
        with pytest.raises(
            UnknownLabelError, match=rf"^y\[1\]: the label '{label}' was not seen in fit$"
        ):
            forest(codes, [["cat"], words(tree)], [*read(TEXT[2:]), tree])


def test_the_root_is_always_known():
    _, (_, codes, _) = corpus_of(read(TEXT))
    (tree,) = read(["((N cat) (V run))"])
    assert forest(codes, [words(tree)], [tree]).symbol[-1] == -1


def test_grammars_without_rules():
    """Of trees over single words; other trees are unknown, whatever they are."""
    plain = read(["(N a)", "(N b)"])
    sentences, (treebank, codes, _) = corpus_of(plain)
    assert len(treebank.grammar.parent) == 0
    other = read(["(N (N a) (N b))"])
    found = forest(codes, [["a", "b"]], other)
    assert found.rule.tolist() == [-1]
    assert found.symbol.tolist() == [0, 0, -1]
    np.testing.assert_array_equal(forest(codes, sentences, plain).leaf, treebank.forest.leaf)


def test_words_are_those_of_the_sentences():
    """Which may be written otherwise than in the trees: brackets."""
    plain = read(["(S (-LRB- -LRB-) (N a))"])
    _, codes, _ = learn([["(", "a"]], plain, (0, 1), 1, 1.0)
    assert list(codes.lexicon.words) == ["(", "a"]


def test_corpora_are_the_same_in_any_process():
    """Numbers depend on the trees alone, not on orders of sets or dicts."""
    X, y = make_treebank(50, random_state=0)
    first, second = (learn(X, read(trees), (1, 2), 2, 1.0) for trees in (y, list(y)))
    assert first.codes.symbols == second.codes.symbols
    assert [str(s) for s in first.codes.symbols if s.tag] == sorted(
        str(s) for s in first.codes.symbols if s.tag
    )
    np.testing.assert_array_equal(first.treebank.forest.rule, second.treebank.forest.rule)


@pytest.mark.parametrize("kind", ["chain", "left", "right", "both"])
def test_no_tree_is_too_deep(kind):
    plain = [strip(deep(3_000, kind=kind))]
    sentences, (treebank, codes, _) = corpus_of(plain, 1, 2)
    np.testing.assert_array_equal(forest(codes, sentences, plain).rule, treebank.forest.rule)
