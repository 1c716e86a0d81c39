"""What conditional random fields on graphs are known to be: logistic regression without edges, the
same model whatever nodes are called, and the same bits for any number of threads.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_struct import FactorialCRF, GraphArray, GraphCRF, SkipChainCRF
from sklearn_struct.estimators.graphs.graph_inference import INFERENCES
from sklearn_struct.estimators.graphs.graph_losses import LOSSES
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)

LABELS = np.array(["a", "b", "c"])
NO_EDGES = np.zeros((0, 2), int)
# noise of samples keeps sgd from its tolerance
HASTY = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def drawn(rng, n_graphs=30, n_nodes=5, edges=None):
    """Graphs with random edges, whose labels depend on features; no model separates them."""
    X = []
    y = []
    for _ in range(n_graphs):
        nodes = rng.normal(size=(n_nodes, 3))
        scores = nodes @ rng_weights() + rng.gumbel(size=(n_nodes, 3))
        pairs = [(i, j) for i in range(n_nodes) for j in range(i) if rng.random() < 0.5]
        table = np.array(pairs if edges is None else edges, int).reshape(-1, 2)
        X.append((nodes, rng.permuted(table, axis=1)))
        y.append(LABELS[scores.argmax(axis=1)].tolist())
    return X, y


def rng_weights():
    """The same for all graphs."""
    return np.random.default_rng(9).normal(size=(3, 3))


# ---------------------------------------------------------------- without edges


@pytest.fixture(scope="module")
def logistic():
    """Graphs without edges, and scikit-learn's model of their nodes."""
    X, y = drawn(np.random.default_rng(0), edges=NO_EDGES)
    rows = np.concatenate([nodes for nodes, _ in X])
    labels = np.concatenate(y)
    return X, y, LogisticRegression(C=0.7, tol=1e-12, max_iter=20_000).fit(rows, labels)


@pytest.mark.parametrize(
    "options",
    [{"inference": name} for name in sorted(INFERENCES - {"gibbs"})]
    + [{"loss": name} for name in sorted(set(LOSSES) - {"contrastive", "samplerank", "hinge"})],
    ids=lambda options: "-".join(options.values()),
)
def test_without_edges_it_is_logistic_regression(logistic, options):
    """Whatever is minimised, and however sums are made."""
    X, y, expected = logistic
    crf = GraphCRF(C=0.7, tol=1e-9, max_iter=5000, **options).fit(X, y)
    np.testing.assert_allclose(crf.coef_, expected.coef_, atol=1e-6)
    centred = expected.intercept_ - expected.intercept_.mean()
    np.testing.assert_allclose(crf.intercept_ - crf.intercept_.mean(), centred, atol=1e-6)
    assert not crf.transition_.any()
    rows = np.concatenate([nodes for nodes, _ in X])
    proba = np.concatenate(crf.predict_proba(X))
    np.testing.assert_allclose(proba, expected.predict_proba(rows), atol=1e-6)
    assert np.concatenate(crf.predict(X)).tolist() == expected.predict(rows).tolist()


@HASTY
@pytest.mark.parametrize(
    "options",
    [{"inference": "gibbs", "max_sweeps": 50}, {"loss": "contrastive", "n_steps": 50}],
    ids=["gibbs", "contrastive"],
)
def test_what_is_sampled_comes_near_to_logistic_regression(logistic, options):
    X, y, expected = logistic
    options = options | {"solver": "sgd", "random_state": 0, "max_iter": 60}
    crf = GraphCRF(C=0.7, **options).fit(X, y).set_params(inference="exact")
    rows = np.concatenate([nodes for nodes, _ in X])
    proba = np.concatenate(crf.predict_proba(X))
    np.testing.assert_allclose(proba, expected.predict_proba(rows), atol=0.08)


# ---------------------------------------------------------------- numbers of nodes


def renumbered(rng, X, y):
    """The same graphs, their nodes and edges in another order."""
    moved = []
    labels = []
    orders = []
    for (nodes, edges), names in zip(X, y, strict=True):
        order = rng.permutation(len(nodes))
        moved.append((nodes[order], rng.permutation(np.argsort(order)[edges])))
        labels.append([names[i] for i in order])
        orders.append(order)
    return moved, labels, orders


