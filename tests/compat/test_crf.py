"""The drop-in for sklearn_crfsuite.CRF beside the original."""

from __future__ import annotations

import pickle
from collections import Counter

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pycrfsuite
import pytest
import scipy.stats
import sklearn_crfsuite
import sklearn_crfsuite.scorers
from real_data import real
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

import sklearn_struct.compat
from sklearn_struct.compat import CRF, metrics, scorers
from sklearn_struct.compat.parameter_mapping import ALGORITHMS
from sklearn_struct.datasets import fetch_conll2000, make_rental_ads
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.inspection import (
    FeatureWeightsDisplay,
    LossCurveDisplay,
    MarginalDisplay,
    TransitionDisplay,
    explain,
    feature_weights,
)
from sklearn_struct.persistence import from_crfsuite, load, save

mpl.use("Agg")


def describe(sentence):
    """Attributes of every kind that pycrfsuite reads."""
    found = []
    for t, word in enumerate(sentence):
        token = {
            "bias": 1.0,
            "word": word.lower(),
            "digits": word.isdigit(),
            "ends": [word[-1:], word[-2:]],
        }
        if t:
            token["before"] = {"word": sentence[t - 1].lower(), "length": len(sentence[t - 1]) / 10}
        found.append(token)
    return found


@pytest.fixture(scope="module")
def ads():
    X, y = make_rental_ads(40, random_state=0)
    X = [describe(sentence) for sentence in X]
    return X[:30], [list(labels) for labels in y[:30]], X[30:], [list(labels) for labels in y[30:]]


@pytest.fixture(scope="module")
def both(ads):
    options = {"c2": 0.5, "epsilon": 1e-7, "delta": 1e-7}
    return CRF(**options).fit(*ads[:2]), sklearn_crfsuite.CRF(**options).fit(*ads[:2])


def test_weights_and_names_are_the_originals(both):
    ours, theirs = both
    for name in ("state_features_", "transition_features_"):
        found = getattr(ours, name)
        expected = getattr(theirs, name)
        assert found.keys() == expected.keys()
        assert found == pytest.approx(expected, abs=2e-3)
    assert sorted(ours.classes_) == sorted(theirs.classes_)
    assert sorted(ours.attributes_) == sorted(theirs.attributes_)
    assert ours.num_attributes_ == theirs.num_attributes_


def test_predictions_are_the_originals(both, ads):
    ours, theirs = both
    X, y = ads[2:]
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    assert ours.predict_single(X[0]) == theirs.predict_single(X[0])
    for found, expected in zip(ours.predict_marginals(X), theirs.predict_marginals(X), strict=True):
        for a, b in zip(found, expected, strict=True):
            assert a == pytest.approx(b, abs=2e-3)
    assert ours.predict_marginals_single(X[0]) == ours.predict_marginals(X)[0]
    assert ours.score(X, y) == theirs.score(X, y)


@pytest.mark.parametrize(
    "options",
    [
        {"min_freq": 2},
        {"all_possible_states": True, "all_possible_transitions": True},
        {"all_possible_states": True, "all_possible_transitions": True, "min_freq": 2},
    ],
)
def test_the_same_weights_exist(ads, options):
    X = [
        [[k for k, v in token.items() if v is True] or [token["word"]] for token in s]
        for s in ads[0][:10]
    ]
    ours, theirs = (c(**options).fit(X, ads[1][:10]) for c in (CRF, sklearn_crfsuite.CRF))
    assert ours.state_features_ == pytest.approx(theirs.state_features_, abs=5e-3)
    assert ours.transition_features_ == pytest.approx(theirs.transition_features_, abs=5e-3)


