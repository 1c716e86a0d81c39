"""Chains of hidden states of labels, against sums over all sequences of states."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from latent_chains import data, fitted, twins
from sklearn.model_selection import GridSearchCV

from sklearn_struct import LatentChainCRF, LinearChainCRF
from sklearn_struct.estimators.hidden_states.weights_of_states import places_of_labels
from sklearn_struct.exceptions import (
    ForbiddenLabelError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)

NOT_CONVERGED = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
CLOSE = 1e-10
MODELS = [
    {},
    {"n_states": {"a": 3, "b": 1}},
    {"n_states": {"a": 1, "b": 2, "c": 0}, "shared_states": {("a", "c"): 1}},
    {"shared_states": {("a", "b"): 1, ("a", "b", "c"): 1}, "n_states": 1},
    {"edge_features": [0]},
    {"state_transitions": "left-to-right", "n_states": 3},
    {"state_transitions": "stay"},
    {"state_transitions": {"a": [[True, False], [True, True]]}},
    {"fit_intercept": False, "transition_features": "observed"},
    {"order": 2, "n_states": {"a": 2, "b": 1}},
]


@NOT_CONVERGED
@pytest.mark.parametrize("options", MODELS, ids=str)
def test_probabilities_by_enumeration(options):
    X, y = data()
    crf = fitted(options, X, y)
    places = {label: k for k, label in enumerate(crf.classes_.tolist())}
    proba = crf.predict_proba(X)
    pairs = crf.predict_edge_proba(X)
    states = crf.predict_state_proba(X)
    best = crf.predict_states(X)
    log_p = crf.log_proba(X, y)
    by_marginals = crf.predict(X)
    for i, twin in enumerate(twins(crf, X)):
        np.testing.assert_allclose(proba[i], twin.label_marginals().astype(float), atol=CLOSE)
        np.testing.assert_allclose(states[i], twin.node.astype(float), atol=CLOSE)
        np.testing.assert_allclose(pairs[i], twin.pair_marginals().astype(float), atol=CLOSE)
        right = twin.probability([{places[label]} for label in y[i]])
        assert log_p[i] == pytest.approx(float(np.log(right)), abs=CLOSE)
        likely = twin.label_marginals().argmax(axis=1)
        assert by_marginals[i] == crf.classes_[likely].tolist()
        path = twin.y[int(np.argmax(twin.p))]
        assert best[i] == [crf.states_[s] for s in path]
    by_path = crf.set_params(decoder="viterbi").predict(X)
    assert by_path.tolist() == [[label for label, _ in path] for path in best]


@NOT_CONVERGED
@pytest.mark.parametrize("options", MODELS, ids=str)
@pytest.mark.parametrize("penalty", [{}, {"l1_ratio": 0.5}])
def test_the_objective_by_enumeration(options, penalty):
    """Weights of states that are shared are penalised once."""
    X, y = data()
    y[0] = None
    y[2] = [None, "a", {"a", "b"}, "c"]
    crf = fitted(options | penalty, X, y)
    places = {label: {k} for k, label in enumerate(crf.classes_.tolist())}
    loss = 0.0
    for i, twin in enumerate(twins(crf, X)):
        if i == 0:
            continue
        may_be = [{0, 1, 2} if c is None else {k for one in c for k in places[one]} for c in y[i]]
        loss -= float(np.log(twin.probability(may_be)))
    coef = np.unique(np.round(crf.coef_, 14), axis=0) if crf.shared_states else crf.coef_
    weights = [coef, crf.edge_coef_, crf.transition_, getattr(crf, "transition2_", np.zeros(1))]
    w = np.concatenate([part.ravel() for part in weights])
    l1 = crf.l1_ratio
    expected = loss + ((1 - l1) / 2 * (w @ w) + l1 * np.abs(w).sum()) / crf.C
    assert crf.loss_curve_[-1] == pytest.approx(expected, rel=1e-9)


def slope(crf, X, y):
    """The largest entry of the gradient of the objective / C, by finite differences."""
    w = crf._w
    free = len(crf.states_)

    def objective(w):
        crf.__dict__["_w"] = w
        return -crf.log_proba(X, y).sum() + w[:-free] @ w[:-free] / (2 * crf.C)

    step = 1e-5
    grad = [
        (objective(w + step * e) - objective(w - step * e)) / (2 * step) for e in np.eye(len(w))
    ]
    crf.__dict__["_w"] = w
    return np.abs(grad).max()


@pytest.mark.parametrize("solver", ["lbfgs", "cg", "em"])
def test_solvers_end_where_the_same_gradient_is_zero(solver):
    X, y = data()
    crf = LatentChainCRF(C=0.5, solver=solver, tol=1e-5, max_iter=5000, random_state=0).fit(X, y)
    assert slope(crf, X, y) < 1e-3
    assert np.all(np.diff(crf.loss_curve_) <= 1e-9)
    assert crf.loss_curve_[0] > crf.loss_curve_[-1] + 0.1


@pytest.mark.parametrize("l1_ratio", [0.0, 0.7])
def test_em_never_raises_the_objective(l1_ratio):
    X, y = data(1)
    options = {"C": 3.0, "l1_ratio": l1_ratio, "tol": 1e-5, "max_iter": 2000, "random_state": 3}
    em = LatentChainCRF(solver="em", **options).fit(X, y)
    assert em.n_iter_ == len(em.loss_curve_) > 5
    assert np.all(np.diff(em.loss_curve_) <= 1e-9)
    # where it ends, direct gradients find nothing to do
    direct = LatentChainCRF(**options).fit(X, y, init=em)
    assert direct.loss_curve_[-1] == pytest.approx(em.loss_curve_[-1], rel=1e-6)


def test_sgd_comes_near():
    X, y = data()
    options = {"C": 1.0, "random_state": 0}
    sgd = LatentChainCRF(solver="sgd", tol=1e-4, max_iter=2000, **options).fit(X, y)
    after = LatentChainCRF(**options).fit(X, y, init=sgd)
    assert after.loss_curve_[-1] == pytest.approx(sgd.loss_curve_[-1], rel=0.03)


@pytest.mark.parametrize("solver", ["auto", "em"])
@pytest.mark.parametrize(
    "options",
    [{}, {"edge_features": "all"}, {"transition_features": "observed"}, {"order": 2}],
    ids=str,
)
@pytest.mark.parametrize("sparse", [False, True])
def test_one_state_a_label_is_a_linear_chain(sparse, options, solver):
    X, y = data()
    if sparse:
        X = [sp.csr_array(np.where(x > 0, x, 0)) for x in X]
    given = {"C": 2.0, "tol": 1e-8} | options
    plain = LinearChainCRF(**given).fit(X, y)
    latent = LatentChainCRF(n_states=1, solver=solver, max_iter=2000, **given).fit(X, y)
    assert latent.loss_curve_[-1] == pytest.approx(plain.loss_curve_[-1], abs=1e-6)
    for name in ("coef_", "transition_", "intercept_", "edge_coef_"):
        a, b = (getattr(crf, name) for crf in (latent, plain))
        a, b = (m.toarray() if sp.issparse(m) else m for m in (a, b))
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert latent.set_params(decoder="viterbi").predict(X).tolist() == plain.predict(X).tolist()


# ------------------------------------------------------------------------------ what it is good for


def two_sides(seed=0, n=30):
    """A label whose tokens are on both sides of another one's, which no weights tell apart."""
    rng = np.random.RandomState(seed)
    X = [rng.choice([-1.0, 0.0, 1.0], size=(rng.randint(2, 6), 1)) for _ in range(n)]
    return X, [["inner" if v == 0 else "outer" for v in x.ravel()] for x in X]


