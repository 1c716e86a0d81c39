"""M-estimation: what it finds, on which data, from which base; and what it refuses."""

from __future__ import annotations

from itertools import pairwise, product

import joblib
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV

from sklearn_struct import HMM, FeatureTemplates, LinearChainCRF, MEstimatedCRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.estimators.m_estimation import cached_expectations
from sklearn_struct.exceptions import (
    ForbiddenLabelError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
)
from sklearn_struct.inspection import explain
from sklearn_struct.metrics import token_accuracy_score

# labels only go forward, so that all that the base can emit can be written down
SMALL = [["a", "b", "a"], ["b", "a"], ["b"], ["a", "b"], ["b", "b"], []]
SMALL_Y = [["A", "B", "C"], ["A", "C"], ["B"], ["B", "C"], ["A", "B"], []]
TEMPLATES = ["%x[0,0]", "%x[-1,0]"]
ADS, ADS_Y = make_rental_ads(60, random_state=0)
WORDS = [list(ad) for ad in ADS]


def everything(base):
    """All sequences that the base can emit, with their labels."""
    xs = []
    ys = []
    for y in (list(y) for n in (1, 2, 3) for y in product("ABC", repeat=n)):
        if all(j < k for j, k in pairwise(y)):
            for x in product(("a", "b", "<OOV>"), repeat=len(y)):
                xs.append(list(x))
                ys.append(y)
    possible = np.flatnonzero(base.log_joint(xs, ys) > -np.inf)
    return [xs[i] for i in possible], [ys[i] for i in possible]


def truth(**options):
    """A model p_w with its base, everything that it can emit, and the probabilities of that."""
    base = HMM(oov="smoothing").fit(SMALL, SMALL_Y)  # features see x as it is
    xs, ys = everything(base)
    model = MEstimatedCRF(base=FrozenEstimator(base), **options).fit(xs, ys)
    model._w = np.random.RandomState(0).normal(scale=0.7, size=len(model._w))
    return base, xs, ys, distribution(model, xs, ys)


def distribution(model, xs, ys):
    score = model.log_joint(xs, ys)
    return np.exp(score - np.logaddexp.reduce(score))


def test_the_true_model_is_found_as_data_grow():
    base, xs, ys, p = truth(features=TEMPLATES)
    errors = []
    for n in (300, 30_000, 3_000_000):
        counts = np.random.RandomState(1).multinomial(n, p).astype(float)
        model = MEstimatedCRF(
            TEMPLATES, base=FrozenEstimator(base), C=1e6, max_iter=2000, tol=1e-7, solver="lbfgs"
        )
        found = distribution(model.fit(xs, ys, counts), xs, ys)
        errors.append(np.abs(found - p).sum())
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 0.005


def test_the_true_scores_need_the_constant():
    """The constant's weight is then -log Z, so that scores are log-probabilities."""
    # intercepts less transitions would be a constant, too
    options = {"features": ["%x[-1,0]"], "fit_intercept": False}
    base, xs, ys, p = truth(**options)
    options |= {"base": FrozenEstimator(base), "C": np.inf, "max_iter": 5000, "tol": 1e-9}
    with_it = MEstimatedCRF(**options).fit(xs, ys, p)
    np.testing.assert_allclose(with_it.log_joint(xs, ys), np.log(p), atol=1e-4)
    without = MEstimatedCRF(constant=False, **options).fit(xs, ys, p)
    assert without.constant_ == 0
    assert np.abs(distribution(without, xs, ys) - p).sum() > 0.01


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": 2, "constant": False},
        {"input_features": True, "C": 0.3},
        {"distant_pairs": [("%x[0,0]", "%x[0,0]")]},
    ],
    ids=str,
)
def test_gradient_and_curvature(options):
    model = MEstimatedCRF(TEMPLATES, **options).fit(SMALL, SMALL_Y)
    layout = model._layout()
    sequences = model._read_X(SMALL, reset=False)
    codes = model._read_y(SMALL_Y, sequences, reset=False)
    assert layout.n_distant == len(model.distant_coef_)
    with cached_expectations.Pool(1) as pool:
        objective = model._objective_of(layout, sequences, codes, np.arange(6.0), pool)
        w = np.random.RandomState(0).normal(size=objective.size)
        slope = approx_fprime(w, lambda w: objective.value_and_grad(w)[0], 1e-7)
        np.testing.assert_allclose(objective.value_and_grad(w)[1], slope, atol=1e-6)
        v = np.random.RandomState(1).normal(size=objective.size)
        curve = (
            objective.value_and_grad(w + 1e-6 * v)[1] - objective.value_and_grad(w - 1e-6 * v)[1]
        ) / 2e-6
        np.testing.assert_allclose(objective.hess_vec(w, v), curve, atol=1e-5)


