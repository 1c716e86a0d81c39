"""Prototype-driven learning, against enumeration of all texts and labellings."""

from __future__ import annotations

from itertools import product

import naive_words
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from sklearn_struct import LinearChainCRF, PrototypeMRF, SequenceArray, SequenceVectorizer
from sklearn_struct.exceptions import (
    EmptyDataError,
    ForbiddenLabelError,
    InputTypeError,
    UnknownLabelError,
)
from sklearn_struct.model_selection import KeepUnlabeled
from sklearn_struct.persistence import load, save

TEXTS = [["2", "oak", "st"], ["9", "st"], ["2"], ["oak", "2"], ["2", "st", "2", "9"]]
PROTOTYPES = {"word:st": "T", "word:oak": "S"}
EXACT = {"tol": 1e-8, "max_iter": 2000}


def tokens(texts, given=False):
    """Words with their class; with `given` also whether they come first."""
    return [
        [
            {"word": word, "digit": word.isdigit()} | ({"first": t == 0} if given else {})
            for t, word in enumerate(text)
        ]
        for text in texts
    ]


X = tokens(TEXTS)


def objective(model, X, allowed, given=(), weight=None):
    """Minus the penalised log-probability over C, as `loss_curve_` has it: all texts and labels."""
    rows = [model.vectorizer_.transform([text]).tokens.toarray() for text in X]
    names = model.feature_names_in_.tolist()
    is_given = np.isin(np.arange(len(names)), [names.index(name) for name in given])
    coef = model.coef_.toarray().T
    cliques = [model.transition_.reshape(1, -1)]
    if model._pattern.order > 1:
        cliques.append(model.transition2_.reshape(1, -1))
    words = np.unique(np.vstack(rows) * ~is_given, axis=0) @ coef
    weight = np.ones(len(X)) if weight is None else weight
    of_labels = model.intercept_
    value = sum(table.ravel() @ table.ravel() for table in (coef, *cliques)) / (2 * model.C)
    for of_text, masks, w in zip(rows, allowed, weight, strict=True):
        value -= w * naive_words.log_Z_of_labels(of_text @ coef + of_labels, cliques, masks)
        value += w * naive_words.log_Z(words + of_labels, (of_text * is_given) @ coef, cliques)
    return value


def masks(texts, labels=(("st", "T"), ("oak", "S"))):
    """Of S and T, what prototypes leave to each token."""
    of_words = dict(labels)
    return [
        np.array([[of_words.get(word, label) == label for label in "ST"] for word in text])
        for text in texts
    ]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("given", "fit_intercept"), [(False, False), (True, False), (True, True)])
def test_objective_is_that_of_an_enumeration(order, given, fit_intercept):
    names = "first" if given else None
    options = {"given_features": names, "fit_intercept": fit_intercept, **EXACT}
    model = PrototypeMRF(PROTOTYPES, order=order, C=2.0, **options)
    read = tokens(TEXTS, given)
    model.fit(read)
    expected = objective(model, read, masks(TEXTS), ["first"] if given else [])
    assert model.loss_curve_[-1] == pytest.approx(expected, rel=1e-10)
    # a minimum: no step in any weight leads down
    kept = model._w.copy()
    rng = np.random.default_rng(0)
    for place in rng.permutation(len(kept))[:6]:
        for step in (-1e-3, 1e-3):
            model._w = kept.copy()
            model._w[place] += step
            moved = objective(model, read, masks(TEXTS), ["first"] if given else [])
            assert moved > expected - 1e-9


