"""Scores of brackets against a twin written after EVALB's rules, and by hand."""

from __future__ import annotations

from collections import Counter

import nltk.tree
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from real_data import real
from trees import deep, flat, nested, trees

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.datasets import fetch_treebank_sample
from sklearn_struct.encoding.trees.binarization import strip
from sklearn_struct.encoding.trees.brackets import format_tree, parse_tree
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError
from sklearn_struct.metrics import (
    bracket_f1_score,
    bracket_precision_recall_fscore,
    bracket_report,
    complete_match_score,
)

TRUE = "(S (NP (PRP I)) (VP (VBP see) (NP (NNS stars))))"
PRED = "(S (NP (PRP I)) (VP (VBP see)) (NP (NNS stars)))"


# ---- a twin


def punctuation(node, tag=""):
    """For each word that is no trace, whether it is punctuation."""
    if isinstance(node, str):
        return [] if tag == "-NONE-" else [tag in (",", ".", ":", "``", "''")]
    return [x for child in node[1:] for x in punctuation(child, node[0] if len(node) == 2 else "")]


def spoken(node, tag=""):
    if isinstance(node, str):
        return [] if tag == "-NONE-" else [node]
    return [x for child in node[1:] for x in spoken(child, node[0] if len(node) == 2 else "")]


def evalb_brackets(node, is_punctuation):
    """Brackets as EVALB lists them: words to be left out are skipped while it reads, empty brackets
    afterwards.
    """
    found = []
    place = 0
    word = 0

    def walk(node, tag):
        nonlocal place, word
        if isinstance(node, str):
            if tag != "-NONE-":
                place += not is_punctuation[word]
                word += 1
            return
        start = place
        for child in node[1:]:
            walk(child, node[0] if len(node) == 2 else "")
        if not (len(node) == 2 and isinstance(node[1], str)):
            found.append([node[0], start, place])

    walk(node, "")
    for bracket in found:
        for sign in "-=|":
            head, _, _ = bracket[0].partition(sign)
            bracket[0] = head or bracket[0]
    kept = [
        bracket
        for bracket in found
        if bracket[1] < bracket[2] and bracket[0] not in ("TOP", "ROOT", "S1", "")
    ]
    return [("ADVP" if label == "PRT" else label, start, stop) for label, start, stop in kept]


def evalb(true, pred):
    """Each true bracket is looked for among the predicted ones that are not matched yet."""
    skipped = punctuation(true)
    left = evalb_brackets(true, skipped)
    right = evalb_brackets(pred, skipped)
    unmatched = list(right)
    matched = []
    for bracket in left:
        if bracket in unmatched:
            unmatched.remove(bracket)
            matched.append(bracket)
    return matched, right, left


@st.composite
def pairs(draw):
    """Two trees over the same words: the second has tags and words of the first, other brackets and
    labels.
    """
    true = draw(trees())
    leaves = []

    def walk(node):
        if len(node) == 2 and isinstance(node[1], str):
            leaves.append(node)
        else:
            for child in node[1:]:
                walk(child)

    walk(nested(true))
    nodes = [leaf for leaf in leaves if leaf[0] != "-NONE-"]
    assume(nodes)
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(nodes) - 1))
        stop = draw(st.integers(start + 1, len(nodes)))
        nodes[start:stop] = [
            (draw(st.sampled_from(["S", "NP", "VP", "PRT", "ADVP", "TOP"])), *nodes[start:stop])
        ]
    return nested(true), ("TOP", *nodes)


@given(pairs())
def test_agrees_with_evalb(pair):
    matched, predicted, true = evalb(*pair)
    trees = [flat(tree) for tree in pair]
    precision, recall, f1, _ = bracket_precision_recall_fscore(trees[:1], trees[1:])
    assert precision == (len(matched) / len(predicted) if predicted else 0.0)
    assert recall == (len(matched) / len(true) if true else 0.0)
    assert f1 == pytest.approx(2 * len(matched) / max(len(predicted) + len(true), 1))
    complete = Counter(predicted) == Counter(true) and not all(punctuation(pair[0]))
    assert complete_match_score(trees[:1], trees[1:]) == complete
    report = bracket_report(trees[:1], trees[1:], output_dict=True)
    assert {
        label: row["support"]
        for label, row in report.items()
        if "avg" not in label and "match" not in label
    } == {
        label: sum(bracket[0] == label for bracket in true)
        for label in {label for label, _, _ in true + predicted}
    }