@pytest.mark.parametrize("solver", ["sdca", "newton-cg", "trust-ncg", "cg", "owlqn"])
def test_solvers_agree(solver):
    options = {"C": 0.5, "tol": 1e-6, "max_iter": 1000}
    one = MEstimatedCRF(TEMPLATES, **options).fit(WORDS, ADS_Y)
    other = MEstimatedCRF(TEMPLATES, solver=solver, **options).fit(WORDS, ADS_Y)
    np.testing.assert_allclose(other._w, one._w, atol=1e-4)
    assert other.constant_ == pytest.approx(one.constant_, abs=1e-4)


def test_l1_gives_sparse_weights():
    model = MEstimatedCRF(TEMPLATES, l1_ratio=1.0, C=0.5, tol=1e-3).fit(WORDS, ADS_Y)
    assert 0 < np.sum(model._w != 0) < len(model._w) / 2
    with pytest.raises(ValueError, match="no L1 penalty"):
        MEstimatedCRF(TEMPLATES, l1_ratio=1.0, solver="lbfgs").fit(WORDS, ADS_Y)


@pytest.mark.parametrize(("order", "of_base"), [(1, 1), (1, 2), (2, 2), (2, 1)])
@pytest.mark.parametrize("edges", [None, "all"])
def test_predictions_are_those_of_base_and_weights_together(order, of_base, edges):
    base = HMM(order=of_base, transition_smoothing=0.1).fit(SMALL, SMALL_Y)
    model = MEstimatedCRF(
        TEMPLATES, base=FrozenEstimator(base), order=order, edge_features=edges, C=3
    )
    model.fit(SMALL, SMALL_Y)
    x = ["b", "c", "a"]
    ys = [list(y) for y in product("ABC", repeat=3)]
    joint = model.log_joint([x] * len(ys), ys)
    shown = model.features_.transform([[("b",), ("<OOV>",), ("a",)]])[0].toarray()
    coef = model.coef_.toarray()
    K = 3
    edge_coef = model.edge_coef_.toarray() if edges else np.zeros((sum(model._pattern.widths), 0))
    for y, score in zip(ys, joint, strict=True):
        k = np.searchsorted(model.classes_, y)
        expected = (
            base.log_joint([x], [y])[0]
            + model.constant_
            + np.sum(coef[k] * shown)
            + model.intercept_[k].sum()
        )
        expected += model.transition_[k[0], k[1]] + model.transition_[k[1], k[2]]
        expected += model.transition2_[tuple(k)] if order == 2 else 0.0
        if edges:
            expected += (
                edge_coef[k[0] * K + k[1]] @ shown[1] + edge_coef[k[1] * K + k[2]] @ shown[2]
            )
            expected += (
                edge_coef[9 + (k[0] * K + k[1]) * K + k[2]] @ shown[2] if order == 2 else 0.0
            )
        assert score == pytest.approx(expected, abs=1e-10)
    p = np.exp(joint - np.logaddexp.reduce(joint))
    assert model.predict([x])[0] == ys[int(np.argmax(p))]
    np.testing.assert_allclose(model.log_proba([x] * len(ys), ys), np.log(p), atol=1e-10)
    assert model.score_samples([x])[0] == pytest.approx(np.logaddexp.reduce(joint), abs=1e-10)
    marginal = [[p[[y[t] == label for y in ys]].sum() for label in "ABC"] for t in range(3)]
    np.testing.assert_allclose(model.predict_proba([x])[0], marginal, atol=1e-10)