def test_gradient_is_that_of_differences():
    """Along the way of a fit that ends early, by a step of steepest descent."""
    with pytest.warns(ConvergenceWarning):
        start = PrototypeMRF(PROTOTYPES, C=2.0, max_iter=2).fit(X)
    kept = start._w.copy()
    slope = np.empty(len(kept))
    for place in range(len(kept)):
        values = []
        for step in (1e-5, -1e-5):
            start._w = kept.copy()
            start._w[place] += step
            values.append(objective(start, X, masks(TEXTS)))
        slope[place] = (values[0] - values[1]) / 2e-5
    start._w = kept
    largest = np.abs(slope).max() / len(X)
    # `tol` is of the gradient over the number of sequences: just below and above its largest entry
    for share, is_enough in ((1.01, True), (0.99, False)):
        again = PrototypeMRF(PROTOTYPES, C=2.0, tol=share * largest).fit(X, init=start)
        assert (again.n_iter_ == 0) == is_enough


@pytest.mark.parametrize("solver", ["newton-cg", "trust-ncg", "cg", "em", "gradient"])
def test_solvers_agree(solver):
    """From weights near to a minimum all come to it."""
    start = PrototypeMRF(PROTOTYPES, **EXACT).fit(X)
    rough = PrototypeMRF(PROTOTYPES, tol=1e-2).fit(X)
    model = PrototypeMRF(PROTOTYPES, solver=solver, tol=1e-6, max_iter=5000).fit(X, init=rough)
    assert model.loss_curve_[-1] == pytest.approx(start.loss_curve_[-1], rel=1e-8)


def test_an_l1_penalty_leaves_few_weights():
    full = PrototypeMRF(PROTOTYPES, C=0.5).fit(X)
    sparse = PrototypeMRF(PROTOTYPES, C=0.5, l1_ratio=1.0).fit(X)
    assert np.count_nonzero(sparse._w) < np.count_nonzero(full._w)


# ---- what is learned


def test_prototypes_lend_their_labels_by_features():
    texts = [
        ["1", "oak", "st"],
        ["2", "elm", "ave"],
        ["3", "ash", "st"],
        ["1", "fir", "ave"],
        ["7", "oak", "ave"],
    ]
    read = [
        [
            {"word": word, "kind": word in {"st", "ave", "rd"}, "digit": word.isdigit()}
            for word in text
        ]
        for text in [*texts * 4, ["2", "elm", "ave"], ["8", "new", "rd"], []]
    ]
    model = PrototypeMRF({"word:st": "T", "word:1": "N", "word:oak": "S"}).fit(read[:20])
    assert model.predict(read[20:]).tolist() == [["N", "S", "T"], ["N", "S", "T"], []]
    assert model.classes_.tolist() == ["N", "S", "T"]
    assert model.n_words_ == 10


def test_prototypes_have_their_labels_in_predictions():
    model = PrototypeMRF(PROTOTYPES).fit(X)
    [text] = tokens([["st", "2", "oak", "st"]])
    labels = model.predict([text])[0]
    assert [labels[0], *labels[2:]] == ["T", "S", "T"]
    proba = model.predict_proba([text])[0]
    np.testing.assert_allclose(proba[[0, 2, 3]], [[0, 1], [1, 0], [0, 1]], atol=1e-15)
    assert 0 < proba[1, 0] < 1
    assert model.log_proba([text], [["S", "S", "S", "T"]])[0] == -np.inf
    both = model.log_proba([text] * 2, [["T", label, "S", "T"] for label in "ST"])
    np.testing.assert_allclose(np.exp(both), proba[1])
    # what is said of a token goes before its prototypes
    assert model.predict([text], allowed=[["S", None, None, None]])[0][0] == "S"
    assert model.predict([text], allowed=[[{"S", "T"}, None, None, None]])[0][0] == "T"
    drawn = model.sample([text], 20, random_state=0)[0]
    assert {tuple(labels) for labels in drawn} <= {("T", label, "S", "T") for label in "ST"}


def test_probabilities_are_those_of_a_chain_of_the_allowed():
    model = PrototypeMRF(PROTOTYPES).fit(X)
    cliques = [model.transition_.reshape(1, -1)]
    for text, proba in zip(TEXTS, model.predict_proba(X), strict=True):
        node = model.vectorizer_.transform(tokens([text])).tokens @ model.coef_.toarray().T
        [allowed] = masks([text])
        log_Z = naive_words.log_Z_of_labels(node, cliques, allowed)
        for t, k in product(range(len(text)), range(2)):
            here = allowed.copy()
            here[t] &= np.arange(2) == k
            expected = np.exp(naive_words.log_Z_of_labels(node, cliques, here) - log_Z)
            assert proba[t, k] == pytest.approx(expected, abs=1e-12)


