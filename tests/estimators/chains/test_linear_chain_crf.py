"""LinearChainCRF against enumeration and moment matching; its parameters and what fit reports."""

from __future__ import annotations

import re
from itertools import product

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import LinearChainCRF, SequenceArray, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.inference.chains.chain import Chain

LABELS = ["x", "y", "z"]


# --------------------------------------------------------------- sequences: enumeration and moments


def ragged(rng, lengths=(3, 1, 4, 2, 3, 4, 2, 3)):
    """Sequences of dicts, strings to numbers, with labels that depend on them."""
    X = []
    y = []
    for n in lengths:
        words = rng.randint(4, size=n)
        X.append(
            [
                {"w": f"{w}", "first": t == 0, "size": round(rng.normal(), 2)}
                for t, w in enumerate(words)
            ]
        )
        y.append([LABELS[k] for k in (words + (rng.uniform(size=n) < 0.3)) % 3])
    return X, y


def numeric(X):
    return [
        np.array([[token["size"], token["first"], token["w"] == "1"] for token in s], float)
        for s in X
    ]


MODELS = {
    "attributes": {},
    "all pairs": {"feature_pairs": "all", "C": 5.0},
    "no intercept": {"fit_intercept": False, "transition_features": "observed"},
    "edge features": {"edge_features": ["size", re.compile("w:.*")]},
    "dense": {"C": 3.0},
    "dense edge features": {"edge_features": [0, 2], "C": 2.0},
    "L1": {"l1_ratio": 1.0, "edge_features": "all"},
    "second order": {"order": 2, "C": 5.0, "transition_features": "observed"},
    "second order, edge features": {"order": 2, "edge_features": ["size", re.compile("w:.*")]},
    "dense, second order": {"order": 2, "edge_features": [0, 2], "C": 2.0},
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    """A model, its X and y, and the chains of all labellings of each sequence, by hand from the
    learned attributes.
    """
    X, y = ragged(np.random.RandomState(3))
    X = numeric(X) if request.param.startswith("dense") else X
    crf = LinearChainCRF(tol=1e-8, max_iter=10_000, **MODELS[request.param]).fit(X, y)
    return crf, X, y, [enumerated(crf, tokens) for tokens in packed(crf, X)]


def packed(crf, X):
    return (
        X if isinstance(X[0], np.ndarray) else [s.toarray() for s in crf.vectorizer_.transform(X)]
    )


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def tables(crf):
    """The weights of all label pairs and, at order 2, of all triples."""
    triples = [crf.transition2_.ravel()] if crf.order == 2 else []
    return [crf.transition_.ravel(), *triples]


def moves(crf):
    """The same, side by side."""
    return np.concatenate(tables(crf))


def of_edges(crf):
    """The same of edge features: (columns, features)."""
    return np.split(dense(crf.edge_coef_), [9])[: crf.order]


def enumerated(crf, tokens):
    node = tokens @ dense(crf.coef_).T + crf.intercept_
    cliques = [
        table + tokens[size - 1 :][:, crf.edge_features_] @ weights.T
        for size, table, weights in zip((2, 3), tables(crf), of_edges(crf))
    ]
    return naive.Chain(node, *cliques)


def test_predict_finds_the_best_labelling(fitted):
    crf, X, _, chains = fitted
    for labels, chain in zip(crf.predict(X), chains, strict=True):
        assert labels == [LABELS[k] for k in chain.y[np.argmax(chain.scores)]]


def test_predict_proba_sums_over_labellings(fitted):
    crf, X, _, chains = fitted
    logs = crf.predict_log_proba(X)
    for i, (p, chain) in enumerate(zip(crf.predict_proba(X), chains, strict=True)):
        np.testing.assert_allclose(p, chain.node.astype(float), atol=1e-10)
        np.testing.assert_allclose(logs[i], np.log(p))


def test_predict_edge_proba_sums_over_labellings(fitted):
    crf, X, _, chains = fitted
    node = crf.predict_proba(X)
    for i, (p, chain) in enumerate(zip(crf.predict_edge_proba(X), chains, strict=True)):
        np.testing.assert_allclose(p.reshape(-1, 9), chain.cliques[0].astype(float), atol=1e-10)
        np.testing.assert_allclose(p.sum(axis=2), node[i][:-1], atol=1e-10)
        np.testing.assert_allclose(p.sum(axis=1), node[i][1:], atol=1e-10)


def test_log_proba_of_every_labelling(fitted):
    crf, X, _, chains = fitted
    for sequence, chain in zip(X, chains, strict=True):
        labellings = [[LABELS[k] for k in y] for y in chain.y]
        log_p = crf.log_proba([sequence] * len(labellings), labellings)
        np.testing.assert_allclose(np.exp(log_p), chain.p.astype(float), atol=1e-10)
        assert np.exp(log_p).sum() == pytest.approx(1)


@pytest.mark.parametrize("n", [1, 4, 100])
def test_predict_nbest_are_the_best_labellings(fitted, n):
    crf, X, _, chains = fitted
    first = crf.predict(X)
    for i, (pairs, chain) in enumerate(zip(crf.predict_nbest(X, n), chains, strict=True)):
        labels, log_p = zip(*pairs)
        assert len(pairs) == len({tuple(y) for y in labels}) == min(n, 3 ** len(X[i]))
        np.testing.assert_allclose(log_p, (chain.nbest(n) - chain.log_Z).astype(float), atol=1e-10)
        np.testing.assert_allclose(log_p, crf.log_proba([X[i]] * len(labels), labels), atol=1e-10)
        assert labels[0] == first[i]


def test_sample_has_the_frequencies_of_the_model(fitted):
    crf, X, _, chains = fitted
    n = 4000
    drawn = crf.sample(X[:3], n_samples=n, random_state=0)
    for samples, chain in zip(drawn, chains, strict=False):
        assert len(samples) == n
        found = dict.fromkeys(product(LABELS, repeat=len(samples[0])), 0)
        for labels in samples:
            found[tuple(labels)] += 1
        p = chain.p.astype(float)
        assert np.all(
            np.abs(np.array(list(found.values())) / n - p) < 5 * np.sqrt(p * (1 - p) / n) + 1e-3
        )


def test_sample_random_state(fitted):
    crf, X, _, _ = fitted
    first = crf.sample(X, 5, random_state=1)
    assert first.tolist() == crf.sample(X, 5, random_state=np.random.RandomState(1)).tolist()
    assert first.tolist() != crf.sample(X, 5, random_state=2).tolist()
    assert [len(y) for y in crf.sample(X)[2]] == [4]


def test_score_is_the_token_accuracy(fitted):
    crf, X, y, _ = fitted
    hits = [[a == b for a, b in zip(*pair)] for pair in zip(crf.predict(X), y)]
    assert crf.score(X, y) == pytest.approx(np.mean(np.concatenate(hits)))
    weight = np.arange(len(X))
    expected = sum(w * sum(h) for w, h in zip(weight, hits)) / sum(
        w * len(h) for w, h in zip(weight, hits)
    )
    assert crf.score(X, y, sample_weight=weight) == pytest.approx(expected)


def test_moments_match(fitted):
    """At the optimum C * (observed - expected count) is the penalty's slope at each weight, 0 for
    an intercept.
    """
    crf, X, y, chains = fitted
    widths = (9, 27)[: crf.order]
    node = np.zeros((3, crf.n_features_in_))
    of_tables = [np.zeros(width) for width in widths]
    of_features = [np.zeros((width, len(crf.edge_features_))) for width in widths]
    intercept = np.zeros(3)
    for tokens, labels, chain in zip(packed(crf, X), y, chains, strict=True):
        codes = np.array([LABELS.index(label) for label in labels])
        at_node = np.eye(3)[codes] - chain.node.astype(float)
        at_cliques = [-table.astype(float) for table in chain.cliques]
        for f, c, column in naive.moves(codes, 3, crf.order):
            at_cliques[f][c, column] += 1.0
        node += at_node.T @ tokens
        intercept += at_node.sum(axis=0)
        for f, at_clique in enumerate(at_cliques):
            of_tables[f] += at_clique.sum(axis=0)
            of_features[f] += at_clique.T @ tokens[f + 1 :][:, crf.edge_features_]
    table = np.concatenate(of_tables)
    edge = np.concatenate(of_features)
    for weights, moment in (
        (dense(crf.coef_), node),
        (moves(crf), table),
        (dense(crf.edge_coef_), edge),
    ):
        w = weights[weights != 0]  # not all pairs have a weight
        slope = (1 - crf.l1_ratio) * w + crf.l1_ratio * np.sign(w)
        np.testing.assert_allclose(crf.C * moment[weights != 0], slope, atol=1e-5)
    np.testing.assert_allclose(intercept if crf.fit_intercept else 0, 0, atol=1e-5)


# ---------------------------------------------------------------- which weights exist


def test_observed_pairs_and_min_frequency():
    X, y = ragged(np.random.RandomState(0))
    counts = {}
    for sequence, labels in zip(X, y):
        for token, label in zip(sequence, labels):
            for name in [
                f"w:{token['w']}",
                *(["first"] if token["first"] else []),
                *(["size"] if token["size"] else []),
            ]:
                counts[name, label] = counts.get((name, label), 0) + 1
    for min_frequency in (1, 2, 4):
        crf = LinearChainCRF(min_frequency=min_frequency).fit(X, y)
        kept = {pair for pair, count in counts.items() if count >= min_frequency}
        label, feature = crf.coef_.nonzero()
        assert crf.coef_.nnz == len(kept)
        assert set(zip(crf.feature_names_in_[feature], crf.classes_[label])) == kept


def test_all_pairs_and_min_frequency():
    X = [["often", "often", "rare"], ["often"]]
    y = [["A", "B", "A"], ["A"]]
    assert LinearChainCRF(feature_pairs="all").fit(X, y).coef_.shape == (2, 2)
    assert LinearChainCRF(feature_pairs="all").fit(X, y).coef_.nnz == 4
    coef = LinearChainCRF(feature_pairs="all", min_frequency=2).fit(X, y).coef_.toarray()
    assert np.all(coef[:, 0] != 0)
    assert np.all(coef[:, 1] == 0)


def test_observed_transitions_are_not_all_there_are():
    X = [["a", "b", "a", "b", "a"], ["a", "a"]]
    y = [["A", "B", "A", "B", "A"], ["A", "A"]]
    crf = LinearChainCRF(transition_features="observed").fit(X, y)
    np.testing.assert_array_equal(crf.transition_ != 0, [[True, True], [True, False]])
    # a transition without weight is not forbidden
    assert crf.log_proba([["b", "b"]], [["B", "B"]])[0] > -np.inf
    once = LinearChainCRF(transition_features="observed", min_frequency=2).fit(X, y)
    np.testing.assert_array_equal(once.transition_ != 0, [[False, True], [True, False]])
    assert np.all(LinearChainCRF().fit(X, y).transition_ != 0)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("size", ["size"]),
        (re.compile("w:.*"), ["w:0", "w:1", "w:2", "w:3"]),
        (["size", re.compile("w:[01]")], ["size", "w:0", "w:1"]),
        ([2, "size", 2], None),
        (np.array([1, 0]), None),
        ("all", ["first", "size", "w:0", "w:1", "w:2", "w:3"]),
        ([], []),
    ],
)
def test_edge_features_by_name_pattern_and_number(wanted, names):
    X, y = ragged(np.random.RandomState(0))
    crf = LinearChainCRF(edge_features=wanted).fit(X, y)
    if names is None:
        numbers = {key for key in wanted if not isinstance(key, str)} | ({"size"} & set(wanted))
        assert set(crf.edge_features_) == {
            list(crf.feature_names_in_).index(k) if k == "size" else k for k in numbers
        }
    else:
        assert sorted(crf.feature_names_in_[crf.edge_features_]) == names
    assert crf.edge_coef_.shape == (9, len(crf.edge_features_))
    assert np.all(np.diff(crf.edge_features_) > 0)


