"""Round trips through files, and what `save` and `load` refuse."""

from __future__ import annotations

import copy
import os
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from fuzz import files
from fuzz.subjects import letters, pairs, subjects
from public_estimators import public_classes
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import QuantileTransformer
from versions.data import Data
from versions.outcomes import answers, learned

from sklearn_struct import (
    GECRF,
    MEMM,
    FeatureTemplates,
    LinearChainCRF,
    PiecewiseCRF,
    PseudoLikelihoodCRF,
    SequenceArray,
    SequenceVectorizer,
)
from sklearn_struct.containers.csr import CSR
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence import from_crfsuite, load, save
from sklearn_struct.persistence.known_classes import known_names, state_named

WORDS = [["the", "cat", "sleeps"], ["a", "dog"], ["the", "dog", "barks", "."], ["a", "cat", "."]]
TAGS = [
    ["DET", "NOUN", "VERB"],
    ["DET", "NOUN"],
    ["DET", "NOUN", "VERB", "."],
    ["DET", "NOUN", "."],
]
DICTS = [
    [{"word": word, "length": len(word) / 3, "s": word.endswith("s")} for word in words]
    for words in WORDS
]
NUMBERS = [np.random.RandomState(len(words)).normal(size=(len(words), 3)) for words in WORDS]
SPARSE = [sp.csr_array(np.round(array)) for array in NUMBERS]
NAMED = SequenceArray(
    np.concatenate(NUMBERS), np.cumsum([0, *map(len, WORDS)]), ["a\0b", "\udc80\ud83d\ude00", ""]
)
ROWS = [[(word, word[0]) for word in words] for words in WORDS]


def there_and_back(estimator, folder):
    save(estimator, folder / "model")
    return load(folder / "model")