# how far weights may be apart: by the tolerance of the solver, by other shares of forests
@pytest.mark.parametrize(
    ("inference", "apart"),
    [("exact", 1e-6), ("auto", 1e-6), ("bp", 1e-6), ("trw", 0.02), ("mean_field", 1e-6)],
)
@pytest.mark.parametrize("symmetric", [False, True])
def test_numbers_of_nodes_change_nothing(inference, apart, symmetric):
    rng = np.random.default_rng(1)
    X, y = drawn(rng)
    moved, labels, orders = renumbered(rng, X, y)
    settings = {"inference_tol": 1e-12, "max_sweeps": 1000, "tol": 1e-8, "C": 0.1}
    crf = GraphCRF(inference=inference, symmetric=symmetric, **settings).fit(X, y)
    other = GraphCRF(inference=inference, symmetric=symmetric, **settings).fit(moved, labels)
    np.testing.assert_allclose(other._w, crf._w, atol=apart)
    proba = crf.predict_proba(X)
    for a, b, order in zip(other.predict_proba(moved), proba, orders, strict=True):
        np.testing.assert_allclose(a, b[order], atol=10 * apart)
    # with equal weights the same labellings are the best; searches may end in another place
    other._w = crf._w.copy()
    expected = [[names[i] for i in order] for names, order in zip(crf.predict(X), orders)]
    same = [a == b for a, b in zip(other.predict(moved), expected, strict=True)]
    assert np.mean(same) > (0.8 if inference in ("bp", "trw", "mean_field") else 0.999)


@pytest.mark.parametrize("loss", ["pseudo", "piecewise", "pointwise"])
def test_nor_with_losses_that_look_at_parts(loss):
    """Blocks of a composite likelihood are grown from the first node on, and so are others."""
    rng = np.random.default_rng(2)
    X, y = drawn(rng)
    moved, labels, _ = renumbered(rng, X, y)
    crf = GraphCRF(loss=loss, tol=1e-8).fit(X, y)
    other = GraphCRF(loss=loss, tol=1e-8).fit(moved, labels)
    np.testing.assert_allclose(other._w, crf._w, atol=1e-5)


def test_two_graphs_in_one_example_are_two_examples():
    rng = np.random.default_rng(3)
    X, y = drawn(rng)
    joined = [
        (np.concatenate([a[0], b[0]]), np.concatenate([a[1], len(a[0]) + b[1]]))
        for a, b in zip(X[::2], X[1::2], strict=True)
    ]
    labels = [a + b for a, b in zip(y[::2], y[1::2], strict=True)]
    crf = GraphCRF(tol=1e-8).fit(X, y)
    both = GraphCRF(tol=1e-8).fit(joined, labels)
    np.testing.assert_allclose(both._w, crf._w, atol=1e-6)
    pairs = crf.log_partition(X).reshape(-1, 2).sum(axis=1)
    np.testing.assert_allclose(crf.log_partition(joined), pairs, atol=1e-10)
    expected = [a + b for a, b in zip(crf.predict(X)[::2], crf.predict(X)[1::2], strict=True)]
    assert crf.predict(joined).tolist() == expected


# ---------------------------------------------------------------- threads


