"""Learning from labelled features, from labels as far as there are any, and from bare text, in any
mixture.
"""

from __future__ import annotations

import pickle
from collections import Counter
from copy import deepcopy
from itertools import pairwise

import contracts
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_struct import GECRF, LinearChainCRF, SequenceArray, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.exceptions import (
    EmptyDataError,
    ForbiddenLabelError,
    InputTypeError,
    NonFiniteError,
    UnknownLabelError,
)
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.model_selection import KeepUnlabeled
from sklearn_struct.objectives.linear_objective import TrainingData
from sklearn_struct.objectives.linear_potentials import bind

# as near as floats allow
CLOSE = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = [["rent", "$", "900", "month"], ["quiet", "room"], ["sunny", "room"], ["$", "750", "month"], []]
FEATURES = {"$": "RENT", "month": "RENT", "room": "SIZE"}
NOTHING = [None] * len(X)


def ads(n, seed=0):
    """Advertisements with fields as labels."""
    X, y = make_rental_ads(n, random_state=seed)
    return [[word.lower() for word in ad] for ad in X], [
        [label[2:] or label for label in labels] for labels in y
    ]


@pytest.fixture(scope="module")
def corpus():
    X, y = ads(60)
    vectorizer = SequenceVectorizer().fit(X)
    return vectorizer.transform(X), y


WORDS = {
    "$": "RENT",
    "month": "RENT",
    "bedroom": "SIZE",
    "call": "CONTACT",
    "pets": "RESTRICTIONS",
    ".": "O",
    ",": "O",
}


# ----------------------------------------------------------------------------------- what it learns


def test_from_labelled_features_alone():
    crf = GECRF(FEATURES).fit(X, NOTHING)
    assert crf.classes_.tolist() == ["RENT", "SIZE"]
    assert crf.predict([["$", "800", "month"], ["sunny", "room"], []]).tolist() == [
        ["RENT"] * 3,
        ["SIZE"] * 2,
        [],
    ]
    assert crf.targets_["$"] == pytest.approx({"RENT": 0.99, "SIZE": 0.01})
    np.testing.assert_array_equal(GECRF(FEATURES).fit(X)._w, crf._w)


def expected_at(crf, X, word):
    """The distribution of labels that a model expects at a word."""
    return np.mean(
        [p for x, rows in zip(X, crf.predict_proba(X)) for w, p in zip(x, rows) if w == word],
        axis=0,
    )


@CLOSE
@pytest.mark.parametrize("distance", ["kl", "squared"])
def test_strong_targets_are_met(distance):
    given = {
        "$": {"RENT": 0.7, "SIZE": 0.2, "O": 0.1},
        "room": Counter(SIZE=3, RENT=1),
        "month": "O",
    }
    crf = GECRF(given, distance=distance, target_weight=1e4, C=1e3, tol=1e-9, smoothing=0.5).fit(
        X, NOTHING
    )
    assert crf.classes_.tolist() == ["O", "RENT", "SIZE"]
    np.testing.assert_allclose(expected_at(crf, X[:-1], "$"), [0.1, 0.7, 0.2], atol=0.01)
    np.testing.assert_allclose(
        expected_at(crf, X[:-1], "room"), np.array([0.5, 1.5, 3.5]) / 5.5, atol=0.01
    )
    np.testing.assert_allclose(expected_at(crf, X[:-1], "month"), [0.99, 0.005, 0.005], atol=0.01)


@CLOSE
def test_label_regularisation():
    """A target of every token."""
    share = {"RENT": 0.25, "SIZE": 0.75}
    crf = GECRF(
        {None: share}, target_weight=1e4, C=1e3, tol=1e-8, init="random", random_state=0
    ).fit(X, NOTHING)
    found = np.concatenate([p for p in crf.predict_proba(X) if len(p)]).mean(axis=0)
    np.testing.assert_allclose(found, [0.25, 0.75], atol=0.01)


