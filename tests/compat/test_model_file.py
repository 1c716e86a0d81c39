"""Files of a CRF's model, beside those of sklearn_crfsuite."""

from __future__ import annotations

import copy
import gc
import pickle
from pathlib import Path

import pycrfsuite
import pytest
import sklearn_crfsuite
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.compat import CRF
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.inspection import explain
from sklearn_struct.persistence import load, save

PREDICTIONS = ("predict", "predict_marginals", "predict_single", "predict_marginals_single")
WEIGHTS = ("state_features_", "transition_features_")


def describe(word):
    """A token of every kind that pycrfsuite reads."""
    if word == "and":
        return ["and", "joins", "joins"]
    return {
        "bias": 1.0,
        "wörd": word.lower(),
        "capital": word[:1].isupper(),
        "length": len(word),
        "ends": [word[-1:], word[-2:]],
        "kinds": {f"kind {word.isdigit()}"},
        "shape": {"first": word[0].lower(), "n": len(word) / 10, "in": {"alpha": word.isalpha()}},
        "a:b": ":",
    }


@pytest.fixture(scope="module")
def ads():
    X, y = make_rental_ads(40, random_state=0)
    return [[describe(word) for word in ad] for ad in X], [list(labels) for labels in y]


@pytest.fixture(scope="module")
def other(ads, tmp_path_factory):
    """A file with another model."""
    path = tmp_path_factory.mktemp("models") / "other"
    CRF(max_iterations=1, model_filename=str(path)).fit(ads[0][:10], ads[1][:10])
    return str(path)


@pytest.fixture(params=["sklearn_crfsuite", "pycrfsuite", "ours"])
def path(ads, tmp_path, request):
    path = str(tmp_path / "model.crfsuite")
    X = ads[0][:30]
    y = ads[1][:30]
    if request.param == "sklearn_crfsuite":
        sklearn_crfsuite.CRF(c1=0.1, c2=0.1, model_filename=path).fit(X, y)
    elif request.param == "ours":
        CRF(c1=0.1, c2=0.1, max_iterations=20, model_filename=path).fit(X, y)
    else:
        trainer = pycrfsuite.Trainer("ap", {"max_iterations": 5}, verbose=False)
        for tokens, labels in zip(X, y, strict=True):
            trainer.append(pycrfsuite.ItemSequence(tokens), labels)
        trainer.train(path)
    return path


@pytest.fixture
def file(other, tmp_path):
    """One for tests that change it."""
    path = tmp_path / "model"
    path.write_bytes(Path(other).read_bytes())
    return path


def test_a_file_is_a_model(ads, path):
    X, y = ads
    X = [
        *X,
        [],
        [{"unseen": 1, "wörd": "street"}],
        [{}, {"unseen": 1, "bias": 2}],
        [["and"], ["unseen"]],
    ]
    ours = CRF(model_filename=path)
    theirs = sklearn_crfsuite.CRF(model_filename=path)
    assert ours.predict(X).tolist() == [theirs.predict_single(tokens) for tokens in X]
    for found, tokens in zip(ours.predict_marginals(X), X, strict=True):
        expected = theirs.predict_marginals_single(tokens)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert a == pytest.approx(b, abs=1e-9)
    assert CRF(model_filename=Path(path)).predict_single(X[0]) == theirs.predict_single(X[0])
    assert CRF(model_filename=path).score(ads[0], y) == theirs.score(ads[0], y)


def test_the_attributes_of_a_file(ads, path):
    theirs = sklearn_crfsuite.CRF(model_filename=path)
    for name in ("classes_", "attributes_"):
        assert sorted(getattr(CRF(model_filename=path), name)) == sorted(getattr(theirs, name))
    for name in ("num_attributes_", "size_"):
        assert getattr(CRF(model_filename=path), name) == getattr(theirs, name)
    for name in WEIGHTS:
        expected = getattr(theirs, name)  # as they are printed, with six digits
        found = getattr(CRF(model_filename=path), name)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
    tagger = CRF(model_filename=path).tagger_
    expected = theirs.tagger_
    labels = tagger.tag(ads[0][0])
    assert labels == expected.tag(ads[0][0])
    assert tagger.probability(labels) == pytest.approx(expected.probability(labels))
    assert tagger.marginal(labels[0], 0) == pytest.approx(expected.marginal(labels[0], 0))
    assert CRF(model_filename=path).training_log_.last_iteration is None


