"""CRFs on graphs: paths are chains, trees and small graphs are enumerated."""

from __future__ import annotations

import pickle
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import Cliques, GraphCRF, LinearChainCRF, persistence
from sklearn_struct.exceptions import InferenceWarning, InputTypeError, LengthMismatchError
from sklearn_struct.objectives.weight_patterns import split

LABELS = np.array(["a", "b", "c"])


def chains(rng, lengths=(4, 1, 6, 3, 5, 2, 7)):
    """Sequences of numbers, their labels, and their edges as paths."""
    X = [rng.normal(size=(n, 4)) for n in lengths]
    y = [LABELS[(x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5)].tolist() for x in X]
    edges = [np.array(list(pairwise(range(n)))).reshape(-1, 2) for n in lengths]
    return X, y, edges


def trees(rng, n_graphs=12):
    """Random trees whose edges point anywhere, with labels that depend on the features."""
    X = []
    y = []
    for n in rng.integers(1, 6, size=n_graphs):
        nodes = rng.normal(size=(n, 3))
        edges = [rng.permutation([i, rng.integers(i)]) for i in range(1, n) if rng.random() < 0.9]
        X.append((nodes, np.array(edges).reshape(-1, 2)))
        y.append(LABELS[rng.integers(3, size=n) * (nodes[:, 0] > 0)].tolist())
    return X, y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "owlqn", "l1_ratio": 0.5, "C": 2.0},
        # it looks for a smaller value, which rounding hides where the gradient is below some 1e-8
        {"solver": "newton-cg", "tol": 1e-7},
        {"C": np.inf},
    ],
    ids=["lbfgs", "owlqn", "newton", "no penalty"],
)
def test_paths_are_linear_chains(form, options):
    """Coefficient by coefficient, and in all that is predicted."""
    rng = np.random.default_rng(0)
    X, y, edges = chains(rng, (4, 1, 6, 3, 5, 2, 7) * 6)
    noise = rng.integers(3, size=200)
    y = [
        [LABELS[noise[(i * 7 + t) % 200]] if t % 3 == 0 else k for t, k in enumerate(labels)]
        for i, labels in enumerate(y)
    ]
    X = [form(x) for x in X]
    settings = {"tol": 1e-9, "max_iter": 5000, **options}
    chain = LinearChainCRF(**settings).fit(X, y)
    graphs = list(zip(X, edges))
    crf = GraphCRF(**settings).fit(graphs, y)
    for name in ("coef_", "transition_", "intercept_"):
        a, b = (getattr(model, name) for model in (crf, chain))
        a, b = (table.toarray() if sp.issparse(table) else table for table in (a, b))
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert crf.loss_curve_[-1] == pytest.approx(chain.loss_curve_[-1], rel=1e-10)
    # with equal weights all answers are the same
    crf._w = chain._w.copy()
    for a, b in zip(crf.predict_proba(graphs), chain.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    for a, b in zip(crf.predict_edge_proba(graphs), chain.predict_edge_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert crf.predict(graphs).tolist() == chain.predict(X).tolist()
    np.testing.assert_allclose(crf.log_proba(graphs, y), chain.log_proba(X, y), atol=1e-10)
    assert crf.score(graphs, y) == chain.score(X, y)


def test_trees_are_enumerated():
    X, y = trees(np.random.default_rng(1))
    crf = GraphCRF(C=2.0, tol=1e-7).fit(X, y)
    K = len(crf.classes_)
    proba = crf.predict_proba(X)
    pairs = crf.predict_edge_proba(X)
    log_Z = crf.log_partition(X)
    log_p = crf.log_proba(X, y)
    best = crf.predict(X)
    total = 0.0
    for i, (nodes, edges) in enumerate(X):
        scores = nodes @ crf.coef_.T + crf.intercept_
        every = np.array(list(product(range(K), repeat=len(nodes))))
        energy = scores[np.arange(len(nodes)), every].sum(axis=1)
        for a, b in edges:
            energy += crf.transition_[every[:, a], every[:, b]]
        assert log_Z[i] == pytest.approx(np.logaddexp.reduce(energy), abs=1e-10)
        p = np.exp(energy - log_Z[i])
        for t in range(len(nodes)):
            expected = np.bincount(every[:, t], p, K)
            np.testing.assert_allclose(proba[i][t], expected, atol=1e-10)
        for e, (a, b) in enumerate(edges):
            expected = np.bincount(every[:, a] * K + every[:, b], p, K * K).reshape(K, K)
            np.testing.assert_allclose(pairs[i][e], expected, atol=1e-10)
        assert best[i] == crf.classes_[every[np.argmax(p)]].tolist()
        right = np.all(crf.classes_[every] == np.array(y[i]), axis=1)
        assert log_p[i] == pytest.approx(float(np.log(p[right][0])), abs=1e-10)
        total -= log_p[i]
    weights = np.concatenate([crf.coef_.ravel(), crf.transition_.ravel()])
    assert crf.loss_curve_[-1] == pytest.approx(total + weights @ weights / 4, rel=1e-10)


def test_rows_are_graphs_of_one_node():
    X, y, _ = chains(np.random.default_rng(0))
    rows = np.concatenate(X)
    labels = np.concatenate(y)
    crf = GraphCRF(tol=1e-8).fit(rows, labels)
    np.testing.assert_allclose(
        crf.coef_, LinearChainCRF(tol=1e-8).fit(rows, labels).coef_, atol=1e-6
    )
    assert crf.predict(rows).shape == (len(rows),)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["lbfgs", "sag", "sgd"])
def test_equal_bits_for_any_number_of_threads(solver):
    X, y = trees(np.random.default_rng(2), 40)
    fits = [
        GraphCRF(solver=solver, n_jobs=n, max_iter=5, tol=1e-2, random_state=0).fit(X, y)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0]._w, fits[1]._w)
    for a, b in zip(fits[0].predict_proba(X), fits[1].predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (
            [(np.ones((3, 2)), [[1, 2], [0, 1], [1, 0]])],
            ValueError,
            r"X\[0\], edge 2: nodes 1 and 0 have edge 1 already",
        ),
        (
            [(np.ones((3, 2)), [[1, 2], [0, 1], [2, 1], [1, 0]])],
            ValueError,
            r"X\[0\], edge 2: nodes 2 and 1 have edge 0 already",
        ),
        (
            [(np.ones((2, 2)), sp.csr_array([[0.0, 1.0], [0.5, 0.0]]))],
            InputTypeError,
            r"X\[0\]: an adjacency matrix has ones for edges, got 0\.5; give weights",
        ),
        ([(np.ones((3, 2)), [[0, 3]])], ValueError, r"X\[0\], edge 0: node 3 is not one of"),
        ([(np.ones((3, 2)), [[-1, 0]])], ValueError, "node -1 is not one of"),
        ([(np.ones((3, 2)), [[1, 1]])], ValueError, "from node 1 to itself"),
        ([(np.ones((3, 2)), [[0.0, 1.0]])], InputTypeError, "whole numbers"),
        ([(np.ones((3, 2)), [[0, 1, 2]])], InputTypeError, r"shape \(1, 3\)"),
        ([np.ones((3, 2))], InputTypeError, "must be a list of graphs"),
        (nx.path_graph(3), InputTypeError, r"a single graph of networkx: .* a list, \[graph\]"),
        (
            [(np.ones((3, 2)), [[0, 1]]), (np.ones((3, 2)), None)],
            InputTypeError,
            r"X\[1\] is a tuple of \(ndarray, NoneType\); a graph is a tuple",
        ),
        (
            [(np.ones((3, 2)), [[0, 1]]), np.ones((3, 2))],
            InputTypeError,
            r"X\[1\] is of type ndarray; a graph is a tuple",
        ),
        ([(np.ones((2, 2)), [[0, 1], [1]])], InputTypeError, r"X\[0\]: edges are no table, as"),
        (
            [(np.ones((2, 2)), np.array([[0, 2**63]], np.uint64))],
            ValueError,
            r"X\[0\]: edges have node 9223372036854775808; a graph's count from 0",
        ),
    ],
)
def test_what_is_no_graph_is_refused(X, error, message):
    crf = GraphCRF()
    with pytest.raises(error, match=message):
        crf.fit(X, [["a", "b", "a"]])
    assert not hasattr(crf, "classes_")


