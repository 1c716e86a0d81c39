"""The CoNLL-2000 chunker: python-crfsuite's optimum, and the same weights from templates, dicts and
strings.
"""

from __future__ import annotations

import re

import numpy as np
import pycrfsuite
import pytest
from real_data import real
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import LinearChainCRF, SequenceVectorizer, metrics
from sklearn_struct.datasets import fetch_conll2000
from sklearn_struct.encoding.features.templates import FeatureTemplates

pytestmark = [pytest.mark.corpus, pytest.mark.slow]

OFFSETS = [
    *([("w", o)] for o in (-2, -1, 0, 1, 2)),
    *([("w", o), ("w", o + 1)] for o in (-1, 0)),
    *([("pos", o)] for o in (-2, -1, 0, 1, 2)),
    *([("pos", o), ("pos", o + 1)] for o in (-2, -1, 0, 1)),
    *([("pos", o), ("pos", o + 1), ("pos", o + 2)] for o in (-2, -1, 0)),
]


def dicts(sentence):
    """The attributes of CRFsuite's tutorial, written once more, by hand."""
    tokens = [{"w": word, "pos": pos} for word, pos in sentence]
    found = []
    for t in range(len(tokens)):
        token = {}
        for cells in OFFSETS:
            if all(0 <= t + o < len(tokens) for _, o in cells):
                token["|".join(f"{name}[{o}]" for name, o in cells)] = "|".join(
                    tokens[t + o][name] for name, o in cells
                )
        if t == 0:
            token["__BOS__"] = True
        if t == len(tokens) - 1:
            token["__EOS__"] = True
        found.append(token)
    return found


def strings(sentence):
    return [
        [name if value is True else f"{name}:{value}" for name, value in t.items()]
        for t in dicts(sentence)
    ]


def plain(names):
    """Names of templates as dicts give them: without the backslashes that keep templates apart."""
    names = [re.sub(r"\\(.)", r"\1", name) for name in names]
    assert len(set(names)) == len(names)
    return names


@pytest.fixture(scope="module")
def corpus():
    return [
        part for s in ("train", "test") for part in real(fetch_conll2000, subset=s, return_X_y=True)
    ]


@pytest.fixture(scope="module")
def encoded(corpus):
    """X of the templates, y, and the same for the test."""
    X, y, X_test, y_test = corpus
    templates = FeatureTemplates("chunking", add_bos_eos=True)
    return templates.fit_transform(X), y, templates.transform(X_test), y_test


def crfsuite(X, y, path):
    """The objective that CRFsuite reaches, its number of weights, and the tagger."""
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence, labels in zip(X, y, strict=True):
        trainer.append(strings(sentence), labels)
    trainer.select("lbfgs")
    options = {
        "c1": 0,
        "c2": 1,
        "feature.possible_transitions": True,
        "epsilon": 1e-5,
        "delta": 5e-6,
    }
    trainer.set_params(options)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    log = trainer.logparser
    return log.last_iteration["loss"], log.featgen_num_features, tagger


def test_the_optimum_is_crfsuites(corpus, tmp_path):
    X = corpus[0][:800]
    y = corpus[1][:800]
    X_test = corpus[2][:500]
    templates = FeatureTemplates("chunking", add_bos_eos=True)
    crf = LinearChainCRF(solver="lbfgs", C=0.5, fit_intercept=False, tol=1e-5).fit(
        templates.fit_transform(X), y
    )
    expected, n_weights, tagger = crfsuite(X, y, tmp_path / "model.crfsuite")
    assert crf.coef_.nnz + crf.transition_.size == n_weights
    assert crf.loss_curve_[-1] == pytest.approx(expected, rel=1e-5)
    weights = tagger.info().transitions
    transitions = [[weights[j, k] for k in crf.classes_] for j in crf.classes_]
    np.testing.assert_allclose(crf.transition_, transitions, atol=0.02)
    predicted = crf.predict(templates.transform(X_test))
    tagged = [tagger.tag(strings(sentence)) for sentence in X_test]
    assert metrics.token_accuracy_score(tagged, predicted) >= 0.999


