"""Models over a base distribution in files."""

from __future__ import annotations

import re

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from sklearn_struct import HMM, FeatureTemplates, LinearChainCRF, MEstimatedCRF, SequenceArray
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence import load, save
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays
from sklearn_struct.persistence.registry import estimator, put_estimator

WORDS = [["the", "cat", "sleeps"], ["a", "dog"], ["the", "dog", "barks", "."], ["a", "cat", "."]]
TAGS = [
    ["DET", "NOUN", "VERB"],
    ["DET", "NOUN"],
    ["DET", "NOUN", "VERB", "."],
    ["DET", "NOUN", "."],
]
# a stream of numbers between two of values
ROWS = [[(word, len(word), word[0]) for word in words] for words in WORDS]
NUMBERS = [np.random.RandomState(len(words)).normal(size=(len(words), 2)) for words in WORDS]
NAMED = SequenceArray(np.concatenate(NUMBERS), np.cumsum([0, *map(len, WORDS)]), ["a\0b", ""])
TEMPLATES = ["w:%x[0,0]", "%x[-1,0]"]


def frozen(**options):
    return FrozenEstimator(HMM(**options).fit(WORDS, TAGS))


def public(model):
    """What was learned, but for estimators."""
    names = (
        "_w",
        "input_coef_",
        "constant_",
        "loss_curve_",
        "n_iter_",
        "t_",
        "n_features_in_",
        "classes_",
    )
    return [np.asarray(getattr(model, name)).tolist() for name in names]


@pytest.mark.parametrize(
    ("options", "X"),
    [
        ({}, WORDS),
        ({"features": TEMPLATES, "input_features": True, "base": "locally-uniform"}, WORDS),
        (
            {"features": tuple(TEMPLATES), "order": 2, "edge_features": "all", "constant": False},
            WORDS,
        ),
        (
            {
                "features": FeatureTemplates(TEMPLATES, boundary="pad"),
                "base": HMM(order=2, oov="smoothing"),
            },
            WORDS,
        ),
        (
            {
                "features": ["%x[0,0]/%x[0,2]"],
                "edge_features": [1],
                "memory": "nowhere",
                "inputs": "empirical",
            },
            ROWS,
        ),
        ({"order": 2, "input_features": True}, NUMBERS),
        ({"edge_features": ["a\0b"], "feature_pairs": "all"}, NAMED),
    ],
    ids=str,
)
def test_an_equal_estimator_comes_back(tmp_path, monkeypatch, options, X):
    monkeypatch.chdir(tmp_path)  # for `memory`
    model = MEstimatedCRF(**options).fit(X, TAGS)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert repr(loaded) == repr(model)
    assert vars(loaded).keys() == vars(model).keys()
    assert public(loaded) == public(model)
    for method in ("predict", "predict_proba", "predict_nbest", "score_samples"):
        assert repr(getattr(loaded, method)(X)) == repr(getattr(model, method)(X))
    assert loaded.score_samples(X).tobytes() == model.score_samples(X).tobytes()
    assert all(map(np.array_equal, loaded.predict_proba(X), model.predict_proba(X)))
    assert repr(loaded.base_.sample(2, 0)) == repr(model.base_.sample(2, 0))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


PAIRS = [("%x[0,0]", "%x[0,0]"), ("w:%x[0,0]", "%x[-1,0]")]


def test_pairs_at_any_distance_come_back(tmp_path):
    model = MEstimatedCRF(TEMPLATES, distant_pairs=PAIRS).fit(WORDS, TAGS)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert repr(loaded) == repr(model)
    assert vars(loaded).keys() == vars(model).keys()
    assert loaded.distant_names_ == model.distant_names_
    assert loaded.distant_coef_.tolist() == model.distant_coef_.tolist()
    assert loaded.log_joint(WORDS, TAGS).tolist() == model.log_joint(WORDS, TAGS).tolist()
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_it_can_be_fitted_again(tmp_path):
    model = MEstimatedCRF(FeatureTemplates(TEMPLATES), base=HMM(order=2)).fit(WORDS, TAGS)
    save(model, tmp_path / "model")
    assert (
        load(tmp_path / "model").fit(WORDS, TAGS)._w.tolist()
        == clone(model).fit(WORDS, TAGS)._w.tolist()
    )


def test_a_frozen_base_stays_the_fitted_one(tmp_path):
    model = MEstimatedCRF(TEMPLATES, base=frozen()).fit(WORDS, TAGS)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.base.estimator is loaded.base_
    assert clone(loaded).fit(WORDS, TAGS)._w.tolist() == model._w.tolist()


