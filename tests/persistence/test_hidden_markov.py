"""Hidden Markov models in files."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sklearn_struct import HMM, SequenceArray
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import load, save
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays
from sklearn_struct.persistence.registry import estimator, put_estimator

X = [
    [("the", 1, 0.5), ("cat", 1, 1.5), ("\ud800", 2, -1.0)],
    [("the", 1, 0.1), ("dog", 2, 2.5)],
    [("cat", 2, 1.0)],
]
Y = [["D", "N", "V"], ["D", "N"], ["N"]]
NAMED = SequenceArray(np.arange(12.0).reshape(6, 2), [0, 3, 5, 6], ["a", "b"])


@pytest.mark.parametrize(
    ("options", "data"),
    [
        ({}, X),
        ({"order": 2, "emissions": ("categorical", "categorical", "gaussian"), "oov": None}, X),
        (
            {"order": 2, "stop": False, "n_states": ["D", "N", "V", "X"]},
            [[word for word, _, _ in rows] for rows in X],
        ),
        (
            {"oov": "smoothing", "n_states": 2, "init": "random", "random_state": 3, "tol": 1.0},
            NAMED,
        ),
    ],
)
def test_an_equal_estimator_comes_back(tmp_path, options, data):
    hmm = HMM(**options).fit(data, None if options.get("n_states") == 2 else Y)
    save(hmm, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.get_params() == hmm.get_params()
    assert vars(loaded).keys() == vars(hmm).keys() | {"_names_in"}
    for name, value in vars(hmm).items():
        found = vars(loaded)[name]
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found, value)
        elif name == "emission_logprob_":
            assert [None if t is None else t.tobytes() for t in found] == [
                None if t is None else t.tobytes() for t in value
            ]
        else:
            assert found == value
    assert loaded.score_samples(data).tobytes() == hmm.score_samples(data).tobytes()
    assert loaded.predict(data).tolist() == hmm.predict(data).tolist()
    length = 3 if options.get("stop") is False else None
    assert repr(loaded.sample(3, 0, length=length)) == repr(hmm.sample(3, 0, length=length))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_files_without_a_type_of_covariances_have_variances():
    hmm = HMM().fit(X, Y)
    stored, shared = parts(hmm)
    del stored["params"]["covariance_type"]
    del stored["state"]["covariance_type"]
    loaded = estimator(stored, "", shared)
    assert loaded.covariance_type == "diag"
    np.testing.assert_array_equal(loaded.variances_, hmm.variances_)
    np.testing.assert_array_equal(loaded.score_samples(X), hmm.score_samples(X))


@pytest.mark.parametrize(
    ("covariances", "said"),
    [
        (np.zeros((6, 2)), "covariances_[0] is not positive definite"),
        (np.ones((3, 2)), "covariances must have finite numbers of shape (6, 2)"),
        (np.full((6, 2), np.nan), "covariances must have finite numbers"),
    ],
)
def test_damaged_covariances_are_refused(covariances, said):
    stored, shared = parts(HMM(covariance_type="full").fit(X, Y))
    shared.arrays["covariances"] = covariances
    with pytest.raises(ModelFileError, match=re.escape(said)):
        estimator(stored, "", shared)


def test_unknown_types_of_covariances_are_refused():
    stored, shared = parts(HMM(covariance_type="full").fit(X, Y))
    stored["state"]["covariance_type"] = "square"
    with pytest.raises(ModelFileError, match="of the type 'square'"):
        estimator(stored, "", shared)


def parts(hmm):
    shared = Shared(Arrays())
    return put_estimator(hmm, "", shared), shared


def damage(change):
    """The model with one thing wrong."""
    stored, shared = parts(HMM(order=2).fit(X, Y))
    change(stored["state"], shared.arrays)
    return stored, shared


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state, arrays: state.update(order=3), "no hidden Markov model"),
        (lambda state, arrays: state.update(order=1), "transition must have"),
        (lambda state, arrays: state.update(kind="words"), "no hidden Markov model"),
        (lambda state, arrays: state.update(n_iter=-1), "n_iter"),
        (lambda state, arrays: state.pop("labels"), "must have the fields"),
        (
            lambda state, arrays: state["vocabularies"].pop(),
            "emissions must be a list of 2 known kinds",
        ),
        (
            lambda state, arrays: (state["vocabularies"].pop(), state["emissions"].pop()),
            "means must have finite numbers of shape (3, 1)",
        ),
        (lambda state, arrays: state["emissions"].__setitem__(0, "gamma"), "3 known kinds"),
        (lambda state, arrays: state["emissions"].__setitem__(0, 1), "3 known kinds"),
        (
            lambda state, arrays: state["emissions"].__setitem__(0, "poisson"),
            "categorical where there is a vocabulary",
        ),
        (
            lambda state, arrays: state["emissions"].__setitem__(2, "poisson"),
            "means must have finite numbers of shape (3, 1)",
        ),
        (lambda state, arrays: state.update(n_trials=-1), "n_trials"),
        (
            lambda state, arrays: (
                state["vocabularies"].append(None),
                state["emissions"].append("poisson"),
            ),
            "no array 'rates' of 2 dimensions",
        ),
        (
            lambda state, arrays: (
                state["vocabularies"].append(None),
                state["emissions"].append("poisson"),
                arrays.update(rates=np.zeros((3, 1))),
            ),
            "rates_ must be positive",
        ),
        (lambda state, arrays: state["vocabularies"].append(["a"]), "no array 'emission/3'"),
        (
            lambda state, arrays: state["vocabularies"].__setitem__(0, ["a", "a"]),
            "different values",
        ),
        (
            lambda state, arrays: state["vocabularies"].__setitem__(0, [["a"]]),
            "cannot be looked up",
        ),
        (
            lambda state, arrays: state["vocabularies"].__setitem__(0, ["a"] * 0),
            "emission/0 must have",
        ),
        (
            lambda state, arrays: arrays["variances"].__setitem__(0, 0.0),
            "variances must be positive",
        ),
        (lambda state, arrays: arrays["means"].__setitem__(0, np.nan), "finite"),
        (
            lambda state, arrays: arrays["start"].__setitem__(0, np.nan),
            "start must have log-probabilities",
        ),
        (
            lambda state, arrays: arrays["stop"].__setitem__(0, 0.5),
            "stop must have log-probabilities",
        ),
        (lambda state, arrays: arrays.update(pair_start=np.zeros((2, 3))), "pair_start must have"),
    ],
)
def test_damaged_models_are_refused(change, said):
    stored, shared = damage(change)
    with pytest.raises(ModelFileError, match=re.escape(said)):
        estimator(stored, "", shared)


def test_names_must_fit():
    stored, shared = parts(HMM(n_states=2, max_iter=500).fit(NAMED))
    shared.objects[0] = np.array(["a"], dtype=object)
    with pytest.raises(ModelFileError, match="1 names for 2 streams"):
        estimator(stored, "", shared)