def test_edge_features_make_transitions_depend_on_x():
    """Labels flip where "swap" is on: no node feature can tell, a conditioned transition can."""
    rng = np.random.RandomState(0)
    X = []
    y = []
    for _ in range(40):
        swap = rng.uniform(size=8) < 0.5
        X.append([{"swap": bool(s)} for s in swap])
        y.append(((rng.randint(2) + np.cumsum(swap)) % 2).tolist())
    plain = LinearChainCRF().fit(X, y)
    conditioned = LinearChainCRF(edge_features="swap", feature_pairs="all").fit(X, y)
    assert conditioned.log_proba(X, y).sum() > plain.log_proba(X, y).sum() / 3
    edge = conditioned.edge_coef_.toarray().reshape(2, 2)
    assert edge[0, 1] > edge[0, 0]
    assert edge[1, 0] > edge[1, 1]


# ---------------------------------------------------------------- what fit reports


def objective(crf, X, y, weight=None):
    """Sum of losses + penalty / C, by public methods."""
    weights = [dense(m).ravel() for m in (crf.coef_, moves(crf), crf.edge_coef_)]
    w = np.concatenate(weights)
    penalty = (1 - crf.l1_ratio) / 2 * np.dot(w, w) + crf.l1_ratio * np.abs(w).sum()
    return (
        -np.dot(np.ones(len(y)) if weight is None else weight, crf.log_proba(X, y))
        + penalty / crf.C
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": 0.1, "fit_intercept": False},
        {"C": np.inf, "solver": "sgd", "max_iter": 3, "tol": 0.1},
        {"solver": "owlqn"},
        {"solver": "newton-cg", "edge_features": "all"},
        {"solver": "trust-ncg", "fit_intercept": False},
        {"solver": "cg"},
        {"solver": "gradient"},
        {"l1_ratio": 1.0, "C": 0.5},
        {"l1_ratio": 0.3, "edge_features": "all"},
        {"solver": "sgd", "random_state": 0},
        {
            "solver": "sgd",
            "random_state": 0,
            "edge_features": "all",
            "transition_features": "observed",
        },
        {"solver": "sag", "random_state": 0, "l1_ratio": 0.5},
        {
            "solver": "sag",
            "random_state": 0,
            "edge_features": "all",
            "transition_features": "observed",
        },
        {"order": 2, "solver": "newton-cg", "edge_features": "all"},
        {"order": 2, "solver": "sgd", "random_state": 0, "transition_features": "observed"},
        {"order": 2, "solver": "sag", "random_state": 0, "edge_features": "all"},
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.blas
def test_loss_curve_ends_at_the_objective(options):
    X, y = ragged(np.random.RandomState(1))
    weight = np.linspace(0, 2, len(X))
    crf = LinearChainCRF(**options).fit(X, y, weight)
    assert isinstance(crf.loss_curve_, list)
    assert len(crf.loss_curve_) == crf.n_iter_ >= 1
    assert crf.loss_curve_[-1] == pytest.approx(objective(crf, X, y, weight), rel=1e-9)
    assert crf.loss_curve_ == sorted(crf.loss_curve_, reverse=True)


@pytest.mark.parametrize("solver", ["newton-cg", "trust-ncg", "cg", "gradient"])
@pytest.mark.parametrize(
    "options", [{}, {"edge_features": "all", "fit_intercept": False}, {"C": 10, "n_jobs": 2}]
)
@pytest.mark.blas
def test_solvers_find_the_same_optimum(solver, options):
    X, y = make_rental_ads(10, random_state=0)
    weight = np.linspace(0, 2, len(X))
    tol = 1e-5
    expected = LinearChainCRF(tol=tol, **options).fit(X, y, weight)
    crf = LinearChainCRF(solver=solver, tol=tol, max_iter=5000, **options).fit(X, y, weight)
    assert crf.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-7)
    np.testing.assert_allclose(crf.transition_, expected.transition_, atol=5e-3)
    assert np.abs((crf.coef_ - expected.coef_).toarray()).max() < 5e-3