def test_input_features_say_how_probable_inputs_are():
    model = MEstimatedCRF(["%x[0,0]"], input_features=True, C=3).fit(SMALL, SMALL_Y)
    plain = clone(model).set_params(input_features=False).fit(SMALL, SMALL_Y)
    x = ["a", "b"]
    own = model.input_coef_ @ model.features_.transform([[("a",), ("b",)]])[0].toarray().sum(axis=0)
    model.input_coef_ = np.zeros_like(model.input_coef_)
    assert own != 0
    without = model.score_samples([x])[0]
    model.input_coef_ = clone(model).fit(SMALL, SMALL_Y).input_coef_
    assert model.score_samples([x])[0] == pytest.approx(without + own)
    assert plain.input_coef_.shape == (0,)


def test_sampled_expectations_agree_with_exact_ones():
    model = MEstimatedCRF(
        TEMPLATES, edge_features="all", input_features=True, C=0.3, n_samples=10_000
    ).fit(WORDS, ADS_Y)
    layout = cached_expectations.Layout(model._pattern, True, True)
    exact = model._expectations(layout, None, None)
    model.set_params(expectations="sampled", sample_smoothing=0.0, random_state=0)
    sampled = model._expectations(layout, None, None)
    X, y = model.base_.sample(4000, random_state=1)
    sequences = model._read_X(X, reset=False)
    rows = cached_expectations.counted_features(
        layout, sequences.X, model._read_y(y, sequences, reset=False)
    )
    # standard errors, or a little more
    spread = np.sqrt(np.asarray(rows.power(2).mean(axis=0)).ravel() / 10_000)
    seen = spread > 0
    assert np.mean(np.abs(sampled - exact)[seen] > 3 * spread[seen]) < 0.02
    np.testing.assert_allclose(sampled[-1], 1.0)
    model.set_params(sample_smoothing=2.0)
    smoothed = model._expectations(layout, None, None)
    np.testing.assert_allclose(smoothed[:-1], sampled[:-1] + 2 / 10_000)
    assert smoothed[-1] == sampled[-1]  # the constant is 1, whatever is drawn


def test_any_transformer_by_sampling():
    class Suffixes(BaseEstimator):
        def fit_transform(self, X, y=None):
            self.inner_ = SequenceVectorizer()
            return self.inner_.fit_transform([[{"end": word[-2:]} for word in x] for x in X])

        def transform(self, X):
            return self.inner_.transform([[{"end": word[-2:]} for word in x] for x in X])

    model = MEstimatedCRF(
        Suffixes(), expectations="sampled", n_samples=2000, random_state=0, C=0.1
    ).fit(WORDS, ADS_Y)
    assert token_accuracy_score(ADS_Y, model.predict(WORDS)) > token_accuracy_score(
        ADS_Y, model.base_.predict(WORDS)
    )
    again = clone(model).fit(WORDS, ADS_Y)
    np.testing.assert_array_equal(again._w, model._w)
    with pytest.raises(ValueError, match="expectations='sampled'"):
        MEstimatedCRF(Suffixes()).fit(WORDS, ADS_Y)


