"""Predictions of one sentence a call: what they keep from call to call must not be out of date."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_struct import HMM, MEMM, FeatureTemplates, LinearChainCRF, SequenceArray
from sklearn_struct.exceptions import ForbiddenLabelError, InputTypeError, NonFiniteError

WORDS = ["the", "dog", "cat", "barks", "sleeps", "soundly"]
TAGS = {"the": "D", "dog": "N", "cat": "N", "barks": "V", "sleeps": "V", "soundly": "A"}


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    return [list(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(n)]


def labels(X):
    rng = np.random.default_rng(5)
    # noise, so that probabilities are not all near 0 and 1
    return [[TAGS[w] if rng.random() < 0.9 else "N" for w in s] for s in X]


def as_dicts(X):
    return [
        [
            {"w": w, "n": len(w) / 3, "long": len(w) > 3, "-1": s[t - 1] if t else True}
            for t, w in enumerate(s)
        ]
        for s in X
    ]


def as_rows(X):
    return [[(w, w[0]) for w in s] for s in X]


def as_numbers(X):
    return [np.array([[len(w), ord(w[0]) % 7, 1.0] for w in s]) for s in X]


FORMS = {"dicts": as_dicts, "strings": list, "numbers": as_numbers}
WORDS_OF_TRAINING = sentences(60)
Y = labels(WORDS_OF_TRAINING)
NEW = sentences(25, seed=1)


OPTIONS = [{}, {"order": 2}, {"edge_features": "all"}, {"dtype": "float32"}, {"n_jobs": 2}]


def fitted(form="dicts", **options):
    return LinearChainCRF(tol=0.01, **options).fit(FORMS[form](WORDS_OF_TRAINING), Y)


@pytest.fixture
def model():
    return fitted()


def one_by_one(model, X):
    return [model.predict([sentence])[0] for sentence in X]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_as_in_a_batch(form, options):
    model = fitted(form, **options)
    X = FORMS[form](NEW)
    assert one_by_one(model, X) == list(model.predict(X))
    for i, proba in enumerate(model.predict_proba(X)):
        np.testing.assert_allclose(model.predict_proba(X[i : i + 1])[0], proba, atol=1e-6)


@pytest.mark.parametrize("kind", [MEMM, HMM])
def test_other_chains(kind):
    X = FORMS["strings"](WORDS_OF_TRAINING) if kind is MEMM else as_rows(WORDS_OF_TRAINING)
    new = NEW if kind is MEMM else as_rows(NEW)
    model = kind().fit(X, Y)
    assert one_by_one(model, new) == list(model.predict(new))


def test_a_pipeline_of_templates():
    templates = FeatureTemplates(["a:%x[-1,0]/%x[0,1]", "b:%x[0,0]"], add_bos_eos=True)
    pipeline = make_pipeline(templates, LinearChainCRF(tol=0.01))
    pipeline.fit(as_rows(WORDS_OF_TRAINING), Y)
    new = as_rows(NEW)
    assert one_by_one(pipeline, new) == list(pipeline.predict(new))


def test_packed_and_dense_after_one_another():
    """Rows of both kinds have layouts of their own."""
    model = fitted("numbers")
    X = as_numbers(NEW)
    expected = list(model.predict(X))
    for sentence, labels_of_it in zip(X, expected, strict=True):
        packed = SequenceArray.from_sequences([sentence])
        assert model.predict(packed)[0] == labels_of_it
        assert model.predict([sentence])[0] == labels_of_it


@pytest.mark.parametrize("by_attribute", [False, True])
def test_parameters_count_when_they_are_changed(model, by_attribute):
    def put(name, value):
        if by_attribute:
            setattr(model, name, value)
        else:
            model.set_params(**{name: value})

    sentence = as_dicts([["the", "dog", "barks"]])
    assert model.predict(sentence)[0] == ["D", "N", "V"]
    put("allowed_transitions", {"N": ["V"]})
    assert model.predict(sentence)[0] != ["D", "N", "V"]
    put("allowed_transitions", {None: list("ADNV")})
    with pytest.raises(ForbiddenLabelError):
        model.predict(sentence)
    put("allowed_transitions", None)
    put("n_jobs", 0)
    with pytest.raises(InvalidParameterError, match="n_jobs"):
        model.predict(sentence)
    put("n_jobs", "2")
    with pytest.raises(InvalidParameterError, match="n_jobs"):
        model.predict(sentence)
    put("n_jobs", np.timedelta64(1, "s"))
    with pytest.raises(InputTypeError, match="n_jobs"):
        model.predict(sentence)
    put("n_jobs", 2)
    put("dtype", "float16")
    with pytest.raises(InvalidParameterError, match="dtype"):
        model.predict(sentence)
    put("dtype", "float32")
    assert model.predict_proba(sentence)[0] == pytest.approx(
        fitted(dtype="float32").predict_proba(sentence)[0], abs=1e-2
    )
    assert model.predict(sentence)[0] == ["D", "N", "V"]


def test_values_that_are_equal_and_of_other_kinds_are_checked_anew(model):
    """1.0 == 1, but is no whole number."""
    sentence = as_dicts([["the", "dog"]])
    model.n_jobs = 1
    model.predict(sentence)
    model.n_jobs = 1.0
    with pytest.raises(InvalidParameterError, match="n_jobs"):
        model.predict(sentence)


def test_another_fit_counts(model):
    sentence = as_dicts([["the", "dog", "barks"]])
    model.predict(sentence)
    other = [[label.lower() for label in row] for row in Y]
    model.fit(as_dicts(WORDS_OF_TRAINING), other)
    assert model.predict(sentence)[0] == ["d", "n", "v"]
    weights = model._w.copy()
    model._w = 0 * weights
    assert model.predict(sentence)[0] != ["d", "n", "v"]


def test_copies(model):
    sentence = as_dicts([["the", "dog", "barks"]])
    n_bytes = len(pickle.dumps(fitted()))
    expected = list(model.predict(sentence))
    assert len(pickle.dumps(model)) == n_bytes
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert list(other.predict(sentence)) == expected
    with pytest.raises(NotFittedError):
        clone(model).predict(sentence)


def test_an_estimator_that_was_never_fitted():
    with pytest.raises(NotFittedError):
        LinearChainCRF().predict(as_dicts(NEW))


def test_bad_input_is_refused_and_changes_nothing(model):
    sentence = as_dicts([["the", "dog", "barks"]])
    expected = list(model.predict(sentence))
    for X, error in (
        ([[{"w": np.nan}]], NonFiniteError),
        ([[{"w": object()}]], InputTypeError),
        ([{"w": "the"}], InputTypeError),
        (["the"], InputTypeError),
        (as_numbers(NEW), ValueError),
        ([[{"w": "the"}], 3], InputTypeError),
    ):
        with pytest.raises(error):
            model.predict(X)
    assert list(model.predict(sentence)) == expected


def test_what_is_empty(model):
    assert list(model.predict([[], as_dicts(NEW)[0], []]))[::2] == [[], []]
    assert list(model.predict([[]])) == [[]]
    assert list(model.predict([[{}]])) == list(model.predict([[{"new": "x"}]]))


def test_many_threads_with_one_model(model):
    X = as_dicts(NEW) * 20
    expected = list(model.predict(X))
    fresh = pickle.loads(pickle.dumps(model))  # nothing is prepared in it
    with ThreadPoolExecutor(4) as pool:
        predicted = list(pool.map(lambda sentence: fresh.predict([sentence])[0], X))
    assert predicted == expected


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_jobs_of_the_context(model, backend):
    X = as_dicts(NEW)
    expected = list(model.predict(X))
    with parallel_config(backend=backend, n_jobs=2):
        assert one_by_one(model, X) == expected
        assert list(model.predict(X)) == expected


def test_what_a_model_keeps_does_not_hold_the_last_sentence(model):
    """Its rows would stay in memory as long as the model does."""
    model.predict(as_dicts(NEW))
    blank = model._prepared._kept.blank
    assert blank is not None
    assert blank.node_map is None