@pytest.fixture(scope="module")
def tagged():
    """Sentences of CoNLL-2000 with features of each word and its neighbours, and chunks."""

    def tokens(sentence):
        ends = [("", ""), *sentence, ("", "")]
        return [
            {
                "bias": 1.0,
                "word": word.lower(),
                "word[-3:]": word[-3:],
                "title": word.istitle(),
                "pos": pos,
                "-1:word": ends[t][0].lower(),
                "-1:pos": ends[t][1],
                "+1:word": ends[t + 2][0].lower(),
                "+1:pos": ends[t + 2][1],
            }
            for t, (word, pos) in enumerate(sentence)
        ]

    found = []
    for subset in ("train", "test"):
        X, y = real(fetch_conll2000, subset=subset, return_X_y=True)
        found += [[tokens(sentence) for sentence in X[:400]], [list(labels) for labels in y[:400]]]
    return found


@pytest.mark.corpus
@pytest.mark.parametrize(("c1", "c2"), [(0.0, 1.0), (0.1, 0.1)])
def test_tags_of_conll2000_are_the_originals(tagged, c1, c2):
    X = tagged[0][:200]
    y = tagged[1][:200]
    X_test = tagged[2]
    models = [
        c(c1=c1, c2=c2, all_possible_transitions=True).fit(X, y)
        for c in (CRF, sklearn_crfsuite.CRF)
    ]
    assert metrics.flat_accuracy_score(*(model.predict(X_test) for model in models)) >= 0.995


def tutorial(CRF, metrics, X, y, X_test, y_test):
    """The steps of sklearn-crfsuite's tutorial, with whatever stands behind the two names."""
    crf = CRF(
        algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True
    ).fit(X, y)
    labels = sorted(set(crf.classes_) - {"O"}, key=lambda name: (name[1:], name[0]))
    predicted = crf.predict(X_test)
    report = metrics.flat_classification_report(
        y_test, predicted, labels=labels, digits=3, zero_division=0.0
    )
    scorer = make_scorer(
        metrics.flat_f1_score, average="weighted", labels=labels, zero_division=0.0
    )
    search = RandomizedSearchCV(
        CRF(algorithm="lbfgs", max_iterations=100, all_possible_transitions=True),
        {"c1": scipy.stats.expon(scale=0.5), "c2": scipy.stats.expon(scale=0.05)},
        n_iter=2,
        cv=2,
        scoring=scorer,
        random_state=0,
    ).fit(X, y)
    best = search.best_estimator_
    transitions = Counter(best.transition_features_)
    features = Counter(best.state_features_)
    return (
        predicted,
        report,
        search,
        transitions.most_common(20),
        features.most_common(30),
        best.predict(X_test),
    )


@pytest.mark.corpus
@pytest.mark.slow
def test_the_tutorial_runs_with_another_import(tagged):
    ours = tutorial(CRF, metrics, *tagged)
    theirs = tutorial(sklearn_crfsuite.CRF, sklearn_crfsuite.metrics, *tagged)
    for found, expected in ((ours[0], theirs[0]), (ours[-1], theirs[-1])):
        # neither has converged after 100 iterations
        assert metrics.flat_accuracy_score(expected, found) >= 0.99
    assert [line.split()[:1] for line in ours[1].split("\n")] == [
        line.split()[:1] for line in theirs[1].split("\n")
    ]
    search = ours[2]
    expected = theirs[2]
    assert search.cv_results_["params"] == expected.cv_results_["params"]
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(scores, expected.cv_results_["mean_test_score"], atol=0.003)
    for found, expected in zip(ours[3:5], theirs[3:5], strict=True):
        assert len({key for key, _ in found} & {key for key, _ in expected}) >= 0.8 * len(found)
        assert found[0][1] == pytest.approx(expected[0][1], rel=0.1)


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "l2sgd"},
        {"algorithm": "ap"},
        {"algorithm": "pa"},
        {"algorithm": "pa", "pa_type": 2, "c": 0.5},
        {"algorithm": "arow", "gamma": 2.0},
    ],
)
def test_other_algorithms_learn_as_much(ads, options):
    """CRFsuite's own visit sequences in another order each time, which for "l2sgd" means up to 0.08
    here.
    """
    ours, theirs = (
        c(**options, max_iterations=15).fit(*ads[:2]) for c in (CRF, sklearn_crfsuite.CRF)
    )
    assert ours.score(*ads[2:]) >= theirs.score(*ads[2:]) - (
        0.15 if ours.algorithm == "l2sgd" else 0.07
    )
    if ours.algorithm != "l2sgd":  # by order of the examples alone
        again = clone(ours).fit(*ads[:2])
        assert again.state_features_ == ours.state_features_


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_fit_ends_without_a_warning_where_it_was_told_to(ads, algorithm):
    """Warnings are errors in all tests."""
    crf = CRF(algorithm, max_iterations=2).fit(ads[0][:5], ads[1][:5])
    assert crf.crf_[-1].n_iter_ == 2
    with pytest.warns(ConvergenceWarning):
        clone(crf.crf_[-1]).fit(crf.crf_[0].transform(ads[0][:5]), ads[1][:5])