@given(trees())
def test_a_tree_is_right(tree):
    """Traces and function tags or not, and with any root."""
    try:
        plain = strip(tree)
    except EmptyDataError:
        assume(False)
    brackets = evalb_brackets(nested(plain), punctuation(nested(plain)))
    for other in (tree, format_tree(tree), flat(("", nested(tree)))):
        assert bracket_f1_score([tree], [other]) == (
            1.0 if evalb(nested(tree), nested(tree))[0] else 0.0
        )
    assert (
        bracket_precision_recall_fscore([plain], [tree], zero_division=1.0)[1] == 1.0
        or not brackets
    )


# ---- by hand


@pytest.mark.parametrize(
    ("true", "pred", "expected"),
    [
        (TRUE, TRUE, (4, 4, 4)),
        (TRUE, PRED, (3, 4, 4)),
        ("(TOP (S (A a)))", "( (S (A a)))", (1, 1, 1)),  # roots
        ("(S (A a))", "(S1 (A a))", (0, 0, 1)),
        # punctuation may hang anywhere
        ("(S (NP (A a) (. .)) (B b))", "(S (NP (A a)) (. .) (B b))", (2, 2, 2)),
        ("(S (NP (A a) (. .)) (B b))", "(S (NP (A a)) (X .) (B b))", (2, 2, 2)),  # tagged by gold
        ("(S (PRN (: --)) (A a))", "(S (: --) (A a))", (1, 1, 1)),  # nothing left in the bracket
        ("(S (PRT (R up)))", "(S (ADVP (R up)))", (2, 2, 2)),
        ("(S (NP-SBJ (A a)) (NP=2 (B b)))", "(S (NP (A a)) (NP (B b)))", (3, 3, 3)),
        ("(S (NP (NP (A a))))", "(S (NP (A a)))", (2, 2, 3)),  # several over the same words
        ("(S (NP (A a)))", "(S (NP (NP (NP (A a)))))", (2, 4, 2)),
        ("(S (NP (NP (A a))))", "(S (NP (VP (A a))))", (2, 3, 3)),
        ("(S (VP (NP (A a))))", "(S (NP (VP (A a))))", (3, 3, 3)),  # their order means nothing
        ("(S (NP (-NONE- *)) (VP (A a)))", "(S (VP (A a)))", (2, 2, 2)),  # traces
        ("(S (A a) (B b))", "(S a b)", (1, 1, 1)),  # a prediction without tags
        ("(S (-LRB- -LRB-) (B b))", "(S (-LRB- -LRB-) (B b))", (1, 1, 1)),
    ],
)
def test_numbers(true, pred, expected):
    """How many brackets match, are predicted and are true."""
    matched, n_pred, n_true = expected
    assert bracket_precision_recall_fscore([true], [pred])[:2] == (
        matched / max(n_pred, 1),
        matched / n_true,
    )


def test_brackets_in_words_of_nltk():
    theirs = nltk.tree.Tree("S", [nltk.tree.Tree("X", ["("]), nltk.tree.Tree("B", ["b"])])
    assert bracket_f1_score(["(S (X -LRB-) (B b))"], [theirs]) == 1.0


@pytest.mark.parametrize("kind", [list, tuple, object_array])
def test_containers_and_forms(kind):
    forms = [TRUE, nltk.tree.Tree.fromstring(TRUE), parse_tree(TRUE, "")]
    assert bracket_f1_score(kind(forms), kind([PRED] * 3)) == 0.75
    assert complete_match_score(kind(forms), kind([PRED, TRUE, PRED])) == pytest.approx(1 / 3)


def test_labels_and_averages():
    options = {"labels": ["VP", "X", "NP"], "average": None}
    precision, recall, f1, support = bracket_precision_recall_fscore([TRUE], [PRED], **options)
    assert (precision.tolist(), recall.tolist(), f1.tolist()) == ([0, 0, 1], [0, 0, 1], [0, 0, 1])
    assert support.tolist() == [1, 0, 2]
    assert bracket_precision_recall_fscore([TRUE], [PRED], average="macro")[2] == pytest.approx(
        2 / 3
    )
    assert bracket_precision_recall_fscore([TRUE], [PRED], average="weighted")[2] == pytest.approx(
        3 / 4
    )


