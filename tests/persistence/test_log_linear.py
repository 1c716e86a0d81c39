"""Log-linear models in files, and the functions that files know by name alone."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_struct import LogLinearClassifier, ProductFeatures
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence import load, save
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays
from sklearn_struct.persistence.registry import estimator, put_estimator

X = ["cats", "dogs", "run", "sit", "bird"] * 2
Y = ["N", "N", "V", "V", "N", "N", "N", "V", "V", "V"]
TABLE = pd.DataFrame({"length": [4.0, 4, 3, 3, 4] * 2, "plural": [1.0, 1, 0, 0, 0] * 2})


def context(x):
    return {"any": 1, "ends=" + x[-1]: 1.0, "length": len(x) / 4}


def parts(y):
    return [y, "open"]


def keep(a, b):
    return a != "any" or b != "open"


def pairs(x, y):
    return [f"{x[-1]} {y}", f"{x[0]} {y}"]


def some(x):
    return ["N", "V"] if x != "run" else ["V"]


FUNCTIONS = {
    "context": context,
    "parts": parts,
    "keep": keep,
    "pairs": pairs,
    "some": some,
    "split": str.split,
}
MODELS = {
    "table": (LogLinearClassifier(C=2.0), TABLE),
    "array": (LogLinearClassifier(fit_intercept=False), TABLE.to_numpy()),
    "sparse weights": (LogLinearClassifier(ProductFeatures(context), l1_ratio=0.5), X),
    "labels": (LogLinearClassifier(ProductFeatures(context)), X),
    "parts": (LogLinearClassifier(ProductFeatures(context, parts, keep), fit_intercept=False), X),
    "function": (LogLinearClassifier(pairs, min_frequency=2), X),
    "candidates": (LogLinearClassifier(pairs, some, fit_intercept=True), X),
    "hashed": (LogLinearClassifier(ProductFeatures(context, parts), n_features=8), X),
    "methods": (LogLinearClassifier(ProductFeatures(str.split)), X),
}


def fitted(name):
    model, data = MODELS[name]
    return model.fit(data, Y), data


def names(model):
    return model.joint_feature_names_.tolist() if hasattr(model, "joint_feature_names_") else None


@pytest.mark.parametrize("name", MODELS)
def test_an_equal_estimator_comes_back(tmp_path, name):
    model, data = fitted(name)
    save(model, tmp_path / "model", functions=FUNCTIONS)
    loaded = load(tmp_path / "model", functions=FUNCTIONS)
    assert repr(loaded) == repr(model)
    assert vars(loaded).keys() == vars(model).keys()
    assert vars(loaded._form).keys() == vars(model._form).keys()
    assert loaded.predict_proba(data).tobytes() == model.predict_proba(data).tobytes()
    assert loaded.coef_.tobytes() == model.coef_.tobytes()
    assert loaded.intercept_.tobytes() == model.intercept_.tobytes()
    assert (loaded.classes_.tolist(), loaded.n_iter_) == (model.classes_.tolist(), model.n_iter_)
    assert (names(loaded), loaded.loss_curve_) == (names(model), model.loss_curve_)
    save(loaded, tmp_path / "again", functions=FUNCTIONS)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert loaded.fit(data, Y).loss_curve_ == model.loss_curve_


def test_the_last_step_of_a_pipeline(tmp_path):
    pipeline = make_pipeline("passthrough", LogLinearClassifier()).fit(TABLE, Y)
    save(pipeline, tmp_path / "model")
    assert load(tmp_path / "model").predict(TABLE).tolist() == pipeline.predict(TABLE).tolist()


@pytest.mark.parametrize(
    ("name", "functions", "said"),
    [
        ("function", None, "features: <function pairs"),
        ("labels", {}, "features.context: <function context"),
        (
            "parts",
            {"c": context, "l": parts},
            "it a name that save and load know, as in functions={'keep': keep}",
        ),
        ("candidates", {"pairs": pairs}, "candidates: <function some"),
    ],
)
def test_functions_need_names(tmp_path, name, functions, said):
    with pytest.raises(InputTypeError, match=re.escape(said)):
        save(fitted(name)[0], tmp_path / "model", functions=functions)
    assert not list(tmp_path.iterdir())


def test_load_needs_the_functions(tmp_path):
    save(fitted("candidates")[0], tmp_path / "model", functions=FUNCTIONS)
    with pytest.raises(
        ModelFileError, match="it needs the function 'some' that save knew: give it in `functions`"
    ):
        load(tmp_path / "model", functions={"pairs": pairs})


def test_a_function_that_was_replaced_after_fit(tmp_path):
    model = LogLinearClassifier(pairs).fit(X, Y).set_params(features=ProductFeatures(context))
    with pytest.raises(InputTypeError, match="fit again before you save"):
        save(model, tmp_path / "model", functions=FUNCTIONS)


def damage(name, change):
    """The model with one thing wrong."""
    shared = Shared(Arrays(), FUNCTIONS)
    stored = put_estimator(fitted(name)[0], "", shared)
    change(stored["state"], stored["state"]["learned"], shared.arrays)
    return stored, shared


def put(arrays, name, i, value):
    arrays[name] = arrays[name].copy()
    arrays[name][i] = value


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("table", lambda s, learned, a: s.update(form="products"), "is not the form of a model"),
        ("table", lambda s, learned, a: s.update(form="function"), "is not the form of a model"),
        ("table", lambda s, learned, a: s.update(form="x"), "is not the form of a model"),
        ("function", lambda s, learned, a: s.update(form="table"), "is not the form of a model"),
        ("table", lambda s, learned, a: s.update(n_iter=-1), "n_iter"),
        (
            "table",
            lambda s, learned, a: s.update(fit_intercept=False),
            "w must have 4 finite weights",
        ),
        ("table", lambda s, learned, a: learned.update(n_features=3), "2 names for 3 features"),
        ("array", lambda s, learned, a: learned.update(n_features=-1), "n_features"),
        ("array", lambda s, learned, a: put(a, "w", 0, np.nan), "finite weights"),
        ("labels", lambda s, learned, a: learned.update(spread=True), "no array 'pairs/indptr'"),
        (
            "parts",
            lambda s, learned, a: learned.update(spread=False),
            "3 parts of labels are not 2 labels",
        ),
        ("parts", lambda s, learned, a: put(a, "kept/indices", 0, 9), "ascending numbers below 3"),
        ("parts", lambda s, learned, a: put(a, "pairs/indices", 0, 2), "ascending numbers below 2"),
        ("parts", lambda s, learned, a: put(a, "pairs/indptr", -1, 1), "other bounds"),
        ("parts", lambda s, learned, a: put(a, "spread/indices", 0, -1), "ascending numbers below"),
        ("parts", lambda s, learned, a: put(a, "spread/data", 0, np.inf), "finite weights"),
        ("parts", lambda s, learned, a: learned.pop("label"), "must have the fields"),
        ("labels", lambda s, learned, a: learned["label"].update(names=None), "not both"),
        ("function", lambda s, learned, a: put(a, "columns", 0, 1000), "columns must be ascending"),
        (
            "candidates",
            lambda s, learned, a: put(a, "with_intercept", 1, 2),
            "ascending numbers below 2",
        ),
        ("candidates", lambda s, learned, a: s.update(fit_intercept=False), "there are intercepts"),
        (
            "hashed",
            lambda s, learned, a: learned["encoder"].update(n_features_out=2**31),
            "cannot be hashed",
        ),
        ("hashed", lambda s, learned, a: learned.update(encoder={}), "cannot be hashed"),
        ("hashed", lambda s, learned, a: learned.update(hashed=False), "cannot be hashed"),
    ],
)
def test_damaged_models_are_refused(name, change, said):
    stored, shared = damage(name, change)
    with pytest.raises(ModelFileError, match=re.escape(said)):
        estimator(stored, "", shared)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [("table", "candidates"), ("table", "n_features"), ("labels", "n_features")],
)
def test_parameters_of_another_form_are_refused(name, parameter):
    """Else the loaded model could not be saved again."""
    shared = Shared(Arrays(), FUNCTIONS)
    stored = put_estimator(fitted(name)[0], "", shared)
    stored["params"][parameter] = {"function": "context"} if parameter == "candidates" else 4
    with pytest.raises(ModelFileError, match=f"a model with {parameter}=.* is none of"):
        estimator(stored, "", shared)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"function": "other"}, "it needs the function 'other'"),
        ({"function": ["context"]}, "it needs the function"),
        ({"products": {}}, "ProductFeatures have a function of the context"),
        (
            {"products": [{"function": "context"}, None]},
            "ProductFeatures have a function of the context",
        ),
        ({"products": [None, None, None]}, "ProductFeatures have a function of the context"),
        (
            {"products": [{"function": "context"}, 3, None]},
            "ProductFeatures have a function of the context",
        ),
        ({"type": "float64"}, "is not the form of a model"),
        (3, "'features' parameter"),
    ],
)
def test_damaged_functions_are_refused(features, said):
    shared = Shared(Arrays(), FUNCTIONS)
    stored = put_estimator(fitted("labels")[0], "", shared)
    stored["params"]["features"] = features
    with pytest.raises(ModelFileError, match=re.escape(said)):
        estimator(stored, "", shared)
