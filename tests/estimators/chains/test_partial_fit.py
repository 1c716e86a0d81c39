"""The solvers "ap" and "pa" in LinearChainCRF against loops by hand and scikit-learn's, and
`partial_fit`.
"""

from __future__ import annotations

import pickle

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import PassiveAggressiveClassifier, SGDClassifier

from sklearn_struct import FeatureTemplates, LinearChainCRF, SequenceArray, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
)
from sklearn_struct.objectives.linear_terms import LinearTerms

LABELS = ["x", "y", "z"]
ONLINE = ["ap", "pa", "pa-ii", "sgd"]
PASSES_END_EARLY = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def numbers(n=25, seed=0, noise=0.5):
    """Sequences of numbers, and labels that depend on them and on the label before."""
    rng = np.random.RandomState(seed)
    truth = np.random.RandomState(7).normal(size=(4, 3))
    X = []
    y = []
    for _ in range(n):
        X.append(rng.normal(size=(rng.randint(1, 5), 4)))
        labels = []
        for row in X[-1] @ truth + noise * rng.normal(size=(len(X[-1]), 3)):
            row[labels[-1] if labels else 0] += 1.0
            labels.append(int(np.argmax(row)))
        y.append([LABELS[k] for k in labels])
    return X, y


def crf(solver, **options):
    return LinearChainCRF(
        **{"solver": solver, "random_state": 0, "feature_pairs": "all", **options}
    )


def learned(model):
    dense = [m.toarray() if sp.issparse(m) else m for m in (model.coef_, model.edge_coef_)]
    return np.concatenate([part.ravel() for part in (*dense, model.transition_, model.intercept_)])


# ---------------------------------------------------------------- ap and pa, by hand


def counts(tokens, labels, columns):
    """Features of a labelling, in the order of `learned`."""
    at_node = np.zeros((3, tokens.shape[1]))
    at_edge = np.zeros((9, len(columns)))
    transitions = np.zeros((3, 3))
    intercept = np.zeros(3)
    for t, k in enumerate(labels):
        at_node[k] += tokens[t]
        intercept[k] += 1
        if t:
            transitions[labels[t - 1], k] += 1
            at_edge[labels[t - 1] * 3 + k] += tokens[t, columns]
    return np.concatenate([part.ravel() for part in (at_node, at_edge, transitions, intercept)])


class Textbook:
    """Collins' and Crammer's algorithms with all labellings spelt out; weights are averaged over
    all steps.
    """

    def __init__(self, solver, C=1.0, columns=()):
        self.hinge = solver != "ap"
        self.C = C
        self.columns = list(columns)
        self.soft = solver == "pa-ii"
        self.w = 0.0
        self.iterates = []

    def learn(self, tokens, y, weight=1.0):
        y = tuple(LABELS.index(label) for label in y)
        labellings = naive.labellings(len(y), 3)
        features = np.array([counts(tokens, labels, self.columns) for labels in labellings])
        errors = [sum(a != b for a, b in zip(labels, y)) for labels in labellings]
        scores = features @ np.broadcast_to(self.w, features.shape[1]) + (
            np.array(errors) if self.hinge else 0.0
        )
        rival = int(np.argmax(scores))
        gap = features[labellings.index(y)] - features[rival]
        if gap.any():
            loss = scores[rival] - scores[labellings.index(y)]
            length = min(self.C * weight, loss / (gap @ gap)) if self.hinge else weight
            if self.soft:
                length = loss / (gap @ gap + 1 / (2 * self.C))
            self.w = self.w + length * gap
        self.iterates.append(np.broadcast_to(self.w, features.shape[1]))
        return self

    @property
    def mean(self):
        return np.mean(self.iterates, axis=0)


@PASSES_END_EARLY
@pytest.mark.parametrize("options", [{}, {"edge_features": [0, 2]}])
@pytest.mark.parametrize(
    ("solver", "C"), [("ap", 1.0), ("ap", 0.01), ("pa", 0.05), ("pa", np.inf), ("pa-ii", 0.05)]
)
def test_fit_is_the_textbooks(solver, C, options):
    X, y = numbers()
    model = crf(solver, C=C, max_iter=3, **options).fit(X, y)
    expected = Textbook(solver, C, options.get("edge_features", ()))
    rng = np.random.RandomState(0)
    wrong = []
    for _ in range(3):
        wrong.append(0)
        for i in rng.permutation(len(X)):
            before = expected.w
            wrong[-1] += np.any(expected.learn(X[i], y[i]).w != before)
    np.testing.assert_allclose(learned(model), expected.mean, atol=1e-10)
    assert model.n_iter_ == len(model.loss_curve_) == 3
    assert model.t_ == 25
    if solver == "ap":
        assert model.loss_curve_ == pytest.approx(wrong)