def test_a_prototype_of_several_labels():
    """And a token of several prototypes."""
    prototypes = {"word:st": {"S", "T"}, "word:oak": "S", "digit": "N", "word:9": "T"}
    model = PrototypeMRF(prototypes, **EXACT).fit(X)
    assert model.classes_.tolist() == ["N", "S", "T"]
    proba = np.vstack(model.predict_proba(tokens([["st"], ["9"], ["2"]])))
    np.testing.assert_array_equal(proba > 0, [[0, 1, 1], [1, 0, 1], [1, 0, 0]])
    by_column = {
        model.feature_names_in_.tolist().index(name): label for name, label in prototypes.items()
    }
    again = PrototypeMRF(by_column, **EXACT).fit(X)
    np.testing.assert_array_equal(again.coef_.toarray(), model.coef_.toarray())
    np.testing.assert_array_equal(model.prototype_columns_, sorted(by_column))


def test_labels_that_are_known():
    """In part, or all; they go before prototypes."""
    y = [["S", None, "T"], None, ["T"], [{"S", "T"}, "T"], None]
    model = PrototypeMRF(PROTOTYPES, **EXACT).fit(X, y)
    allowed = masks(TEXTS)
    allowed[0] = np.array([[True, False], [True, False], [False, True]])
    allowed[2] = np.array([[False, True]])
    allowed[3] = np.array([[True, False], [False, True]])
    expected = objective(model, X, allowed)
    assert model.loss_curve_[-1] == pytest.approx(expected, rel=1e-10)
    against = PrototypeMRF(PROTOTYPES).fit(X, [["T", "T", "T"], None, None, None, None])
    assert against.predict(X[:1])[0][1:] == ["S", "T"]
    full = PrototypeMRF(**EXACT).fit(X, [["S"] * (len(text) - 1) + ["T"] for text in TEXTS])
    assert full.prototype_columns_.size == 0
    assert full.score(X, [["S"] * (len(text) - 1) + ["T"] for text in TEXTS]) > 0.8


# ---- boundaries


def test_boundaries_have_the_label_before_them():
    texts = [["1", ",", "st"], ["2", ",", "ave"], [",", "1", ",", "st", "."], [","]] * 4
    read = [
        [{"word": word, "kind": word in {"st", "ave"}, "digit": word.isdigit()} for word in text]
        for text in [*texts, [",", "2", ",", "ave", "."], [".", ","]]
    ]
    prototypes = {"word:st": "T", "word:1": "N", "word:,": "-", "word:.": "-"}
    model = PrototypeMRF(prototypes, boundary="-").fit(read[:16])
    assert model.predict(read[16:]).tolist() == [["N", "N", "N", "T", "T"], ["-", "-"]]
    plain = PrototypeMRF(prototypes).fit(read[:16])
    assert plain.predict(read[16:]).tolist() == [["-", "N", "-", "T", "-"], ["-", "-"]]
    np.testing.assert_array_equal(plain.coef_.toarray(), model.coef_.toarray())
    for text, labels in zip(read, plain.predict(read), strict=True):
        assert model.predict([text])[0] == naive_words.joined(labels, "-")
    assert model.score(read[16:17], [["N", "N", "N", "T", "T"]]) == 1.0
    # it is read by predictions
    assert model.set_params(boundary=None).predict(read[16:17])[0][0] == "-"
    with pytest.raises(UnknownLabelError, match="boundary: label 'Q' is unknown"):
        model.set_params(boundary="Q").predict(read)


# ---- forms of X