@pytest.mark.parametrize("solver", ["auto", "cg", "em"])
def test_states_tell_what_labels_cannot(solver):
    X, y = two_sides()
    assert LinearChainCRF(C=10).fit(X, y).score(X, y) < 0.8
    crf = LatentChainCRF(n_states={"outer": 2}, C=10, solver=solver, random_state=0).fit(X, y)
    assert crf.score(X, y) == 1.0
    sides = [[h for _, h in path] for path in crf.predict_states([np.array([[1.0], [-1.0]])])]
    assert sorted(sides[0]) == [0, 1]


def test_more_starts_are_never_worse():
    """EM finds several optima where labels depend on whether two neighbours are alike."""
    X = [np.array(x)[:, None] for x in ([0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0])] * 5
    y = [["same"] * 2, ["same"] * 2, ["other"] * 2, ["other"] * 2] * 5
    options = {"C": 10, "solver": "em", "random_state": 0, "tol": 1e-3, "init": "random"}
    values = [LatentChainCRF(n_init=n, **options).fit(X, y).loss_curve_[-1] for n in (1, 2, 6)]
    assert values == sorted(values, reverse=True)
    assert values[2] < values[0] - 1


@pytest.mark.parametrize("solver", ["auto", "sgd", "em"])
@NOT_CONVERGED
def test_equal_seeds_and_any_number_of_threads_give_equal_results(solver, capsys):
    X, y = data()
    options = {"n_init": 3, "solver": solver, "max_iter": 20, "random_state": 7}
    one = LatentChainCRF(**options).fit(X, y)
    for more in ({"n_jobs": 2}, {"verbose": 1}):
        again = LatentChainCRF(**options, **more).fit(X, y)
        np.testing.assert_array_equal(again._w, one._w)
        assert (again.n_iter_, again.loss_curve_) == (one.n_iter_, one.loss_curve_)
    other = LatentChainCRF(**options | {"random_state": 8}).fit(X, y)
    assert np.any(other._w != one._w)
    assert capsys.readouterr().out.count("iteration ") == one.n_iter_