def test_gradient_ascent_goes_along_the_gradient():
    """From zero weights, where all labellings are alike: observed less expected counts."""
    X, y = ragged(np.random.RandomState(1))
    X = numeric(X)
    with pytest.warns(ConvergenceWarning, match=r"solver 'gradient' stopped after 1 iterations"):
        crf = LinearChainCRF(solver="gradient", max_iter=1, tol=1e-8).fit(X, y)
    tokens = np.vstack(X)
    is_label = np.concatenate(y)[:, None] == crf.classes_
    gradient = tokens.T @ (is_label - 1 / 3)
    step = np.linalg.norm(crf.coef_) / np.linalg.norm(gradient)
    np.testing.assert_allclose(crf.coef_.T, step * gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(crf.intercept_, step * (is_label - 1 / 3).sum(axis=0), rtol=1e-9)


def test_gradient_ascent_comes_to_the_optimum_in_more_iterations():
    X, y = ragged(np.random.RandomState(1))
    best = LinearChainCRF(tol=1e-6).fit(X, y)
    found = [LinearChainCRF(solver="gradient", tol=1e-6).fit(X, y) for _ in range(2)]
    assert found[0].n_iter_ > 2 * best.n_iter_
    assert found[0].loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], rel=1e-9)
    np.testing.assert_array_equal(found[0]._w, found[1]._w)