def test_scorers(ads):
    X, y = ads[2:]
    crf = CRF(max_iterations=5).fit(*ads[:2])
    assert sklearn_struct.compat.scorers is scorers
    assert scorers.flat_accuracy(crf, X, y) == sklearn_crfsuite.scorers.flat_accuracy(crf, X, y)
    assert scorers.sequence_accuracy(crf, X[:3], crf.predict(X[:3])) == 1.0
    search = GridSearchCV(
        CRF(max_iterations=5), {"c2": [0.1, 1000.0]}, scoring=scorers.flat_accuracy, cv=2
    )
    assert search.fit(*ads[:2]).best_params_ == {"c2": 0.1}


def test_the_file_of_a_model_is_crfsuites(ads, tmp_path):
    path = tmp_path / "model.crfsuite"
    crf = CRF(c1=0.1, model_filename=str(path)).fit(*ads[:2])
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    X = ads[2]
    assert [tagger.tag(sequence) for sequence in X] == crf.predict(X).tolist()
    for sequence, marginals in zip(X, crf.predict_marginals(X), strict=True):
        tagger.set(sequence)
        for t, token in enumerate(marginals):
            assert [tagger.marginal(label, t) for label in token] == pytest.approx(
                list(token.values()), abs=1e-9
            )
    # which are printed
    assert tagger.info().state_features == pytest.approx(crf.state_features_, abs=1e-6)
    assert crf.size_ == path.stat().st_size == int(tagger.info().header["size"])
    again = from_crfsuite(path)
    assert again.predict(X).tolist() == crf.predict(X).tolist()


def test_sizes_are_the_originals(both):
    """Each attribute and each weight takes as much there as here."""
    ours, theirs = both
    assert len(ours.attributes_) == len(theirs.attributes_)
    assert ours.size_ == theirs.size_


def test_no_size_of_labels_that_are_no_strings():
    crf = CRF().fit([["a", "b"]], [[("A", 1), ("B", 2)]])
    assert crf.predict([["b"]]).tolist() == [[("B", 2)]]
    with pytest.raises(AttributeError, match="size_: CRFsuite's files hold strings"):
        _ = crf.size_


def test_labels_that_no_file_holds(ads, tmp_path):
    crf = CRF(model_filename=str(tmp_path / "model")).fit(*ads[:2])
    model = crf.crf_
    written = (tmp_path / "model").read_bytes()
    with pytest.raises(InputTypeError, match="strings without zeros, not 1"):
        crf.fit([[{"a": 1}, {"b": 1}]], [[1, 2]])
    assert crf.crf_ is model
    assert (tmp_path / "model").read_bytes() == written


def test_the_tagger_is_the_originals(both, ads):
    ours, theirs = (crf.tagger_ for crf in both)
    assert sorted(ours.labels()) == sorted(theirs.labels())
    labels = ours.tag(ads[2][0])
    assert labels == theirs.tag(ads[2][0])
    assert ours.probability(labels) == pytest.approx(theirs.probability(labels), abs=2e-3)
    ours.set(ads[2][1])
    theirs.set(ads[2][1])
    for label in ours.labels():
        assert ours.marginal(label, 1) == pytest.approx(theirs.marginal(label, 1), abs=2e-3)
    assert ours.tag() == theirs.tag()
    assert ours.info().transitions.keys() == theirs.info().transitions.keys()
    assert ours.info().attributes.keys() == theirs.info().attributes.keys()
    with pytest.raises(ValueError, match=r"call set\(xseq\), or tag\(xseq\), first"):
        CRF(max_iterations=1).fit(*ads[:2]).tagger_.tag()