@CLOSE
def test_targets_of_pairs():
    pairs = {("A", "B"): 2 / 3, ("B", "B"): 1 / 3}  # what three such pairs can have
    crf = GECRF({"y": pairs}, target_weight=1e4, C=1e3, tol=1e-8).fit(
        [["x", "y"], ["x", "y", "y"], ["y"]], [None] * 3
    )
    found = np.mean(
        [t for table in crf.predict_edge_proba([["x", "y"], ["x", "y", "y"]]) for t in table],
        axis=0,
    )
    np.testing.assert_allclose(found, [[0, 2 / 3], [0, 1 / 3]], atol=0.02)
    single = GECRF({"y": ("A", "B")}, classes=["A", "B"]).fit([["x", "y"]], [None])
    assert single.predict([["x", "y"]])[0] == ["A", "B"]


@CLOSE
def test_values_of_features_weigh_tokens():
    """p~ = sum f p / sum f."""
    rows = [np.array([[1.0, 0.0], [3.0, 1.0]]), np.array([[0.0, 1.0]])]
    given = {0: {"A": 0.4, "B": 0.6}}
    crf = GECRF(given, target_weight=1e5, C=1e4, tol=1e-9, init="random", random_state=1).fit(
        rows, [None] * 2
    )
    first, second = crf.predict_proba(rows)[0]
    np.testing.assert_allclose((first + 3 * second) / 4, [0.4, 0.6], atol=0.01)
    sparse = clone_of(crf).fit([sp.csr_array(x) for x in rows], [None] * 2)
    np.testing.assert_allclose(
        sparse.predict_proba([sp.csr_array(x) for x in rows])[0], [first, second], atol=1e-4
    )


def clone_of(model):
    return type(model)(**model.get_params())


@CLOSE
def test_known_labels_give_the_crf(corpus):
    X, y = corpus
    expected = LinearChainCRF(C=2.0, tol=1e-7).fit(X[:20], y[:20])
    crf = GECRF(C=2.0, tol=1e-7, fit_intercept=True).fit(X[:20], y[:20])
    np.testing.assert_allclose(crf.coef_.toarray(), expected.coef_.toarray(), atol=1e-5)
    np.testing.assert_allclose(crf.loss_curve_[-1], expected.loss_curve_[-1], rtol=1e-9)
    np.testing.assert_allclose(
        crf.log_proba(X[20:30], y[20:30]), expected.log_proba(X[20:30], y[20:30]), atol=1e-4
    )


@CLOSE
def test_partly_known_labels_give_the_crf_of_such(corpus):
    X, y = corpus
    known = [
        [{label, "O"} if t % 5 == 0 else None if t % 3 == 0 else label for t, label in enumerate(s)]
        for s in y
    ]
    expected, crf = (
        c(C=2.0, tol=1e-6, fit_intercept=False).fit(X[:20], known[:20])
        for c in (LinearChainCRF, GECRF)
    )
    np.testing.assert_allclose(
        crf.predict_proba(X[20:21])[0], expected.predict_proba(X[20:21])[0], atol=1e-3
    )
    assert crf.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-6)


def test_mixture_beats_the_labels_alone(corpus):
    X, y = corpus
    y_train = [*y[:3], *[None] * 37]
    alone = LinearChainCRF(C=10.0).fit(X[:3], y[:3])
    mixed = GECRF(WORDS, classes=sorted({label for s in y for label in s})).fit(X[:40], y_train)
    assert mixed.score(X[40:], y[40:]) > alone.score(X[40:], y[40:]) + 0.02


def test_entropy_regularisation_lessens_doubt(corpus):
    X, y = corpus
    y_train = [*y[:5], *[None] * 35]
    doubt = []
    for entropy_weight in (0.0, 0.01):
        crf = GECRF(entropy_weight=entropy_weight).fit(X[:40], y_train)
        p = np.concatenate(list(crf.predict_proba(X[5:40])))
        doubt.append(-np.mean(np.sum(p * np.log(p + 1e-300), axis=1)))
    assert doubt[1] < 0.8 * doubt[0]


def test_a_weight_of_two_counts_twice():
    options = {"tol": 1e-8, "entropy_weight": 0.01}
    twice = GECRF(FEATURES, **options).fit([*X, X[0], X[1]], [None] * 7)
    weighted = GECRF(FEATURES, **options).fit(X, NOTHING, sample_weight=[2, 2, 1, 1, 1])
    np.testing.assert_allclose(weighted.predict_proba(X)[0], twice.predict_proba(X)[0], atol=1e-5)