@pytest.mark.blas
def test_newton_copes_with_columns_of_any_scale():
    """Alcohol and proline of wines, thousands apart: lbfgs has not come near the optimum after 1000
    iterations.
    """
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="lbfgs"):
        start = LinearChainCRF().fit(X, y)
    newton, trust = (
        LinearChainCRF(solver=solver).fit(X, y) for solver in ("newton-cg", "trust-ncg")
    )
    assert max(newton.n_iter_, trust.n_iter_) < 200
    assert newton.loss_curve_[-1] == pytest.approx(trust.loss_curve_[-1], rel=0.01)
    assert newton.loss_curve_[-1] < 0.8 * start.loss_curve_[-1]


def test_convergence_warning():
    X, y = ragged(np.random.RandomState(1))
    for solver in ["lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "sag", "sgd"]:
        with pytest.warns(
            ConvergenceWarning, match=rf"{solver}.*after 1 iterations \(max_iter=1\).*tol=1e-08"
        ):
            crf = LinearChainCRF(solver=solver, max_iter=1, tol=1e-8).fit(X, y)
        assert crf.n_iter_ == 1


def test_max_iter_and_tol_end_a_fit():
    X, y = ragged(np.random.RandomState(1))
    n_iter = [LinearChainCRF(tol=tol).fit(X, y).n_iter_ for tol in (1e-1, 1e-3, 1e-6)]
    assert n_iter == sorted(set(n_iter))


def test_verbose_prints_a_line_an_iteration(capsys):
    X, y = ragged(np.random.RandomState(1))
    crf = LinearChainCRF(verbose=1).fit(iter(X), iter(y))
    lines = capsys.readouterr().out.splitlines()
    *lines, end = lines
    assert len(lines) == crf.n_iter_
    assert (
        lines[-1]
        == f"[LinearChainCRF] iteration {crf.n_iter_}, objective {crf.loss_curve_[-1]:.6f}"
    )
    wanted = (
        rf"\[LinearChainCRF\] solver 'lbfgs' stopped after {crf.n_iter_} iterations "
        r"\(max_iter=1000\): tol=0\.0001 is reached, the largest entry of the gradient is (\S+); "
        r"\d+\.\d s"
    )
    assert float(re.fullmatch(wanted, end)[1]) <= 1e-4
    crf.set_params(max_iter=2)
    with pytest.warns(ConvergenceWarning):
        crf.fit(X, y)
    assert "tol=0.0001 is not reached" in capsys.readouterr().out.splitlines()[-1]
    crf.set_params(verbose=0, max_iter=1000).fit(X, y)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"edge_features": "all"},
        {"solver": "sgd", "random_state": 0},
        {"solver": "sag", "random_state": 0},
    ],
)
@pytest.mark.parametrize("form", [lambda X: X, numeric])
@pytest.mark.blas
def test_float32_is_close_to_float64(form, options):
    X, y = ragged(np.random.RandomState(1))
    X = form(X)
    a, b = (
        LinearChainCRF(dtype=dtype, tol=1e-3, **options).fit(X, y)
        for dtype in ("float64", "float32")
    )
    for method in ("predict_proba", "predict_edge_proba"):
        for p, q in zip(getattr(a, method)(X), getattr(b, method)(X), strict=True):
            np.testing.assert_allclose(p, q, atol=0.01)
            assert p.dtype == q.dtype == np.float64
    assert b.coef_.dtype == b.transition_.dtype == b.log_proba(X, y).dtype == np.float64
    assert b.loss_curve_[-1] == pytest.approx(a.loss_curve_[-1], rel=1e-3)
    np.testing.assert_allclose(a.log_proba(X, y), b.log_proba(X, y), atol=0.02)