class Uniform(BaseEstimator):
    """A base by the protocol: n tokens with probability 2 ** -n, words of a list and labels
    uniformly.
    """

    def fit(self, X, y, sample_weight=None):
        self.words_ = sorted({word for x in X for word in x})
        self.classes_ = np.unique([label for labels in y for label in labels])
        return self

    def chain_scores(self, X):
        each = -np.log(2 * len(self.words_) * len(self.classes_))
        K = len(self.classes_)
        return [(np.full((len(x), K), each), np.zeros((max(len(x) - 1, 0), K, K))) for x in X]

    def sample(self, n_samples, random_state):
        rng = np.random.RandomState(random_state)
        lengths = rng.geometric(0.5, n_samples)
        return [list(rng.choice(self.words_, n)) for n in lengths], [
            list(rng.choice(self.classes_, n)) for n in lengths
        ]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "options", [{"expectations": "sampled", "n_samples": 5000}, {"inputs": "empirical"}], ids=str
)
def test_a_base_by_the_protocol(order, options):
    X = [x[:4] for x in WORDS]
    y = [labels[:4] for labels in ADS_Y]
    model = MEstimatedCRF(
        TEMPLATES, base=Uniform(), order=order, C=30, random_state=0, **options
    ).fit(X, y)
    assert isinstance(model.base_, Uniform)
    most_frequent = max(sum(labels.count(k) for labels in y) for k in model.classes_) / sum(
        map(len, y)
    )
    assert token_accuracy_score(y, model.predict(X)) > most_frequent + 0.1
    joint = model.log_joint(X[:3], y[:3])
    log_p = model.log_proba(X[:3], y[:3])
    np.testing.assert_allclose(joint - model.score_samples(X[:3]), log_p, atol=1e-10)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (
            lambda node, edge: (node[1:], edge),
            LengthMismatchError,
            r"X\[0\]: the base gives scores of shapes",
        ),
        (lambda node, edge: (node * np.nan, edge), NonFiniteError, r"X\[0\]: .* NaN"),
        (
            lambda node, edge: (node - np.inf, edge),
            ForbiddenLabelError,
            r"X\[0\]: .* probability 0",
        ),
    ],
)
def test_a_base_that_gives_no_scores(change, error, match):
    class Wrong(Uniform):
        def chain_scores(self, X):
            return [change(*tables) for tables in super().chain_scores(X)]

    with pytest.raises(error, match=match):
        MEstimatedCRF(TEMPLATES, base=Wrong(), expectations="sampled").fit(WORDS, ADS_Y)


def test_bases_that_are_none():
    with pytest.raises(InputTypeError, match="LinearChainCRF has no chain_scores"):
        MEstimatedCRF(TEMPLATES, base=FrozenEstimator(LinearChainCRF().fit(WORDS, ADS_Y))).fit(
            WORDS, ADS_Y
        )
    with pytest.raises(ValueError, match="say by `features`"):
        MEstimatedCRF(base=Uniform(), expectations="sampled").fit(WORDS, ADS_Y)
    with pytest.raises(NonFiniteError, match=r"HMM\(stop=True\)"):
        MEstimatedCRF(TEMPLATES, base=HMM(stop=False)).fit(WORDS, ADS_Y)


def test_what_the_base_forbids():
    base = HMM().fit(SMALL, SMALL_Y)
    with pytest.raises(ForbiddenLabelError, match=r"X\[1\]: the base gives"):
        MEstimatedCRF(TEMPLATES, base=FrozenEstimator(base)).fit(
            [["b"], ["a", "b"]], [["B"], ["B", "A"]]
        )
    with pytest.raises(UnknownLabelError, match=r"y\[0\], token 0"):
        MEstimatedCRF(TEMPLATES, base=FrozenEstimator(base)).fit([["a"]], [["D"]])
    model = MEstimatedCRF(TEMPLATES, base=FrozenEstimator(base)).fit(SMALL, SMALL_Y)
    long = ["a"] * 5  # no sequence has more than three tokens
    assert model.score_samples([long])[0] == -np.inf
    assert len(model.predict([long])[0]) == 5
    assert np.all(np.isfinite(model.predict_proba([long])[0]))


