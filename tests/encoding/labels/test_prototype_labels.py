"""Prototypes as columns and masks; boundaries, token by token."""

from __future__ import annotations

from itertools import pairwise

import naive_words
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.labels.prototype_labels import (
    boundary_code,
    joined,
    prototype_labels,
    read_prototypes,
)
from sklearn_struct.exceptions import InputTypeError, UnknownLabelError

CLASSES = np.array(["A", "B", "C"])
TOKENS = np.array([[1.0, 0, 0], [0, -2, 0], [1, 0, 3], [0, 0, 0]])
NAMES = ["x", "y", "z"]


@pytest.mark.parametrize("sparse", [False, True])
def test_masks(sparse):
    X = SequenceArray(sp.csr_array(TOKENS) if sparse else TOKENS, [0, 3, 4], NAMES)
    prototypes = read_prototypes({"z": "C", "x": "A", 1: {"A", "B"}, "y": "B"}, X, CLASSES)
    assert prototypes.columns.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(prototypes.labels, [[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    found = prototypes.allowed(X)
    np.testing.assert_array_equal(found, [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]])
    known = np.array([[0, 1, 1], [0, 1, 1], [1, 1, 1], [0, 0, 1]], dtype=bool)
    both = prototypes.allowed(X, known)
    np.testing.assert_array_equal(both, [[0, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 1]])


def test_none_at_all():
    X = SequenceArray(TOKENS, [0, 3, 4])
    prototypes = read_prototypes({}, X, CLASSES)
    assert prototypes.allowed(X).all()
    assert prototype_labels({}) == []


def test_labels_are_checked():
    assert sorted(prototype_labels({"x": "A", "y": {"B", "C"}})) == ["A", "B", "C"]
    with pytest.raises(UnknownLabelError, match=r"prototypes\['y'\]: a label is missing"):
        prototype_labels({"x": "A", "y": None})
    with pytest.raises(InputTypeError, match=r"prototypes\['y'\]: .* cannot be a label"):
        prototype_labels({"y": {"a": 1}})
    with pytest.raises(ValueError, match=r"prototypes\['y'\]: there are no labels"):
        prototype_labels({"y": set()})


def test_boundaries_against_a_loop():
    rng = np.random.default_rng(0)
    for _ in range(50):
        lengths = rng.integers(0, 5, size=4)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        codes = rng.integers(0, 3, size=offsets[-1]).astype(np.int32)
        expected = [
            code
            for a, b in pairwise(offsets.tolist())
            for code in naive_words.joined(codes[a:b].tolist(), 1)
        ]
        assert joined(codes, 1, offsets).tolist() == expected


def test_the_label_of_boundaries():
    assert boundary_code("B", CLASSES) == 1
    for wrong in ("Q", ["B"], 1):
        with pytest.raises(UnknownLabelError, match=r"boundary: label .* is unknown .known: 'A'"):
            boundary_code(wrong, CLASSES)
    pairs = object_array([("A", 1), ("B", 2)])
    assert boundary_code(("B", 2), pairs) == 1
    with pytest.raises(UnknownLabelError, match=r"boundary: label .*7.* is unknown"):
        boundary_code(np.float16(7.0), pairs)
