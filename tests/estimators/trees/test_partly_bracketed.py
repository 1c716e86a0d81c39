"""EMLPCFG from trees that are known in part, against enumeration of all trees that fit."""

from __future__ import annotations

import numpy as np
import pytest
from nltk import Tree

from sklearn_struct import EMLPCFG, PCFG
from sklearn_struct.datasets import make_treebank
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError, UnknownLabelError

# prepositional phrases stand below nouns or verbs
WHOLE = [
    "(S (NP i) (VP (V see) (NP them)))",
    "(S (NP they) (VP (VP (V see) (NP me)) (PP (P with) (NP them))))",
    "(S (NP i) (VP (V see) (NP (NP them) (PP (P with) (NP me)))))",
    "(S (NP they) (VP (V see) (NP me)))",
    "(S (NP (NP me) (PP (P with) (NP them))) (VP (V see) (NP me)))",
    "(S (NP (NP they) (PP (P with) (NP me))) (VP (V see) (NP i)))",
    "(S (NP them) (VP (V see) (NP i)))",
    "(S (NP i) (VP (V see) (NP (NP (NP i) (PP (P with) (NP me))) (PP (P with) (NP them)))))",
    "(S (NP i) (VP (V see) (NP (NP i) (PP (P with) (NP (NP me) (PP (P with) (NP them)))))))",
] * 3  # of words that are seen less than five times some counts are taken for their signatures
EXACT = {
    "n_states": 2,
    "shrinkage": 0,
    "unknown_weight": 1e-12,
    "min_frequency": 1,
    "pruning": 0,
    "random_state": 0,
    "tol": 0,
    "max_iter": 12,
}
LONG = ["they", "see", "me", "with", "them", "with", "i"]
PARTS = {
    "nothing": None,
    "a bracket": "(None (None they) (None (None see) (None me) (None with) (None them) "
    "(None with) (None i)))",
    "a bracket inside": "(None (None they) (None see) (None (None me) (None with) (None them)) "
    "(None with) (None i))",
    "a label": "(None (None they) (None see) (NP (None me) (None with) (None them) (None with) "
    "(None i)))",
    "labels": "(S (NP they) (VP (VP (V see) (None me)) (None (None with) (None them) (None with) "
    "(None i))))",
}


def sentences(trees):
    return [Tree.fromstring(tree).leaves() for tree in trees]


def spans(tree):
    """(start, stop, label) of all nodes."""
    met = []

    def visit(node, start):
        stop = start
        for child in node:
            stop = visit(child, stop) if isinstance(child, Tree) else stop + 1
        met.append((start, stop, node.label()))
        return stop

    visit(tree, 0)
    return met


def fits(tree, part):
    have = spans(tree)
    return part is None or all(
        any(span[:2] == other[:2] and span[2] in ("None", other[2]) for other in have)
        for span in spans(Tree.fromstring(part))
    )


RULES = {
    ("NP", "VP"): "S", ("V", "NP"): "VP", ("VP", "PP"): "VP", ("NP", "PP"): "NP", ("P", "NP"): "PP",
}  # fmt: skip


def grammatical(words):
    """All trees of the grammar, bottom-up."""
    if len(words) == 1:
        tag = {"see": "V", "with": "P"}.get(words[0], "NP")
        return [Tree(tag, words)]
    return [
        Tree(RULES[left.label(), right.label()], [left, right])
        for k in range(1, len(words))
        for left in grammatical(words[:k])
        for right in grammatical(words[k:])
        if (left.label(), right.label()) in RULES
    ]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_the_likelihood_is_that_of_all_trees_with_the_brackets(part):
    X = [LONG, *sentences(WHOLE)]
    model = EMLPCFG(**EXACT).fit(X, [part, *WHOLE])
    trees = [tree for tree in grammatical(LONG) if tree.label() == "S" and fits(tree, part)]
    of_all = sum(tree.label() == "S" for tree in grammatical(LONG))
    assert (len(trees) == of_all == 5) == (part in (None, PARTS["a bracket"]))
    assert trees
    known = np.logaddexp.reduce(model.log_joint([LONG] * len(trees), trees))
    whole = model.log_joint(X[1:], WHOLE).sum()
    assert model.loss_curve_[-1] == pytest.approx(-known - whole, rel=1e-9)
    if part is None:
        assert known == pytest.approx(model.score_samples([LONG])[0], rel=1e-9)
    # and EM never lowers it
    assert np.all(np.diff(model.loss_curve_) <= 1e-9)
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_one_iteration_is_expected_counts():
    """With one state, from the whole trees' frequencies: posteriors by enumeration."""
    options = EXACT | {"n_states": 1, "max_iter": 1}
    with pytest.warns(match="EM stopped after 1 iterations"):
        model = EMLPCFG(**options).fit([LONG, *sentences(WHOLE)], [None, *WHOLE])
    plain = PCFG(vertical_order=1, horizontal_order=0, min_frequency=1, unknown_weight=1e-12)
    trees = [tree for tree in grammatical(LONG) if tree.label() == "S"]
    p = np.exp(plain.fit(sentences(WHOLE), WHOLE).log_joint([LONG] * len(trees), trees))
    counts = {}
    for weight, tree in [*zip(p / p.sum(), trees), *((1.0, Tree.fromstring(t)) for t in WHOLE)]:
        for rule in rules(tree):
            counts[rule] = counts.get(rule, 0.0) + weight
    totals = {}
    for (parent, _), n in counts.items():
        totals[parent] = totals.get(parent, 0.0) + n
    for tree in trees:
        expected = sum(np.log(counts[rule] / totals[rule[0]]) for rule in rules(tree))
        assert model.log_joint([LONG], [tree])[0] == pytest.approx(expected, rel=1e-6)