# --------------------------------------------------------------- many blocks: rental advertisements


@pytest.fixture(scope="module")
def ads():
    """Advertisements of some blocks, encoded."""
    X, y = make_rental_ads(250, random_state=0)
    X = [
        [
            {"w": w.lower(), "prev": s[t - 1].lower() if t else "^", "digit": w[0].isdigit()}
            for t, w in enumerate(s)
        ]
        for s in X
    ]
    X = SequenceVectorizer().fit_transform(X)
    y = SequenceArray.from_sequences(y)
    assert len(Chain().blocks(Chain().structure(X.offsets), len(set(y.tokens)))) >= 10
    return X, y


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "lbfgs"},
        {"solver": "lbfgs", "edge_features": ["w:,", "w:.", "digit"], "dtype": "float32"},
        {"solver": "owlqn", "l1_ratio": 1.0},
        {"solver": "owlqn", "l1_ratio": 0.5, "feature_pairs": "all"},
        {"solver": "sgd", "random_state": 0},
        {"loss": "pointwise", "class_weight": "balanced", "edge_features": ["w:,", "w:.", "digit"]},
        {"loss": "pointwise", "solver": "sgd", "random_state": 0},
        {
            "solver": "sag",
            "random_state": 0,
            "l1_ratio": 0.5,
            "edge_features": ["w:,", "w:.", "digit"],
        },
        {"order": 2, "solver": "lbfgs"},
        {"order": 2, "solver": "lbfgs", "edge_features": ["w:,"], "dtype": "float32"},
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_bits_for_any_number_of_threads(ads, options):
    X, y = ads
    if options.get("order") == 2:
        # few labels: there are K ** 3 triples a token
        y = SequenceArray([label[0] for label in y.tokens], y.offsets)
    weight = np.random.RandomState(0).uniform(size=len(X))
    bits = set()
    for n_jobs in (1, 3):
        crf = LinearChainCRF(max_iter=2, n_jobs=n_jobs, **options).fit(X, y, weight)
        learned = [
            dense(crf.coef_),
            moves(crf),
            crf.intercept_,
            np.array(crf.loss_curve_),
            crf.log_proba(X, y),
        ]
        learned += [np.concatenate(crf.predict_proba(X)), dense(crf.edge_coef_)]
        bits.add((b"".join(part.tobytes() for part in learned), str(crf.predict(X)), crf.n_iter_))
    assert len(bits) == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_bits_of_equal_fits(ads):
    X = ads[0][:50]
    y = ads[1][:50]
    fits = [
        LinearChainCRF(solver="sgd", max_iter=5, random_state=seed).fit(X, y) for seed in (0, 0, 1)
    ]
    fits.append(
        LinearChainCRF(solver="sgd", max_iter=5, random_state=np.random.RandomState(0)).fit(X, y)
    )
    coefs = [crf.coef_.data.tobytes() for crf in fits]
    assert coefs[0] == coefs[1] == coefs[3] != coefs[2]
    fits = [LinearChainCRF(tol=0.01).fit(X, y) for _ in range(2)]
    assert fits[0].coef_.data.tobytes() == fits[1].coef_.data.tobytes()


