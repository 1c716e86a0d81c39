"""Spans against seqeval, and the errors of bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB1, IOB2, IOBES, Entities

from sklearn_struct.exceptions import InputTypeError, UnknownLabelError
from sklearn_struct.metrics import extract_spans


def label_lists(letters, types=("X", "Y", "X-Y")):
    """Random labels, so mostly malformed ones."""
    labels = ["O", *(f"{letter}-{kind}" for letter in letters for kind in types)]
    return st.lists(st.sampled_from(labels), max_size=12)


def is_legal_iob1(labels):
    """Whether each B follows a label of the same type."""
    before = ["O", *labels]
    return all(label[0] != "B" or before[t][1:] == label[1:] for t, label in enumerate(labels))


@pytest.mark.parametrize(
    ("scheme", "labels", "expected"),
    [
        (None, "", []),
        (None, "O O", []),
        (None, "B-X I-X I-X", [("X", 0, 3)]),
        (None, "B-X B-X", [("X", 0, 1), ("X", 1, 2)]),
        (None, "I-X I-Y O I-Y", [("X", 0, 1), ("Y", 1, 2), ("Y", 3, 4)]),
        (None, "B-X E-X E-X I-X S-X", [("X", 0, 2), ("X", 2, 3), ("X", 3, 4), ("X", 4, 5)]),
        (None, "B-X L-X U-X I-X", [("X", 0, 2), ("X", 2, 3), ("X", 3, 4)]),  # BILOU
        (None, "B-X M-X E-X", [("X", 0, 3)]),  # BMES
        (None, "B I O I", [("", 0, 2), ("", 3, 4)]),
        (None, "B-a-b I-a-b I-a", [("a-b", 0, 2), ("a", 2, 3)]),
        ("IOB2", "I-X O B-X I-X I-Y B-Y B-Y", [("X", 2, 4), ("Y", 5, 6), ("Y", 6, 7)]),
        ("IOB1", "I-X B-X O B-X I-X I-Y B-X", [("X", 0, 1), ("X", 1, 2), ("Y", 5, 6)]),
        ("IOBES", "S-X B-X I-X E-X B-Y O E-Y B-X E-Y I-X", [("X", 0, 1), ("X", 1, 4)]),
        ("IO", "RENT RENT O SIZE RENT", [("RENT", 0, 2), ("SIZE", 3, 4), ("RENT", 4, 5)]),
        ("IO", "I-X I-X I-Y O X I-X", [("X", 0, 2), ("Y", 2, 3), ("X", 4, 6)]),
        (
            "IO",
            "first-name first-name B I A-1 A-1",
            [("first-name", 0, 2), ("B", 2, 3), ("I", 3, 4), ("A-1", 4, 6)],
        ),
        ("IO", "O O", []),
    ],
)
def test_examples(scheme, labels, expected):
    assert extract_spans(labels.split(), scheme) == expected


# seqeval's default mode follows a later port of conlleval, as we do for E and S. It differs from
# conlleval, and from us, only in what is not generated here: it calls a missing type "_" and reads
# only the first letter of NOUN.
@settings(deadline=None)
@given(label_lists("BIES"))
def test_lenient_reading_is_seqevals_default(labels):
    assert extract_spans(labels) == [
        (kind, start, last + 1) for kind, start, last in get_entities(labels)
    ]


@settings(deadline=None)
@given(label_lists("BIES"))
def test_bilou_is_iobes_with_other_letters(labels):
    other = [label.replace("E-", "L-").replace("S-", "U-") for label in labels]
    assert extract_spans(other) == extract_spans(labels)


@pytest.mark.parametrize(("scheme", "theirs"), [("IOB2", IOB2), ("IOBES", IOBES)])
def test_strict_reading_is_seqevals_strict_mode(scheme, theirs):
    @settings(deadline=None)
    @given(label_lists("BIES" if scheme == "IOBES" else "BI"))
    def check(labels):
        expected = [
            (entity.tag, entity.start, entity.end)
            for entity in Entities([labels], theirs).entities[0]
        ]
        assert extract_spans(labels, scheme) == expected

    check()


# After a misplaced B, seqeval starts a span at the next I ("O B-X I-X" has the span 2:3), where we
# drop the span as a whole; so only legal labels are compared.
@settings(deadline=None)
@given(label_lists("BI").filter(is_legal_iob1))
def test_strict_iob1_is_seqevals_on_legal_labels(labels):
    expected = [
        (entity.tag, entity.start, entity.end) for entity in Entities([labels], IOB1).entities[0]
    ]
    assert extract_spans(labels, "IOB1") == expected == extract_spans(labels)


@settings(deadline=None)
@given(label_lists("I"))
def test_io_is_every_scheme_without_what_parts_neighbours(labels):
    assert extract_spans(labels, "IO") == extract_spans(labels) == extract_spans(labels, "IOB1")
    plain = [label.removeprefix("I-") for label in labels if label != "I-X-Y"]
    with_letters = [f"I-{label}" if label != "O" else "O" for label in plain]
    assert extract_spans(plain, "IO") == extract_spans(with_letters)


def test_labels_without_letters_warn():
    """A perfect prediction of such labels has a score of 0."""
    with pytest.warns(
        UserWarning, match=r"'NOUN', 'VERB' do not, and are read as outside.*scheme='IO' reads"
    ) as caught:
        assert extract_spans(["NOUN", "VERB", "O", "B-X"]) == [("X", 3, 4)]
    assert caught[0].filename == __file__
    for label in ("", "-", "X", "first-name", "noun"):
        with pytest.warns(UserWarning, match=f"as B-NP; '{label}' do not"):
            extract_spans([label, "B", "I", "O", "M-X", "B-X", "U-", "L"])
    with pytest.warns(UserWarning, match="'a', 'b', 'c', 'd', 'e', ... do not"):
        extract_spans(list("fedcba"))


@settings(deadline=None)
@given(label_lists("BI"))
def test_strict_spans_are_lenient_spans(labels):
    lenient = extract_spans(labels)
    for scheme in ("IOB1", "IOB2", "IOBES"):
        assert set(extract_spans(labels, scheme)) <= set(lenient)


def test_labels_may_come_in_any_sequence():
    expected = [("X", 0, 2)]
    for labels in (
        ("B-X", "I-X"),
        np.array(["B-X", "I-X"]),
        np.array(["B-X", "I-X"], dtype=object),
    ):
        assert extract_spans(labels) == expected
    assert extract_spans([]) == extract_spans(np.array([])) == []


def test_unknown_scheme_lists_the_choices():
    with pytest.raises(
        ValueError, match="scheme must be None or one of 'IO', 'IOB1', 'IOB2', 'IOBES', got 'BIO'"
    ):
        extract_spans(["O"], "BIO")


@pytest.mark.parametrize(
    ("scheme", "label"),
    [("IOB2", "E-X"), ("IOB1", "NOUN"), ("IOBES", "L-X"), ("IOBES", ""), ("IO", "B-X")],
)
def test_foreign_letter_in_a_strict_scheme(scheme, label):
    with pytest.raises(
        UnknownLabelError,
        match=f"labels, token 1: label '{label}' has none of the letters of {scheme}",
    ):
        extract_spans(["O", label], scheme)


def test_a_label_must_be_a_string():
    with pytest.raises(
        InputTypeError, match="labels, token 1: label 3 is a int, but labels of spans are strings"
    ):
        extract_spans(["O", 3])


@pytest.mark.parametrize("labels", ["B-X", None, {"O"}, 3, np.zeros((2, 2))])
def test_labels_must_be_a_sequence(labels):
    with pytest.raises(
        InputTypeError, match=f"labels is a {type(labels).__name__}, expected a sequence of labels"
    ):
        extract_spans(labels)