def test_locally_uniform():
    model = MEstimatedCRF(TEMPLATES, base="locally-uniform", C=0.1).fit(SMALL, SMALL_Y)
    base = model.base_
    np.testing.assert_allclose(np.exp(base.start_logprob_), [0.5, 0.5, 0])
    # A is followed by B and C, B by C or the end, C by the end
    np.testing.assert_allclose(
        np.exp(base.transition_logprob_), [[0, 0.5, 0.5], [0, 0, 0.5], [0, 0, 0]]
    )
    np.testing.assert_allclose(np.exp(base.stop_logprob_), [0, 0.5, 1])
    table = np.exp(base.emission_logprob_[0])
    # a 3 times after the first, b 5, OOV 2
    np.testing.assert_allclose(table, [[4 / 13, 6 / 13, 3 / 13]] * 3)


def test_no_penalty():
    base = HMM().fit(SMALL, SMALL_Y)
    with pytest.raises(ValueError, match="no minimum"):
        MEstimatedCRF(TEMPLATES, base=FrozenEstimator(base), C=np.inf).fit(SMALL, SMALL_Y)
    X = np.random.RandomState(0).normal(size=(50, 2))
    y = np.arange(50) % 3
    with_end = MEstimatedCRF(C=np.inf, tol=1e-9).fit(X, y)
    far = MEstimatedCRF(C=1e9, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(with_end.coef_, far.coef_, atol=1e-6)


def test_rows_of_numbers_shift_the_means_of_normal_distributions():
    """q0 exp(w . x) is normal again: with the right variances, the fit moves the means to those of
    the data.
    """
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1], 500)
    X = rng.normal(size=(1000, 1)) + np.array([0.0, 3.0])[y][:, None]
    base = HMM().fit(X, y)
    base.means_ = np.array([[0.5], [2.0]])
    base.variances_ = np.ones((2, 1))
    model = MEstimatedCRF(base=FrozenEstimator(base), C=1e6, max_iter=500, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(base.means_ + model.coef_.T.reshape(2, 1), [[0.0], [3.0]], atol=0.2)
    assert model.score(X, y) > 0.9


def test_one_precomputation_for_all_values_of_C(tmp_path, monkeypatch):
    calls = []
    original = cached_expectations.expected_features
    monkeypatch.setattr(
        cached_expectations, "expected_features", lambda *a: calls.append(1) or original(*a)
    )
    memory = joblib.Memory(tmp_path, verbose=0)
    grid = {"C": np.logspace(-2, -0.5, 8)}
    search = GridSearchCV(MEstimatedCRF(TEMPLATES, memory=memory), grid, cv=3, refit=False).fit(
        WORDS, ADS_Y
    )
    assert len(calls) == 3
    plain = GridSearchCV(MEstimatedCRF(TEMPLATES), grid, cv=3, refit=False).fit(WORDS, ADS_Y)
    assert len(calls) == 3 + 24
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    once = [
        MEstimatedCRF(
            TEMPLATES, memory=str(tmp_path), expectations="sampled", n_samples=50, random_state=s
        )
        for s in (0, 0, 1)
    ]
    a, b, c = (model.fit(WORDS, ADS_Y)._w for model in once)
    np.testing.assert_array_equal(a, b)
    assert np.any(a != c)


def test_equal_bits_on_any_number_of_threads():
    X = WORDS * 4
    y = list(ADS_Y) * 4
    for options in ({}, {"inputs": "empirical", "solver": "sdca", "random_state": 0}):
        one, three = (
            MEstimatedCRF(TEMPLATES, n_jobs=n, C=0.3, **options).fit(X, y) for n in (1, 3)
        )
        np.testing.assert_array_equal(one._w, three._w)
        assert one.score_samples(X).tobytes() == three.score_samples(X).tobytes()


@pytest.mark.parametrize("solver", ["sdca", "newton-cg"])
def test_it_initialises_a_conditional_random_field(solver):
    model = MEstimatedCRF(TEMPLATES, solver=solver, C=0.3).fit(WORDS, ADS_Y)
    tokens = FeatureTemplates(TEMPLATES).fit_transform([[(word,) for word in x] for x in WORDS])
    short, cold = (LinearChainCRF(max_iter=1, solver="lbfgs") for _ in range(2))
    with pytest.warns(UserWarning, match="stopped after 1"):
        short.fit(tokens, ADS_Y, init=model)
    with pytest.warns(UserWarning, match="stopped after 1"):
        cold.fit(tokens, ADS_Y)
    assert short.loss_curve_[0] < cold.loss_curve_[0]


def test_warm_start_and_init():
    model = MEstimatedCRF(TEMPLATES, C=0.3, warm_start=True).fit(WORDS, ADS_Y)
    first = model.n_iter_
    w = model._w
    model.fit(WORDS, ADS_Y)
    assert model.n_iter_ < first / 2
    np.testing.assert_allclose(model._w, w, atol=1e-3)


def test_weights_are_repetitions():
    weight = np.random.RandomState(0).randint(3, size=len(WORDS))
    repeated = (
        [x for x, n in zip(WORDS, weight) for _ in range(n)],
        [y for y, n in zip(ADS_Y, weight) for _ in range(n)],
    )
    base = FrozenEstimator(HMM(oov="smoothing").fit(WORDS, ADS_Y))
    options = {"base": base, "tol": 1e-9, "max_iter": 500, "C": 0.3}
    one = MEstimatedCRF(["%x[0,0]"], **options)
    two = MEstimatedCRF(["%x[0,0]"], **options)
    one.fit(WORDS, ADS_Y, weight), two.fit(*repeated)
    np.testing.assert_allclose(one.transition_, two.transition_, atol=1e-6)
    with pytest.raises(ValueError, match="weights of sequences"):
        MEstimatedCRF().fit(WORDS, ADS_Y, [np.ones(len(x)) for x in WORDS])


def test_templates_over_rows_of_values():
    """A batch of sequences of length 1, whose columns the base takes for values."""
    X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 5)
    y = np.array([0, 1, 1, 0] * 5)
    model = MEstimatedCRF(["%x[0,0]", "%x[0,1]"], base=HMM(emissions="categorical")).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])


