"""Graphs whose labels have hidden states, against sums over all labellings by states and against
chains.
"""

from __future__ import annotations

import pickle

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from typed_graphs import Spy, typed_graphs

from sklearn_struct import (
    Cliques,
    GraphArray,
    GraphCRF,
    LatentChainCRF,
    LinearChainCRF,
    TypedNodes,
    persistence,
)
from sklearn_struct.exceptions import InputTypeError, UnknownLabelError

NOT_CONVERGED = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
CLOSE = 1e-10
QUICK = {"C": 2.0, "tol": 1e-3, "max_iter": 150, "random_state": 0}


def graphs(seed=0, kind="edges", form=np.asarray):
    """Graphs of one to five nodes with cycles, and labels."""
    rng = np.random.RandomState(seed)
    X = []
    y = []
    for n in (4, 1, 5, 3, 4, 2, 5, 3):
        x = form(rng.normal(size=(n, 2)) * (rng.random_sample((n, 2)) < 0.8))
        pairs = np.array([(i, (i + 1) % n) for i in range(n)] if n > 2 else [[0, 1]] * (n - 1))
        pairs = pairs.reshape(-1, 2)
        features = rng.normal(size=(len(pairs), 2))
        parts = {
            "edges": [Cliques("edges", pairs)],
            "features": [Cliques("edges", pairs, features)],
            "sparse": [Cliques("edges", pairs, sp.csr_array(np.round(features)))],
            "kinds": [
                Cliques("near", pairs),
                Cliques("three", [[0, 1, 2]] if n > 2 else np.zeros((0, 3), int), symmetric=True),
            ],
        }
        X.append((x, parts[kind]))
        y.append(rng.choice(list("abc"), size=n).tolist())
    return X, y


def dense(table):
    return table.toarray() if sp.issparse(table) else np.asarray(table)


def twins(crf, X):
    """The enumeration of each graph under the public attributes of a fitted model."""
    codes = [crf.classes_.tolist().index(label) for label, _ in crf.states_]
    S = len(codes)
    for nodes, parts in X:
        types = nodes.types if isinstance(nodes, TypedNodes) else None
        x = dense(nodes.features if types is not None else nodes)
        node = x @ dense(crf.coef_).T + crf.intercept_
        tables = []
        for part in parts:
            table = crf.clique_transition_[part.name]
            coef = dense(crf.clique_coef_[part.name]) if part.features is not None else None
            for c, members in enumerate(np.asarray(part.nodes).tolist()):
                more = 0
                if coef is not None:
                    row = dense(part.features)[c] @ coef.reshape(len(coef), -1)
                    more = row.reshape((S,) * len(members))
                tables.append((members, table + more))
        allowed = None
        if types is not None:
            of_states = np.array([label[0] for label, _ in crf.states_])
            allowed = np.array([of_states == name for name in types])
        yield naive.LatentGraph(codes, node, tables, allowed)


MODELS = [
    ({"n_states": 2}, "edges"),
    ({"n_states": 2, "symmetric": True}, "features"),
    ({"n_states": {"a": 3, "b": 1}}, "sparse"),
    ({"n_states": {"c": 2}}, "kinds"),
    ({"n_states": 1, "shared_states": {("a", "b"): 1, ("a", "b", "c"): 1}}, "edges"),
    ({"n_states": {"a": 0, "b": 2, "c": 0}, "shared_states": {("a", "c"): 1}}, "sparse"),
    ({"n_states": 2, "fit_intercept": False, "l1_ratio": 0.5}, "features"),
    ({"n_states": 2, "solver": "em", "symmetric": True}, "sparse"),
    ({"n_states": 2, "init": "random", "feature_pairs": "all"}, "sparse"),
]


def fitted(options, X, y, **more):
    return GraphCRF(**QUICK | {"inference": "exact"} | options | more).fit(X, y)