def test_the_training_log_is_in_crfsuites_units(both):
    ours, theirs = (crf.training_log_ for crf in both)
    assert ours.last_iteration["loss"] == pytest.approx(theirs.last_iteration["loss"], rel=1e-4)
    assert ours.last_iteration["feature_norm"] == pytest.approx(
        theirs.last_iteration["feature_norm"], rel=1e-2
    )
    assert ours.featgen_num_features == theirs.featgen_num_features
    assert [line["num"] for line in ours.iterations] == list(range(1, len(ours.iterations) + 1))


def test_grid_search_with_a_flat_score(ads):
    labels = sorted({label for s in ads[1] for label in s if label != "O"})
    scorer = make_scorer(
        metrics.flat_f1_score, average="weighted", labels=labels, zero_division=0.0
    )
    search = GridSearchCV(CRF(max_iterations=500), {"c2": [0.1, 1000.0]}, scoring=scorer, cv=2).fit(
        *ads[:2]
    )
    assert search.best_params_ == {"c2": 0.1}
    assert search.best_score_ > 0.3


def test_held_out_data(ads, capsys):
    X, y, X_dev, y_dev = ads
    crf = CRF(verbose=True, c2=10.0).fit(X[:5], y[:5], X_dev, y_dev)
    assert f"accuracy on X_dev: {crf.score(X_dev, y_dev):.4f}" in capsys.readouterr().out
    assert crf.training_log_.last_iteration["item_accuracy_float"] == crf.score(X_dev, y_dev)
    assert (
        crf.fit(X[:5], y[:5])
        .training_log_.last_iteration.keys()
        .isdisjoint({"item_accuracy_float"})
    )
    with pytest.raises(ValueError, match="pass both or neither"):
        crf.fit(X, y, X_dev)


def test_pickles(both, ads):
    copy = pickle.loads(pickle.dumps(both[0]))
    assert copy.predict(ads[2]).tolist() == both[0].predict(ads[2]).tolist()


def test_not_fitted():
    crf = CRF()
    for name in (
        "classes_",
        "state_features_",
        "transition_features_",
        "attributes_",
        "num_attributes_",
    ):
        with pytest.raises(AttributeError, match="not fitted yet"):
            getattr(crf, name)
    for method in (
        crf.predict,
        crf.predict_marginals,
        crf.predict_single,
        crf.predict_marginals_single,
    ):
        with pytest.raises(NotFittedError):
            method([["a"]])


def test_a_failed_fit_leaves_the_model(both, ads):
    crf = clone(both[0]).fit(ads[0][:5], ads[1][:5])
    model = crf.crf_
    with pytest.raises(ValueError, match="has 2 tokens but"):
        crf.fit([["a", "b"]], [["A"]])
    assert crf.crf_ is model


@pytest.mark.parametrize("wrap", [lambda crf: crf, lambda crf: crf.crf_])
def test_inspection_takes_it(both, ads, wrap):
    crf = both[0]
    sentence = ads[2][0]
    found = explain(wrap(crf), sentence)
    assert found.labels == crf.predict_single(sentence)
    assert len(feature_weights(wrap(crf))) > 0
    for display in (FeatureWeightsDisplay, TransitionDisplay, LossCurveDisplay):
        assert display.from_estimator(wrap(crf)).figure_ is not None
    assert MarginalDisplay.from_estimator(wrap(crf), sentence).figure_ is not None
    plt.close("all")


def test_it_can_be_saved(both, ads, tmp_path):
    save(both[0], tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.predict(ads[2]).tolist() == both[0].predict(ads[2]).tolist()
    assert loaded.training_log_ == both[0].training_log_
    assert loaded.size_ == both[0].size_