# ------------------------------------------------------------------------------------ the objective


def test_objective_is_what_is_documented(corpus):
    """C times labelled loss, weighted divergence and entropy, plus the penalty, from probabilities
    alone.
    """
    X = corpus[0][:6]
    y = [*corpus[1][:2], *[None] * 4]
    crf = GECRF(
        WORDS, target_weight={"$": 2.0, ".": 0.5}, entropy_weight=0.1, C=3.0, max_iter=3, tol=10.0,
        classes=sorted({label for s in corpus[1] for label in s}),
    ).fit(X, y)  # fmt: skip
    names = X.feature_names.tolist()
    total = -crf.log_proba(X[:2], y[:2]).sum()
    proba = np.concatenate(list(crf.predict_proba(X[2:])))
    for word, target in crf.targets_.items():
        at = X[2:].tokens[:, [names.index(word)]].toarray()[:, 0]
        p = np.array(list(target.values()))
        q = at @ proba / at.sum()
        total += {"$": 2.0, ".": 0.5}.get(word, 1.0) * np.sum(p * np.log(p / q))
    for potentials, structure in potentials_of(crf, X[2:]):
        total += 0.1 * contracts.entropy(Chain(), potentials, structure).sum()
    penalised = np.concatenate([crf.coef_.toarray().ravel(), crf.transition_.ravel()])
    assert crf.loss_curve_[-1] == pytest.approx(total + penalised @ penalised / 2 / 3.0, rel=1e-10)


def objective_of(crf, X, y):
    """What `fit` minimises, before the penalty, as a function of the parameters."""
    sequences = crf._read_X(X, reset=True)
    labels = crf._read_labels(y, sequences, reset=True)
    weight, loss = crf._read_weights([1.0, 2.0, 1.0, 0.5, 1.0, 1.0], sequences, labels)
    crf._pattern = crf._observe(sequences, labels, weight.token)
    structure = Chain(crf.order).structure(sequences.X.offsets)
    potentials = bind(crf._pattern, sequences.X, structure, np.dtype(float))
    data = TrainingData(structure, weight.evidence, weight.sequence)
    return crf._objective("lbfgs", potentials, loss, data)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("distance", ["kl", "squared", "posterior"])
def test_gradient_of_a_mixture_by_finite_differences(distance, order):
    """Labelled, ambiguous and unlabelled sequences; overlapping targets of labels and pairs;
    edge features.
    """
    given = {
        "$": {"RENT": 0.7, "SIZE": 0.3},
        "room": "SIZE",
        None: {"RENT": 3, "O": 1},
        "month": ("RENT", "RENT"),
    }
    crf = GECRF(
        given,
        distance=distance,
        entropy_weight=0.0 if distance == "posterior" else 0.2,
        order=order,
        edge_features=["$", "room"],
        fit_intercept=True,
    )
    objective = objective_of(
        crf, [*X, X[0]], [None, None, ["SIZE", {"O", "SIZE"}], None, [], [None, "RENT", "O", None]]
    )
    rng = np.random.default_rng(0)
    w = rng.normal(size=objective.size)
    _, slopes = objective.value_and_grad(w)
    for i in rng.choice(objective.size, 40, replace=False):
        step = 1e-5 * np.eye(objective.size)[i]
        difference = objective.value_and_grad(w + step)[0] - objective.value_and_grad(w - step)[0]
        # the nearest labellings are found to 1e-7
        assert difference / 2e-5 == pytest.approx(
            slopes[i], abs=1e-4 if distance == "posterior" else 1e-6
        )


def potentials_of(crf, X):
    found = []
    crf._each_block(
        crf._read_X(X, reset=False), lambda theta, block: found.append((theta, block.structure))
    )
    return found


@CLOSE
@pytest.mark.parametrize(
    "options",
    [
        {"entropy_weight": 0.01},
        {"distance": "squared", "dtype": "float32"},
        {"distance": "posterior"},
        {"distance": "posterior", "solver": "em"},
    ],
)
def test_equal_bits_for_any_number_of_threads(options):
    X, y = ads(150, seed=1)
    X = SequenceVectorizer().fit_transform(X)
    y = [*y[:30], *[None] * 120]
    classes = sorted({label for labels in y[:30] for label in labels} | set(WORDS.values()))
    models = [
        GECRF(WORDS, max_iter=8, tol=0.1, classes=classes, n_jobs=n_jobs, **options).fit(X, y)
        for n_jobs in (1, 2, 3)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model._w, models[0]._w)


