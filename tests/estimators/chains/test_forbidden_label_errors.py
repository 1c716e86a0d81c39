"""Constraints in LinearChainCRF: all predictions and training, against enumeration of what is
allowed.
"""

from __future__ import annotations

from itertools import pairwise

import naive
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from sklearn_struct import LinearChainCRF, SequenceArray
from sklearn_struct.encoding.labels.allowed_transitions import read_transitions
from sklearn_struct.exceptions import ForbiddenLabelError, LengthMismatchError, UnknownLabelError
from sklearn_struct.metrics import extract_spans

CLASSES = ["B-x", "I-x", "O"]
MATRIX = np.array([[True, False, True], [True, True, False], [False, True, True]])
RULES = {
    "BIO": "BIO",
    "IOB1": "IOB1",
    "matrix": MATRIX,
    "dict": {None: ["O"], "O": ["O", "B-x"], "I-x": [None]},
}


def ragged(rng, lengths=(3, 2, 4, 0, 2, 3, 4, 2, 3)):
    """Sequences of numbers and labels that have little to do with them, so that predictions break
    all rules.
    """
    X = [rng.normal(size=(n, 2)) for n in lengths]
    return X, [[CLASSES[k] for k in rng.randint(3, size=n)] for n in lengths]


@pytest.fixture(scope="module", params=[None, [0]], ids=["one table", "edge features"])
def fitted(request):
    X, y = ragged(np.random.RandomState(0))
    return LinearChainCRF(C=5, edge_features=request.param).fit(X, y), X


def chains(crf, X, transitions, masks=None):
    """The enumeration of what is allowed, from what the model has learned."""
    found = []
    for i, tokens in enumerate(X):
        node = tokens @ crf.coef_.T + crf.intercept_
        edge = crf.transition_.ravel() + tokens[1:][:, crf.edge_features_] @ crf.edge_coef_.T
        if transitions is not None and len(tokens):
            edge[:, ~transitions.pairs.ravel()] = -np.inf
            node[0, ~transitions.start] = -np.inf
            node[-1, ~transitions.end] = -np.inf
        if masks is not None:
            node[~masks[i]] = -np.inf
        found.append(naive.Chain(node, edge))
    return found


def check_predictions(crf, X, expected, **options):
    best = crf.predict(X, **options)
    nbest = crf.predict_nbest(X, 4, **options)
    proba = crf.predict_proba(X, **options)
    logs = crf.predict_log_proba(X, **options)
    edges = crf.predict_edge_proba(X, **options)
    drawn = crf.sample(X, 20, random_state=0, **options)
    for i, chain in enumerate(expected):
        labellings = [[CLASSES[k] for k in y] for y in chain.y]
        possible = [labels for labels, p in zip(labellings, chain.p) if p > 0]
        assert best[i] == labellings[int(np.argmax(chain.scores))]
        np.testing.assert_allclose(
            [p for _, p in nbest[i]], (chain.nbest(4) - chain.log_Z).astype(float), atol=1e-10
        )
        assert all(labels in possible for labels, _ in nbest[i])
        assert all(labels in possible for labels in drawn[i])
        np.testing.assert_allclose(proba[i], chain.node.astype(float), atol=1e-10)
        np.testing.assert_array_equal(np.exp(logs[i]) == 0, proba[i] == 0)
        np.testing.assert_allclose(
            edges[i].reshape(-1, 9), chain.cliques[0].astype(float), atol=1e-10
        )


@pytest.mark.parametrize("rule", RULES)
def test_predictions_are_those_among_allowed_labellings(fitted, rule):
    crf, X = fitted
    crf = clone_with_weights(crf, allowed_transitions=RULES[rule])
    expected = chains(crf, X, read_transitions(RULES[rule], crf.classes_))
    check_predictions(crf, X, expected)
    for tokens, chain in zip(X, expected):
        labellings = [[CLASSES[k] for k in y] for y in chain.y]
        log_p = crf.log_proba([tokens] * len(labellings), labellings)
        np.testing.assert_allclose(np.exp(log_p), chain.p.astype(float), atol=1e-10)
        np.testing.assert_array_equal(log_p == -np.inf, chain.p == 0)


def clone_with_weights(crf, **params):
    """The same model under other constraints: predictions read the parameter."""
    other = clone(crf)
    other.__dict__.update(vars(crf))
    return other.set_params(**params)