@PASSES_END_EARLY
def test_adaptive_regularisation_is_the_textbooks():
    """Crammer et al. 2009, figure 1, with the strongest rival in the place of the other class."""
    X, y = numbers(12)
    w = np.zeros(24)
    variance = np.ones(24)
    r = 0.5
    for i in np.random.RandomState(0).permutation(12):
        right = tuple(LABELS.index(label) for label in y[i])
        labellings = naive.labellings(len(right), 3)
        features = np.array([counts(X[i], labels, []) for labels in labellings])
        scores = features @ w + [
            sum(a != b for a, b in zip(labels, right)) for labels in labellings
        ]
        rival = int(np.argmax(scores))
        truth = labellings.index(right)
        gap = features[truth] - features[rival]
        if gap.any():
            w = w + (scores[rival] - scores[truth]) / (gap @ (variance * gap) + r) * variance * gap
            variance = 1 / (1 / variance + gap**2 / r)
    model = crf("arow", C=1 / r, max_iter=1).fit(X, y)
    np.testing.assert_allclose(learned(model), w, atol=1e-10)
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'"):
        _ = model.partial_fit


@PASSES_END_EARLY
@pytest.mark.parametrize("solver", ["ap", "pa"])
def test_sample_weights_scale_the_steps(solver):
    """In `fit` weights count relatively to their mean; for "ap" that scale has no meaning."""
    X, y = numbers(12)
    weight = np.array([0, 1, 2, 0.5, 0, 1, 1, 3, 0.1, 1, 0, 2])
    used = np.flatnonzero(weight)
    expected = Textbook(solver, 0.1)
    for i in used[np.random.RandomState(0).permutation(len(used))]:
        expected.learn(X[i], y[i], weight[i] / (np.mean(weight[used]) if solver == "ap" else 1.0))
    model = crf(solver, C=0.1, max_iter=1).fit(X, y, weight)
    np.testing.assert_allclose(learned(model), expected.mean, atol=1e-10)
    assert model.t_ == len(used)


@pytest.mark.parametrize("C", [0.1, np.inf])
@pytest.mark.parametrize("solver", ["ap", "pa"])
def test_separable_sequences_are_learnt(solver, C):
    y = numbers()[1]
    rng = np.random.RandomState(0)
    X = [
        np.eye(4)[[LABELS.index(label) for label in labels]]
        + 0.2 * rng.normal(size=(len(labels), 4))
        for labels in y
    ]
    model = crf(solver, C=C).fit(X, y)
    assert model.predict(X).tolist() == y
    assert model.loss_curve_[-1] < 1e-3
    if solver == "ap":
        assert model.loss_curve_[-1] == 0.0


@pytest.mark.parametrize("solver", ["ap", "pa"])
def test_few_passes_warn(solver):
    with pytest.warns(ConvergenceWarning, match=rf"{solver}.*after 2 iterations \(max_iter=2\)"):
        crf(solver, max_iter=2).fit(*numbers())


# ------------------------------------------------------------- length 1, two labels: scikit-learn's


def rows():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 4))
    y = (X @ [1.0, -2.0, 0.5, 0.0] + 0.7 * rng.normal(size=60) > 0).astype(int)
    # at equal scores we say 0, and scikit-learn neither
    y[np.random.RandomState(0).permutation(60)[0]] = 1
    return X, y, np.random.RandomState(0).permutation(60)


@PASSES_END_EARLY
def test_ap_is_scikit_learns_averaged_perceptron():
    """Their one vector of weights is half of the difference of our two."""
    X, y, order = rows()
    model = crf("ap", max_iter=1).fit(X, y)
    options = {
        "loss": "perceptron",
        "average": True,
        "learning_rate": "constant",
        "eta0": 1.0,
        "penalty": None,
    }
    theirs = SGDClassifier(**options, shuffle=False).partial_fit(X[order], y[order], classes=[0, 1])
    np.testing.assert_allclose((model.coef_[1] - model.coef_[0]) / 2, theirs.coef_[0], atol=1e-12)
    np.testing.assert_allclose(
        (model.intercept_[1] - model.intercept_[0]) / 2, theirs.intercept_[0], atol=1e-12
    )