@pytest.mark.parametrize("feature_pairs", ["all", "observed"])
def test_sgd_comes_close_to_the_optimum(ads, feature_pairs):
    X = ads[0][:100]
    y = ads[1][:100]
    best = LinearChainCRF(C=0.1, feature_pairs=feature_pairs).fit(X, y).loss_curve_[-1]
    crf = LinearChainCRF(
        C=0.1, feature_pairs=feature_pairs, solver="sgd", tol=1e-5, random_state=0
    ).fit(X, y)
    assert best <= crf.loss_curve_[-1] < best * 1.001


@pytest.mark.parametrize(
    "options", [{}, {"l1_ratio": 1.0, "tol": 1e-4}, {"edge_features": ["w:,", "digit"]}]
)
def test_sag_finds_the_optimum(ads, options):
    X = ads[0][:40]
    y = ads[1][:40]
    best = LinearChainCRF(**{"C": 0.1, "tol": 1e-6, **options}).fit(X, y)
    crf = LinearChainCRF(**{"C": 0.1, "tol": 1e-6, **options}, solver="sag", random_state=0).fit(
        X, y
    )
    assert crf.loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], rel=1e-6)
    np.testing.assert_allclose(
        np.concatenate(crf.predict_proba(X)), np.concatenate(best.predict_proba(X)), atol=5e-3
    )


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_order_of_sequences_does_not_matter(ads, l1_ratio):
    X = ads[0][:40]
    y = ads[1][:40]
    order = np.random.RandomState(0).permutation(len(X))
    crf = LinearChainCRF(C=0.1, l1_ratio=l1_ratio, tol=1e-6)
    p = crf.fit(X, y).predict_proba(X)
    q = crf.fit(X[order], y[order]).predict_proba(X)
    np.testing.assert_allclose(np.concatenate(p), np.concatenate(q), atol=1e-4)


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sgd_finds_a_step_where_long_ones_lead_away(seed):
    """Steps of 1 and of 2 both end above the start here, the longer one lower."""
    X, y = make_rental_ads(200, random_state=0)
    crf = LinearChainCRF(solver="sgd", random_state=seed, max_iter=2)
    assert crf.fit(SequenceVectorizer().fit_transform(X), y).loss_curve_[-1] < 15_000