@pytest.mark.parametrize("rule", [None, "BIO"])
def test_predictions_with_allowed_labels(fitted, rule):
    crf, X = fitted
    crf = clone_with_weights(crf, allowed_transitions=rule)
    rng = np.random.RandomState(1)
    masks = [rng.uniform(size=(len(s), 3)) < 0.6 for s in X]
    for mask in masks:
        mask[:, [0, 2]] |= ~mask.any(axis=1, keepdims=True)
        mask[:, 0] = True  # B-x may stand anywhere, so that something is allowed
    transitions = read_transitions(rule, crf.classes_)
    allowed = [[{CLASSES[k] for k in np.flatnonzero(row)} for row in mask] for mask in masks]
    allowed[1] = None
    masks[1] = np.ones((len(X[1]), 3), dtype=bool)
    allowed[2][0] = None
    masks[2][0] = True
    check_predictions(crf, X, chains(crf, X, transitions, masks), allowed=allowed)


def test_known_labels_stay(fitted):
    crf, X = fitted
    y = crf.sample(X, random_state=3)
    assert crf.predict(X, allowed=[labels for (labels,) in y]).tolist() == [
        labels for (labels,) in y
    ]
    last = [[None] * (len(s) - 1) + ["O"] if len(s) else [] for s in X]
    assert all(labels[-1] == "O" for labels in crf.predict(X, allowed=last) if labels)


def test_ten_thousand_random_models_give_no_invalid_sequence():
    """Random weights, and features that condition every score: each sequence has a model of its
    own, of any scale.
    """
    rng = np.random.RandomState(0)
    classes = ["B-x", "B-y", "I-x", "I-y", "O"]
    lengths = rng.randint(6, size=10_000)
    tokens = rng.normal(size=(lengths.sum(), 6))
    y = [[classes[k] for k in rng.randint(5, size=n)] for n in lengths[:50]]
    packed = SequenceArray(tokens, np.cumsum([0, *lengths]))
    crf = LinearChainCRF(edge_features="all", allowed_transitions="BIO").fit(packed[:50], y)
    crf._w = rng.normal(size=crf._w.shape)
    scales = 10.0 ** rng.uniform(-2, 4, size=len(lengths))
    X = SequenceArray(tokens * np.repeat(scales, lengths)[:, None], packed.offsets)
    drawn = crf.sample(X, random_state=0)
    for found in (crf.predict(X).tolist(), [labels for (labels,) in drawn]):
        assert all(extract_spans(labels) == extract_spans(labels, "IOB2") for labels in found)
        assert sum("I-y" in labels for labels in found) > 500


def test_flat_input_is_first_and_last():
    X = np.eye(4)
    y = np.array(["B-x", "I-x", "O", "S-x"])
    crf = LinearChainCRF(C=10).fit(X, y)
    assert crf.predict(X).tolist() == y.tolist()
    crf.set_params(allowed_transitions={None: ["I-x"], "B-x": [None]})
    assert set(crf.predict(X).tolist()) == {"O", "S-x"}
    assert np.all(crf.predict_proba(X)[:, :2] == 0)
    crf.set_params(allowed_transitions=None)
    assert crf.predict(X, allowed=["I-x", None, {"O", "S-x"}, ["B-x"]]).tolist() == [
        "I-x",
        "I-x",
        "O",
        "B-x",
    ]
    with pytest.raises(LengthMismatchError, match="allowed has 1 entries for 4"):
        crf.predict(X, allowed=["O"])


# ---------------------------------------------------------------- no labelling left


def test_no_path_names_the_sequence_and_token(fitted):
    crf, X = fitted
    bare = clone_with_weights(crf, allowed_transitions={None: CLASSES})
    for method in (
        "predict",
        "predict_proba",
        "predict_nbest",
        "sample",
        "predict_edge_proba",
        "predict_log_proba",
    ):
        with pytest.raises(
            ForbiddenLabelError, match=r"^X\[0\], token 0: the constraints allow no label here"
        ):
            getattr(bare, method)(X)
    with pytest.raises(ForbiddenLabelError, match=r"^X\[0\], token 0"):
        bare.log_proba(X[:1], [["O", "O", "O"]])
    assert bare.predict([X[3]]).tolist() == [[]]  # an empty sequence needs no label
    assert bare.predict_proba([X[3]])[0].shape == (0, 3)


@pytest.mark.parametrize(
    ("rule", "entries", "token"),
    [
        ("BIO", ["O", "I-x", None, None], 1),
        ("BIO", [None, None, [], None], 2),
        ({"O": [None]}, [None] * 3 + ["O"], 3),
    ],
    ids=str,
)
def test_allowed_labels_that_leave_no_path(fitted, rule, entries, token):
    crf, X = fitted
    crf = clone_with_weights(crf, allowed_transitions=rule)
    allowed = [None, None, entries, *[None] * 6]
    with pytest.raises(
        ForbiddenLabelError, match=rf"^X\[2\], token {token}: the constraints allow no label here"
    ):
        crf.predict(X, allowed=allowed)