# ------------------------------------------------------------------------------------------- starts


@NOT_CONVERGED
@pytest.mark.parametrize(
    "options", [{}, {"edge_features": "all"}, {"order": 2}, {"fit_intercept": False}], ids=str
)
def test_labels_whose_states_are_alike_are_those_of_a_chain(options):
    X, y = data()
    crf = fitted(options, X, y)
    place = places_of_labels(crf._pattern, crf._states)
    crf.__dict__["_w"] = np.random.RandomState(0).normal(size=place.max() + 1)[place]
    plain = LinearChainCRF(max_iter=1, **options).fit(X, y)
    assert place.max() + 1 == len(plain._w)
    plain.__dict__["_w"] = crf._w[np.unique(place, return_index=True)[1]]
    np.testing.assert_array_equal(crf.coef_, np.repeat(plain.coef_, 2, axis=0))
    for a, b in zip(crf.predict_proba(X), plain.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=CLOSE)


@NOT_CONVERGED
@pytest.mark.parametrize("options", [{}, {"l1_ratio": 0.5}, {"solver": "em"}])
def test_it_begins_with_labels_or_with_noise(options):
    """Labels' weights are good ones from the first iteration on."""
    X, y = two_sides()
    y = [["left" if v < 0 else "right" for v in x.ravel()] for x in X]
    given = {"C": 10, "random_state": 0, "max_iter": 1, "tol": 0.0} | options
    first = [
        LatentChainCRF(**given, init=init).fit(X, y).loss_curve_[0] for init in ("labels", "random")
    ]
    assert first[0] < first[1]


def test_starts_from_itself_and_from_a_chain():
    X, y = data()
    options = {"C": 0.5, "tol": 1e-6, "random_state": 0}
    crf = LatentChainCRF(**options).fit(X, y)
    again = LatentChainCRF(**options | {"random_state": 5}).fit(X, y, init=crf)
    assert again.n_iter_ <= 1
    np.testing.assert_allclose(again.coef_, crf.coef_, atol=1e-6)
    chain = LinearChainCRF(C=0.5).fit(X, y)
    short = LatentChainCRF(**options | {"max_iter": 1, "tol": 100.0}).fit(X, y, init=chain)
    near = short.coef_ - np.repeat(chain.coef_, 2, axis=0)
    assert 0.01 < np.abs(near).max() < 0.5
    assert np.all(np.ptp(short.coef_.reshape(3, 2, -1), axis=1) > 0)
    warm = LatentChainCRF(**options, warm_start=True).fit(X, y)
    assert warm.fit(X, y).n_iter_ <= 1


def test_a_model_without_states_cannot_start_from_states():
    X, y = data()
    crf = LatentChainCRF(random_state=0, tol=0.1).fit(X, y)
    with pytest.raises(InputTypeError, match="LatentChainCRF with hidden states"):
        LinearChainCRF().fit(X, y, init=crf)


# --------------------------------------------------------------------------------------- parameters


@NOT_CONVERGED
def test_states_are_as_the_parameters_say():
    X, y = data()
    crf = fitted({"n_states": {"b": 2, "c": 0}, "shared_states": {("c", "a"): 2}}, X, y)
    assert crf.states_.tolist() == [
        *(("a", 0), ("a", 1), ("a", 2)),
        *(("b", 0), ("b", 1)),
        *(("c", 0), ("c", 1)),
    ]
    np.testing.assert_array_equal(crf.coef_[1:3], crf.coef_[5:7])
    assert np.any(crf.coef_[0] != crf.coef_[5])
    assert np.any(crf.intercept_[1:3] != crf.intercept_[5:7])
    assert np.any(crf.transition_[1] != crf.transition_[5])


