"""Hidden nodes: sums over their states by enumeration, and what they are good for."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from typed_graphs import Enumerated, Spy, typed_graphs

from sklearn_struct import Cliques, GraphArray, GraphCRF, TypedNodes, persistence
from sklearn_struct.estimators.graphs.hidden_nodes import broken_symmetry
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, UnknownLabelError
from sklearn_struct.objectives.weight_patterns import every_node_pair, split


@pytest.fixture(scope="module")
def fitted():
    X, y = typed_graphs(np.random.default_rng(0), hidden=("c",))
    return GraphCRF(C=3.0, hidden={"c": 3}).fit(X, y), X, y


def test_states_are_labels_that_nobody_sees(fitted):
    crf, X, y = fitted
    assert crf.converged_
    assert crf.type_classes_["c"].tolist() == [0, 1, 2]
    assert crf.classes_.tolist()[-3:] == [("c", 0), ("c", 1), ("c", 2)]
    parts = X, y, crf.predict(X), crf.predict_states(X)
    for (nodes, _), labels, chosen, states in zip(*parts, strict=True):
        assert len(labels) == len(chosen) == len(states)
        for name, label, state in zip(nodes.types, chosen, states, strict=True):
            assert (label is None) == (name == "c")
            assert state in (0, 1, 2) if name == "c" else state is None
    assert 0 < crf.score(X, y) <= 1
    # what predict gives can be learned from
    again = GraphCRF(hidden={"c": 2}, max_iter=2, tol=1e9).fit(X, crf.predict(X))
    assert again.type_slices_["c"] == slice(5, 7)


def test_probabilities_are_those_of_enumeration(fitted):
    crf, X, y = fitted
    # states are told apart
    assert np.abs(np.diff(crf.coef_[5:], axis=0)).max() > 1e-3
    expected = [Enumerated(crf, graph) for graph in X]
    log_p = [every.log_p(labels) for every, labels in zip(expected, y, strict=True)]
    np.testing.assert_allclose(crf.log_proba(X, y), log_p, atol=1e-10)
    parts = X, expected, crf.predict(X), crf.predict_states(X), crf.predict_proba(X)
    for (nodes, _), every, labels, states, proba in zip(*parts, strict=True):
        of_nodes = [every.marginals([t]) for t in range(len(nodes.types))]
        np.testing.assert_allclose(proba, of_nodes, atol=1e-10)
        best = [
            (name, state if name == "c" else label)
            for name, label, state in zip(nodes.types, labels, states, strict=True)
        ]
        assert best == [crf.classes_[k] for k in every.best()]


@pytest.mark.parametrize("inference", ["exact", "bp"])
def test_loss_and_derivative_are_those_of_enumeration(inference):
    forest = inference == "bp"
    X, y = typed_graphs(np.random.default_rng(1), 6, forest=forest, hidden=("b",))
    crf = Spy(hidden={"b": 2}, inference=inference, max_iter=2, tol=1e3).fit(X, y)
    assert crf.inference_report_["n_calls"] == 0 or forest
    w = np.random.default_rng(2).normal(size=len(crf._w))
    # a graph of which nothing is known teaches nothing
    known = [(x, labels) for x, labels in zip(X, y) if any(k is not None for k in labels)]

    def loss(at):
        crf._w = at
        return -np.mean([Enumerated(crf, x).log_p(labels) for x, labels in known])

    value, gradient = crf.objective_.value_and_grad(w)
    assert value == pytest.approx(loss(w), abs=1e-10)
    for i in np.random.default_rng(3).permutation(len(w))[:10]:
        step = np.zeros(len(w))
        step[i] = 1e-5
        assert gradient[i] == pytest.approx((loss(w + step) - loss(w - step)) / 2e-5, abs=1e-8)


def test_hidden_nodes_alone_give_nothing_but_their_sum():
    """A hidden node of one state, without features, changes no probability of labels."""
    X, y = typed_graphs(np.random.default_rng(4), kinds="b")
    typed = [(TypedNodes(nodes.features, nodes.types), edges) for nodes, edges in X]
    crf = GraphCRF(tol=1e-8).fit(typed, y)
    more = [
        (
            TypedNodes(np.vstack([nodes.features, np.zeros((1, 2))]), [*nodes.types, "h"]),
            edges,
        )
        for nodes, edges in X
    ]
    with_node = GraphCRF(tol=1e-8, hidden={"h": 1}).fit(more, [[*labels, None] for labels in y])
    np.testing.assert_allclose(
        with_node.log_proba(more, [[*k, None] for k in y]), crf.log_proba(typed, y), atol=1e-6
    )


# ---- what they are good for


def exclusive(rng, n):
    """Four labels that depend on each other through a hidden node alone: two of them are the same
    as each other, and the others their opposite; features say little of each.
    """
    X = []
    y = []
    for _ in range(n):
        labels = (rng.integers(2) ^ np.array([0, 1, 0, 1])) ^ (rng.random(4) < 0.05)
        x = np.zeros((5, 1))
        x[:4, 0] = labels - 0.5 + rng.normal(size=4)
        parts = [Cliques("even", [[0, 4], [2, 4]]), Cliques("odd", [[1, 4], [3, 4]])]
        X.append((TypedNodes(x, ["seen"] * 4 + ["topic"]), parts))
        y.append([*labels.tolist(), None])
    return X, y


def test_they_join_what_is_far_apart(tmp_path):
    rng = np.random.default_rng(0)
    X, y = exclusive(rng, 60)
    X_test, y_test = exclusive(rng, 200)
    single = [[(nodes.features[:4], []) for nodes, _ in part] for part in (X, X_test)]
    alone = GraphCRF().fit(single[0], [labels[:4] for labels in y])
    without = alone.score(single[1], [labels[:4] for labels in y_test])
    crf = GraphCRF(C=10, hidden={"topic": 2}).fit(X, y)
    assert crf.score(X_test, y_test) > without + 0.05
    # states are those of the hidden variable, in either order
    odd = [labels[1] for labels in crf.predict(X_test)]
    states = [row[4] for row in crf.predict_states(X_test)]
    assert abs(np.mean(np.equal(odd, states)) - 0.5) > 0.45
    # with no noise at the start nothing would tell them apart
    assert np.abs(np.diff(crf.clique_transition_["odd"][:2, 2:], axis=1)).min() > 1

    persistence.save(crf, tmp_path / "model")
    for copy in (persistence.load(tmp_path / "model"), pickle.loads(pickle.dumps(crf))):
        assert copy.predict_states(X_test).tolist() == crf.predict_states(X_test).tolist()
        np.testing.assert_array_equal(copy.log_proba(X, y), crf.log_proba(X, y))
        # a start has states already
        again = GraphCRF(C=10, hidden={"topic": 2}, tol=1e9).fit(X, y, init=copy)
        np.testing.assert_array_equal(again._w, crf._w)
    warm = GraphCRF(C=10, hidden={"topic": 2}, warm_start=True).fit(X, y)
    assert warm.fit(X, y).n_iter_ <= 1


def test_starts_are_random_and_the_same_for_a_seed():
    X, y = typed_graphs(np.random.default_rng(5), n_graphs=6, hidden=("c",))
    quick = {"max_iter": 1, "tol": 1e9, "hidden": {"c": 2}}
    first = GraphCRF(**quick).fit(X, y)._w
    np.testing.assert_array_equal(GraphCRF(**quick, n_jobs=2).fit(X, y)._w, first)
    seeds = [GraphCRF(**quick, random_state=seed).fit(X, y)._w for seed in (1, 1, 2)]
    np.testing.assert_array_equal(seeds[0], seeds[1])
    assert not np.array_equal(seeds[0], seeds[2])
    # nothing but weights of states is moved
    crf = GraphCRF(**quick).fit(X, y)
    assert not crf.coef_[:5].any()
    assert not crf.transition_[:5, :5].any()
    assert crf.transition_[:2, 5:].all()
    packed = GraphArray.from_graphs(X)
    np.testing.assert_array_equal(GraphCRF(**quick).fit(packed, y)._w, first)


# ---- bad input


@pytest.mark.parametrize(
    ("hidden", "error", "message"),
    [
        ({"c": 0}, InputTypeError, "the number of states of 'c' must be a whole number from 1 on"),
        ({"c": "2"}, InputTypeError, "got '2'"),
        ({"c": True}, InputTypeError, "got True"),
        ({"d": 2}, ValueError, "X has no nodes of the type 'd'; it has 'a', 'b', 'c'"),
        (
            {"c": 3, "b": 2},
            UnknownLabelError,
            r"y\[0\], node 1: .* 'b', which is hidden",
        ),
        ({"c": 2, "a": 2, "b": 2}, UnknownLabelError, "it must be None"),
        (["c"], ValueError, "The 'hidden' parameter of GraphCRF must be"),
    ],
)
def test_bad_types(fitted, hidden, error, message):
    _, X, y = fitted
    with pytest.raises(error, match=message):
        GraphCRF(hidden=hidden).fit(X, y)


def test_bad_data(fitted):
    crf, X, y = fitted
    with pytest.raises(EmptyDataError, match=r"hidden={'c': n_states} says that"):
        GraphCRF().fit(X, y)
    plain = [(nodes.features, edges) for nodes, edges in X]
    labels = [["a"] * len(nodes) for nodes, _ in plain]
    with pytest.raises(ValueError, match=r"it has none: a graph is \(TypedNodes"):
        GraphCRF(hidden={"c": 2}).fit(plain, labels)
    with pytest.raises(ValueError, match="hidden nodes need loss='log_likelihood'"):
        GraphCRF(hidden={"c": 2}, loss="pseudo").fit(X, y)
    wrong = [list(of) for of in y]
    t = X[0][0].types.index("c")
    wrong[0][t] = 1
    with pytest.raises(UnknownLabelError, match=rf"y\[0\], node {t}: label 1 of a node"):
        crf.log_proba(X, wrong)
    none = [[None] * len(of) for of in y]
    with pytest.raises(EmptyDataError):
        GraphCRF(hidden={"a": 2, "b": 2, "c": 2}).fit(X, none)
    untyped = GraphCRF(max_iter=1, tol=1e9).fit(plain, [["a", "b", *of[2:]] for of in labels])
    with pytest.raises(AttributeError, match="had no types"):
        untyped.predict_states(plain)


def test_a_fit_begins_with_weights_of_states_that_differ():
    """Those of intercepts, too, and no others."""
    X, y = typed_graphs(np.random.default_rng(0), hidden=("c",))
    crf = GraphCRF(hidden={"c": 3}, random_state=0, max_iter=1, tol=1e9).fit(X, y)
    pattern = crf._pattern
    typed = crf._typed_rows()
    w = broken_symmetry(np.zeros(pattern.size), pattern, typed, np.random.RandomState(0))
    parts = split(w, pattern)
    assert np.count_nonzero(parts.intercept) == 3
    assert np.all(parts.intercept[-3:] != 0)
    of_nodes = every_node_pair(pattern)
    np.testing.assert_array_equal(parts.node != 0, of_nodes.indices >= pattern.n_labels - 3)
