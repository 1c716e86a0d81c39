"""Hidden Markov models whose transitions depend on inputs, in files."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import NonHomogeneousHMM
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import load, save
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays
from sklearn_struct.persistence.registry import estimator, put_estimator

MIXED = ["categorical", "poisson", "gaussian"]


def data():
    rng = np.random.RandomState(0)
    X = [
        [("abc"[rng.randint(3)], rng.normal(), rng.poisson(2), rng.normal()) for _ in range(n)]
        for n in (7, 2, 9)
    ]
    return X, [[*"xyz" * 3][: len(x)] for x in X]


@pytest.mark.parametrize(
    ("inputs", "options"),
    [
        ([1], {"emissions": MIXED}),
        ([1, 3], {"emissions": ["categorical", "poisson"], "transition_penalty": 0.1}),
        ([], {}),
    ],
)
def test_an_equal_estimator_comes_back(tmp_path, inputs, options):
    X, y = data()
    model = NonHomogeneousHMM(transition_inputs=inputs, **options).fit(X, y)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert vars(loaded).keys() == vars(model).keys() | {"_names_in"}
    np.testing.assert_array_equal(loaded.transition_coef_, model.transition_coef_)
    assert loaded.score_samples(X).tobytes() == model.score_samples(X).tobytes()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    given = np.ones((4, len(inputs)))
    assert repr(loaded.sample(2, 0, inputs=given)) == repr(model.sample(2, 0, inputs=given))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((9, 1)), r"transition_coef must have finite numbers of shape \(9, 2\)"),
        (np.zeros((3, 2)), r"of shape \(9, 2\)"),
        (np.full((9, 2), np.inf), "must have finite numbers"),
        (np.full((9, 2), 1e80), "must have finite numbers"),
    ],
)
def test_damaged_coefficients_are_refused(array, said):
    shared = Shared(Arrays())
    model = NonHomogeneousHMM(transition_inputs=[1, 3]).fit(*data())
    stored = put_estimator(model, "", shared)
    shared.arrays["transition_coef"] = array
    with pytest.raises(ModelFileError, match=said):
        estimator(stored, "", shared)


def test_inputs_are_for_this_class_alone():
    """A file of another model says nothing of inputs."""
    shared = Shared(Arrays())
    stored = put_estimator(NonHomogeneousHMM(transition_inputs=[1, 3]).fit(*data()), "", shared)
    stored["class"] = "HSMM"
    with pytest.raises(ModelFileError):
        estimator(stored, "", shared)
