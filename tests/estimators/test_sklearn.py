"""What estimators share with scikit-learn: estimator checks, logistic regression, weights, model
selection.
"""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from public_estimators import GRAPHS, IMAGES, PARSERS, READ_TABLES, public_classes
from scipy.stats import loguniform
from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
    check_n_features_in_after_fitting,
    parametrize_with_checks,
)

from sklearn_struct import (
    GECRF,
    HMM,
    MEMM,
    FeatureTemplates,
    GraphCRF,
    LinearChainCRF,
    LinearChainCRFCV,
    LogLinearClassifier,
    MEstimatedCRF,
    MultiLabelCRF,
    PiecewiseCRF,
    PrototypeFeatures,
    PrototypeMRF,
    PseudoLikelihoodCRF,
    SemiMarkovCRF,
    SequenceArray,
    SequenceUnion,
    SequenceVectorizer,
    SpectralHMM,
    TokenTransformer,
    TokenWindows,
    metrics,
)
from sklearn_struct.compat import CRF
from sklearn_struct.datasets import make_rental_ads

# ---------------------------------------------------------------- scikit-learn's own checks


class Classifier(ClassifierMixin, LinearChainCRF):
    """For the checks that only classifiers get; the estimator must not be one, see its tags."""


class MEMMClassifier(ClassifierMixin, MEMM):
    """The same of another one, and so on."""


class SearchClassifier(ClassifierMixin, LinearChainCRFCV): ...


class PseudoLikelihoodClassifier(ClassifierMixin, PseudoLikelihoodCRF): ...


class SegmentClassifier(ClassifierMixin, SemiMarkovCRF): ...


class PiecewiseClassifier(ClassifierMixin, PiecewiseCRF): ...


class PrototypeClassifier(ClassifierMixin, PrototypeMRF): ...


class MEstimatedClassifier(ClassifierMixin, MEstimatedCRF): ...


class WithTargets(GECRF):
    """A third of the rows have no labels, whatever they were given, and the labels of these are
    asked to be even.
    """

    def _read_labels(self, y, sequences, reset, unseen=None):
        masks = super()._read_labels(y, sequences, reset, unseen)
        if reset:
            first = sequences.X.tokens[:, [0]]
            number = np.asarray(
                first.toarray() if sp.issparse(first) else first, dtype=float
            ).ravel()
            masks[(1000 * number) % 3 < 1] = True
        return masks

    def _read_weights(self, sample_weight, sequences, labels):
        given = self.labeled_features
        K = len(self.classes_)
        self.labeled_features = {None: dict.fromkeys(self.classes_.tolist(), 1 / K)}
        try:
            return super()._read_weights(sample_weight, sequences, labels)
        finally:
            self.labeled_features = given


class GEClassifier(ClassifierMixin, WithTargets): ...


class GenerativeClassifier(ClassifierMixin, HMM):
    """The same for the HMM."""