@NOT_CONVERGED
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("options", "kind"), MODELS, ids=str)
def test_probabilities_by_enumeration(options, kind, form):
    X, y = graphs(kind=kind, form=form)
    crf = fitted(options, X, y)
    places = {label: k for k, label in enumerate(crf.classes_.tolist())}
    name = X[0][1][-1].name
    cliques = crf.predict_clique_proba(X, name)
    proba = crf.predict_proba(X)
    states = crf.predict_state_proba(X)
    best = crf.predict_states(X)
    log_p = crf.log_proba(X, y)
    log_Z = crf.log_partition(X)
    by_sums = crf.predict(X)
    by_states = crf.set_params(decoder="states").predict(X)
    for i, twin in enumerate(twins(crf, X)):
        n = len(y[i])
        of_labels = np.array([twin.labels_of([t]) for t in range(n)])
        np.testing.assert_allclose(proba[i], of_labels, atol=CLOSE)
        of_states = [twin.states_of([t]) for t in range(n)]
        np.testing.assert_allclose(states[i], of_states, atol=CLOSE)
        for table, members in zip(cliques[i], np.asarray(X[i][1][-1].nodes).tolist(), strict=True):
            np.testing.assert_allclose(table, twin.labels_of(members), atol=CLOSE)
        assert log_p[i] == pytest.approx(twin.log_p([{places[k]} for k in y[i]]), abs=CLOSE)
        assert log_Z[i] == pytest.approx(float(twin.log_Z), abs=CLOSE)
        assert by_sums[i] == crf.classes_[of_labels.argmax(axis=1)].tolist()
        # the best ones, of which there may be several: shared states may be told by nothing
        path = tuple(crf.states_.tolist().index(state) for state in best[i])
        score = twin.scores[twin.y.index(path)]
        assert float(score) == pytest.approx(float(twin.scores.max()), abs=CLOSE)
        assert by_states[i] == [label for label, _ in best[i]]


@NOT_CONVERGED
def test_seven_nodes_with_cycles():
    rng = np.random.RandomState(5)
    edges = [[0, 1], [1, 2], [2, 3], [3, 0], [3, 4], [4, 5], [5, 6], [6, 2], [1, 5]]
    X = [(rng.normal(size=(7, 2)), [Cliques("edges", edges)]) for _ in range(5)]
    y = [rng.choice(["a", "b"], size=7).tolist() for _ in X]
    crf = fitted({"n_states": {"a": 2}, "C": 20.0}, X, y)
    assert np.abs(np.diff(crf.coef_[:2], axis=0)).max() > 0.01
    parts = X, y, twins(crf, X), crf.log_proba(X, y), crf.predict_proba(X), crf.predict_states(X)
    for _, labels, twin, log_p, proba, states in zip(*parts, strict=True):
        assert log_p == pytest.approx(twin.log_p([{"ab".index(k)} for k in labels]), abs=CLOSE)
        of_labels = [twin.labels_of([t]) for t in range(7)]
        np.testing.assert_allclose(proba, of_labels, atol=CLOSE)
        assert states == [crf.states_[s] for s in twin.best()]


@NOT_CONVERGED
@pytest.mark.parametrize(("options", "kind"), MODELS, ids=str)
def test_the_objective_by_enumeration(options, kind):
    """Labels may be missing or open, weights that are shared are penalised once."""
    X, y = graphs(kind=kind)
    y[0] = [None] * 4
    y[2] = [None, "a", {"a", "b"}, "c", None]
    crf = fitted(options, X, y)
    codes = {label: {k} for k, label in enumerate(crf.classes_.tolist())}
    loss = 0.0
    for i, twin in enumerate(twins(crf, X)):
        if i:
            may_be = [
                {0, 1, 2} if c is None else {k for one in c for k in codes[one]} for c in y[i]
            ]
            loss -= twin.log_p(may_be)
    coef = dense(crf.coef_)
    w = [np.unique(np.round(coef, 13), axis=0) if crf.shared_states else coef]
    for part in X[0][1]:
        table = crf.clique_transition_[part.name]
        coef = dense(crf.clique_coef_[part.name]).reshape(-1, table.size)
        column = np.arange(table.size)
        if crf.templates_[part.name].symmetric:
            labels = np.sort(np.indices(table.shape).reshape(table.ndim, -1), axis=0)
            _, column = np.unique(labels, axis=1, return_index=True)
        w += [table.ravel()[column], coef[:, column]]
    w = np.concatenate([part.ravel() for part in w])
    l1 = crf.l1_ratio
    expected = loss + ((1 - l1) / 2 * (w @ w) + l1 * np.abs(w).sum()) / crf.C
    assert crf.loss_curve_[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["features", "kinds"])