def rules(tree):
    """(parent, children) of all nodes; a tag is no phrase of the same name."""

    def name(node):
        return (node.label(), node.height() == 2) if isinstance(node, Tree) else node

    return [(name(node), tuple(map(name, node))) for node in tree.subtrees()]


def test_labels_that_are_none_are_those_with_that_name():
    X = [LONG, *sentences(WHOLE)]
    part = Tree.fromstring(PARTS["labels"])
    for node in part.subtrees():
        if node.label() == "None":
            node.set_label(None)
    options = EXACT | {"tol": 1e9}
    one = EMLPCFG(**options).fit(X, [part, *WHOLE])
    other = EMLPCFG(**options).fit(X, [PARTS["labels"], *WHOLE])
    assert one.loss_curve_ == other.loss_curve_


def test_whole_trees_in_brackets_alone_teach_labels():
    """Half of a treebank without labels: parses are better than those from the other half alone."""
    X, y = make_treebank(240, random_state=0)
    X_test, _ = make_treebank(60, random_state=1)
    bare = []
    for tree in y[30:]:
        tree = Tree.fromstring(str(tree))
        for node in tree.subtrees():
            node.set_label(None)
        bare.append(tree)
    options = {"n_states": 4, "random_state": 0, "tol": 0.02}
    few = EMLPCFG(**options).fit(X[:30], y[:30])
    more = EMLPCFG(**options).fit(X, [*y[:30], *bare])
    before, after = (model.score_samples(X_test) for model in (few, more))
    possible = np.isfinite(before)
    assert np.mean(after[possible] - before[possible]) > 1


def test_the_same_bits_for_any_number_of_threads():
    X = [LONG, LONG[:5], *sentences(WHOLE)]
    y = [PARTS["a label"], None, *WHOLE]
    curves = [EMLPCFG(**EXACT | {"tol": 1e9, "n_jobs": n}).fit(X, y).loss_curve_ for n in (1, 3)]
    assert curves[0] == curves[1]


def test_sentences_without_such_a_tree_are_left_out():
    X = [LONG, [], *sentences(WHOLE)]
    impossible = "(None (None they) (None (None see) (None me) (None with)) (None them) (None with)\
    (None i))"
    options = EXACT | {"tol": 1e9}
    with pytest.warns(UserWarning, match=r"1 of 1 sentences without a whole tree .* first X\[0\]"):
        model = EMLPCFG(**options).fit(X, [impossible, None, *WHOLE])
    alone = EMLPCFG(**options).fit(X[2:], WHOLE)
    assert model.loss_curve_ == alone.loss_curve_


@pytest.mark.parametrize(
    ("X", "y", "error", "match"),
    [
        ([LONG], [None], EmptyDataError, "y has no whole tree"),
        ([LONG], [None, WHOLE[0]], LengthMismatchError, "X has 1 sentences but y has 2"),
        ([LONG, LONG], [None, WHOLE[0]], LengthMismatchError, r"X\[1\] has 7 words but y\[1\]"),
        (
            [["i"], *sentences(WHOLE[:1])],
            ["(None (XX i))", WHOLE[0]],
            UnknownLabelError,
            r"y\[0\]: the label 'XX' is in no whole tree",
        ),
    ],
)
def test_bad_fits(X, y, error, match):
    model = EMLPCFG(**EXACT)
    with pytest.raises(error, match=match):
        model.fit(X, y)
    assert not hasattr(model, "symbols_")
    assert not hasattr(model, "_rest")