@pytest.mark.blas
@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "cg", "gradient"])
def test_single_precision_is_close(solver):
    """Gradients have errors of 1e-7 here, values of more than is gained by the last iterations."""
    options = {"solver": solver, "tol": 2e-6}
    models = [
        GECRF(FEATURES, dtype=dtype, **options).fit(X, NOTHING) for dtype in ("float64", "float32")
    ]
    np.testing.assert_allclose(
        models[0].predict_proba(X)[0], models[1].predict_proba(X)[0], atol=1e-4
    )


@pytest.mark.blas
@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "cg", "gradient"])
def test_solvers_find_the_same(solver):
    expected = GECRF(FEATURES, C=1.0, tol=1e-7).fit(X, NOTHING)
    crf = GECRF(FEATURES, C=1.0, tol=1e-5, solver=solver, max_iter=5000).fit(X, NOTHING)
    assert crf.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-4)


@pytest.mark.blas
@pytest.mark.parametrize("solver", ["owlqn", "cg", "em"])
def test_solvers_find_the_same_nearest_labellings(solver):
    options = {"distance": "posterior", "C": 1.0}
    expected = GECRF(FEATURES, tol=1e-6, **options).fit(X, NOTHING)
    crf = GECRF(FEATURES, tol=1e-5, solver=solver, max_iter=5000, **options).fit(X, NOTHING)
    assert crf.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-4)


def test_least_shares(corpus):
    """Other than by targets, more than what is asked for costs nothing."""
    given = {"$": {"RENT": 0.7, "SIZE": 0.1, "O": 0.2}, "room": Counter(SIZE=3, O=1)}
    crf = GECRF(given, distance="posterior", C=1e4, tol=1e-7, smoothing=0.0).fit(X, NOTHING)
    np.testing.assert_allclose(expected_at(crf, X[:-1], "$"), [0.2, 0.7, 0.1], atol=0.01)
    np.testing.assert_allclose(expected_at(crf, X[:-1], "room"), [0.25, 0.0, 0.75], atol=0.01)
    vectors, y = corpus
    few = [*y[:20], *[None] * 40]
    classes = sorted({label for labels in y for label in labels})
    options = {"distance": "posterior", "classes": classes, "tol": 1e-3}
    least = {None: {"O": 0.05, **dict.fromkeys(set(classes) - {"O"}, 0.95 / (len(classes) - 1))}}
    assert GECRF(least, **options, target_weight=1.0).fit(vectors, few).n_iter_ > 0
    half = GECRF(WORDS, **options, majority=0.5).fit(vectors, few)
    most = GECRF(WORDS, **options, majority=0.99).fit(vectors, few)
    rent = classes.index("RENT")
    shares = []
    for crf in (half, most):
        column = vectors.feature_names.tolist().index("month")
        fires = vectors[20:].tokens[:, [column]].toarray()[:, 0] > 0
        shares.append(np.concatenate(list(crf.predict_proba(vectors[20:])))[fires, rent].mean())
    assert 0.5 < shares[0] <= shares[1] + 0.01


@CLOSE
def test_em_never_raises_the_objective(corpus):
    vectors, y = corpus
    few = [*y[:10], *[None] * 50]
    classes = sorted({label for labels in y for label in labels})
    crf = GECRF(
        WORDS, distance="posterior", solver="em", classes=classes, max_iter=15, tol=1e-3
    ).fit(vectors, few)
    values = np.array(crf.loss_curve_)
    assert len(values) > 5
    # as the nearest labellings are found to 1e-7
    assert np.all(np.diff(values) <= 1e-5 * values[0])
    assert values[-1] < 0.9 * values[0]


def test_what_posterior_regularisation_refuses():
    with pytest.raises(ValueError, match="entropy_weight goes with distance='kl' or 'squared'"):
        GECRF(FEATURES, distance="posterior", entropy_weight=0.1).fit(X, NOTHING)
    with pytest.raises(ValueError, match=r"solver='em' is that of distance='posterior'.*'kl'"):
        GECRF(FEATURES, solver="em").fit(X, NOTHING)