def test_derivatives_are_those_of_the_value(kind):
    X, y = graphs(1, kind)
    crf = Spy(n_states={"a": 2, "b": 3}, symmetric=True, max_iter=2, tol=1e3).fit(X, y)
    w = np.random.default_rng(0).normal(size=len(crf._w))
    gradient = crf.objective_.value_and_grad(w)[1]
    for i in np.random.default_rng(1).permutation(len(w))[:15]:
        step = np.zeros(len(w))
        step[i] = 1e-5
        ahead, behind = (crf.objective_.value_and_grad(w + s * step)[0] for s in (1, -1))
        assert gradient[i] == pytest.approx((ahead - behind) / 2e-5, abs=1e-8)


# ---- a path is a chain


def chains(sparse=False):
    rng = np.random.RandomState(0)
    sizes = (3, 1, 4, 2, 3, 4, 2, 3)
    X = [rng.normal(size=(n, 3)) for n in sizes]
    if sparse:
        X = [sp.csr_array(np.where(x > 0, x, 0)) for x in X]
    return X, [rng.choice(list("abc"), size=n).tolist() for n in sizes]


def paths(X):
    return [(x, [[i, i + 1] for i in range(x.shape[0] - 1)]) for x in X]


@NOT_CONVERGED
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"n_states": 2},
        {"n_states": {"a": 3}},
        {"n_states": 2, "n_init": 3, "init": "random"},
        {"n_states": {"a": 1, "b": 2, "c": 0}, "shared_states": {("a", "c"): 1}},
        # rounding grows from iteration to iteration
        {"n_states": 2, "solver": "em", "tol": 0.0, "max_iter": 5},
        {"n_states": 2, "l1_ratio": 0.5},
    ],
    ids=str,
)
def test_a_path_is_a_chain(options, sparse):
    """The same objective at the same weights, and the same fit."""
    X, y = chains(sparse)
    given = {"C": 0.5, "tol": 1e-7, "random_state": 3} | options
    chain = LatentChainCRF(**given).fit(X, y)
    crf = GraphCRF(**given).fit(paths(X), y)
    assert crf.states_.tolist() == chain.states_.tolist()
    assert crf.loss_curve_[-1] == pytest.approx(chain.loss_curve_[-1], rel=1e-8)
    np.testing.assert_allclose(crf.log_proba(paths(X), y), chain.log_proba(X, y), atol=1e-4)
    assert crf._w.shape == chain._w.shape
    crf.__dict__["_w"] = chain._w
    np.testing.assert_allclose(crf.log_proba(paths(X), y), chain.log_proba(X, y), atol=CLOSE)
    for name in ("predict_proba", "predict_state_proba", "predict_edge_proba"):
        parts = getattr(crf, name)(paths(X)), getattr(chain, name)(X)
        for a, b in zip(*parts, strict=True):
            np.testing.assert_allclose(a, b, atol=CLOSE)
    assert crf.predict(paths(X)).tolist() == chain.predict(X).tolist()
    assert crf.predict_states(paths(X)).tolist() == chain.predict_states(X).tolist()
    chain.set_params(decoder="viterbi")
    crf.set_params(decoder="states")
    assert crf.predict(paths(X)).tolist() == chain.predict(X).tolist()