def test_a_model_from_a_file_is_a_model(ads, other, tmp_path):
    crf = CRF(model_filename=other)
    check_is_fitted(crf)
    assert explain(crf, ads[0][0]).labels == crf.predict_single(ads[0][0])
    save(CRF(model_filename=other), tmp_path / "saved")
    Path(tmp_path / "saved").replace(tmp_path / "moved")
    loaded = load(tmp_path / "moved")
    assert loaded.predict(ads[0]).tolist() == crf.predict(ads[0]).tolist()
    assert clone(crf).predict(ads[0]).tolist() == crf.predict(ads[0]).tolist()


@pytest.mark.parametrize("name", [None, "", "nowhere", "nowhere/model"])
def test_without_a_file_nothing_is_fitted(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    crf = CRF(model_filename=name)
    told = (
        "give the file of a model" if name is None else f"model_filename='{name}', which does not"
    )
    for method in PREDICTIONS:
        with pytest.raises(NotFittedError, match=f"not fitted yet: call fit, or .*{told}"):
            getattr(crf, method)([["a"]])
    with pytest.raises(NotFittedError):
        check_is_fitted(crf)
    for attribute in ("crf_", "tagger_", "classes_", "size_", "training_log_", *WEIGHTS):
        assert not hasattr(crf, attribute)
    assert crf.modelfile.name == name


@pytest.mark.parametrize("damage", [lambda d: b"", lambda d: d[:-1], lambda d: b"x" + d[1:]])
def test_damaged_files(file, damage):
    file.write_bytes(damage(file.read_bytes()))
    crf = CRF(model_filename=str(file))
    for method in PREDICTIONS:
        with pytest.raises(ModelFileError, match=f"{file} cannot be read as a model of CRFsuite"):
            getattr(crf, method)([["a"]])
    with pytest.raises(ModelFileError):
        _ = crf.tagger_
    assert "CRF" in crf._repr_html_()
    assert "CRF" in repr(crf)
    assert crf.fit([["a"]], [["A"]]).predict([["a"]]).tolist() == [["A"]]


def test_what_is_no_file(tmp_path):
    with pytest.raises(OSError, match=str(tmp_path)):
        CRF(model_filename=str(tmp_path)).predict([["a"]])
    for crf in (CRF(model_filename=1), CRF(model_filename=["model"])):
        with pytest.raises(
            InputTypeError, match="model_filename must be the path of a file, or None"
        ):
            crf.predict([["a"]])
        with pytest.raises(
            InputTypeError, match="model_filename must be the path of a file, or None"
        ):
            crf.fit([["a"]], [["A"]])
        with pytest.raises(NotFittedError):
            check_is_fitted(crf)


def test_what_was_fitted_is_the_model(ads, file):
    crf = CRF(model_filename=str(file), max_iterations=3)
    before = crf.predict_marginals(ads[0]).tolist()
    with pytest.raises(ValueError, match="has 2 tokens but"):
        crf.fit([["a", "b"]], [["A"]])
    assert crf.predict_marginals(ads[0]).tolist() == before
    crf.fit([["a"]], [["A"]])
    assert crf.classes_ == ["A"]
    file.write_bytes(b"")
    assert crf.predict([["a"]]).tolist() == [["A"]]
    assert crf.set_params(model_filename="nowhere").predict([["a"]]).tolist() == [["A"]]


def test_a_file_is_read_once_by_each(ads, file):
    crf = CRF(model_filename=str(file))
    before = crf.predict(ads[0]).tolist()
    CRF(model_filename=str(file)).fit([["a"]], [["A"]])
    assert crf.predict(ads[0]).tolist() == before
    for again in (clone(crf), copy.copy(crf), copy.deepcopy(crf), pickle.loads(pickle.dumps(crf))):
        assert again.classes_ == ["A"]
    file.unlink()
    assert crf.predict(ads[0]).tolist() == before
    with pytest.raises(NotFittedError):
        pickle.loads(pickle.dumps(crf)).predict([["a"]])


def test_another_file_is_another_model(ads, other, file):
    crf = CRF(model_filename=other).set_params()
    CRF(model_filename=str(file)).fit([["a"]], [["A"]])
    assert len(crf.classes_) > 1
    assert crf.set_params(model_filename=str(file)).classes_ == ["A"]
    assert not hasattr(crf.set_params(model_filename=None), "classes_")


def test_the_model_file_has_what_the_originals_has(ads, tmp_path):
    chosen = str(tmp_path / "model")
    for options in ({}, {"model_filename": chosen}, {"keep_tempfiles": True}):
        ours, theirs = (c(**options).modelfile for c in (CRF, sklearn_crfsuite.CRF))
        for name in ("name", "auto", "keep_tempfiles", "suffix", "prefix"):
            assert getattr(ours, name) == getattr(theirs, name)
        assert {name for name in dir(theirs) if name[0] != "_"} <= set(dir(ours))
    crf = CRF(model_filename=chosen).fit([["a"]], [["A"]])
    assert crf.modelfile.name == chosen
    crf.modelfile.cleanup()
    crf.modelfile.refresh()
    assert pycrfsuite.Tagger().open(crf.modelfile.name)
    assert Path(chosen).exists()


def test_a_temporary_file_holds_the_model(ads):
    crf = CRF(max_iterations=5).fit(*ads)
    path = crf.modelfile.name
    assert crf.modelfile.name == path
    theirs = sklearn_crfsuite.CRF(model_filename=path)
    assert crf.predict(ads[0]).tolist() == [theirs.predict_single(tokens) for tokens in ads[0]]
    assert CRF(model_filename=path).predict(ads[0]).tolist() == crf.predict(ads[0]).tolist()
    for again in (copy.copy(crf), pickle.loads(pickle.dumps(crf)), copy.deepcopy(crf)):
        name = again.modelfile.name
        assert name != path
        assert Path(name).read_bytes() == Path(path).read_bytes()
    held = pickle.loads(pickle.dumps(crf.modelfile))
    assert Path(held.name).read_bytes() == Path(path).read_bytes()
    assert held.name != path


def test_temporary_files_are_deleted():
    crf = CRF().fit([["a"]], [["A"]])
    first = Path(crf.modelfile.name)
    crf.modelfile.refresh()
    second = Path(crf.modelfile.name)
    assert (first.exists(), second.exists()) == (first == second, True)
    crf.modelfile.cleanup()
    assert not second.exists()
    third = Path(crf.modelfile.name)
    assert third.exists()
    crf.fit([["a"]], [["B"]])
    gc.collect()
    assert not third.exists()
    last = Path(crf.modelfile.name)
    assert CRF(model_filename=last).classes_ == ["B"]
    last.unlink()  # which is no harm
    last = Path(CRF().fit([["a"]], [["A"]]).modelfile.name)
    del crf
    gc.collect()
    assert not last.exists()


def test_temporary_files_may_be_kept():
    crf = CRF(keep_tempfiles=True).fit([["a"]], [["A"]])
    path = Path(crf.modelfile.name)
    crf.modelfile.cleanup()
    del crf
    gc.collect()
    try:
        assert CRF(model_filename=path).classes_ == ["A"]
    finally:
        path.unlink()


def test_no_temporary_file_holds_other_labels():
    crf = CRF().fit([["a"]], [[1]])
    with pytest.raises(InputTypeError, match="strings without zeros, not 1"):
        _ = crf.modelfile.name
    assert crf.predict([["a"]]).tolist() == [[1]]