def test_softmax_margin_minimises_the_loss_with_costs():
    """The curve ends at C * sum of losses, from all labellings; a cost of 0 is the likelihood."""
    X, y = ragged(np.random.RandomState(0))
    X = numeric(X)
    cost = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 0.0, 0.0]])
    crf = LinearChainCRF(loss="softmax_margin", cost=cost, C=2.0, tol=1e-8).fit(X, y)
    total = 0.0
    for x, labels in zip(X, y, strict=True):
        codes = np.searchsorted(crf.classes_, labels)
        chain = enumerated(crf, x)
        raised = [s + cost[codes, list(k)].sum() for k, s in zip(chain.y, chain.scores)]
        total += np.logaddexp.reduce(raised) - chain.scores[chain.y.index(tuple(codes.tolist()))]
    weights = np.concatenate([dense(crf.coef_).ravel(), crf.transition_.ravel()])
    penalty = weights @ weights / 2 / crf.C
    assert crf.loss_curve_[-1] == pytest.approx(float(total) + penalty, rel=1e-8)
    free = LinearChainCRF(loss="softmax_margin", cost=np.zeros((3, 3)), C=2.0, tol=1e-8).fit(X, y)
    likelihood = LinearChainCRF(C=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(free._w, likelihood._w, atol=1e-6)


def test_what_is_dear_to_miss_is_missed_less(ads):
    X, y = ads
    classes, counts = np.unique(y.tokens, return_counts=True)
    dear = int(np.argsort(counts)[len(classes) // 2])
    costs = 1.0 - np.eye(len(classes))
    costs[dear] *= 20.0
    missed = []
    for cost in (None, costs):
        crf = LinearChainCRF(loss="softmax_margin", cost=cost, C=0.1, tol=1e-2).fit(X, y)
        predicted = np.concatenate(crf.predict(X))
        missed.append(np.sum((y.tokens == classes[dear]) & (predicted != classes[dear])))
    assert missed[1] < missed[0]


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.zeros((2, 2)), r"cost has shape \(2, 2\), but 3 labels need \(3, 3\)"),
        (np.ones((3, 3)), r"cost\[0, 0\] of 'a' in the place of 'a' must be 0"),
        (-np.eye(3)[::-1], "must not be negative"),
        (np.diag([np.nan, 0, 0]), "must be finite"),
        ([["x"] * 3] * 3, "no matrix of numbers"),
        ([[0, 10**400, 0], [1, 0, 1], [1, 1, 0]], "no matrix of numbers: int too large"),
        (1j * (1 - np.eye(3)), "no matrix of numbers: they are complex"),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_costs_are_checked(cost, message, dtype):
    crf = LinearChainCRF(loss="softmax_margin", cost=cost, dtype=dtype)
    with pytest.raises((ValueError, TypeError), match=message):
        crf.fit([["p", "q", "r"]], [["a", "b", "c"]])
    assert not hasattr(crf, "classes_")
    with pytest.raises(ValueError, match="loss='softmax_margin'"):
        LinearChainCRF(cost=np.zeros((3, 3))).fit([["p", "q", "r"]], [["a", "b", "c"]])


def test_costs_are_finite_in_the_type_of_the_scores():
    cost = 1e39 * (1 - np.eye(3))
    crf = LinearChainCRF(loss="softmax_margin", cost=cost, dtype="float32")
    with pytest.raises(NonFiniteError, match=r"cost\[0, 1\] .* must be finite in float32"):
        crf.fit([["p", "q", "r"]], [["a", "b", "c"]])