@pytest.mark.filterwarnings("ignore:.*never fires")
def test_least_shares_among_allowed_labellings():
    """What constraints forbid is not asked for; the others' shares stay as they are."""
    given = {"$": {"RENT": 0.5, "SIZE": 0.5}, "month": "RENT"}
    options = {"allowed_transitions": {"RENT": ["SIZE"]}}
    crf = GECRF(given, distance="posterior", constrain_training=True, **options).fit(X, NOTHING)
    assert crf.targets_["month"] == pytest.approx({"RENT": 0.99, "SIZE": 0.01})
    labels = crf.predict(X)
    assert ("RENT", "SIZE") not in [pair for row in labels for pair in pairwise(row)]


def test_l1_penalty_gives_zeros():
    crf = GECRF(FEATURES, C=1.0, l1_ratio=1.0, feature_pairs="all").fit(X, NOTHING)
    assert 0 < np.count_nonzero(crf.coef_.toarray()) < crf.coef_.toarray().size


def test_second_order():
    crf = GECRF({**FEATURES, "900": ("RENT", "RENT")}, order=2, classes=["RENT", "SIZE"]).fit(
        X, NOTHING
    )
    assert crf.predict([["$", "800", "month"]])[0] == ["RENT"] * 3
    assert crf.transition2_.shape == (2, 2, 2)


# ------------------------------------------------------------------------------------------- starts


def test_starts_and_restarts():
    options = {"C": 10.0, "tol": 1e-6, "random_state": 0}
    values = {
        name: GECRF(FEATURES, **options, **more).fit(X, NOTHING).loss_curve_[-1]
        for name, more in {"zero": {}, "random": {"init": "random"}, "restarts": {"n_restarts": 3},
                           "annealing": {"annealing": (0.01, 0.1)}}.items()
    }  # fmt: skip
    assert values["restarts"] <= min(values["zero"], values["random"]) + 1e-6
    several = GECRF(FEATURES, n_restarts=2, **options).fit(X, NOTHING)
    assert several.n_iter_ > 3
    assert len(several.loss_curve_) == several.n_iter_
    assert values["annealing"] == pytest.approx(values["zero"], rel=0.1)


@CLOSE
def test_start_from_the_labelled_sequences(corpus):
    """With targets that count for nothing and one iteration, it is where it started."""
    X, y = corpus
    y_train = [*y[:5], *[None] * 15]
    labels = sorted({label for s in y for label in s})
    crf = GECRF(WORDS, init="labelled", target_weight=0.0, classes=labels, C=1.0).fit(
        X[:20], y_train
    )
    expected = GECRF(classes=labels, C=1.0).fit(X[:20], y_train)
    assert crf.n_iter_ <= 1
    np.testing.assert_allclose(
        crf.predict_proba(X[20:21])[0], expected.predict_proba(X[20:21])[0], atol=1e-3
    )


def test_init_and_warm_start(corpus):
    X, y = corpus
    y_train = [*y[:5], *[None] * 15]
    supervised = LinearChainCRF(C=10.0).fit(X[:5], y[:5])
    labels = supervised.classes_.tolist()
    given = {word: label for word, label in WORDS.items() if label in labels}
    crf = GECRF(given, warm_start=True, tol=1e-3).fit(X[:20], y_train, init=supervised)
    assert crf.fit(X[:20], y_train).n_iter_ <= 3
    assert crf.score(X[20:], y[20:]) > 0.3


# -------------------------------------------------------------------------------- with scikit-learn


def test_grid_search_with_unlabelled_sequences(corpus):
    X, y = corpus
    y_train = [None if i % 3 else labels for i, labels in enumerate(y[:30])]
    labels = sorted({label for s in y for label in s})
    search = GridSearchCV(
        GECRF(WORDS, classes=labels, tol=1e-2),
        {"target_weight": [0.1, 1.0]},
        cv=KeepUnlabeled(3),
    )
    search.fit(X[:30], y_train)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_estimator_.score(X[30:], y[30:]) > 0.4


