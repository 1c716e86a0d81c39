"""PCFG against a twin that counts, strange trees and sentences, and the treebank sample."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from nltk.tree import Tree
from real_data import real
from sklearn.utils._param_validation import InvalidParameterError
from trees import deep

from sklearn_struct import PCFG
from sklearn_struct.datasets import fetch_treebank_sample, make_treebank
from sklearn_struct.encoding.trees.binarization import binarize, read
from sklearn_struct.encoding.trees.brackets import tagged_words, words
from sklearn_struct.encoding.trees.lexicon import observe
from sklearn_struct.metrics import bracket_f1_score

X, Y = make_treebank(200, random_state=0)
X_TEST, Y_TEST = make_treebank(60, random_state=1)


def line(tree):
    return " ".join(str(tree).split())


# ---- probabilities


class Naive:
    """Relative frequencies of roots and rules, in dicts; probabilities of words are the model's
    own.
    """

    def __init__(self, model, y):
        self.model = model
        self.roots = Counter()
        self.rules = Counter()
        self.parents = Counter()
        for tree in read(y):
            root, rules, _ = self.used(tree)
            self.roots[root] += 1
            self.rules.update(rules)
        for rule in self.rules:
            self.rules[rule] += model.smoothing
        for (parent, *_), n in self.rules.items():
            self.parents[parent] += n

    def used(self, tree):
        """Root, rules and (tag, word) pairs of a tree."""
        ahead = iter(zip(*binarize(tree, self.model.horizontal_order, self.model.vertical_order)))
        rules = []
        tagged = []

        def walk():
            label, n = next(ahead)
            if n == 1:
                tagged.append((label, next(ahead)[0]))
            else:
                rules.append((label, walk(), walk()))
            return label

        return walk(), rules, tagged

    def log_p(self, tree):
        root, rules, tagged = self.used(tree)
        codes = self.model._codes
        leaf = self.model._model.plain.leaf
        found = np.log(self.roots[root] / self.roots.total()) if self.roots[root] else -np.inf
        for rule in rules:
            found += (
                np.log(self.rules[rule] / self.parents[rule[0]]) if rule in self.rules else -np.inf
            )
        for (tag, _), o in zip(tagged, observe(codes.lexicon, [word for _, word in tagged])):
            code = codes.symbols.index(tag) if tag in codes.symbols else -1
            entry = [
                e
                for e in range(*codes.lexicon.indptr[o : o + 2])
                if codes.lexicon.symbol[e] == code
            ]
            found += leaf[entry[0]] if entry else -np.inf
        return found


@pytest.mark.parametrize("smoothing", [0.0, 0.7])
@pytest.mark.parametrize(("h", "v"), [(0, 1), (1, 1), (1, 2), (3, 3)])
def test_log_probabilities_are_those_of_the_twin(h, v, smoothing):
    model = PCFG(horizontal_order=h, vertical_order=v, smoothing=smoothing).fit(X, Y)
    naive = Naive(model, Y)
    expected = [naive.log_p(tree) for tree in read(Y + Y_TEST)]
    np.testing.assert_allclose(model.log_joint(X + X_TEST, Y + Y_TEST), expected, rtol=1e-12)
    assert np.all(np.array(expected[: len(Y)]) > -np.inf)
    assert np.any(np.array(expected) == -np.inf) == (v > 1)


def test_counts_by_hand():
    """S -> N V two times of three, V always emits b; a is three of the four words of N, which b may
    never be.
    """
    X = [["a", "b"], ["a", "b"], ["c", "a", "b"]]
    y = ["(S (N a) (V b))"] * 2 + ["(S (N c) (S (N a) (V b)))"]
    model = PCFG(min_frequency=1, vertical_order=1, unknown_weight=1e-9).fit(X, y)
    log_p = model.log_joint(X, y)
    # rare words, here all, have one signature each, which counts beside them
    of_a = 3 / 8
    of_c = 1 / 8
    of_b = 3 / 6
    assert np.exp(log_p) == pytest.approx(
        [3 / 4 * of_a * of_b] * 2 + [1 / 4 * of_c * 3 / 4 * of_a * of_b], rel=1e-6
    )


def test_all_sentences_have_probability_one():
    """Of a grammar without recursion: all words that it can tell from each other, and all trees."""
    X = [["a", "b"], ["b", "a"], ["a", "c"], ["b"]]
    y = ["(S (N a) (V b))", "(S (N b) (X a))", "(S (V a) (N c))", "(N b)"]
    model = PCFG(min_frequency=1).fit(X, y)
    # known words, one of the signature of all of them, and any other
    kinds = ["a", "b", "c", "zzz", "7"]
    assert sorted(model._codes.lexicon.words) == ["a", "b", "c"]
    assert sorted(model._codes.lexicon.signatures) == ["UNK-LC"]
    sentences = [[word] for word in kinds] + [list(pair) for pair in product(kinds, repeat=2)]
    assert np.exp(model.score_samples(sentences)).sum() == pytest.approx(1, abs=1e-12)
    assert model.score_samples([["a", "a", "a"]]).tolist() == [-np.inf]


@pytest.mark.parametrize("decoder", ["viterbi", "max-recall", "max-rule"])
def test_a_treebank_is_parsed_as_it_stands(decoder):
    """Of a grammar in which each sentence has one tree."""
    X = [["a", "b"], ["c"], ["a", "b", "b", "b"], ["d", "d"]]
    y = ["(S (N a) (V b))", "(X (Y (Z c)))", "(S (N a) (V b) (V b) (V b))", "((Z d) (Z d))"]
    model = PCFG(decoder=decoder, horizontal_order=2, min_frequency=1).fit(X, y)
    assert [line(tree) for tree in model.predict(X)] == [f"(ROOT {tree})" for tree in y[:3]] + [
        "(ROOT (Z d) (Z d))"
    ]
    assert model.score(X, y) == 1


def test_viterbi_is_the_most_probable_tree():
    model = PCFG().fit(X, Y)
    found = model.predict(X_TEST)
    of_found, of_true = (model.log_joint(X_TEST, y) for y in (found, Y_TEST))
    assert np.all(of_found >= of_true - 1e-9)
    assert np.all(of_found <= model.score_samples(X_TEST) + 1e-9)


def test_marginals_are_those_of_all_trees():
    """The span of the sentence has one symbol; each word one tag; and rests of phrases are symbols,
    too.
    """
    model = PCFG(pruning=0).fit(X, Y)
    tags = {str(symbol) for symbol in model._codes.symbols if symbol.tag}
    for sentence, found in zip(X_TEST[:10], model.marginals(X_TEST[:10])):
        n = len(sentence)
        assert sum(p for (_, i, j), p in found.items() if (i, j) == (0, n)) == pytest.approx(1)
        for t in range(n):
            assert sum(
                p for (name, i, j), p in found.items() if (i, j) == (t, t + 1)
            ) == pytest.approx(1)
        assert {name for name, i, j in found if j == i + 1} <= tags
        assert sum(found.values()) == pytest.approx(2 * n - 1)


def test_marginals_of_symbols_that_are_called_alike():
    y = ["(A (B (N a) (N a)))", "(A+B (N a) (N a))"]
    model = PCFG(vertical_order=1).fit([["a", "a"]] * 2, y)
    assert model.symbols_.tolist() == ["N", "A+B", "A+B"]
    (found,) = model.marginals([["a", "a"]])
    assert found == pytest.approx({("N", 0, 1): 1, ("N", 1, 2): 1, ("A+B", 0, 2): 1})


def test_pruned_marginals():
    model = PCFG(pruning=0.2).fit(X, Y)
    exact = PCFG(pruning=0).fit(X, Y).marginals(X_TEST[:10])
    for found, expected in zip(model.marginals(X_TEST[:10]), exact):
        assert found.keys() <= expected.keys()
        assert {key for key, p in expected.items() if p > 0.99} <= found.keys()
        assert all(p <= expected[key] + 1e-9 for key, p in found.items())


# ---- what is learned


def test_attributes():
    y = [
        "(S (NP (D the) (N cat)) (VP (V runs) (ADV here) (ADV now)))",
        "(S (NP (N cats)) (VP (V run)))",
    ]
    sentences = [words(tree) for tree in read(y)]
    model = PCFG().fit(sentences, y)
    expected = ["ADV", "D", "N", "NP+N", "V", "VP+V", "NP^S", "S^ROOT", "VP^S", "@VP^S|<V>"]
    assert sorted(model.symbols_) == sorted(expected)
    assert model.symbols_[:6].tolist() == expected[:6]  # those of words first
    assert model.tags_ == ["ADV", "D", "N", "V"]
    plain = PCFG(horizontal_order=0, vertical_order=1).fit(sentences, y)
    assert "@VP" in plain.symbols_
    assert plain.predict(sentences)[0] == Tree.fromstring(f"(ROOT {y[0]})")


def test_smoothing_makes_rules_of_a_parent_alike():
    y = ["(S (N a) (V b))"] * 9 + ["(S (V b) (N a))"]
    sentences = [words(tree) for tree in read(y)]
    ratios = []
    for smoothing in (0.0, 1.0, 1e6):
        log_p = PCFG(smoothing=smoothing).fit(sentences, y).log_joint(sentences, y)
        ratios.append(np.exp(log_p[0] - log_p[-1]))
    assert ratios == pytest.approx([9, 10 / 2, 1], rel=1e-4)


def test_words_seen_less_often_are_their_signatures():
    y = ["(S (N cat) (V runs))"] * 2 + ["(S (N dog) (V barks))"]
    sentences = [words(tree) for tree in read(y)]
    model = PCFG(min_frequency=2, unknown_weight=0.5).fit(sentences, y)
    assert list(model._codes.lexicon.words) == ["cat", "runs"]
    new = [["dog", "runs"], ["cow", "runs"], ["cat", "runs"]]
    scores = model.score_samples(new)
    assert scores[0] == scores[1]
    assert scores[1] != scores[2]


def test_a_weight_of_unknown_words_moves_mass_to_them():
    y = ["(S (N cat) (V runs))"] * 2 + ["(S (N dog) (V barks))"]
    sentences = [words(tree) for tree in read(y)]
    scores = [
        PCFG(unknown_weight=w).fit(sentences, y).score_samples([["42", "runs"]])[0]
        for w in (0.1, 1.0, 10.0)
    ]
    assert scores[0] < scores[1] < scores[2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("horizontal_order", -1), ("horizontal_order", 1.5), ("vertical_order", 0),
        ("smoothing", -0.1), ("min_frequency", 0), ("unknown_weight", 0), ("decoder", "mbr"),
        ("pruning", 2), ("memory", 3), ("n_jobs", "two"),
    ],
)  # fmt: skip
def test_parameters(name, value):
    with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of PCFG must be"):
        PCFG(**{name: value}).fit(X, Y)


# ---- strange trees and sentences

STRANGE = {
    "brackets": (
        [["(", "a", ")"], ["-LRB-", "b"]],
        ["(S (-LRB- -LRB-) (N a) (-RRB- -RRB-))", "(S (-LRB- -LRB-) (N b))"],
    ),
    "tags are phrases": (
        [["a", "b"], ["a"], ["a", "b", "b"]],
        ["(NP (NP a) (X b))", "(NP a)", "(X (NP (NP a) (X b)) (X b))"],
    ),
    "single words": ([["a"], ["b"]], ["(N a)", "(S (N b))"]),
    "chains over tags": ([["a"], ["b", "a"]], ["(S (VP (V a)))", "(S (NP (N b)) (S (VP (V a))))"]),
    "ROOT inside": ([["a", "b", "c"]], ["(S (ROOT (N a) (V b)) (N c))"]),
    "ROOT above one": ([["a", "b", "c"]], ["(S (ROOT (N a)) (ROOT (N b) (V c)))"]),
    "ROOT as a tag": ([["a", "b"]], ["(S (ROOT a) (N b))"]),
    "ROOT of many": ([["a", "b", "c"]], ["((N a) (V b) (X c))"]),
    "one tree": ([["the", "cat", "sleeps"]], ["(S (NP (D the) (N cat)) (VP (V sleeps)))"]),
    "traces": ([["a", "b"]], ["(S (NP-SBJ (-NONE- *)) (N a) (VP (V b) (-NONE- 0)))"]),
    "names like ours": ([list("abcd")], ["(A+B (@X a) (A^B b) (A|C c) (@A (N d)))"]),
    "blanks": ([["a b", "\t"]], [Tree("S X", [Tree("N Y", ["a b"]), Tree("V", ["\t"])])]),
    "names of signatures": ([["UNK", "UNK-LC"]] * 3, ["(S (N UNK) (V UNK-LC))"] * 3),
    "array": (np.array([["a", "b"]] * 2), np.array(["(S (N a) (V b))"] * 2)),
    "tuples": ((("a", "b"), ("b",)), ("(S (N a) (V b))", "(S (V b))")),
}  # fmt: skip


@pytest.mark.parametrize("min_frequency", [1, 2, 100])
@pytest.mark.parametrize("decoder", ["viterbi", "max-recall", "max-rule"])
@pytest.mark.parametrize("name", STRANGE)
def test_strange_treebanks(name, decoder, min_frequency):
    sentences, y = STRANGE[name]
    model = PCFG(decoder=decoder, min_frequency=min_frequency).fit(sentences, y)
    found = model.predict(sentences)
    assert [tree.leaves() for tree in found] == [list(sentence) for sentence in sentences]
    joint = model.log_joint(sentences, y)
    total = model.score_samples(sentences)
    assert np.all(joint > -np.inf)
    assert np.all(joint <= total + 1e-9)
    for probabilities in model.marginals(sentences):
        assert all(0 < p <= 1 + 1e-9 for p in probabilities.values())
    # "a" and "b" look alike; no brackets
    if min_frequency == 1 and name not in ("single words", "ROOT of many"):
        assert model.score(sentences, y) == 1


def test_generators():
    model = PCFG().fit((iter(sentence) for sentence in X), (tree for tree in Y))
    assert (
        model.score_samples(iter(X_TEST)).tolist()
        == PCFG().fit(X, Y).score_samples(X_TEST).tolist()
    )


# ---- sentences that cannot be parsed


def test_words_get_other_tags_where_theirs_allow_no_tree():
    y = ["(S (N cat) (V runs))"] * 5
    model = PCFG().fit([["cat", "runs"]] * 5, y)
    assert model.score_samples([["runs", "cat"]]) == -np.inf
    assert line(model.predict([["runs", "cat"]])[0]) == "(ROOT (S (N runs) (V cat)))"


@pytest.mark.parametrize(
    ("y", "sentence", "expected"),
    [
        (["(S (N cat) (V runs))"] * 2, ["cat"] * 3, "(ROOT (S (N cat) (N cat) (N cat)))"),
        (["(N cat)", "(S (V runs))"], ["cat"] * 2, "(ROOT (N cat) (N cat))"),  # no phrases at all
        (["((N cat) (V runs))"] * 2, ["cat"] * 3, "(ROOT (N cat) (N cat) (N cat))"),
        (["(S (VP (N cat) (V runs)))"] * 2, ["runs"] * 3, "(ROOT (S (V runs) (V runs) (V runs)))"),
        (
            ["(N cat)", "(N dog)", "(S (NP (N cat) (N dog)) (V runs))"],
            ["runs"] * 2,
            "(ROOT (S (V runs) (V runs)))",
        ),
    ],
)
def test_flat_trees(y, sentence, expected):
    model = PCFG(min_frequency=1).fit([words(tree) for tree in read(y)], y)
    with pytest.warns(
        UserWarning, match=r"1 of 1 sentences have no tree and got a flat one; first X\[0\]"
    ):
        (found,) = model.predict([sentence])
    assert line(found) == expected


# ---- size


@pytest.mark.parametrize("kind", ["chain", "left", "right", "both"])
def test_deep_trees_to_learn_from(kind):
    tree = deep(2_000, kind=kind)
    model = PCFG().fit([words(tree)], [tree])
    assert np.all(model.log_joint([words(tree)], [tree]) > -np.inf)


def test_a_chain_of_any_length_is_found():
    """nltk's own methods recurse, so that nothing else can be asked of it."""
    node = PCFG().fit([["c"]], [deep(2_000, kind="chain")]).predict([["c"]])[0]
    depth = 0
    while not isinstance(node, str):
        (node,) = node
        depth = depth + 1
    assert depth == 2_000 + 2