@pytest.mark.parametrize("inference", ["exact", "bp"])
@pytest.mark.parametrize("kind", ["edges", "kinds", "sparse"])
def test_one_state_a_label_is_none(kind, inference):
    X, y = graphs(kind=kind)
    if inference == "bp":
        X = paths([x for x, _ in X])
    given = {"C": 2.0, "tol": 1e-6, "inference": inference}
    plain = GraphCRF(**given).fit(X, y)
    one = GraphCRF(n_states=1, **given).fit(X, y)
    np.testing.assert_array_equal(one._w, plain._w)
    np.testing.assert_array_equal(one.log_proba(X, y), plain.log_proba(X, y))
    assert one.set_params(decoder="states").predict(X).tolist() == plain.predict(X).tolist()
    em = GraphCRF(n_states=1, solver="em", **given).fit(X, y)
    assert em.loss_curve_[-1] == pytest.approx(plain.loss_curve_[-1], abs=1e-5)


# ---- types of nodes


@NOT_CONVERGED
@pytest.mark.parametrize("n_states", [2, {("a", "x"): 2, ("b", "z"): 3}], ids=str)
@pytest.mark.parametrize("hidden", [(), ("c",)])
def test_types_of_nodes_have_states_of_their_labels(n_states, hidden, tmp_path):
    X, y = typed_graphs(np.random.default_rng(0), 6, hidden=hidden)
    if not hidden and n_states == 2:  # or there would be 4**5 labellings of 2**5 states
        X, y = typed_graphs(np.random.default_rng(0), 6, kinds="ab")
    X = [(nodes, [Cliques("edges", edges)]) for nodes, edges in X]
    types = {"hidden": dict.fromkeys(hidden, 2)} if hidden else {}
    crf = fitted({"n_states": n_states, **types}, X, y)
    labels = [label for label, _ in crf.states_]
    for name in hidden:
        assert [k for k, _ in labels if k == name] == [name] * 2
    places = {pair: k for k, pair in enumerate(crf.classes_.tolist())}
    log_p = crf.log_proba(X, y)
    proba = crf.predict_proba(X)
    best = crf.predict_states(X)
    for i, twin in enumerate(twins(crf, X)):
        types = X[i][0].types
        may_be = [
            set(range(len(places))) if label is None else {places[name, label]}
            for name, label in zip(types, y[i], strict=True)
        ]
        assert log_p[i] == pytest.approx(twin.log_p(may_be), abs=CLOSE)
        of_labels = [twin.labels_of([t]) for t in range(len(types))]
        np.testing.assert_allclose(proba[i], of_labels, atol=CLOSE)
        assert best[i] == [crf.states_[s] for s in twin.best()]
    assert crf.score(X, y) > 0.3
    persistence.save(crf, tmp_path / "model")
    copy = persistence.load(tmp_path / "model")
    assert copy.predict_states(X).tolist() == best.tolist()


# ---- what they are good for


def shapes(rng, n):
    """Stars whose centre is of a label of two kinds, on both sides of the other label's; its
    neighbours show, dimly, of which kind it is.
    """
    X = []
    y = []
    for _ in range(n):
        kind = rng.integers(3)
        around = rng.normal(size=4) + [-1.5, 0, 1.5][kind]
        x = np.zeros((5, 3))
        x[0] = [1, 0, rng.normal() * 0.3]
        x[1:, 1] = 1
        x[1:, 2] = around
        X.append((x, [[0, i] for i in range(1, 5)]))
        y.append(["inner" if kind == 1 else "outer", *["leaf"] * 4])
    return X, y


@pytest.mark.parametrize("solver", ["auto", "em"])
def test_states_tell_what_labels_cannot(solver):
    rng = np.random.default_rng(0)
    X, y = shapes(rng, 80)
    X_test, y_test = shapes(rng, 200)

    def accuracy(crf):
        return np.mean([a[0] == b[0] for a, b in zip(crf.predict(X_test), y_test, strict=True)])

    n_states = {"outer": 2, "leaf": 3}
    plain = accuracy(GraphCRF(C=10, max_iter=100, tol=1e-2).fit(X, y))
    options = {"C": 10, "solver": solver, "n_init": 3, "random_state": 0, "init": "random"}
    crf = GraphCRF(n_states=n_states, tol=1e-2, max_iter=200, **options).fit(X, y)
    assert accuracy(crf) > plain + 0.1
    # the states of the leaves are the kinds that nobody has seen
    slopes = crf.coef_[[label == "leaf" for label, _ in crf.states_], 2]
    assert np.ptp(slopes) > 1