def same(a, b):
    """Equal, arrays bit by bit; numbers and strings of numpy may become Python's."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()
    if isinstance(a, CSR):
        return same(a[:2], b[:2])  # the data of pairs are not used
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "get_params"):
        return (
            type(a) is type(b)
            and vars(a).keys() == vars(b).keys()
            and same(list(vars(a).values()), in_order(b, a))
        )
    return bool(a == b)


def in_order(b, a):
    return [vars(b)[name] for name in vars(a)]


@pytest.mark.parametrize(
    ("options", "X"),
    [
        ({}, WORDS),
        ({"min_frequency": 2, "C": 10}, DICTS),
        ({"dtype": "float32", "edge_features": ["word:the", 1]}, DICTS),
        ({"edge_features": "all", "feature_pairs": "all"}, DICTS),
        ({"transition_features": "observed", "fit_intercept": False}, NUMBERS),
        ({"C": np.inf, "max_iter": 3, "tol": 10.0, "edge_features": (0, np.int64(2))}, NUMBERS),
        ({"l1_ratio": 1.0, "C": np.float64(0.5), "random_state": np.int64(3)}, SPARSE),
        ({"edge_features": np.array(["", "a\0b"], dtype=object)}, NAMED),
        ({"solver": "pa", "random_state": 0, "tol": 1.0}, SPARSE),
        ({"loss": "pointwise", "class_weight": {"DET": 2.0, "NOUN": 0.5}}, NUMBERS),
        ({"class_weight": "balanced", "loss": "pointwise"}, WORDS),
        (
            {
                "allowed_transitions": {None: ["VERB"], "DET": ["DET", None]},
                "constrain_training": True,
            },
            DICTS,
        ),
        ({"allowed_transitions": np.ones((4, 4), dtype=bool)}, DICTS),
        ({"order": 2, "transition_features": "observed"}, WORDS),
        ({"order": 2, "edge_features": "all"}, DICTS),
        ({"order": 2, "edge_features": [1]}, NUMBERS),
    ],
)
def test_an_equal_estimator_comes_back(tmp_path, options, X):
    crf = LinearChainCRF(**options).fit(X, TAGS)
    loaded = there_and_back(crf, tmp_path)
    assert same(crf, loaded)
    for method in ("predict", "predict_proba", "predict_edge_proba", "predict_nbest"):
        assert repr(getattr(crf, method)(X)) == repr(getattr(loaded, method)(X))
    assert all(map(np.array_equal, crf.predict_proba(X), loaded.predict_proba(X)))
    again = loaded.fit(X, TAGS)
    assert same(again._w, clone(crf).fit(X, TAGS)._w)


@pytest.mark.parametrize(
    "options",
    [
        {
            "labeled_features": {"word:the": "DET", None: {"DET": 0.5, "NOUN": 0.5}},
            "classes": [".", "DET", "NOUN", "VERB"],
        },
        {
            "labeled_features": {"word:the": Counter(DET=3, NOUN=1), 1: ("DET", "NOUN")},
            "target_weight": {1: 2.0},
        },
        {
            "labeled_features": {"word:the": "DET"},
            "distance": "posterior",
            "solver": "em",
        },
        {
            "annealing": (0.1,),
            "n_restarts": 1,
            "random_state": 0,
            "entropy_weight": 0.01,
            "order": 2,
        },
    ],
)
def test_labelled_features(tmp_path, options):
    y = [None, *TAGS[1:]]
    model = GECRF(**options).fit(DICTS, y)
    loaded = there_and_back(model, tmp_path)
    assert loaded.targets_ == model.targets_
    assert same(loaded.predict(DICTS), model.predict(DICTS))
    assert all(map(np.array_equal, model.predict_proba(DICTS), loaded.predict_proba(DICTS)))
    np.testing.assert_array_equal(loaded.fit(DICTS, y)._w, clone(model).fit(DICTS, y)._w)


@pytest.mark.parametrize(
    "model",
    [
        MEMM(decoder="beam", beam_width=2, edge_features="all"),
        PseudoLikelihoodCRF(block_size=np.int64(2), l1_ratio=0.5),
        PiecewiseCRF(piece_size=3, dtype="float32"),
        PiecewiseCRF(solver="sgd", random_state=0, tol=0.5),
        MEMM(order=2, decoder="greedy"),
        LinearChainCRF(loss="hinge", random_state=0),
        PseudoLikelihoodCRF(order=2, edge_features="all"),
        PiecewiseCRF(order=2, transition_features="observed"),
    ],
)
def test_chains_of_other_classes(tmp_path, model):
    model.fit(DICTS, TAGS)
    loaded = there_and_back(model, tmp_path)
    assert type(loaded) is type(model)
    assert same(model, loaded)
    assert same(loaded.predict(DICTS), model.predict(DICTS))
    assert all(map(np.array_equal, model.predict_proba(DICTS), loaded.predict_proba(DICTS)))


def test_two_dimensional_X(tmp_path):
    X = np.concatenate(NUMBERS)
    y = np.concatenate(TAGS)
    crf = LinearChainCRF().fit(X, y)
    assert same(there_and_back(crf, tmp_path).predict(X), crf.predict(X))


@pytest.mark.parametrize("solver", ["ap", "pa", "sgd"])
def test_partial_fit_goes_on(tmp_path, solver):
    X = SequenceVectorizer(n_features=32).fit_transform(WORDS)
    crf = LinearChainCRF(solver=solver, random_state=0, feature_pairs="all").partial_fit(
        X, TAGS, sorted(TAGS[2])
    )
    loaded = there_and_back(crf, tmp_path)
    assert not hasattr(loaded, "loss_curve_")
    assert same(loaded._w, crf._w)
    for _ in range(2):
        crf.partial_fit(X, TAGS)
        loaded.partial_fit(X, TAGS)
        assert same(loaded._w, crf._w)
        assert same(loaded._stream, crf._stream)
    assert (loaded.t_, loaded.n_iter_) == (crf.t_, crf.n_iter_)


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "c\0d", "\ud800", "\ud83d\ude00", "😀", ""],
        [b"x", b"a\0b", b"\xff"],
        [3, -1, 2**62],
        [0.1, -np.inf, 1e-310],
        [True, False],
        [2**70, -1],
        [("a", 1), ("a", 2.5), ("b", (True, None))],
        np.array([1, 5, 3], dtype=np.uint8),
        np.array([0.5, 0.25], dtype=np.float32),
    ],
)
def test_labels_of_any_kind(tmp_path, labels):
    crf = LinearChainCRF(max_iter=1, tol=10.0).fit(
        [[str(i)] for i in range(len(labels))], [[label] for label in labels]
    )
    loaded = there_and_back(crf, tmp_path)
    assert same(loaded.classes_, crf.classes_)
    assert list(map(type, loaded.classes_.tolist())) == list(map(type, crf.classes_.tolist()))
    X = [[str(i) for i in range(len(labels))]]
    assert same(loaded.predict(X)[0], crf.predict(X)[0])


def test_types_of_arrays_of_labels(tmp_path):
    crf = LinearChainCRF().fit(NUMBERS, TAGS)
    for dtype in (np.int16, np.uint32, np.float32, "U7", "S3"):
        crf.classes_ = np.array([2, 3, 4, 5]).astype(dtype)
        assert same(there_and_back(crf, tmp_path).classes_, crf.classes_)


@pytest.mark.parametrize(
    "vectorizer",
    [
        SequenceVectorizer(),
        SequenceVectorizer(min_frequency=2, separator="\ud800\udc00", dtype="float32"),
        SequenceVectorizer(dtype=np.float32),
        SequenceVectorizer(dtype=float),
        SequenceVectorizer(n_features=8, dtype=np.dtype("float32")),
    ],
)
def test_vectorizers(tmp_path, vectorizer):
    fitted = vectorizer.fit(DICTS)
    loaded = there_and_back(fitted, tmp_path)
    assert loaded.get_params() == fitted.get_params()
    assert loaded.transform(DICTS) == fitted.transform(DICTS)
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    assert loaded.n_features_out_ == fitted.n_features_out_


def test_a_vectorizer_that_needs_no_fit(tmp_path):
    loaded = there_and_back(SequenceVectorizer(n_features=9), tmp_path)
    assert loaded.transform(WORDS) == SequenceVectorizer(n_features=9).transform(WORDS)


@pytest.mark.parametrize(
    ("options", "X"),
    [
        ({"templates": "w:%x[0,0]\n%x[-1,0]/%x[0,1]|%x[1,0]"}, ROWS),
        (
            {
                "templates": ["%x[-2,0]", "b:%x[1,tag]"],
                "columns": ["word", "tag"],
                "boundary": "pad",
            },
            ROWS,
        ),
        ({"add_bos_eos": True, "min_frequency": 2}, ROWS),
        (
            {"templates": ["%x[0,0]/%x[1,0]"]},
            [[(1,), ("1",), (2.5,), (None,)], [((1, 2),), (np.inf,), ("\ud800",)]],
        ),
    ],
)
def test_templates(tmp_path, options, X):
    fitted = FeatureTemplates(**options).fit(X)
    loaded = there_and_back(fitted, tmp_path)
    assert loaded.get_params() == fitted.get_params()
    assert loaded.transform(X) == fitted.transform(X)
    assert same(loaded.get_feature_names_out(), fitted.get_feature_names_out())
    assert (loaded.n_columns_, loaded.n_features_out_) == (
        fitted.n_columns_,
        fitted.n_features_out_,
    )


def test_templates_whose_combinations_need_several_stages(tmp_path):
    X = [[(str(t % 97),) for t in range(400)]]
    fitted = FeatureTemplates(["/".join(f"%x[{o},0]" for o in range(-5, 6))]).fit(X)
    assert fitted._learnt.stages[0]
    loaded = there_and_back(fitted, tmp_path)
    assert loaded.transform(X) == fitted.transform(X)
    assert same(loaded.get_feature_names_out(), fitted.get_feature_names_out())


@pytest.mark.parametrize(
    ("encoder", "X"),
    [
        (SequenceVectorizer(), DICTS),
        (FeatureTemplates(["%x[0,0]"]), ROWS),
        ("passthrough", NUMBERS),
    ],
)
def test_pipelines(tmp_path, encoder, X):
    pipeline = make_pipeline(encoder, LinearChainCRF(C=5), verbose=False).fit(X, TAGS)
    loaded = there_and_back(pipeline, tmp_path)
    assert all(map(np.array_equal, loaded.predict_proba(X), pipeline.predict_proba(X)))
    assert [name for name, _ in loaded.steps] == [name for name, _ in pipeline.steps]
    # one and the same names, as in a fitted pipeline, so that nothing compares them
    if encoder != "passthrough":
        assert loaded[-1]._names_in is vars(loaded[0]).get("_names", vars(loaded[0]).get("_learnt"))
        assert same(loaded[-1].feature_names_in_, pipeline[-1].feature_names_in_)


def test_a_model_of_templates_alone_keeps_their_names(tmp_path):
    templates = FeatureTemplates(["%x[0,0]"]).fit(ROWS)
    crf = LinearChainCRF().fit(templates.transform(ROWS), TAGS)
    loaded = there_and_back(crf, tmp_path)
    assert same(loaded.feature_names_in_, crf.feature_names_in_)
    assert same(loaded.predict(templates.transform(ROWS)), crf.predict(templates.transform(ROWS)))


@pytest.mark.parametrize("encoder", [SequenceVectorizer(), FeatureTemplates(["%x[0,0]"])])
def test_names_that_have_been_asked_for(tmp_path, encoder):
    """They are then an array, which stands for the same names."""
    crf = LinearChainCRF().fit(WORDS, TAGS)
    names = crf.feature_names_in_.tolist()
    for copied in (crf, copy.deepcopy(crf)):
        loaded = there_and_back(copied, tmp_path)
        assert loaded._names_in is loaded.vectorizer_._names
        assert loaded.feature_names_in_.tolist() == names
    pipeline = make_pipeline(encoder, LinearChainCRF()).fit(ROWS, TAGS)
    names = pipeline[-1].feature_names_in_.tolist()
    for copied in (pipeline, copy.deepcopy(pipeline)):
        loaded = there_and_back(copied, tmp_path)
        assert loaded[-1].feature_names_in_.tolist() == names
        assert loaded.predict(ROWS).tolist() == pipeline.predict(ROWS).tolist()


def test_all_public_estimators_can_be_saved_and_their_forms_are_fuzzed():
    public = {cls.__name__ for cls in public_classes()}
    assert public <= set(known_names())
    fuzzed = {
        name
        for data, _ in files.originals()
        for name in public
        if f'\\"class\\":\\"{name}\\"'.encode() in data
    }
    # not each class: those that share a state have files of one form
    assert set(map(state_named, fuzzed)) == set(map(state_named, public))


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_whatever_a_class_learns_is_in_its_file(cls, tmp_path):
    """Also in that of a class whose state is the one of its base."""
    for one in subjects(cls):
        model = one.fitted()
        functions = {"letters": letters, "pairs": pairs}
        save(model, tmp_path / "model", functions=functions)
        loaded = load(tmp_path / "model", functions=functions)
        data = Data(one.X, one.y, one.X, one.y)
        before, after = (learned(one) | answers(one, data) for one in (model, loaded))
        assert {key: value.digest for key, value in after.items()} == {
            key: value.digest for key, value in before.items()
        }


def test_the_same_model_gives_the_same_bytes(tmp_path):
    crf = LinearChainCRF().fit(DICTS, TAGS)
    save(crf, tmp_path / "first")
    save(load(tmp_path / "first"), str(tmp_path / "second"))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


# ---------------------------------------------------------------- what cannot be saved


def fitted(**options):
    return LinearChainCRF(**options).fit(WORDS, TAGS)


class Mine(LinearChainCRF):
    """Of a user."""


def without_memory(**options):
    return Pipeline([("crf", fitted())], **options)


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (LinearChainCRF(), NotFittedError, "not fitted"),
        (SequenceVectorizer(), NotFittedError, "not fitted"),
        (make_pipeline(SequenceVectorizer(), LinearChainCRF()), NotFittedError, "not fitted"),
        (Mine().fit(WORDS, TAGS), InputTypeError, "Mine cannot be saved"),
        ("a model", InputTypeError, "str cannot be saved"),
        (
            QuantileTransformer(n_quantiles=3).fit(NUMBERS[0]),
            InputTypeError,
            "QuantileTransformer cannot be saved",
        ),
        (make_pipeline(without_memory(memory="folder")), InputTypeError, "memory cannot be saved"),
        (without_memory(memory="folder"), InputTypeError, "memory cannot be saved"),
        (
            fitted(random_state=np.random.RandomState(0)),
            InputTypeError,
            "random_state: RandomState",
        ),
        (
            LinearChainCRF().fit([["a"], ["b"]], [[Decimal(1)], [Decimal(2)]]),
            InputTypeError,
            "label Decimal",
        ),
        (
            LinearChainCRF().fit(SequenceArray(np.eye(2), [0, 2], [7, 8]), TAGS[1:2]),
            InputTypeError,
            "feature name 0: 7",
        ),
        (
            fitted().set_params(allowed_transitions=np.datetime64("NaT", "s")),
            ValueError,
            "allowed_transitions. parameter of",
        ),
        (fitted().set_params(C=-1), ModelFileError, "cannot be saved: The 'C' parameter"),
        (FeatureTemplates(["%x[0,0]"]).fit([[(Decimal(1),)]]), InputTypeError, "column 0: Decimal"),
        (
            FeatureTemplates(["%x[99999,0]"], boundary="pad").fit([[("a",)]]),
            InputTypeError,
            "10000 tokens away",
        ),
    ],
)
def test_what_cannot_be_saved(tmp_path, estimator, error, message):
    (tmp_path / "model").write_bytes(b"as before")
    with pytest.raises(error, match=message):
        save(estimator, tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_bytes() == b"as before"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"_w": np.full(15, np.nan)}, "finite"),
        ({"_w": np.zeros(3)}, "finite weights"),
        ({"classes_": np.array(["b", "a"])}, "sorted"),
        ({"classes_": np.array(["2020-01-01"], dtype="M8[D]")}, "datetime64"),
    ],
)
def test_changed_attributes_are_not_saved(tmp_path, change, message):
    crf = fitted()
    vars(crf).update(change)
    with pytest.raises((ModelFileError, InputTypeError), match=message):
        save(crf, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_without_the_extra(tmp_path, monkeypatch):
    crf = fitted()
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"sklearn-struct\[persistence\]"):
        save(crf, tmp_path / "model")
    (tmp_path / "model").write_bytes(b"")
    with pytest.raises(ImportError, match=r"sklearn-struct\[persistence\]"):
        load(tmp_path / "model")


# ---------------------------------------------------------------- what cannot be loaded


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["format"], 3, "format 3, of a later version"),
        (["format"], 0, "unknown format 0"),
        (["format"], "1", "format cannot be of type str"),
        (["names"], ["vocabulary", "vocabulary"], "no array 'names/1/utf8'"),
        (["names"], [], "no such names"),
        (["estimator", "class"], "os.system", "unknown class"),
        (["estimator", "params", "C"], -1.0, "'C' parameter"),
        (["estimator", "params", "C"], {"type": "os"}, "unknown kind of value: type"),
        (["estimator", "params", "more"], 1, "no parameter 'more'"),
        (["estimator", "state", "labels"], ["B", "A"], "sorted"),
        (["estimator", "state", "labels"], "f", "array 'labels'"),
        (["estimator", "state", "n_features"], 2**80, "not a number of things"),
        (["estimator", "state", "n_features"], 2**40, "other bounds"),
        (["estimator", "state", "node"], False, "must have"),
        (["estimator", "state", "fit_intercept"], 1, "fit_intercept cannot be of type int"),
        (["estimator", "state", "loss_curve"], False, "an array too many: 'loss_curve'"),
        (["estimator", "state", "stream"], {}, "no array 'last_w'"),
        (["estimator", "state", "t"], -1, "not a number of things: -1"),
        (["estimator"], {}, "an estimator must have the fields"),
    ],
)
def test_hostile_json_under_the_right_checksum(tmp_path, place, value, message):
    save(fitted(), tmp_path / "model")
    header, model, arrays = files.taken_apart((tmp_path / "model").read_bytes())
    inside = model
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    (tmp_path / "model").write_bytes(files.sealed(files.put_together(header, model, arrays)))
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "model")


@pytest.mark.parametrize("what", ["", ".", "folder"])
def test_paths_that_are_no_files(tmp_path, what):
    with pytest.raises(OSError):  # noqa: PT011 - of which kind is the system's business
        load(os.path.join(tmp_path, what))


def test_names_of_bytes(tmp_path):
    path = os.fsencode(tmp_path / "model")
    save(LinearChainCRF().fit([["a"]], [["x"]]), path)
    assert load(path).predict([["a"]])[0] == ["x"]


def test_a_device_has_no_end():
    if not Path("/dev/zero").is_char_device():
        pytest.skip("this system has no /dev/zero")
    for read in (load, from_crfsuite):
        with pytest.raises(
            OSError, match="this is a device, where the name of a file is expected: '/dev/zero'"
        ):
            read("/dev/zero")


@pytest.mark.parametrize(
    "value", [np.datetime64("NaT", "s"), np.timedelta64(1, "s"), np.array(["2020-01-01"], "M8[ns]")]
)
def test_parameters_that_would_be_others_in_a_file(tmp_path, value):
    """numpy's dates are None or numbers to Python."""
    with pytest.raises(InputTypeError, match="cannot be saved"):
        save(fitted().set_params(class_weight=value), tmp_path / "model")


def test_settings_that_would_be_valid_in_a_file(tmp_path):
    with pytest.raises(ValueError, match="'n_jobs' parameter of LinearChainCRF must be"):
        save(fitted().set_params(n_jobs=np.True_), tmp_path / "model")