ESTIMATORS = [
    GenerativeClassifier(),
    GenerativeClassifier(order=2, stop=False, n_jobs=2),
    LinearChainCRF(),
    LinearChainCRF(edge_features="all", transition_features="observed"),
    Classifier(),
    Classifier(order=2),
    Classifier(solver="owlqn"),
    Classifier(loss="pointwise"),
    Classifier(solver="newton-cg"),
    Classifier(solver="cg"),
    Classifier(solver="gradient", tol=1e-9, max_iter=5000),
    Classifier(solver="sgd", max_iter=50, random_state=0),
    Classifier(solver="sag", max_iter=50, random_state=0),
    Classifier(solver="ap", feature_pairs="all", max_iter=10, random_state=0),
    Classifier(solver="pa", feature_pairs="all", max_iter=5, random_state=0),
    Classifier(feature_pairs="all", n_jobs=2),
    Classifier(dtype="float32"),
    Classifier(warm_start=True, min_frequency=2),
    LinearChainCRF(warm_start=True, fit_intercept=False, min_frequency=2),
    LinearChainCRFCV(Cs=2, cv=2),
    SearchClassifier(Cs=[0.1, 1.0], l1_ratios=[0.0, 0.5], cv=3, tol=1e-3),
    GECRF(),
    WithTargets(),
    WithTargets(distance="posterior", solver="em"),
    GEClassifier(distance="squared", entropy_weight=0.001, l1_ratio=0.5, max_iter=20),
    MEMM(),
    MEMMClassifier(order=2, decoder="beam"),
    PseudoLikelihoodClassifier(order=2, block_size=2),
    PiecewiseCRF(),
    PiecewiseClassifier(order=2, piece_size=3),
    PrototypeMRF(),
    PrototypeClassifier(solver="newton-cg", given_features=[0]),
    MEstimatedCRF(),
    MEstimatedClassifier(base="locally-uniform"),
    MEstimatedClassifier(order=2, inputs="empirical", constant=False, n_jobs=2),
    SemiMarkovCRF(),
    SegmentClassifier(max_length=3, l1_ratio=0.5, tol=1e-3),
    GraphCRF(),
    GraphCRF(n_states=2, C=0.1, tol=1e-10, max_iter=5000),
    MultiLabelCRF(),
    MultiLabelCRF(edges="tree", decoder="marginal", n_jobs=2),
    MultiLabelCRF(estimator=LogisticRegression(), cv=2, decoder="balanced"),
    LogLinearClassifier(),
    LogLinearClassifier(l1_ratio=0.5),
    LogLinearClassifier(solver="newton-cg", n_jobs=2),
    TokenTransformer(StandardScaler()),
    TokenTransformer(MaxAbsScaler()),
]
# what is new, until it has settings above
ESTIMATORS += [
    cls()
    for cls in READ_TABLES + GRAPHS + IMAGES
    if not any(isinstance(e, cls) for e in ESTIMATORS)
]
WITHOUT_TABLES = [
    SequenceVectorizer(),
    FeatureTemplates(),
    PrototypeFeatures(["word"]),
    SequenceUnion([("attributes", SequenceVectorizer())]),
    TokenWindows(),
    CRF(),
    SpectralHMM(),
    *(parser() for parser in PARSERS),
]

CHECKS = parametrize_with_checks(ESTIMATORS)
FIRST = {type(estimator): repr(estimator) for estimator in reversed(ESTIMATORS)}
# what a class does whatever its parameters are: reading, refusing, being copied, having tags (all
# read matrices of scipy's as they read its sparse arrays, which each of ESTIMATORS is given)
OF_CLASSES = """
    all_zero_sample_weights_error classifier_data_not_an_array complex_data
    do_not_raise_errors_in_init_or_set_params dont_overwrite_parameters dtype_object
    estimator_cloneable estimator_repr estimator_sparse_matrix estimator_sparse_tag
    estimator_tags_renamed
    estimators_empty_data_messages estimators_fit_returns_self estimators_nan_inf
    estimators_overwrite_params estimators_unfitted f_contiguous_array_estimator fit1d
    fit2d_predict1d fit_score_takes_y get_params_invariance mixin_order n_features_in
    n_features_in_after_fitting no_attributes_set_in_init parameters_default_constructible
    positive_only_tag_during_fit requires_y_none sample_weights_list sample_weights_not_an_array
    sample_weights_not_overwritten sample_weights_pandas_series sample_weights_shape set_params
    supervised_y_2d supervised_y_no_nan valid_tag_types
"""


def applies(case):
    text = str(case)
    estimator, check = case.values if hasattr(case, "values") else case
    if name_of(check) in OF_CLASSES.split() and repr(estimator) != FIRST[type(estimator)]:
        return False
    if "check_array_api_input" in text:  # of array API dispatch; it would only skip
        return os.environ.get("SCIPY_ARRAY_API") == "1"
    # a step of twice the length is not two steps, there as little as in scikit-learn's own
    # Perceptron
    if "solver='ap'" in text:
        return (
            "sample_weight_equivalence" not in text and "check_class_weight_classifiers" not in text
        )
    return "sample_weight_equivalence" not in text or "solver='pa'" not in text