# ---- solvers and starts


@pytest.mark.parametrize(("l1_ratio", "C"), [(0.0, 0.3), (0.7, 1.5)])
def test_em_never_raises_the_objective(l1_ratio, C):
    X, y = graphs(1)
    options = {"n_states": {"a": 2}, "C": C, "l1_ratio": l1_ratio, "tol": 1e-4}
    options |= {"random_state": 3}
    em = GraphCRF(solver="em", max_iter=2000, **options).fit(X, y)
    assert em.n_iter_ == len(em.loss_curve_) > 3
    assert np.all(np.diff(em.loss_curve_) <= 1e-9)
    # where it ends, direct gradients find nothing to do
    direct = GraphCRF(**options).fit(X, y, init=em)
    assert direct.loss_curve_[-1] == pytest.approx(em.loss_curve_[-1], rel=1e-6)


def test_em_serves_missing_labels_and_hidden_nodes():
    X, y = typed_graphs(np.random.default_rng(1), 8, hidden=("b",))
    y[1] = [None if i else label for i, label in enumerate(y[1])]
    options = {"hidden": {"b": 2}, "C": 0.5, "tol": 1e-4, "random_state": 0}
    em = GraphCRF(solver="em", max_iter=3000, **options).fit(X, y)
    assert np.all(np.diff(em.loss_curve_) <= 1e-9)
    direct = GraphCRF(**options).fit(X, y, init=em)
    assert direct.loss_curve_[-1] == pytest.approx(em.loss_curve_[-1], rel=1e-5)
    plain = [(nodes.features, edges) for nodes, edges in X]
    with pytest.raises(ValueError, match="'em' is for labels that are hidden or missing"):
        GraphCRF(solver="em").fit(plain, [["a"] * len(nodes) for nodes, _ in plain])


def test_more_starts_are_never_worse():
    X, y = graphs(2)
    options = {"n_states": 3, "C": 5.0, "solver": "em", "random_state": 0, "init": "random"}
    options |= {"tol": 1e-2, "max_iter": 300}
    values = [GraphCRF(n_init=n, **options).fit(X, y).loss_curve_[-1] for n in (1, 4)]
    assert values[1] <= values[0]


@NOT_CONVERGED
@pytest.mark.parametrize("solver", ["auto", "sgd", "em"])
def test_equal_seeds_and_any_number_of_threads_give_equal_results(solver):
    X, y = graphs()
    X = [(x, parts[0].nodes) for x, parts in X]
    options = {"n_states": 2, "n_init": 2, "solver": solver, "max_iter": 10, "random_state": 7}
    one = GraphCRF(**options).fit(X, y)
    for more in ({"n_jobs": 2}, {}):
        again = GraphCRF(**options, **more).fit(GraphArray.from_graphs(X), y)
        np.testing.assert_array_equal(again._w, one._w)
    other = GraphCRF(**options | {"random_state": 8}).fit(X, y)
    assert np.any(other._w != one._w)


@NOT_CONVERGED
def test_auto_gives_the_same_without_a_seed():
    X, y = graphs()
    quick = {"n_states": 2, "max_iter": 3}
    first = GraphCRF(**quick).fit(X, y)
    np.testing.assert_array_equal(GraphCRF(**quick).fit(X, y)._w, first._w)
    np.testing.assert_array_equal(GraphCRF(**quick, random_state=0).fit(X, y)._w, first._w)


