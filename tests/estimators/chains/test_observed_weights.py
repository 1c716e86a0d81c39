"""Which weights a chain of second order has, and what `order` means to the estimator."""

from __future__ import annotations

from itertools import pairwise

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.encoding.labels.allowed_transitions import read_transitions

LABELS = ["a", "b", "c"]
X = [
    [{"u": 1, "v": 1}, {"v": 1}, {"u": 2.0}, {"w": 1}],
    [{"u": 1}, {"w": 1}],
    [{"v": 1}, {"u": 1}, {"u": 1}],
    [{"w": 1}],
]
Y = [["a", "b", "a", "b"], ["c", "a"], ["a", "b", "a"], ["b"]]


def echoes(rng, n=30, labels=2):
    """Sequences whose label is mostly that of the token before the last one, whatever their
    numbers.
    """
    X = []
    y = []
    for _ in range(n):
        T = rng.randint(1, 9)
        codes = rng.randint(labels, size=T)
        for t in range(2, T):
            codes[t] = codes[t - 2] if rng.uniform() < 0.9 else codes[t]
        X.append(rng.normal(size=(T, 2)) + 0.6 * codes[:, None])
        y.append([LABELS[k] for k in codes])
    return X, y


def existing(crf):
    """The triples with a weight."""
    filled = np.zeros(27)
    filled[crf._pattern.families[1].columns] = 1
    return {tuple(LABELS[k] for k in triple) for triple in np.argwhere(filled.reshape(3, 3, 3))}


def test_triples_that_have_a_weight():
    assert existing(LinearChainCRF(order=2, transition_features="observed").fit(X, Y)) == {
        ("a", "b", "a"),
        ("b", "a", "b"),
    }
    often = LinearChainCRF(order=2, transition_features="observed", min_frequency=2).fit(X, Y)
    assert existing(often) == {("a", "b", "a")}
    weighted = LinearChainCRF(order=2, transition_features="observed").fit(X, Y, [0, 1, 1, 1])
    assert existing(weighted) == {("a", "b", "a")}
    assert len(existing(LinearChainCRF(order=2).fit(X, Y))) == 27


def test_edge_features_that_have_a_weight_with_a_triple():
    """Those of the third token, with the labels that are observed there; all for a dense X."""
    crf = LinearChainCRF(order=2, edge_features="all").fit(X, Y)
    names = crf.feature_names_in_.tolist()
    table = crf.edge_coef_.tocoo()
    found = {(names[f], row) for row, f in zip(table.row, table.col)}
    pairs = {("v", "ab"), ("u", "ba"), ("w", "ab"), ("w", "ca"), ("u", "ab"), ("u", "ba")}
    triples = {("u", "aba"), ("w", "bab")}
    rows = {"".join(LABELS[k] for k in pair): row for row, pair in enumerate(np.ndindex(3, 3))}
    rows |= {
        "".join(LABELS[k] for k in triple): 9 + row
        for row, triple in enumerate(np.ndindex(3, 3, 3))
    }
    assert found == {(name, rows[labels]) for name, labels in pairs | triples}
    every = LinearChainCRF(order=2, edge_features="all", feature_pairs="all").fit(X, Y).edge_coef_
    assert every.shape == (36, 3)
    assert every.nnz == 3 * 36
    dense = [s.toarray() for s in SequenceVectorizer().fit_transform(X)]
    assert np.shape(LinearChainCRF(order=2, edge_features=[0]).fit(dense, Y).edge_coef_) == (36, 1)


def test_sequences_too_short_for_triples():
    crf = LinearChainCRF(order=2, edge_features="all", transition_features="observed").fit(
        [X[1], X[3]], [Y[1], Y[3]]
    )
    assert not crf.transition2_.any()
    pairs = LinearChainCRF(edge_features="all", transition_features="observed").fit(
        [X[1], X[3]], [Y[1], Y[3]]
    )
    np.testing.assert_allclose(
        crf.predict_proba([X[1]])[0], pairs.predict_proba([X[1]])[0], atol=1e-4
    )


def test_rows_are_logistic_regression_at_any_order():
    rng = np.random.RandomState(0)
    rows = rng.normal(size=(60, 3))
    labels = rng.randint(3, size=60)
    first, second = (LinearChainCRF(order=order, tol=1e-8).fit(rows, labels) for order in (1, 2))
    np.testing.assert_allclose(second.coef_, first.coef_, atol=1e-6)
    assert not second.transition2_.any()


def test_second_order_learns_what_first_order_cannot():
    data, labels = echoes(np.random.RandomState(0))
    first, second = (LinearChainCRF(C=10, order=order).fit(data, labels) for order in (1, 2))
    assert second.log_proba(data, labels).sum() > 0.6 * first.log_proba(data, labels).sum()
    assert second.score(data, labels) > first.score(data, labels) + 0.05
    table = second.transition2_
    assert table[0, 0, 0] + table[0, 1, 0] > table[1, 0, 0] + table[1, 1, 0]


