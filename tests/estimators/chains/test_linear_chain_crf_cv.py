"""LinearChainCRFCV beside GridSearchCV over the same penalties."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit

from sklearn_struct import LinearChainCRF, LinearChainCRFCV, SequenceArray, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.estimators.chains import penalty_path
from sklearn_struct.exceptions import InputTypeError, NonFiniteError
from sklearn_struct.metrics import span_f1_score, span_f1_scorer, token_accuracy_scorer
from sklearn_struct.model_selection import KeepUnlabeled
from sklearn_struct.objectives.linear_objective import LinearObjective

# solvers and losses whose final fit begins at zero
BEGIN_AT_ZERO = {"sag", "newton-cg", "pointwise", "hinge"}
CS = [0.03, 0.1, 0.3, 1.0, 3.0]


def ads(n=18):
    X, y = make_rental_ads(n, random_state=0)
    X = [[{"w": word.lower(), "digit": word[0].isdigit()} for word in words[:20]] for words in X]
    return X, [labels[:20] for labels in y]


def numbers(n=30, seed=0):
    rng = np.random.RandomState(seed)
    truth = rng.normal(size=(4, 3))
    X = [rng.normal(size=(rng.randint(1, 7), 4)) for _ in range(n)]
    y = [["abc"[k] for k in np.argmax(x @ truth + rng.gumbel(size=(len(x), 3)), axis=1)] for x in X]
    return X, y


def compared(X, y, *, l1_ratios=None, cv=3, scoring=None, **options):
    """The search and GridSearchCV, which must agree."""
    options = {"tol": 1e-6, **options}
    ours = LinearChainCRFCV(Cs=CS, l1_ratios=l1_ratios, cv=cv, scoring=scoring, **options)
    ours.fit(X, y)
    ratios = [0.0] if l1_ratios is None else l1_ratios
    grid = {"C": CS, "l1_ratio": ratios}
    theirs = GridSearchCV(LinearChainCRF(**options), grid, cv=cv, scoring=scoring)
    theirs.fit(X, y)
    results = theirs.cv_results_
    scores = np.array([results[f"split{f}_test_score"] for f in range(theirs.n_splits_)])
    scores = scores.reshape(-1, len(CS), len(ratios)).transpose(0, 2, 1)
    np.testing.assert_allclose(ours.scores_, scores, atol=1e-3)
    assert {"C": ours.C_, "l1_ratio": ours.l1_ratio_} == theirs.best_params_
    best = theirs.best_estimator_
    assert ours.loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], rel=1e-4)
    if options.get("solver") in BEGIN_AT_ZERO or options.get("loss") in BEGIN_AT_ZERO:
        np.testing.assert_array_equal(ours._w, best._w)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    return ours


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "lbfgs"},
        {"solver": "sag", "random_state": 0},
        {"solver": "owlqn", "l1_ratios": [0.1, 0.9], "tol": 1e-4},
        {"order": 2},
        {"feature_pairs": "all", "min_frequency": 2, "transition_features": "observed"},
        {"edge_features": "all", "dtype": "float32", "tol": 1e-4},
        {"loss": "softmax_margin"},
        {"scoring": span_f1_scorer},
        {"scoring": make_scorer(span_f1_score, average="macro")},
    ],
    ids=str,
)
def test_text(options):
    compared(*ads(), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "newton-cg"},
        {"loss": "pointwise", "class_weight": "balanced"},
        {"loss": "hinge", "random_state": 0, "tol": 1e-3},
        {"cv": KFold(4, shuffle=True, random_state=3)},
        {"cv": ShuffleSplit(2, random_state=0)},
        {"n_jobs": 2},
    ],
    ids=str,
)
def test_numbers(options):
    compared(*numbers(40, seed=1), **options)


def test_rows():
    """A two-dimensional X has scorers of scikit-learn for rows."""
    rng = np.random.RandomState(1)
    X = rng.normal(size=(90, 4))
    y = np.where(X[:, 0] + rng.normal(size=90) > 0, "yes", "no")
    compared(X, y, scoring="accuracy")
    compared(X, y, scoring="neg_log_loss")


@pytest.mark.parametrize("scoring", [None, token_accuracy_scorer, span_f1_scorer], ids=str)
def test_weights_of_sequences(scoring):
    """They count in fits, and in scores that know them."""
    X, y = ads()
    weight = np.random.RandomState(0).randint(1, 4, len(X)).astype(float)
    crf = LinearChainCRFCV(Cs=CS, cv=[(np.arange(6, 18), np.arange(6))], scoring=scoring, tol=1e-6)
    crf.fit(X, y, weight)
    for C, score in zip(CS, crf.scores_[0, 0], strict=True):
        alone = LinearChainCRF(C=C, tol=1e-6)
        alone.fit(X[6:], y[6:], weight[6:])
        known = {} if scoring is span_f1_scorer else {"sample_weight": weight[:6]}
        scorer = LinearChainCRF.score if scoring is None else scoring
        assert score == pytest.approx(scorer(alone, X[:6], y[:6], **known), abs=1e-3)
    chosen = LinearChainCRF(C=crf.C_, tol=1e-6).fit(X, y, weight)
    assert crf.loss_curve_[-1] == pytest.approx(chosen.loss_curve_[-1], rel=1e-6)
    np.testing.assert_allclose(crf._w, chosen._w, atol=0.01)


def test_groups_by_pairs():
    X, y = ads()
    groups = np.arange(len(X)) // 3
    compared(X, y, cv=list(GroupKFold(3).split(X, y, groups)))


def test_masks_may_say_which():
    X, y = ads()
    test = np.arange(len(X)) % 3 == 0
    masked = LinearChainCRFCV(Cs=CS, cv=[(~test, test)]).fit(X, y)
    numbered = LinearChainCRFCV(Cs=CS, cv=[(np.flatnonzero(~test), np.flatnonzero(test))])
    np.testing.assert_array_equal(masked.scores_, numbered.fit(X, y).scores_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_missing_labels():
    X, y = ads()
    y = [labels if i % 3 else None for i, labels in enumerate(y)]
    y[1] = [None, *y[1][1:]]
    compared(X, y, cv=KeepUnlabeled(3), solver="lbfgs")


@pytest.mark.parametrize("pack", [False, True])
def test_the_scorer_sees_the_sequences(pack):
    X, y = ads()
    X = SequenceVectorizer().fit_transform(X) if pack else X
    seen = []

    def scorer(estimator, X, y):
        seen.append((type(X[0]), estimator.C, len(X)))
        return token_accuracy_scorer(estimator, X, y)

    compared(X, y, scoring=scorer)
    assert {kind for kind, _, _ in seen} == {type(X[0])}
    assert {C for _, C, _ in seen} == set(CS)


def test_a_path_needs_fewer_iterations():
    X, y = ads(40)
    crf = LinearChainCRFCV(Cs=CS, cv=[(np.arange(40), np.arange(40))], solver="lbfgs", tol=1e-5)
    along = crf.fit(X, y).path_iterations_[0, 0]
    alone = [LinearChainCRF(C=C, solver="lbfgs", tol=1e-5).fit(X, y).n_iter_ for C in CS]
    assert along[0] <= alone[0]
    assert np.all(along[2:] < alone[2:])


def test_the_final_fit_begins_at_the_first_fold():
    """And ends at the minimum; a start that was given counts instead."""
    X, y = ads(40)
    crf = LinearChainCRFCV(Cs=[3.0], cv=4, solver="lbfgs").fit(X, y)
    alone = LinearChainCRF(C=3.0, solver="lbfgs").fit(X, y)
    assert crf.n_iter_ < alone.n_iter_
    assert crf.loss_curve_[0] < alone.loss_curve_[0]
    assert crf.loss_curve_[-1] == pytest.approx(alone.loss_curve_[-1], rel=1e-4)
    given = LinearChainCRFCV(Cs=[3.0], cv=4, solver="lbfgs").fit(X, y, init=alone)
    assert given.n_iter_ == 0
    np.testing.assert_array_equal(given._w, alone._w)


def test_a_final_fit_to_a_coarse_tol_begins_at_zero():
    """The minimum of a fold could pass for its own."""
    X, y = ads(40)
    options = {"solver": "lbfgs", "tol": 0.01}
    crf = LinearChainCRFCV(Cs=[3.0], cv=4, **options).fit(X, y)
    np.testing.assert_array_equal(crf._w, LinearChainCRF(C=3.0, **options).fit(X, y)._w)


def test_the_order_of_penalties_does_not_matter():
    X, y = ads()
    up = LinearChainCRFCV(Cs=CS, cv=3).fit(X, y)
    down = LinearChainCRFCV(Cs=CS[::-1], cv=3).fit(X, y)
    assert down.Cs_.tolist() == CS[::-1]
    np.testing.assert_array_equal(up.scores_, down.scores_[:, :, ::-1])


def test_penalties_that_tol_does_not_tell_apart():
    """The minimum under a stronger penalty passes for one under a weaker, but is not taken."""
    X, y = ads()
    crf = LinearChainCRFCV(Cs=[1.0, 1.0001], cv=2, solver="lbfgs", tol=1e-2).fit(X, y)
    before, after = np.moveaxis(crf.path_iterations_, -1, 0)
    assert np.all(after > before / 2)


def in_types(monkeypatch, scale=1.0, **options):
    """A search where float32 is taken for any size, and the float types of its evaluations."""
    monkeypatch.setattr(penalty_path, "SMALL", 0)
    monkeypatch.setattr(penalty_path, "LEAST_TOL", 0.0)
    seen = []
    evaluate = LinearObjective.value_and_grad

    def watched(self, w):
        seen.append(self.potentials.dtype.name)
        return evaluate(self, w)

    monkeypatch.setattr(LinearObjective, "value_and_grad", watched)
    X, y = numbers(60)
    crf = LinearChainCRFCV(Cs=CS, cv=2, **options).fit([scale * rows for rows in X], y)
    return crf, seen


@pytest.mark.parametrize("options", [{"solver": "lbfgs"}, {"l1_ratios": [0.5]}], ids=str)
def test_large_data_are_learned_in_float32(options, monkeypatch):
    exact = LinearChainCRFCV(Cs=CS, cv=2, refit=False, **options).fit(*numbers(60))
    crf, seen = in_types(monkeypatch, refit=False, **options)
    assert set(seen) == {"float32"}
    np.testing.assert_allclose(crf.scores_, exact.scores_, atol=1e-3)


def test_what_float32_does_not_reach_is_learned_in_float64(monkeypatch):
    """Without a warning, and from then on."""
    options = {"solver": "lbfgs", "tol": 1e-10}
    exact = LinearChainCRFCV(Cs=CS, cv=2, refit=False, **options).fit(*numbers(60))
    crf, seen = in_types(monkeypatch, refit=False, **options)
    assert set(seen) == {"float32", "float64"}
    np.testing.assert_array_equal(crf.scores_, exact.scores_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-45, 1e45])
def test_numbers_beyond_float32(scale, monkeypatch):
    """They are no matter of the search: it does what float64 allows."""
    X, y = numbers(60)
    options = {"solver": "lbfgs"}
    exact = LinearChainCRFCV(Cs=CS, cv=2, **options).fit([scale * rows for rows in X], y)
    crf, _ = in_types(monkeypatch, scale, **options)
    np.testing.assert_allclose(crf.scores_, exact.scores_, atol=1e-3)
    assert crf.predict(X).tolist() == exact.predict(X).tolist()


@pytest.mark.parametrize(
    "options", [{"solver": "sag", "random_state": 0}, {"loss": "pointwise"}], ids=str
)
def test_what_is_never_learned_in_float32(options, monkeypatch):
    """sag has a way of its own, and elsewhere a minimum is one of several."""
    _, seen = in_types(monkeypatch, refit=False, **options)
    assert set(seen) == {"float64"}


def test_without_a_final_fit():
    X, y = ads()
    crf = LinearChainCRFCV(Cs=CS, cv=3).fit(X, y)
    with pytest.raises(NotFittedError):
        clone(crf).predict(X)
    chosen = crf.C_
    crf.set_params(refit=False).fit(X, y)
    assert chosen == crf.C_
    assert not hasattr(crf, "coef_")
    with pytest.raises(NotFittedError):
        crf.predict(X)


def test_a_number_of_penalties():
    X, y = ads(6)
    crf = LinearChainCRFCV(Cs=3, cv=2).fit(X, y)
    np.testing.assert_allclose(crf.Cs_, [0.01, 1, 100])
    assert crf.scores_.shape == crf.path_iterations_.shape == (2, 1, 3)


def test_no_penalty_at_all():
    X, y = numbers(60)
    crf = LinearChainCRFCV(Cs=[1.0, np.inf], cv=2, solver="lbfgs").fit(X, y)
    assert np.all(np.isfinite(crf.scores_))


def test_fits_that_stop_early_are_counted():
    with pytest.warns(ConvergenceWarning, match="6 of 6 fits to training parts stopped"):
        LinearChainCRFCV(Cs=CS[:3], cv=2, max_iter=1, tol=1e-12, solver="lbfgs", refit=False).fit(
            *ads()
        )


def test_it_can_be_copied():
    X, y = ads()
    crf = LinearChainCRFCV(Cs=CS, cv=3).fit(X, y)
    copied = pickle.loads(pickle.dumps(crf))
    assert copied.predict(X).tolist() == crf.predict(X).tolist()
    assert copied.C_ == crf.C_


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"Cs": []}, ValueError, "Cs must be a list of numbers"),
        ({"Cs": [1.0, -1.0]}, ValueError, "Cs: each C must be a positive number, got -1"),
        ({"Cs": [np.nan]}, ValueError, "Cs: each C must be a positive number, got nan"),
        ({"Cs": ["much"]}, InputTypeError, "Cs must be real numbers"),
        ({"l1_ratios": [0.5, 1.5]}, ValueError, r"l1_ratios: each must be in \[0, 1\], got 1.5"),
        ({"l1_ratios": [0.5], "solver": "lbfgs"}, ValueError, "no L1 penalty"),
        ({"cv": 50}, ValueError, "50 folds need as many sequences, got n_samples=6: give more"),
        ({"cv": [([], [0])]}, InputTypeError, "cv must make pairs"),
        ({"cv": [([0], [0.5])]}, InputTypeError, "cv must make pairs"),
        ({"cv": [([True] * 5, [0])]}, InputTypeError, "cv must make pairs .* a mask of 6"),
        ({"cv": [([0], [6])]}, ValueError, "cv has the sequence 6, and X has those from 0 to 5"),
        ({"cv": iter([])}, ValueError, "cv makes no split"),
        ({"scoring": "nothing"}, ValueError, "nothing"),
        ({"scoring": lambda *_: np.nan}, NonFiniteError, "scoring must give one finite number"),
        ({"solver": "pa"}, ValueError, "The 'solver' parameter"),
    ],
)
def test_errors_change_nothing(options, error, message):
    X, y = ads(6)
    crf = LinearChainCRFCV(Cs=[0.1, 1.0], cv=2).fit(X, y)
    crf.set_params(**options)
    before = dict(vars(crf))
    with pytest.raises(error, match=message):
        crf.fit(X, y)
    assert vars(crf) == before


def test_an_interrupted_fit_changes_nothing():
    X, y = ads(6)
    crf = LinearChainCRFCV(Cs=[0.1, 1.0], cv=2).fit(X, y)
    before = dict(vars(crf))

    def interrupted(*_):
        raise KeyboardInterrupt

    crf.scoring = interrupted
    with pytest.raises(KeyboardInterrupt):
        crf.fit(X[:4], y[:4])
    assert vars(crf) == {**before, "scoring": interrupted}


def test_labels_of_test_parts_alone_are_not_found():
    X, y = ads(6)
    y[0] = ["only here"] * len(y[0])
    crf = LinearChainCRFCV(Cs=[1.0], cv=[([1, 2, 3], [0]), ([0, 1, 2], [3])]).fit(X, y)
    assert crf.scores_[0] == 0


def test_packed_and_listed_are_the_same():
    X, y = numbers()
    listed = LinearChainCRFCV(Cs=CS, cv=3).fit(X, y)
    packed = LinearChainCRFCV(Cs=CS, cv=3).fit(SequenceArray.from_sequences(X), y)
    np.testing.assert_array_equal(listed.scores_, packed.scores_)