def test_no_path_is_numbered_in_the_whole_batch():
    X = [np.ones((50, 1))] * 200
    crf = LinearChainCRF(allowed_transitions="BIO", n_jobs=2).fit(
        X, [["O", "B-x", "I-x", "I-x", "O"] * 10] * 200
    )
    allowed = [None] * 200
    allowed[150] = [None] * 30 + ["O", "I-x"] + [None] * 18
    with pytest.raises(ForbiddenLabelError, match=r"^X\[150\], token 31:"):
        crf.predict(X, allowed=allowed)


# ---------------------------------------------------------------- training


TRAIN_Y = [
    ["B-x", "I-x", "O"],
    ["O", "B-x"],
    ["B-x", "B-x", "I-x", "I-x"],
    [],
    ["O", "O"],
    ["B-x", "I-x", "B-x"],
]


def train_X(seed=4):
    rng = np.random.RandomState(seed)
    return [rng.normal(size=(len(s), 2)) for s in TRAIN_Y]


def objective(w, X, transitions, C):
    """The penalised likelihood among allowed labellings, by enumeration; w = [coef, transitions,
    intercept].
    """
    crf = LinearChainCRF()
    crf.classes_ = np.array(CLASSES)
    node = w[:6].reshape(2, 3)
    table = w[6:15]
    intercept = w[15:]
    total = 0.0
    for tokens, labels in zip(X, TRAIN_Y):
        if not labels:
            continue
        scores = tokens @ node + intercept
        edge = table[None].copy()
        scores[0, ~transitions.start] = scores[-1, ~transitions.end] = -np.inf
        edge[:, ~transitions.pairs.ravel()] = -np.inf
        chain = naive.Chain(scores, edge)
        total += float(
            chain.log_Z
            - chain.scores[chain.y.index(tuple(CLASSES.index(label) for label in labels))]
        )
    return C * total + w[:15] @ w[:15] / 2


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "trust-ncg", "cg", "gradient", "sag"])
def test_constrained_training_by_enumeration(solver):
    X = train_X()
    C = 2.0
    options = {
        "allowed_transitions": "BIO",
        "constrain_training": True,
        "tol": 1e-7,
        "C": C,
        "max_iter": 5000,
    }
    crf = LinearChainCRF(solver=solver, random_state=0, **options).fit(X, TRAIN_Y)
    transitions = read_transitions("BIO", crf.classes_)
    best = minimize(objective, np.zeros(18), (X, transitions, C), tol=1e-12)
    assert crf.loss_curve_[-1] * C == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(crf.coef_.T.ravel(), best.x[:6], atol=1e-3)
    np.testing.assert_allclose(crf.transition_.ravel(), best.x[6:15], atol=1e-3)
    # nothing is learned about what cannot be
    assert np.all(crf.transition_[~transitions.pairs] == 0)
    assert -crf.log_proba(X, TRAIN_Y).sum() * C + best.x[:15] @ best.x[:15] / 2 == pytest.approx(
        best.fun, rel=1e-5
    )


