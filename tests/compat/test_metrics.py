"""Flat metrics beside those of sklearn-crfsuite."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn_crfsuite.metrics

from sklearn_struct.compat import metrics
from sklearn_struct.exceptions import LengthMismatchError

RNG = np.random.RandomState(0)
TRUE, PRED = ([RNG.choice(list("ABC"), n).tolist() for n in (5, 1, 7, 3)] for _ in range(2))


@pytest.mark.parametrize(
    "pred", [PRED, np.array([*PRED, None], dtype=object)[:-1]], ids=["lists", "object array"]
)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("flat_accuracy_score", {}),
        ("flat_precision_score", {"average": "macro"}),
        ("flat_recall_score", {"average": None}),
        ("flat_f1_score", {"average": "weighted", "labels": ["A", "B"]}),
        ("flat_fbeta_score", {"beta": 2.0, "average": "micro"}),
        ("flat_classification_report", {"labels": ["B", "A"], "digits": 3}),
        ("flat_classification_report", {"output_dict": True}),
    ],
)
def test_the_same_figures(name, options, pred):
    expected = getattr(sklearn_crfsuite.metrics, name)(TRUE, PRED, **options)
    np.testing.assert_equal(getattr(metrics, name)(TRUE, pred, **options), expected)


def test_whole_sequences():
    pred = [TRUE[0], *PRED[1:3], TRUE[3]]
    expected = sklearn_crfsuite.metrics.sequence_accuracy_score(TRUE, pred)
    assert metrics.sequence_accuracy_score(TRUE, pred) == expected


def test_lengths():
    with pytest.raises(
        LengthMismatchError, match=r"y_true\[1\] has 1 labels but y_pred\[1\] has 2"
    ):
        metrics.flat_f1_score([["A"], ["B"]], [["A"], ["B", "B"]])
