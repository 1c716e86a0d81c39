"""Files of models of words and labels: what is read is checked before predictions use it."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import PrototypeMRF
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.chains import put_prototype_mrf, read_prototype_mrf
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays

X = [np.eye(3), np.eye(3)[[2, 0]]]


def read(change):
    """A model of two prototypes and two labels, read from arrays that were changed."""
    model = PrototypeMRF({0: "A", 2: {"A", "B"}}).fit(X)
    written = Shared(Arrays())
    stored = put_prototype_mrf(model, "m/", written)
    arrays = dict(written.arrays)
    change(arrays, stored)
    loaded = PrototypeMRF()
    read_prototype_mrf(loaded, stored, "m/", Shared(Arrays(arrays)))
    return loaded


def nothing(arrays, stored):
    pass


def test_what_was_written():
    loaded = read(nothing)
    assert loaded.prototype_columns_.tolist() == [0, 2]
    assert loaded.prototype_labels_.tolist() == [[True, False], [True, True]]
    assert loaded.n_words_ == 3


def replaced(name, values):
    def change(arrays, stored):
        arrays["m/" + name] = np.array(values, np.int64)

    return change


def without_words(arrays, stored):
    stored["n_words"] = -1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replaced("prototype_columns", [2, 0]), "must be ascending numbers below 3"),
        (replaced("prototype_columns", [0, 3]), "must be ascending numbers below 3"),
        (replaced("prototype_columns", [0]), "a mask of labels each"),
        (replaced("prototype_labels", [1, 0, 1]), "a mask of labels each"),
        (replaced("prototype_labels", [1, 0, 1, 2]), "a mask of labels each"),
        (replaced("prototype_labels", [1, 0, 0, 0]), "a prototype has no label"),
        (without_words, "n_words"),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(ModelFileError, match=message):
        read(change)