@pytest.mark.parametrize("solver", ["owlqn", "sgd", "ap", "pa"])
def test_other_solvers_train_among_allowed_labellings(solver):
    """They reach a lower loss among allowed labellings than without, as training knows what is not
    there.
    """
    X = train_X()
    options = {
        "allowed_transitions": "BIO",
        "solver": solver,
        "random_state": 0,
        "max_iter": 300,
        "C": 10,
    }
    options |= {"l1_ratio": 0.5} if solver == "owlqn" else {}
    constrained = LinearChainCRF(constrain_training=True, **options).fit(X, TRAIN_Y)
    free = LinearChainCRF(**options).fit(X, TRAIN_Y)
    assert constrained.loss_curve_[-1] < free.loss_curve_[-1] or constrained.loss_curve_[-1] == 0
    forbidden = ~read_transitions("BIO", free.classes_).pairs
    assert np.all(constrained.transition_[forbidden] == 0)
    assert np.any(free.transition_[forbidden] != 0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_constrained_training_with_edge_features_and_weights(dtype):
    X = train_X()
    weight = [1, 2, 0.5, 3, 0, 1]
    options = {
        "allowed_transitions": "BIO",
        "constrain_training": True,
        "edge_features": "all",
        "dtype": dtype,
    }
    crf = LinearChainCRF(**options).fit(X, TRAIN_Y, sample_weight=weight)
    assert np.isfinite(crf.coef_).all()
    assert np.all(
        crf.edge_coef_.reshape(3, 3, 2)[~read_transitions("BIO", crf.classes_).pairs] == 0
    )
    penalty = (np.sum(crf.coef_**2) + np.sum(crf.transition_**2) + np.sum(crf.edge_coef_**2)) / 2
    expected = -crf.log_proba(X, TRAIN_Y) @ np.array(weight) + penalty
    assert crf.loss_curve_[-1] == pytest.approx(expected, rel=1e-4 if dtype == "float32" else 1e-9)


def test_without_rules_nothing_is_constrained():
    X = train_X()
    crf = LinearChainCRF(constrain_training=True).fit(X, TRAIN_Y)
    np.testing.assert_array_equal(crf.coef_, LinearChainCRF().fit(X, TRAIN_Y).coef_)


@pytest.mark.parametrize("solver", ["lbfgs", "ap"])
def test_a_forbidden_labelling_is_no_training_data(solver):
    X = train_X()
    y = [list(labels) for labels in TRAIN_Y]
    crf = LinearChainCRF(allowed_transitions="BIO", constrain_training=True, solver=solver)
    y[4][1] = "I-x"
    before = dict(vars(crf))
    with pytest.raises(
        ForbiddenLabelError,
        match=r"^y\[4\], token 1: allowed_transitions forbids the label 'I-x' here",
    ):
        crf.fit(X, y)
    assert vars(crf) == before
    crf.fit(X, y, sample_weight=[1, 1, 1, 1, 0, 1])  # nothing is learned from it
    assert LinearChainCRF(allowed_transitions="BIO").fit(X, y).log_proba(X, y)[4] == -np.inf


def test_single_labels_with_weights_among_allowed_labellings():
    """The pointwise loss asks for marginals of the constrained chain, and its labels stand beside
    weights of tokens.
    """
    X = train_X()
    y = [list(labels) for labels in TRAIN_Y]
    rng = np.random.default_rng(0)
    weight = [rng.uniform(0.5, 2, size=len(labels)) for labels in y]
    crf = LinearChainCRF(
        loss="pointwise", allowed_transitions="BIO", constrain_training=True, max_iter=20
    )
    crf.fit(X, y, sample_weight=weight)
    codes = [[crf.classes_.tolist().index(label) for label in labels] for labels in y]
    loss = -sum(
        omega @ np.log(p[np.arange(len(k)), k])
        for p, k, omega in zip(crf.predict_proba(X), codes, weight, strict=True)
    )
    weights = [
        crf.coef_.ravel() if isinstance(crf.coef_, np.ndarray) else crf.coef_.data,
        crf.transition_.ravel(),
    ]
    penalty = sum(float(part @ part) for part in weights) / 2
    assert crf.loss_curve_[-1] == pytest.approx(loss + penalty, rel=1e-9)
    y[4][1] = "I-x"
    with pytest.raises(ForbiddenLabelError, match=r"^y\[4\], token 1: .* the label 'I-x' here"):
        crf.fit(X, y, sample_weight=weight)


def test_batches_are_constrained():
    X = train_X()
    y = TRAIN_Y
    crf = LinearChainCRF(
        allowed_transitions="BIO", constrain_training=True, solver="pa", random_state=0
    )
    for _ in range(5):
        crf.partial_fit(X, y, classes=CLASSES)
    assert np.all(crf.transition_[~read_transitions("BIO", crf.classes_).pairs] == 0)
    with pytest.raises(ForbiddenLabelError, match=r"^y\[0\], token 0: .* 'I-x'"):
        crf.partial_fit(X[:1], [["I-x", "O", "O"]])


@pytest.mark.parametrize("constrain_training", [True, False])
@pytest.mark.parametrize(
    ("rule", "match"),
    [
        ("BIOES", "label 'N-x' is neither"),
        ({"O": ["z"]}, "label 'z' was not seen in fit"),
        (np.ones((2, 2), dtype=bool), r"has shape \(2, 2\), but 3 labels need \(3, 3\)"),
    ],
    ids=["scheme", "dict", "matrix"],
)
def test_fit_checks_the_rule(rule, match, constrain_training):
    crf = LinearChainCRF(allowed_transitions=rule, constrain_training=constrain_training)
    y = [[label.replace("B", "N") for label in labels] for labels in TRAIN_Y]
    with pytest.raises((UnknownLabelError, LengthMismatchError), match=match):
        crf.fit(train_X(), y)
    assert not hasattr(crf, "classes_")


def test_constraints_do_not_depend_on_threads():
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(n, 4)) for n in rng.randint(1, 20, size=300)]
    y = []
    for tokens in X:
        labels = np.where(tokens[:, 0] > 0, "B-x", "O").astype(object)
        for s, t in pairwise(range(len(tokens))):
            labels[t] = "I-x" if labels[s] != "O" and tokens[t, 1] > 0.5 else labels[t]
        y.append(labels.tolist())
    options = {"allowed_transitions": "BIO", "constrain_training": True, "tol": 1e-2}
    one, two = (LinearChainCRF(n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.predict(X).tolist() == two.predict(X).tolist()
    assert not any(
        before == "O" and after == "I-x"
        for labels in one.predict(X)
        for before, after in pairwise(labels)
    )
