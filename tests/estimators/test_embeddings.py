"""Models of embeddings in token dicts are those of the same numbers as attributes of their own."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_struct import (
    GECRF,
    MEMM,
    FactorialCRF,
    GraphCRF,
    HiddenStateClassifier,
    LatentChainCRF,
    LinearChainCRF,
    PiecewiseCRF,
    PrototypeMRF,
    PseudoLikelihoodCRF,
    SequenceArray,
    SequenceUnion,
    SequenceVectorizer,
    SkipChainCRF,
    inspection,
)
from sklearn_struct.compiled.threads import Pool
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.linear.sparse_beside_dense import SumMap
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import bind
from sklearn_struct.persistence import load, save

LENGTHS = [3, 1, 4, 0, 2, 5, 1, 3, 2, 4, 3, 2] * 3
D = 5


def make(seed=0):
    """Dicts with embeddings, the same written out, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    X = []
    plain = []
    y = []
    for n in LENGTHS:
        vectors = rng.normal(size=(n, D))
        words = rng.integers(6, size=n)
        dicts = [{"w": f"w{w}", "n": float(v[0] * v[1])} for w, v in zip(words, vectors)]
        X.append([token | {"v": v} for token, v in zip(dicts, vectors)])
        plain.append(
            [token | {f"v:{j}": x for j, x in enumerate(v)} for token, v in zip(dicts, vectors)]
        )
        scores = vectors[:, 0] + (words > 2)
        y.append(["ABC"[int(s > 0) + int(s > 1)] for s in scores.tolist()])
    return X, plain, y


X, PLAIN, Y = make()


def one_matrix(X):
    """The same columns in the same order, all sparse."""
    packed = SequenceVectorizer().fit_transform(X)
    return SequenceArray(packed.tokens, packed.offsets, packed.names)


def weights_by_name(model):
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    return {name: coef[:, j] for j, name in enumerate(model.feature_names_in_)}


