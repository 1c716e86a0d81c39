"""Tags and spans to segments, and back."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.estimators.segments.segment_labels import (
    Form,
    are_spans,
    form_of,
    read_spans,
    read_tags,
    write,
)
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.metrics import extract_spans

OFFSETS = np.array([0, 5, 5, 8])
TAGS = {
    "IOB2": ["B-A", "I-A", "B-A", "O", "B-B", "B-B", "I-B", "O"],
    "IOB1": ["I-A", "I-A", "B-A", "O", "I-B", "I-B", "I-B", "O"],
    "IOBES": ["B-A", "E-A", "S-A", "O", "S-B", "B-B", "E-B", "O"],
}
SPANS = [[(0, 2, "A"), (2, 3, "A"), (4, 5, "B")], [], [(0, 2, "B")]]
CLASSES = np.array(["A", "B", "O"])


def codes(segments):
    places = {label: k for k, label in enumerate(CLASSES.tolist())}
    of_labels = np.array([places[label] for label in segments.labels])
    return of_labels + len(CLASSES) * ~segments.begins


@pytest.mark.parametrize("scheme", TAGS)
def test_tags_are_read_and_written(scheme):
    form = form_of(TAGS[scheme], None, "O")
    assert form == Form(scheme)
    segments = read_tags(TAGS[scheme], OFFSETS, form)
    again = write(codes(segments), OFFSETS, CLASSES, form)
    assert again.tolist() == [TAGS[scheme][:5], [], TAGS[scheme][5:]]
    spans = write(codes(segments), OFFSETS, CLASSES, form._replace(spans=True))
    assert spans.tolist() == SPANS
    assert segments.lengths().tolist() == [2, 1, 1, 1, 2, 1]


def test_spans_are_read():
    assert are_spans(SPANS, OFFSETS)
    segments = read_spans(SPANS, OFFSETS, "O")
    expected = read_tags(TAGS["IOB2"], OFFSETS, Form("IOB2"))
    assert segments.labels == expected.labels
    np.testing.assert_array_equal(segments.begins, expected.begins)
    # in any order, as lists, with numpy's numbers
    mixed = [[[np.int64(4), 5, "B"], (2, 3, "A"), (0, 2, "A")], [], [(0, np.int32(2), "B")]]
    assert are_spans(mixed, OFFSETS)
    assert read_spans(mixed, OFFSETS, "O").labels == expected.labels


def test_runs_of_labels():
    labels = [1, 1, 2, 0, 0, 1, 1, 1]
    segments = read_tags(labels, OFFSETS, form_of(labels, None, 0))
    # 0 is outside, and each of its tokens a segment; the second sequence is empty
    assert segments.begins.tolist() == [True, False, True, True, True, True, False, False]
    segments = read_tags(labels, OFFSETS, form_of(labels, None, None))
    assert segments.begins.tolist() == [True, False, True, True, False, True, False, False]


def test_the_scheme_that_letters_tell():
    for tags, scheme in (
        (["DET", "NOUN"], "IO"),
        (["B-A", "NOUN"], "IO"),
        (["O", "O"], "IO"),
        (["X-A"], "IO"),
        ([3, 4], "IO"),
        (["O", "I-A", "I-A"], "IOB1"),
        (["O", "B-A", "I-A"], "IOB2"),
        (["B-A", "L-A", "U-B"], "IOBES"),
    ):
        assert form_of(tags, None, "O").scheme == scheme
    # one mistake does not make another scheme of them
    assert form_of(["B-A", "O", "B-A", "O", "I-A"], None, "O").scheme == "IOB2"
    assert form_of(["B-A"], "IO", "none") == Form("IO", "none")
    assert form_of(["B-A"], "IOBES", "none") == Form("IOBES", "O")


def test_letters_are_read_as_by_conlleval():
    tags = ["I-A", "B-A", "O", "I-B", "I-A"]
    offsets = np.array([0, 5])
    segments = read_tags(tags, offsets, Form("IOB2"))
    spans = write(codes(segments), offsets, CLASSES, Form("IOB2", spans=True))[0]
    assert [(label, start, stop) for start, stop, label in spans] == extract_spans(tags)
    # what is written is well formed
    written = write(codes(segments), offsets, CLASSES, Form("IOB2"))[0]
    assert written == ["B-A", "B-A", "O", "B-B", "B-A"]


def test_what_is_no_list_of_spans():
    assert not are_spans([["A", "B"], [], ["A"]], OFFSETS)
    assert not are_spans([[(True, 1, "A")], [], []], OFFSETS)
    assert not are_spans([[], []], np.array([0, 0, 0]))
    assert not are_spans("spans", OFFSETS)
    # nothing is in a span
    assert are_spans([[], [], []], OFFSETS)


@pytest.mark.parametrize(
    ("spans", "error", "message"),
    [
        ([(0, 6, "A")], ValueError, r"y\[0\]: the span \(0, 6, 'A'\) is not within X\[0\]"),
        ([(2, 2, "A")], ValueError, "which has 5 tokens; .*from start up to but not including"),
        ([(0, 2, "A"), (1, 3, "B")], ValueError, r"\(1, 3, 'B'\) overlaps .* not including 2"),
        ([(0, 2, "A"), (1, 3)], InputTypeError, r"y\[0\]: \(1, 3\) is no span \(start, stop, l"),
        ([(0, 2.5, "A")], InputTypeError, r"y\[0\]: \(0, 2.5, 'A'\) is no span"),
    ],
)
def test_wrong_spans(spans, error, message):
    with pytest.raises(error, match=message):
        read_spans([spans, [], []], OFFSETS, "O")


def test_another_number_of_sequences():
    with pytest.raises(LengthMismatchError, match="X has 3 sequences but y has 1"):
        read_spans([[]], OFFSETS, "O")