def test_mixed_columns_need_features():
    X = [[("a", 0.5), ("b", 1.5)], [("b", 1.0), ("a", 0.0)]]
    y = [["A", "B"], ["B", "A"]]
    with pytest.raises(ValueError, match="columns of values and of numbers"):
        MEstimatedCRF().fit(X, y)
    MEstimatedCRF(["%x[0,0]"]).fit(X, y)
    with pytest.raises(ValueError, match="the base emits numbers in column 1"):
        MEstimatedCRF(["%x[0,1]"]).fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "error", "match"),
    [
        (SMALL, None, ValueError, "This MEstimatedCRF estimator requires y"),
        (SMALL[:2], [["A", "B", "C"], None], UnknownLabelError, r"y\[1\]: the label is missing"),
        (
            SMALL[:2],
            [["A", None, "C"], ["A", "C"]],
            UnknownLabelError,
            r"y\[0\], token 1: the label is missing",
        ),
        (
            np.array([["a", "b"], ["c", "d"]]),
            ["A", "B"],
            InputTypeError,
            "two-dimensional X must hold numbers",
        ),
    ],
)
def test_what_cannot_be_learned_from(X, y, error, match):
    with pytest.raises(error, match=match):
        MEstimatedCRF().fit(X, y)


def test_a_plain_object_as_base():
    class Plain:
        fit = Uniform.fit
        chain_scores = Uniform.chain_scores
        sample = Uniform.sample

    base = Plain()
    model = MEstimatedCRF(TEMPLATES, base=base, inputs="empirical", C=0.1).fit(SMALL, SMALL_Y)
    assert not hasattr(base, "classes_")  # a copy was fitted
    assert len(model.predict([["a", "b"]])[0]) == 2


