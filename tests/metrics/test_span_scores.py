"""Span scores against conlleval's counting loop (a twin, below), scikit-learn's averages and
seqeval.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import seqeval.metrics.sequence_labeling
import seqeval.scheme
from hypothesis import given, settings
from hypothesis import strategies as st
from real_data import real
from sklearn.metrics import make_scorer, precision_recall_fscore_support
from sklearn.model_selection import GridSearchCV

from sklearn_struct import LinearChainCRF, SequenceArray, metrics
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.datasets import fetch_conll2000
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.metrics import (
    extract_spans,
    span_classification_report,
    span_f1_score,
    span_f1_scorer,
    span_precision_recall_fscore_support,
    span_precision_score,
    span_recall_score,
)

# The letter pairs at which conlleval ends or starts a chunk, apart from changes of type. The Perl
# script knows no S, and joins E to a B of the same type; later ports read IOBES, and we follow them
# there.
PERL_ENDS = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}
PERL_STARTS = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}
PORT_ENDS = PERL_ENDS | {"BS", "IS", "EB", "ES", "SB", "SI", "SE", "SS", "SO"}
PORT_STARTS = PERL_STARTS | {"BS", "IS", "EB", "ES", "SB", "SI", "SE", "SS", "OS"}


def conlleval_counts(y_true, y_pred, end_pairs, start_pairs):
    """conlleval's one pass over all tokens: right, guessed and true chunks of each type, and right
    tokens.
    """

    def ends(before, now):
        return before[0] + now[0] in end_pairs or (before[0] != "O" and before[1] != now[1])

    def starts(before, now):
        return before[0] + now[0] in start_pairs or (now[0] != "O" and before[1] != now[1])

    right = Counter()
    guessed = Counter()
    found = Counter()
    right_tokens = 0
    last_true = last_pred = ("O", "")
    in_right = False  # inside a chunk that has agreed so far
    for true, pred in stream(y_true, y_pred):
        if in_right:
            true_ends = ends(last_true, true)
            pred_ends = ends(last_pred, pred)
            if true_ends and pred_ends and last_true[1] == last_pred[1]:
                in_right = False
                right[last_true[1]] += 1
            elif true_ends != pred_ends or true[1] != pred[1]:
                in_right = False
        if starts(last_true, true) and starts(last_pred, pred) and true[1] == pred[1]:
            in_right = True
        found[true[1]] += starts(last_true, true)
        guessed[pred[1]] += starts(last_pred, pred)
        right_tokens += true == pred
        last_true = true
        last_pred = pred
    return +right, +guessed, +found, right_tokens - len(y_true)  # the empty lines agree as well


def stream(y_true, y_pred):
    """Pairs of (letter, type), with the empty line after each sentence read as O."""
    for true, pred in zip(y_true, y_pred):
        for pair in zip([*true, "O"], [*pred, "O"]):
            yield tuple((label[0], label[2:]) for label in pair)


def corpora(letters, types=("X", "Y")):
    """Pairs (y_true, y_pred) with labels at random, or mostly agreeing."""
    label = st.sampled_from(["O", *(f"{letter}-{kind}" for letter in letters for kind in types)])
    pair = st.tuples(label, label) | label.map(lambda one: (one, one))
    sequences = st.lists(st.lists(pair, max_size=8), max_size=4)
    return sequences.map(
        lambda y: tuple([[pair[side] for pair in sequence] for sequence in y] for side in (0, 1))
    )


def counts(y_true, y_pred):
    """The integers behind our scores, by type, in the order of conlleval_counts."""
    precision, _, _, support = span_precision_recall_fscore_support(y_true, y_pred, average=None)
    guessed = Counter(kind for sequence in y_pred for kind, _, _ in extract_spans(sequence))
    types = sorted(
        guessed.keys() | {kind for sequence in y_true for kind, _, _ in extract_spans(sequence)}
    )
    right = {kind: round(value * guessed[kind]) for kind, value in zip(types, precision)}
    return +Counter(right), guessed, +Counter(dict(zip(types, support.tolist())))


@settings(deadline=None)
@given(corpora("BI"))
def test_iob_counts_are_conllevals(y):
    expected = conlleval_counts(*y, PERL_ENDS, PERL_STARTS)
    assert counts(*y) == expected[:3]
    assert metrics.token_accuracy_score(*y) == pytest.approx(
        expected[3] / max(sum(map(len, y[0])), 1)
    )


@settings(deadline=None)
@given(corpora("BIES"))
def test_iobes_counts_are_those_of_conllevals_ports(y):
    assert counts(*y) == conlleval_counts(*y, PORT_ENDS, PORT_STARTS)[:3]


@settings(deadline=None)
@given(corpora("BIE"))
def test_perl_and_ports_differ_only_after_e(y):
    has_e_b = any(
        pair[0] == "E" and pair[1] == "B"
        for side in y
        for s in side
        for pair in pairwise(x[0] for x in s)
    )
    if not has_e_b:
        assert counts(*y) == conlleval_counts(*y, PERL_ENDS, PERL_STARTS)[:3]


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, np.nan])
def test_averages_are_sklearns(average, zero_division):
    """Each span of either side becomes a row of a multilabel problem with the types as classes."""

    @settings(deadline=None)
    @given(corpora("BI", types=("X", "Y", "Z")))
    def check(y):
        sides = [
            {(i, *span) for i, sequence in enumerate(side) for span in extract_spans(sequence)}
            for side in y
        ]
        universe = sorted(sides[0] | sides[1])
        types = sorted({span[1] for span in universe})
        if not types:
            return
        columns = [*types, "none"]  # a lone column would be read as a binary problem
        tables = [
            np.array([[s in side and s[1] == kind for kind in columns] for s in universe], int)
            for side in sides
        ]
        options = {"average": average, "zero_division": zero_division}
        expected = precision_recall_fscore_support(*tables, labels=range(len(types)), **options)
        scores = span_precision_recall_fscore_support(*y, **options)
        for ours, theirs in zip(scores, expected):
            assert ours is theirs is None or np.allclose(ours, theirs, equal_nan=True)

    check()


@settings(deadline=None)
@given(
    corpora("BIES").filter(
        lambda y: any(label != "O" for side in y for sequence in side for label in sequence)
    )
)
def test_agrees_with_seqeval(y):
    for average in ("micro", "macro", "weighted"):
        theirs = seqeval.metrics.sequence_labeling.precision_recall_fscore_support(
            *y, average=average, zero_division=0
        )
        assert span_precision_recall_fscore_support(*y, average=average)[:3] == pytest.approx(
            theirs[:3]
        )


@settings(deadline=None)
@given(
    corpora("BI").filter(lambda y: all(any("B-X" in sequence for sequence in side) for side in y))
)
def test_agrees_with_seqevals_strict_mode(y):
    theirs = seqeval.metrics.f1_score(
        *y, mode="strict", scheme=seqeval.scheme.IOB2, zero_division=0
    )
    assert span_f1_score(*y, scheme="IOB2") == pytest.approx(theirs)


@pytest.mark.corpus
def test_conll2000_counts_are_conllevals():
    y_true = real(fetch_conll2000, subset="test").target
    rng = np.random.default_rng(0)
    labels = sorted({label for sequence in y_true for label in sequence})
    y_pred = [
        [label if rng.random() < 0.9 else labels[rng.integers(len(labels))] for label in y]
        for y in y_true
    ]
    right, guessed, found, right_tokens = conlleval_counts(y_true, y_pred, PERL_ENDS, PERL_STARTS)
    assert counts(y_true, y_pred) == (right, guessed, found)
    assert found.total() == 23_852  # as published with the task
    expected = right.total() / guessed.total(), right.total() / found.total()
    assert span_precision_recall_fscore_support(y_true, y_pred)[:2] == expected
    assert metrics.token_accuracy_score(y_true, y_pred) == right_tokens / 47_377


Y_TRUE = [["B-X", "I-X", "O"], ["B-Y"], [], ["B-X", "B-Y"]]
Y_PRED = [["B-X", "O", "O"], ["B-Y"], [], ["B-X", "B-Z"]]


@pytest.mark.parametrize("kind", [list, object_array, SequenceArray.from_sequences])
def test_containers(kind):
    assert span_precision_score(kind(Y_TRUE), kind(Y_PRED)) == 0.5
    assert span_recall_score(kind(Y_TRUE), kind(Y_PRED)) == 0.5
    assert span_f1_score(kind(Y_TRUE), kind(Y_PRED)) == 0.5


def test_labels_choose_types_and_their_order():
    precision, recall, _, support = span_precision_recall_fscore_support(
        Y_TRUE, Y_PRED, labels=["Y", "missing", "X"], average=None
    )
    assert precision.tolist() == [1.0, 0.0, 0.5]
    assert recall.tolist() == [0.5, 0.0, 0.5]
    assert support.tolist() == [2, 0, 2]
    assert span_precision_score(Y_TRUE, Y_PRED, labels=["X", "Y"]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("y", [[], [[]], [["O", "O"]]])
def test_without_spans_zero_division_is_the_score(average, zero_division, y):
    scores = span_precision_recall_fscore_support(
        y, y, average=average, zero_division=zero_division
    )
    assert scores[3] is None
    np.testing.assert_equal(scores[:3], (zero_division,) * 3)


def test_without_spans_there_are_no_types():
    assert [
        len(column) for column in span_precision_recall_fscore_support([], [], average=None)
    ] == [0] * 4


@pytest.mark.parametrize(
    ("y_true", "y_pred", "options", "error", "message"),
    [
        ([[]] * 3, [[]] * 2, {}, LengthMismatchError, "y_true has 3 sequences but y_pred has 2"),
        ([["O"]], [[]], {}, LengthMismatchError, r"y_true\[0\] has 1 labels but y_pred\[0\] has 0"),
        (
            [["O"]],
            [[0]],
            {},
            InputTypeError,
            r"y_pred\[0\], token 0: label 0 is a int, but labels of spans are str",
        ),
        (
            [["O", "E-X"]],
            [["O", "O"]],
            {"scheme": "IOB2"},
            UnknownLabelError,
            r"y_true\[0\], token 1: label 'E-X' has",
        ),
        (
            [],
            [],
            {"scheme": "BILOU"},
            ValueError,
            r"scheme must be None or one of 'IO', .*, 'IOBES', got 'BILOU'",
        ),
        (
            [],
            [],
            {"average": "binary"},
            ValueError,
            "average must be one of 'micro', 'macro', 'weighted', None, got 'bin",
        ),
        (
            [],
            [],
            {"zero_division": "warn"},
            ValueError,
            r"zero_division must be 0.0, 1.0 or np.nan, got 'warn'",
        ),
        (
            [],
            [],
            {"labels": "NP"},
            InputTypeError,
            "labels is the string 'NP', expected a list of span types",
        ),
    ],
)
def test_errors_name_the_place(y_true, y_pred, options, error, message):
    with pytest.raises(error, match=message):
        span_precision_recall_fscore_support(y_true, y_pred, **options)


PLAIN = [["RENT", "RENT", "O", "SIZE"], ["SIZE", "O"]]


def test_labels_without_letters_warn_and_have_a_scheme():
    """They mark no spans, so that even a perfect prediction has the score 0."""
    for score in (span_f1_score, span_precision_recall_fscore_support, span_classification_report):
        with pytest.warns(UserWarning, match="'RENT', 'SIZE' do not") as caught:
            score(PLAIN, PLAIN)
        assert [warning.filename for warning in caught] == [__file__]
        assert str(score(PLAIN, PLAIN, scheme="IO")).count("1.0") >= 1
    assert span_f1_score(
        PLAIN, [["RENT", "RENT", "SIZE", "SIZE"], ["SIZE", "O"]], scheme="IO"
    ) == pytest.approx(2 / 3)


def test_a_search_can_choose_by_spans_of_such_labels():
    words = [["$", "9", "a", "large"], ["small", "a"], ["$", "5", "a", "small"], ["large", "a"]]
    grid = {"min_frequency": [100, 1]}  # 100 leaves no weights
    search = GridSearchCV(
        LinearChainCRF(), grid, scoring=make_scorer(span_f1_score, scheme="IO"), cv=2
    )
    assert search.fit(words, PLAIN * 2).best_params_ == {"min_frequency": 1}
    search.set_params(scoring=span_f1_scorer)
    with pytest.warns(UserWarning, match="'RENT', 'SIZE' do not"):
        assert search.fit(words, PLAIN * 2).best_score_ == 0.0
