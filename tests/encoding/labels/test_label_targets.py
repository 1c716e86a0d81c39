"""Labelled features as target distributions, and where they fire (their mistakes:
tests/estimators/test_ge_crf.py).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import SequenceArray
from sklearn_struct.encoding.labels.label_targets import firing, named_labels, read_targets

CLASSES = np.array(["A", "B", "C"])


def only(spec, classes=CLASSES, majority=0.9, smoothing=0.5):
    [target] = read_targets({"f": spec}, classes, majority, smoothing)
    assert target.feature == "f"
    assert np.all(target.probability[target.named] > 0)
    return target.probability.tolist()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("B", [0.05, 0.9, 0.05]),
        ({"A": 0.25, "C": 0.75}, [0.25, 0, 0.75]),
        ({"A": 1.0}, [1, 0, 0]),
        ({"A": 1}, [1.5 / 2.5, 0.5 / 2.5, 0.5 / 2.5]),
        (Counter(C=3, A=1), [1.5 / 5.5, 0.5 / 5.5, 3.5 / 5.5]),
        ({"A": np.int64(2), "B": 0}, [2.5 / 3.5, 0.5 / 3.5, 0.5 / 3.5]),
        ({"A": 0.5000001, "B": 0.5}, [0.50000005, 0.49999995, 0]),
    ],
)
def test_distributions_of_labels(spec, expected):
    assert only(spec) == pytest.approx(expected, abs=1e-7)


def test_distributions_of_pairs():
    pairs = only({("A", "B"): 0.25, ("C", "C"): 0.75})
    assert pairs == pytest.approx([0, 0.25, 0, 0, 0, 0, 0, 0, 0.75])
    assert only(("B", "A")) == pytest.approx([0.0125] * 3 + [0.9] + [0.0125] * 5)
    assert sum(only({("A", "A"): 3})) == pytest.approx(1)


def test_a_single_label_has_all():
    assert only("A", np.array(["A"])) == [1.0]


def test_pairs_that_are_labels():
    classes = np.empty(2, dtype=object)
    classes[:] = [("A", "B"), ("C", "D")]
    assert only(("A", "B"), classes) == pytest.approx([0.9, 0.1])
    assert only({("A", "B"): 1.0}, classes) == [1.0, 0.0]
    assert len(only((("A", "B"), ("C", "D")), classes)) == 4


def test_named_labels():
    given = {"f": "A", "g": {"B": 1, "C": 2}, "h": {("D", "E"): 1.0}, None: ("F", "G")}
    assert named_labels(given, set()) == ["A", "B", "C", "D", "E", "F", "G"]
    assert named_labels({"f": ("F", "G")}, {("F", "G")}) == [("F", "G")]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_firing(make):
    values = np.array([[0.0, 2.0], [1.5, 0.0], [3.0, 1.0]])
    X = SequenceArray(make(values), [0, 1, 3], ["a", "b"])
    expected = np.column_stack([values[:, 1], np.ones(3), values[:, 0], values[:, 1]])
    found = firing(X, ["b", None, 0, np.int64(1)])
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.nnz == np.count_nonzero(expected)
    assert firing(X, []).shape == (3, 0)