def test_templates_and_dicts_encode_the_corpus_alike(corpus):
    X = corpus[0][:2500]
    X_test = corpus[2]
    templates = FeatureTemplates("chunking", add_bos_eos=True)
    vectorizer = SequenceVectorizer()
    a = templates.fit_transform(X)
    b = vectorizer.fit_transform(map(dicts, X))
    columns = [vectorizer.vocabulary_[name] for name in plain(a.feature_names)]
    assert len(columns) == len(vectorizer.vocabulary_)
    assert (a.tokens != b.tokens[:, columns]).nnz == 0
    a = templates.transform(X_test)
    b = vectorizer.transform(map(dicts, X_test))
    assert (a.tokens != b.tokens[:, columns]).nnz == 0


def test_the_same_weights_from_templates_dicts_and_strings(corpus):
    X = corpus[0][:500]
    y = corpus[1][:500]
    forms = {
        "templates": FeatureTemplates("chunking", add_bos_eos=True).fit_transform(X),
        "dicts": [dicts(sentence) for sentence in X],
        "strings": [strings(sentence) for sentence in X],
    }
    crfs = {
        form: LinearChainCRF(C=0.5, fit_intercept=False, tol=1e-6).fit(forms[form], y)
        for form in forms
    }
    names = plain(crfs["templates"].feature_names_in_)
    for form in ("dicts", "strings"):
        columns = [crfs[form].vectorizer_.vocabulary_[name] for name in names]
        difference = crfs[form].coef_[:, columns] - crfs["templates"].coef_
        assert np.max(np.abs(difference.data)) < 1e-4
        assert crfs[form].coef_.nnz == crfs["templates"].coef_.nnz
        np.testing.assert_allclose(crfs[form].transition_, crfs["templates"].transition_, atol=1e-4)
        assert (
            crfs[form].predict(forms[form]).tolist()
            == crfs["templates"].predict(forms["templates"]).tolist()
        )


def test_auto_ends_near_the_optimum_on_the_whole_corpus(encoded):
    """CRFsuite, run until its epsilon is 1e-5, ends at 13025.06 with as many weights."""
    X, y, X_test, y_test = encoded
    assert X.tokens.nnz == 3_808_439
    assert X.tokens.shape == (211_727, 335_674)
    crf = LinearChainCRF(C=0.5, fit_intercept=False, n_jobs=2).fit(X, y)
    assert crf.n_iter_ <= 60
    assert crf.coef_.nnz + crf.transition_.size == 453_094
    assert crf.loss_curve_[-1] == pytest.approx(13025.06, rel=1e-3)
    assert metrics.span_f1_score(y_test, crf.predict(X_test)) >= 0.9355


def test_auto_takes_sag(encoded):
    X, y = (part[:1400] for part in encoded[:2])  # more than 30,000 tokens
    options = {"C": 0.5, "fit_intercept": False, "max_iter": 3, "random_state": 0}
    with pytest.warns(ConvergenceWarning):
        fits = [LinearChainCRF(**options, solver=solver).fit(X, y) for solver in ("auto", "sag")]
    assert fits[0].solver_.startswith("sag")
    # the same steps, but what it remembers of terms is rounded to eleven bits
    np.testing.assert_allclose(fits[1].coef_.data, fits[0].coef_.data, atol=1e-3)
    np.testing.assert_allclose(fits[1].transition_, fits[0].transition_, atol=1e-3)
    with pytest.warns(ConvergenceWarning):
        single = LinearChainCRF(**options, dtype="float32").fit(X, y)
    assert single.loss_curve_[-1] == pytest.approx(fits[0].loss_curve_[-1], rel=1e-3)


@pytest.mark.parametrize("solver", ["ap", "pa"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_few_passes_of_online_solvers_come_near_the_optimum(encoded, solver):
    """CRFsuite's own "ap" and "pa" end at a span F1 of 0.934 to 0.935 on the whole corpus."""
    X, y, X_test, y_test = encoded
    crf = LinearChainCRF(solver=solver, fit_intercept=False, max_iter=5, random_state=0)
    crf.fit(X[:4000], y[:4000])
    assert metrics.span_f1_score(y_test, crf.predict(X_test)) >= 0.92
