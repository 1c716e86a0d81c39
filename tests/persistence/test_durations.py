"""Hidden semi-Markov models in files."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import HSMM
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import load, save
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays
from sklearn_struct.persistence.registry import estimator, put_estimator

X = [list("aabbbab"), list("ba"), list("c")]
Y = [list("xxyyyzz"), list("yx"), list("z")]


@pytest.mark.parametrize("durations", ["categorical", "poisson", "negative-binomial"])
def test_an_equal_estimator_comes_back(tmp_path, durations):
    model = HSMM(durations=durations, max_length=4, right_censored=False).fit(X, Y)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    for name in ("duration_logprob_", "duration_params_", "duration_means_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.score_samples(X).tobytes() == model.score_samples(X).tobytes()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("duration", np.zeros((2, 4)), r"duration must have log-probabilities of shape \(3, 4\)"),
        ("duration", np.ones((3, 4)), "must have log-probabilities"),
        ("duration", np.full((3, 4), np.nan), "must have log-probabilities"),
        ("duration_params", np.zeros((3, 1)), "must have positive numbers"),
        ("duration_params", np.ones((2, 1)), "a row for each of 3 labels"),
    ],
)
def test_damaged_durations_are_refused(name, array, said):
    shared = Shared(Arrays())
    stored = put_estimator(HSMM(durations="poisson", max_length=4).fit(X, Y), "", shared)
    shared.arrays[name] = array
    with pytest.raises(ModelFileError, match=said):
        estimator(stored, "", shared)