@pytest.mark.parametrize("options", [{}, {"edge_features": [1]}, {"dtype": "float32"}])
def test_from_a_chain_of_first_order(options):
    """Its weights, and none for triples: the same model."""
    data, labels = echoes(np.random.RandomState(1), labels=3)
    first = LinearChainCRF(**options).fit(data, labels)
    second = LinearChainCRF(order=2, tol=1e9, **options).fit(data, labels, init=first)
    digits = 1e-10 if not options or "edge_features" in options else 1e-4
    assert not second.transition2_.any()
    for a, b in zip(second.predict_proba(data), first.predict_proba(data), strict=True):
        np.testing.assert_allclose(a, b, atol=digits)
    for a, b in zip(second.predict_edge_proba(data), first.predict_edge_proba(data), strict=True):
        np.testing.assert_allclose(a, b, atol=digits)
    np.testing.assert_allclose(
        second.log_proba(data, labels), first.log_proba(data, labels), atol=digits * 10
    )
    assert second.predict(data).tolist() == first.predict(data).tolist()
    assert (
        second.sample(data, 2, random_state=0).tolist()
        == first.sample(data, 2, random_state=0).tolist()
    )
    back = LinearChainCRF(tol=1e9, **options).fit(
        data, labels, init=LinearChainCRF(order=2).fit(data, labels)
    )
    assert np.any(back.transition_ != 0)


@pytest.mark.parametrize("solver", ["owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "sag"])
def test_solvers_find_the_same_optimum(solver):
    data, labels = echoes(np.random.RandomState(2), labels=3)
    options = {"order": 2, "C": 0.1, "tol": 1e-6}
    best = LinearChainCRF(**options).fit(data, labels)
    other = LinearChainCRF(**options, solver=solver, random_state=0).fit(data, labels)
    assert other.loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], rel=1e-7)
    np.testing.assert_allclose(other.transition2_, best.transition2_, atol=1e-3)


@pytest.mark.parametrize(
    "options", [{"loss": "pointwise"}, {"solver": "ap"}, {"solver": "pa"}, {"solver": "sgd"}]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_losses_and_solvers_learn_it_too(options):
    data, labels = echoes(np.random.RandomState(0), 60)
    first, second = (
        LinearChainCRF(random_state=0, max_iter=50, order=k, **options).fit(data, labels)
        for k in (1, 2)
    )
    assert second.score(data, labels) > first.score(data, labels) + 0.05


def test_constrained_training_by_enumeration():
    """Among the labellings that are allowed, with triples."""
    data = [s[:4] for s in echoes(np.random.RandomState(3), 8, 3)[0]]
    labels = []
    tags = ["B-x", "I-x", "O"]
    labels = [
        ["B-x", "I-x", "O", "B-x"][: len(s)] if i % 2 else ["O", "B-x", "I-x", "I-x"][: len(s)]
        for i, s in enumerate(data)
    ]
    crf = LinearChainCRF(order=2, allowed_transitions="BIO", constrain_training=True, tol=1e-7).fit(
        data, labels
    )
    transitions = read_transitions("BIO", crf.classes_)

    def objective(w):
        total = w[:42] @ w[:42] / 2
        node = w[:6].reshape(2, 3)
        for tokens, y in zip(data, labels):
            scores = tokens @ node + w[42:]
            edge = w[6:15][None].copy()
            scores[0, ~transitions.start] = -np.inf
            edge[:, np.flatnonzero(~transitions.pairs)] = -np.inf
            chain = naive.Chain(scores, edge, w[15:42][None])
            total += float(chain.log_Z - chain.scores[chain.y.index(tuple(map(tags.index, y)))])
        return total

    learned = np.concatenate(
        [crf.coef_.T.ravel(), crf.transition_.ravel(), crf.transition2_.ravel(), crf.intercept_]
    )
    assert objective(learned) == pytest.approx(crf.loss_curve_[-1], rel=1e-9)
    assert minimize(objective, learned, options={"maxiter": 3}).fun == pytest.approx(
        crf.loss_curve_[-1], rel=1e-6
    )
    assert not crf.transition2_[~transitions.pairs].any()
    for y in crf.sample(data, 5, random_state=0):
        assert all("I-x" not in (a[:1]) and ("O", "I-x") not in pairwise(a) for a in y)


@pytest.mark.parametrize("solver", ["ap", "pa", "sgd"])
def test_partial_fit(solver):
    data, labels = echoes(np.random.RandomState(0), 40)
    crf = LinearChainCRF(order=2, solver=solver, random_state=0, feature_pairs="all")
    for start in (0, 20) * 10:
        crf.partial_fit(data[start : start + 20], labels[start : start + 20], classes=LABELS[:2])
    assert crf.score(data, labels) > 0.75
    assert crf.transition2_.shape == (2, 2, 2)
    with pytest.raises(ValueError, match="order=1, but what was learned before has order 2"):
        crf.set_params(order=1).partial_fit(data, labels)


def test_the_order_of_a_fitted_model_is_that_of_its_fit():
    data, labels = echoes(np.random.RandomState(0), 10)
    crf = LinearChainCRF(order=2).fit(data, labels)
    proba = crf.predict_proba(data)[0]
    np.testing.assert_array_equal(crf.set_params(order=1).predict_proba(data)[0], proba)
    assert not hasattr(LinearChainCRF().fit(data, labels), "transition2_")
    assert not hasattr(LinearChainCRF(order=2), "transition2_")
    with pytest.raises(ValueError, match="order"):
        LinearChainCRF(order=3).fit(data, labels)


def test_weights_are_those_that_a_sparse_X_gives_too():
    data, labels = echoes(np.random.RandomState(0), 10)
    options = {"order": 2, "edge_features": [0], "feature_pairs": "all", "tol": 1e-8}
    dense = LinearChainCRF(**options).fit(data, labels)
    sparse = LinearChainCRF(**options).fit([sp.csr_array(s) for s in data], labels)
    np.testing.assert_allclose(sparse.edge_coef_.toarray(), dense.edge_coef_, atol=1e-6)
    np.testing.assert_allclose(sparse.transition2_, dense.transition2_, atol=1e-6)
