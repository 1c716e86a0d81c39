"""Models with hidden states, to files and back."""

from __future__ import annotations

import numpy as np

from sklearn_struct.persistence import load, save

METHODS = ("predict", "predict_states", "predict_proba", "predict_state_proba")


def check_there_and_back(model, X, y, path):
    """The model of a file predicts the same, and a fit goes on from it alike."""
    save(model, path)
    again = load(path)
    assert again.get_params() == model.get_params()
    assert again.states_.tolist() == model.states_.tolist()
    assert again.loss_curve_ == model.loss_curve_
    for method in METHODS:
        for a, b in zip(getattr(again, method)(X), getattr(model, method)(X), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(again.fit(X, y, init=model)._w, model.fit(X, y, init=model)._w)