def test_words_are_rows_whatever_their_form():
    encoded = SequenceVectorizer().fit_transform(X)
    columns = {encoded.feature_names.tolist().index(name): y for name, y in PROTOTYPES.items()}
    dense = [np.asarray(rows.toarray()) for rows in encoded]
    models = [
        PrototypeMRF(PROTOTYPES, **EXACT).fit(X),
        PrototypeMRF(PROTOTYPES, **EXACT).fit(encoded),
        PrototypeMRF(columns, **EXACT).fit(dense),
        PrototypeMRF(columns, **EXACT).fit([sp.csr_array(rows) for rows in dense]),
    ]
    for model in models:
        assert model.n_words_ == 4
        coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
        np.testing.assert_allclose(coef, models[0].coef_.toarray(), atol=1e-6)
    strings = PrototypeMRF({"st": "T", "oak": "S"}).fit(TEXTS)
    assert strings.predict([["oak", "st"]])[0] == ["S", "T"]


def test_the_order_of_sequences_does_not_matter():
    models = [
        PrototypeMRF(PROTOTYPES, **EXACT).fit([X[i] for i in order])
        for order in ([0, 1, 2, 3, 4], [3, 4, 0, 2, 1])
    ]
    by_name = [
        dict(zip(model.feature_names_in_.tolist(), model.coef_.toarray().T, strict=True))
        for model in models
    ]
    for name, weights in by_name[0].items():
        np.testing.assert_allclose(weights, by_name[1][name], atol=1e-6)


def test_weights_of_sequences_are_counts():
    weight = [1, 2, 0, 3, 1]
    repeated = [text for text, n in zip(X, weight, strict=True) for _ in range(n)]
    a = PrototypeMRF(PROTOTYPES, **EXACT).fit(X, None, weight)
    b = PrototypeMRF(PROTOTYPES, **EXACT).fit(repeated)
    np.testing.assert_allclose(a.coef_.toarray(), b.coef_.toarray(), atol=1e-6)
    expected = objective(a, X, masks(TEXTS), weight=np.array(weight))
    assert a.loss_curve_[-1] == pytest.approx(expected, rel=1e-10)


def test_threads_change_no_bit():
    models = [PrototypeMRF(PROTOTYPES, n_jobs=n, max_iter=20, tol=0.1).fit(X * 200) for n in (1, 3)]
    np.testing.assert_array_equal(models[0]._w, models[1]._w)


def test_forbidden_transitions():
    """In predictions, and in training of both sums."""
    rule = {"T": ["T"], "S": ["S"]}
    free = PrototypeMRF(PROTOTYPES, allowed_transitions=rule, **EXACT).fit(X)
    labels = free.predict(tokens([["2", "2", "2"]]))[0]
    assert labels in (["S", "T", "S"], ["T", "S", "T"])
    model = PrototypeMRF(
        PROTOTYPES, allowed_transitions=rule, constrain_training=True, **EXACT
    ).fit(X)
    np.testing.assert_array_equal(np.diag(model.transition_), 0.0)
    assert np.abs(np.diag(free.transition_)).min() > 0.01
    with pytest.raises(ForbiddenLabelError, match="allow no label here"):
        model.predict(tokens([["st", "st"]]))
    with pytest.raises(ForbiddenLabelError, match=r"X\[0\], token 1"):
        model.fit(tokens([["st", "st"], ["oak"]]))


def test_weights_to_start_from():
    """Of other models, too; an earlier fit's where that is asked for."""
    y = [["S"] * (len(text) - 1) + ["T"] for text in TEXTS]
    crf = LinearChainCRF(fit_intercept=False).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        one = PrototypeMRF(PROTOTYPES, max_iter=1).fit(X, init=crf)
    with pytest.warns(ConvergenceWarning):
        other = PrototypeMRF(PROTOTYPES, max_iter=1).fit(X)
    assert one.loss_curve_ != other.loss_curve_
    model = PrototypeMRF(PROTOTYPES, warm_start=True).fit(X)
    assert model.fit(X).n_iter_ <= 1