def name_of(check):
    return getattr(check, "func", check).__name__.removeprefix("check_")


names, checks = CHECKS.args
CHECKS = pytest.mark.parametrize(names, list(filter(applies, checks)), **CHECKS.kwargs)


@CHECKS
@pytest.mark.foreign
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # checks set max_iter
# by type_of_target
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check", [check_n_features_in_after_fitting, check_dataframe_column_names_consistency]
)
@pytest.mark.parametrize(
    "estimator",
    [
        *(LinearChainCRF(solver=solver) for solver in ("sgd", "pa", "ap")),
        Classifier(solver="pa"),
        MEMM(solver="sgd"),
    ],
    ids=str,
)
@pytest.mark.foreign
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_have_the_columns_of_the_first(estimator, check):
    """These checks call `partial_fit`, which only some solvers have, and without classes unless for
    a classifier.
    """
    check(type(estimator).__name__, estimator.set_params(max_iter=2))


@pytest.mark.parametrize(
    "estimator",
    WITHOUT_TABLES,
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.foreign
# few checks are about other X than tables
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_estimator_checks_of_those_that_take_no_tables(estimator):
    check_estimator(estimator)


def test_every_public_class_is_checked():
    checked = [*ESTIMATORS, *WITHOUT_TABLES]
    assert [
        cls.__name__ for cls in public_classes() if not any(isinstance(e, cls) for e in checked)
    ] == []


def test_tags():
    tags = get_tags(LinearChainCRF())
    assert tags.estimator_type is None  # "classifier" would make check_cv reject ragged y
    assert tags.classifier_tags is not None
    assert (tags.input_tags.sparse, tags.input_tags.dict, tags.input_tags.three_d_array) == (
        True,
        True,
        True,
    )
    assert not tags.input_tags.one_d_array
    assert not tags.no_validation
    assert tags.target_tags.required


# ----------------------------------------------------------- two-dimensional X: logistic regression


def logistic(C, l1_ratio=0.0):
    """LogisticRegression to convergence, in the words of the installed scikit-learn."""
    if l1_ratio == 0:
        return LogisticRegression(C=C, tol=1e-12, max_iter=20_000)
    old = {"penalty": "elasticnet"} if LogisticRegression().get_params()["penalty"] == "l2" else {}
    options = {
        "C": C,
        "l1_ratio": l1_ratio,
        "solver": "saga",
        "tol": 1e-10,
        "max_iter": 50_000,
        "random_state": 0,
    }
    return LogisticRegression(**options, **old)


def rows(n_labels, n=150, n_features=4):
    """Rows of numbers whose labels no model separates, and weights of which some are 0."""
    rng = np.random.RandomState(n_labels)
    X = rng.normal(size=(n, n_features))
    y = (X @ rng.normal(size=(n_features, n_labels)) + rng.gumbel(size=(n, n_labels))).argmax(
        axis=1
    )
    return X, y, rng.uniform(0, 2, n) * (rng.uniform(size=n) > 0.1)


def centred(a):
    return a - a.mean(axis=0)


@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "newton-cg", "trust-ncg"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.05, 50.0, np.inf])
@pytest.mark.parametrize("n_labels", [4])
def test_l2_is_logistic_regression(n_labels, C, weighted, solver):
    X, y, weight = rows(n_labels)
    weight = weight if weighted else None
    expected = logistic(C).fit(X, y, weight)
    crf = LinearChainCRF(C=C, solver=solver, tol=1e-8).fit(X, y, weight)
    np.testing.assert_array_equal(crf.classes_, expected.classes_)
    np.testing.assert_allclose(crf.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(centred(crf.coef_), centred(expected.coef_), atol=1e-5)
    np.testing.assert_allclose(centred(crf.intercept_), centred(expected.intercept_), atol=1e-5)
    if np.isfinite(C):  # the penalty centres the coefficients
        np.testing.assert_allclose(crf.coef_, expected.coef_, atol=1e-5)


@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
@pytest.mark.blas
def test_newton_on_iris_is_logistic_regression(C):
    X, y = load_iris(return_X_y=True)
    expected = LogisticRegression(C=C, solver="newton-cg", tol=1e-10, max_iter=1000).fit(X, y)
    crf = LinearChainCRF(C=C, solver="newton-cg", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(crf.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(crf.coef_, expected.coef_, atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.4, 1.0])
@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.blas
def test_l1_and_elastic_net_are_logistic_regression(C, l1_ratio, weighted):
    X, y, weight = rows(3)
    weight = weight if weighted else None
    expected = logistic(C, l1_ratio).fit(X, y, weight)
    crf = LinearChainCRF(C=C, l1_ratio=l1_ratio, tol=1e-8, max_iter=5000).fit(X, y, weight)
    np.testing.assert_allclose(crf.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    if l1_ratio == 1 and C < 1:
        assert np.sum(crf.coef_ == 0) > 3  # zeros are exact


@pytest.mark.parametrize("l1_ratio", [0.0, 0.4, 1.0])
@pytest.mark.blas
def test_two_labels_are_logistic_regression_at_another_C(l1_ratio):
    """Of two weights +v/2 and -v/2, L2 costs half of v's and L1 all of it."""
    X, y, weight = rows(2)
    crf = LinearChainCRF(C=1.0, l1_ratio=l1_ratio, tol=1e-8, max_iter=5000).fit(X, y, weight)
    expected = logistic(2 / (1 + l1_ratio), 2 * l1_ratio / (1 + l1_ratio)).fit(X, y, weight)
    np.testing.assert_allclose(crf.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    if l1_ratio == 0:
        np.testing.assert_allclose(crf.coef_[1] - crf.coef_[0], expected.coef_[0], atol=1e-5)
        np.testing.assert_allclose(np.diff(crf.intercept_), expected.intercept_, atol=1e-5)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_sparse_rows_are_logistic_regression(l1_ratio):
    X, y, weight = rows(3)
    X[np.random.RandomState(0).uniform(size=X.shape) < 0.5] = 0
    expected = logistic(1.0, l1_ratio).fit(X, y, weight)
    crf = LinearChainCRF(l1_ratio=l1_ratio, feature_pairs="all", tol=1e-8, max_iter=5000)
    crf.fit(sp.csr_array(X), y, weight)
    assert sp.issparse(crf.coef_)
    np.testing.assert_allclose(
        crf.predict_proba(sp.csr_array(X)), expected.predict_proba(X), atol=1e-6
    )


def test_without_intercept_is_logistic_regression():
    X, y, _ = rows(3)
    expected = logistic(1.0).set_params(fit_intercept=False).fit(X, y)
    crf = LinearChainCRF(fit_intercept=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(crf.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(crf.intercept_, np.zeros(3))


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_sgd_is_about_logistic_regression(C):
    X, y, weight = rows(3, n=1000)
    expected = logistic(C).fit(X, y, weight)
    crf = LinearChainCRF(C=C, solver="sgd", tol=1e-6, random_state=0).fit(X, y, weight)
    np.testing.assert_allclose(crf.predict_proba(X), expected.predict_proba(X), atol=0.02)


# ---------------------------------------------------------------- weights of sequences


def features(words):
    """Dicts for the words of a sentence."""
    prev = ["^", *(word.lower() for word in words[:-1])]
    return [{"w": w.lower(), "prev": p, "digit": w[0].isdigit()} for w, p in zip(words, prev)]


@pytest.fixture(scope="module")
def ads():
    X, y = make_rental_ads(40, random_state=0)
    return [features(words) for words in X], y


FORMS = {
    "dicts": lambda X: X,
    "SequenceArray": lambda X: SequenceVectorizer().fit_transform(X),
    "dense": lambda X: [s.toarray()[:, :40] for s in SequenceVectorizer().fit_transform(X)],
}


def chosen(X, where):
    return X[where] if isinstance(X, SequenceArray) else [X[i] for i in where]


@pytest.mark.parametrize(
    "options", [{}, {"l1_ratio": 1.0}, {"edge_features": "all", "transition_features": "observed"}]
)
@pytest.mark.parametrize("form", FORMS)
def test_integer_weights_are_repetitions_and_zero_is_absence(ads, form, options):
    X = FORMS[form](ads[0][:12])
    y = ads[1][:12]
    weight = np.array([0, 1, 2, 3, 0, 1, 2, 1, 1, 1, 1, 0])
    repeated = np.repeat(np.arange(12), weight)
    model = LinearChainCRF(C=0.1, tol=1e-5, **options)
    weighted = clone(model).fit(X, y, weight)
    copied = clone(model).fit(chosen(X, repeated), chosen(y, repeated))
    assert weighted.loss_curve_[-1] == pytest.approx(copied.loss_curve_[-1], rel=1e-6)
    kept = chosen(X, np.unique(repeated))
    assert weighted.predict(kept).tolist() == copied.predict(kept).tolist()
    np.testing.assert_allclose(
        weighted.log_proba(kept, weighted.predict(kept)),
        copied.log_proba(kept, copied.predict(kept)),
        atol=1e-3,
    )


@pytest.mark.parametrize(
    "solver", ["lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "sag", "sgd"]
)
def test_equal_weights_are_another_C(ads, solver):
    X = ads[0][:15]
    y = ads[1][:15]
    model = LinearChainCRF(C=0.5, solver=solver, tol=1e-6, random_state=0)
    half = clone(model).set_params(C=1.0).fit(X, y, np.full(15, 0.5))
    p = model.fit(X, y).predict_proba(X)
    q = half.predict_proba(X)
    np.testing.assert_allclose(np.concatenate(p), np.concatenate(q), atol=1e-5)


# ------------------------------------------------------------- model selection, clone, pickle, repr


def pipeline(**options):
    return Pipeline(
        [("vectorizer", SequenceVectorizer()), ("crf", LinearChainCRF(tol=1e-2, **options))]
    )


def test_grid_search_over_a_pipeline(ads):
    search = GridSearchCV(
        pipeline(),
        {"crf__C": [1e-4, 1.0]},
        cv=3,
        n_jobs=2,
        scoring=metrics.span_f1_scorer,
        error_score="raise",
    )
    search.fit(*ads)
    assert search.best_params_ == {"crf__C": 1.0}
    assert search.best_score_ > search.cv_results_["mean_test_score"][0] + 0.2
    assert search.score(*ads) == pytest.approx(
        metrics.span_f1_score(ads[1], search.predict(ads[0]))
    )
    assert search.classes_.tolist() == search.best_estimator_["crf"].classes_.tolist()


def test_randomized_search_over_packed_sequences(ads):
    X = SequenceVectorizer().fit_transform(ads[0])
    y = SequenceArray.from_sequences(ads[1])
    search = RandomizedSearchCV(
        LinearChainCRF(tol=1e-2),
        {"C": loguniform(0.1, 10), "feature_pairs": ["all", "observed"]},
        n_iter=3,
        cv=2,
        random_state=0,
        scoring={"f1": metrics.span_f1_scorer, "accuracy": metrics.token_accuracy_scorer},
        refit="f1",
        error_score="raise",
    )
    search.fit(X, y)
    assert search.best_score_ > 0.3
    assert search.predict(X[:2]).tolist() == search.best_estimator_.predict(X[:2]).tolist()


@pytest.mark.parametrize("packed", [False, True])
def test_cross_validation(ads, packed):
    X, y = ads
    model = pipeline()
    if packed:
        X = SequenceVectorizer().fit_transform(X)
        y = SequenceArray.from_sequences(y)
        model = model["crf"]
    predicted = cross_val_predict(model, X, y, cv=4)
    assert [len(labels) for labels in predicted] == [len(labels) for labels in y]
    assert metrics.span_f1_score(ads[1], predicted) > 0.4
    by_default = cross_val_score(model, X, y, cv=4, error_score="raise")
    np.testing.assert_allclose(
        by_default, cross_val_score(model, X, y, cv=4, scoring=metrics.token_accuracy_scorer)
    )
    first = clone(model).fit(X[10:], y[10:])
    assert predicted[:10].tolist() == first.predict(X[:10]).tolist()
    assert by_default[0] == first.score(X[:10], y[:10])


def test_sample_weight_reaches_the_model_through_a_search(ads):
    X, y = ads
    weight = np.r_[np.zeros(20), np.ones(20)]
    search = GridSearchCV(
        LinearChainCRF(tol=1e-2),
        {"C": [1.0]},
        cv=[(np.arange(40), np.arange(40))],
        error_score="raise",
    )
    search.fit(X, y, sample_weight=weight)
    expected = LinearChainCRF(tol=1e-2).fit(X, y, weight)
    assert search.best_estimator_.predict(X).tolist() == expected.predict(X).tolist()


def test_clone_and_parameters():
    parameters = LinearChainCRF().get_params() | {
        "order": 2, "C": 2.0, "l1_ratio": 0.5, "solver": "owlqn", "loss": "pointwise",
        "class_weight": {"a": 2.0}, "feature_pairs": "all", "transition_features": "observed",
        "edge_features": ["a", 1], "allowed_transitions": "BIO", "constrain_training": True,
        "min_frequency": 3, "fit_intercept": False, "dtype": "float32", "max_iter": 7, "tol": 0.5,
        "warm_start": True, "n_jobs": 2, "random_state": 4, "verbose": 1,
        "learning_rate": "optimal",
    }  # fmt: skip
    model = LinearChainCRF(**parameters)
    assert model.get_params() == parameters
    assert clone(model).get_params() == parameters
    assert clone(model).edge_features is not model.edge_features
    assert LinearChainCRF().set_params(**parameters).get_params() == parameters
    with pytest.raises(TypeError):
        LinearChainCRF(1.0)  # parameters have names
    with pytest.raises(ValueError, match="c2"):
        model.set_params(c2=1.0)


def test_fit_changes_no_parameter_and_clone_unfits(ads):
    model = LinearChainCRF(
        edge_features=["w:a", "digit"], random_state=np.random.RandomState(0), tol=1e-2
    )
    before = model.get_params()
    model.fit(*ads)
    assert model.get_params() == before
    assert not hasattr(clone(model), "classes_")
    assert vars(clone(model)).keys() == before.keys()


def test_repr(ads):
    assert repr(LinearChainCRF()) == "LinearChainCRF()"
    fitted = LinearChainCRF(C=0.1, edge_features=["digit"]).fit(ads[0][:2], ads[1][:2])
    assert repr(fitted) == "LinearChainCRF(C=0.1, edge_features=['digit'])"
    assert "LinearChainCRF" in pipeline()._repr_html_()
    assert "LinearChainCRF" in fitted._repr_html_()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("form", [*FORMS, "edge features", "pipeline"])
def test_pickled_models_predict_the_same(ads, form, protocol):
    X = FORMS.get(form, FORMS["dicts"])(ads[0][:8])
    y = ads[1][:8]
    options = {"edge_features": ["digit"]} if form == "edge features" else {}
    model = (pipeline() if form == "pipeline" else LinearChainCRF(tol=1e-2, **options)).fit(X, y)
    again = pickle.loads(pickle.dumps(model, protocol=protocol))
    assert again.predict(X).tolist() == model.predict(X).tolist()
    for p, q in zip(again.predict_proba(X), model.predict_proba(X), strict=True):
        assert p.tobytes() == q.tobytes()
    assert repr(again) == repr(model)
    again.fit(X, y)


def test_changing_learned_attributes_changes_no_model(ads):
    X, y = ads
    model = LinearChainCRF(tol=1e-2).fit(X, y)
    for table in (model.coef_.data, model.transition_, model.intercept_):
        with pytest.raises(ValueError, match="read-only"):
            table[:] = 99.0
    fresh = LinearChainCRF(tol=1e-2).fit(X, y)
    assert model.log_proba(X, y).tobytes() == fresh.log_proba(X, y).tobytes()