def test_starts_from_itself_from_labels_and_from_a_chain():
    X, y = chains()
    options = {"n_states": 2, "C": 0.5, "tol": 1e-6, "random_state": 0}
    crf = GraphCRF(**options).fit(paths(X), y)
    assert GraphCRF(**options).fit(paths(X), y, init=crf).n_iter_ <= 1
    warm = GraphCRF(**options, warm_start=True).fit(paths(X), y)
    assert warm.fit(paths(X), y).n_iter_ <= 1
    states = LatentChainCRF(**options).fit(X, y)
    assert GraphCRF(**options).fit(paths(X), y, init=states).n_iter_ <= 2
    assert LatentChainCRF(**options).fit(X, y, init=crf).n_iter_ <= 2
    for plain in (LinearChainCRF(C=0.5).fit(X, y), GraphCRF(C=0.5).fit(paths(X), y)):
        short = GraphCRF(**options | {"max_iter": 1, "tol": 100.0}).fit(paths(X), y, init=plain)
        near = short.coef_ - np.repeat(plain.coef_, 2, axis=0)
        assert 0.01 < np.abs(near).max() < 0.5
    for cls, given in ((GraphCRF, paths(X)), (LinearChainCRF, X)):
        for start in (crf, states):
            with pytest.raises(InputTypeError, match="with hidden states, which"):
                cls().fit(given, y, init=start)


def test_weights_are_repetitions():
    X, y = graphs()
    weight = [1, 2, 1, 3, 1, 0, 2, 1]
    options = {"n_states": {"a": 2}, "C": 0.3, "tol": 1e-6, "random_state": 0}
    weighted = GraphCRF(**options).fit(X, y, weight)
    again = [[v for v, n in zip(V, weight) for _ in range(n)] for V in (X, y)]
    repeated = GraphCRF(**options).fit(*again)
    assert weighted.loss_curve_[-1] == pytest.approx(repeated.loss_curve_[-1], rel=1e-7)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


# ---- predictions


@NOT_CONVERGED
@pytest.mark.parametrize("inference", ["bp", "trw", "mean_field"])
@pytest.mark.filterwarnings("ignore::sklearn_struct.exceptions.InferenceWarning")
def test_approximate_inference_learns_them(inference):
    X, y = graphs(kind="features")
    crf = GraphCRF(**QUICK | {"n_states": 2, "inference": inference, "max_iter": 10}).fit(X, y)
    for proba, states in zip(crf.predict_proba(X), crf.predict_state_proba(X), strict=True):
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-8)
        np.testing.assert_allclose(proba, states.reshape(len(proba), 3, 2).sum(axis=2), atol=1e-8)
    for decoder in ("auto", "marginal", "states", "icm"):
        predicted = crf.set_params(decoder=decoder).predict(X)
        assert [len(labels) for labels in predicted] == [len(labels) for labels in y]
        assert {label for labels in predicted for label in labels} <= set("abc")
    assert crf.score(X, y) > 0.34


@NOT_CONVERGED
def test_sampling_learns_and_draws_them():
    X, y = graphs()
    options = {"n_states": 2, "inference": "gibbs", "solver": "sgd", "random_state": 0}
    crf = GraphCRF(init="random", max_iter=3, **options).fit(X, y)
    assert crf.predict_state_proba(X)[0].shape == (4, 6)
    with pytest.raises(ValueError, match="use init='random'"):
        GraphCRF(**options).fit(X, y)
    exact = GraphCRF(n_states=2, random_state=0, C=0.3, tol=1e-3).fit(X, y)
    drawn = exact.sample(X[:1], 4000, random_state=1)[0]
    shares = [[np.mean([d[t] == k for d in drawn]) for k in "abc"] for t in range(4)]
    np.testing.assert_allclose(shares, exact.predict_proba(X[:1])[0], atol=0.04)