def test_the_last_step_of_a_pipeline_and_rows_of_a_table(tmp_path):
    X = np.concatenate(NUMBERS)
    y = np.concatenate(TAGS)
    pipeline = make_pipeline("passthrough", MEstimatedCRF()).fit(X, y)
    save(pipeline, tmp_path / "model")
    assert load(tmp_path / "model").predict(X).tolist() == pipeline.predict(X).tolist()


def test_names_are_those_of_the_templates(tmp_path):
    model = MEstimatedCRF(TEMPLATES).fit(WORDS, TAGS)
    names = model.feature_names_in_.tolist()  # they are an array from now on
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded._names_in is loaded.features_._learnt
    assert loaded.feature_names_in_.tolist() == names


# ---------------------------------------------------------------- what cannot be saved


class Given(BaseEstimator):
    """A base by the protocol."""

    def fit(self, X, y):
        self.classes_ = np.unique(np.concatenate(y))
        return self

    def chain_scores(self, X):
        return [(np.zeros((len(x), 4)), np.zeros((max(len(x) - 1, 0), 4, 4))) for x in X]

    def sample(self, n_samples, random_state):
        raise NotImplementedError


class Lengths(BaseEstimator):
    """Features that are no templates."""

    def fit_transform(self, X, y=None):
        return [np.array([[len(word)] for word in x]) for x in X]

    def transform(self, X):
        return self.fit_transform(X)


