"""Estimators that consist of others in files."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz import files
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_struct import (
    FeatureTemplates,
    LinearChainCRF,
    PrototypeFeatures,
    SequenceUnion,
    SequenceVectorizer,
    TokenTransformer,
)
from sklearn_struct.compat import CRF
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence import load, save

WORDS = files.WORDS
TAGS = files.TAGS
NUMBERS = files.NUMBERS
QUICK = {"max_iter": 5, "tol": 9.0}


def there_and_back(estimator, folder, functions=None):
    save(estimator, folder / "model", functions=functions)
    return load(folder / "model", functions=functions)


def describe(X):
    return [[{"word": word, "first": word[0]} for word in sentence] for sentence in X]


def lengths(X):
    return [np.array([[float(len(word))] for word in sentence]) for sentence in X]


FUNCTIONS = {"describe": describe, "lengths": lengths}


def nested():
    union = SequenceUnion(
        [("word", SequenceVectorizer()), ("like", PrototypeFeatures(["the", "cat"]))]
    )
    return make_pipeline(
        make_pipeline(make_pipeline(union)), make_pipeline("passthrough", LinearChainCRF(**QUICK))
    )


@pytest.mark.parametrize(
    ("make", "X"),
    [
        (nested, WORDS),
        (
            lambda: make_pipeline(
                FunctionTransformer(describe), SequenceVectorizer(), LinearChainCRF(**QUICK)
            ),
            WORDS,
        ),
        (
            lambda: make_pipeline(TokenTransformer(StandardScaler()), LinearChainCRF(**QUICK)),
            NUMBERS,
        ),
        (
            lambda: make_pipeline(
                SequenceUnion(
                    [
                        ("n", FunctionTransformer(lengths)),
                        ("t", FeatureTemplates(["%x[0,0]"])),
                        ("no", "drop"),
                    ]
                ),
                LinearChainCRF(**QUICK),
            ),
            [[(word,) for word in sentence] for sentence in WORDS],
        ),
        (
            lambda: make_pipeline(
                SequenceUnion(
                    [("as it is", "passthrough"), ("scaled", TokenTransformer(StandardScaler()))]
                )
            ),
            NUMBERS,
        ),
    ],
)
def test_an_equal_one_comes_back(tmp_path, make, X):
    model = make().fit(X, TAGS)
    loaded = there_and_back(model, tmp_path, FUNCTIONS)
    assert repr(loaded) == repr(model)
    if hasattr(model, "predict_proba"):
        assert all(map(np.array_equal, loaded.predict_proba(X), model.predict_proba(X)))
        clone(loaded).fit(X, TAGS)
    else:
        assert loaded.transform(X) == model.transform(X)


def test_a_union_keeps_its_names(tmp_path):
    model = nested().fit(WORDS, TAGS)
    loaded = there_and_back(model, tmp_path)
    names = loaded[-1][-1].feature_names_in_.tolist()
    assert names == model[-1][-1].feature_names_in_.tolist()
    assert names[-2:] == ["like__prototype=the", "like__prototype=cat"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_drop_in_of_crfsuite(tmp_path):
    model = CRF(algorithm="lbfgs", c1=0.1, max_iterations=5).fit(files.DICTS, TAGS)
    loaded = there_and_back(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    assert loaded.predict(files.DICTS).tolist() == model.predict(files.DICTS).tolist()
    assert (
        loaded.predict_marginals(files.DICTS).tolist()
        == model.predict_marginals(files.DICTS).tolist()
    )
    assert loaded.state_features_ == model.state_features_
    assert loaded.transition_features_ == model.transition_features_


def test_files_from_before_a_pipeline_had_more_parameters_than_one(tmp_path):
    path = tmp_path / "model"
    model = make_pipeline(SequenceVectorizer(), LinearChainCRF(**QUICK)).fit(WORDS, TAGS)
    save(model, path)
    change(path, lambda estimator: estimator.update(params={"verbose": True}))
    loaded = load(path)
    assert loaded.verbose is True
    assert loaded.predict(WORDS).tolist() == model.predict(WORDS).tolist()


def change(path, how):
    """Change the JSON of a file, under the right checksum."""
    header, model, arrays = files.taken_apart(path.read_bytes())
    how(model["estimator"])
    path.write_bytes(files.sealed(files.put_together(header, model, arrays)))


def in_pipelines(model, n):
    for _ in range(n):
        model = Pipeline([("inner", model)])
    return model


def test_pipelines_of_pipelines_have_an_end(tmp_path):
    vectorizer = SequenceVectorizer().fit(WORDS)
    loaded = there_and_back(in_pipelines(vectorizer, 8), tmp_path)
    assert loaded.transform(WORDS) == vectorizer.transform(WORDS)
    with pytest.raises(InputTypeError, match="inside each other"):
        save(in_pipelines(vectorizer, 9), tmp_path / "model")

    def deeper(estimator):
        inner = dict(estimator)
        estimator.update(state=[["one more", inner]])

    change(tmp_path / "model", deeper)
    with pytest.raises(ModelFileError, match="inside each other"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (lambda pipeline: pipeline["state"].pop(1), "an array too many"),
        (lambda pipeline: pipeline["state"].reverse(), "no array|too many"),
        (lambda pipeline: pipeline["state"].clear(), "its parts are a list"),
        (lambda pipeline: pipeline["state"][0].pop(), "pairs of a name"),
        (lambda pipeline: pipeline["state"][0].__setitem__(0, "a__b"), "two underscores"),
        (lambda pipeline: pipeline["state"][1].__setitem__(0, "sequencevectorizer"), "must differ"),
        (lambda pipeline: pipeline["params"].update(memory="folder"), "memory must be None"),
        (lambda pipeline: pipeline["params"].update(steps=[]), "has steps that are not fitted"),
    ],
)
def test_pipelines_that_scikit_learn_could_not_use(tmp_path, how, said):
    path = tmp_path / "model"
    save(make_pipeline(SequenceVectorizer(), LinearChainCRF(**QUICK)).fit(WORDS, TAGS), path)
    change(path, how)
    with pytest.raises(ModelFileError, match=said):
        load(path)


def test_a_union_of_models_is_none(tmp_path):
    path = tmp_path / "model"
    save(SequenceUnion([("words", SequenceVectorizer())]).fit(WORDS), path)
    save(LinearChainCRF(**QUICK).fit(NUMBERS, TAGS), tmp_path / "crf")
    _, other, _ = files.taken_apart((tmp_path / "crf").read_bytes())
    change(path, lambda union: union["state"][0].__setitem__(1, other["estimator"]))
    with pytest.raises(ModelFileError, match=r"no array|names"):
        load(path)
    change(path, lambda union: union["state"][0].__setitem__(1, "drop"))
    with pytest.raises(ModelFileError, match="no transformer"):
        load(path)


@pytest.mark.parametrize(
    "wrong", [StandardScaler(), ["a", 1], [("a",)], {None: "a"}, 1.0, [(1, SequenceVectorizer())]]
)
def test_parts_that_were_changed_to_what_are_none(tmp_path, wrong):
    fitted = SequenceVectorizer().fit(WORDS)
    union = SequenceUnion([("words", fitted)])
    pipeline = Pipeline([("words", fitted)])
    union.transformer_list = pipeline.steps = wrong
    for model in (union, pipeline):
        with pytest.raises(
            (InputTypeError, ModelFileError, NotFittedError), match=r"pairs|not fitted"
        ):
            save(model, tmp_path / "model")