# ---- around it


def test_file(tmp_path):
    prototypes = {"word:st": {"S", "T"}, "digit": "N", "word:oak": "S"}
    model = PrototypeMRF(prototypes, boundary="N", order=2, given_features=["first"])
    model.fit(tokens(TEXTS, given=True))
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert again.n_words_ == model.n_words_
    np.testing.assert_array_equal(again.prototype_columns_, model.prototype_columns_)
    np.testing.assert_array_equal(again.prototype_labels_, model.prototype_labels_)
    new = tokens([["oak", "7", "st", "st"], ["3"]], given=True)
    assert again.predict(new).tolist() == model.predict(new).tolist()
    for a, b in zip(again.predict_proba(new), model.predict_proba(new), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_search():
    y = [["S"] * (len(text) - 1) + ["T"] for text in TEXTS]
    grid = {"C": [0.1, 10.0], "prototypes": [PROTOTYPES, {"word:st": "T", "word:2": "S"}]}
    search = GridSearchCV(PrototypeMRF(), grid, cv=KeepUnlabeled(2))
    search.fit(X * 4, (y + [None] * 5) * 2)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("options", "y", "error", "message"),
    [
        ({}, None, ValueError, "requires y to be passed"),
        ({}, [None] * 5, EmptyDataError, "y has no labels"),
        ({"prototypes": {"word:st": None}}, None, UnknownLabelError, "a label is missing"),
        ({"prototypes": {"word:st": ["T"]}}, None, InputTypeError, r"'word:st'\]: .* cannot be"),
        ({"prototypes": {"word:st": set(), "word:oak": "S"}}, None, ValueError, "no labels"),
        ({"prototypes": {"oak": "S"}}, None, ValueError, "prototypes: X, .* has no feature 'oak'"),
        ({"prototypes": {None: "S"}}, None, ValueError, "has no feature None; a prototype is one"),
        ({"prototypes": ["word:st"]}, None, ValueError, "prototypes"),
        ({"prototypes": PROTOTYPES, "boundary": "-"}, None, UnknownLabelError, "boundary: label"),
        ({"prototypes": PROTOTYPES, "boundary": [1]}, None, UnknownLabelError, "boundary: label"),
        (
            {"prototypes": PROTOTYPES, "given_features": ["x"]},
            None,
            ValueError,
            "given_features: X has no feature 'x'",
        ),
        ({"prototypes": PROTOTYPES, "solver": "sag"}, None, ValueError, "solver"),
        (
            {"prototypes": PROTOTYPES, "solver": "cg", "l1_ratio": 0.5},
            None,
            ValueError,
            "no L1 penalty",
        ),
    ],
)
def test_what_is_refused(options, y, error, message):
    with pytest.raises(error, match=message):
        PrototypeMRF(**options).fit(X, y)


def test_rows_without_labels_are_refused():
    with pytest.raises(EmptyDataError, match="PrototypeMRF has no transitions to learn from"):
        PrototypeMRF({0: "A"}).fit(np.eye(3))
    model = PrototypeMRF({0: "A", 1: "B"}).fit(np.eye(3), [None] * 3)
    assert model.predict(np.eye(3)[:2]).tolist() == ["A", "B"]


def test_weights_of_empty_sequences_alone():
    with pytest.raises(EmptyDataError, match="no token has a positive weight"):
        PrototypeMRF(PROTOTYPES).fit([*X, []], None, [0, 0, 0, 0, 0, 1])


def test_a_weight_for_each_token_is_refused():
    with pytest.raises(ValueError, match="a sample_weight for each token needs a loss of single"):
        PrototypeMRF(PROTOTYPES).fit(X, None, [[1.0] * len(text) for text in TEXTS])


def test_x_of_another_width():
    model = PrototypeMRF({0: "A", 1: "B"}).fit([np.eye(3)])
    wider = SequenceArray(np.eye(4), [0, 4])
    with pytest.raises(ValueError, match="4 features"):
        model.predict(wider)
