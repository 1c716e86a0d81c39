"""The report against the scores that it shows."""

from __future__ import annotations

import pytest

from sklearn_struct.metrics import span_classification_report, span_precision_recall_fscore_support

Y_TRUE = [["B-PERSON", "I-PERSON", "O", "B-LOC"], ["B-LOC", "O"], []]
Y_PRED = [["B-PERSON", "O", "O", "B-LOC"], ["B-LOC", "B-A_VERY_LONG_TYPE"], []]


def test_dict_holds_the_scores():
    report = span_classification_report(Y_TRUE, Y_PRED, output_dict=True)
    assert list(report) == [
        "A_VERY_LONG_TYPE",
        "LOC",
        "PERSON",
        "micro avg",
        "macro avg",
        "weighted avg",
    ]
    assert report["LOC"] == {"precision": 1.0, "recall": 1.0, "f1-score": 1.0, "support": 2}
    for average in ("micro", "macro", "weighted"):
        row = report[f"{average} avg"]
        expected = span_precision_recall_fscore_support(Y_TRUE, Y_PRED, average=average)
        assert (row["precision"], row["recall"], row["f1-score"]) == expected[:3]
        assert row["support"] == 3


def test_text_is_a_table():
    lines = span_classification_report(Y_TRUE, Y_PRED, digits=3).splitlines()
    assert lines[0].split() == ["precision", "recall", "f1-score", "support"]
    assert lines[3] == "             LOC     1.000     1.000     1.000         2"
    assert lines[6] == "       micro avg     0.500     0.667     0.571         3"
    assert len({len(line) for line in lines if line}) == 1


def test_many_digits_stay_apart():
    line = span_classification_report(Y_TRUE, Y_PRED, digits=12).splitlines()[-1]
    assert len(line.split()) == 6


def test_scheme_is_passed_on():
    report = span_classification_report([["I-X"]], [["I-X"]], scheme="IOB2", output_dict=True)
    assert list(report) == ["micro avg", "macro avg", "weighted avg"]


@pytest.mark.parametrize("y", [[], [["O"]]])
def test_without_spans(y):
    lines = span_classification_report(y, y).splitlines()
    assert len(lines) == 5
    assert lines[2].split() == ["micro", "avg", "0.00", "0.00", "0.00", "0"]