def test_in_a_pipeline_and_through_pickle():
    pipeline = make_pipeline(SequenceVectorizer(), GECRF(FEATURES)).fit(X, NOTHING)
    again = pickle.loads(pickle.dumps(pipeline))
    assert (
        again.predict([["$", "800"]])[0] == pipeline.predict([["$", "800"]])[0] == ["RENT", "RENT"]
    )
    assert again[-1].targets_ == pipeline[-1].targets_


def test_rows_of_a_table():
    rows = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.2, 0.8]])
    crf = GECRF({0: "A", 1: "B"}).fit(rows, [None] * 4)
    assert crf.predict(rows).tolist() == ["A", "A", "B", "B"]
    # nothing is known of the second and the third
    assert crf.score(rows, ["A", None, {"A", "B"}, "A"]) == 0.5
    model = GECRF({0: "A", 1: "B"}, classes=["A", "B", "C"]).fit(rows, [None] * 4)
    assert model.score(rows, ["A", None, {"A", "B"}, "A"]) == pytest.approx(2 / 3)


# ---------------------------------------------------------------------------------------- bad input

MISTAKES = {
    "unknown feature": ({"bath": "SIZE"}, ValueError, "has no feature 'bath'"),
    "unknown column": ({70: "SIZE"}, ValueError, "has no feature 70"),
    "too much": (
        {"$": {"RENT": 0.9, "SIZE": 0.2}},
        ValueError,
        r"labeled_features\['\$'\]: the probabilities sum to 1.1",
    ),
    "too little": ({"$": {"RENT": 0.5}}, ValueError, r"\['\$'\]: the probabilities sum to 0.5"),
    "negative": (
        {"$": {"RENT": -0.5, "SIZE": 1.5}},
        NonFiniteError,
        r"\['\$'\].*not negative, got -0.5",
    ),
    "NaN": ({"$": {"RENT": float("nan")}}, NonFiniteError, r"\['\$'\].*got nan"),
    "no number": (
        {"$": {"RENT": "much"}},
        InputTypeError,
        r"\['\$'\].*must be a number, got 'much'",
    ),
    "no counts": ({"$": {"RENT": 0}}, ValueError, r"\['\$'\]: all counts are 0"),
    "no labels": ({"$": {}, "room": "SIZE"}, ValueError, r"\['\$'\]: there are no labels"),
    "list": ({"$": ["RENT"]}, InputTypeError, r"\['\$'\]: \['RENT'\] cannot be a label"),
    "mixed": (
        {"$": {"RENT": 0.5, ("RENT", "SIZE"): 0.5}},
        ValueError,
        r"\['\$'\]: labels and pairs",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_name_the_feature_and_leave_no_trace(mistake):
    given, error, said = MISTAKES[mistake]
    for model in (GECRF(given), GECRF(FEATURES).fit(X, NOTHING).set_params(labeled_features=given)):
        before = deepcopy(
            {name: value for name, value in vars(model).items() if name != "_prepared"}
        )
        with pytest.raises(error, match=said):
            model.fit(X, NOTHING)
        after = {name: value for name, value in vars(model).items() if name != "_prepared"}
        assert pickle.dumps(after) == pickle.dumps(before)


def test_other_mistakes():
    with pytest.raises(
        UnknownLabelError,
        match=r"labeled_features\['month'\]: label 'RENT' is unknown \(known: 'O', 'SIZE'\)",
    ):
        GECRF({"month": "RENT"}, classes=["SIZE", "O"]).fit(X, NOTHING)
    with pytest.raises(UnknownLabelError, match=r"y\[0\], token 0: label 'X' was not seen"):
        GECRF(FEATURES, classes=["SIZE", "RENT"]).fit(X, [["X"] * 4, *NOTHING[1:]])
    with pytest.raises(EmptyDataError, match="there are no labels"):
        GECRF({}).fit(X, NOTHING)
    with pytest.raises(ValueError, match="requires y to be passed"):
        GECRF().fit(X, None)
    with pytest.raises(
        ValueError, match=r"X\[0\], token 1: the labelled feature 0 is negative \(-1\)"
    ):
        GECRF({0: "A", 1: "B"}).fit([np.array([[1.0, 1.0], [-1.0, 2.0]])], [None])
    with pytest.raises(ValueError, match="target_weight has 'bath'"):
        GECRF(FEATURES, target_weight={"bath": 1.0}).fit(X, NOTHING)
    with pytest.raises(NonFiniteError, match=r"target_weight\['\$'\] must be finite"):
        GECRF(FEATURES, target_weight={"$": np.nan}).fit(X, NOTHING)
    with pytest.raises(ValueError, match="'target_weight' parameter"):
        GECRF(FEATURES, target_weight=np.inf).fit(X, NOTHING)
    with pytest.raises(
        ValueError, match=r"annealing must hold finite numbers, not negative, got -0.1"
    ):
        GECRF(FEATURES, annealing=(-0.1,)).fit(X, NOTHING)
    with pytest.raises(ValueError, match="'solver' parameter"):
        GECRF(FEATURES, solver="newton-cg").fit(X, NOTHING)


def test_a_feature_that_never_fires_is_named():
    with pytest.warns(
        UserWarning, match=r"labeled_features\['quiet'\] never fires in unlabelled sequences"
    ):
        crf = GECRF({**FEATURES, "quiet": "SIZE"}, classes=["RENT", "SIZE"]).fit(
            X, [None, ["SIZE"] * 2, *NOTHING[2:]]
        )
    assert crf.predict([["$"]])[0] == ["RENT"]


def test_labels_that_y_lacks_are_named():
    with pytest.warns(UserWarning, match="labels of labeled_features that y does not have: 'RENT'"):
        crf = GECRF(FEATURES).fit(X, [None, ["SIZE", "SIZE"], None, None, None])
    assert crf.classes_.tolist() == ["RENT", "SIZE"]


def test_what_constraints_forbid():
    rule = {None: ["RENT"], "SIZE": ["RENT"]}
    pairs = {"month": {("SIZE", "RENT"): 0.5, ("SIZE", "SIZE"): 0.5}}
    with pytest.raises(
        ForbiddenLabelError,
        match=r"labeled_features\['\$'\]: .* forbid 'RENT' wherever the feature fires",
    ):
        GECRF(FEATURES, allowed_transitions=rule, constrain_training=True).fit(X, NOTHING)
    with pytest.raises(
        ForbiddenLabelError, match=r"\['month'\]: .* forbid \('SIZE', 'RENT'\) wherever"
    ):
        GECRF(pairs, allowed_transitions=rule, constrain_training=True).fit(X, NOTHING)
    with pytest.raises(
        ForbiddenLabelError, match=r"X\[1\], token 0: allowed_transitions forbids every label"
    ):
        GECRF(
            {"room": "SIZE"},
            allowed_transitions=rule,
            constrain_training=True,
            classes=["RENT", "SIZE"],
        ).fit(X, [None, [{"RENT"}, None], None, None, None])


def test_what_shares_the_rest_of_a_target_may_be_forbidden():
    """A word that is always first cannot be inside a field; pairs that may not be have no share."""
    options = {
        "allowed_transitions": "BIO",
        "constrain_training": True,
        "classes": ["B-R", "I-R", "B-S", "I-S", "O"],
    }
    given = {
        "rent": "B-R",
        "$": {"B-R": 1, "I-R": 5},
        "month": ("I-R", "I-R"),
        "room": {"I-S": 0.5, "B-S": 0.5},
    }
    for distance in ("kl", "squared"):
        crf = GECRF(given, distance=distance, **options).fit(X, NOTHING)
        assert np.isfinite(crf.loss_curve_[-1])
        assert crf.predict([["rent", "$", "5", "month"]])[0] == ["B-R", "I-R", "I-R", "I-R"]


def test_one_label():
    crf = GECRF({"the": "D"}).fit([["the"], ["a"]])
    assert crf.predict([["the"]])[0] == ["D"]
    assert crf.score([["the"]], [["D"]]) == 1.0


def test_empty_sequences_and_packed_data():
    packed = SequenceVectorizer().fit_transform(X)
    assert isinstance(packed, SequenceArray)
    crf = GECRF(FEATURES).fit(
        packed, SequenceArray(np.full(11, None, dtype=object), packed.offsets)
    )
    assert crf.predict(packed)[3] == ["RENT"] * 3