@PASSES_END_EARLY
@pytest.mark.filterwarnings("ignore:.*PassiveAggressiveClassifier is deprecated:FutureWarning")
@pytest.mark.parametrize("C", [0.01, 0.1, 10.0])
def test_pa_is_scikit_learns_passive_aggressive(C):
    """The same steps for half the C, as two weight vectors move where scikit-learn has one."""
    X, y, order = rows()
    model = crf("pa", C=C / 2, max_iter=1, fit_intercept=False).fit(X, y)
    theirs = PassiveAggressiveClassifier(C=C, shuffle=False, average=True, fit_intercept=False)
    theirs.partial_fit(X[order], y[order], classes=[0, 1])
    np.testing.assert_allclose(model.coef_[1] - model.coef_[0], theirs.coef_[0], atol=1e-12)


# ---------------------------------------------------------------- partial_fit: what it learns


FORMS = {
    "arrays": lambda X: X,
    "sparse": lambda X: [sp.csr_array(s) for s in X],
    "SequenceArray": SequenceArray.from_sequences,
    "SequenceArray of csr": lambda X: SequenceArray.from_sequences([sp.csr_array(s) for s in X]),
}


@PASSES_END_EARLY
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["ap", "pa"])
def test_batches_of_one_are_a_pass_of_fit_in_that_order(solver, form):
    X, y = numbers()
    X = FORMS[form](X)
    once = crf(solver, max_iter=1, edge_features=[1]).fit(X, y)
    stream = crf(solver, edge_features=[1])
    for n, i in enumerate(np.random.RandomState(0).permutation(len(y)), start=1):
        assert stream.partial_fit(X[i : i + 1], y[i : i + 1], classes=LABELS) is stream
        assert (stream.n_iter_, stream.t_) == (n, n)
    np.testing.assert_allclose(learned(stream), learned(once), atol=1e-12)
    assert stream.classes_.tolist() == LABELS
    assert sp.issparse(stream.coef_) == sp.issparse(once.coef_)