def test_without_brackets():
    assert bracket_precision_recall_fscore([], []) == (0.0, 0.0, 0.0, None)
    assert np.isnan(bracket_precision_recall_fscore(["(A a)"], ["(A a)"], zero_division=np.nan)[0])
    assert complete_match_score([], []) == 0.0
    assert complete_match_score(["(A a)", "(S (. .))"], ["(A a)", "(X (Y (. .)))"]) == 1.0


def test_report():
    rows = bracket_report([TRUE, TRUE], [PRED, TRUE], output_dict=True)
    assert list(rows) == [
        "NP",
        "S",
        "VP",
        "micro avg",
        "macro avg",
        "weighted avg",
        "complete match",
    ]
    assert rows["VP"] == {"precision": 0.5, "recall": 0.5, "f1-score": 0.5, "support": 2}
    assert rows["micro avg"]["f1-score"] == bracket_f1_score([TRUE, TRUE], [PRED, TRUE])
    assert rows["complete match"] == 0.5
    lines = bracket_report([TRUE, TRUE], [PRED, TRUE], digits=3).splitlines()
    assert lines[0].split() == ["precision", "recall", "f1-score", "support"]
    assert lines[4].split() == ["VP", "0.500", "0.500", "0.500", "2"]
    assert lines[-1].split() == ["complete", "match", "0.500"]
    assert len(lines[-1]) == len(lines[0]) - 10


@pytest.mark.parametrize("kind", ["chain", "left", "both"])
def test_no_tree_is_too_deep(kind):
    tree = deep(5_000, kind=kind)
    assert bracket_f1_score([tree], [tree]) == 1.0


@pytest.mark.parametrize(
    ("y_true", "y_pred", "error", "message"),
    [
        ([TRUE], [], LengthMismatchError, "y_true has 1 sentences but y_pred has 0"),
        (
            [TRUE, TRUE],
            [TRUE, "(S (A a))"],
            LengthMismatchError,
            r"y_true\[1\] has 3 words but y_pred\[1\] has 1",
        ),
        (
            [TRUE],
            [TRUE.replace("see", "saw")],
            LengthMismatchError,
            r"y_true\[0\], word 1 is 'see' but in y_pred\[0\]",
        ),
        ([TRUE], ["(S (A"], ValueError, r"y_pred\[0\], character 5: the text ends"),
        (TRUE, [TRUE], InputTypeError, "y_true is a str, expected a list of trees"),
        ([TRUE], [["S"]], InputTypeError, r"y_pred\[0\] is a list, expected a tree"),
    ],
)
def test_errors_name_the_place(y_true, y_pred, error, message):
    with pytest.raises(error, match=message):
        bracket_f1_score(y_true, y_pred)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"average": "binary"},
            "average must be one of 'micro', 'macro', 'weighted', None, got 'binary'",
        ),
        ({"zero_division": "warn"}, "zero_division must be 0.0, 1.0 or np.nan, got 'warn'"),
        ({"labels": "NP"}, "labels is the string 'NP'"),
    ],
)
def test_unknown_options(options, message):
    with pytest.raises((ValueError, InputTypeError), match=message):
        bracket_precision_recall_fscore([TRUE], [TRUE], **options)


@pytest.mark.corpus
def test_real_trees():
    """Gold trees against themselves as flat trees, stripped trees, and trees with other labels."""
    _, y = real(fetch_treebank_sample, subset="dev", return_X_y=True)
    assert bracket_f1_score(y, y) == complete_match_score(y, y) == 1.0
    true = [parse_tree(tree, "") for tree in y]
    plain = [strip(tree) for tree in true]
    precision, recall, _, _ = bracket_precision_recall_fscore(y, plain)
    assert precision == 1.0
    assert 0.99 < recall < 1.0  # only children labelled as their parents are gone
    changed = [
        format_tree(tree).replace("(PP ", "(ADVP ").replace("(NP (NP ", "(NP (X ") for tree in plain
    ]
    counts = [evalb(nested(a), nested(parse_tree(b, ""))) for a, b in zip(true, changed)]
    matched, predicted, gold = (sum(len(count[i]) for count in counts) for i in range(3))
    assert bracket_precision_recall_fscore(y, changed)[:2] == (matched / predicted, matched / gold)
    assert complete_match_score(y, changed) == pytest.approx(
        np.mean([len(m) == len(p) == len(t) for m, p, t in counts])
    )