def test_forms_of_lists_of_graphs():
    """Arrays of objects and iterators, with one column or, as numpy makes it of pairs, with two."""
    X, y = trees(np.random.default_rng(6))
    crf = GraphCRF().fit(X, y)
    column = np.empty(len(X), dtype=object)
    column[:] = X
    pairs = np.empty((len(X), 2), dtype=object)
    for i, graph in enumerate(X):
        pairs[i] = graph
    expected = crf.predict(X).tolist()
    for form in (column, pairs, iter(X)):
        assert crf.predict(form).tolist() == expected


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    X, y = trees(np.random.default_rng(3))
    crf = GraphCRF().fit(X, y)
    before = crf.predict_proba(X)
    with pytest.raises(LengthMismatchError, match=r"y\[0\]"):
        crf.fit(X, [[*labels, "a"] for labels in y])
    for a, b in zip(before, crf.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_files_and_pickles(tmp_path):
    X, y = trees(np.random.default_rng(4))
    crf = GraphCRF().fit(X, y)
    persistence.save(crf, tmp_path / "model")
    for copy in (persistence.load(tmp_path / "model"), pickle.loads(pickle.dumps(crf))):
        assert copy.predict(X).tolist() == crf.predict(X).tolist()
        np.testing.assert_array_equal(copy._w, crf._w)


def test_weights_count_graphs_and_starts_are_taken():
    X, y = trees(np.random.default_rng(5))
    weight = np.array([2.0, *np.ones(len(X) - 1)])
    weighted = GraphCRF(tol=1e-8).fit(X, y, sample_weight=weight)
    twice = GraphCRF(tol=1e-8).fit([X[0], *X], [y[0], *y])
    np.testing.assert_allclose(weighted.coef_, twice.coef_, atol=1e-5)
    again = GraphCRF(tol=1e-6).fit(X, y, sample_weight=weight, init=weighted)
    assert again.n_iter_ <= 2


def grids(rng, n_graphs, height, width):
    """Noisy pictures of a bright rectangle, their labels, and edges between neighbours."""
    number = np.arange(height * width).reshape(height, width)
    across = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    edges = np.concatenate([across, down])
    X = []
    y = []
    for _ in range(n_graphs):
        labels = np.zeros((height, width), int)
        labels[: rng.integers(1, height + 1), : rng.integers(1, width + 1)] = 1
        X.append((labels.reshape(-1, 1) + rng.normal(size=(number.size, 1)), edges))
        y.append(LABELS[labels.ravel()].tolist())
    return X, y


def test_graphs_with_cycles_are_enumerated():
    X, y = grids(np.random.default_rng(0), 8, 2, 3)
    crf = GraphCRF(C=2.0, tol=1e-7).fit(X, y)
    every = np.array(list(product(range(2), repeat=6)))
    log_Z = crf.log_partition(X)
    proba = crf.predict_proba(X)
    pairs = crf.predict_edge_proba(X)
    total = 0.0
    for i, (nodes, edges) in enumerate(X):
        scores = nodes @ crf.coef_.T + crf.intercept_
        energy = scores[np.arange(6), every].sum(axis=1)
        energy += crf.transition_[every[:, edges[:, 0]], every[:, edges[:, 1]]].sum(axis=1)
        assert log_Z[i] == pytest.approx(np.logaddexp.reduce(energy), abs=1e-10)
        p = np.exp(energy - log_Z[i])
        for t in range(6):
            np.testing.assert_allclose(proba[i][t], np.bincount(every[:, t], p, 2), atol=1e-10)
        for e, (a, b) in enumerate(edges):
            expected = np.bincount(every[:, a] * 2 + every[:, b], p, 4).reshape(2, 2)
            np.testing.assert_allclose(pairs[i][e], expected, atol=1e-10)
        assert crf.predict(X)[i] == crf.classes_[every[np.argmax(p)]].tolist()
        right = np.all(crf.classes_[every] == np.array(y[i]), axis=1)
        total -= float(np.log(p[right][0]))
    weights = np.concatenate([crf.coef_.ravel(), crf.transition_.ravel()])
    assert crf.loss_curve_[-1] == pytest.approx(total + weights @ weights / 4, rel=1e-10)
    assert crf.converged_
    assert crf.inference_report_["n_calls"] == 0


def test_belief_propagation_learns_nearly_the_same():
    X, y = grids(np.random.default_rng(1), 30, 4, 5)
    exact = GraphCRF(inference="exact").fit(X, y)
    near = GraphCRF(inference="bp").fit(X, y)
    assert near.converged_
    report = near.inference_report_
    assert report["n_calls"] >= 30 * near.n_iter_
    assert 1 <= report["mean_sweeps"] <= report["most_sweeps"] <= 500
    assert report["unconverged"] == 0.0
    assert report["largest_change"] <= near.inference_tol
    agree = np.concatenate(exact.predict(X)) == np.concatenate(near.predict(X))
    assert np.mean(agree) > 0.9
    # where edges win, one of them is the other
    same = near.set_params(inference="auto").predict_proba(X)
    for a, b in zip(same, near.set_params(inference="exact").predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("inference", ["bp", "trw"])
def test_of_forests_messages_are_exact(inference):
    X, y = trees(np.random.default_rng(2))
    exact = GraphCRF(tol=1e-8, inference="exact").fit(X, y)
    near = GraphCRF(tol=1e-8, inference=inference, inference_tol=1e-13).fit(X, y)
    np.testing.assert_allclose(near.coef_, exact.coef_, atol=1e-6)
    for a, b in zip(near.predict_proba(X), exact.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


# where marginals of mean field jump the solver stops
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn_struct.exceptions.InferenceWarning")
@pytest.mark.parametrize("inference", ["trw", "mean_field"])
def test_bounds_learn_nearly_the_same(inference):
    X, y = grids(np.random.default_rng(1), 30, 4, 5)
    exact = GraphCRF(inference="exact", C=0.03).fit(X, y)
    best = exact.predict(X)
    log_Z = exact.log_partition(X)
    # mean field does not get to the end
    settings = {"max_iter": 15} if inference == "mean_field" else {}
    near = GraphCRF(inference=inference, C=0.03, **settings).fit(X, y)
    assert near.converged_ or inference == "mean_field"
    assert near.inference_report_["mean_sweeps"] >= 1.0
    assert np.mean(np.concatenate(best) == np.concatenate(near.predict(X))) > 0.85
    bound = exact.set_params(inference=inference).log_partition(X)
    assert np.all((bound > log_Z) == (inference == "trw"))
    again = GraphCRF(inference=inference, C=0.03, n_jobs=2, **settings).fit(X, y)
    np.testing.assert_array_equal(again._w, near._w)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learning_from_samples():
    X, y = grids(np.random.default_rng(1), 30, 4, 5)
    exact = GraphCRF(C=0.03).fit(X, y)
    settings = {"C": 0.03, "solver": "sgd", "random_state": 0, "max_iter": 50}
    fits = [
        GraphCRF(inference="gibbs", max_sweeps=20, n_jobs=n, **settings).fit(X, y) for n in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0]._w, fits[1]._w)
    np.testing.assert_allclose(fits[0].transition_, exact.transition_, atol=0.15)
    best = np.concatenate(exact.predict(X))
    assert np.mean(best == np.concatenate(fits[0].predict(X))) > 0.9
    with pytest.raises(ValueError, match="solver='auto' does not work; use solver='sgd'"):
        GraphCRF(inference="gibbs").fit(X, y)
    exact.set_params(inference="exact")
    expected = np.concatenate(exact.predict_proba(X))
    sampled = np.concatenate(exact.set_params(inference="gibbs").predict_proba(X))
    np.testing.assert_allclose(sampled, expected, atol=0.5)
    assert np.abs(sampled - expected).mean() < 0.05


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_does_not_settle_warns():
    """Strong edges that contradict each other around a cycle: labels must differ, in triangles."""
    number = np.arange(36).reshape(6, 6)
    sides = [
        np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
        np.column_stack([number[:-1].ravel(), number[1:].ravel()]),
        np.column_stack([number[:-1, :-1].ravel(), number[1:, 1:].ravel()]),
    ]
    rng = np.random.default_rng(0)
    X = [(rng.normal(size=(36, 2)), np.concatenate(sides))] * 2
    y = [LABELS[rng.integers(2, size=36)].tolist()] * 2
    crf = GraphCRF(inference="bp", max_sweeps=5, C=0.01).fit(X, y)
    assert crf.converged_
    parts = split(crf._w, crf._pattern)
    parts.columns[0][:] = [-9.0, 9.0, 9.0, -9.0]
    with pytest.warns(InferenceWarning, match=r"has not settled for 2 of 2 graphs \(100\.0%"):
        crf.predict_proba(X)
    # five sweeps do not bring all digits
    with pytest.warns(InferenceWarning, match=r"the weights are not those of the model"):
        hasty = GraphCRF(inference="bp", max_sweeps=1, inference_tol=1e-15).fit(X, y)
    assert not hasty.converged_
    assert hasty.inference_report_["unconverged"] > 0.9  # zero weights need one sweep
    assert hasty.inference_report_["most_sweeps"] == 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_graph_that_is_too_wide_for_exact_inference():
    X, y = grids(np.random.default_rng(0), 2, 30, 30)
    crf = GraphCRF(inference="exact")
    with pytest.raises(ValueError, match=r"X\[1\]: exact inference needs tables of more than 134"):
        crf.fit([(np.ones((1, 1)), []), *X], [["a"], *y])
    assert not hasattr(crf, "classes_")
    assert crf.set_params(inference="auto", max_iter=2).fit(X, y).predict(X).shape == (2,)


@pytest.mark.parametrize("names", [("first", "second"), ("second", "first")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_wide_graph_of_cliques_of_which_one_kind_is_a_forest(names):
    """Whichever kind comes first."""
    rng = np.random.default_rng(0)
    path = list(pairwise(range(40)))
    others = [(i, j) for i in range(40) for j in range(i + 2, 40)]
    graph = rng.normal(size=(40, 2)), [Cliques(names[0], path), Cliques(names[1], others)]
    y = [rng.choice(LABELS, 40).tolist()]
    crf = GraphCRF(inference="exact")
    with pytest.raises(ValueError, match=r"X\[0\]: exact inference needs tables of more than 134"):
        crf.fit([graph], y)
    crf.set_params(inference="auto", loss="pseudo", max_iter=1).fit([graph], y)
    with pytest.raises(ValueError, match=r"X\[0\]: labellings are drawn by exact inference"):
        crf.sample([graph])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_missing_and_open_labels(form):
    """The loss is -log p of all that y allows; a graph without labels teaches nothing."""
    X, y = grids(np.random.default_rng(0), 8, 2, 3)
    X = [(form(nodes), edges) for nodes, edges in X]
    y[0][2] = None
    y[1][0] = {"a", "b"}
    y[1][3] = {"b"}
    y[2] = None
    y[3] = [None, "a", "a", "b", None, "b"]
    crf = GraphCRF(C=2.0, tol=1e-7).fit(X, y)
    assert crf.classes_.tolist() == ["a", "b"]
    without = GraphCRF(C=2.0, tol=1e-7).fit(X[:2] + X[3:], y[:2] + y[3:])
    np.testing.assert_allclose(crf._w, without._w, atol=1e-8)
    every = crf.classes_[np.array(list(product(range(2), repeat=6)))]
    log_p = crf.log_proba(X, y)
    total = 0.0
    for i, labels in enumerate(y):
        allowed = np.ones(len(every), bool)
        for t, label in enumerate(labels or []):
            if label is not None:
                allowed &= np.isin(every[:, t], list(label) if isinstance(label, set) else [label])
        full = np.exp(crf.log_proba([X[i]] * len(every), every.tolist()))
        assert full.sum() == pytest.approx(1.0, abs=1e-10)
        assert log_p[i] == pytest.approx(np.log(full[allowed].sum()), abs=1e-9)
        total -= log_p[i]
    coef = crf.coef_.toarray() if sp.issparse(crf.coef_) else crf.coef_
    weights = np.concatenate([coef.ravel(), crf.transition_.ravel()])
    assert crf.loss_curve_[-1] == pytest.approx(total + weights @ weights / 4, rel=1e-9)
    with pytest.raises(ValueError, match="another solver than 'sag'"):
        GraphCRF(solver="sag").fit(X, y)


def test_paths_with_missing_labels_are_linear_chains():
    X, y, edges = chains(np.random.default_rng(0))
    for labels in y:
        labels[0] = None if len(labels) > 1 else labels[0]
    settings = {"tol": 1e-8, "feature_pairs": "all"}
    chain = LinearChainCRF(**settings).fit(X, y)
    graph = GraphCRF(**settings).fit(list(zip(X, edges)), y)
    np.testing.assert_allclose(graph.coef_, chain.coef_, atol=1e-5)
    np.testing.assert_allclose(graph.transition_, chain.transition_, atol=1e-5)