def test_deep_trees_to_find():
    """As deep as a sentence is long."""
    tree = deep(120, kind="right")
    model = PCFG(min_frequency=1).fit([words(tree)], [tree])
    (found,) = model.predict([words(tree)])
    assert found.height() == 122 + 1
    assert model.score([words(tree)], [tree]) == 1


# ---- the treebank sample


def sample(subset, **options):
    return real(fetch_treebank_sample, subset=subset, return_X_y=True, **options)


@pytest.mark.corpus
@pytest.mark.parametrize(("h", "v", "least"), [(1, 1, 0.78), (1, 2, 0.795)])
def test_figures_of_the_treebank_sample(h, v, least):
    model = PCFG(horizontal_order=h, vertical_order=v).fit(*sample("train", max_length=40))
    X_dev, y_dev = sample("dev", max_length=25)
    assert least < model.score(X_dev, y_dev) < least + 0.02


@pytest.mark.corpus
def test_true_tags_help_on_the_treebank_sample():
    model = PCFG(vertical_order=1).fit(*sample("train", max_length=40))
    X_dev, y_dev = sample("dev", max_length=15)
    tags = [[tag for _, tag in tagged_words(tree)] for tree in read(y_dev)]
    assert model.score(X_dev, y_dev, tags=tags) > model.score(X_dev, y_dev) + 0.01


@pytest.mark.corpus
@pytest.mark.slow
def test_the_longest_sentence_of_the_treebank_sample():
    """249 words."""
    X, y = sample("train")
    longest = max(range(len(X)), key=lambda i: len(X[i]))
    assert len(X[longest]) == 249
    model = PCFG(horizontal_order=0, vertical_order=1).fit(X, y)
    (found,) = model.predict([X[longest]])
    assert found.leaves() == X[longest]
    assert bracket_f1_score([y[longest]], [found]) > 0.25
    assert (
        model.log_joint([X[longest]], [found])[0]
        >= model.log_joint([X[longest]], [y[longest]])[0]
        > -np.inf
    )