@HASTY
@pytest.mark.filterwarnings("ignore::sklearn_struct.exceptions.InferenceWarning")
@pytest.mark.parametrize("inference", sorted(INFERENCES))
def test_equal_bits_for_any_number_of_threads(inference):
    """Of fits (in `test_graph_losses.py` with each loss) and of all that is predicted."""
    X, y = drawn(np.random.default_rng(4), 60)
    options = {"solver": "sgd"} if inference == "gibbs" else {}
    fits = [
        GraphCRF(inference=inference, max_iter=4, n_jobs=n, random_state=0, **options).fit(X, y)
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(fits[0]._w, fits[1]._w)
    one, three = (
        np.concatenate(
            [
                *map(np.ravel, crf.predict_proba(X)),
                *map(np.ravel, crf.predict_edge_proba(X)),
                crf.log_partition(X),
                crf.log_proba(X, y),
            ]
        )
        for crf in fits
    )
    np.testing.assert_array_equal(one, three)
    assert fits[0].predict(X).tolist() == fits[1].predict(X).tolist()


@HASTY
@pytest.mark.parametrize("cls", [SkipChainCRF, FactorialCRF])
def test_also_of_graphs_that_are_made_of_sequences(cls):
    rng = np.random.default_rng(5)
    X = [["Ann" if k == 0 else f"w{k}" for k in rng.integers(6, size=7)] for _ in range(40)]
    y = [[("AB"[len(w) - 2], w == "Ann") for w in words] for words in X]
    options = {}
    if cls is SkipChainCRF:
        y = [[a for a, _ in labels] for labels in y]
        options["key"] = "capitalized"
    fits = [cls(max_iter=4, n_jobs=n, **options).fit(X, y) for n in (1, 3)]
    np.testing.assert_array_equal(fits[0]._w, fits[1]._w)
    assert fits[0].predict(X).tolist() == fits[1].predict(X).tolist()


# ---------------------------------------------------------------- the ends of what is a graph


NODES = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("inference", sorted(INFERENCES))
def test_graphs_without_nodes_or_edges_have_answers(inference):
    """Beside others: a graph without nodes has one labelling, of probability 1."""
    options = {"solver": "sgd", "random_state": 0} if inference == "gibbs" else {}
    X = [(NODES, [[0, 1], [1, 2], [2, 0]]), (NODES[:0], []), (NODES[:1], NO_EDGES)]
    y = [["a", "b", "a"], [], ["b"]]
    crf = GraphCRF(inference=inference, max_iter=100, tol=0.5, **options).fit(X, y)
    answers = crf.predict(X)
    assert [len(labels) for labels in answers] == [3, 0, 1]
    assert crf.log_partition(X)[1] == crf.log_proba(X, y)[1] == 0.0
    assert [p.shape for p in crf.predict_proba(X)] == [(3, 2), (0, 2), (1, 2)]
    assert [p.shape for p in crf.predict_edge_proba(X)] == [(3, 2, 2), (0, 2, 2), (0, 2, 2)]


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([], [], EmptyDataError, "X has no graphs"),
        ([(NODES[:0], [])], [[]], EmptyDataError, "no nodes|no labels|empty"),
        ([(NODES, [[0, 1]], [[np.nan]])], [list("aba")], NonFiniteError, "features of edges"),
        ([(NODES * np.nan, [[0, 1]])], [list("aba")], NonFiniteError, r"X\[0\], node 0, feature 0"),
        ([(NODES, [[0, np.inf]])], [list("aba")], InputTypeError, "whole numbers"),
        ([(NODES, [[0, 2**40]])], [list("aba")], ValueError, "node 1099511627776 is not one"),
        ([(NODES, [[0, 1]], np.ones((2, 1)))], [list("aba")], LengthMismatchError, "of 2 edges"),
        (
            [(NODES, [[0, 1]], [[1.0]]), (NODES, [[0, 1]], [[1.0, 2.0]])],
            [list("aba")] * 2,
            LengthMismatchError,
            "features",
        ),
        ([(NODES, [[0, 1]])], [list("ab")], LengthMismatchError, "3 nodes but y.0. has 2 labels"),
    ],
)
def test_what_is_no_data_is_refused_in_a_sentence(X, y, error, message):
    crf = GraphCRF()
    before = dict(vars(crf))
    with pytest.raises(error, match=message):
        crf.fit(X, y)
    assert vars(crf) == before


@HASTY
def test_a_path_of_many_nodes():
    """One graph of a hundred thousand nodes; by hand, ten times as many, see the guide."""
    n = 100_000
    rng = np.random.default_rng(0)
    codes = (np.arange(n) // 50) % 2
    nodes = (codes + rng.normal(size=n)).reshape(-1, 1)
    X = GraphArray([nodes], [np.column_stack([np.arange(n - 1), np.arange(1, n)])])
    y = [LABELS[codes].tolist()]
    crf = GraphCRF(max_iter=3).fit(X, y)
    assert crf.score(X, y) > 0.9
    assert crf.inference_report_["n_calls"] == 0  # exact