def assert_same_model(model, expected, digits=1e-5):
    assert model.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-7)
    of_expected = weights_by_name(expected)
    for name, weights in weights_by_name(model).items():
        np.testing.assert_allclose(weights, of_expected[name], atol=digits, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", [{}, {"order": 2}, {"edge_features": ["v:1", "n", "v:3"]}])
def test_objective_and_gradient(options, dtype):
    packed = SequenceVectorizer(dtype=dtype).fit_transform(X)
    plain = SequenceArray(packed.tokens, packed.offsets, packed.names)
    crf = LinearChainCRF(dtype=np.dtype(dtype).name, max_iter=1, tol=10.0, **options)
    crf.fit(packed, Y)
    pattern = crf._pattern
    inference = Chain(pattern.order)
    structure = inference.structure(packed.offsets)
    codes = np.searchsorted(crf.classes_, np.concatenate(Y)).astype(np.int32)
    weight = np.linspace(0.0, 2.0, len(packed))
    data = TrainingData(structure, Evidence(codes), weight)
    w = np.random.default_rng(1).normal(size=pattern.size)
    results = []
    for tokens, kind in ((packed, SumMap), (plain, object)):
        potentials = bind(pattern, tokens, structure, np.dtype(dtype))
        assert isinstance(potentials.node_map, kind)
        np.testing.assert_allclose(potentials.compress(potentials.expand(w)), w, rtol=1e-6)
        objective = LinearObjective(potentials, LogLikelihood(inference), inference, data)
        with Pool(2) as pool:
            on = objective.on(pool)
            results.append((*on.value_and_grad(w), on.hess_vec(w, w[::-1].copy())))
    digits = 1e-10 if dtype == np.float64 else 1e-4
    for result, expected in zip(*results, strict=True):
        np.testing.assert_allclose(result, expected, rtol=digits, atol=digits)


OPTIONS = [
    {},
    {"order": 2, "transition_features": "observed"},
    {"edge_features": "all"},
    {"feature_pairs": "all", "solver": "newton-cg"},
    {"solver": "trust-ncg"},
    {"solver": "owlqn", "l1_ratio": 0.5},
    {"solver": "sag", "random_state": 0},
    {"loss": "pointwise"},
    {"loss": "softmax_margin", "fit_intercept": False, "n_jobs": 2},
    {"min_frequency": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_fits_equal_those_of_attributes_of_their_own(options):
    crf = LinearChainCRF(tol=1e-8, max_iter=2000).set_params(**options)
    model = clone(crf).fit(X, Y, sample_weight=np.linspace(0.5, 1.5, len(X)))
    expected = clone(crf).fit(PLAIN, Y, sample_weight=np.linspace(0.5, 1.5, len(X)))
    assert_same_model(model, expected)
    assert model.predict(X).tolist() == expected.predict(PLAIN).tolist()
    for p, q in zip(model.predict_proba(X), expected.predict_proba(PLAIN), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-5)
    np.testing.assert_allclose(model.log_proba(X, Y), expected.log_proba(PLAIN, Y), atol=1e-4)


# what they draw or visit depends on the order of columns, which is then the same
STEPS = [
    LinearChainCRF(solver="sgd", random_state=0, max_iter=20),
    LinearChainCRF(solver="ap", random_state=0, max_iter=20),
    LinearChainCRF(solver="pa", random_state=0, max_iter=20),
    LinearChainCRF(solver="arow", random_state=0, max_iter=20),
    LatentChainCRF(random_state=0, max_iter=20),
    LatentChainCRF(random_state=0, max_iter=20, solver="em", n_init=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", STEPS, ids=str)
def test_steps_equal_those_on_one_sparse_matrix(estimator):
    packed = SequenceVectorizer().fit_transform(X)
    plain = one_matrix(X)
    model = clone(estimator).fit(packed, Y)
    expected = clone(estimator).fit(plain, Y)
    np.testing.assert_allclose(model._w, expected._w, atol=1e-6)
    assert model.predict(packed).tolist() == expected.predict(plain).tolist()


def test_margins_reach_the_same_minimum():
    """Rounding decides which planes are met, but not where these lead."""
    crf = LinearChainCRF(loss="hinge", tol=1e-4, max_iter=1000, random_state=0)
    values = [clone(crf).fit(tokens, Y).loss_curve_[-1] for tokens in (X, PLAIN)]
    assert values[0] == pytest.approx(values[1], rel=1e-3)


FILLED = [i for i, n in enumerate(LENGTHS) if n]
CLASSES = [Y[i][0] for i in FILLED]
OTHERS = [
    MEMM(),
    MEMM(order=2, decoder="beam"),
    PseudoLikelihoodCRF(),
    PiecewiseCRF(),
    PrototypeMRF(),
    SkipChainCRF(),
    GECRF({"w:w0": "A", "w:w4": "B"}, classes=["A", "B", "C"], entropy_weight=0.1),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", OTHERS, ids=str)
def test_other_estimators(estimator):
    several = [X[i] for i in FILLED]
    plain = [PLAIN[i] for i in FILLED]
    # labelled features speak of sequences without labels
    few = isinstance(estimator, GECRF)
    labels = [None if few and n % 2 else Y[i] for n, i in enumerate(FILLED)]
    model = clone(estimator).set_params(tol=1e-8).fit(several, labels)
    expected = clone(estimator).set_params(tol=1e-8).fit(plain, labels)
    assert_same_model(model, expected, 1e-4)
    assert model.predict(several).tolist() == expected.predict(plain).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_of_sequences_and_pairs_of_labels():
    packed = SequenceVectorizer().fit_transform([X[i] for i in FILLED])
    plain = SequenceArray(packed.tokens, packed.offsets, packed.names)
    pairs = [[(label, label > "A") for label in Y[i]] for i in FILLED]
    for estimator, y in (
        (HiddenStateClassifier(random_state=0, max_iter=20), CLASSES),
        (FactorialCRF(tol=1e-6), pairs),
    ):
        model = clone(estimator).fit(packed, y)
        expected = clone(estimator).fit(plain, y)
        np.testing.assert_allclose(model._w, expected._w, atol=1e-6)
        assert list(model.predict(packed)) == list(expected.predict(plain))


def test_graphs_of_dicts():
    edges = [[(t, t + 1) for t in range(LENGTHS[i] - 1)] for i in FILLED]
    labels = [Y[i] for i in FILLED]
    models = []
    for tokens in (X, PLAIN):
        graphs = [(tokens[i], edge) for i, edge in zip(FILLED, edges, strict=True)]
        models.append(GraphCRF(tol=1e-8).fit(graphs, labels))
        models[-1].predictions = list(map(list, models[-1].predict(graphs)))
    assert_same_model(*models)
    assert models[0].predictions == models[1].predictions


def test_scores_are_those_of_the_weights():
    """By enumeration of all labellings of a sequence."""
    crf = LinearChainCRF().fit(X, Y)
    i = 0
    weights = weights_by_name(crf)
    names = {"v": [f"v:{j}" for j in range(D)]}
    scores = []
    for token in X[i]:
        score = crf.intercept_ + weights[f"w:{token['w']}"] + token["n"] * weights["n"]
        scores.append(score + sum(x * weights[name] for x, name in zip(token["v"], names["v"])))
    totals = {}
    for labelling in itertools.product(range(3), repeat=len(scores)):
        total = sum(score[k] for score, k in zip(scores, labelling))
        totals[labelling] = total + sum(
            crf.transition_[j, k] for j, k in itertools.pairwise(labelling)
        )
    log_Z = np.logaddexp.reduce(list(totals.values()))
    best = max(totals, key=totals.get)
    assert crf.predict(X[: i + 1])[i] == crf.classes_[list(best)].tolist()
    truth = tuple(crf.classes_.tolist().index(label) for label in Y[i])
    assert crf.log_proba(X[:1], Y[:1])[0] == pytest.approx(totals[truth] - log_Z)


def test_every_label_has_weights_of_dense_columns():
    crf = LinearChainCRF().fit([[{"w": "a", "v": [0.5]}, {"w": "b"}]], [["A", "B"]])
    assert crf.feature_names_in_.tolist() == ["w:a", "w:b", "v:0"]
    # as the columns of a dense X have
    assert np.diff(crf.coef_.tocsc().indptr).tolist() == [1, 1, 2]


def test_embeddings_alone():
    alone = [[{"v": token["v"]} for token in sequence] for sequence in X]
    arrays = [np.array([token["v"] for token in x]).reshape(-1, D) for x in X]
    model = LinearChainCRF(tol=1e-8).fit(alone, Y)
    expected = LinearChainCRF(tol=1e-8).fit(arrays, Y)
    np.testing.assert_allclose(model.coef_.toarray(), expected.coef_, atol=1e-5)
    assert model.predict(alone).tolist() == expected.predict(arrays).tolist()


def test_models_of_one_form_predict_the_other():
    packed = SequenceVectorizer().fit_transform(X)
    plain = one_matrix(X)
    of_both = LinearChainCRF().fit(packed, Y)
    of_one = LinearChainCRF().fit(plain, Y)
    expected = of_both.predict(packed).tolist()
    for model in (of_both, of_one):
        for tokens in (packed, plain, packed, list(plain)):
            assert model.predict(tokens).tolist() == expected


@pytest.mark.parametrize("way", ["file", "pickle", "copy"])
def test_files_and_copies(way, tmp_path):
    crf = LinearChainCRF().fit(X, Y)
    if way == "file":
        save(crf, tmp_path / "model")
        other = load(tmp_path / "model")
    else:
        other = pickle.loads(pickle.dumps(crf)) if way == "pickle" else copy.deepcopy(crf)
    assert other.vectorizer_.embedding_lengths_ == {"v": D}
    assert other.feature_names_in_.tolist() == crf.feature_names_in_.tolist()
    for p, q in zip(crf.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_array_equal(p, q)


def test_partial_fit_and_starts():
    options = {"solver": "sgd", "random_state": 0, "feature_pairs": "all"}
    packed = SequenceVectorizer().fit_transform(X)
    plain = one_matrix(X)
    models = []
    for tokens in (packed, plain):
        crf = LinearChainCRF(transition_features="all", **options)
        for part in (slice(0, 12), slice(12, 36)):
            crf.partial_fit(tokens[part], Y[part], classes=["A", "B", "C"])
        models.append(crf)
    np.testing.assert_allclose(models[0]._w, models[1]._w, atol=1e-9)
    first = LinearChainCRF(tol=1e-6).fit(PLAIN, Y)
    again = LinearChainCRF(tol=1e-3, max_iter=3).fit(X, Y, init=first)
    # a start in another order of columns is one in the minimum
    assert again.n_iter_ <= 1


def test_explanations_and_tables_name_the_numbers():
    crf = LinearChainCRF().fit(X, Y)
    plain = LinearChainCRF().fit(PLAIN, Y)
    explained = inspection.explain(crf, X[0], Y[0])
    of_plain = inspection.explain(plain, PLAIN[0], Y[0])
    assert str(explained).count("v:") == str(of_plain).count("v:") > 0
    table = inspection.feature_weights(crf)
    assert {f"v:{j}" for j in range(D)} <= set(table["feature"])


def test_numbers_too_large_to_learn_from_have_their_place():
    tokens = copy.deepcopy(X[:3])
    tokens[2][1]["v"][3] = 1e100
    with pytest.raises(ValueError, match=r"X\[2\], token 1, feature 'v:3': 1e\+100 is too large"):
        LinearChainCRF().fit(tokens, Y[:3])


def test_numbers_of_a_packed_X_are_checked():
    packed = SequenceVectorizer().fit_transform(copy.deepcopy(X[:3]))
    packed.stored.dense[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"X\[0\], token 2, feature 'v:3': not finite"):
        LinearChainCRF().fit(packed, Y[:3])


def test_folds_of_a_packed_X():
    packed = SequenceVectorizer().fit_transform(X)
    scores = cross_val_score(LinearChainCRF(), packed, Y, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(LinearChainCRF(), one_matrix(X), Y, cv=3))


def vectors_of(X):
    return [np.array([token["v"] for token in x]).reshape(-1, D) for x in X]


def without_vectors(X):
    return [[{"w": token["w"], "n": token["n"]} for token in x] for x in X]


def test_a_union_of_attributes_and_arrays():
    words = make_pipeline(FunctionTransformer(without_vectors), SequenceVectorizer())
    union = SequenceUnion([("a", words), ("v", FunctionTransformer(vectors_of))])
    model = make_pipeline(union, LinearChainCRF(tol=1e-8)).fit(X, Y)
    expected = LinearChainCRF(tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model[-1].coef_.toarray(), expected.coef_.toarray(), atol=1e-6)
    assert model.predict(X).tolist() == expected.predict(X).tolist()