def test_shared_states_share_what_one_label_shows():
    """In sparse data, too, where labels have weights of what was seen with them."""
    X = [["u"], ["v"], ["u"], ["w"]] * 3
    y = [["a"], ["b"], ["a"], ["c"]] * 3
    options = {"n_states": {"a": 0, "b": 0}, "shared_states": {("a", "b"): 2}, "random_state": 0}
    crf = LatentChainCRF(**options).fit(X, y)
    coef = crf.coef_.toarray()
    np.testing.assert_array_equal(coef[:2], coef[2:4])
    names = crf.feature_names_in_.tolist()
    assert np.all(coef[2:4, [names.index("u"), names.index("v")]] != 0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_states": {"z": 2}}, UnknownLabelError, "n_states: label 'z' was not seen"),
        ({"n_states": {"a": -1}}, InputTypeError, r"n_states\['a'\] must be a whole number from 0"),
        ({"n_states": {"a": 1.5}}, InputTypeError, "whole number"),
        ({"n_states": {"a": 0}}, ValueError, "label 'a' has no state"),
        ({"shared_states": {"ab": 1}}, InputTypeError, "tuples of the labels"),
        ({"shared_states": {("a", "z"): 1}}, UnknownLabelError, "'z' was not seen"),
        ({"shared_states": {("a", "a"): 1}}, ValueError, "several labels, each once"),
        ({"shared_states": {("a", "b"): 0}}, InputTypeError, "whole number from 1 on"),
        ({"state_transitions": {"z": []}}, UnknownLabelError, "'z' was not seen"),
        ({"state_transitions": {"a": [[True]]}}, LengthMismatchError, r"\(2, 2\)"),
        ({"state_transitions": {"a": [[1, 0], [0, 1]]}}, InputTypeError, "booleans"),
        ({"state_transitions": {"a": [[1, 0], [0]]}}, InputTypeError, "no matrix"),
        (
            {"solver": "sgd", "shared_states": {("a", "b"): 1}},
            ValueError,
            "'sgd' has no shared states",
        ),
        ({"solver": "cg", "l1_ratio": 0.5}, ValueError, "no L1 penalty"),
        ({"n_states": 10**6}, MemoryError, "a model of 3000000 states of labels needs"),
        ({"shared_states": {("a", "b"): 2**70}}, MemoryError, "states of labels needs"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(options, error, message):
    X, y = data()
    with pytest.raises(error, match=message):
        LatentChainCRF(**options).fit(X, y)


def test_labels_that_states_cannot_follow_are_refused():
    X = [np.ones((3, 1))]
    steps = {"a": [[False, True], [False, False]]}
    with pytest.raises(ForbiddenLabelError, match=r"X\[0\], token 2"):
        LatentChainCRF(state_transitions=steps).fit(X, [["a", "a", "a"]])


@NOT_CONVERGED
@pytest.mark.parametrize("decoder", ["marginal", "viterbi"])
@pytest.mark.parametrize("constrain", [False, True])
def test_forbidden_transitions_of_labels(decoder, constrain):
    """No prediction has one, and the labelling is the best of those that are left."""
    X, y = data()
    rule = {"a": ["a"], "b": ["c"], None: ["b"]}
    y = [["a", "c", "a", "b", "b"][: len(labels)] for labels in y]
    crf = fitted(
        {
            "allowed_transitions": rule,
            "constrain_training": constrain,
            "decoder": decoder,
            "n_states": 2,
        },
        X,
        y,
    )
    for labels, rows in zip(crf.predict(X), crf.predict_edge_proba(X), strict=True):
        assert labels[0] != "b"
        assert not {("a", "a"), ("b", "c")} & set(pairwise(labels))
        assert np.all(rows[:, [0, 1], [0, 2]] == 0)
    free = crf.predict(X, allowed=[[None] * (len(x) - 1) + ["c"] for x in X])
    assert {labels[-1] for labels in free} == {"c"}


def test_nbest_have_probabilities_of_labellings():
    X, y = data()
    crf = LatentChainCRF(random_state=0, C=0.3, tol=1e-3).fit(X, y)
    for x, ranked in zip(X, crf.predict_nbest(X, 30), strict=True):
        values = [log_p for _, log_p in ranked]
        assert values == sorted(values, reverse=True)
        assert len({tuple(labels) for labels, _ in ranked}) == len(ranked) > 1
        for labels, log_p in ranked:
            assert crf.log_proba([x], [labels])[0] == pytest.approx(log_p, abs=CLOSE)


def test_samples_have_the_frequencies_of_marginals():
    X, y = data()
    crf = LatentChainCRF(random_state=0, C=0.3, tol=1e-3).fit(X, y)
    drawn = crf.sample(X[:1], 4000, random_state=1)[0]
    shares = [[np.mean([d[t] == k for d in drawn]) for k in "abc"] for t in range(3)]
    np.testing.assert_allclose(shares, crf.predict_proba(X[:1])[0], atol=0.04)


def test_weights_are_repetitions():
    X, y = data()
    weight = [1, 2, 1, 3, 1, 1, 2, 1]
    options = {"C": 0.5, "tol": 1e-7, "random_state": 0, "max_iter": 3000}
    weighted = LatentChainCRF(**options).fit(X, y, weight)
    repeated = LatentChainCRF(**options).fit(
        *([v for v, n in zip(V, weight) for _ in range(n)] for V in (X, y))
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)
    assert weighted.loss_curve_[-1] == pytest.approx(repeated.loss_curve_[-1], rel=1e-7)


@NOT_CONVERGED
def test_in_a_search():
    X, y = data()
    grid = {"n_states": [1, 2, {"a": 3}], "solver": ["auto", "em"]}
    search = GridSearchCV(LatentChainCRF(max_iter=5, random_state=0), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.1
