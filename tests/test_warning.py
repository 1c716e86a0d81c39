"""Warnings point at the line that called an estimator."""

from __future__ import annotations

import inspect
import warnings

import pytest

from sklearn_struct import GECRF, LinearChainCRF

X = [["the", "cat"], ["a", "dog"]]


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LinearChainCRF(max_iter=1), [["DET", "NOUN"]] * 2),
        (GECRF({"the": "DET"}, classes=["DET", "NOUN"]), [["DET", "NOUN"], None]),
        (GECRF({"a": "DT"}), [["DET", "NOUN"], None]),
    ],
)
def test_the_place_is_that_of_the_call(model, y):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1
        model.fit(X, y)
    assert [(warning.filename, warning.lineno) for warning in found] == [(__file__, line)]