def test_a_failed_fit_changes_nothing():
    model = MEstimatedCRF(TEMPLATES).fit(SMALL, SMALL_Y)
    before = dict(vars(model))
    with pytest.raises(ForbiddenLabelError):
        model.set_params(base=FrozenEstimator(model.base_)).fit([["a", "b"]], [["B", "A"]])
    model.base = None
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        MEstimatedCRF().predict(SMALL)


DISTANT = [("%x[0,0]", "%x[0,0]")]


def test_pairs_at_any_distance_are_learned():
    """What two labels far apart have in common no chain tells."""
    rng = np.random.RandomState(0)
    X = []
    y = []
    for _ in range(400):
        n = rng.randint(3, 7)
        first = rng.choice(["x", "y"])
        middle = rng.choice(["x", "y"], n).tolist()
        # the last label is nearly always the first one
        last = first if rng.uniform() < 0.9 else "y" if first == "x" else "x"
        y.append([first + "1", *middle, last + "2"])
        X.append(["b", *["m"] * n, "e"])
    model = MEstimatedCRF(distant_pairs=DISTANT, C=1.0).fit(X, y)
    of_ends = {
        (j, k): w
        for (left, j, right, k), w in zip(model.distant_names_, model.distant_coef_)
        if left.endswith(":b") and right.endswith(":e")
    }
    assert min(of_ends["x1", "x2"], of_ends["y1", "y2"]) > 0
    assert max(of_ends["x1", "y2"], of_ends["y1", "x2"]) < 0
    same, other = (["x1", "x", "x", "x", k] for k in ("x2", "y2"))
    x = ["b", "m", "m", "m", "e"]
    ahead = np.diff(model.log_joint([x, x], [other, same]))[0]
    plain = MEstimatedCRF().fit(X, y)
    assert ahead > abs(np.diff(plain.log_joint([x, x], [other, same]))[0])


def test_pairs_at_any_distance_are_scored_and_never_decoded():
    model = MEstimatedCRF(["%x[0,0]"], distant_pairs=DISTANT).fit(SMALL, SMALL_Y)
    assert np.all(np.isfinite(model.log_joint(SMALL, SMALL_Y)))
    for call in (
        model.predict,
        model.predict_proba,
        model.predict_nbest,
        model.score_samples,
        model.sample,
        lambda X: model.log_proba(X, SMALL_Y),
        lambda X: model.score(X, SMALL_Y),
        lambda X: explain(model, X[0], SMALL_Y[0]),
    ):
        with pytest.raises(ValueError, match="no search that goes from token to token finds"):
            call(SMALL)
    with pytest.raises(ValueError, match="need inputs='base'"):
        clone(model).set_params(inputs="empirical").fit(SMALL, SMALL_Y)
    # without pairs everything is as before
    assert len(clone(model).set_params(distant_pairs=None).fit(SMALL, SMALL_Y).predict(SMALL)) == 6


def test_pairs_at_any_distance_of_another_base_are_sampled():
    X = [x[:4] for x in WORDS]
    y = [labels[:4] for labels in ADS_Y]
    options = {"base": Uniform(), "distant_pairs": DISTANT, "random_state": 0, "C": 1.0}
    model = MEstimatedCRF(TEMPLATES, expectations="sampled", n_samples=500, **options).fit(X, y)
    assert len(model.distant_coef_) > 100
    assert np.all(np.isfinite(model.log_joint(X, y)))
    with pytest.raises(ValueError, match="expectations='sampled'"):
        MEstimatedCRF(TEMPLATES, **options).fit(X, y)


def test_pairs_at_any_distance_start_where_a_fit_ended():
    model = MEstimatedCRF(["%x[0,0]"], distant_pairs=DISTANT, tol=1e-6, solver="lbfgs")
    model.fit(SMALL, SMALL_Y)
    again = clone(model).fit(SMALL, SMALL_Y, init=model)
    assert model.n_iter_ > 2 >= again.n_iter_
    np.testing.assert_allclose(again.distant_coef_, model.distant_coef_, atol=1e-5)