@pytest.mark.parametrize(
    ("options", "changed", "said"),
    [
        ({"base": Given()}, {}, "base: Given() (Given) cannot be saved"),
        (
            {"base": FrozenEstimator(Given().fit(WORDS, TAGS))},
            {},
            "a model over a Given cannot be saved",
        ),
        ({"features": Lengths()}, {}, "features: Lengths() (Lengths) cannot be saved"),
        ({"features": Lengths()}, {"features": None}, "features of a Lengths cannot be saved"),
        (
            {},
            {"base": LinearChainCRF(random_state=np.random.RandomState(0))},
            "base.random_state: RandomState",
        ),
        ({}, {"base": frozen()}, "the frozen base is another one than in fit"),
        (
            {},
            {"memory": joblib.Memory(None)},
            "memory: Memory(location=None) (Memory) cannot be saved",
        ),
        ({}, {"base": HMM(random_state=np.random.RandomState(0))}, "random_state: RandomState"),
    ],
)
def test_what_cannot_be_saved(tmp_path, options, changed, said):
    model = MEstimatedCRF(**{"features": TEMPLATES, **options}, inputs="empirical").fit(WORDS, TAGS)
    with pytest.raises(InputTypeError, match=re.escape(said)):
        save(model.set_params(**changed), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_attributes_that_were_changed(tmp_path):
    model = MEstimatedCRF(TEMPLATES).fit(WORDS, TAGS)
    model.constant_ = np.nan
    with pytest.raises(ModelFileError, match="constant must have 1 finite weights"):
        save(model, tmp_path / "model")


# ---------------------------------------------------------------- what cannot be loaded


def parts(X, **options):
    shared = Shared(Arrays())
    return put_estimator(MEstimatedCRF(**options).fit(X, TAGS), "", shared), shared


def other_labels(state, arrays):
    arrays["base/labels"] = arrays["base/labels"] + np.uint32(1)


VECTORIZER = {
    "class": "SequenceVectorizer",
    "params": {"n_features": 9},
    "state": {"names": None, "n_features_out": None},
}


def of_another_class(state, arrays):
    """A vectorizer in the place of templates."""
    state["features"] = VECTORIZER


def with_a_stream(state, arrays):
    state["chain"]["stream"] = {"solver": "pa", "n": 1, "step": 1.0}
    arrays["last_w"] = arrays["w"]


def with_templates(*pairs):
    return lambda state, arrays: state["distant"].update(templates=[list(pair) for pair in pairs])


def of_pairs(change):
    """Changes the numbers of pairs."""

    def changed(state, arrays):
        pairs = arrays["pairs"].reshape(-1, 4).copy()
        change(pairs)
        arrays["pairs"] = pairs.ravel()

    return changed


def with_inputs(size):
    return lambda state, arrays: arrays.update(inputs=np.ones(size))


@pytest.mark.parametrize(
    ("X", "options", "change", "said"),
    [
        (
            WORDS,
            {},
            lambda s, a: s.pop("base"),
            "the model must have the fields features, base, chain",
        ),
        (WORDS, {}, lambda s, a: s.update(base=s["features"]), "a base must be an HMM"),
        (WORDS, {}, of_another_class, "features those of FeatureTemplates"),
        (WORDS, {}, other_labels, "other labels"),
        (WORDS, {}, lambda s, a: s["base"]["state"].update(labels=TAGS[2]), "must be sorted"),
        (
            WORDS,
            {"base": HMM(order=2)},
            lambda s, a: a.pop("order"),
            "of order 1 has a base of order 2",
        ),
        (WORDS, {}, with_a_stream, "neither a stream nor a vectorizer"),
        (WORDS, {}, lambda s, a: s.update(features=None), "1 streams are not the 6 features"),
        (
            NUMBERS,
            {},
            lambda s, a: s["base"]["state"]["vocabularies"].append([]),
            "no array 'base/emission/2'",
        ),
        (WORDS, {}, lambda s, a: s["chain"].update(names=None), "do not give the names"),
        (WORDS, {}, with_inputs(5), "inputs must have 6 finite weights"),
        (WORDS, {}, with_inputs((2, 3)), "no array 'inputs' of 1 dimensions"),
        (
            WORDS,
            {},
            lambda s, a: a.update(constant=np.array([np.inf])),
            "constant must have 1 finite weights",
        ),
        (
            WORDS,
            {},
            lambda s, a: a.update(constant=np.zeros(2)),
            "constant must have 1 finite weights",
        ),
        (
            WORDS,
            {},
            lambda s, a: s["base"]["state"].update(kind="values", vocabularies=[]),
            "single values",
        ),
        (NUMBERS, {}, lambda s, a: s["base"]["state"].update(kind="values"), "one stream, not 2"),
    ],
)
def test_damaged_models_are_refused(X, options, change, said):
    stored, shared = parts(X, **options)
    change(stored["state"], shared.arrays)
    with pytest.raises(ModelFileError, match=re.escape(said)):
        estimator(stored, "", shared)


NOT_OF_TEMPLATES = "distant pairs are not of the templates that encode them"
NOT_ASCENDING = "distant pairs must be ascending, of known features and labels"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s, a: s["distant"].pop("templates"), "must have the fields encoder, templates"),
        (with_templates(), NOT_OF_TEMPLATES),
        (with_templates(["%x[0,0]", "%x[1,0]"]), NOT_OF_TEMPLATES),
        (with_templates(["%x[0,0]"]), "must be a list of pairs of templates"),
        (lambda s, a: s["distant"].update(encoder=VECTORIZER), NOT_OF_TEMPLATES),
        (lambda s, a: a.update(pairs=a["pairs"][:-4]), "distant must have"),
        (lambda s, a: a.update(distant=a["distant"] * np.nan), "finite weights"),
        (lambda s, a: a.update(pairs=a["pairs"][:-1], distant=a["distant"][1:]), NOT_ASCENDING),
        (of_pairs(lambda pairs: pairs[-1].put(0, 999)), NOT_ASCENDING),
        (of_pairs(lambda pairs: pairs[0].put(0, -1)), NOT_ASCENDING),
        (of_pairs(lambda pairs: pairs[-1].put(3, 4)), NOT_ASCENDING),
        (of_pairs(lambda pairs: pairs[:2].put(range(4), pairs[1])), NOT_ASCENDING),
    ],
)
def test_damaged_pairs_at_any_distance_are_refused(change, said):
    stored, shared = parts(WORDS, features=TEMPLATES, distant_pairs=PAIRS)
    change(stored["state"], shared.arrays)
    with pytest.raises(ModelFileError, match=re.escape(said)):
        estimator(stored, "", shared)


def test_templates_of_other_columns():
    stored, shared = parts(ROWS, features=["%x[0,0]"])
    other = Shared(Arrays())
    stored["state"]["base"] = put_estimator(HMM().fit(WORDS, TAGS), "base/", other)
    shared.arrays.update(other.arrays)
    with pytest.raises(ModelFileError, match="of 3 columns, the model has 6 of 1"):
        estimator(stored, "", shared)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("features", {"estimator": {"class": "HMM", "params": {}}}, "The 'features' parameter"),
        ("base", {"estimator": {"class": "HMM", "params": {"order": 3}}}, "'order' parameter"),
        ("base", {"estimator": {"class": "HMM"}}, "must have the fields class, params"),
        ("base", {"frozen": "another"}, "unknown kind of value: frozen"),
        ("memory", {"frozen": "base_"}, "unknown kind of value: frozen"),
        ("memory", {"estimator": {"class": "HMM", "params": {}}}, "The 'memory' parameter"),
    ],
)
def test_damaged_parameters_are_refused(name, value, said):
    stored, shared = parts(WORDS)
    stored["params"][name] = value
    with pytest.raises(ModelFileError, match=re.escape(said)):
        estimator(stored, "", shared)
