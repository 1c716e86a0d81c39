"""MultiLabelCRF: enumeration, logistic regression, the same graphs written out, and its inputs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from sklearn_struct import GraphCRF, LinearChainCRF, MultiLabelCRF
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

X, Y = make_multilabel_classification(
    n_samples=60, n_features=5, n_classes=4, n_labels=2, random_state=0
)
X = X / 10.0


def log_probabilities(crf, rows):
    """log p of all sets of labels, by the formula of the docstring, and these sets."""
    sets = np.array(list(product([0, 1], repeat=Y.shape[1])))
    scores = (rows @ crf.coef_.T + crf.intercept_) @ sets.T
    for (j, k), table in zip(crf.edges_, crf.pair_weights_, strict=True):
        scores += table[sets[:, j], sets[:, k]]
    log_Z = np.logaddexp.reduce(scores, axis=1, keepdims=True)
    return scores - log_Z, sets


EDGES = ["full", "tree", [[2, 0], [1, 2]], [[0, 1], [1, 2], [0, 2], [2, 3]]]


@pytest.mark.parametrize("inference", ["auto", "exact"])
@pytest.mark.parametrize("edges", EDGES, ids=str)
def test_by_enumeration(edges, inference):
    crf = MultiLabelCRF(edges=edges, inference=inference).fit(X, Y)
    log_p, sets = log_probabilities(crf, X)
    p = np.exp(log_p)
    np.testing.assert_allclose(crf.predict_proba(X), p @ sets, atol=1e-12)
    np.testing.assert_array_equal(crf.predict(X), sets[log_p.argmax(axis=1)])
    numbers = Y @ (1 << np.arange(Y.shape[1])[::-1])
    np.testing.assert_allclose(crf.log_proba(X, Y), log_p[np.arange(len(X)), numbers], atol=1e-12)
    tables = crf.predict_pair_proba(X)
    for e, (j, k) in enumerate(crf.edges_):
        both = p @ (sets[:, j] * sets[:, k])
        np.testing.assert_allclose(tables[:, e, 1, 1], both, atol=1e-12)
    np.testing.assert_allclose(tables.sum(axis=(2, 3)), 1.0)


@pytest.mark.parametrize("edges", EDGES, ids=str)
def test_the_fit_is_the_minimum(edges):
    """At zero slope the model expects what the training rows have, less what the penalty takes."""
    C = 2.0
    crf = MultiLabelCRF(edges=edges, C=C, tol=1e-8).fit(X, Y)
    log_p, sets = log_probabilities(crf, X)
    expected = np.exp(log_p) @ sets
    np.testing.assert_allclose(crf.coef_, C * (Y - expected).T @ X, atol=1e-4)
    np.testing.assert_allclose((Y - expected).sum(axis=0), 0.0, atol=1e-4)
    for e, (j, k) in enumerate(crf.edges_):
        both = (Y[:, j] * Y[:, k]).sum() - (np.exp(log_p) @ (sets[:, j] * sets[:, k])).sum()
        assert crf.pair_weights_[e, 1, 1] == pytest.approx(C * both, abs=1e-4)


def test_without_edges_it_is_a_logistic_regression_of_each_label():
    crf = MultiLabelCRF(edges=[], C=0.7, tol=1e-9).fit(X, Y)
    for j, labels in enumerate(Y.T):
        alone = LogisticRegression(C=0.7, tol=1e-10, max_iter=1000).fit(X, labels)
        np.testing.assert_allclose(crf.coef_[j], alone.coef_[0], atol=1e-5)
        assert crf.intercept_[j] == pytest.approx(alone.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("inference", ["bp", "trw"])
def test_the_same_graph_written_out(inference):
    """A row as a graph of four nodes, whose features stand in columns of their own."""
    settings = {"inference": inference, "inference_tol": 1e-9, "max_sweeps": 1000}
    crf = MultiLabelCRF(**settings).fit(X, Y)
    rows = X @ crf.coef_.T + crf.intercept_
    # node features: the score of label 1; edge features: which pair it is
    graphs = [(scores[:, None], crf.edges_, np.eye(len(crf.edges_))) for scores in rows]
    twin = GraphCRF(fit_intercept=False, max_iter=1, tol=1e9, **settings).fit(graphs, Y.tolist())
    n_pairs = crf.pair_weights_.size
    assert len(twin._w) == 2 + n_pairs + 4
    by_column = [0.0, 1.0, *crf.pair_weights_.ravel(), *np.zeros(4)]
    twin._w = np.array(by_column)
    np.testing.assert_allclose(
        crf.predict_proba(X), np.array([p[:, 1] for p in twin.predict_proba(graphs)]), atol=1e-6
    )


@pytest.mark.parametrize("loss", ["pseudo", "piecewise", "composite", "pointwise", "hinge"])
def test_losses(loss):
    crf = MultiLabelCRF(loss=loss, random_state=0, tol=1e-3).fit(X, Y)
    alone = MultiLabelCRF(edges=[]).fit(X, Y)
    assert crf.score(X, Y) > alone.score(X, Y) - 0.1


@pytest.mark.parametrize("solver", ["newton-cg", "trust-ncg", "cg"])
def test_solvers(solver):
    reference = MultiLabelCRF(tol=1e-7).fit(X, Y)
    crf = MultiLabelCRF(solver=solver, tol=1e-7, random_state=0).fit(X, Y)
    np.testing.assert_allclose(crf.coef_, reference.coef_, atol=1e-3)


@pytest.mark.parametrize("solver", ["sag", "sgd"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_stochastic_solvers(solver):
    reference = MultiLabelCRF(edges="tree", C=0.1).fit(X, Y)
    crf = MultiLabelCRF(edges="tree", C=0.1, solver=solver, random_state=0, max_iter=100).fit(X, Y)
    assert crf.loss_curve_[-1] < 1.01 * reference.loss_curve_[-1]


def test_an_l1_penalty_leaves_weights_out():
    sparse = MultiLabelCRF(l1_ratio=1.0, C=0.1).fit(X, Y)
    assert np.mean(sparse.coef_ == 0) > 0.3


def test_forms_of_X_and_y():
    names = list("abcde")
    crf = MultiLabelCRF(tol=1e-8).fit(X, Y)
    for rows, labels in (
        (sp.csr_array(X), sp.csr_array(Y)),
        (pd.DataFrame(X, columns=names), pd.DataFrame(Y)),
        (X.tolist(), Y.tolist()),
        (X, Y.astype(bool)),
        (X, np.where(Y, "yes", "no")),
    ):
        other = MultiLabelCRF(tol=1e-8).fit(rows, labels)
        np.testing.assert_allclose(other.predict_proba(rows), crf.predict_proba(X), atol=1e-5)
        assert other.score(rows, labels) == crf.score(X, Y)
    assert other.predict(X).dtype.kind == "U"


def test_one_dimension():
    crf = MultiLabelCRF().fit(X, Y[:, 0])
    table = MultiLabelCRF().fit(X, Y[:, :1])
    assert crf.predict(X).shape == (60,)
    assert table.predict(X).shape == (60, 1)
    np.testing.assert_array_equal(crf.predict_proba(X)[:, 1], table.predict_proba(X)[:, 0])
    np.testing.assert_array_equal(crf.classes_, [0, 1])


def test_a_label_that_no_row_has():
    labels = np.column_stack([Y, np.zeros(60, int), np.ones(60, int)])
    crf = MultiLabelCRF().fit(X, labels)
    np.testing.assert_array_equal(crf.predict(X)[:, 4:], labels[:, 4:])
    by_values = MultiLabelCRF(estimator=LogisticRegression()).fit(X, labels)
    assert by_values.estimators_[4:] == [None, None]
    np.testing.assert_array_equal(by_values.predict(X)[:, 4:], labels[:, 4:])


def test_the_tree_has_the_most_mutual_information():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 400)
    second = np.where(rng.random(400) < 0.1, 1 - first, first)
    third = np.where(rng.random(400) < 0.2, 1 - second, second)
    other = rng.integers(0, 2, 400)
    labels = np.column_stack([third, first, other, second])
    crf = MultiLabelCRF(edges="tree", max_iter=1, tol=1e9).fit(rng.normal(size=(400, 2)), labels)
    assert {(1, 3), (0, 3)} < {tuple(edge) for edge in crf.edges_.tolist()}
    assert len(crf.edges_) == 3


def test_associations_are_log_odds():
    crf = MultiLabelCRF().fit(X, Y)
    ratios = crf.associations_
    np.testing.assert_array_equal(ratios, ratios.T)
    table = np.exp(crf.pair_weights_[0])
    odds = table[1, 1] * table[0, 0] / (table[0, 1] * table[1, 0])
    assert ratios[tuple(crf.edges_[0])] == pytest.approx(np.log(odds))


def test_balanced_stands_between_both():
    crf = MultiLabelCRF().fit(X, Y)
    log_p, sets = log_probabilities(crf, X)
    one = crf.predict_proba(X)
    both = log_p + np.log(one) @ sets.T + np.log(1 - one) @ (1 - sets).T
    found_sets = crf.set_params(decoder="balanced").predict(X)
    np.testing.assert_array_equal(found_sets, sets[both.argmax(axis=1)])


def test_samples():
    crf = MultiLabelCRF().fit(X, Y)
    drawn = crf.sample(X[:2], 2000, random_state=0)
    assert drawn.shape == (2, 2000, 4)
    np.testing.assert_allclose(drawn.mean(axis=1), crf.predict_proba(X[:2]), atol=0.06)


# ---- values of a classifier


def test_values_come_from_rows_that_were_not_seen():
    folds = KFold(3, shuffle=True, random_state=1)
    crf = MultiLabelCRF(estimator=LogisticRegression(), cv=folds, tol=1e-8).fit(X, Y)
    values = np.empty(Y.shape)
    for train, test in folds.split(X):
        for j in range(4):
            fitted = LogisticRegression().fit(X[train], Y[train, j])
            values[test, j] = fitted.decision_function(X[test])
    twin = MultiLabelCRF(tol=1e-8).fit(values, Y)
    # each label sees its own value alone
    assert np.count_nonzero(crf.coef_ - np.diag(crf.coef_.diagonal())) == 0
    assert np.count_nonzero(twin.coef_) == 16
    seen = np.column_stack([one.decision_function(X) for one in crf.estimators_])
    log_p, sets = log_probabilities(crf, seen)
    np.testing.assert_allclose(crf.predict_proba(X), np.exp(log_p) @ sets, atol=1e-12)


def test_probabilities_are_values_as_log_odds():
    crf = MultiLabelCRF(estimator=GaussianNB(), cv=3).fit(X, Y)
    odds = [np.clip(one.predict_proba(X)[:, 1], 1e-3, 1 - 1e-3) for one in crf.estimators_]
    seen = np.log(odds).T - np.log1p(-np.array(odds)).T
    log_p, sets = log_probabilities(crf, seen)
    np.testing.assert_allclose(crf.predict_proba(X), np.exp(log_p) @ sets, atol=1e-12)


def test_texts():
    texts = ["sea sun", "sea", "hill", "hill sun", "rain", "rain sea"] * 4
    labels = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0], [1, 0, 0]] * 4)
    model = make_pipeline(CountVectorizer(), LogisticRegression(C=100))
    crf = MultiLabelCRF(estimator=model, C=10).fit(texts, labels)
    assert crf.predict(["hill sun"]).tolist() == [[0, 1, 1]]


def test_folds_do_not_depend_on_the_order_of_labels():
    crf = MultiLabelCRF(estimator=LogisticRegression()).fit(X, Y)
    again = MultiLabelCRF(estimator=LogisticRegression()).fit(X, Y)
    np.testing.assert_array_equal(crf.predict_proba(X), again.predict_proba(X))
    other = MultiLabelCRF(estimator=LogisticRegression(), random_state=3).fit(X, Y)
    assert not np.array_equal(crf.predict_proba(X), other.predict_proba(X))


def test_estimators_of_scikit_learn_are_searched():
    search = GridSearchCV(
        MultiLabelCRF(estimator=LogisticRegression()), {"C": [0.1, 1.0], "estimator__C": [1.0]}
    )
    assert search.fit(X, Y).best_score_ > 0
    auc = make_scorer(roc_auc_score, response_method="predict_proba", average="micro")
    assert cross_val_score(MultiLabelCRF(), X, Y, scoring=auc, cv=3).mean() > 0.6


# ---- starts and errors


def test_warm_starts():
    crf = MultiLabelCRF(warm_start=True).fit(X, Y)
    n_iter = crf.n_iter_
    assert crf.fit(X, Y).n_iter_ < n_iter
    start = MultiLabelCRF(edges="tree").fit(X, Y)
    from_tree = MultiLabelCRF(max_iter=1, tol=1e9).fit(X, Y, init=start)
    assert from_tree.n_iter_ <= 1
    # pairs that both have begin at the same tables, and others at zero
    known = dict(zip(map(tuple, start.edges_.tolist()), start.pair_weights_, strict=True))
    assert np.all(start.pair_weights_ != 0)
    for edge, table in zip(from_tree.edges_.tolist(), from_tree.pair_weights_, strict=True):
        np.testing.assert_array_equal(table, known.pop(tuple(edge), np.zeros((2, 2))))
    assert not known
    with pytest.raises(LengthMismatchError, match="init has 3 labels and 5 features"):
        MultiLabelCRF().fit(X, Y, init=MultiLabelCRF().fit(X, Y[:, :3]))
    with pytest.raises(InputTypeError, match="must be a fitted MultiLabelCRF"):
        MultiLabelCRF().fit(X, Y, init=LinearChainCRF())


@pytest.mark.parametrize(
    ("settings", "labels", "message"),
    [
        ({}, Y[:-1], "X has 60 rows but y has 59"),
        ({}, np.arange(240).reshape(60, 4) % 3, "Column 0 of y has 3 values"),
        ({}, [["sea", "sun"], ["hill"]] * 30, "MultiLabelBinarizer"),
        ({"edges": [[0, 4]]}, Y, r"edges\[0\] has label 4, but y has 4 columns"),
        ({"edges": [[0, 1], [1, 1]]}, Y, r"edges\[1\] leads from label 1 to itself"),
        ({"edges": [[0, 1], [1, 0]]}, Y, r"edges\[1\]: labels 0 and 1 are there twice"),
        ({"edges": [[0.5, 1.0]]}, Y, "numbers of labels"),
        ({"estimator": CountVectorizer()}, Y, "must have decision_function or predict_proba"),
        ({"cost": [[0, 1], [1, 0]]}, Y, "cost is of loss='hinge'"),
    ],
)
def test_errors(settings, labels, message):
    crf = MultiLabelCRF(**settings)
    before = dict(vars(crf))
    with pytest.raises((ValueError, TypeError), match=message):
        crf.fit(X, labels)
    assert vars(crf) == before


def test_errors_of_predictions():
    crf = MultiLabelCRF().fit(X, Y)
    with pytest.raises(LengthMismatchError, match="y has 3 labels, but 4 in fit"):
        crf.score(X, Y[:, :3])
    with pytest.raises(UnknownLabelError, match=r"y\[0\], label 0"):
        crf.log_proba(X, Y + 5)
    assert crf.score(X, Y + 5) == 0.0
    with pytest.raises(InputTypeError, match="two-dimensional"):
        crf.predict([[["a"]], [["b"]]])


def test_a_cost_of_missed_labels_finds_more():
    plain = MultiLabelCRF(loss="hinge", C=0.1, random_state=0).fit(X, Y)
    costly = MultiLabelCRF(loss="hinge", C=0.1, cost=[[0, 1], [9, 0]], random_state=0).fit(X, Y)
    assert costly.predict(X).sum() > plain.predict(X).sum()


def test_rows_are_not_copied_for_each_label():
    import tracemalloc

    rng = np.random.default_rng(0)
    wide = rng.normal(size=(500, 400))
    labels = (rng.random((500, 40)) < 0.1).astype(int)
    tracemalloc.start()
    MultiLabelCRF(edges="tree", max_iter=2, tol=1e9).fit(wide, labels)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10 * wide.nbytes