@PASSES_END_EARLY
@pytest.mark.parametrize("solver", ["ap", "pa"])
def test_a_batch_is_a_pass_of_fit(solver):
    X, y = numbers()
    model = crf(solver, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(learned(crf(solver).partial_fit(X, y, LABELS)), learned(model))


@pytest.mark.parametrize("size", [1, 4, 25])
@pytest.mark.parametrize(("solver", "C"), [("ap", 1.0), ("pa", 0.1)])
def test_batches_are_the_textbooks(solver, C, size):
    """The average goes on over batches; weights count as they are, whatever else is in a batch."""
    X, y = numbers()
    weight = np.where(np.arange(25) % 3, np.linspace(0.2, 3, 25), 0.0)
    weight[:4] = 2.0
    expected = Textbook(solver, C)
    model = crf(solver, C=C)
    for lo in range(0, 25, size):
        part = np.arange(lo, min(lo + size, 25))
        if not weight[part].any():
            continue
        model.partial_fit(X[lo : lo + size], y[lo : lo + size], LABELS, weight[part])
        used = part[weight[part] > 0]
        for i in used[np.random.RandomState(0).permutation(len(used))]:
            expected.learn(X[i], y[i], weight[i])
        np.testing.assert_allclose(learned(model), expected.mean, atol=1e-10)
    assert model.t_ == np.count_nonzero(weight)


@pytest.mark.parametrize("solver", ONLINE)
def test_empty_sequences_and_those_of_weight_zero_count_for_nothing(solver):
    X, y = numbers()
    plain = crf(solver).partial_fit(X, y, LABELS).partial_fit(X[:3], y[:3])
    X = [X[0][:0], X[1], *X, X[0][:0]]
    y = [[], y[1], *y, []]
    weight = np.array([1.0, 0.0, *np.ones(25), 2.0])
    other = crf(solver).partial_fit(X, y, LABELS, weight).partial_fit(X[2:5], y[2:5])
    np.testing.assert_allclose(learned(other), learned(plain), atol=1e-12)
    assert other.t_ == plain.t_ == 28


@PASSES_END_EARLY
@pytest.mark.parametrize("solver", ["ap", "pa"])
@pytest.mark.parametrize("first", ["ap", "lbfgs"])
def test_after_fit_a_new_average_starts_from_its_weights(first, solver):
    X, y = numbers()
    more, labels = numbers(5, seed=1)
    model = crf(first, C=0.1, max_iter=20).fit(X, y)
    n_iter = model.n_iter_
    expected = Textbook(solver, 0.1)
    expected.w = learned(model)
    model.set_params(solver=solver)
    for lo, hi in [(0, 2), (2, 5)]:
        model.partial_fit(more[lo:hi], labels[lo:hi])
        for i in lo + np.random.RandomState(0).permutation(hi - lo):
            expected.learn(more[i], labels[i])
        np.testing.assert_allclose(learned(model), expected.mean, atol=1e-10)
    assert (model.n_iter_, model.t_) == (n_iter + 2, 30)
    assert model.predict(X[:3]).shape == (3,)


def test_a_change_of_solver_starts_a_new_average():
    X, y = numbers()
    model = crf("ap").partial_fit(X[:10], y[:10], LABELS)
    expected = Textbook("pa")
    expected.w = learned(model)
    model.set_params(solver="pa").partial_fit(X[10:], y[10:])
    for i in 10 + np.random.RandomState(0).permutation(15):
        expected.learn(X[i], y[i])
    np.testing.assert_allclose(learned(model), expected.mean, atol=1e-10)


@PASSES_END_EARLY
@pytest.mark.parametrize("solver", ONLINE)
def test_fit_forgets_what_was_learnt_in_batches(solver):
    X, y = numbers()
    fresh = crf(solver, max_iter=2).fit(X, y)
    model = (
        crf(solver, max_iter=2)
        .partial_fit(*numbers(5, seed=1), LABELS)
        .partial_fit(*numbers(5, seed=2))
        .fit(X, y)
    )
    assert learned(model).tobytes() == learned(fresh).tobytes()
    assert (model.n_iter_, model.t_) == (fresh.n_iter_, fresh.t_) == (2, 25)
    assert learned(model.partial_fit(X, y)).tobytes() == learned(fresh.partial_fit(X, y)).tobytes()


@pytest.mark.parametrize("solver", ONLINE)
def test_batches_of_several_forms(solver):
    """Dense and sparse batches and rows of numbers share the weights."""
    X, y = numbers()
    plain = crf(solver)
    mixed = crf(solver)
    for lo, form in zip(range(0, 20, 5), FORMS.values(), strict=True):
        plain.partial_fit(X[lo : lo + 5], y[lo : lo + 5], LABELS)
        mixed.partial_fit(form(X[lo : lo + 5]), y[lo : lo + 5], LABELS)
    rows = np.concatenate(X[20:])
    labels = np.concatenate(y[20:])
    mixed.partial_fit(rows, labels)
    plain.partial_fit([row[None] for row in rows], [[label] for label in labels])
    np.testing.assert_allclose(learned(mixed), learned(plain), atol=1e-12)


def ads(n):
    X, y = make_rental_ads(n, random_state=0)
    X = [
        [{"w": w.lower(), "prev": s[t - 1].lower() if t else "^"} for t, w in enumerate(s)]
        for s in X
    ]
    return SequenceVectorizer().fit_transform(X), SequenceArray.from_sequences(y)


@pytest.mark.parametrize(("solver", "size"), [("ap", 20), ("pa", 20), ("sgd", 100)])
def test_batches_learn_to_label_advertisements(solver, size):
    X, y = ads(300)
    classes = np.unique(y.tokens)
    model = crf(solver)
    scores = []
    for lo in range(0, 200, size):
        model.partial_fit(X[lo : lo + size], y[lo : lo + size], classes)
        scores.append(model.score(X[200:], y[200:]))
    majority = max(np.mean(y[200:].tokens == label) for label in classes)
    assert scores[-1] > max(scores[0], 2 * majority)


def test_sgd_comes_near_the_optimum_in_many_batches():
    X, y = numbers(400, noise=2.0)
    best = crf("lbfgs").fit(X, y)
    model = crf("sgd", random_state=np.random.RandomState(0))
    for lo in range(0, 400, 40):
        model.partial_fit(X[lo : lo + 40], y[lo : lo + 40], LABELS)
    nothing = -sum(map(len, y)) * np.log(3)
    found = model.log_proba(X, y).sum()
    optimum = best.log_proba(X, y).sum()
    assert optimum - found < 0.03 * (optimum - nothing)


@pytest.mark.parametrize("solver", ONLINE)
def test_features_that_come_late(solver):
    """Columns that the first batches never store are learnt when they come, and kept when they stay
    away.
    """
    X, y = ads(60)
    model = crf(solver).partial_fit(X[:5], y[:5], np.unique(y.tokens))
    late = np.setdiff1d(X[5:].tokens.indices, X[:5].tokens.indices)
    assert not model.coef_.toarray()[:, late].any()
    model.partial_fit(X[5:], y[5:])
    kept = model.coef_.toarray()[:, late]
    assert kept.any()
    model.partial_fit(X[:5], y[:5])
    assert np.all(model.coef_.toarray()[:, late][kept != 0] != 0)


@pytest.mark.parametrize("solver", ONLINE)
def test_float32_is_close_to_float64(solver):
    X, y = numbers(60)
    a, b = (crf(solver, dtype=dtype).partial_fit(X, y, LABELS) for dtype in ("float64", "float32"))
    np.testing.assert_allclose(learned(a), learned(b), atol=1e-4)
    assert learned(b).dtype == np.float64


# ---------------------------------------------------------------- partial_fit: encodings


def test_encoded_attributes():
    X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    y = [["DET", "NOUN", "VERB"]] * 3
    templates = FeatureTemplates(["w:%x[0,0]", "%x[-1,0]/%x[0,0]"])
    for encoder, raw in (
        (SequenceVectorizer(), X),
        (templates, [[[word] for word in s] for s in X]),
    ):
        encoder.fit(raw)
        model = crf("ap")
        for _ in range(3):
            for s, labels in zip(raw, y, strict=True):
                model.partial_fit(encoder.transform([s]), [labels], classes=["VERB", "NOUN", "DET"])
        assert model.predict(encoder.transform(raw)).tolist() == y
        assert len(model.feature_names_in_) == model.n_features_in_


def test_attributes_need_an_encoding_that_stays():
    X = [[{"w": "a"}, {"w": "b"}]]
    y = [["A", "B"]]
    with pytest.raises(InputTypeError, match="SequenceVectorizer"):
        crf("ap").partial_fit(X, y, ["A", "B"])
    model = crf("ap").fit(X, y)
    before = learned(model)
    model.partial_fit([[{"w": "b"}, {"w": "unheard of"}]], [["A", "B"]])
    assert learned(model).shape == before.shape
    assert np.any(learned(model) != before)


def test_names_of_features_must_stay():
    X = SequenceArray(np.eye(2), [0, 2], ["a", "b"])
    y = [["x", "y"]]
    model = crf("ap").partial_fit(X, y, LABELS)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(SequenceArray(np.eye(2), [0, 2], ["b", "a"]), y)


# ---------------------------------------------------------------- partial_fit: mistakes


def state(model):
    """All attributes, and copies of the arrays among them."""
    return {name: (value, pickle.dumps(value)) for name, value in vars(model).items()}


def unchanged(model, before):
    assert vars(model).keys() == before.keys()
    for name, (value, content) in before.items():
        assert vars(model)[name] is value
        assert pickle.dumps(value) == content


X, Y = numbers(3)
WIDE = [np.zeros((2, 5))]
MISTAKES = {
    "unknown label": (
        {"X": X[:1], "y": [["x"] * (len(X[0]) - 1) + ["new"]]},
        UnknownLabelError,
        "y\\[0\\].*'new'",
    ),
    "too few labels": (
        {"X": X[1:2], "y": [["x"] * (len(X[1]) + 1)]},
        LengthMismatchError,
        "X\\[0\\] has",
    ),
    "too few sequences": ({"X": X, "y": Y[:2]}, LengthMismatchError, "3 sequences"),
    "width": (
        {"X": WIDE, "y": [["x", "x"]]},
        ValueError,
        "X has 5 features, but LinearChainCRF is expecting 4",
    ),
    "width of rows": (
        {"X": WIDE[0], "y": ["x", "x"]},
        ValueError,
        "X has 5 features, but LinearChainCRF is expect",
    ),
    "not finite": (
        {"X": [np.full((1, 4), np.nan)], "y": [["x"]]},
        NonFiniteError,
        "X\\[0\\], token 0",
    ),
    "attributes": ({"X": [["a"]], "y": [["x"]]}, InputTypeError, "attributes|SequenceVectorizer"),
    "nothing": ({"X": [], "y": []}, EmptyDataError, "no sequences"),
    "no tokens": ({"X": [np.zeros((0, 4))], "y": [[]]}, EmptyDataError, "no tokens"),
    "no weight": (
        {"X": X, "y": Y, "sample_weight": np.zeros(3)},
        ValueError,
        "positive weight|non-zero",
    ),
    "weight of nothing": (
        {"X": [X[0], X[0][:0]], "y": [Y[0], []], "sample_weight": [0.0, 1.0]},
        EmptyDataError,
        "no tokens in sequences of positive weight",
    ),
    "negative weight": (
        {"X": X, "y": Y, "sample_weight": [1.0, -1.0, 1.0]},
        ValueError,
        "[Nn]egative",
    ),
    "other classes": (
        {"X": X, "y": Y, "classes": ["x", "y"]},
        ValueError,
        "classes=\\['x', 'y'\\].*'x', 'y', 'z'",
    ),
    "more classes": ({"X": X, "y": Y, "classes": [*LABELS, "w"]}, ValueError, "earlier calls"),
    "classes in one string": (
        {"X": X, "y": Y, "classes": "xyz"},
        InputTypeError,
        "classes must be",
    ),
    "classes that are none": ({"X": X, "y": Y, "classes": 3}, InputTypeError, "classes must be"),
    "no y": ({"X": X, "y": None}, ValueError, "requires y"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("solver", ONLINE)
def test_mistakes_leave_no_trace(solver, mistake):
    arguments, exception, match = MISTAKES[mistake]
    model = crf(solver).partial_fit(X, Y, LABELS)
    before = state(model)
    with pytest.raises(exception, match=match):
        model.partial_fit(**arguments)
    unchanged(model, before)
    if "classes" not in mistake and not mistake.startswith("width"):
        model = crf(solver)
        before = state(model)
        with pytest.raises(exception, match=match):
            model.partial_fit(**{"classes": LABELS, **arguments})
        unchanged(model, before)


@pytest.mark.parametrize("solver", ONLINE)
@pytest.mark.parametrize("n_calls", [0, 1])
def test_an_interrupted_call_leaves_no_trace(solver, n_calls, monkeypatch):
    model = crf(solver)
    for _ in range(n_calls):
        model.partial_fit(X, Y, LABELS)
    before = state(model)
    add = LinearTerms.add
    n_adds = []

    def interrupted(*args):
        n_adds.append(add(*args))
        if len(n_adds) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(LinearTerms, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(*numbers(10, seed=3), LABELS)
    unchanged(model, before)


def test_classes_of_the_first_call():
    """Those of y, unless they are given; a label that comes later is refused, and nothing is
    changed.
    """
    model = crf("ap").partial_fit(X, Y)
    assert model.classes_.tolist() == ["x", "y"]
    before = model._w.copy()
    with pytest.raises(UnknownLabelError, match=r"y\[0\], token 0: label 'new' was not seen"):
        model.partial_fit(X[:1], [["new"] * len(Y[0])])
    np.testing.assert_array_equal(model._w, before)
    for classes in (
        LABELS,
        tuple(LABELS),
        set(LABELS),
        np.array(["z", "x", "y", "x"]),
        np.array(LABELS, dtype=object),
    ):
        model = crf("ap").partial_fit(X, Y, classes)
        assert model.classes_.tolist() == LABELS
        model.partial_fit(X, Y, classes)
    assert crf("ap", max_iter=50).fit(X, Y).partial_fit(X, Y).t_ == 6


def test_a_label_that_never_occurs():
    model = crf("ap").partial_fit(X, Y, [*LABELS, "never"])
    assert model.classes_.tolist() == ["never", *LABELS]
    assert model.coef_.shape == (4, 4)


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "owlqn"])
def test_solvers_that_need_all_data(solver):
    assert not hasattr(LinearChainCRF(solver=solver), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        LinearChainCRF(solver=solver).partial_fit(X, Y, LABELS)
    assert all(hasattr(LinearChainCRF(solver=online), "partial_fit") for online in ONLINE)
    assert hasattr(LinearChainCRF, "partial_fit")


@pytest.mark.parametrize(
    "options",
    [{"feature_pairs": "observed"}, {"min_frequency": 2}, {"transition_features": "observed"}],
)
def test_which_weights_exist_must_not_depend_on_a_batch(options):
    sparse = [sp.csr_array(s) for s in X]
    for edge_features in (None, [1]):
        model = crf("ap", edge_features=edge_features, **options)
        before = state(model)
        with pytest.raises(ValueError, match="feature_pairs='all' and min_frequency=1"):
            model.partial_fit(sparse, Y, LABELS)
        unchanged(model, before)
    if "transition_features" not in options:  # a dense X stores all pairs
        assert crf("ap", **options).partial_fit(X, Y, LABELS).coef_.shape == (3, 4)


@PASSES_END_EARLY
@pytest.mark.parametrize("option", ["feature_pairs", "transition_features"])
def test_after_a_fit_of_observed_pairs(option):
    """Neither with these parameters nor with others can what fit left out be learnt."""
    X = [[["a"], ["b"]], [["a", "c"]]]
    y = [["A", "B"], ["A"]]
    model = crf("ap", **{option: "observed"}).fit(X, y)
    for value in ("observed", "all"):
        with pytest.raises(ValueError, match="every pair"):
            model.set_params(**{option: value}).partial_fit(X, y)


def test_l1_is_refused():
    for solver in ONLINE:
        with pytest.raises(ValueError, match="no L1 penalty"):
            crf(solver, l1_ratio=0.5).partial_fit(X, Y, LABELS)
        with pytest.raises(ValueError, match="no L1 penalty"):
            crf(solver, l1_ratio=0.5).fit(X, Y)


# ---------------------------------------------------------------- bits


@PASSES_END_EARLY
@pytest.mark.parametrize("solver", ONLINE)
def test_equal_bits(solver):
    """For any number of threads, and for equal seeds only."""
    X, y = numbers(60)

    def bits(**options):
        fitted = crf(solver, max_iter=3, **options).fit(X, y)
        model = crf(solver, **options)
        for lo in (0, 20, 40):
            model.partial_fit(X[lo : lo + 20], y[lo : lo + 20], LABELS)
        return learned(fitted).tobytes(), learned(model).tobytes()

    expected = bits()
    for n_jobs in (2, 3):
        assert bits(n_jobs=n_jobs) == expected
    assert bits(random_state=np.random.RandomState(0))[0] == expected[0]
    others = bits(random_state=1)
    assert others[0] != expected[0]
    # a batch of 20 sequences is one term of "sgd"
    assert solver == "sgd" or others[1] != expected[1]


@pytest.mark.parametrize("solver", ONLINE)
def test_clone_and_pickle(solver):
    X, y = numbers(60)
    model = crf(solver).partial_fit(X[:20], y[:20], LABELS)
    again = pickle.loads(pickle.dumps(model))
    for other in (model, again):
        other.partial_fit(X[20:40], y[20:40])
    assert learned(model).tobytes() == learned(again).tobytes()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert vars(clone(model)).keys() == vars(crf(solver)).keys()


@PASSES_END_EARLY
def test_warm_start_and_init_from_batches():
    X, y = numbers()
    model = crf("ap", max_iter=1).partial_fit(X, y, LABELS)
    w = learned(model)
    expected = Textbook("ap")
    expected.w = w
    for i in np.random.RandomState(0).permutation(25):
        expected.learn(X[i], y[i])
    other = crf("ap", max_iter=1).fit(X, y, init=model)
    np.testing.assert_allclose(learned(other), expected.mean, atol=1e-10)
    np.testing.assert_array_equal(
        learned(model.set_params(warm_start=True).fit(X, y)), learned(other)
    )


@pytest.mark.parametrize("classes", [np.array(5), "AB", 5, {"A": 1}], ids=repr)
def test_classes_that_are_no_list(classes):
    crf = LinearChainCRF(solver="pa", feature_pairs="all")
    with pytest.raises(InputTypeError, match="classes must be a sequence of labels"):
        crf.partial_fit([np.eye(2)], [["A", "B"]], classes=classes)
    assert not hasattr(crf, "classes_")