@NOT_CONVERGED
def test_single_nodes_in_rows():
    X, y = chains()
    X = np.concatenate(X)
    y = np.concatenate(y)
    crf = GraphCRF(n_states=2, random_state=0, max_iter=20).fit(X, y)
    states = crf.predict_states(X)
    assert crf.predict(X).shape == states.shape == y.shape
    assert set(states.tolist()) <= set(crf.states_.tolist())
    assert crf.predict_state_proba(X).shape == (len(y), 6)
    # sums of states of single nodes: no edges, so labels are a mixture of logistic regressions
    node = X @ crf.coef_.T + crf.intercept_
    of_states = np.exp(node - node.max(axis=1, keepdims=True))
    of_states /= of_states.sum(axis=1, keepdims=True)
    of_labels = of_states.reshape(-1, 3, 2).sum(axis=2)
    np.testing.assert_allclose(crf.predict_proba(X), of_labels, atol=CLOSE)


@NOT_CONVERGED
def test_files_and_copies(tmp_path):
    X, y = graphs(kind="sparse", form=sp.csr_array)
    shared = {("a", "b"): 1}
    crf = fitted({"n_states": {"c": 3}, "shared_states": shared, "symmetric": True}, X, y)
    persistence.save(crf, tmp_path / "model")
    for copy in (persistence.load(tmp_path / "model"), pickle.loads(pickle.dumps(crf))):
        assert copy.states_.tolist() == crf.states_.tolist()
        np.testing.assert_array_equal(copy.log_proba(X, y), crf.log_proba(X, y))
        assert copy.predict_states(X).tolist() == crf.predict_states(X).tolist()
        assert copy.get_params()["shared_states"] == shared


@NOT_CONVERGED
def test_in_a_search():
    X, y = graphs()
    grid = {"n_states": [None, 1, {"a": 2}], "decoder": ["auto", "states"]}
    search = GridSearchCV(GraphCRF(max_iter=5), grid, cv=2).fit(X, y)
    assert 0.1 < search.best_score_ < 1


# ---- what is refused


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_states": {"z": 2}}, UnknownLabelError, "n_states: label 'z' was not seen"),
        ({"n_states": {"a": -1}}, InputTypeError, "whole number from 0"),
        ({"n_states": {"a": 0}}, ValueError, "label 'a' has no state"),
        ({"n_states": 0}, ValueError, "'n_states' parameter of GraphCRF"),
        ({"n_states": 1, "shared_states": {("a", "z"): 1}}, UnknownLabelError, "'z' was not seen"),
        ({"shared_states": {("a", "b"): 1}}, ValueError, "shared_states is about hidden states"),
        ({"n_init": 2}, ValueError, "n_init is about hidden states of labels: give n_states"),
        ({"init": "random"}, ValueError, "init is about hidden states"),
        ({"n_states": 2, "loss": "pseudo"}, ValueError, "hidden states, missing labels"),
        ({"n_states": 2, "solver": "sag"}, ValueError, "another solver than 'sag'"),
        ({"n_states": 2, "n_rounds": 1}, ValueError, "no n_states, as hidden states are unknown"),
        (
            {"n_states": 2, "solver": "sgd", "shared_states": {("a", "b"): 1}},
            ValueError,
            "'sgd' has no shared states",
        ),
        ({"n_states": 2, "solver": "cg", "l1_ratio": 0.5}, ValueError, "no L1 penalty"),
        ({"n_states": 10**6}, MemoryError, "a model of 3000000 states of labels needs"),
        ({"n_states": 2**70}, MemoryError, "states of labels needs"),
        ({"n_states": 2000}, ValueError, r"6000\*\*2 labellings by hidden states"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(options, error, message):
    X, y = graphs()
    with pytest.raises(error, match=message):
        GraphCRF(**options).fit(X, y)


@NOT_CONVERGED
def test_without_states_there_are_none_to_see():
    X, y = graphs()
    crf = GraphCRF(max_iter=2).fit(X, y)
    assert not hasattr(crf, "states_")
    with pytest.raises(AttributeError, match="have no hidden states; n_states gives them some"):
        crf.predict_state_proba(X)
    with pytest.raises(AttributeError, match="had no types"):
        crf.predict_states(X)
    assert crf.set_params(decoder="states").predict(X).tolist() == (
        crf.set_params(decoder="auto").predict(X).tolist()
    )
