"""MEMM: logistic regression on the label before, decoding by hand, constraints."""

from __future__ import annotations

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from sklearn_struct import MEMM
from sklearn_struct.exceptions import ForbiddenLabelError

LABELS = ["B-x", "I-x", "O"]
LENGTHS = (3, 2, 4, 0, 1, 3, 3, 2, 3)
MATRIX = np.array([[True, False, True], [True, True, False], [False, True, True]])
RULES = {"BIO": "BIO", "matrix": MATRIX, "dict": {None: ["O"], "O": ["O", "B-x"], "I-x": [None]}}
ENDS = {"O": [None], "B-x": ["B-x", "I-x"]}  # B-x, before the last token, leads nowhere


def ragged(rng, lengths=LENGTHS):
    X = [rng.normal(size=(n, 2)) for n in lengths]
    return X, [[LABELS[k] for k in rng.randint(3, size=n)] for n in lengths]


MODELS = {
    "dense": {"C": 5.0},
    "edge features": {"C": 5.0, "edge_features": [0]},
    "no intercept": {"fit_intercept": False, "transition_features": "observed"},
    "float32": {"dtype": "float32"},
    "second order": {"C": 5.0, "order": 2},
    "second order, edge features": {
        "C": 5.0,
        "order": 2,
        "edge_features": [0],
        "transition_features": "observed",
    },
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = ragged(np.random.RandomState(0))
    X = [sp.csr_array(s) for s in X] if request.param == "no intercept" else X
    return MEMM(tol=1e-6, **MODELS[request.param]).fit(X, y), X


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def scores(model, tokens):
    """Scores of labels, of pairs and, at order 2, of triples."""
    tokens = dense(tokens)
    node = tokens @ dense(model.coef_).T + model.intercept_
    tables = [model.transition_.ravel()]
    if model.order == 2:
        tables.append(model.transition2_.ravel())
    of_features = np.split(dense(model.edge_coef_), [9])
    cliques = [
        table + tokens[size - 1 :][:, model.edge_features_] @ weights.T
        for size, table, weights in zip((2, 3), tables, of_features)
    ]
    return node, *cliques


def rows(tables, labels):
    """The scores of the labels of each token after those given."""
    node, edge, *triples = tables
    for t in range(len(node)):
        row = node[t]
        if t:
            row = row + edge[t - 1].reshape(3, 3)[labels[t - 1]]
        if t > 1 and triples:
            row = row + triples[0][t - 2].reshape(3, 3, 3)[labels[t - 2], labels[t - 1]]
        yield row


def steps(tables, labels):
    """log p(y_t | y_{t-1}) one after the other, at order 2 log p(y_t | y_{t-2}, y_{t-1})."""
    for row, k in zip(rows(tables, labels), labels):
        norm = np.logaddexp.reduce(row)
        yield row[k] - norm if row[k] > -np.inf else -np.inf


class Twin:
    """All labellings of a sequence with their log-probabilities."""

    def __init__(self, model, tokens, allowed=None, inside=None):
        tables = scores(model, tokens)
        if inside is not None:  # normalised among what is allowed
            tables = masked(tables, *inside)
        self.y = naive.labellings(tokens.shape[0], 3)
        self.log_p = np.array([sum(steps(tables, y)) for y in self.y], float)
        if allowed is not None:
            zeros = [np.zeros(table.shape) for table in tables]
            node, *cliques = masked(zeros, *allowed)
            self.log_p += [naive.score(node, cliques, y) for y in self.y]
        self.log_p -= np.logaddexp.reduce(self.log_p)
        self.node = np.zeros(tables[0].shape)
        for y, p in zip(self.y, np.exp(self.log_p)):
            self.node[np.arange(len(y)), list(y)] += p


def masked(tables, start, pairs, end):
    node, edge, *triples = (table.copy() for table in tables)
    edge[:, np.flatnonzero(~pairs)] = -np.inf
    if len(node):
        node[0, ~start] = -np.inf
        node[-1, ~end] = -np.inf
    return node, edge, *triples


def test_predictions_by_enumeration(fitted):
    model, X = fitted
    atol = 1e-4 if model.dtype == "float32" else 1e-10
    predicted = model.predict(X)
    proba = model.predict_proba(X)
    best = model.predict_nbest(X, 100)
    for i, tokens in enumerate(X):
        twin = Twin(model, tokens)
        assert np.logaddexp.reduce(twin.log_p) == pytest.approx(0, abs=1e-12)
        labellings = [[LABELS[k] for k in y] for y in twin.y]
        log_p = model.log_proba([tokens] * len(labellings), labellings)
        np.testing.assert_allclose(log_p, twin.log_p, atol=atol)
        np.testing.assert_allclose(proba[i], twin.node, atol=atol)
        assert predicted[i] == labellings[np.argmax(twin.log_p)]
        np.testing.assert_allclose(
            [p for _, p in best[i]], np.sort(twin.log_p)[::-1][:100], atol=atol
        )


def test_beams(fitted):
    """Of the width of the states it is Viterbi; of width 1 greedy, which takes the best label after
    the last.
    """
    model, X = fitted
    model = clone(model).fit(X, ragged(np.random.RandomState(0))[1])
    best = model.predict(X)
    proba = model.predict_proba(X)
    model.set_params(decoder="beam", beam_width=3**model.order)
    assert model.predict(X).tolist() == best.tolist()
    for p, q in zip(model.predict_proba(X), proba):  # probabilities do not depend on the search
        np.testing.assert_allclose(p, q, atol=1e-5)
    one = model.set_params(beam_width=1).predict(X)
    greedy = model.set_params(decoder="greedy", beam_width=5).predict(X)
    assert greedy.tolist() == one.tolist()
    for tokens, labels in zip(X, greedy):
        found = []
        found.extend(int(np.argmax(row)) for row in rows(scores(model, tokens), found))
        assert labels == [LABELS[k] for k in found]


def test_decodings_differ():
    """Two labels that are nearly as good at first, one of which leads to what is nearly certain."""
    X = []
    y = []
    for first, second, n in (("a", "x", 40), ("a", "y", 35), ("b", "z", 60)):
        X += [[["start"], ["next"]]] * n
        y += [[first, second]] * n
    model = MEMM(C=100).fit(X, y)
    x = [[["start"], ["next"]]]
    assert model.predict(x)[0] == ["b", "z"]
    assert model.set_params(decoder="greedy").predict(x)[0] == ["a", "x"]
    assert model.set_params(decoder="beam").predict(x)[0] == ["b", "z"]
    assert model.score(x, [["b", "z"]]) == 1.0


@pytest.mark.parametrize(
    ("C", "solver", "order"),
    [(C, solver, 1) for C in (0.1, 10.0) for solver in ("lbfgs", "newton-cg", "trust-ncg", "sag")]
    + [(1.0, "lbfgs", 2), (1.0, "newton-cg", 2)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_is_logistic_regression_on_the_labels_before(C, solver, order):
    rng = np.random.RandomState(0)
    X, y = ragged(rng, (5, 1, 7, 0, 4, 6, 8, 5))
    model = MEMM(C=C, order=order, solver=solver, tol=1e-8, random_state=0, max_iter=500).fit(X, y)
    inputs = []
    for tokens, labels in zip(X, y):
        codes = np.searchsorted(LABELS, labels)
        before = np.zeros((len(labels), 12))
        before[np.arange(1, len(labels)), codes[:-1]] = 1.0
        before[np.arange(2, len(labels)), 3 + codes[:-2] * 3 + codes[1:-1]] = 1.0
        inputs.append(np.hstack([tokens, before[:, : 3 if order == 1 else 12]]))
    flat = np.concatenate(y)
    expected = LogisticRegression(C=C, tol=1e-12, max_iter=10_000).fit(np.concatenate(inputs), flat)
    np.testing.assert_allclose(model.coef_, expected.coef_[:, :2], atol=1e-4)
    np.testing.assert_allclose(model.transition_.T, expected.coef_[:, 2:5], atol=1e-4)
    if order == 2:
        np.testing.assert_allclose(
            model.transition2_.reshape(9, 3).T, expected.coef_[:, 5:], atol=1e-4
        )
    log_p = expected.predict_log_proba(np.concatenate(inputs))[
        np.arange(len(flat)), np.searchsorted(LABELS, flat)
    ]
    sums = [part.sum() for part in np.split(log_p, np.cumsum([len(labels) for labels in y])[:-1])]
    np.testing.assert_allclose(model.log_proba(X, y), sums, atol=1e-4)


# ---------------------------------------------------------------- constraints


def check_constrained(model, X, allowed, inside=None):
    predicted = model.predict(X)
    proba = model.predict_proba(X)
    greedy = model.set_params(decoder="greedy").predict(X)
    wide = model.set_params(decoder="beam", beam_width=9).predict(X)
    model.set_params(decoder="viterbi")
    assert wide.tolist() == predicted.tolist()
    for i, tokens in enumerate(X):
        twin = Twin(model, tokens, allowed, inside)
        np.testing.assert_allclose(proba[i], twin.node, atol=1e-10)
        assert predicted[i] == [LABELS[k] for k in twin.y[np.argmax(twin.log_p)]]
        assert twin.log_p[twin.y.index(tuple(LABELS.index(label) for label in greedy[i]))] > -np.inf


@pytest.mark.parametrize("options", [{}, {"edge_features": [0]}, {"order": 2}], ids=repr)
@pytest.mark.parametrize("rule", RULES)
def test_what_is_forbidden_leaves_its_share_to_the_rest(rule, options):
    X, y = ragged(np.random.RandomState(1))
    model = MEMM(C=5, **options).fit(X, y)
    model.set_params(allowed_transitions=RULES[rule])
    check_constrained(model, X, model._transitions())


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("rule", [*RULES, "ends"])
def test_normalised_among_what_is_allowed(rule, order):
    X, y = ragged(np.random.RandomState(2), (3, 2, 4, 0, 2, 3, 3, 2, 3))
    rules = {**RULES, "ends": ENDS}
    y = [
        labels[0]
        for labels in MEMM()
        .fit(X, y)
        .set_params(allowed_transitions=rules[rule])
        .sample(X, random_state=0)
    ]
    model = MEMM(order=order, allowed_transitions=rules[rule], constrain_training=True).fit(X, y)
    check_constrained(model, X, model._transitions(), inside=model._transitions())
    wrong = {"BIO": "I-x", "matrix": "I-x", "dict": "O", "ends": "B-x"}[rule]
    with pytest.raises(
        ForbiddenLabelError, match="constrain_training=True learns among allowed labellings only"
    ):
        model.fit([*X, np.ones((4, 2))], [*y, [wrong, wrong, "O", "O"]])


@pytest.mark.parametrize("decoder", ["viterbi", "beam", "greedy"])
def test_labels_that_are_allowed(decoder):
    X, y = ragged(np.random.RandomState(1))
    model = MEMM(decoder=decoder, beam_width=2).fit(X, y)
    allowed = [None if n == 0 else [["O", "I-x"], *[None] * (n - 1)] for n in LENGTHS]
    for labels in model.predict(X, allowed=allowed):
        assert not labels or labels[0] in ("O", "I-x")
    model.set_params(allowed_transitions="BIO")
    for labels in model.predict(X, allowed=allowed):
        assert not labels or labels[0] == "O"
    with pytest.raises(ForbiddenLabelError, match=r"X\[0\], token 0"):
        model.predict(X[:1], allowed=[["I-x", None, None]])
